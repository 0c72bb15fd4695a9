//! What only the tree knows about tokens.

use std::collections::HashSet;

use crate::lang::bt::ast::{Expr, ExprKind, Item, Script, TypeName};
use crate::lang::bt::lexer::{Token, TokenKind as T};
use crate::lang::bt::visit::{self, Node};

/// Facts by token index.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Stars of pointer types.
    stars: HashSet<usize>,
    /// Parentheses that close a cast's type.
    casts: HashSet<usize>,
    /// Slashes that close a predicate.
    predicates: HashSet<usize>,
}

impl Facts {
    pub fn gather(tokens: &[Token], script: &Script) -> Self {
        let mut gatherer = Gatherer { tokens, facts: Self::default() };
        for item in &script.items {
            if let Item::Probe(probe) = item {
                gatherer.predicate(probe.body.span.start);
            }
            visit::item(item, &mut |node| gatherer.node(&node));
        }
        gatherer.facts
    }

    pub fn is_type_star(&self, index: usize) -> bool {
        self.stars.contains(&index)
    }

    pub fn closes_cast(&self, index: usize) -> bool {
        self.casts.contains(&index)
    }

    pub fn closes_predicate(&self, index: usize) -> bool {
        self.predicates.contains(&index)
    }
}

struct Gatherer<'a> {
    tokens: &'a [Token],
    facts: Facts,
}

impl Gatherer<'_> {
    /// The first token that begins at or after `offset`.
    fn index_at(&self, offset: u32) -> usize {
        self.tokens.partition_point(|t| t.span.start < offset)
    }

    fn predicate(&mut self, body: u32) {
        let before = (0..self.index_at(body)).rev().find(|i| self.tokens.get(*i).is_some_and(|t| !t.kind.is_trivia()));
        if let Some(index) = before.filter(|i| self.tokens.get(*i).is_some_and(|t| t.kind == T::Slash)) {
            self.facts.predicates.insert(index);
        }
    }

    fn node(&mut self, node: &Node<'_>) {
        match node {
            Node::Expr(e) => self.expr(e),
            Node::Block(block) => visit::block(block, &mut |node| self.node(&node)),
            Node::Type(ty) => self.type_name(ty),
            Node::Name(_) => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Cast(ty, _) = &e.kind {
            let from = self.index_at(ty.span.end);
            let close = (from..self.tokens.len()).find(|i| self.tokens.get(*i).is_some_and(|t| !t.kind.is_trivia()));
            self.facts.casts.extend(close);
        }
        visit::expr(e, &mut |node| self.node(&node));
    }

    fn type_name(&mut self, ty: &TypeName) {
        let mut index = self.index_at(ty.span.start);
        while let Some(token) = self.tokens.get(index).filter(|t| t.span.start < ty.span.end) {
            if token.kind == T::Star {
                self.facts.stars.insert(index);
            }
            index += 1;
        }
        visit::ty(ty, &mut |node| self.node(&node));
    }
}
