//! What the terminal can show, as its environment tells: nothing is asked of the terminal itself.

use std::io::{self, Write};

use ratatui::buffer::Buffer;

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Colours {
    /// None: bold, dim and reversed text alone.
    None,
    /// The sixteen of the first colour terminals.
    Sixteen,
    /// xterm's 256.
    Indexed,
    /// Red, green and blue of 8 bits each.
    #[default]
    True,
}

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Terminal {
    /// Its colours.
    pub colours: Colours,
    /// Frames and marks are drawn in ASCII: the locale has no others.
    pub ascii: bool,
}

/// Names of terminals with 256 colours, and what names of such ones have in them.
const INDEXED: &[&str] = &[
    "256color",
    "xterm",
    "tmux",
    "rxvt-unicode",
    "konsole",
    "gnome",
    "vte",
    "kitty",
    "alacritty",
    "foot",
    "wezterm",
    "ghostty",
    "contour",
    "iterm",
    "putty",
    "mlterm",
    "st-",
];
/// Names of terminals with fewer colours although the names begin as those above.
const SIXTEEN: &[&str] = &["16color", "88color", "xterm-color", "xterm-old", "xterm-r"];
/// Ends of the names of terminals without colours.
const NONE: &[&str] = &["-m", "-mono", "-vt220", "-vt52"];

impl Terminal {
    /// Reads the environment by `variable`: `NO_COLOR`, `COLORTERM`, `TERM`, and the locale's variables.
    pub fn of<'v>(variable: impl Fn(&str) -> Option<&'v str>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let colour_term = set("COLORTERM").unwrap_or("");
        let colours = if set("NO_COLOR").is_some() {
            Colours::None
        } else if colour_term.contains("truecolor") || colour_term.contains("24bit") {
            Colours::True
        } else {
            colours_of(set("TERM").unwrap_or(""))
        };
        // The first of the three that is set counts (POSIX, 8.2); where none is, hardly any terminal lacks UTF-8.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).map(str::to_ascii_lowercase);
        let ascii = locale.is_some_and(|locale| !locale.contains("utf-8") && !locale.contains("utf8"));
        Self { colours, ascii }
    }

    /// Makes what was drawn ASCII, where the terminal has nothing else.
    pub fn fit(self, drawn: &mut Buffer) {
        if !self.ascii {
            return;
        }
        let letters: Vec<bool> =
            drawn.content.iter().map(|cell| cell.symbol().starts_with(char::is_alphabetic)).collect();
        for (at, cell) in drawn.content.iter_mut().enumerate() {
            if !cell.symbol().is_ascii() {
                let plain = match cell.symbol().chars().next() {
                    // Before a heading that rows are sorted by it would be read as a letter of it.
                    Some('↓') if letters.get(at + 1) == Some(&true) => '-',
                    Some('↑') if letters.get(at + 1) == Some(&true) => '+',
                    other => other.map_or(' ', plain),
                };
                cell.set_char(plain);
            }
        }
    }
}

fn colours_of(term: &str) -> Colours {
    let digits = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if term.strip_prefix("vt").is_some_and(digits) || NONE.iter().any(|end| term.ends_with(end)) {
        Colours::None
    } else if term.ends_with("-direct") {
        Colours::True
    } else if SIXTEEN.iter().any(|name| term.contains(name)) {
        Colours::Sixteen
    } else if term == "st" || INDEXED.iter().any(|name| term.contains(name)) {
        Colours::Indexed
    } else {
        // `linux`, `ansi`, `screen`, and what nobody knows.
        Colours::Sixteen
    }
}

/// Largest screen that is painted, in columns, rows and cells: more than any terminal has, and memory for all of it.
const LARGEST: (u16, u16, u32) = (2000, 1000, 500_000);

/// The part of a terminal that is painted, however large it claims to be.
#[must_use]
pub fn painted((width, height): (u16, u16)) -> (u16, u16) {
    let (width, height) = (width.clamp(1, LARGEST.0), height.clamp(1, LARGEST.1));
    let rows = LARGEST.2 / u32::from(width);
    (width, height.min(u16::try_from(rows).unwrap_or(u16::MAX)))
}

/// What stands for a character in ASCII.
const fn plain(c: char) -> char {
    match c {
        '─' | '━' | '┄' | '┅' | '┈' | '┉' | '╌' | '╍' | '═' | '–' | '—' | '▁' | '▔' => '-',
        '│' | '┃' | '┆' | '┇' | '┊' | '┋' | '║' | '▏' | '▕' | '▎' | '▍' => '|',
        '\u{250c}'..='\u{254b}' | '\u{2552}'..='\u{2570}' => '+',
        '█' | '▉' | '▊' | '▋' | '▌' | '▐' | '▆' | '▇' | '▓' | '■' => '#',
        '▂' | '▃' | '▄' | '▅' | '▀' | '▒' => '=',
        '░' => ':',
        '▲' | '△' | '↑' => '^',
        '▼' | '▽' | '↓' => 'v',
        '▶' | '▸' | '►' | '→' | '›' | '»' | '❯' => '>',
        '◀' | '◂' | '◄' | '←' | '‹' | '«' => '<',
        '●' | '•' | '◆' | '○' | '◦' | '·' => '*',
        '✓' | '✔' => 'v',
        '✗' | '✘' | '×' => 'x',
        '…' => '.',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        'µ' | 'μ' => 'u',
        '\u{a0}' => ' ',
        _ => '?',
    }
}

/// A writer that says the first sixteen colours as all colour terminals know them (`31`, `91`), and not as one of 256
/// (`38;5;1`), which is how they arrive. Everything waits for the flush.
#[derive(Debug)]
pub struct Sixteen<W: Write> {
    to: W,
    on: bool,
    waiting: Vec<u8>,
}

impl<W: Write> Sixteen<W> {
    /// Writes to `to`, unchanged unless `on`.
    pub const fn new(to: W, on: bool) -> Self {
        Self { to, on, waiting: Vec::new() }
    }
}

impl<W: Write> Write for Sixteen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.on {
            return self.to.write(bytes);
        }
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let said = in_sixteen(&self.waiting);
            self.waiting.clear();
            self.to.write_all(&said)?;
        }
        self.to.flush()
    }
}

/// Rewrites the parameters of every `ESC [ ... m`.
fn in_sixteen(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(start) = memchr::memmem::find(rest, b"\x1b[") {
        let (before, sequence) = rest.split_at(start + 2);
        out.extend_from_slice(before);
        let end = sequence.iter().position(|b| !b.is_ascii_digit() && *b != b';').unwrap_or(sequence.len());
        let (parameters, tail) = sequence.split_at(end);
        if tail.first() == Some(&b'm') {
            out.extend_from_slice(parameters_in_sixteen(parameters).as_bytes());
        } else {
            out.extend_from_slice(parameters);
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
    out
}

fn parameters_in_sixteen(parameters: &[u8]) -> String {
    let text = String::from_utf8_lossy(parameters);
    let numbers: Vec<&str> = text.split(';').collect();
    let mut said: Vec<String> = Vec::with_capacity(numbers.len());
    let mut at = 0;
    while let Some(number) = numbers.get(at) {
        let colour = numbers.get(at + 2).and_then(|n| n.parse::<u32>().ok()).filter(|n| *n < 16);
        if let ("38" | "48", Some(&"5"), Some(colour)) = (*number, numbers.get(at + 1), colour) {
            let base = if *number == "38" { 30 } else { 40 };
            let code = if colour < 8 { base + colour } else { base + 60 + colour - 8 };
            said.push(code.to_string());
            at += 3;
        } else {
            said.push((*number).to_owned());
            at += 1;
        }
    }
    said.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &'static str)]) -> Terminal {
        Terminal::of(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| *v))
    }

    #[test]
    fn colours_are_those_of_the_terminal() {
        for (term, colours) in [
            ("xterm-256color", Colours::Indexed),
            ("tmux-256color", Colours::Indexed),
            ("xterm", Colours::Indexed),
            ("xterm-direct", Colours::True),
            ("xterm-16color", Colours::Sixteen),
            ("linux", Colours::Sixteen),
            ("ansi", Colours::Sixteen),
            ("no-such-terminal", Colours::Sixteen),
            ("vt100", Colours::None),
            ("vt220", Colours::None),
            ("linux-m", Colours::None),
        ] {
            assert_eq!(of(&[("TERM", term)]).colours, colours, "{term}");
        }
        assert_eq!(of(&[("TERM", "vt100"), ("COLORTERM", "truecolor")]).colours, Colours::True);
        assert_eq!(of(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]).colours, Colours::None);
        assert_eq!(of(&[("COLORTERM", "truecolor"), ("NO_COLOR", "")]).colours, Colours::True);
    }

    #[test]
    fn locales_without_utf_8_get_ascii() {
        assert!(!of(&[]).ascii);
        assert!(of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).ascii);
        assert!(!of(&[("LANG", "C.utf8")]).ascii);
        let mut drawn = Buffer::with_lines(["┌─▌█…é"]);
        Terminal { ascii: true, ..Terminal::default() }.fit(&mut drawn);
        assert_eq!(drawn, Buffer::with_lines(["+-##.?"]));
    }

    #[test]
    fn the_first_sixteen_colours_are_said_as_such() {
        assert_eq!(
            in_sixteen(b"a\x1b[38;5;1;48;5;12mb\x1b[0m\x1b[38;5;200m\x1b[2J"),
            b"a\x1b[31;104mb\x1b[0m\x1b[38;5;200m\x1b[2J"
        );
        let mut writer = Sixteen::new(Vec::new(), true);
        for piece in ["\x1b[", "38;", "5;9", "m"] {
            writer.write_all(piece.as_bytes()).unwrap();
        }
        writer.flush().unwrap();
        assert_eq!(writer.to, b"\x1b[91m");
    }
}
