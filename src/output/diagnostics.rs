//! Diagnostics as text: the message, its place, the line with the part marked, what to do.
//!
//! Script text is shown, so it is untrusted like any other: control characters are shown as their
//! pictures and never reach the terminal.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use crate::lang::codes;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::source::{SourceText, Span};

/// Columns a tab stands for.
const TAB: usize = 4;
/// Longer lines are shown in part, around what is marked.
const MAX_COLUMNS: usize = 160;
/// Characters of a message that are shown; ours are shorter, but for what they quote.
const MAX_MESSAGE: usize = 1000;

/// Colours, or none.
#[derive(Clone, Copy)]
struct Paint {
    on: bool,
}

impl Paint {
    fn text(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn frame(self, text: &str) -> String {
        self.text("1;34", text)
    }
}

/// Writes all diagnostics, an empty line after each. `colour` adds ANSI colours.
#[must_use]
pub fn render_all(source: &SourceText, diagnostics: &[Diagnostic], colour: bool) -> String {
    diagnostics.iter().fold(String::new(), |mut out, d| {
        out.push_str(&render(source, d, colour));
        out.push('\n');
        out
    })
}

/// Writes one diagnostic.
#[must_use]
pub fn render(source: &SourceText, diagnostic: &Diagnostic, colour: bool) -> String {
    let paint = Paint { on: colour };
    let (word, ink) = match diagnostic.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
        Severity::Info => ("note", "1;36"),
    };
    let mut out = String::new();
    if diagnostic.code == codes::parse::MORE_ERRORS {
        return paint.text("1", &clean(&diagnostic.message)) + "\n";
    }
    let head = paint.text(ink, &format!("{word}[{}]", codes::shown(diagnostic.code)));
    let _ = writeln!(out, "{head}{}", paint.text("1", &format!(": {}", clean(&diagnostic.message))));
    let marks = marks(source, diagnostic);
    let margin = marks.iter().map(|m| m.line).max().unwrap_or(1).to_string().len();
    let at = source.position(diagnostic.span.start);
    let _ = writeln!(out, "{:margin$}{} {}:{}:{}", "", paint.frame("-->"), clean(&source.name), at.line, at.column);
    let blank = format!("{:margin$} {}", "", paint.frame("|"));
    let _ = writeln!(out, "{blank}");
    let mut last = None;
    for line in lines(&marks) {
        if last.is_some_and(|l| l + 1 < line) {
            let _ = writeln!(out, "{}", paint.frame("..."));
        }
        last = Some(line);
        let on_line: Vec<_> = marks.iter().filter(|m| m.line == line).collect();
        source_line(&mut out, source, line, &on_line, margin, (paint, ink));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "{blank}");
        let _ = writeln!(out, "{:margin$} {} {}: {}", "", paint.frame("="), paint.text("1", "help"), clean(help));
    }
    out
}

/// A part of a line to underline.
struct Mark<'a> {
    line: u32,
    /// Bytes of the line.
    start: usize,
    end: usize,
    main: bool,
    message: &'a str,
}

fn marks<'a>(source: &SourceText, diagnostic: &'a Diagnostic) -> Vec<Mark<'a>> {
    let labels = diagnostic.labels.iter().map(|l| (l.span, false, l.message.as_str()));
    std::iter::once((diagnostic.span, true, ""))
        .chain(labels)
        .map(|(span, main, message)| mark(source, span, main, message))
        .collect()
}

/// The part of a span on its first line.
fn mark<'a>(source: &SourceText, span: Span, main: bool, message: &'a str) -> Mark<'a> {
    let line = source.position(span.start).line;
    let text = source.line(line);
    // A line's slice lies inside the whole text.
    let first = (text.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize);
    let first = if text.is_empty() { span.start as usize } else { first };
    let start = (span.start as usize).saturating_sub(first).min(text.len());
    let end = (span.end as usize).saturating_sub(first).clamp(start, text.len());
    Mark { line, start, end, main, message }
}

fn lines(marks: &[Mark<'_>]) -> Vec<u32> {
    let mut lines: Vec<_> = marks.iter().map(|m| m.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// One line of the script and its underlines.
fn source_line(
    out: &mut String,
    source: &SourceText,
    line: u32,
    marks: &[&Mark<'_>],
    margin: usize,
    (paint, ink): (Paint, &str),
) {
    let shown = Shown::new(source.line(line), marks);
    let number = paint.frame(&format!("{line:>margin$} |"));
    let _ = writeln!(out, "{number} {}", shown.text);
    // The main mark first, so that it is directly under the line.
    let mut order: Vec<_> = marks.iter().collect();
    order.sort_by_key(|m| (!m.main, m.start));
    for mark in order {
        let (from, to) = (shown.column(mark.start), shown.column(mark.end));
        let symbol = if mark.main { "^" } else { "-" };
        let underline = symbol.repeat(to.saturating_sub(from).max(1));
        let text = if mark.message.is_empty() { underline } else { format!("{underline} {}", clean(mark.message)) };
        let text = if mark.main { paint.text(ink, &text) } else { paint.frame(&text) };
        let _ = writeln!(out, "{:margin$} {} {:from$}{text}", "", paint.frame("|"), "");
    }
}

/// A line as it is shown: tabs widened, control characters as pictures, cut when it is long.
struct Shown {
    text: String,
    /// Byte offset in the line and column, for each character and the end.
    columns: Vec<(usize, usize)>,
}

impl Shown {
    fn new(line: &str, marks: &[&Mark<'_>]) -> Self {
        let mut cells: Vec<(usize, String, usize)> = Vec::new();
        let mut column = 0;
        let wanted = marks.iter().find(|m| m.main).or(marks.first()).map_or(0, |m| m.start);
        // Only a window of a long line is looked at.
        let long = line.len() > 4 * MAX_COLUMNS;
        let from = if long { floor(line, wanted.saturating_sub(MAX_COLUMNS / 2)) } else { 0 };
        let mut cut = false;
        for (at, c) in line.get(from..).unwrap_or("").char_indices() {
            let text = picture(c, column);
            let width = text.chars().map(|c| c.width().unwrap_or(0)).sum();
            if long && column + width > MAX_COLUMNS {
                cut = true;
                break;
            }
            cells.push((from + at, text, width));
            column += width;
        }
        let mut text = String::new();
        let mut columns = Vec::with_capacity(cells.len() + 1);
        let mut column = 0;
        if from > 0 {
            text.push_str("...");
            column = 3;
        }
        for (at, piece, width) in &cells {
            columns.push((*at, column));
            text.push_str(piece);
            column += width;
        }
        let end = cells
            .last()
            .map_or(from, |(at, ..)| at + line.get(*at..).and_then(|r| r.chars().next()).map_or(0, char::len_utf8));
        columns.push((end, column));
        if cut {
            text.push_str("...");
        }
        Self { text, columns }
    }

    /// The column where a byte of the line stands.
    fn column(&self, byte: usize) -> usize {
        let index = self.columns.partition_point(|(at, _)| *at < byte);
        self.columns.get(index).or(self.columns.last()).map_or(0, |(_, column)| *column)
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How a character is shown at a column.
fn picture(c: char, column: usize) -> String {
    match c {
        '\t' => " ".repeat(TAB - column % TAB),
        _ => neutral(c).to_string(),
    }
}

/// Text without anything a terminal would act on, cut where a name or a number of the script is so
/// long that nobody would read it.
fn clean(text: &str) -> String {
    let mut rest = text.chars();
    let plain = |c| if c == '\n' || c == '\t' { ' ' } else { neutral(c) };
    let mut out: String = rest.by_ref().take(MAX_MESSAGE).map(plain).collect();
    if rest.next().is_some() {
        out.push_str("...");
    }
    out
}

/// Control characters as their pictures; characters that change the direction of text as a mark.
fn neutral(c: char) -> char {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        // Bytes that are not UTF-8.
        | '\u{10ff80}'..='\u{10ffff}' => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::diagnostic::Code;

    fn at(text: &str, part: &str) -> Span {
        let start = text.find(part).unwrap();
        Span::new(start as u32, (start + part.len()) as u32)
    }

    #[test]
    fn the_marked_part_stands_under_its_text() {
        let text = "kprobe:f {\n\tprint(\"é\", foo);\n}\n";
        let source = SourceText::new("a.bt", text);
        let diagnostic = Diagnostic::error(Code(123), at(text, "foo"), "`foo` is not known")
            .label(at(text, "kprobe:f"), "in this probe")
            .help("did you mean `func`?");
        let wanted = "\
error[P0123]: `foo` is not known
 --> a.bt:2:13
  |
1 | kprobe:f {
  | -------- in this probe
2 |     print(\"é\", foo);
  |                ^^^
  |
  = help: did you mean `func`?
";
        assert_eq!(render(&source, &diagnostic, false), wanted);
    }

    #[test]
    fn lines_far_apart_are_not_all_shown() {
        let text = "a\nb\nc\nd\n";
        let source = SourceText::new("-e", text);
        let diagnostic = Diagnostic::warning(Code(1), at(text, "d"), "m").label(at(text, "a"), "here");
        let wanted = "warning[P0001]: m\n --> -e:4:1\n  |\n1 | a\n  | - here\n...\n4 | d\n  | ^\n";
        assert_eq!(render(&source, &diagnostic, false), wanted);
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let text = "BEGIN { x }";
        let source = SourceText::new("-e", text);
        let diagnostic = Diagnostic::error(Code(1), at(text, "x"), "m").help("h");
        let coloured = render(&source, &diagnostic, true);
        assert!(coloured.contains("\x1b[1;31m"));
        let mut plain = coloured;
        while let Some(start) = plain.find('\x1b') {
            let end = start + plain[start..].find('m').unwrap();
            plain.replace_range(start..=end, "");
        }
        assert_eq!(plain, render(&source, &diagnostic, false));
    }

    #[test]
    fn nothing_of_a_script_controls_the_terminal() {
        let text = "BEGIN { \x1b[31m\u{202e} }";
        let source = SourceText::new("\x1b]0;evil\x07", text);
        let diagnostic = Diagnostic::error(Code(1), at(text, "\x1b"), "found \x1b[2J").help("\x07");
        let out = render(&source, &diagnostic, false);
        assert!(out.chars().all(|c| c == '\n' || !c.is_control()) && !out.contains('\u{202e}'), "{out:?}");
    }

    #[test]
    fn places_at_the_end_and_on_huge_lines_are_shown() {
        let text = format!("BEGIN {{ {}!", "x".repeat(100_000));
        let source = SourceText::new("-e", &text);
        for span in [at(&text, "!"), Span::new(text.len() as u32, text.len() as u32), Span::new(u32::MAX, u32::MAX)] {
            let out = render(&source, &Diagnostic::error(Code(1), span, "m"), false);
            assert!(out.lines().all(|l| l.len() < 400) && out.contains('^'), "{out}");
        }
        let empty = SourceText::new("-e", "");
        assert!(render(&empty, &Diagnostic::error(Code(1), Span::default(), "m"), false).contains("1 | \n  | ^"));
    }
}
