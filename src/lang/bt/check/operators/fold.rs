//! Operators on constants, and the types and names of operators.

use crate::kernel::syscalls;
use crate::kernel::syscalls::Machine;
use crate::lang::bt::ast;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::lang::types::Type;
use crate::model::bytes::{bytes_of, hold};
use crate::model::words;

use crate::lang::bt::check::literal::{
    boolean, convert_scalar, is_literal as is_literal_value, settled, string, truncate,
};

/// `strerror(e) == "..."` and its kin: numbers are compared with those that print as the text.
pub fn compare_words(op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
    let (number, text) = match (&a.kind, &b.kind) {
        (ExprKind::Str(text), _) => (b, text),
        (_, ExprKind::Str(text)) => (a, text),
        _ => return None,
    };
    // The largest errno is 133, system calls end below 1000.
    let printed = |n: u64| match number.ty {
        Type::Strerror => *words::kernel_error_text(n) == **text,
        Type::SignalName => words::signal_name(n) == Some(text),
        _ => syscalls::name(Machine::HOST, n) == Some(text),
    };
    if !matches!(number.ty, Type::Strerror | Type::SignalName | Type::SyscallName) {
        return None;
    }
    let equal = |n: u64| {
        let left = convert_scalar(number.clone(), &Type::U64);
        let right = Expr::new(ExprKind::Int(n), Type::U64, span);
        Expr::new(ExprKind::Binary(BinaryOp::Eq, Box::new(left), Box::new(right)), Type::Bool, span)
    };
    let negative = |n: u64| (number.ty == Type::Strerror && n != 0).then_some(n.wrapping_neg());
    let any = (0..1000)
        .filter(|n| printed(*n))
        .flat_map(|n| std::iter::once(n).chain(negative(n)))
        .map(equal)
        .reduce(|before, next| Expr::new(ExprKind::Or(Box::new(before), Box::new(next)), Type::Bool, span));
    let result = any.unwrap_or_else(|| boolean(false, span));
    Some(if op == BinaryOp::Ne { not(result, span) } else { result })
}

/// `~e`: a number as wide as its operand and with its sign; of a literal an unsigned one.
pub fn complement(e: Expr, own: &Type, span: Span) -> Expr {
    let narrow = match *own {
        Type::Int { signed: true, .. } if !crate::lang::bt::check::literal::is_literal(&e) => own.clone(),
        Type::Int { size, .. } => Type::Int { size, signed: false },
        _ => Type::U64,
    };
    let e = convert_scalar(e, &Type::U64);
    let kind = match e.as_int() {
        Some(v) => ExprKind::Int(!v),
        None => ExprKind::Unary(UnaryOp::BitNot, Box::new(e)),
    };
    settled(convert_scalar(Expr::new(kind, Type::U64, span), &narrow))
}

/// `!e`, constants at once.
pub fn not(e: Expr, span: Span) -> Expr {
    match e.as_int() {
        Some(v) => boolean(v == 0, span),
        None => Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(e)), Type::Bool, span),
    }
}

/// Whether it takes the sign of what it meets: a literal that is not negative.
pub fn is_flexible(e: &Expr) -> bool {
    is_literal_value(e) && e.as_int().is_some_and(|v| i64::try_from(v).is_ok())
}

/// Unsigned when both sides are; who is flexible takes the other side's sign.
pub fn common_sign(a: &Expr, b: &Expr, flexible: (bool, bool)) -> Type {
    match flexible {
        (true, false) => b.ty.clone(),
        (false, true) => a.ty.clone(),
        _ if a.ty.is_signed() || b.ty.is_signed() => Type::I64,
        _ => Type::U64,
    }
}

/// An operator on two values of type `ty`, computed at once where both are constants.
pub fn fold(op: BinaryOp, a: Expr, b: Expr, ty: Type, span: Span) -> Expr {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(v) = compute(op, x, y, ty.is_signed())
    {
        return Expr::new(ExprKind::Int(truncate(v, &ty)), ty, span);
    }
    match (op, b.as_int()) {
        (BinaryOp::Mul | BinaryOp::Div, Some(1)) | (BinaryOp::Add | BinaryOp::Sub, Some(0)) => {
            return Expr { span, ..a };
        }
        _ => {}
    }
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

/// An integer that stands in the script, or that literals make by operators.
pub fn is_literal(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Int(_) => true,
        ast::ExprKind::Unary(ast::UnaryOp::Neg | ast::UnaryOp::BitNot, inner) => is_literal(inner),
        ast::ExprKind::Binary(op, a, b) => comparison(*op).is_none() && is_literal(a) && is_literal(b),
        ast::ExprKind::Comptime(inner) => is_literal(inner),
        _ => false,
    }
}

/// Operators on string literals: they are joined, cut at the front, and compared by their bytes.
pub fn fold_texts(op: ast::BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
    let text = |bytes: &[u8]| Some(string(&hold(bytes, None).into(), span));
    match (&a.kind, &b.kind) {
        (ExprKind::Str(a), ExprKind::Str(b)) => {
            let (a, b) = (bytes_of(a), bytes_of(b));
            match op {
                ast::BinaryOp::Add => text(&[&a[..], &b[..]].concat()),
                ast::BinaryOp::Eq => Some(boolean(a == b, span)),
                ast::BinaryOp::Ne => Some(boolean(a != b, span)),
                ast::BinaryOp::Lt => Some(boolean(a < b, span)),
                ast::BinaryOp::Le => Some(boolean(a <= b, span)),
                ast::BinaryOp::Gt => Some(boolean(a > b, span)),
                ast::BinaryOp::Ge => Some(boolean(a >= b, span)),
                _ => None,
            }
        }
        (ExprKind::Str(s), ExprKind::Int(n)) | (ExprKind::Int(n), ExprKind::Str(s)) if op == ast::BinaryOp::Add => {
            let bytes = bytes_of(s);
            text(bytes.get(usize::try_from(*n).ok()?..).unwrap_or(&[]))
        }
        _ => None,
    }
}

/// The value of an integer constant.
pub fn wide_constant(e: &Expr) -> Option<i128> {
    let v = e.as_int()?;
    Some(if e.ty.is_signed() { i128::from(v as i64) } else { i128::from(v) })
}

/// The exact result of an operator on constants; none when neither 64-bit type holds it, on a division
/// by zero, and for shifts by more than the bits there are.
pub fn fold_wide(op: BinaryOp, x: i128, y: i128) -> Option<i128> {
    let result = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x.checked_mul(y)?,
        BinaryOp::Div => x.checked_div(y)?,
        BinaryOp::Mod => x.checked_rem(y)?,
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::Shl if x < 0 => i128::from((x as i64).checked_shl(u32::try_from(y).ok()?)?),
        BinaryOp::Shl => i128::from((x as u64).checked_shl(u32::try_from(y).ok()?)?),
        BinaryOp::Shr if x < 0 => i128::from((x as i64).checked_shr(u32::try_from(y).ok()?)?),
        BinaryOp::Shr => i128::from((x as u64).checked_shr(u32::try_from(y).ok()?)?),
        _ => return None,
    };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&result).then_some(result)
}

/// The result on 64 bits; none where it is left to the kernel to report (division by zero).
pub fn compute(op: BinaryOp, x: u64, y: u64, signed: bool) -> Option<u64> {
    Some(match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::Mod if y == 0 => return None,
        BinaryOp::Div if signed => (x as i64).wrapping_div(y as i64) as u64,
        BinaryOp::Div => x / y,
        BinaryOp::Mod if signed => (x as i64).wrapping_rem(y as i64) as u64,
        BinaryOp::Mod => x % y,
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::Shl => x << (y & 63),
        BinaryOp::Shr if signed => ((x as i64) >> (y & 63)) as u64,
        BinaryOp::Shr => x >> (y & 63),
        _ => return None,
    })
}

/// Types whose bytes can be compared.
pub fn comparable(ty: &Type) -> bool {
    match ty {
        Type::Str { .. } | Type::Buf { .. } | Type::Inet | Type::Mac | Type::USym => true,
        Type::Array { of, .. } => comparable(of) || of.is_scalar(),
        Type::Tuple(items) => items.iter().all(|t| t.fits_register() || comparable(t)),
        Type::Record(items) => items.iter().all(|(_, t)| t.fits_register() || comparable(t)),
        _ => false,
    }
}

pub fn comparison(op: ast::BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        ast::BinaryOp::Eq => BinaryOp::Eq,
        ast::BinaryOp::Ne => BinaryOp::Ne,
        ast::BinaryOp::Lt => BinaryOp::Lt,
        ast::BinaryOp::Le => BinaryOp::Le,
        ast::BinaryOp::Gt => BinaryOp::Gt,
        ast::BinaryOp::Ge => BinaryOp::Ge,
        _ => return None,
    })
}

pub fn arithmetic(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Sub => BinaryOp::Sub,
        ast::BinaryOp::Mul => BinaryOp::Mul,
        ast::BinaryOp::Div => BinaryOp::Div,
        ast::BinaryOp::Mod => BinaryOp::Mod,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
        ast::BinaryOp::Shl => BinaryOp::Shl,
        ast::BinaryOp::Shr => BinaryOp::Shr,
        _ => BinaryOp::Add,
    }
}

pub fn flip(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}
