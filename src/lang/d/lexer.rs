//! Text to tokens, on demand: what a character means depends on where the parser stands.

mod literal;

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::Literal;
use crate::lang::bounds::MOST_TOLD;
use crate::lang::codes::d as tags;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::Span;
use crate::model::bytes::bytes_of;

/// What macro variables stand for.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    /// `$0` and on.
    pub arguments: Vec<String>,
    /// `$pid`, `$target`, ...: numbers.
    pub named: HashMap<&'static str, i64>,
    /// Arguments that were not given are 0 or empty (`defaultargs`).
    pub defaults: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Eof,
    /// A character that means nothing; reported.
    Unknown,
    Int(Literal),
    Str(Arc<[u8]>),
    Ident(Arc<str>),
    /// With its `@`.
    Aggregation(Arc<str>),
    /// Punctuation and operators.
    Sign(&'static str),
}

#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
}

/// Signs, longer ones first.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "...", "&&", "^^", "||", "==", "!=", "<=", ">=", "<<", ">>", "->", "+=", "-=", "*=", "/=", "%=",
    "&=", "^=", "|=", "++", "--", "|", "^", "&", "<", ">", "+", "-", "*", "%", "~", "!", "?", ":", ".", "=", ",", ";",
    "(", ")", "[", "]", "{", "}", "/",
];

pub struct Lexer<'t> {
    pub text: &'t str,
    pub at: usize,
    macros: &'t Macros,
    /// Lines that begin with `#` are taken out wherever they stand, and not only where an item begins.
    pub takes_control_lines: bool,
    pub used_arguments: Vec<bool>,
    pub diagnostics: Vec<Diagnostic>,
    /// Errors that were found and not kept.
    pub dropped: usize,
    /// Control lines among the tokens: their words, each with its place.
    pub control_lines: Vec<(Span, Vec<(String, Span)>)>,
}

pub fn span(start: usize, end: usize) -> Span {
    Span::new(u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX))
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'`'
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'`'
}

/// Characters of a probe description.
fn is_of_spec(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-$:_.`?*\\[]!".contains(&byte)
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str, macros: &'t Macros) -> Self {
        let used_arguments = vec![false; macros.arguments.len()];
        Self {
            text,
            at: 0,
            macros,
            takes_control_lines: true,
            used_arguments,
            diagnostics: Vec::new(),
            dropped: 0,
            control_lines: Vec::new(),
        }
    }

    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        if self.diagnostics.len() < MOST_TOLD {
            self.diagnostics.push(Diagnostic::error(code, span, message));
        } else {
            self.dropped += 1;
        }
    }

    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Goes past blanks and comments, and `#!` lines.
    pub fn skip_blanks(&mut self) {
        let mut new_line = self.at == 0;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                let Some(end) = rest.get(2..).and_then(|r| r.find("*/")) else {
                    // The reference names the line that the text ends in.
                    let at = span(self.text.len(), self.text.len() + 1);
                    self.error(tags::D_SYNTAX, at, "end-of-file encountered before matching */");
                    self.at = self.text.len();
                    return;
                };
                let inside = rest.get(2..end + 2).unwrap_or("");
                if let Some(nested) = inside.find("/*") {
                    let at = self.at + 2 + nested;
                    self.error(tags::D_SYNTAX, span(at, at + 2), "`/*` encountered inside a comment");
                }
                self.at += end + 4;
            } else if rest.starts_with("//") {
                // The reference has no such comments, and nothing else that begins so.
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else if (new_line && rest.starts_with("#!")) || (self.at == 0 && rest.starts_with("#!")) {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if new_line && self.at > 0 && rest.starts_with('#') && self.takes_control_lines {
                self.control_line();
            } else {
                match rest.as_bytes().first() {
                    Some(b'\n') => new_line = true,
                    Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => {}
                    _ => return,
                }
                self.at += 1;
            }
        }
    }

    /// The next token.
    pub fn next(&mut self) -> Token {
        self.skip_blanks();
        let start = self.at;
        let kind = self.kind();
        Token { kind, span: span(start, self.at) }
    }

    fn kind(&mut self) -> Kind {
        let Some(byte) = self.byte() else { return Kind::Eof };
        match byte {
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'\'' => self.character(),
            b'$' => self.macro_variable(),
            b'@' => {
                let start = self.at;
                self.at += 1;
                if self.byte().is_some_and(is_name_start) {
                    self.word();
                }
                Kind::Aggregation(self.text.get(start..self.at).unwrap_or("@").into())
            }
            _ if is_name_start(byte) => Kind::Ident(self.word().into()),
            _ => self.sign(),
        }
    }

    fn sign(&mut self) -> Kind {
        let rest = self.rest();
        if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            self.at += sign.len();
            return Kind::Sign(sign);
        }
        let found = rest.chars().next().unwrap_or(' ');
        let start = self.at;
        self.at += found.len_utf8();
        let shown: String = found.escape_debug().collect();
        self.error(tags::D_SYNTAX, span(start, self.at), format!("syntax error near \"{shown}\""));
        Kind::Unknown
    }

    /// Takes a name.
    fn word(&mut self) -> &'t str {
        let start = self.at;
        while self.byte().is_some_and(is_name) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or("")
    }

    /// What a macro variable stands for: its name without signs, and whether `$$` makes it text. In a description a number
    /// ends behind its digits: `tick-$1s`.
    fn macro_text(&mut self, in_spec: bool) -> (String, bool, Span) {
        let start = self.at;
        self.at += 1;
        let quoted = self.byte() == Some(b'$');
        if quoted {
            self.at += 1;
        }
        let mut name = self.word();
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        if in_spec && digits > 0 {
            self.at -= name.len() - digits;
            name = name.get(..digits).unwrap_or(name);
        }
        let at = span(start, self.at);
        if let Ok(number) = name.parse::<usize>() {
            if let Some(used) = self.used_arguments.get_mut(number) {
                *used = true;
            }
            return match self.macros.arguments.get(number) {
                Some(text) => (text.clone(), quoted, at),
                None if self.macros.defaults => (if quoted { String::new() } else { "0".into() }, quoted, at),
                None => {
                    self.error(tags::D_MACRO_UNDEF, at, format!("macro argument ${number} is not defined"));
                    ("0".into(), quoted, at)
                }
            };
        }
        if let Some(value) = self.macros.named.get(name) {
            return (value.to_string(), quoted, at);
        }
        if name.is_empty() {
            self.error(tags::D_SYNTAX, at, "syntax error near \"$\"");
        } else {
            self.error(tags::D_MACRO_UNDEF, at, format!("macro variable ${name} is not defined"));
        }
        ("0".into(), quoted, at)
    }

    /// A number, a name or text, by the form of what was given.
    fn macro_variable(&mut self) -> Kind {
        let (text, quoted, at) = self.macro_text(false);
        let bytes = || Kind::Str(bytes_of(&text).into_owned().into());
        if quoted {
            return bytes();
        }
        let digits = text.strip_prefix('-').unwrap_or(&text);
        if digits.bytes().next().is_some_and(|b| b.is_ascii_digit()) {
            if let Some(literal) = literal::integer(digits) {
                let value = if digits.len() == text.len() { literal.value } else { literal.value.wrapping_neg() };
                return Kind::Int(Literal { value, ..literal });
            }
            self.error(tags::D_MACRO_OFLOW, at, format!("macro argument `{text}` is no integer that fits 64 bits"));
            return Kind::Int(Literal { value: 0, unsigned: false, long: false, decimal: true });
        }
        if text.bytes().next().is_some_and(is_name_start) && text.bytes().all(is_name) {
            return Kind::Ident(text.into());
        }
        bytes()
    }

    /// A probe description from here, its macro variables put in; empty where none begins.
    pub fn probe_spec(&mut self) -> (String, Span) {
        self.skip_blanks();
        let start = self.at;
        let mut text = String::new();
        while let Some(byte) = self.byte().filter(|b| is_of_spec(*b)) {
            let next = self.text.as_bytes().get(self.at + 1).copied();
            if byte == b'$' && next.is_some_and(|b| is_name(b) || b == b'$') {
                text.push_str(&self.macro_text(true).0);
            } else {
                text.push(char::from(byte));
                self.at += 1;
            }
        }
        (text, span(start, self.at))
    }

    /// Takes a control line: `#pragma ...`.
    pub fn control_line(&mut self) {
        let start = self.at;
        self.at += 1;
        let words = self.line_words();
        let at = span(start, self.at);
        if self.byte().is_none() {
            self.error(tags::D_SYNTAX, at, "end-of-file encountered before end of control line");
        }
        self.control_lines.push((at, words));
    }

    /// Words of a line from here to its end: a control line's.
    pub fn line_words(&mut self) -> Vec<(String, Span)> {
        let mut words = Vec::new();
        loop {
            while matches!(self.byte(), Some(b' ' | b'\t' | 0x0b | 0x0c | b'\r')) {
                self.at += 1;
            }
            let start = self.at;
            match self.byte() {
                None | Some(b'\n') => return words,
                Some(b'"') => {
                    let Kind::Str(text) = self.string() else { continue };
                    words.push((String::from_utf8_lossy(&text).into_owned(), span(start, self.at)));
                }
                Some(_) => {
                    while self.byte().is_some_and(|b| !b" \t\n\r\x0b\x0c\"".contains(&b)) {
                        self.at += 1;
                    }
                    words.push((self.text.get(start..self.at).unwrap_or("").to_owned(), span(start, self.at)));
                }
            }
        }
    }
}
