//! Text made safe and measured for the screen.

pub use crate::model::words::{counted, grouped};
use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text from traced programs as it may be drawn: every control character, and every character that
/// reorders or hides its neighbours, is replaced by a visible one. A tab becomes one blank.
///
/// Text that needs no change is borrowed.
#[must_use]
pub fn neutralise(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_unsafe(c) { visible(c) } else { c }).collect())
}

/// A line of output as it may be drawn: as [`neutralise`] does, and tabs go to the next column that is
/// a multiple of eight, as in a terminal.
#[must_use]
pub fn neutralise_line(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return neutralise(text);
    }
    let mut out = String::with_capacity(text.len() + 32);
    let mut column = 0;
    for c in text.chars() {
        let (c, columns) = match c {
            '\t' => (' ', 8 - column % 8),
            c if is_unsafe(c) => (visible(c), 1),
            c => (c, char_width(c)),
        };
        out.push(c);
        if c == ' ' {
            out.extend(std::iter::repeat_n(' ', columns - 1));
        }
        column += columns;
    }
    Cow::Owned(out)
}

/// Control characters (C0, DEL, C1) and the format characters that change direction or show nothing.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Unicode's control pictures (U+2400..) stand for C0 and DEL, the replacement character for the rest.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{7f}' => '␡',
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        _ => '\u{fffd}',
    }
}

/// Columns that `text` takes on the screen.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Columns of one character; 0 for combining marks.
#[must_use]
pub fn char_width(c: char) -> usize {
    UnicodeWidthChar::width(c).unwrap_or(0)
}

/// Columns that a character takes once it has been made safe by [`neutralise`].
#[must_use]
pub fn shown_width(c: char) -> usize {
    if is_unsafe(c) { 1 } else { char_width(c) }
}

/// `text` cut to `columns`, with an ellipsis where something was left out.
#[must_use]
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = char_width(c);
        if used + w + 1 > columns {
            break;
        }
        used += w;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// `text` cut at its front, which keeps the end of long names in sight.
#[must_use]
pub fn fit_end(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 0;
    for c in text.chars().rev() {
        let w = char_width(c);
        if used + w + 1 > columns {
            break;
        }
        used += w;
        kept.push(c);
    }
    let mut out = String::new();
    if columns > 0 {
        out.push('…');
    }
    out.extend(kept.iter().rev());
    Cow::Owned(out)
}

/// `text` in lines of at most `columns`, broken at blanks where there are any.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            while width(&line) > columns {
                let (head, tail) = split_at_width(&line, columns);
                lines.push(head);
                line = tail;
            }
        }
        lines.push(line);
    }
    lines
}

fn split_at_width(text: &str, columns: usize) -> (String, String) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        let w = char_width(c);
        if used + w > columns && at > 0 {
            return (text[..at].to_owned(), text[at..].to_owned());
        }
        used += w;
    }
    (text.to_owned(), String::new())
}

/// A count for people: `999`, `1.2k`, `34.5M`.
#[must_use]
pub fn short_count(n: f64) -> String {
    let n = n.max(0.0);
    if n < 999.5 {
        return if n < 9.95 && n.fract() > 0.049 { format!("{n:.1}") } else { format!("{n:.0}") };
    }
    let mut n = n;
    for unit in ["k", "M", "G", "T", "P", "E"] {
        n /= 1000.0;
        if n < 99.95 {
            return format!("{n:.1}{unit}");
        }
        if n < 999.5 {
            return format!("{n:.0}{unit}");
        }
    }
    "∞".to_owned()
}

/// A duration in ns for people: `850 ns`, `12.3 µs`, `4.5 ms`, `1.2 s`.
#[must_use]
pub fn short_ns(ns: f64) -> String {
    for (limit, scale, unit) in [(1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")] {
        if ns < limit * 0.9995 {
            let v = ns / scale;
            return if v < 99.95 && scale > 1.0 { format!("{v:.1} {unit}") } else { format!("{v:.0} {unit}") };
        }
    }
    format!("{:.1} s", ns / 1e9)
}

/// A bucket's edge as it prints: powers of 1024 as `4K`, `1M`.
#[must_use]
pub fn edge(n: i64) -> String {
    for (shift, unit) in [(60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")] {
        if n >= 1 << shift && n % (1 << shift) == 0 {
            return format!("{}{unit}", n >> shift);
        }
    }
    n.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_survives() {
        let hostile = "a\x1b[31mred\x07\x00\x7f\u{9b}2J\u{202e}x\r\n";
        let safe = neutralise(hostile);
        assert!(!safe.chars().any(char::is_control), "{safe:?}");
        assert_eq!(safe, "a␛[31mred␇␀␡\u{fffd}2J\u{fffd}x␍␊");
        assert!(matches!(neutralise("plain é 漢"), Cow::Borrowed("plain é 漢")));
    }

    #[test]
    fn tabs_of_output_go_to_their_stops() {
        assert_eq!(neutralise_line("a\tb\t\x07漢\tc"), "a       b       ␇漢     c");
        assert_eq!(neutralise_line("12345678\t|"), "12345678        |");
        assert!(matches!(neutralise_line("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn fitted_text_never_exceeds_its_columns() {
        for columns in 0..9 {
            assert!(width(&fit("漢字かな mixed", columns)) <= columns);
            assert!(width(&fit_end("漢字かな mixed", columns)) <= columns);
        }
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit_end("sys_enter_openat", 7), "…openat");
    }

    #[test]
    fn wrapped_lines_keep_every_word() {
        let lines = wrap("one two three 漢字漢字漢字漢字", 7);
        assert!(lines.iter().all(|l| width(l) <= 7), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), "onetwothree漢字漢字漢字漢字");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(short_count(0.0), "0");
        assert_eq!(short_count(2.5), "2.5");
        assert_eq!(short_count(1234.0), "1.2k");
        assert_eq!(short_count(999_960.0), "1.0M");
        assert_eq!(short_ns(48.2), "48 ns");
        assert_eq!(short_ns(12_345.0), "12.3 µs");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(edge(8192), "8K");
        assert_eq!(edge(1000), "1000");
    }
}
