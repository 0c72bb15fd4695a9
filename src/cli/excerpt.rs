//! A place of the script in bpftrace's form: `file:line:from-to`, and its line with a mark below.

use crate::lang::source::{SourceText, Span};

/// What a tab is shown as, wherever it stands in the line.
const TAB: &str = "    ";

/// `file:line:from-to`; of a span of several lines, `file:first-last`.
#[must_use]
pub fn place(source: &SourceText, span: Span) -> String {
    let (start, end) = (source.position(span.start), source.position(span.end));
    let name = &source.name;
    if start.line == end.line {
        format!("{name}:{}:{}-{}", start.line, start.column, end.column)
    } else {
        format!("{name}:{}-{}", start.line, end.line)
    }
}

/// The script's line with a mark below the span; the lines of a span of several as they are.
#[must_use]
pub fn marked(source: &SourceText, span: Span) -> String {
    let (start, end) = (source.position(span.start), source.position(span.end));
    if start.line != end.line {
        return (start.line..=end.line).map(|line| format!("{}\n", source.line(line))).collect();
    }
    let line = source.line(start.line);
    let (from, to) = (widened(line, start.column), widened(line, end.column));
    let (blank, mark) = (" ".repeat(from), "~".repeat(to.saturating_sub(from).max(1)));
    format!("{}\n{blank}{mark}\n", line.replace('\t', TAB))
}

/// Columns before a 1-based column of the line once its tabs are widened.
fn widened(line: &str, column: u32) -> usize {
    let before = column.saturating_sub(1) as usize;
    before + line.chars().take(before).filter(|c| *c == '\t').count() * (TAB.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(script: &str) -> SourceText {
        SourceText::new("a.bt", script)
    }

    fn of(script: &str, part: &str) -> Span {
        let start = script.find(part).unwrap() as u32;
        Span::new(start, start + part.len() as u32)
    }

    #[test]
    fn tabs_are_four_columns_wherever_they_stand() {
        let script = "begin {\n\t$x =\tnosuch\t+ 1; }";
        let span = of(script, "nosuch\t+");
        assert_eq!(place(&text(script), span), "a.bt:2:7-15");
        let shown = "    $x =    nosuch    + 1; }\n            ~~~~~~~~~~~\n";
        assert_eq!(marked(&text(script), span), shown);
    }

    #[test]
    fn what_is_missing_has_a_place_too() {
        let text = text("begin {\n\t$x = 1\n}\n");
        let span = Span::new(15, 15);
        assert_eq!(place(&text, span), "a.bt:2:8-8");
        assert_eq!(marked(&text, span), "    $x = 1\n          ~\n");
    }

    #[test]
    fn several_lines_are_shown_as_they_are() {
        let script = "begin {\n\tprint(1,\n\n\t2, 3, 4);\n}\n";
        let span = of(script, "print(1,\n\n\t2, 3, 4)");
        assert_eq!(place(&text(script), span), "a.bt:2-4");
        assert_eq!(marked(&text(script), span), "\tprint(1,\n\n\t2, 3, 4);\n");
    }
}
