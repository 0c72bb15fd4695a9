//! Tokens to the syntax tree: recursive descent that always returns a tree.
//!
//! The first error of a place is told; a broken statement ends at its `;` or before its `}`, a broken item
//! where the next one may begin.

mod cursor;
mod declarations;
mod expressions;
mod items;

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::{Expr, ExprKind, Script};
use super::lexer::{Lexer, Macros, span};
use super::words;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::{SourceText, Span};
use cursor::Cursor;

/// How deep the parser follows nesting. A thread with 2 MiB of stack has room for it.
const MAX_DEPTH: u32 = 150;
/// How many operators may stand in a row: each makes the tree higher.
const MAX_HEIGHT: u32 = 300;

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
    /// Errors that were found and not kept.
    pub dropped: usize,
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
    let mut parser = Parser::new(text, options);
    let mut script = items::script(&mut parser);
    let Lexer { used_arguments, mut diagnostics, dropped, .. } = parser.tokens.lexer;
    script.probe_arguments = parser.probe_arguments;
    script.used_arguments = used_arguments;
    let size = text.len();
    for diagnostic in &mut diagnostics {
        let clamp = |at: u32| boundary(text, (at as usize).min(size));
        diagnostic.span = span(clamp(diagnostic.span.start), clamp(diagnostic.span.end));
    }
    Parsed { script, diagnostics, dropped }
}

/// The first character boundary at or after a byte.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// Expressions and declarations, which are in one another: casts name types, and sizes of arrays are expressions.
struct Parser<'t> {
    tokens: Cursor<'t>,
    depth: u32,
    /// Open brackets in a predicate, where a slash is a division.
    parentheses: u32,
    /// Inside `/ ... /`.
    predicate: bool,
    /// One more than the highest `argN` so far.
    probe_arguments: u8,
    /// Names of types that the program defines.
    typedefs: HashSet<Arc<str>>,
    /// Structs and unions that it has defined so far.
    tags: HashSet<Arc<str>>,
    options: &'t ParseOptions<'t>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, options: &'t ParseOptions<'t>) -> Self {
        Self {
            tokens: Cursor::new(Lexer::new(text, options.macros)),
            depth: 0,
            parentheses: 0,
            predicate: false,
            probe_arguments: 0,
            typedefs: HashSet::new(),
            tags: HashSet::new(),
            options,
        }
    }

    /// Runs `inner` one level deeper, or gives up on a text that nests too deep.
    fn nested<T>(&mut self, otherwise: T, inner: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.tokens.too_deep();
            return otherwise;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Whether a word is the name of a type.
    fn is_type(&self, word: &str) -> bool {
        words::is_type_word(word) || self.typedefs.contains(word) || (self.options.is_type)(word)
    }

    /// What stands where an expression should.
    fn error_expr(&self) -> Expr {
        let at = self.tokens.token.span.start;
        Expr { kind: ExprKind::Error, span: Span::new(at, at) }
    }
}

#[cfg(test)]
mod tests;
