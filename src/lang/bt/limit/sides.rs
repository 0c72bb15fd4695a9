//! Events about two threads: the one that runs, and another. What a clause does counts for the one that it speaks of.
//!
//! A statement speaks of the thread that runs by `pid`, `comm`, stacks and their kin, of the other one by the members of
//! `args` that tell of it, of either by variables that were made of these. One that speaks of neither belongs to what the
//! nearest condition around it asks. What speaks of both, or of nothing, is done for both.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lang::bt::ast::{Block, Expr, ExprKind, Probe, Statement, StatementKind};
use crate::lang::bt::semantic::expression;
use crate::lang::bt::visit::{self, Node};
use crate::lang::source::Span;

/// Members of `args` that tell of either thread.
pub struct Names {
    /// Of the one that runs.
    pub own: &'static [&'static str],
    /// Of the other.
    pub others: &'static [&'static str],
}

/// Words and functions that tell of the thread that runs.
const RUNNING: &[&str] = &[
    "pid",
    "tid",
    "comm",
    "uid",
    "gid",
    "username",
    "pcomm",
    "ppid",
    "leader_comm",
    "leader_tid",
    "curtask",
    "cgroup",
    "kstack",
    "ustack",
    "dw_ustack",
    "usermode",
];

/// Which threads something speaks of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sides {
    own: bool,
    other: bool,
}

impl Sides {
    const fn or(self, more: Self) -> Self {
        Self { own: self.own || more.own, other: self.other || more.other }
    }

    const fn is_none(self) -> bool {
        !self.own && !self.other
    }

    /// Itself, or what stands around it where it speaks of nothing.
    const fn within(self, around: Self) -> Self {
        if self.is_none() { around } else { self }
    }
}

struct Walk<'a> {
    names: &'a Names,
    /// The conditions that the thread that runs, and the other, are of the process.
    conditions: [&'a str; 2],
    at: Span,
    variables: HashMap<Arc<str>, Sides>,
}

/// Limits each statement of a probe's body to the threads that it speaks of.
pub fn narrow(probe: &mut Probe, names: &Names, conditions: [&str; 2], at: Span) {
    let mut walk = Walk { names, conditions, at, variables: HashMap::new() };
    let around = probe.predicate.as_ref().map_or(Sides::default(), |e| walk.of(e));
    walk.block(&mut probe.body, around);
}

impl Walk<'_> {
    fn block(&mut self, block: &mut Block, around: Sides) {
        for statement in &mut block.statements {
            self.statement(statement, around);
        }
    }

    fn statement(&mut self, statement: &mut Statement, around: Sides) {
        let sides = match &mut statement.kind {
            StatementKind::Let { name, value, .. } => {
                let sides = value.as_ref().map_or(Sides::default(), |e| self.of(e));
                return self.assign(&name.text.clone(), sides, around);
            }
            StatementKind::Assign { target: Expr { kind: ExprKind::Variable(name), .. }, value, .. } => {
                let sides = self.of(value);
                return self.assign(&name.clone(), sides, around);
            }
            StatementKind::If(condition, yes, no) => {
                let sides = self.of(condition).within(around);
                self.block(yes, sides);
                if let Some(no) = no {
                    self.block(no, sides);
                }
                return;
            }
            StatementKind::While(e, body) | StatementKind::Unroll(e, body) => {
                let sides = self.of(e).within(around);
                return self.block(body, sides);
            }
            StatementKind::For { body, .. } | StatementKind::Block(body) => return self.block(body, around),
            StatementKind::Expr(Expr { kind: ExprKind::Block(body), .. }) => return self.block(body, around),
            StatementKind::Expr(Expr { kind: ExprKind::If(condition, yes, no), .. }) => {
                let sides = self.of(condition).within(around);
                self.block(yes, sides);
                return self.block(no, sides);
            }
            StatementKind::Expr(Expr { kind: ExprKind::Step { target, .. }, .. })
                if matches!(target.kind, ExprKind::Variable(_)) =>
            {
                return;
            }
            StatementKind::Assign { target, value, .. } => self.of(target).or(self.of(value)),
            StatementKind::Expr(e) => self.of(e),
            StatementKind::Discard(_) | StatementKind::Break | StatementKind::Continue | StatementKind::Return(_) => {
                return;
            }
        };
        let sides = sides.within(around);
        let condition = match (sides.own, sides.other) {
            (true, false) => self.conditions[0],
            (false, true) => self.conditions[1],
            _ => return,
        };
        if let Some(condition) = expression(condition, self.at) {
            let span = statement.span;
            let kind = std::mem::replace(&mut statement.kind, StatementKind::Break);
            let body = Block { statements: vec![Statement { kind, span }], value: None, span };
            statement.kind = StatementKind::If(condition, body, None);
        }
    }

    fn assign(&mut self, name: &Arc<str>, sides: Sides, around: Sides) {
        let sides = sides.within(around);
        let known = self.variables.entry(Arc::clone(name)).or_default();
        *known = known.or(sides);
    }

    /// What an expression speaks of.
    fn of(&self, e: &Expr) -> Sides {
        let own = Sides { own: true, other: false };
        let other = Sides { own: false, other: true };
        let mut sides = match &e.kind {
            ExprKind::Ident(word) if RUNNING.contains(&&**word) => own,
            ExprKind::Call(name, _) if RUNNING.contains(&&*name.text) => own,
            ExprKind::Variable(name) => self.variables.get(name).copied().unwrap_or_default(),
            ExprKind::Field(base, name) if is_args(base) => {
                let has = |list: &[&str]| list.contains(&&*name.text);
                return Sides { own: has(self.names.own), other: has(self.names.others) };
            }
            // All of them.
            _ if is_args(e) => own.or(other),
            _ => Sides::default(),
        };
        visit::expr(e, &mut |node| sides = sides.or(self.of_node(node)));
        sides
    }

    fn of_node(&self, node: Node<'_>) -> Sides {
        match node {
            Node::Expr(e) => self.of(e),
            Node::Block(block) => {
                let mut sides = Sides::default();
                visit::block(block, &mut |node| sides = sides.or(self.of_node(node)));
                sides
            }
            Node::Type(_) | Node::Name(_) => Sides::default(),
        }
    }
}

/// Whether it is `args`, or what it points to.
fn is_args(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Ident(word) => &**word == "args",
        ExprKind::Unary(_, inner) => is_args(inner),
        _ => false,
    }
}
