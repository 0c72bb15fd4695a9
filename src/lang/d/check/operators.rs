//! Binary operators: C's conversions, texts and addresses.

use std::net::IpAddr;

use super::checker::Checker;
use super::code::{and, binary, block, cast, int, int64, not};
use super::value::{Value, as_condition, decay, error_value, is_int, is_scalar, is_text, whole, word};
use super::{strings, text_bytes};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Binary, Expr as Ast, ExprKind as AstKind};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind};
use crate::lang::types::Type;

/// A small integer computes as `int`.
pub fn promoted(ty: &Type) -> Type {
    match ty {
        Type::Int { size: 4 | 8, .. } => ty.clone(),
        Type::Enum { size: 8, signed, .. } => Type::Int { size: 8, signed: *signed },
        _ => Type::I32,
    }
}

/// The type in which two integers meet.
pub fn common(a: &Type, b: &Type) -> Type {
    // Small integers are not promoted before, as the reference has it.
    let plain = |ty: &Type| if matches!(ty, Type::Int { .. }) { ty.clone() } else { promoted(ty) };
    let (a, b) = (plain(a), plain(b));
    match (&a, &b) {
        (Type::Int { size: x, signed: s }, Type::Int { size: y, signed: t }) => match x.cmp(y) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal => Type::Int { size: *x, signed: *s && *t },
        },
        _ => a,
    }
}

pub fn binary_expr(c: &mut Checker<'_>, op: Binary, a: &Ast, b: &Ast, span: Span) -> Value {
    if let (Binary::Sub, AstKind::Binary(Binary::Add, text, number)) = (op, &a.kind) {
        return moved_back(c, (text, number, b), a.span, span);
    }
    let (x, y) = (c.expr(a), c.expr(b));
    if x.is_error() || y.is_error() {
        return error_value(span);
    }
    operate(c, op, x, y, span)
}

/// `text + n - m` is the text from its character `n - m` on, which may stand before the one of n.
fn moved_back(c: &mut Checker<'_>, (x, n, m): (&Ast, &Ast, &Ast), inner: Span, span: Span) -> Value {
    let (x, n, m) = (c.expr(x), c.expr(n), c.expr(m));
    if x.is_error() || n.is_error() || m.is_error() {
        return error_value(span);
    }
    if matches!(x.ty(), Type::Str { .. }) && is_int(n.ty()) && is_int(m.ty()) {
        let number = arithmetic(c, Binary::Sub, n, m, span);
        return additive(c, Binary::Add, x, number, span);
    }
    let sum = operate(c, Binary::Add, x, n, inner);
    if sum.is_error() { sum } else { operate(c, Binary::Sub, sum, m, span) }
}

/// An operator on two values.
pub fn operate(c: &mut Checker<'_>, op: Binary, x: Value, y: Value, span: Span) -> Value {
    match op {
        Binary::LogicalAnd | Binary::LogicalOr | Binary::LogicalXor => logical(c, op, x, y, span),
        Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => compare(c, op, x, y, span),
        Binary::Add | Binary::Sub => additive(c, op, x, y, span),
        _ => arithmetic(c, op, x, y, span),
    }
}

/// An operator on two values, in the place of the whole.
fn pair(op: BinaryOp, x: Expr, y: Expr, span: Span) -> Expr {
    Expr { span, ..binary(op, x, y) }
}

/// The type of 64 bits with the sign of another.
fn in_64_bits(ty: &Type) -> Type {
    Type::Int { size: 8, signed: ty.is_signed() }
}

/// A constant operation; `None` when it has to be left to the program.
fn fold(op: Binary, a: i64, b: i64, signed: bool) -> Option<i64> {
    let (ua, ub) = (a as u64, b as u64);
    Some(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if signed => a.checked_div(b)?,
        Binary::Div => ua.checked_div(ub)? as i64,
        Binary::Mod if signed => a.checked_rem(b)?,
        Binary::Mod => ua.checked_rem(ub)? as i64,
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::Shl if (0..64).contains(&b) => a << b,
        Binary::Shr if (0..64).contains(&b) && signed => a >> b,
        Binary::Shr if (0..64).contains(&b) => (ua >> b) as i64,
        _ => return None,
    })
}

fn additive(c: &mut Checker<'_>, op: Binary, x: Value, y: Value, span: Span) -> Value {
    let (a, b) = (x.ty().clone(), y.ty().clone());
    let is_address = |t: &Type| matches!(t, Type::Ptr { .. } | Type::Array { .. });
    if is_int(&a) && is_int(&b) {
        return arithmetic(c, op, x, y, span);
    }
    match (&a, &b) {
        (Type::Str { .. }, b) if is_int(b) && op == Binary::Add => return strings::text_after(c, x.e, y.e, span),
        (a, Type::Str { .. }) if is_int(a) && op == Binary::Add => return strings::text_after(c, y.e, x.e, span),
        _ => {}
    }
    if is_address(&a) && is_address(&b) && op == Binary::Sub {
        let (x, y) = (decay(x), decay(y));
        let (Type::Ptr { to, .. }, Type::Ptr { to: other, .. }) = (x.ty.clone(), y.ty.clone()) else {
            return error_value(span);
        };
        if to != other || *to == Type::Void {
            return incompatible(c, op, &a, &b, span);
        }
        let size = i64::from(c.size_of(&to).max(1));
        let difference = pair(BinaryOp::Sub, cast(x, &Type::I64), cast(y, &Type::I64), span);
        return Value::new(pair(BinaryOp::Div, difference, int64(size, span), span));
    }
    let (pointer, number) = match (is_address(&a), is_address(&b)) {
        (true, false) if is_int(&b) => (x, y),
        (false, true) if is_int(&a) && op == Binary::Add => (y, x),
        _ => return incompatible(c, op, &a, &b, span),
    };
    let pointer = decay(pointer);
    let ty = pointer.ty.clone();
    let Type::Ptr { to, .. } = &ty else { return error_value(span) };
    if **to == Type::Void {
        return incompatible(c, op, &a, &b, span);
    }
    let size = i64::from(c.size_of(to).max(1));
    let number = cast(word(number.e), &Type::U64);
    let scaled = match number.as_int() {
        Some(n) => int((n as i64).wrapping_mul(size), Type::U64, span),
        None => pair(BinaryOp::Mul, number, int(size, Type::U64, span), span),
    };
    let kind = if op == Binary::Add { BinaryOp::Add } else { BinaryOp::Sub };
    let sum = pair(kind, cast(pointer, &Type::U64), scaled, span);
    Value::new(cast(sum, &ty))
}

fn arithmetic(c: &mut Checker<'_>, op: Binary, x: Value, y: Value, span: Span) -> Value {
    let (a, b) = (x.ty().clone(), y.ty().clone());
    for (v, ty) in [(&x, &a), (&y, &b)] {
        if !is_int(ty) {
            let bitwise =
                matches!(op, Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr | Binary::Mod);
            let additive = matches!(op, Binary::Add | Binary::Sub);
            if additive {
                return incompatible(c, op, &a, &b, span);
            }
            let (tag, what) = if bitwise { (tags::D_OP_INT, "integral") } else { (tags::D_OP_ARITH, "arithmetic") };
            let message = format!("operator {} requires operands of {what} type", op.sign());
            c.error(tag, v.span(), message);
            return error_value(span);
        }
    }
    if matches!(op, Binary::Div | Binary::Mod) && y.e.as_int() == Some(0) {
        return c.wrong(tags::D_DIV_ZERO, span, "expression contains division by zero");
    }
    let shift = matches!(op, Binary::Shl | Binary::Shr);
    let ty = if shift { promoted(&a) } else { common(&a, &b) };
    let constant = x.constant && y.constant;
    let wide = in_64_bits(&ty);
    let (x, y) = (cast(whole(&x), &wide), cast(whole(&y), &wide));
    let cut = |whole: Expr, constant| {
        let e = cast(whole.clone(), &ty);
        let wide = (ty != wide).then(|| Box::new(whole));
        Value { constant, wide, ..Value::new(e) }
    };
    if let (Some(m), Some(n)) = (x.as_int(), y.as_int())
        && let Some(folded) = fold(op, m as i64, n as i64, ty.is_signed())
    {
        return cut(cast(int64(folded, span), &wide), constant);
    }
    let kind = match op {
        Binary::Add => BinaryOp::Add,
        Binary::Sub => BinaryOp::Sub,
        Binary::Mul => BinaryOp::Mul,
        Binary::Div => BinaryOp::Div,
        Binary::Mod => BinaryOp::Mod,
        Binary::BitAnd => BinaryOp::BitAnd,
        Binary::BitOr => BinaryOp::BitOr,
        Binary::BitXor => BinaryOp::BitXor,
        Binary::Shl => BinaryOp::Shl,
        _ => BinaryOp::Shr,
    };
    cut(pair(kind, x, y, span), constant)
}

fn compare(c: &mut Checker<'_>, op: Binary, x: Value, y: Value, span: Span) -> Value {
    let kind = match op {
        Binary::Eq => BinaryOp::Eq,
        Binary::Ne => BinaryOp::Ne,
        Binary::Lt => BinaryOp::Lt,
        Binary::Le => BinaryOp::Le,
        Binary::Gt => BinaryOp::Gt,
        _ => BinaryOp::Ge,
    };
    let constant = x.constant && y.constant;
    let (a, b) = (x.ty().clone(), y.ty().clone());
    let texts = (matches!(a, Type::Str { .. }) && is_text(&b)) || (matches!(b, Type::Str { .. }) && is_text(&a));
    if texts {
        if !matches!(kind, BinaryOp::Eq | BinaryOp::Ne) {
            let order = text_bytes::text_order(c, x.e, y.e);
            let ordered = pair(kind, order, int64(0, span), span);
            return Value::new(cast(ordered, &Type::I32));
        }
        let (x, y) = (c.text(x.e), c.text(y.e));
        return Value::new(cast(pair(kind, x, y, span), &Type::I32));
    }
    let asked = matches!(kind, BinaryOp::Eq | BinaryOp::Ne);
    match (&a, &b, &x.e.kind, &y.e.kind) {
        (Type::Inet, _, _, ExprKind::Str(text)) if asked => return is_host(c, kind, x.e, &text.clone(), span),
        (_, Type::Inet, ExprKind::Str(text), _) if asked => return is_host(c, kind, y.e, &text.clone(), span),
        _ => {}
    }
    let null_text = |t: &Type, v: &Value| matches!(t, Type::Str { .. }) && v.e.as_int() == Some(0);
    if null_text(&a, &y) || null_text(&b, &x) {
        let text = if null_text(&a, &y) { x } else { y };
        return compare_with_none(c, kind, text, span);
    }
    let (x, y) = match (&a, &b) {
        _ if is_int(&a) && is_int(&b) => {
            let ty = in_64_bits(&common(&a, &b));
            (cast(whole(&x), &ty), cast(whole(&y), &ty))
        }
        (Type::Ptr { .. } | Type::Array { .. }, Type::Ptr { .. } | Type::Array { .. }) => {
            let (x, y) = (decay(x), decay(y));
            (cast(x, &Type::U64), cast(y, &Type::U64))
        }
        (Type::Ptr { .. }, _) if is_int(&b) => (cast(x.e, &Type::U64), cast(word(y.e), &Type::U64)),
        (_, Type::Ptr { .. }) if is_int(&a) => (cast(word(x.e), &Type::U64), cast(y.e, &Type::U64)),
        _ => return incompatible(c, op, &a, &b, span),
    };
    if let (Some(m), Some(n)) = (x.as_int(), y.as_int()) {
        return known(holds(op, m, n, x.ty.is_signed()), constant, span);
    }
    Value::new(cast(pair(kind, x, y, span), &Type::I32))
}

/// Whether an address of a host is the one that a text names; one of no known family is the empty text.
fn is_host(c: &mut Checker<'_>, kind: BinaryOp, address: Expr, text: &str, span: Span) -> Value {
    let mut out = Vec::new();
    let whole = c.kept(address, &mut out);
    let word = |at: u32| {
        let place = ExprKind::Field { base: Box::new(whole.clone()), offset: 4 * at, bits: None };
        Expr::new(place, Type::U32, span)
    };
    let is = |at: u32, n: u32| pair(BinaryOp::Eq, word(at), int(n.into(), Type::U32, span), span);
    let all = |family: u32, octets: &[u8]| {
        let words = octets.chunks_exact(4).filter_map(|four| Some(u32::from_ne_bytes(four.try_into().ok()?)));
        (1..).zip(words).fold(is(0, family), |before, (at, n)| and(before, is(at, n)))
    };
    let same = match text.parse() {
        Ok(IpAddr::V4(address)) => all(2, &address.octets()),
        Ok(IpAddr::V6(address)) => all(10, &address.octets()),
        Err(_) if text.is_empty() => and(not(is(0, 2)), not(is(0, 10))),
        Err(_) => int(0, Type::Bool, span),
    };
    let holds = if kind == BinaryOp::Eq { same } else { not(same) };
    Value::new(block(out, cast(holds, &Type::I32)))
}

/// What a comparison of constants gives.
const fn holds(op: Binary, m: u64, n: u64, signed: bool) -> bool {
    let less = if signed { (m as i64) < (n as i64) } else { m < n };
    match op {
        Binary::Eq => m == n,
        Binary::Ne => m != n,
        Binary::Lt => less,
        Binary::Le => less || m == n,
        Binary::Gt => !(less || m == n),
        _ => !less,
    }
}

/// The value of a condition that is known before the program runs.
pub(super) fn known(holds: bool, constant: bool, span: Span) -> Value {
    Value { constant, ..Value::new(int(i64::from(holds), Type::I32, span)) }
}

/// A text beside NULL: one that is empty, or was never set, is none.
fn compare_with_none(_c: &mut Checker<'_>, kind: BinaryOp, text: Value, span: Span) -> Value {
    let length = as_condition(text);
    let none = pair(BinaryOp::Eq, length, int(0, Type::U64, span), span);
    let (none, set) = (none.clone(), not(none));
    let holds = match kind {
        BinaryOp::Eq | BinaryOp::Le => none,
        BinaryOp::Ne | BinaryOp::Gt => set,
        BinaryOp::Lt => int(0, Type::Bool, span),
        _ => int(1, Type::Bool, span),
    };
    Value::new(cast(holds, &Type::I32))
}

fn incompatible(c: &mut Checker<'_>, op: Binary, a: &Type, b: &Type, span: Span) -> Value {
    let (a, b) = (c.type_text(a), c.type_text(b));
    let message = format!("operands have incompatible types: \"{a}\" {} \"{b}\"", op.sign());
    c.wrong(tags::D_OP_INCOMPAT, span, message)
}

fn logical(c: &mut Checker<'_>, op: Binary, x: Value, y: Value, span: Span) -> Value {
    for v in [&x, &y] {
        if !is_scalar(v.ty()) {
            let message = format!("operator {} requires operands of scalar type", op.sign());
            c.error(tags::D_OP_SCALAR, v.span(), message);
            return error_value(span);
        }
    }
    if let (Some(m), Some(n)) = (x.e.as_int(), y.e.as_int()) {
        let holds = match op {
            Binary::LogicalAnd => m != 0 && n != 0,
            Binary::LogicalOr => m != 0 || n != 0,
            _ => (m != 0) != (n != 0),
        };
        return known(holds, x.constant && y.constant, span);
    }
    let (x, y) = (as_condition(x), as_condition(y));
    let kind = match op {
        Binary::LogicalAnd => ExprKind::And(Box::new(x), Box::new(y)),
        Binary::LogicalOr => ExprKind::Or(Box::new(x), Box::new(y)),
        _ => ExprKind::Binary(BinaryOp::Ne, Box::new(not(x)), Box::new(not(y))),
    };
    Value::new(cast(Expr::new(kind, Type::Bool, span), &Type::I32))
}
