//! What is right below an expression or a statement.

use super::code::{Block, Expr, ExprKind, Statement, StatementKind};
use super::ids::LocalId;
use crate::lang::source::Span;
use crate::lang::types::Type;

/// The expressions right below one, to be read and to be changed: both from one text, so that they can't differ.
macro_rules! children {
    ($name:ident, $iter:ident, $as_ref:path $(, $mutable:tt)?) => {
        /// The expressions right below it.
        #[must_use]
        pub fn $name(&$($mutable)? self) -> Vec<&$($mutable)? Self> {
            match &$($mutable)? self.kind {
                ExprKind::Int(_)
                | ExprKind::Str(_)
                | ExprKind::Local(_)
                | ExprKind::MapLen(_)
                | ExprKind::MapAddress(_)
                | ExprKind::Builtin(_)
                | ExprKind::LocalStep { .. } => vec![],
                ExprKind::MapGet { key, .. } | ExprKind::MapHas { key, .. } | ExprKind::MapDelete { key, .. } => {
                    key.$iter().map($as_ref).collect()
                }
                ExprKind::MapFind { key, .. } => vec![key],
                ExprKind::MapStep { key, delta, .. } => key.$iter().chain([delta]).map($as_ref).collect(),
                ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => vec![a, b],
                ExprKind::Within { offset, .. } => vec![offset],
                ExprKind::Index { base, index } => vec![base, index],
                ExprKind::Conditional(a, b, c) => vec![a, b, c],
                ExprKind::Unary(_, a)
                | ExprKind::Cast(a)
                | ExprKind::Deref(a)
                | ExprKind::Field { base: a, .. }
                | ExprKind::AddressOf(a)
                | ExprKind::TupleField(a, _)
                | ExprKind::Block(_, a) => vec![a],
                ExprKind::Tuple(items) | ExprKind::Call(_, items) | ExprKind::CallUser(_, items) => items.$iter().collect(),
            }
        }
    };
}

impl Expr {
    /// An expression.
    #[must_use]
    pub const fn new(kind: ExprKind, ty: Type, span: Span) -> Self {
        Self { kind, ty, span }
    }

    /// The constant integer that it is, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<u64> {
        match &self.kind {
            ExprKind::Int(v) => Some(*v),
            // A constant that was cast to the type that literals have.
            ExprKind::Cast(inner) if inner.ty == self.ty => inner.as_int(),
            _ => None,
        }
    }

    children!(children, iter, AsRef::as_ref);
    children!(children_mut, iter_mut, AsMut::as_mut, mut);

    /// The block that it has beside them.
    #[must_use]
    pub const fn own_block(&self) -> Option<&Block> {
        match &self.kind {
            ExprKind::Block(block, _) => Some(block),
            _ => None,
        }
    }

    /// The local that it names itself.
    #[must_use]
    pub const fn local(&self) -> Option<LocalId> {
        match &self.kind {
            ExprKind::Local(local)
            | ExprKind::Within { local, .. }
            | ExprKind::LocalStep { local, .. }
            | ExprKind::MapFind { local, .. } => Some(*local),
            _ => None,
        }
    }
}

/// The expressions and blocks right below a statement, from one text as well.
macro_rules! parts {
    ($name:ident, $iter:ident $(, $mutable:tt)?) => {
        /// The expressions right below it, and its blocks.
        #[must_use]
        pub fn $name(&$($mutable)? self) -> (Vec<&$($mutable)? Expr>, Vec<&$($mutable)? Block>) {
            match &$($mutable)? self.kind {
                StatementKind::Expr(e) | StatementKind::SetLocal(_, e) => (vec![e], vec![]),
                StatementKind::SetMap { key, value, .. } => (key.$iter().chain([value]).collect(), vec![]),
                StatementKind::Aggregate { key, value, weight, .. } => {
                    (key.$iter().chain(value).chain(weight).collect(), vec![])
                }
                StatementKind::Store { place, value } => (vec![place, value], vec![]),
                StatementKind::Report { values, .. } => (values.$iter().collect(), vec![]),
                StatementKind::If(c, a, b) => (vec![c], vec![a, b]),
                StatementKind::While(c, body) => (vec![c], vec![body]),
                StatementKind::ForRange { start, end, body, .. } => (vec![start, end], vec![body]),
                StatementKind::ForMap { body, .. } | StatementKind::Unroll(_, body) | StatementKind::Block(body) => {
                    (vec![], vec![body])
                }
                StatementKind::Return(e) => (e.$iter().collect(), vec![]),
                StatementKind::Break | StatementKind::Continue | StatementKind::Fault(_) => (vec![], vec![]),
            }
        }
    };
}

impl Statement {
    parts!(parts, iter);
    parts!(parts_mut, iter_mut, mut);

    /// The local that it assigns itself, once or in every iteration.
    #[must_use]
    pub const fn assigned(&self) -> Option<LocalId> {
        match &self.kind {
            StatementKind::SetLocal(local, _)
            | StatementKind::ForRange { local, .. }
            | StatementKind::ForMap { local, .. } => Some(*local),
            _ => None,
        }
    }

    /// The body of the loop that it is, also of one that is written out.
    #[must_use]
    pub const fn loop_body(&self) -> Option<&Block> {
        match &self.kind {
            StatementKind::While(_, body)
            | StatementKind::ForRange { body, .. }
            | StatementKind::ForMap { body, .. }
            | StatementKind::Unroll(_, body) => Some(body),
            _ => None,
        }
    }
}
