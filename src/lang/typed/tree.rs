//! Expressions and those below them.

use super::code::{Expr, ExprKind};
use crate::lang::source::Span;
use crate::lang::types::Type;

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

    /// The expressions right below it.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::MapLen(_)
            | ExprKind::MapAddress(_)
            | ExprKind::Builtin(_)
            | ExprKind::LocalStep { .. } => vec![],
            ExprKind::MapGet { key, .. } | ExprKind::MapHas { key, .. } | ExprKind::MapDelete { key, .. } => {
                key.iter().map(AsRef::as_ref).collect()
            }
            ExprKind::MapFind { key, .. } => vec![key],
            ExprKind::MapStep { key, delta, .. } => key.iter().chain([delta]).map(AsRef::as_ref).collect(),
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
            ExprKind::Tuple(items) | ExprKind::Call(_, items) | ExprKind::CallUser(_, items) => items.iter().collect(),
        }
    }

    /// The expressions right below it, to be changed.
    #[must_use]
    pub fn children_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.kind {
            ExprKind::Int(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::MapLen(_)
            | ExprKind::MapAddress(_)
            | ExprKind::Builtin(_)
            | ExprKind::LocalStep { .. } => vec![],
            ExprKind::MapGet { key, .. } | ExprKind::MapHas { key, .. } | ExprKind::MapDelete { key, .. } => {
                key.iter_mut().map(AsMut::as_mut).collect()
            }
            ExprKind::MapFind { key, .. } => vec![key],
            ExprKind::MapStep { key, delta, .. } => key.iter_mut().chain([delta]).map(AsMut::as_mut).collect(),
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
            ExprKind::Tuple(items) | ExprKind::Call(_, items) | ExprKind::CallUser(_, items) => {
                items.iter_mut().collect()
            }
        }
    }
}
