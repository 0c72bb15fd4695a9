//! Typed code in few words: what the functions and actions of the language are made of. A piece stands where its first
//! part does.

use std::sync::Arc;

use crate::lang::source::Span;
use crate::lang::typed::{
    BinaryOp, Block, Builtin, Expr, ExprKind, Intrinsic, LocalId, Statement, StatementKind, UnaryOp,
};
use crate::lang::types::{AddressSpace, Type};

pub const BYTE: Type = Type::Int { size: 1, signed: false };
pub const CHAR: Type = Type::Int { size: 1, signed: true };

pub fn int(value: i64, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Int(value as u64), ty, span)
}

/// A signed number of 64 bits.
pub fn int64(n: i64, span: Span) -> Expr {
    int(n, Type::I64, span)
}

pub fn constant_text(text: &str, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Str(text.into()), ty, span)
}

/// The number that a local holds.
pub fn read(local: LocalId, span: Span) -> Expr {
    read_as(local, Type::I64, span)
}

pub fn read_as(local: LocalId, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Local(local), ty, span)
}

pub fn builtin(builtin: Builtin, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Builtin(builtin), ty, span)
}

pub fn call(intrinsic: Intrinsic, arguments: Vec<Expr>, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Call(intrinsic, arguments), ty, span)
}

/// An operator on two values of the first one's type.
pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (if is_comparison(op) { Type::Bool } else { a.ty.clone() }, a.span);
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

const fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

pub fn equal(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

pub fn plus(a: Expr, n: i64) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    add(a, int(n, ty, span))
}

/// Whether a value is that number.
pub fn is(a: Expr, n: i64) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    equal(a, int(n, ty, span))
}

/// Whether a value is below 0.
pub fn is_negative(a: Expr) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    less(a, int(0, ty, span))
}

pub fn and(a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::And(Box::new(a), Box::new(b)), Type::Bool, span)
}

pub fn or(a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Or(Box::new(a), Box::new(b)), Type::Bool, span)
}

pub fn not(e: Expr) -> Expr {
    let span = e.span;
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(e)), Type::Bool, span)
}

pub fn negated(e: Expr) -> Expr {
    let (ty, span) = (e.ty.clone(), e.span);
    Expr::new(ExprKind::Unary(UnaryOp::Neg, Box::new(e)), ty, span)
}

pub fn choose(condition: Expr, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    Expr::new(ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)), ty, span)
}

pub fn cast(e: Expr, ty: &Type) -> Expr {
    if e.ty == *ty {
        return e;
    }
    if let (ExprKind::Int(value), Type::Int { size, signed }) = (&e.kind, ty) {
        let shift = 64 - u32::from(*size) * 8;
        let value = if *signed { ((*value << shift) as i64 >> shift) as u64 } else { *value << shift >> shift };
        return Expr::new(ExprKind::Int(value), ty.clone(), e.span);
    }
    let span = e.span;
    Expr::new(ExprKind::Cast(Box::new(e)), ty.clone(), span)
}

pub fn pointer(to: Type, space: AddressSpace) -> Type {
    Type::Ptr { to: Arc::new(to), space }
}

/// A pointer to bytes of the kernel.
pub fn byte_pointer() -> Type {
    pointer(CHAR, AddressSpace::Kernel)
}

/// The address of a place, as a pointer to its bytes.
pub fn address_of(place: Expr) -> Expr {
    let span = place.span;
    Expr::new(ExprKind::AddressOf(Box::new(place)), byte_pointer(), span)
}

/// A place of a type inside an array of bytes.
pub fn within(bytes: LocalId, at: Expr, ty: Type) -> Expr {
    let span = at.span;
    Expr::new(ExprKind::Within { local: bytes, offset: Box::new(cast(at, &Type::U64)) }, ty, span)
}

/// A byte of an array, as a number.
pub fn byte_at(bytes: LocalId, at: Expr) -> Expr {
    cast(within(bytes, at, BYTE), &Type::I64)
}

/// Copies a number of bytes from an address into an array of them.
pub fn copy_into(bytes: LocalId, at: Expr, from: Expr, size: Expr, span: Span) -> Statement {
    let arguments = vec![within(bytes, at, BYTE), from, cast(size, &Type::U64)];
    effect(call(Intrinsic::ReadInto, arguments, Type::I64, span))
}

/// `{ statements; value }`
pub fn block(statements: Vec<Statement>, value: Expr) -> Expr {
    if statements.is_empty() {
        return value;
    }
    let (ty, span) = (value.ty.clone(), value.span);
    Expr::new(ExprKind::Block(Block::new(statements), Box::new(value)), ty, span)
}

pub fn statement(kind: StatementKind, span: Span) -> Statement {
    Statement { kind, span }
}

/// Computes a value for its effect.
pub fn effect(e: Expr) -> Statement {
    let span = e.span;
    statement(StatementKind::Expr(e), span)
}

pub fn set(local: LocalId, value: Expr) -> Statement {
    let span = value.span;
    statement(StatementKind::SetLocal(local, value), span)
}

pub fn store(place: Expr, value: Expr) -> Statement {
    let span = place.span;
    statement(StatementKind::Store { place, value }, span)
}

/// Sets a byte of an array.
pub fn put(bytes: LocalId, at: Expr, value: Expr) -> Statement {
    store(within(bytes, at, BYTE), cast(value, &BYTE))
}

pub fn when(condition: Expr, then: Vec<Statement>) -> Statement {
    either(condition, then, Vec::new())
}

pub fn either(condition: Expr, then: Vec<Statement>, otherwise: Vec<Statement>) -> Statement {
    let span = condition.span;
    statement(StatementKind::If(condition, Block::new(then), Block::new(otherwise)), span)
}

/// Leaves the innermost loop.
pub fn leave(span: Span) -> Statement {
    statement(StatementKind::Break, span)
}

/// The body for each number from 0 up to, without, `end`.
pub fn each(local: LocalId, end: i64, span: Span, body: Vec<Statement>) -> Statement {
    let (start, end) = (int64(0, span), int64(end, span));
    statement(StatementKind::ForRange { local, start, end, body: Block::new(body) }, span)
}
