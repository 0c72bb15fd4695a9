//! The formatter: the same tokens with the blanks people expect.
//!
//! It works on tokens, so comments and preprocessor lines stay, and asks the tree only which stars
//! and parentheses belong to types. Line breaks inside a statement stay where the author put them;
//! blocks written on one line stay on it while they are short. Formatting twice changes nothing.

mod facts;
mod spacing;

use super::lexer::{Token, TokenKind as T, lex_as_written};
use super::parser::parse;
use crate::lang::diagnostic::has_errors;
use crate::lang::source::SourceText;
use facts::Facts;

/// Blanks a level.
const INDENT: usize = 4;
/// Longer blocks don't stay on one line.
const ONE_LINE: usize = 80;

/// Formats a script. `None` when it has errors: what is not understood is not touched.
#[must_use]
pub fn format(source: &SourceText) -> Option<String> {
    let parsed = parse(source);
    if has_errors(&parsed.diagnostics) {
        return None;
    }
    let tokens = lex_as_written(&source.text).tokens;
    let facts = Facts::gather(&tokens, &parsed.script);
    let mut printer = Printer {
        text: &source.text,
        tokens: &tokens,
        facts,
        out: String::with_capacity(source.text.len() + 64),
        braces: Vec::new(),
        header: Header::Item,
        parens: 0,
        statement: None,
        fresh: true,
        closed_type: false,
    };
    for index in 0..tokens.len() {
        printer.token(index);
    }
    Some(printer.finish())
}

/// What a pair of braces holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brace {
    /// Statements.
    Block,
    /// Members of a C type.
    Type,
}

/// An open brace.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: Brace,
    /// Its closing brace is on the same line, and stays there.
    one_line: bool,
    /// Parentheses that were open outside.
    parens: u32,
}

/// Where outside of braces the printer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// In a `config`, `macro`, `fn`, `let`, C definition, or between items.
    Item,
    /// In a probe's points.
    Points,
    /// In a probe's predicate.
    Predicate,
}

/// What stands between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    Line,
}

struct Printer<'t> {
    text: &'t str,
    tokens: &'t [Token],
    facts: Facts,
    out: String,
    braces: Vec<Open>,
    header: Header,
    parens: u32,
    /// The first word of the statement or item.
    statement: Option<&'t str>,
    /// At the start of a statement or item.
    fresh: bool,
    /// The brace closed last was a C type's.
    closed_type: bool,
}

impl<'t> Printer<'t> {
    fn spelled(&self, index: usize) -> &'t str {
        self.tokens.get(index).and_then(|t| self.text.get(t.span.start as usize..t.span.end as usize)).unwrap_or("")
    }

    fn kind(&self, index: usize) -> T {
        self.tokens.get(index).map_or(T::Eof, |t| t.kind)
    }

    /// The nearest token before `index` that the parser sees.
    fn before(&self, index: usize) -> Option<usize> {
        (0..index).rev().find(|i| !self.kind(*i).is_trivia())
    }

    /// How many line ends the author put before this token.
    fn lines_before(&self, index: usize) -> usize {
        let start = index.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.span.end as usize);
        let end = self.tokens.get(index).map_or(start, |t| t.span.start as usize);
        self.text.get(start..end).unwrap_or("").bytes().filter(|b| *b == b'\n').count()
    }

    fn one_line(&self) -> bool {
        self.braces.last().is_some_and(|b| b.one_line)
    }

    fn token(&mut self, index: usize) {
        let kind = self.kind(index);
        if kind == T::Eof || kind == T::Unclosed {
            return;
        }
        if kind == T::RBrace {
            if let Some(open) = self.braces.pop() {
                self.parens = open.parens;
                self.closed_type = open.kind == Brace::Type;
                self.gap_before_close(index, open);
            }
            self.write(index);
            self.fresh = true;
            self.header = Header::Item;
            return;
        }
        let gap = self.gap(index);
        self.put_gap(gap, index);
        self.write(index);
        self.note(index, kind);
    }

    fn gap_before_close(&mut self, index: usize, open: Open) {
        let empty = index.checked_sub(1).is_some_and(|i| self.kind(i) == T::LBrace);
        if empty || open.one_line {
            self.out.push(' ');
        } else {
            self.new_line(self.braces.len(), 0);
        }
    }

    /// Keeps track of where the printer stands.
    fn note(&mut self, index: usize, kind: T) {
        if kind.is_trivia() {
            return;
        }
        if self.fresh {
            self.statement = (kind == T::Word).then(|| self.spelled(index));
        }
        self.fresh = false;
        match kind {
            T::LBrace => self.open_brace(index),
            T::LParen | T::LBracket => self.parens += 1,
            T::RParen | T::RBracket => self.parens = self.parens.saturating_sub(1),
            T::Semicolon if self.parens == 0 || self.braces.is_empty() => self.fresh = true,
            T::Point => self.header = Header::Points,
            T::Slash if self.header == Header::Points => self.header = Header::Predicate,
            _ => {}
        }
    }

    fn open_brace(&mut self, index: usize) {
        let c_word = self.statement.is_some_and(|w| matches!(w, "struct" | "union" | "enum" | "typedef" | "const"));
        let inside_type = self.braces.last().is_some_and(|b| b.kind == Brace::Type);
        let kind = if c_word || inside_type { Brace::Type } else { Brace::Block };
        let one_line = self.one_line() || self.stays_on_one_line(index);
        self.braces.push(Open { kind, one_line, parens: self.parens });
        self.parens = 0;
        self.fresh = true;
        self.header = Header::Item;
    }

    /// True when the author closed this brace on the same line and not too far away. Counts the
    /// tokens' own lengths, so that the answer is the same after formatting.
    fn stays_on_one_line(&self, open: usize) -> bool {
        let (mut depth, mut width) = (0_u32, 0);
        for index in open..self.tokens.len() {
            if index > open && self.lines_before(index) > 0 {
                return false;
            }
            let text = self.spelled(index);
            width += text.len() + 1;
            match self.kind(index) {
                T::LBrace => depth += 1,
                T::RBrace => depth -= 1,
                T::Directive | T::Inactive | T::Eof => return false,
                T::Comment if text.starts_with("//") || text.contains('\n') => return false,
                _ => {}
            }
            if depth == 0 {
                return true;
            }
            if width > ONE_LINE {
                return false;
            }
        }
        false
    }

    fn put_gap(&mut self, gap: Gap, index: usize) {
        if self.out.is_empty() {
            return;
        }
        match gap {
            Gap::None => {}
            Gap::Space => self.out.push(' '),
            Gap::Line => {
                let (lines, column) = (self.lines_before(index), self.kind(index));
                let blank = usize::from(lines > 1 && !self.out.ends_with('{'));
                let depth = match column {
                    T::Directive | T::Shebang | T::Inactive => 0,
                    _ => self.braces.len() + usize::from(self.continues(index)),
                };
                self.new_line(depth, blank);
            }
        }
    }

    /// True for a token on a new line that goes on with a statement.
    fn continues(&self, index: usize) -> bool {
        let in_header = self.braces.is_empty() && self.header == Header::Points;
        let body = self.kind(index) == T::LBrace && self.braces.is_empty();
        let closing = self.kind(index) == T::Slash && self.facts.closes_predicate(index);
        !self.fresh && !in_header && !body && !closing
    }

    fn new_line(&mut self, depth: usize, blank: usize) {
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
        for _ in 0..=blank {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', depth * INDENT));
    }

    fn write(&mut self, index: usize) {
        let text = self.spelled(index);
        match self.kind(index) {
            T::Comment | T::Directive | T::Shebang => self.out.push_str(text.trim_end()),
            _ => self.out.push_str(text),
        }
    }

    fn finish(mut self) -> String {
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

#[cfg(test)]
mod tests;
