//! Themes: what every kind of thing on screen looks like, read from TOML or from an editor's
//! `.tmTheme` colour scheme.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

mod blend;

macro_rules! slots {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kinds of things that a theme styles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Slot { $($(#[$doc])* $variant,)* }

        impl Slot {
            /// Every slot.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn is_flame(self) -> bool {
                self as usize >= Self::FlameKey as usize
            }

            /// What tells frames apart where colours do not.
            const fn flame_modifier(self) -> Modifier {
                match self {
                    Self::FlameMatch | Self::FlameGrown => Modifier::REVERSED.union(Modifier::BOLD),
                    Self::FlameInlined => Modifier::ITALIC,
                    Self::FlameKernel => Modifier::BOLD,
                    Self::FlameShrunk => Modifier::DIM,
                    _ => Modifier::empty(),
                }
            }

            /// Its key in a theme file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

slots! {
    /// Plain text on the background of the screen.
    Text = "text",
    /// Less important text.
    Dim = "dim",
    /// Hints, line numbers, rules.
    Faint = "faint",
    /// Things that cannot be used here.
    Disabled = "disabled",
    /// Frame of a pane.
    Border = "border",
    /// Frame of the pane that has the keys.
    BorderFocus = "border-focus",
    /// Title of a pane.
    Title = "title",
    /// Title of the pane that has the keys.
    TitleFocus = "title-focus",
    /// Column headings.
    Heading = "heading",
    /// The top bar.
    Bar = "bar",
    /// The program's name in the top bar.
    Brand = "brand",
    /// The status line.
    Status = "status",
    /// A figure in the status line.
    Figure = "figure",
    /// The line of keys.
    Footer = "footer",
    /// A key in the line of keys, in help and in the palette.
    Key = "key",
    /// The row under the cursor in lists.
    Selected = "selected",
    /// The line with the text cursor.
    CursorLine = "cursor-line",
    /// The text cursor.
    Cursor = "cursor",
    /// Marked text.
    Marked = "marked",
    /// Letters that matched a search.
    Matched = "matched",
    /// Background of overlays.
    Overlay = "overlay",
    /// Errors.
    Error = "error",
    /// Warnings.
    Warning = "warning",
    /// Information.
    Info = "info",
    /// All is well.
    Good = "good",
    /// The trace runs.
    Running = "running",
    /// The view is paused.
    Paused = "paused",
    /// Nothing runs.
    Stopped = "stopped",
    /// Short bars and low parts of gradients.
    BarLow = "bar-low",
    /// Long bars and high parts of gradients.
    BarHigh = "bar-high",
    /// Sparklines.
    Spark = "spark",
    /// Numbers in tables.
    Value = "value",
    /// Keywords.
    Keyword = "keyword",
    /// Kinds and names of probes.
    Probe = "probe",
    /// Maps (`@m`).
    Map = "map",
    /// Scratch variables (`$x`).
    Variable = "variable",
    /// Builtins (`pid`, `comm`).
    Builtin = "builtin",
    /// Functions.
    Function = "function",
    /// Strings.
    String = "string",
    /// Numbers.
    Number = "number",
    /// Comments.
    Comment = "comment",
    /// Types.
    Type = "type",
    /// Preprocessor lines.
    Macro = "macro",
    /// Operators and punctuation.
    Operator = "operator",
    /// Fields and parameters of probes (`args.x`).
    Field = "field",
    /// Frames of a flame graph that are parts of the key, and its root.
    FlameKey = "flame-key",
    /// Frames of the kernel.
    FlameKernel = "flame-kernel",
    /// Frames of programs and libraries.
    FlameUser = "flame-user",
    /// Frames that were inlined.
    FlameInlined = "flame-inlined",
    /// Frames that were searched.
    FlameMatch = "flame-match",
    /// Frames whose share has grown since the baseline.
    FlameGrown = "flame-grown",
    /// Frames whose share has shrunk.
    FlameShrunk = "flame-shrunk",
}

/// One look of the whole program.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Name, as shown and as chosen.
    pub name: Arc<str>,
    styles: Vec<Style>,
}

/// Why a theme can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The file can't be read.
    #[error("cannot read theme {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a theme.
    #[error("theme {name} is not valid: {reason}")]
    Invalid {
        /// Which theme.
        name: String,
        /// What is wrong in it.
        reason: String,
    },
}

/// Largest theme file that is read, bytes.
pub(super) const LARGEST_THEME: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    palette: BTreeMap<String, String>,
    slots: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Foreground(String),
    Full(Full),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Full {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reversed: bool,
}

/// The themes that come with the program, in the order in which they are offered.
const EMBEDDED: &[(&str, &str)] = &[
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("nord", include_str!("../../../themes/nord.toml")),
    ("amber", include_str!("../../../themes/amber.toml")),
    ("solarized-dark", include_str!("../../../themes/solarized-dark.toml")),
    ("solarized-light", include_str!("../../../themes/solarized-light.toml")),
    ("colour-blind", include_str!("../../../themes/colour-blind.toml")),
];

impl std::ops::Index<Slot> for Theme {
    type Output = Style;

    fn index(&self, slot: Slot) -> &Style {
        &self.styles[slot as usize]
    }
}

impl Theme {
    /// Reads a theme from TOML. Slots that the file leaves out look like plain text.
    pub fn parse(name: &str, text: &str) -> Result<Self, ThemeError> {
        let invalid = |reason: String| ThemeError::Invalid { name: name.to_owned(), reason };
        let file: File = toml::from_str(text).map_err(|e| invalid(e.to_string()))?;
        let known = |key: &str| Slot::ALL.iter().any(|s| s.name() == key);
        if let Some(odd) = file.slots.keys().find(|k| !known(k)) {
            return Err(invalid(format!("there is no slot named {odd}")));
        }
        let mut theme = Self { name: file.name.as_str().into(), styles: Vec::new() };
        let base = match file.slots.get(Slot::Text.name()) {
            Some(entry) => style_of(entry, &file.palette).map_err(invalid)?,
            None => Style::new(),
        };
        for slot in Slot::ALL {
            let style = match file.slots.get(slot.name()) {
                Some(entry) => style_of(entry, &file.palette).map_err(invalid)?,
                None => base,
            };
            theme.styles.push(style);
        }
        Ok(theme)
    }

    /// Reads a theme from a file: `.tmTheme` colour schemes by their scopes, anything else as TOML.
    pub fn load(path: &Path) -> Result<Self, ThemeError> {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tmTheme")) {
            return super::tmtheme::load(path);
        }
        let failed = |source| ThemeError::Read { path: path.to_owned(), source };
        let text = crate::regular::text(path, LARGEST_THEME).map_err(failed)?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// All themes that come with the program.
    #[must_use]
    pub fn embedded() -> Vec<Arc<Self>> {
        EMBEDDED.iter().filter_map(|(name, text)| Self::parse(name, text).ok().map(Arc::new)).collect()
    }

    /// A theme without colours, for `NO_COLOR` and monochrome terminals.
    #[must_use]
    pub fn monochrome() -> Self {
        let style = |slot: &Slot| match slot {
            Slot::Dim | Slot::Faint | Slot::Comment | Slot::Disabled | Slot::Border => {
                Style::new().add_modifier(Modifier::DIM)
            }
            Slot::Selected | Slot::Cursor | Slot::Marked | Slot::Brand => Style::new().add_modifier(Modifier::REVERSED),
            slot if slot.is_flame() => Style::new().add_modifier(slot.flame_modifier()),
            Slot::Matched | Slot::Error => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Slot::Key
            | Slot::Keyword
            | Slot::Probe
            | Slot::TitleFocus
            | Slot::BorderFocus
            | Slot::Heading
            | Slot::Figure
            | Slot::Warning => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new(),
        };
        Self { name: "monochrome".into(), styles: Slot::ALL.iter().map(style).collect() }
    }

    /// A theme from a function that styles each slot.
    #[must_use]
    pub fn build(name: &str, style: impl Fn(Slot) -> Style) -> Self {
        Self { name: name.into(), styles: Slot::ALL.iter().map(|s| style(*s)).collect() }
    }

    /// The same theme for a terminal of 256 colours.
    #[must_use]
    pub fn indexed(&self) -> Self {
        let map = |c: Option<Color>| c.map(to_indexed);
        let style = |s: &Style| Style { fg: map(s.fg), bg: map(s.bg), ..*s };
        Self { name: Arc::clone(&self.name), styles: self.styles.iter().map(style).collect() }
    }

    /// The same theme for a terminal of sixteen colours, on whatever ground it has.
    #[must_use]
    pub fn sixteen(&self) -> Self {
        let style = |(slot, s): (&Slot, &Style)| {
            let plain = Style { fg: None, bg: None, ..*s };
            match slot {
                // Grounds of a theme are close to one another: of sixteen colours nothing is left between them.
                Slot::Selected | Slot::Cursor | Slot::Marked => plain.add_modifier(Modifier::REVERSED),
                Slot::Text | Slot::FlameKey => plain,
                // What is told by its ground is told by the colour of its letters.
                slot if slot.is_flame() => {
                    let fg = s.bg.map(to_sixteen).filter(|c| *c != Color::Black);
                    Style { fg, ..plain }.add_modifier(slot.flame_modifier())
                }
                _ => Style { fg: s.fg.map(to_sixteen).filter(|c| *c != Color::Black), ..plain },
            }
        };
        Self { name: Arc::clone(&self.name), styles: Slot::ALL.iter().zip(self.styles.iter()).map(style).collect() }
    }
}

fn style_of(entry: &Entry, palette: &BTreeMap<String, String>) -> Result<Style, String> {
    let full = match entry {
        Entry::Foreground(fg) => return Ok(Style::new().fg(colour(fg, palette)?)),
        Entry::Full(full) => full,
    };
    let mut style = Style::new();
    if let Some(fg) = &full.fg {
        style = style.fg(colour(fg, palette)?);
    }
    if let Some(bg) = &full.bg {
        style = style.bg(colour(bg, palette)?);
    }
    for (on, modifier) in [
        (full.bold, Modifier::BOLD),
        (full.dim, Modifier::DIM),
        (full.italic, Modifier::ITALIC),
        (full.underline, Modifier::UNDERLINED),
        (full.reversed, Modifier::REVERSED),
    ] {
        if on {
            style = style.add_modifier(modifier);
        }
    }
    Ok(style)
}

fn colour(name: &str, palette: &BTreeMap<String, String>) -> Result<Color, String> {
    let value = palette.get(name).map_or(name, String::as_str);
    Color::from_str(value).map_err(|_| format!("{value} is neither a colour nor in the palette"))
}

/// The nearest of the first sixteen colours (VGA's values).
fn to_sixteen(colour: Color) -> Color {
    const SIXTEEN: [(Color, [i32; 3]); 15] = [
        (Color::Black, [0, 0, 0]),
        (Color::Red, [170, 0, 0]),
        (Color::Green, [0, 170, 0]),
        (Color::Yellow, [170, 120, 0]),
        (Color::Blue, [0, 0, 170]),
        (Color::Magenta, [170, 0, 170]),
        (Color::Cyan, [0, 170, 170]),
        (Color::Gray, [170, 170, 170]),
        (Color::DarkGray, [85, 85, 85]),
        (Color::LightRed, [255, 85, 85]),
        (Color::LightGreen, [85, 255, 85]),
        (Color::LightYellow, [255, 255, 85]),
        (Color::LightBlue, [85, 85, 255]),
        (Color::LightMagenta, [255, 85, 255]),
        (Color::LightCyan, [85, 255, 255]),
    ];
    let Color::Rgb(r, g, b) = colour else { return colour };
    let distance =
        |[x, y, z]: [i32; 3]| (x - i32::from(r)).pow(2) + (y - i32::from(g)).pow(2) + (z - i32::from(b)).pow(2);
    SIXTEEN.iter().min_by_key(|(_, rgb)| distance(*rgb)).map_or(colour, |(near, _)| *near)
}

/// The nearest of the 6x6x6 cube and the grey ramp of the 256 colours (xterm's values).
fn to_indexed(colour: Color) -> Color {
    let Color::Rgb(r, g, b) = colour else { return colour };
    let level = |v: u8| {
        if v < 48 {
            0
        } else if v < 115 {
            1
        } else {
            (v - 35) / 40
        }
    };
    let value = |l: u8| if l == 0 { 0 } else { 55 + 40 * i32::from(l) };
    let (lr, lg, lb) = (level(r), level(g), level(b));
    let distance =
        |x: i32, y: i32, z: i32| (x - i32::from(r)).pow(2) + (y - i32::from(g)).pow(2) + (z - i32::from(b)).pow(2);
    let mean = (i32::from(r) + i32::from(g) + i32::from(b)) / 3;
    let step = ((mean - 3) / 10).clamp(0, 23);
    let grey = 8 + 10 * step;
    if distance(grey, grey, grey) < distance(value(lr), value(lg), value(lb)) {
        Color::Indexed(232 + step as u8)
    } else {
        Color::Indexed(16 + 36 * lr + 6 * lg + lb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_themes_style_every_slot() {
        for (name, text) in EMBEDDED {
            let theme = Theme::parse(name, text).unwrap();
            assert_eq!(theme.name.as_ref(), *name);
            let file: File = toml::from_str(text).unwrap();
            let missing: Vec<_> = Slot::ALL.iter().filter(|s| !file.slots.contains_key(s.name())).collect();
            assert!(missing.is_empty(), "{name} lacks {missing:?}");
        }
    }

    #[test]
    fn a_wrong_theme_says_what_is_wrong() {
        let odd = Theme::parse("x", "name='x'\n[slots]\ntxet='red'").unwrap_err();
        assert!(odd.to_string().contains("txet"), "{odd}");
        let colour = Theme::parse("x", "name='x'\n[slots]\ntext='rde'").unwrap_err();
        assert!(colour.to_string().contains("rde"), "{colour}");
    }

    #[test]
    fn colours_have_a_near_index() {
        assert_eq!(to_indexed(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(to_indexed(Color::Rgb(128, 128, 128)), Color::Indexed(244));
        assert_eq!(to_indexed(Color::Blue), Color::Blue);
    }

    #[test]
    fn sixteen_colours_keep_what_is_chosen_in_sight() {
        for theme in Theme::embedded() {
            let theme = theme.sixteen();
            let rgb = |c: Option<Color>| matches!(c, Some(Color::Rgb(..) | Color::Indexed(_)));
            assert!(Slot::ALL.iter().all(|s| !rgb(theme[*s].fg) && theme[*s].bg.is_none()), "{}", theme.name);
            assert_ne!(theme[Slot::FlameKernel], theme[Slot::FlameUser], "{}", theme.name);
            assert!(theme[Slot::Selected].add_modifier.contains(Modifier::REVERSED));
        }
        assert_eq!(to_sixteen(Color::Rgb(250, 90, 80)), Color::LightRed);
    }

    #[test]
    fn the_palette_without_colours_has_none() {
        let theme = Theme::monochrome();
        assert!(Slot::ALL.iter().all(|s| theme[*s].fg.is_none() && theme[*s].bg.is_none()));
    }
}
