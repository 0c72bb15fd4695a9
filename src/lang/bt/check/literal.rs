//! Expressions made while checking: constants, conversions of scalars, blocks with a value.

use std::sync::Arc;

use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};
use crate::model::bytes::bytes_of;

/// A value of a type of words as a string; others as they are.
pub fn as_text(e: Expr) -> Expr {
    if !e.ty.is_symbolic_number() {
        return e;
    }
    let (ty, span) = (Type::Str { size: e.ty.word_bytes() }, e.span);
    Expr::new(ExprKind::Call(Intrinsic::SymbolicText, vec![e]), ty, span)
}

/// The types of a tuple's or record's elements.
pub fn element_types(ty: &Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(items) => Some(items.to_vec()),
        Type::Record(items) => Some(items.iter().map(|(_, t)| t.clone()).collect()),
        _ => None,
    }
}

/// A constant of a type that was asked for: no literal, which would take on the type of what it meets.
pub fn settled(e: Expr) -> Expr {
    if !matches!(e.kind, ExprKind::Int(_)) || e.ty != Type::I64 {
        return e;
    }
    let (ty, span) = (e.ty.clone(), e.span);
    Expr::new(ExprKind::Cast(Box::new(e)), ty, span)
}

/// Whether a value is a literal, or made of literals alone.
pub fn is_literal(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Int(_)) && e.ty == Type::I64
}

/// Converts between values that fit a register, constants at once.
pub fn convert_scalar(e: Expr, to: &Type) -> Expr {
    if e.ty == *to {
        return e;
    }
    let span = e.span;
    if matches!(to, Type::Bool) {
        if let Some(v) = e.as_int() {
            return Expr::new(ExprKind::Int(u64::from(v != 0)), Type::Bool, span);
        }
        let zero = Expr::new(ExprKind::Int(0), e.ty.clone(), span);
        return Expr::new(ExprKind::Binary(BinaryOp::Ne, Box::new(e), Box::new(zero)), Type::Bool, span);
    }
    if let Some(v) = e.as_int() {
        return Expr::new(ExprKind::Int(truncate(v, to)), to.clone(), span);
    }
    Expr::new(ExprKind::Cast(Box::new(e)), to.clone(), span)
}

/// The bits of a constant as a value of a type, extended to 64 by its sign.
pub fn truncate(v: u64, ty: &Type) -> u64 {
    match ty {
        Type::Int { size, signed } | Type::Enum { size, signed, .. } if *size < 8 => {
            let shift = 64 - u32::from(*size) * 8;
            if *signed { (((v << shift) as i64) >> shift) as u64 } else { (v << shift) >> shift }
        }
        _ => v,
    }
}

/// An integer constant of 8 bytes.
pub fn constant(v: i64, span: Span) -> Expr {
    Expr::new(ExprKind::Int(v as u64), Type::I64, span)
}

/// A boolean constant.
pub fn boolean(v: bool, span: Span) -> Expr {
    Expr::new(ExprKind::Int(u64::from(v)), Type::Bool, span)
}

pub fn pointer(to: Type, space: AddressSpace) -> Type {
    Type::Ptr { to: Arc::new(to), space }
}

/// A string constant.
pub fn string(s: &Arc<str>, span: Span) -> Expr {
    Expr::new(ExprKind::Str(s.clone()), Type::Str { size: bytes_of(s).len() as u32 + 1 }, span)
}

/// Statements before a value; no block where there are none.
pub fn wrap(statements: Vec<Statement>, value: Expr, span: Span) -> Expr {
    if statements.is_empty() {
        return value;
    }
    let ty = value.ty.clone();
    Expr::new(ExprKind::Block(Block::new(statements), Box::new(value)), ty, span)
}

/// An expression made for its effect, as statements.
pub fn effect(e: Expr) -> Block {
    let span = e.span;
    match e.kind {
        ExprKind::Block(mut block, value) => {
            block.statements.extend(effect(*value).statements);
            block
        }
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Local(_) => Block::default(),
        _ => Block::new(vec![Statement { kind: StatementKind::Expr(e), span }]),
    }
}

/// A statement as an expression without a value.
pub fn statement_expr(kind: StatementKind, span: Span) -> Expr {
    wrap(vec![Statement { kind, span }], Expr::new(ExprKind::Int(0), Type::Void, span), span)
}
