//! Tokens to the syntax tree: recursive descent that always returns a tree.
//!
//! The first error of a place is told; a broken statement ends at its `;` or before its `}`, a broken item
//! where the next one may begin.

mod declarations;
mod expressions;
mod items;

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::{Name, Script};
use super::lexer::{Kind, Lexer, Macros, Token, span};
use super::words;
use crate::lang::codes::d as tags;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::{SourceText, Span};

/// How deep the parser follows nesting. A thread with 2 MiB of stack has room for it.
const MAX_DEPTH: u32 = 150;
/// How many operators may stand in a row: each makes the tree higher.
const MAX_HEIGHT: u32 = 300;
/// After this many errors the rest is not worth reading.
const MAX_ERRORS: usize = 100;

/// What the parser is told besides the text.
pub struct ParseOptions<'a> {
    /// Macro variables.
    pub macros: &'a Macros,
    /// Whether a name is that of a type of the kernel.
    pub is_type: &'a dyn Fn(&str) -> bool,
    /// The text is one clause of the command line: probes may stand alone, and names are not taken for types.
    pub of_command_line: bool,
}

/// A parsed program.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The tree; complete when there are no errors.
    pub script: Script,
    /// In the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a program without arguments and without a kernel's types. Never fails.
#[must_use]
pub fn parse(source: &SourceText) -> Parsed {
    let macros = Macros { defaults: true, ..Macros::default() };
    parse_with(&source.text, &ParseOptions { macros: &macros, is_type: &|_| false, of_command_line: false })
}

/// Parses a program.
#[must_use]
pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Parsed {
    let lexer = Lexer::new(text, options.macros);
    let token = Token { kind: Kind::Eof, span: Span::default() };
    let mut parser = Parser {
        lexer,
        token,
        previous_end: 0,
        depth: 0,
        parentheses: 0,
        predicate: false,
        given_up: false,
        probe_arguments: 0,
        last_error: None,
        typedefs: HashSet::new(),
        tags: HashSet::new(),
        options,
    };
    let mut script = parser.script();
    script.probe_arguments = parser.probe_arguments;
    script.used_arguments = std::mem::take(&mut parser.lexer.used_arguments);
    let mut diagnostics = parser.lexer.diagnostics;
    diagnostics.truncate(MAX_ERRORS);
    let size = text.len();
    for diagnostic in &mut diagnostics {
        let clamp = |at: u32| boundary(text, (at as usize).min(size));
        diagnostic.span = span(clamp(diagnostic.span.start), clamp(diagnostic.span.end));
    }
    Parsed { script, diagnostics }
}

/// The first character boundary at or after a byte.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The token at hand.
    token: Token,
    previous_end: usize,
    depth: u32,
    /// Open brackets in a predicate, where a slash is a division.
    parentheses: u32,
    /// Inside `/ ... /`.
    predicate: bool,
    given_up: bool,
    /// One more than the highest `argN` so far.
    probe_arguments: u8,
    last_error: Option<u32>,
    /// Names of types that the program defines.
    typedefs: HashSet<Arc<str>>,
    /// Structs and unions that it has defined so far.
    tags: HashSet<Arc<str>>,
    options: &'t ParseOptions<'t>,
}

impl Parser<'_> {
    fn bump(&mut self) -> Token {
        self.previous_end = self.token.span.end as usize;
        let next = self.lexer.next();
        std::mem::replace(&mut self.token, next)
    }

    /// Runs `look` on what follows the token at hand and comes back.
    fn ahead<T>(&mut self, look: impl FnOnce(&mut Lexer<'_>) -> T) -> T {
        let (at, told, used) = (self.lexer.at, self.lexer.diagnostics.len(), self.lexer.used_arguments.clone());
        let lines = self.lexer.control_lines.len();
        let result = look(&mut self.lexer);
        self.lexer.at = at;
        self.lexer.diagnostics.truncate(told);
        self.lexer.control_lines.truncate(lines);
        self.lexer.used_arguments = used;
        result
    }

    fn next_kind(&mut self) -> Kind {
        self.ahead(|lexer| lexer.next().kind)
    }

    fn at(&self, sign: &str) -> bool {
        matches!(self.token.kind, Kind::Sign(s) if s == sign)
    }

    fn at_eof(&self) -> bool {
        self.token.kind == Kind::Eof
    }

    fn accept(&mut self, sign: &str) -> bool {
        let there = self.at(sign);
        if there {
            self.bump();
        }
        there
    }

    fn word(&self) -> Option<Arc<str>> {
        match &self.token.kind {
            Kind::Ident(text) => Some(Arc::clone(text)),
            _ => None,
        }
    }

    fn at_word(&self, word: &str) -> bool {
        matches!(&self.token.kind, Kind::Ident(text) if **text == *word)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        if there {
            self.bump();
        }
        there
    }

    fn expect(&mut self, sign: &str) -> bool {
        if self.accept(sign) {
            return true;
        }
        let expected = if self.at_eof() { String::new() } else { format!(": expected `{sign}`") };
        let message = format!("syntax error near {}{expected}", self.found());
        self.error_here(tags::D_SYNTAX, message);
        if let Some(last) = self.lexer.diagnostics.last_mut().filter(|_| matches!(sign, ";" | ")" | "]" | "}")) {
            let at = span(self.previous_end, self.previous_end);
            last.fix.get_or_insert(crate::lang::diagnostic::Fix { span: at, replacement: sign.to_owned() });
        }
        false
    }

    /// What stands here, for messages.
    fn found(&self) -> String {
        if self.at_eof() {
            return "end-of-input".into();
        }
        let text = self.lexer.text.get(self.token.span.start as usize..self.token.span.end as usize).unwrap_or("");
        let short: String = text.chars().take(24).flat_map(char::escape_debug).collect();
        format!("\"{short}\"")
    }

    /// Reports an error at this token, unless it got one already.
    fn error_here(&mut self, code: Code, message: impl Into<String>) {
        let at = self.token.span;
        if self.token.kind == Kind::Unknown || self.last_error == Some(at.start) || self.given_up {
            return;
        }
        self.last_error = Some(at.start);
        self.error(code, at, message);
    }

    fn error(&mut self, code: Code, at: Span, message: impl Into<String>) {
        if self.lexer.diagnostics.len() < MAX_ERRORS && !self.given_up {
            self.lexer.error(code, at, message);
        }
    }

    fn unexpected(&mut self) {
        let message = format!("syntax error near {}", self.found());
        self.error_here(tags::D_SYNTAX, message);
    }

    /// From `start` to the end of the last token taken.
    fn since(&self, start: Span) -> Span {
        span(start.start as usize, self.previous_end.max(start.start as usize))
    }

    fn name(&mut self) -> Option<Name> {
        let text = self.word()?;
        let token = self.bump();
        Some(Name { text, span: token.span })
    }

    /// A name that must be there.
    fn expect_name(&mut self) -> Name {
        let at = self.token.span;
        self.name().unwrap_or_else(|| {
            self.unexpected();
            Name { text: "".into(), span: span(at.start as usize, at.start as usize) }
        })
    }

    /// Runs `inner` one level deeper, or gives up on a text that nests too deep.
    fn nested<T>(&mut self, otherwise: T, inner: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return otherwise;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self) {
        self.error_here(tags::D_SYNTAX, "nested too deep: the compiler stops reading here");
        self.given_up = true;
        self.lexer.at = self.lexer.text.len();
        self.bump();
    }

    /// Whether a word is the name of a type.
    fn is_type(&self, word: &str) -> bool {
        words::is_type_word(word) || self.typedefs.contains(word) || (self.options.is_type)(word)
    }
}

#[cfg(test)]
mod tests;
