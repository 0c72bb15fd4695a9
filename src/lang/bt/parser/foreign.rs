//! Statements that other languages have: each is reported once, with what stands for it here, and skipped.

use super::{C_INT_WORDS, Parser, TYPE_WORDS};
use crate::lang::bt::ast::StatementKind;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;

/// Words before a type's name.
const QUALIFIERS: &[&str] = &["const", "static", "volatile", "register", "struct", "union", "enum"];
/// Types that only other languages have.
const OTHER_TYPES: &[&str] =
    &["auto", "var", "float", "double", "size_t", "ssize_t", "pid_t", "u8", "u16", "u32", "u64"];

impl Parser<'_> {
    /// What begins here as a statement of another language; `None` where that is not so.
    #[allow(clippy::option_option, reason = "nothing foreign, a statement that is skipped, one that is read")]
    pub(super) fn foreign_statement(&mut self) -> Option<Option<StatementKind>> {
        match self.text_of(self.token()) {
            "switch" if self.peek(1).kind == T::LParen => {
                self.error_here(
                    codes::EXPECTED,
                    "there is no `switch` in this language",
                    "write `if ... else if ... else`, or keep what belongs to each value in a map",
                );
                self.skip_head();
                self.skip_braces();
                Some(None)
            }
            "foreach" if self.peek(1).kind == T::LParen => {
                self.error_here(
                    codes::BAD_FOR,
                    "there is no `foreach` in this language",
                    "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`",
                );
                self.skip_head();
                self.skip_braces();
                Some(None)
            }
            "do" if self.peek(1).kind == T::LBrace => {
                self.error_here(
                    codes::EXPECTED,
                    "there is no `do` in this language",
                    "write `while (condition) { ... }`",
                );
                self.bump();
                self.skip_braces();
                self.skip_statement();
                Some(None)
            }
            _ => self.declared_length().map(|length| self.typed_declaration(length)),
        }
    }

    /// How many tokens of a type stand before a variable that is declared as in C.
    fn declared_length(&self) -> Option<usize> {
        let mut length = 0;
        let mut tagged = false;
        while let Some(word) = self.word_ahead(length) {
            let qualifier = QUALIFIERS.contains(&word);
            let known = TYPE_WORDS.contains(&word) || C_INT_WORDS.contains(&word) || OTHER_TYPES.contains(&word);
            if !(qualifier || known || tagged) {
                break;
            }
            tagged = qualifier && !matches!(word, "const" | "static" | "volatile" | "register");
            length += 1;
        }
        if length == 0 {
            return None;
        }
        while self.peek(length).kind == T::Star {
            length += 1;
        }
        let named = matches!(self.peek(length).kind, T::Word | T::Variable);
        let ends = matches!(self.peek(length + 1).kind, T::Assign | T::Semicolon | T::LBracket | T::Comma);
        (named && ends).then_some(length)
    }

    /// `int x = 5;`: with a variable of this language the rest is read as if the type were not there.
    fn typed_declaration(&mut self, length: usize) -> Option<StatementKind> {
        let start = self.token().span;
        for _ in 0..length {
            self.bump();
        }
        let name = self.text_of(self.token()).trim_start_matches('$');
        let help = format!("variables need no type before them: `${name} = ...;`");
        self.report_always(Diagnostic::error(codes::EXPECTED, self.since(start), "a declaration as in C").help(help));
        if self.at_kind(T::Variable) {
            return self.plain_statement();
        }
        self.skip_statement();
        None
    }

    /// Skips a block with all that is in it.
    fn skip_braces(&mut self) {
        if !self.at_kind(T::LBrace) {
            return;
        }
        let mut depth = 0_u32;
        while !self.at_end() {
            match self.bump().kind {
                T::LBrace => depth += 1,
                T::RBrace => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}
