//! The small preprocessor: `#define` of names, conditions, `#include` (never read: types come from
//! the kernel's BTF). It runs inside the scanner so that a branch left out is never tokenised.

mod condition;

use std::collections::HashMap;
use std::ops::Range;

use super::cursor::{Cursor, is_blank, is_symbolic_number};
use super::scan::{Lexer, scan_token, word_at};
use super::span;
use super::token::{Token, TokenKind};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

/// How many tokens all expansions of a script may give: no script needs so many.
const EXPANSION_LIMIT: usize = 200_000;
/// How deep definitions may refer to each other.
const DEPTH_LIMIT: usize = 32;

/// Names and open conditions.
#[derive(Debug)]
pub(super) struct Preprocessor {
    defines: HashMap<String, Vec<Token>>,
    open: Vec<Condition>,
    expanded: usize,
}

/// An `#if` that waits for its `#endif`.
#[derive(Clone, Copy, Debug)]
struct Condition {
    /// The `#if` line.
    span: Span,
    /// One of its branches was already taken.
    taken: bool,
}

impl Default for Preprocessor {
    fn default() -> Self {
        // This is how scripts ask whether types come from BTF; here they always do.
        let defines = HashMap::from([("BPFTRACE_HAVE_BTF".to_owned(), Vec::new())]);
        Self { defines, open: Vec::new(), expanded: 0 }
    }
}

impl Preprocessor {
    pub fn is_defined(&self, name: &str) -> bool {
        self.defines.contains_key(name)
    }

    /// The tokens that stand for a name, placed at `place`; an error when there are too many.
    pub fn expand(&mut self, text: &str, name: &str, place: Span) -> Result<Vec<Token>, ()> {
        let mut out = Vec::new();
        self.expand_into(text, name, place, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn expand_into<'t>(
        &mut self,
        text: &'t str,
        name: &'t str,
        place: Span,
        active: &mut Vec<&'t str>,
        out: &mut Vec<Token>,
    ) -> Result<(), ()> {
        if active.len() > DEPTH_LIMIT {
            return Err(());
        }
        active.push(name);
        for token in self.defines.get(name).cloned().unwrap_or_default() {
            self.expanded += 1;
            if self.expanded > EXPANSION_LIMIT {
                return Err(());
            }
            let word = text.get(token.text.start as usize..token.text.end as usize).unwrap_or("");
            if token.kind == TokenKind::Word && self.is_defined(word) && !active.contains(&word) {
                self.expand_into(text, word, place, active, out)?;
            } else {
                out.push(Token { span: place, ..token });
            }
        }
        active.pop();
        Ok(())
    }
}

/// One directive line, taken apart.
struct Line<'t> {
    /// From `#` to the end of the line.
    range: Range<usize>,
    /// `define`, `ifdef`...
    keyword: &'t str,
    /// What follows, without a comment at the end.
    rest: Range<usize>,
}

impl<'t> Line<'t> {
    /// Reads the line that begins with the `#` at the cursor and leaves the cursor at its end.
    fn read(text: &'t str, cursor: &mut Cursor<'t>) -> Self {
        let start = cursor.pos;
        cursor.skip_line();
        let mut inner = Cursor::within(text, start + 1, cursor.pos);
        inner.skip_while(|b| matches!(b, b' ' | b'\t'));
        let at = inner.pos;
        inner.skip_while(is_symbolic_number);
        let keyword = text.get(at..inner.pos).unwrap_or("");
        inner.skip_while(is_blank);
        let first = inner.pos;
        let mut end = first;
        while !inner.at_end() && !inner.starts_with("//") && !inner.starts_with("/*") {
            if inner.byte() == b'"' {
                inner.skip_string();
            } else {
                inner.skip_char();
            }
            end = inner.pos;
        }
        let body = text.get(first..end).unwrap_or("");
        Self { range: start..cursor.pos, keyword, rest: first..first + body.trim_end().len() }
    }
}

impl<'t> Lexer<'t> {
    /// A line that begins with `#`, at the cursor.
    pub(super) fn directive(&mut self) {
        let text = self.text;
        if self.cursor.pos == 0 && self.cursor.starts_with("#!") {
            self.cursor.skip_line_plain();
            return self.push(TokenKind::Shebang, 0, self.cursor.pos);
        }
        let line = Line::read(text, &mut self.cursor);
        self.push(TokenKind::Directive, line.range.start, line.range.end);
        match line.keyword {
            "if" | "ifdef" | "ifndef" => {
                let taken = self.condition(&line);
                self.preprocessor.open.push(Condition { span: span(line.range.start, line.range.end), taken });
                if !taken {
                    self.skip_inactive();
                }
            }
            "else" | "elif" => {
                if self.preprocessor.open.is_empty() {
                    self.unmatched(&line);
                } else {
                    self.skip_inactive();
                }
            }
            "endif" => {
                if self.preprocessor.open.pop().is_none() {
                    self.unmatched(&line);
                }
            }
            "define" => self.define(&line),
            "undef" => {
                self.preprocessor.defines.remove(word_at(text, line.rest.start));
            }
            _ => self.other(&line),
        }
    }

    fn other(&mut self, line: &Line<'t>) {
        let place = span(line.range.start, line.range.end);
        match line.keyword {
            "include" => self.out.tell(Diagnostic {
                severity: crate::lang::diagnostic::Severity::Info,
                ..Diagnostic::warning(
                    codes::INCLUDE_IGNORED,
                    place,
                    "headers are not read: types come from the kernel's BTF",
                )
                .help("guard it with `#ifndef BPFTRACE_HAVE_BTF`, and write constants the headers gave as `#define`")
            }),
            "pragma" | "line" | "" => {}
            "error" => {
                let text = self.text.get(line.rest.clone()).unwrap_or("").to_owned();
                self.out.tell(Diagnostic::error(codes::ERROR_DIRECTIVE, place, format!("#error {text}")));
            }
            "warning" => {
                let text = self.text.get(line.rest.clone()).unwrap_or("").to_owned();
                self.out.tell(Diagnostic::warning(codes::ERROR_DIRECTIVE, place, format!("#warning {text}")));
            }
            other => {
                let message = format!("`#{other}` is no preprocessor line that is known here");
                self.out.tell(Diagnostic::error(codes::UNKNOWN_DIRECTIVE, place, message).help(
                    "known are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else and #endif; comments begin with `//`",
                ));
            }
        }
    }

    fn unmatched(&mut self, line: &Line<'t>) {
        let message = format!("`#{}` without an `#if` before it", line.keyword);
        self.error(
            codes::UNMATCHED_CONDITION,
            line.range.start,
            line.range.end,
            &message,
            "remove it, or add the missing `#ifdef`",
        );
    }

    fn define(&mut self, line: &Line<'t>) {
        let name = word_at(self.text, line.rest.start);
        if name.is_empty() {
            let (start, end) = (line.range.start, line.range.end);
            return self.error(codes::BAD_DEFINE, start, end, "`#define` needs a name", "write `#define NAME value`");
        }
        let cursor = Cursor::within(self.text, line.rest.start + name.len(), line.rest.end);
        if cursor.byte() == b'(' {
            let place = span(line.rest.start, line.rest.end);
            self.out.tell(
                Diagnostic::warning(codes::FUNCTION_LIKE_DEFINE, place, "a `#define` with parameters is not expanded")
                    .help(format!("write it as `macro {name}(x) {{ ... }}`")),
            );
            return;
        }
        self.preprocessor.defines.insert(name.to_owned(), line_tokens(cursor));
    }

    /// Skips to the branch to take or past `#endif`, as one inactive token and the lines' own.
    fn skip_inactive(&mut self) {
        let text = self.text;
        let from = self.cursor.pos;
        let mut nested = 0_u32;
        while !self.cursor.at_end() {
            self.cursor.skip_while(is_blank);
            if self.cursor.byte() != b'#' {
                skip_inactive_line(&mut self.cursor);
                continue;
            }
            let line = Line::read(text, &mut self.cursor);
            match line.keyword {
                "if" | "ifdef" | "ifndef" => nested += 1,
                "endif" if nested > 0 => nested -= 1,
                "endif" => {
                    self.preprocessor.open.pop();
                    return self.end_inactive(from, &line);
                }
                "else" | "elif" if nested == 0 => {
                    let waiting = self.preprocessor.open.last().is_some_and(|c| !c.taken);
                    if waiting && (line.keyword == "else" || self.condition(&line)) {
                        if let Some(open) = self.preprocessor.open.last_mut() {
                            open.taken = true;
                        }
                        return self.end_inactive(from, &line);
                    }
                }
                _ => {}
            }
        }
        self.push_inactive(from, text.len());
    }

    fn end_inactive(&mut self, from: usize, line: &Line<'t>) {
        self.push_inactive(from, line.range.start);
        self.push(TokenKind::Directive, line.range.start, line.range.end);
    }

    fn push_inactive(&mut self, from: usize, to: usize) {
        let text = self.text.get(from..to).unwrap_or("");
        let start = from + (text.len() - text.trim_start().len());
        let end = from + text.trim_end().len();
        if start < end {
            self.push(TokenKind::Inactive, start, end);
        }
    }

    pub(super) fn finish_conditions(&mut self) {
        for open in std::mem::take(&mut self.preprocessor.open) {
            self.out.tell(
                Diagnostic::error(codes::UNMATCHED_CONDITION, open.span, "this condition is never closed")
                    .help("add `#endif` after the text it governs"),
            );
        }
    }

    fn condition(&mut self, line: &Line<'t>) -> bool {
        let name = word_at(self.text, line.rest.start);
        match line.keyword {
            "ifdef" | "ifndef" if name.is_empty() => {
                let message = format!("`#{}` needs a name", line.keyword);
                self.error(codes::BAD_CONDITION, line.range.start, line.range.end, &message, "write the name after it");
                false
            }
            "ifdef" => self.preprocessor.is_defined(name),
            "ifndef" => !self.preprocessor.is_defined(name),
            _ => match condition::evaluate(self.text, line.rest.clone(), &self.preprocessor.defines) {
                Ok(value) => value != 0,
                Err(why) => {
                    self.error(
                        codes::BAD_CONDITION,
                        line.range.start,
                        line.range.end,
                        why,
                        "conditions are made of integers, names, `defined(NAME)` and C's operators",
                    );
                    false
                }
            },
        }
    }
}

/// One line of text that is left out; a block comment that begins on it is skipped whole.
/// The tokens of a directive's rest, whose lines a backslash joins.
fn line_tokens(mut cursor: Cursor<'_>) -> Vec<Token> {
    let mut tokens = Vec::new();
    loop {
        cursor.skip_while(|b| is_blank(b) || b == b'\\');
        if cursor.at_end() {
            return tokens;
        }
        let start = cursor.pos;
        let kind = scan_token(&mut cursor);
        let at = span(start, cursor.pos);
        tokens.push(Token { kind, span: at, text: at });
    }
}

fn skip_inactive_line(cursor: &mut Cursor<'_>) {
    let mut blank_before = true;
    while !cursor.at_end() && cursor.byte() != b'\n' {
        if blank_before && cursor.starts_with("//") {
            return cursor.skip_line_plain();
        }
        if blank_before && cursor.starts_with("/*") {
            cursor.skip_past("*/");
            return;
        }
        blank_before = !is_symbolic_number(cursor.byte()) && cursor.byte() != b'/';
        cursor.skip_char();
    }
}
