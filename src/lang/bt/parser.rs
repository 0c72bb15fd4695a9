//! Tokens to the syntax tree: recursive descent that always returns a tree.
//!
//! Recovery: a broken statement ends at its `;` or before the block's `}`; a broken item ends where
//! the next begins. One place gets one error. Nesting is bounded twice: `depth` bounds this
//! parser's own recursion, `height` the tree's, since long operator chains nest without recursion.
//!
//! `Parser` is the tokens, where it stands, and errors; the grammar is functions on it. Methods are only what its parts call in each other.

mod blocks;
mod ctypes;
mod expressions;
mod foreign;
mod items;
mod operators;
mod primary;
mod statements;
mod types;

pub(crate) use types::{C_INT_WORDS, TYPE_WORDS};

use super::ast::{Expr, ExprKind, Name, Script};
use super::lexer::{Token, TokenKind, lex};
use crate::lang::bounds::MOST_TOLD;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::{SourceText, Span};

/// How deep the parser follows nesting. A thread with 2 MiB of stack has room for it.
pub(crate) const MAX_DEPTH: u32 = 200;
/// How high an expression's tree may grow.
pub(crate) const MAX_HEIGHT: u32 = 400;
/// Errors beyond this many are counted.
const MAX_ERRORS: usize = MOST_TOLD;

/// A parsed script.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The tree; complete when there are no errors.
    pub script: Script,
    /// In order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors that were found and not kept.
    pub dropped: usize,
}

/// Parses a script. Never fails: what made no sense is told in the diagnostics.
#[must_use]
pub fn parse(source: &SourceText) -> Parsed {
    let mut lexed = lex(source);
    lexed.tokens.retain(|t| !t.kind.is_trivia());
    let mut parser = Parser {
        text: &source.text,
        tokens: lexed.tokens,
        at: 0,
        depth: 0,
        height: 0,
        predicate: false,
        last_error: None,
        given_up: false,
        diagnostics: lexed.diagnostics,
        dropped: lexed.dropped,
    };
    let script = items::script(&mut parser);
    let (mut diagnostics, dropped) = (parser.diagnostics, parser.dropped);
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
    Parsed { script, diagnostics, dropped }
}

struct Parser<'t> {
    text: &'t str,
    /// Without trivia; the last is always [`TokenKind::Eof`].
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Height of the expression that was parsed last.
    height: u32,
    /// Directly inside `/ ... /`, where a slash before `{` closes the predicate.
    predicate: bool,
    /// Token index of the last error: one place gets one error.
    last_error: Option<usize>,
    /// The text nests too deep: what is missing at its end is no mistake of its own.
    given_up: bool,
    diagnostics: Vec<Diagnostic>,
    dropped: usize,
}

impl<'t> Parser<'t> {
    fn token(&self) -> Token {
        self.peek(0)
    }

    /// The token `ahead` of here; the end of the text from there on.
    fn peek(&self, ahead: usize) -> Token {
        let index = (self.at + ahead).min(self.tokens.len().saturating_sub(1));
        self.tokens.get(index).copied().unwrap_or(Token {
            kind: TokenKind::Eof,
            span: Span::default(),
            text: Span::default(),
        })
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn at_kind(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// True where no block goes on: the end of the text, or a probe that begins in the open.
    fn at_end(&self) -> bool {
        matches!(self.kind(), TokenKind::Eof | TokenKind::Unclosed)
    }

    /// Goes past this token and returns it; never past the end.
    fn bump(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn accept(&mut self, kind: TokenKind) -> Option<Token> {
        self.at_kind(kind).then(|| self.bump())
    }

    fn text_of(&self, token: Token) -> &'t str {
        self.text.get(token.text.start as usize..token.text.end as usize).unwrap_or("")
    }

    /// True at the given word.
    fn at_word(&self, word: &str) -> bool {
        self.at_kind(TokenKind::Word) && self.text_of(self.token()) == word
    }

    /// True when the token `ahead` is the given word.
    fn word_ahead(&self, ahead: usize) -> Option<&'t str> {
        let token = self.peek(ahead);
        (token.kind == TokenKind::Word).then(|| self.text_of(token))
    }

    fn accept_word(&mut self, word: &str) -> Option<Token> {
        self.at_word(word).then(|| self.bump())
    }

    /// Where the token before this one ends.
    fn previous_end(&self) -> Span {
        let span = self.taken(1).map_or(Span::default(), |t| t.span);
        Span::new(span.end, span.end)
    }

    /// The token taken so many tokens ago: 1 is the last one.
    fn taken(&self, ago: usize) -> Option<&Token> {
        self.tokens.get(self.at.checked_sub(ago)?)
    }

    /// From `start` to the end of the last token taken.
    fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.previous_end().end.max(start.end))
    }

    fn name(&self, token: Token) -> Name {
        Name { text: self.text_of(token).into(), span: token.span }
    }

    /// A name that is missing, at this place.
    fn no_name(&self) -> Name {
        let at = self.token().span.start;
        Name { text: "".into(), span: Span::new(at, at) }
    }

    /// What stands here, for messages.
    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Eof => "the end of the script".into(),
            TokenKind::Unclosed => "the next probe".into(),
            _ => {
                let text = self.text_of(self.token());
                let short: String = text.chars().take(24).collect();
                format!("`{}{}`", short.escape_debug(), if short.len() < text.len() { "..." } else { "" })
            }
        }
    }

    /// Reports unless this very token already got an error.
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.last_error == Some(self.at) {
            return;
        }
        self.last_error = Some(self.at);
        self.report_always(diagnostic);
    }

    fn report_always(&mut self, diagnostic: Diagnostic) {
        if self.given_up {
            return;
        }
        if self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// An error at this token; where there is none, just after the one before.
    fn error_here(&mut self, code: Code, message: impl Into<String>, help: &str) {
        let span = if self.at_end() { self.previous_end() } else { self.token().span };
        // A stray character was reported by the lexer already.
        if self.at_kind(TokenKind::Unknown) {
            self.last_error = Some(self.at);
        }
        self.report(Diagnostic::error(code, span, message).help(help));
    }

    /// `=` within a value: reported, and read as the comparison that was meant.
    fn single_equals(&mut self) {
        let span = self.token().span;
        self.report(
            Diagnostic::error(codes::SINGLE_EQUALS, span, "`=` assigns; it can't stand in a condition")
                .help("compare with `==`")
                .fix(span, "=="),
        );
        self.bump();
        self.expression();
    }

    /// Takes a token of this kind or reports that it was expected.
    fn expect(&mut self, kind: TokenKind, what: &str, help: &str) -> Option<Token> {
        let token = self.accept(kind);
        if token.is_none() {
            let message = format!("expected {what}, found {}", self.found());
            self.error_here(codes::EXPECTED, message, help);
        }
        token
    }

    /// Takes the bracket that closes `open`, or says that it is missing.
    fn close(&mut self, kind: TokenKind, symbol: &str, open: Token) -> bool {
        if self.accept(kind).is_some() {
            return true;
        }
        if kind == TokenKind::RParen && self.at_kind(TokenKind::Assign) {
            self.single_equals();
            return self.accept(kind).is_some();
        }
        let span = if self.at_end() { self.previous_end() } else { self.token().span };
        let message = format!("expected `{symbol}`, found {}", self.found());
        let opened = self.text_of(open).to_owned();
        if self.at_kind(TokenKind::Unknown) {
            self.last_error = Some(self.at);
        }
        let mut diagnostic = Diagnostic::error(codes::UNCLOSED_BRACKET, span, message)
            .label(open.span, format!("this `{opened}` is open"))
            .help(format!("close it with `{symbol}`"));
        if matches!(self.kind(), TokenKind::Semicolon | TokenKind::LBrace | TokenKind::RBrace) {
            // What follows can be no part of what is in the brackets.
            diagnostic = diagnostic.fix(self.previous_end(), symbol);
        }
        self.report(diagnostic);
        false
    }

    /// Runs `inner` one level deeper, or reports that the text nests too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return None;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        Some(result)
    }

    /// Reports once and ends the parse: what is nested this deep is no script.
    fn too_deep(&mut self) {
        let message = "nested too deep: the compiler stops reading here";
        self.error_here(codes::TOO_DEEP, message, "split the expression with variables, or the probe into several");
        self.at = self.tokens.len().saturating_sub(1);
        self.given_up = true;
    }

    /// Notes that a node was put over what was parsed; false when the tree grew too high.
    fn grow(&mut self, height: u32) -> bool {
        self.height = height + 1;
        if self.height > MAX_HEIGHT {
            self.too_deep();
            self.height = 0;
            return false;
        }
        true
    }

    fn error_expr(&self) -> Expr {
        Expr { kind: ExprKind::Error, span: self.token().span }
    }
}

#[cfg(test)]
mod tests;
