//! Text to tokens.
//!
//! The lexer never fails: bytes that mean nothing become [`TokenKind::Unknown`] and a diagnostic.
//! It knows where it is in a script, because attach points are raw text (`uprobe:/bin/a b*:f`)
//! while bodies are tokens, and it runs the small preprocessor on its way: text left out by
//! `#ifdef` is one [`TokenKind::Inactive`] token, and names given by `#define` are replaced by
//! tokens whose `span` is the use and whose `text` is the definition.

mod cursor;
mod literal;
mod preprocess;
mod scan;
mod token;

use super::super::bounds::MOST_TOLD;
use super::super::diagnostic::{Diagnostic, Severity};
use super::super::source::{SourceText, Span};

pub use crate::lang::literal::{StrError, decode_str};
pub use literal::{IntError, decode_int};
pub use token::{Token, TokenKind};

/// All tokens of a text, the last one being [`TokenKind::Eof`], and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// In order of the text; comments and directives included.
    pub tokens: Vec<Token>,
    /// Unclosed comments and strings, stray characters, preprocessor errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors that were found and not kept.
    pub dropped: usize,
}

impl Lexed {
    /// Adds what is wrong with the text; of more than [`MOST_TOLD`] the number is kept.
    fn tell(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MOST_TOLD {
            self.diagnostics.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.dropped += 1;
        }
    }
}

/// Lexes for the parser: `#define`d names are replaced.
#[must_use]
pub fn lex(source: &SourceText) -> Lexed {
    scan::Lexer::new(&source.text, true).run()
}

/// Lexes for highlighting and formatting: every token is where it is written.
#[must_use]
pub fn lex_as_written(text: &str) -> Lexed {
    scan::Lexer::new(text, false).run()
}

/// A span from byte positions; positions past 4 GiB stop there.
pub(crate) fn span(start: usize, end: usize) -> Span {
    Span::new(clamp(start), clamp(end))
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
