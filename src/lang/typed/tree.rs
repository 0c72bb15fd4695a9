//! Expressions and those below them.

use super::code::{Expr, ExprKind};
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
}
