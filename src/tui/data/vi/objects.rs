//! vi's text objects: words, what stands in brackets and in quotes.

use std::ops::Range;

use super::motions::{Text, class};

/// What an operator can take as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Which, as it is typed: `w`, `W`, `(`, `{`, `[`, `<`, `"`, `'`, `` ` ``, `p`.
    pub of: char,
    /// With its brackets, or the blanks behind a word.
    pub around: bool,
}

impl Object {
    /// The one that a character names.
    #[must_use]
    pub fn named(of: char, around: bool) -> Option<Self> {
        let of = match of {
            'b' | ')' => '(',
            'B' | '}' => '{',
            ']' => '[',
            '>' => '<',
            'w' | 'W' | '(' | '{' | '[' | '<' | '"' | '\'' | '`' | 'p' => of,
            _ => return None,
        };
        Some(Self { of, around })
    }

    /// Its bytes at a place, and whether those are whole lines.
    #[must_use]
    pub fn range(self, text: Text<'_>, at: usize) -> Option<(Range<usize>, bool)> {
        match self.of {
            'w' | 'W' => Some((word(text, at, self.of == 'W', self.around)?, false)),
            '(' => bracketed(text, at, ('(', ')'), self.around).map(|r| (r, false)),
            '[' => bracketed(text, at, ('[', ']'), self.around).map(|r| (r, false)),
            '<' => bracketed(text, at, ('<', '>'), self.around).map(|r| (r, false)),
            '{' => bracketed(text, at, ('{', '}'), self.around).map(|r| inner_lines(text, r, self.around)),
            'p' => Some((paragraph(text, at, self.around), true)),
            quote => quoted(text, at, quote, self.around).map(|r| (r, false)),
        }
    }
}

fn word(text: Text<'_>, at: usize, big: bool, around: bool) -> Option<Range<usize>> {
    let (start, end) = (text.line_start(at), text.line_end(at));
    let class = |c| class(c, big);
    let own = class(text.0[at..end].chars().next()?);
    let run = |from: usize, of: u8| text.0[from..end].find(|c| class(c) != of).map_or(end, |n| from + n);
    let first = text.0[start..at].char_indices().rev().find(|(_, c)| class(*c) != own);
    let first = first.map_or(start, |(n, c)| start + n + c.len_utf8());
    let last = run(at, own);
    if !around {
        return Some(first..last);
    }
    let behind =
        if own == 0 { text.0[last..end].chars().next().map_or(last, |c| run(last, class(c))) } else { run(last, 0) };
    if behind > last || own == 0 {
        return Some(first..behind);
    }
    // The last word of a line takes the blanks before it.
    let blanks = text.0[start..first].trim_end().len();
    Some(start + blanks..last)
}

/// The innermost pair around a place.
fn bracketed(text: Text<'_>, at: usize, (open, close): (char, char), around: bool) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    let opened = if text.char_at(at) == Some(open) {
        at
    } else {
        let mut before = text.0[..at].char_indices().rev();
        before.find_map(|(n, c)| {
            if c == open && depth == 0 {
                return Some(n);
            }
            depth = if c == close { depth + 1 } else { depth.saturating_sub(usize::from(c == open)) };
            None
        })?
    };
    let mut depth = 0_usize;
    let closed = text.0[opened..].char_indices().find_map(|(n, c)| {
        depth = if c == open { depth + 1 } else { depth.saturating_sub(usize::from(c == close)) };
        (depth == 0).then_some(opened + n)
    })?;
    Some(if around { opened..closed + close.len_utf8() } else { opened + open.len_utf8()..closed })
}

/// Between braces in lines of their own, the lines between them.
fn inner_lines(text: Text<'_>, range: Range<usize>, around: bool) -> (Range<usize>, bool) {
    let opens_line = text.char_at(range.start) == Some('\n');
    let closes_line = text.0[text.line_start(range.end)..range.end].trim().is_empty();
    let lines = range.start + 1..text.line_start(range.end);
    if around || !opens_line || !closes_line || lines.start > lines.end { (range, false) } else { (lines, true) }
}

/// The pair of quotes in the line that a place is in, or the next one.
fn quoted(text: Text<'_>, at: usize, quote: char, around: bool) -> Option<Range<usize>> {
    let (start, end) = (text.line_start(at), text.line_end(at));
    let mut places = Vec::new();
    let mut escaped = false;
    for (n, c) in text.0[start..end].char_indices() {
        if c == quote && !escaped {
            places.push(start + n);
        }
        escaped = c == '\\' && !escaped;
    }
    let pair = places.chunks_exact(2).find(|pair| at <= pair[1])?;
    let behind = pair[1] + quote.len_utf8();
    Some(if around { pair[0]..behind } else { pair[0] + quote.len_utf8()..pair[1] })
}

fn paragraph(text: Text<'_>, at: usize, around: bool) -> Range<usize> {
    let lines: Vec<&str> = text.0.split('\n').collect();
    let is_blank = |n: usize| lines[n].trim().is_empty();
    let line = text.line_of(at);
    let own = is_blank(line);
    let first = (0..line).rev().take_while(|n| is_blank(*n) == own).last().unwrap_or(line);
    let mut last = (line..lines.len()).take_while(|n| is_blank(*n) == own).last().unwrap_or(line);
    if around {
        last = (last + 1..lines.len()).take_while(|n| is_blank(*n) != own).last().unwrap_or(last);
    }
    text.line(first)..(text.line_end(text.line(last)) + 1).min(text.0.len())
}
