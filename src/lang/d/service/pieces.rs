//! What each piece of a D program is, for colours. Works on half-typed text.

use std::ops::Range;

use crate::lang::d::{docs, words};
use crate::lang::service::{Class, Pieces};

/// Words of the grammar.
const KEYWORDS: &[&str] = &["inline", "translator", "provider", "sizeof", "offsetof", "stringof", "xlate"];

/// A piece of the text.
#[derive(Clone, Debug)]
pub struct Piece {
    pub range: Range<u32>,
    pub class: Class,
}

/// A text taken apart.
#[derive(Clone, Debug, Default)]
pub struct DPieces {
    pub pieces: Vec<Piece>,
    /// For each brace: those that are open behind it.
    depths: Vec<(u32, u16)>,
    /// Declarations at the top.
    definitions: Vec<Range<u32>>,
}

/// Where the scan is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Where an item, or the next description of a clause, begins.
    Item,
    /// In a declaration, an inline or a translator.
    Declaration,
    /// Between two slashes.
    Predicate,
    /// Between a clause's braces.
    Body,
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    place: At,
    depth: u16,
    declared_at: usize,
    out: DPieces,
}

const fn offset(at: usize) -> u32 {
    if at > u32::MAX as usize { u32::MAX } else { at as u32 }
}

impl DPieces {
    /// Takes a text apart.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut scan = Scan { text, at: 0, place: At::Item, depth: 0, declared_at: 0, out: Self::default() };
        while scan.at < text.len() {
            scan.piece();
        }
        if scan.place == At::Declaration {
            scan.out.definitions.push(offset(scan.declared_at)..offset(text.len()));
        }
        scan.out
    }

    /// The piece that touches an offset: the one that ends there before the one that begins.
    pub fn touching(&self, at: u32) -> Option<&Piece> {
        let first = self.pieces.partition_point(|p| p.range.end < at);
        self.pieces.get(first).filter(|p| p.range.start <= at)
    }
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn take(&mut self, bytes: usize, class: Class) {
        let start = self.at;
        self.skip(bytes);
        self.out.pieces.push(Piece { range: offset(start)..offset(self.at), class });
    }

    /// Goes on, never into the middle of a character.
    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes.max(1)).min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    fn piece(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        let new_line = self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n');
        let until = |end: Option<usize>| end.unwrap_or(rest.len());
        if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else if rest.starts_with("/*") {
            let end = rest.get(2..).and_then(|r| r.find("*/")).map(|i| i + 4);
            self.take(until(end), Class::Comment);
        } else if new_line && rest.starts_with("#!") {
            self.take(until(rest.find('\n')), Class::Comment);
        } else if new_line && first == '#' {
            self.take(until(rest.find('\n')), Class::Directive);
        } else if first == '"' || first == '\'' {
            self.take(quoted(rest, first), Class::Str);
        } else if self.place == At::Item {
            self.item(first);
        } else {
            self.code(first);
        }
    }

    fn item(&mut self, first: char) {
        match first {
            ',' | ';' => self.take(1, Class::Operator),
            '/' => {
                self.place = At::Predicate;
                self.take(1, Class::Operator);
            }
            '{' => {
                self.place = At::Body;
                self.brace(1);
            }
            _ => {
                let word = name(self.rest());
                let begins = words::begins_declaration(word) || words::is_type_word(word) || KEYWORDS.contains(&word);
                let next = self.rest().get(word.len()..).and_then(|r| r.trim_start().chars().next());
                let assigned =
                    !word.is_empty() && next.is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '@');
                if begins || (assigned && !word.is_empty()) {
                    self.place = At::Declaration;
                    self.declared_at = self.at;
                    self.code(first);
                    return;
                }
                let of_spec = |c: char| c.is_ascii_alphanumeric() || "-$:_.`?*\\[]!".contains(c);
                let length = self.rest().find(|c| !of_spec(c)).unwrap_or(self.rest().len());
                if length == 0 {
                    self.skip(first.len_utf8());
                } else {
                    self.take(length, Class::Probe);
                }
            }
        }
    }

    fn brace(&mut self, by: i32) {
        self.take(1, Class::Operator);
        self.depth = if by > 0 { self.depth.saturating_add(1) } else { self.depth.saturating_sub(1) };
        self.out.depths.push((offset(self.at), self.depth));
        if self.depth == 0 && self.place == At::Body {
            self.place = At::Item;
        }
    }

    fn code(&mut self, first: char) {
        let rest = self.rest();
        match first {
            '{' => self.brace(1),
            '}' => self.brace(-1),
            '/' if self.place == At::Predicate && ends_predicate(rest) => {
                self.place = At::Item;
                self.take(1, Class::Operator);
            }
            ';' => {
                self.take(1, Class::Operator);
                if self.place == At::Declaration && self.depth == 0 {
                    self.out.definitions.push(offset(self.declared_at)..offset(self.at));
                    self.place = At::Item;
                }
            }
            '@' => self.take(1 + name(rest.get(1..).unwrap_or("")).len(), Class::Map),
            '$' => {
                let inner = rest.trim_start_matches('$');
                self.take(rest.len() - inner.len() + name(inner).len(), Class::Variable);
            }
            c if c.is_ascii_digit() => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                self.take(length, Class::Number);
            }
            c if c.is_ascii_alphabetic() || c == '_' || c == '`' => self.word(),
            c => self.take(c.len_utf8(), Class::Operator),
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let word = name(rest);
        let before = self.text.get(..self.at).unwrap_or("").trim_end();
        let called = rest.get(word.len()..).is_some_and(|r| r.trim_start().starts_with('('));
        let of_variable = before.strip_suffix("->").is_some_and(|b| b.ends_with("self") || b.ends_with("this"));
        let class = if of_variable {
            Class::Variable
        } else if before.ends_with("->") || before.ends_with('.') {
            Class::Field
        } else if KEYWORDS.contains(&word) {
            Class::Keyword
        } else if docs::VARIABLES.iter().any(|d| d.name == word) || is_argument(word) {
            Class::Builtin
        } else if words::begins_declaration(word) || words::is_type_word(word) || word.ends_with("_t") {
            Class::Type
        } else if called {
            Class::Function
        } else {
            Class::Variable
        };
        self.take(word.len(), class);
    }
}

fn is_argument(word: &str) -> bool {
    word.strip_prefix("arg").is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']))
}

/// The name at the start of a text.
pub fn name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '`')).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

/// Bytes of a text in quotes, those included; up to the line's end when it is not closed.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether the slash at the start of a text ends a predicate: a body stands behind it.
fn ends_predicate(text: &str) -> bool {
    let mut rest = text.get(1..).unwrap_or("").trim_start();
    while let Some(comment) = rest.strip_prefix("/*") {
        rest = comment.find("*/").and_then(|end| comment.get(end + 2..)).unwrap_or("").trim_start();
    }
    rest.starts_with('{')
}

impl Pieces for DPieces {
    fn depth(&self, offset: u32) -> u16 {
        let before = self.depths.partition_point(|(end, _)| *end <= offset);
        before.checked_sub(1).and_then(|at| self.depths.get(at)).map_or(0, |(_, depth)| *depth)
    }

    fn between_items(&self, offset: u32, text: &str) -> bool {
        let begun = self.pieces.partition_point(|p| p.range.start < offset);
        let before = self.pieces.get(..begun).unwrap_or(&[]);
        let inside = before.last().is_some_and(|p| p.class == Class::Comment && p.range.end > offset);
        let last = before.iter().rev().find(|p| !matches!(p.class, Class::Comment | Class::Directive));
        let said = |p: &Piece| text.get(p.range.start as usize..p.range.end as usize).unwrap_or("");
        !inside && self.depth(offset) == 0 && last.is_none_or(|p| matches!(said(p), "}" | ";"))
    }

    fn in_definition(&self, offset: u32) -> bool {
        self.definitions.iter().any(|d| d.contains(&offset))
    }

    fn within(&self, range: Range<u32>, _: &str) -> Vec<(Range<u32>, Class)> {
        let from = self.pieces.partition_point(|p| p.range.end <= range.start);
        let touching = self.pieces.get(from..).unwrap_or(&[]).iter().take_while(|p| p.range.start < range.end);
        touching.map(|p| (p.range.start.max(range.start)..p.range.end.min(range.end), p.class)).collect()
    }
}
