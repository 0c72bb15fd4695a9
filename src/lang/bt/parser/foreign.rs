//! Statements that other languages have: each is reported once, with what stands for it here, and skipped.

use super::{C_INT_WORDS, Parser, TYPE_WORDS};
use crate::lang::bt::ast::StatementKind;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::{Code, Diagnostic};

/// Words before a type's name that say nothing of which it is, and those before a tag.
const QUALIFIERS: &[&str] = &["const", "static", "volatile", "register"];
const TAGGED: &[&str] = &["struct", "union", "enum"];
/// Types that only other languages have.
const OTHER_TYPES: &[&str] =
    &["auto", "var", "float", "double", "size_t", "ssize_t", "pid_t", "u8", "u16", "u32", "u64"];

/// A statement of another language.
struct Foreign {
    /// Its first word, and what follows that.
    word: &'static str,
    then: T,
    code: Code,
    /// What to write here.
    instead: &'static str,
}

const FOREIGN: [Foreign; 3] = [
    Foreign {
        word: "switch",
        then: T::LParen,
        code: codes::EXPECTED,
        instead: "write `if ... else if ... else`, or keep what belongs to each value in a map",
    },
    Foreign {
        word: "foreach",
        then: T::LParen,
        code: codes::BAD_FOR,
        instead: "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`",
    },
    Foreign { word: "do", then: T::LBrace, code: codes::EXPECTED, instead: "write `while (condition) { ... }`" },
];

impl Parser<'_> {
    /// Reports and skips a statement of another language; false where none begins.
    pub(super) fn foreign_statement(&mut self) -> bool {
        let word = self.text_of(self.token());
        let Some(foreign) = FOREIGN.iter().find(|f| f.word == word && f.then == self.peek(1).kind) else {
            return false;
        };
        self.error_here(foreign.code, format!("there is no `{word}` in this language"), foreign.instead);
        if foreign.then == T::LParen {
            self.skip_head();
            self.skip_braces();
        } else {
            // The condition stands behind the body.
            self.bump();
            self.skip_braces();
            self.skip_statement();
        }
        true
    }

    /// How many tokens of a type stand before a variable that is declared as in C.
    pub(super) fn declared_length(&self) -> Option<usize> {
        let mut length = 0;
        let mut tagged = false;
        while let Some(word) = self.word_ahead(length) {
            let known = [QUALIFIERS, TAGGED, TYPE_WORDS, C_INT_WORDS, OTHER_TYPES].iter().any(|w| w.contains(&word));
            if !(known || tagged) {
                break;
            }
            tagged = TAGGED.contains(&word);
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
    pub(super) fn typed_declaration(&mut self, length: usize) -> Option<StatementKind> {
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
