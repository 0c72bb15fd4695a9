//! Editors' `.tmTheme` colour schemes as themes: their scopes fill the slots of the script, their
//! general settings the rest.

use std::io::Cursor;
use std::path::Path;

use ratatui::style::{Color as Tint, Modifier, Style};
use syntect::highlighting::{Color, FontStyle, Highlighter, Theme as Scheme, ThemeSet};
use syntect::parsing::{Scope, ScopeStack};

use super::theme::{LARGEST_THEME, Slot, Theme, ThemeError};

/// Reads a colour scheme.
pub fn load(path: &Path) -> Result<Theme, ThemeError> {
    let invalid = |reason: String| ThemeError::Invalid { name: path.display().to_string(), reason };
    let failed = |source| ThemeError::Read { path: path.to_owned(), source };
    let text = crate::regular::text(path, LARGEST_THEME).map_err(failed)?;
    let scheme = ThemeSet::load_from_reader(&mut Cursor::new(text)).map_err(|e| invalid(e.to_string()))?;
    let name = path.file_stem().map_or_else(|| "scheme".into(), |s| s.to_string_lossy());
    Ok(from_scheme(&name, &scheme))
}

/// The scope that stands for a slot of the script; none for parts of the screen.
const fn scope(slot: Slot) -> Option<&'static str> {
    Some(match slot {
        Slot::Keyword => "keyword.control",
        Slot::Probe => "entity.name.function",
        Slot::Map => "variable.other.member",
        Slot::Variable => "variable.other",
        Slot::Builtin => "variable.language",
        Slot::Function => "support.function",
        Slot::String => "string.quoted.double",
        Slot::Number => "constant.numeric",
        Slot::Comment => "comment.line",
        Slot::Type => "storage.type",
        Slot::Macro => "meta.preprocessor",
        Slot::Operator => "keyword.operator",
        Slot::Field => "variable.parameter",
        _ => return None,
    })
}

fn from_scheme(name: &str, scheme: &Scheme) -> Theme {
    let highlighter = Highlighter::new(scheme);
    let settings = &scheme.settings;
    let plain = highlighter.get_default();
    let (fg, bg) = (plain.foreground, plain.background);
    let between = |part: f32| tint(mix(bg, fg, part));
    let accent = tint(settings.caret.or(settings.accent).unwrap_or(fg));
    let selection = settings.selection.map_or_else(|| between(0.25), |c| tint(over(bg, c)));
    let row = settings.line_highlight.map_or_else(|| between(0.07), |c| tint(over(bg, c)));
    let of_scope = |scope: &str| {
        let stack = Scope::new(scope).map_or_else(|_| ScopeStack::new(), |s| ScopeStack::from_vec(vec![s]));
        let style = highlighter.style_for_stack(stack.as_slice());
        let mut out = Style::new().fg(tint(style.foreground));
        for (font, modifier) in [
            (FontStyle::BOLD, Modifier::BOLD),
            (FontStyle::ITALIC, Modifier::ITALIC),
            (FontStyle::UNDERLINE, Modifier::UNDERLINED),
        ] {
            if style.font_style.contains(font) {
                out = out.add_modifier(modifier);
            }
        }
        out
    };
    let on_ground = |scope: &str| Style { bg: of_scope(scope).fg, ..Style::new().fg(tint(bg)) };
    Theme::build(name, |slot| {
        if let Some(scope) = scope(slot) {
            return of_scope(scope);
        }
        let panel = between(0.06);
        match slot {
            Slot::Dim | Slot::Title | Slot::Footer => Style::new().fg(between(0.65)),
            Slot::Faint | Slot::Disabled => Style::new().fg(between(0.42)),
            Slot::Border => Style::new().fg(between(0.22)),
            Slot::Heading => Style::new().fg(between(0.65)).add_modifier(Modifier::BOLD),
            Slot::BorderFocus | Slot::Matched => Style::new().fg(accent),
            Slot::TitleFocus | Slot::Key => Style::new().fg(accent).add_modifier(Modifier::BOLD),
            Slot::Bar | Slot::Status => Style::new().fg(between(0.65)).bg(panel),
            Slot::Figure => Style::new().fg(tint(fg)).bg(panel).add_modifier(Modifier::BOLD),
            Slot::Overlay => Style::new().fg(tint(fg)).bg(panel),
            Slot::Brand | Slot::Cursor => Style::new().fg(tint(bg)).bg(accent),
            Slot::Selected | Slot::Marked => Style::new().bg(selection),
            Slot::CursorLine => Style::new().bg(row),
            Slot::Error => Style::new().fg(Tint::LightRed).add_modifier(Modifier::BOLD),
            Slot::Warning => Style::new().fg(Tint::Yellow),
            Slot::Info => of_scope("entity.name.function"),
            Slot::Good | Slot::Spark => of_scope("string.quoted.double"),
            Slot::Running => Style::new().fg(tint(bg)).bg(Tint::Green),
            Slot::Paused => Style::new().fg(tint(bg)).bg(Tint::Yellow),
            Slot::Stopped => Style::new().fg(tint(fg)).bg(between(0.22)),
            Slot::BarLow => Style::new().fg(tint(mix(bg, fg, 0.4))),
            Slot::BarHigh => Style::new().fg(accent),
            Slot::FlameKey => Style::new().fg(tint(fg)).bg(between(0.2)),
            Slot::FlameKernel => on_ground("constant.numeric"),
            Slot::FlameUser => on_ground("entity.name.function"),
            Slot::FlameInlined => on_ground("string.quoted.double"),
            Slot::FlameMatch => on_ground("keyword.control"),
            Slot::FlameGrown => Style::new().fg(tint(bg)).bg(Tint::LightRed),
            Slot::FlameShrunk => Style::new().fg(tint(bg)).bg(Tint::LightBlue),
            _ => Style::new().fg(tint(fg)).bg(tint(bg)),
        }
    })
}

const fn tint(c: Color) -> Tint {
    Tint::Rgb(c.r, c.g, c.b)
}

fn mix(from: Color, to: Color, part: f32) -> Color {
    let one = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * part).round() as u8;
    Color { r: one(from.r, to.r), g: one(from.g, to.g), b: one(from.b, to.b), a: 255 }
}

/// A translucent colour over an opaque one.
fn over(below: Color, above: Color) -> Color {
    mix(below, Color { a: 255, ..above }, f32::from(above.a) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_scheme_becomes_a_theme() {
        let schemes = ThemeSet::load_defaults();
        let theme = from_scheme("ocean", &schemes.themes["base16-ocean.dark"]);
        let background = schemes.themes["base16-ocean.dark"].settings.background.unwrap();
        assert_eq!(theme[Slot::Text].bg, Some(tint(background)));
        assert_ne!(theme[Slot::String].fg, theme[Slot::Comment].fg);
        assert_ne!(theme[Slot::Keyword].fg, theme[Slot::Text].fg);
    }
}
