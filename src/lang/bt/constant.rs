//! Constant folding of integers in the syntax tree: sizes of types, `comptime`.

use super::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

/// The value of an expression made of integer literals only. Arithmetic wraps at 64 bits; `None`
/// when anything else takes part or when it divides by zero.
#[must_use]
pub fn fold(expr: &Expr) -> Option<u64> {
    fold_names(expr, &mut |_| None)
}

/// As [`fold`], with names and sizes of types that stand for numbers: `named` knows them.
#[must_use]
pub fn fold_names(expr: &Expr, named: &mut dyn FnMut(&ExprKind) -> Option<u64>) -> Option<u64> {
    let mut fold = |e: &Expr| fold_names(e, named);
    Some(match &expr.kind {
        ExprKind::Int(value) => *value,
        ExprKind::Bool(value) => u64::from(*value),
        kind @ (ExprKind::Ident(_) | ExprKind::SizeOf(_)) => named(kind)?,
        ExprKind::Unary(op, inner) => {
            let inner = fold(inner)?;
            match op {
                UnaryOp::Neg => inner.wrapping_neg(),
                UnaryOp::BitNot => !inner,
                UnaryOp::Not => u64::from(inner == 0),
                UnaryOp::Deref | UnaryOp::AddressOf => return None,
            }
        }
        ExprKind::Binary(op, left, right) => binary(*op, fold(left)?, fold(right)?)?,
        ExprKind::Comptime(inner) => fold(inner)?,
        ExprKind::Conditional(condition, yes, no) => {
            let condition = fold(condition)?;
            match yes {
                _ if condition == 0 => fold(no)?,
                Some(yes) => fold(yes)?,
                None => condition,
            }
        }
        _ => return None,
    })
}

/// One operator on signed 64-bit values, which is what literals are.
#[must_use]
pub fn binary(op: BinaryOp, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (a as i64, b as i64);
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Mod if y == 0 => return None,
        BinaryOp::Div => x.wrapping_div(y) as u64,
        BinaryOp::Mod => x.wrapping_rem(y) as u64,
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => a.checked_shl(u32::try_from(b).ok()?).unwrap_or(0),
        BinaryOp::Shr => a.checked_shr(u32::try_from(b).ok()?).unwrap_or(0),
        BinaryOp::And => u64::from(a != 0 && b != 0),
        BinaryOp::Or => u64::from(a != 0 || b != 0),
        BinaryOp::Eq => u64::from(a == b),
        BinaryOp::Ne => u64::from(a != b),
        BinaryOp::Lt => u64::from(x < y),
        BinaryOp::Le => u64::from(x <= y),
        BinaryOp::Gt => u64::from(x > y),
        BinaryOp::Ge => u64::from(x >= y),
    })
}
