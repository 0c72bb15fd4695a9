//! Statements that other languages have: each is reported once, with what stands for it here, and skipped.

use crate::lang::bt::ast::StatementKind;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::{Code, Diagnostic};

use crate::lang::bt::parser::{C_INT_WORDS, Parser, TYPE_WORDS, statements};

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

/// Reports and skips a statement of another language; false where none begins.
pub fn foreign_statement(p: &mut Parser<'_>) -> bool {
    let word = p.text_of(p.token());
    let Some(foreign) = FOREIGN.iter().find(|f| f.word == word && f.then == p.peek(1).kind) else {
        return false;
    };
    p.error_here(foreign.code, format!("there is no `{word}` in this language"), foreign.instead);
    if foreign.then == T::LParen {
        statements::skip_head(p);
        skip_braces(p);
    } else {
        // The condition stands behind the body.
        p.bump();
        skip_braces(p);
        statements::skip_statement(p);
    }
    true
}

/// How many tokens of a type stand before a variable that is declared as in C.
pub fn declared_length(p: &Parser<'_>) -> Option<usize> {
    let mut length = 0;
    let mut tagged = false;
    while let Some(word) = p.word_ahead(length) {
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
    while p.peek(length).kind == T::Star {
        length += 1;
    }
    let named = matches!(p.peek(length).kind, T::Word | T::Variable);
    let ends = matches!(p.peek(length + 1).kind, T::Assign | T::Semicolon | T::LBracket | T::Comma);
    (named && ends).then_some(length)
}

/// `int x = 5;`: with a variable of this language the rest is read as if the type were not there.
pub fn typed_declaration(p: &mut Parser<'_>, length: usize) -> Option<StatementKind> {
    let start = p.token().span;
    for _ in 0..length {
        p.bump();
    }
    let name = p.text_of(p.token()).trim_start_matches('$');
    let help = format!("variables need no type before them: `${name} = ...;`");
    p.report_always(Diagnostic::error(codes::EXPECTED, p.since(start), "a declaration as in C").help(help));
    if p.at_kind(T::Variable) {
        return statements::plain_statement(p);
    }
    statements::skip_statement(p);
    None
}

/// Skips a block with all that is in it.
fn skip_braces(p: &mut Parser<'_>) {
    if !p.at_kind(T::LBrace) {
        return;
    }
    let mut depth = 0_u32;
    while !p.at_end() {
        match p.bump().kind {
            T::LBrace => depth += 1,
            T::RBrace => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}
