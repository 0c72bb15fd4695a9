//! Where in a script a position is.

use crate::lang::bt::ast::{Block, Expr, Item, Name, Script};
use crate::lang::bt::lexer::{Token, TokenKind as T, lex_as_written};
use crate::lang::bt::parser::parse;
use crate::lang::bt::visit::{self, Node};
use crate::lang::source::{SourceText, Span};

/// A script and a position in it.
pub(super) struct Context<'t> {
    pub source: &'t SourceText,
    pub offset: u32,
    pub script: Script,
    /// As written, trivia included.
    pub tokens: Vec<Token>,
}

impl<'t> Context<'t> {
    pub fn new(source: &'t SourceText, offset: u32) -> Self {
        let script = parse(source).script;
        Self { source, offset, script, tokens: lex_as_written(&source.text).tokens }
    }

    /// The token that the position is in or at the end of.
    pub fn token(&self) -> Option<usize> {
        let at = self.tokens.partition_point(|t| t.span.start < self.offset);
        let index = at.checked_sub(1)?;
        let token = self.tokens.get(index)?;
        (token.kind != T::Eof && self.offset <= token.span.end).then_some(index)
    }

    /// The token under the position: the one before it only if it ends here and none begins here.
    pub fn token_under(&self) -> Option<usize> {
        let at = self.tokens.partition_point(|t| t.span.start <= self.offset);
        let index = at.checked_sub(1)?;
        let token = self.tokens.get(index)?;
        let wordy = matches!(token.kind, T::Word | T::Variable | T::Map | T::Point);
        if token.span.start == self.offset && !wordy {
            self.token()
        } else {
            (self.offset <= token.span.end).then_some(index)
        }
    }

    pub fn kind(&self, index: usize) -> T {
        self.tokens.get(index).map_or(T::Eof, |t| t.kind)
    }

    pub fn span(&self, index: usize) -> Span {
        self.tokens.get(index).map_or(Span::default(), |t| t.span)
    }

    pub fn text(&self, index: usize) -> &'t str {
        self.source.slice(self.span(index))
    }

    /// The last token that ends before the position, or before the given one, trivia left out.
    pub fn before(&self, index: Option<usize>) -> Option<usize> {
        let end =
            index.unwrap_or_else(|| self.tokens.partition_point(|t| t.span.end <= self.offset && t.kind != T::Eof));
        (0..end).rev().find(|i| !self.kind(*i).is_trivia())
    }

    /// In a body, predicate, or another place where expressions stand.
    pub fn in_code(&self) -> bool {
        let (mut depth, mut predicate) = (0_u32, false);
        for token in self.tokens.iter().filter(|t| t.span.end <= self.offset) {
            match token.kind {
                T::LBrace => depth += 1,
                T::RBrace => {
                    depth = depth.saturating_sub(1);
                    predicate = false;
                }
                T::Unclosed => (depth, predicate) = (0, false),
                T::Point | T::Semicolon if depth == 0 => predicate = false,
                T::Slash if depth == 0 => predicate = !predicate,
                _ => {}
            }
        }
        depth > 0 || predicate
    }

    /// The item the position is in, or the last one that begins before it.
    pub fn item(&self) -> Option<&Item> {
        self.script.items.iter().rev().find(|i| item_span(i).start <= self.offset)
    }
}

/// The attach points of an item; none unless it is a probe.
pub(super) fn points_of(item: &Item) -> &[Name] {
    if let Item::Probe(probe) = item { &probe.points } else { &[] }
}

pub(super) fn item_span(item: &Item) -> Span {
    use crate::lang::bt::ast::TypeDef;
    match item {
        Item::TypeDef(TypeDef::Struct { span, .. } | TypeDef::Enum { span, .. }) | Item::Config(_, span) => *span,
        Item::TypeDef(TypeDef::Alias { name, ty }) => name.span.to(ty.span),
        Item::Import(name) => name.span,
        Item::MapDecl(decl) => decl.span,
        Item::Probe(probe) => probe.span,
        Item::Macro(m) => m.span,
        Item::Function(f) => f.span,
    }
}

/// Calls `f` on every expression of an item, outermost first, in order of the text.
pub(super) fn each_expr<'a>(item: &'a Item, f: &mut dyn FnMut(&'a Expr)) {
    visit::item(item, &mut |node| node_exprs(node, f));
}

fn node_exprs<'a>(node: Node<'a>, f: &mut dyn FnMut(&'a Expr)) {
    match node {
        Node::Expr(e) => {
            f(e);
            visit::expr(e, &mut |node| node_exprs(node, f));
        }
        Node::Block(block) => visit::block(block, &mut |node| node_exprs(node, f)),
        Node::Type(ty) => visit::ty(ty, &mut |node| node_exprs(node, f)),
        Node::Name(_) => {}
    }
}

/// Calls `f` on every block of an item, outermost first.
pub(super) fn each_block<'a>(item: &'a Item, f: &mut dyn FnMut(&'a Block)) {
    visit::item(item, &mut |node| node_blocks(node, f));
}

fn node_blocks<'a>(node: Node<'a>, f: &mut dyn FnMut(&'a Block)) {
    match node {
        Node::Expr(e) => visit::expr(e, &mut |node| node_blocks(node, f)),
        Node::Block(block) => {
            f(block);
            visit::block(block, &mut |node| node_blocks(node, f));
        }
        Node::Type(_) | Node::Name(_) => {}
    }
}
