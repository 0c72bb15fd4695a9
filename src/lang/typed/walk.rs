//! Code as a sequence of its nodes, and questions that are answered by looking at all of them: which variables are
//! mentioned, whether computing a value changes anything, which functions are called.

use std::collections::HashSet;

use super::{Block, Expr, ExprKind, FunctionId, LocalId, MapId, Probe, Program, Statement, StatementKind};

/// A statement or an expression.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement, with all that is in it.
    Statement(&'a Statement),
    /// An expression, with all that is in it.
    Expr(&'a Expr),
}

impl<'a> Node<'a> {
    /// The statement that it is, for `filter_map`.
    #[must_use]
    pub const fn statement(self) -> Option<&'a Statement> {
        match self {
            Self::Statement(s) => Some(s),
            Self::Expr(_) => None,
        }
    }

    /// The expression that it is, for `filter_map`.
    #[must_use]
    pub const fn expr(self) -> Option<&'a Expr> {
        match self {
            Self::Expr(e) => Some(e),
            Self::Statement(_) => None,
        }
    }

    /// The local that it names itself; those in it are nodes of their own.
    #[must_use]
    pub const fn local(self) -> Option<LocalId> {
        match self {
            Self::Statement(s) => s.assigned(),
            Self::Expr(e) => e.local(),
        }
    }

    /// The map with an element that it adds to.
    #[must_use]
    pub const fn added_to(self) -> Option<MapId> {
        match self {
            Self::Statement(Statement { kind: StatementKind::Aggregate { map, .. }, .. })
            | Self::Expr(Expr { kind: ExprKind::MapStep { map, .. }, .. }) => Some(*map),
            _ => None,
        }
    }
}

/// Every node of some code, before those that are in it: a statement's expressions come before its blocks, an
/// expression's operands before the block that it has.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    /// What is still to come, last first.
    open: Vec<Node<'a>>,
}

impl<'a> Nodes<'a> {
    fn of(blocks: impl DoubleEndedIterator<Item = &'a Block>) -> Self {
        let mut nodes = Self { open: Vec::new() };
        blocks.rev().for_each(|block| nodes.push_block(block));
        nodes
    }

    fn push_block(&mut self, block: &'a Block) {
        self.open.extend(block.statements.iter().rev().map(Node::Statement));
    }
}

impl<'a> Iterator for Nodes<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let next = self.open.pop()?;
        let (exprs, blocks) = match next {
            Node::Statement(s) => s.parts(),
            Node::Expr(e) => (e.children(), e.own_block().into_iter().collect()),
        };
        blocks.into_iter().rev().for_each(|block| self.push_block(block));
        self.open.extend(exprs.into_iter().rev().map(Node::Expr));
        Some(next)
    }
}

impl Block {
    /// All nodes in it.
    #[must_use]
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes::of(std::iter::once(self))
    }

    /// All statements in it, those inside of expressions included.
    pub fn all_statements(&self) -> impl Iterator<Item = &Statement> {
        self.nodes().filter_map(Node::statement)
    }

    /// All expressions in it.
    pub fn all_exprs(&self) -> impl Iterator<Item = &Expr> {
        self.nodes().filter_map(Node::expr)
    }
}

impl Statement {
    /// Itself and all nodes in it.
    #[must_use]
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { open: vec![Node::Statement(self)] }
    }

    /// Whether it mentions a local.
    #[must_use]
    pub fn mentions(&self, id: LocalId) -> bool {
        self.nodes().any(|node| node.local() == Some(id))
    }
}

impl Expr {
    /// Itself and all nodes in it.
    #[must_use]
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { open: vec![Node::Expr(self)] }
    }

    /// Itself and all expressions in it, those of statements included.
    pub fn all_exprs(&self) -> impl Iterator<Item = &Self> {
        self.nodes().filter_map(Node::expr)
    }

    /// Whether it mentions a local.
    #[must_use]
    pub fn mentions(&self, id: LocalId) -> bool {
        self.nodes().any(|node| node.local() == Some(id))
    }

    /// True when computing it changes nothing: no variable, no map, no process.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.all_exprs().all(|e| match &e.kind {
            ExprKind::MapDelete { .. }
            | ExprKind::MapFind { .. }
            | ExprKind::LocalStep { .. }
            | ExprKind::MapStep { .. }
            | ExprKind::CallUser(..)
            | ExprKind::Block(..) => false,
            ExprKind::Call(intrinsic, _) => !intrinsic.has_effect(),
            _ => true,
        })
    }
}

impl Probe {
    /// All nodes of its body and its predicate.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.body.nodes().chain(self.predicate.iter().flat_map(Expr::nodes))
    }

    /// All statements of its body and its predicate.
    pub fn all_statements(&self) -> impl Iterator<Item = &Statement> {
        self.nodes().filter_map(Node::statement)
    }

    /// All expressions of its body and its predicate.
    pub fn all_exprs(&self) -> impl Iterator<Item = &Expr> {
        self.nodes().filter_map(Node::expr)
    }
}

impl Program {
    /// The bodies of its probes and functions.
    pub fn bodies(&self) -> impl Iterator<Item = &Block> {
        self.probes.iter().map(|p| &p.body).chain(self.functions.iter().map(|f| &f.body))
    }

    /// All nodes of its probes and functions.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        let predicates = self.probes.iter().filter_map(|p| p.predicate.as_ref());
        self.bodies().flat_map(Block::nodes).chain(predicates.flat_map(Expr::nodes))
    }

    /// A body and those of the functions that it calls, each once.
    #[must_use]
    pub fn bodies_called<'a>(&'a self, body: &'a Block) -> Vec<&'a Block> {
        let (mut bodies, mut seen) = (vec![body], HashSet::new());
        let mut next = 0;
        while let Some(body) = bodies.get(next) {
            let called = body.all_exprs().filter_map(|e| match &e.kind {
                ExprKind::CallUser(FunctionId(id), _) => self.functions.get(*id as usize).filter(|_| seen.insert(*id)),
                _ => None,
            });
            let called: Vec<&Block> = called.map(|function| &function.body).collect();
            bodies.extend(called);
            next += 1;
        }
        bodies
    }
}

/// Calls `visit` on every statement with those before it in its block, statements inside expressions included.
pub fn each_placed<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a [Statement], &'a Statement)) {
    for (at, statement) in block.statements.iter().enumerate() {
        visit(&block.statements[..at], statement);
        let (exprs, blocks) = statement.parts();
        exprs.into_iter().for_each(|e| each_placed_in(e, visit));
        blocks.into_iter().for_each(|b| each_placed(b, visit));
    }
}

/// Calls it on all statements inside an expression.
pub fn each_placed_in<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a [Statement], &'a Statement)) {
    e.own_block().into_iter().for_each(|block| each_placed(block, visit));
    e.children().into_iter().for_each(|child| each_placed_in(child, visit));
}

/// The locals whose address some code takes.
pub fn addressed<'a>(code: impl Iterator<Item = Node<'a>>) -> impl Iterator<Item = LocalId> {
    code.filter_map(Node::expr).filter_map(|e| match &e.kind {
        ExprKind::AddressOf(inner) => match inner.kind {
            ExprKind::Local(id) => Some(id),
            _ => None,
        },
        ExprKind::Within { local, .. } => Some(*local),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::source::Span;
    use crate::lang::types::Type;

    fn e(kind: ExprKind) -> Expr {
        Expr::new(kind, Type::I64, Span::default())
    }

    fn s(kind: StatementKind) -> Statement {
        Statement { kind, span: Span::default() }
    }

    fn local(id: u32) -> Expr {
        e(ExprKind::Local(LocalId(id)))
    }

    /// `if (v0) { v1 = v2 } else { { v3 = v4; v5 } + v6 }`.
    fn code() -> Block {
        let inner =
            e(ExprKind::Block(Block::new(vec![s(StatementKind::SetLocal(LocalId(3), local(4)))]), local(5).into()));
        let sum = e(ExprKind::And(inner.into(), local(6).into()));
        let yes = Block::new(vec![s(StatementKind::SetLocal(LocalId(1), local(2)))]);
        Block::new(vec![s(StatementKind::If(local(0), yes, Block::new(vec![s(StatementKind::Expr(sum))])))])
    }

    #[test]
    fn every_node_comes_once_and_before_those_in_it() {
        let order: Vec<u32> = code().nodes().filter_map(Node::local).map(|id| id.0).collect();
        assert_eq!(order, [0, 1, 2, 5, 3, 4, 6]);
        assert!((0..7).all(|id| code().statements[0].mentions(LocalId(id))));
        assert!(!code().statements[0].mentions(LocalId(7)));
    }
}
