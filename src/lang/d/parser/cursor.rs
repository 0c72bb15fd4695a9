//! The tokens of a program one after another, with what is wrong where they stand.

use std::sync::Arc;

use super::super::ast::Name;
use super::super::lexer::{Kind, Lexer, Token, span};
use crate::lang::codes::d as tags;
use crate::lang::diagnostic::{Code, Fix};
use crate::lang::source::Span;

/// A place among the tokens of a program.
pub struct Cursor<'t> {
    pub lexer: Lexer<'t>,
    /// The token at hand.
    pub token: Token,
    /// Where the token before it ends.
    pub previous_end: usize,
    /// The text nests too deep: nothing more is read, and nothing more reported.
    pub given_up: bool,
    /// Where the token begins that got an error last: it gets no other.
    pub last_error: Option<u32>,
}

impl<'t> Cursor<'t> {
    /// The lexer has taken nothing yet: a token is at hand once one was bumped.
    pub fn new(lexer: Lexer<'t>) -> Self {
        let token = Token { kind: Kind::Eof, span: Span::default() };
        Self { lexer, token, previous_end: 0, given_up: false, last_error: None }
    }

    pub fn bump(&mut self) -> Token {
        self.previous_end = self.token.span.end as usize;
        let next = self.lexer.next();
        std::mem::replace(&mut self.token, next)
    }

    /// Runs `look` on what follows the token at hand and comes back.
    pub fn ahead<T>(&mut self, look: impl FnOnce(&mut Lexer<'_>) -> T) -> T {
        let (at, told, used) = (self.lexer.at, self.lexer.diagnostics.len(), self.lexer.used_arguments.clone());
        let (lines, dropped) = (self.lexer.control_lines.len(), self.lexer.dropped);
        let result = look(&mut self.lexer);
        self.lexer.at = at;
        self.lexer.diagnostics.truncate(told);
        self.lexer.dropped = dropped;
        self.lexer.control_lines.truncate(lines);
        self.lexer.used_arguments = used;
        result
    }

    pub fn next_kind(&mut self) -> Kind {
        self.ahead(|lexer| lexer.next().kind)
    }

    pub fn at(&self, sign: &str) -> bool {
        matches!(self.token.kind, Kind::Sign(s) if s == sign)
    }

    pub fn at_eof(&self) -> bool {
        self.token.kind == Kind::Eof
    }

    pub fn accept(&mut self, sign: &str) -> bool {
        let there = self.at(sign);
        if there {
            self.bump();
        }
        there
    }

    pub fn word(&self) -> Option<Arc<str>> {
        match &self.token.kind {
            Kind::Ident(text) => Some(Arc::clone(text)),
            _ => None,
        }
    }

    pub fn at_word(&self, word: &str) -> bool {
        matches!(&self.token.kind, Kind::Ident(text) if **text == *word)
    }

    pub fn accept_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        if there {
            self.bump();
        }
        there
    }

    pub fn expect(&mut self, sign: &str) -> bool {
        if self.accept(sign) {
            return true;
        }
        let expected = if self.at_eof() { String::new() } else { format!(": expected `{sign}`") };
        let message = format!("syntax error near {}{expected}", self.found());
        self.error_here(tags::D_SYNTAX, message);
        if let Some(last) = self.lexer.diagnostics.last_mut().filter(|_| matches!(sign, ";" | ")" | "]" | "}")) {
            let at = span(self.previous_end, self.previous_end);
            last.fix.get_or_insert(Fix { span: at, replacement: sign.to_owned() });
        }
        false
    }

    /// What stands here, for messages.
    pub fn found(&self) -> String {
        if self.at_eof() {
            return "end-of-input".into();
        }
        let text = self.lexer.text.get(self.token.span.start as usize..self.token.span.end as usize).unwrap_or("");
        let short: String = text.chars().take(24).flat_map(char::escape_debug).collect();
        format!("\"{short}\"")
    }

    /// Reports an error at this token, unless it got one already.
    pub fn error_here(&mut self, code: Code, message: impl Into<String>) {
        let at = self.token.span;
        if self.token.kind == Kind::Unknown || self.last_error == Some(at.start) || self.given_up {
            return;
        }
        self.last_error = Some(at.start);
        self.error(code, at, message);
    }

    pub fn error(&mut self, code: Code, at: Span, message: impl Into<String>) {
        if !self.given_up {
            self.lexer.error(code, at, message);
        }
    }

    pub fn unexpected(&mut self) {
        let why = match self.word().as_deref() {
            Some("if" | "else" | "switch") => {
                ": D has no such statement; a predicate /a/ before the clause decides, or `a ? b : c` in an expression"
            }
            Some("while" | "for" | "do" | "goto") => ": D has no loops",
            _ => "",
        };
        let message = format!("syntax error near {}{why}", self.found());
        self.error_here(tags::D_SYNTAX, message);
    }

    /// A name that stands where only a type's can.
    pub fn unknown_type(&mut self) {
        let message =
            format!("syntax error near {}: neither this kernel nor the program has a type of that name", self.found());
        self.error_here(tags::D_SYNTAX, message);
    }

    /// From `start` to the end of the last token taken.
    pub fn since(&self, start: Span) -> Span {
        span(start.start as usize, self.previous_end.max(start.start as usize))
    }

    pub fn name(&mut self) -> Option<Name> {
        let text = self.word()?;
        let token = self.bump();
        Some(Name { text, span: token.span })
    }

    /// A name that must be there.
    pub fn expect_name(&mut self) -> Name {
        let at = self.token.span;
        self.name().unwrap_or_else(|| {
            self.unexpected();
            Name { text: "".into(), span: span(at.start as usize, at.start as usize) }
        })
    }

    pub fn too_deep(&mut self) {
        self.error_here(tags::D_SYNTAX, "nested too deep: the compiler stops reading here");
        self.given_up = true;
        self.skip_to_end();
        self.bump();
    }

    /// Ends with the token at hand: the lexer goes on right behind it, where other tokens may stand than in what it ends.
    pub fn end_behind_token(&mut self) {
        self.previous_end = self.token.span.end as usize;
        self.lexer.at = self.previous_end;
    }

    /// Goes over all that is left.
    pub fn skip_to_end(&mut self) {
        self.lexer.at = self.lexer.text.len();
    }
}
