//! Random integer expressions and what they are worth, computed in plain Rust.

use probescope::lang::typed::{BinaryOp, Expr, ExprKind, UnaryOp};
use probescope::lang::types::Type;
use proptest::prelude::*;

use super::make::{arg, binary, cast, e, unary};

/// Context words that expressions read.
pub const INPUTS: usize = 4;

const TYPES: [(u8, bool); 8] =
    [(1, false), (1, true), (2, false), (2, true), (4, false), (4, true), (8, false), (8, true)];

fn int_type() -> impl Strategy<Value = Type> {
    (0..TYPES.len()).prop_map(|i| Type::Int { size: TYPES[i].0, signed: TYPES[i].1 })
}

/// Numbers at the edges of types, and small ones.
pub fn number() -> impl Strategy<Value = i64> {
    let edges = vec![
        0,
        1,
        -1,
        2,
        7,
        8,
        63,
        64,
        127,
        128,
        255,
        256,
        -128,
        32767,
        65535,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        i64::from(u32::MAX),
        i64::MAX,
        i64::MIN,
    ];
    prop_oneof![prop::sample::select(edges), any::<i64>(), -20_i64..20]
}

/// An expression of the given type.
pub fn expression(ty: Type, depth: u32) -> BoxedStrategy<Expr> {
    let leaf_type = ty.clone();
    let constant = number().prop_map(move |n| e(ExprKind::Int(wrap(n, &leaf_type) as u64), leaf_type.clone()));
    let input_type = ty.clone();
    let input = (0..INPUTS as u8).prop_map(move |n| cast(arg(n), input_type.clone()));
    if depth == 0 {
        return prop_oneof![constant, input].boxed();
    }
    let arithmetic = {
        let ty = ty.clone();
        (operator(), expression(ty.clone(), depth - 1), expression(ty.clone(), depth - 1))
            .prop_map(move |(op, a, b)| binary(op, a, b, ty.clone()))
    };
    let negated = {
        let ty = ty.clone();
        (prop::sample::select(vec![UnaryOp::Neg, UnaryOp::BitNot]), expression(ty.clone(), depth - 1))
            .prop_map(move |(op, a)| unary(op, a, ty.clone()))
    };
    let converted = {
        let ty = ty.clone();
        int_type().prop_flat_map(move |from| expression(from, depth - 1)).prop_map(move |a| cast(a, ty.clone()))
    };
    let chosen = {
        let ty = ty.clone();
        (truth(depth - 1), expression(ty.clone(), depth - 1), expression(ty.clone(), depth - 1))
            .prop_map(move |(c, a, b)| e(ExprKind::Conditional(Box::new(c), Box::new(a), Box::new(b)), ty.clone()))
    };
    let counted = truth(depth - 1).prop_map(move |c| cast(c, ty.clone()));
    prop_oneof![1 => constant, 2 => input, 6 => arithmetic, 1 => negated, 2 => converted, 1 => chosen, 1 => counted]
        .boxed()
}

fn operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Div, Mod, Mul, Shl, Shr, Sub};
    prop::sample::select(vec![Add, Sub, Mul, Div, Mod, BitAnd, BitOr, BitXor, Shl, Shr])
}

fn truth(depth: u32) -> BoxedStrategy<Expr> {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let comparison = (prop::sample::select(vec![Eq, Ne, Lt, Le, Gt, Ge]), int_type())
        .prop_flat_map(move |(op, ty)| (Just(op), expression(ty.clone(), depth), expression(ty, depth)))
        .prop_map(|(op, a, b)| binary(op, a, b, Type::Bool));
    if depth == 0 {
        return comparison.boxed();
    }
    let joined = (any::<bool>(), truth(depth - 1), truth(depth - 1)).prop_map(|(and, a, b)| {
        let (a, b) = (Box::new(a), Box::new(b));
        e(if and { ExprKind::And(a, b) } else { ExprKind::Or(a, b) }, Type::Bool)
    });
    let not = truth(depth - 1).prop_map(|a| unary(UnaryOp::Not, a, Type::Bool));
    prop_oneof![3 => comparison, 1 => joined, 1 => not].boxed()
}

/// Cuts to a type and extends.
pub fn wrap(n: i64, ty: &Type) -> i64 {
    match ty {
        Type::Bool => i64::from(n != 0),
        Type::Int { size, signed } => {
            let bits = 64 - u32::from(*size) * 8;
            if *signed { (n << bits) >> bits } else { (((n as u64) << bits) >> bits) as i64 }
        }
        _ => n,
    }
}

/// The value, and how many divisions by zero it took.
pub fn value(e: &Expr, inputs: &[i64], zeros: &mut u64) -> i64 {
    match &e.kind {
        ExprKind::Int(v) => *v as i64,
        ExprKind::Builtin(probescope::lang::typed::Builtin::Arg(n)) => inputs[*n as usize],
        ExprKind::Cast(a) => wrap(value(a, inputs, zeros), &e.ty),
        ExprKind::Conditional(c, a, b) => {
            let arm = if value(c, inputs, zeros) != 0 { a } else { b };
            value(arm, inputs, zeros)
        }
        ExprKind::And(a, b) => i64::from(value(a, inputs, zeros) != 0 && value(b, inputs, zeros) != 0),
        ExprKind::Or(a, b) => i64::from(value(a, inputs, zeros) != 0 || value(b, inputs, zeros) != 0),
        ExprKind::Unary(op, a) => {
            let v = value(a, inputs, zeros);
            match op {
                UnaryOp::Neg => wrap(v.wrapping_neg(), &e.ty),
                UnaryOp::BitNot => wrap(!v, &e.ty),
                UnaryOp::Not => i64::from(v == 0),
            }
        }
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (value(a, inputs, zeros), value(b, inputs, zeros));
            operate(*op, x, y, &a.ty, &e.ty, zeros)
        }
        other => panic!("not generated: {other:?}"),
    }
}

fn operate(op: BinaryOp, x: i64, y: i64, side: &Type, ty: &Type, zeros: &mut u64) -> i64 {
    let signed = side.is_signed();
    let bits = if let Type::Int { size, .. } = ty { i64::from(*size) * 8 } else { 64 };
    let less = if signed { x < y } else { (x as u64) < (y as u64) };
    let result = match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::Mod if y == 0 => {
            *zeros += 1;
            1
        }
        BinaryOp::Div if signed => x.wrapping_div(y),
        BinaryOp::Div => (x as u64 / y as u64) as i64,
        BinaryOp::Mod if signed => x.wrapping_rem(y),
        BinaryOp::Mod => (x as u64 % y as u64) as i64,
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::Shl => x << (y & (bits - 1)),
        BinaryOp::Shr if signed => x >> (y & (bits - 1)),
        BinaryOp::Shr => ((x as u64) >> (y & (bits - 1))) as i64,
        BinaryOp::Eq => i64::from(x == y),
        BinaryOp::Ne => i64::from(x != y),
        BinaryOp::Lt => i64::from(less),
        BinaryOp::Ge => i64::from(!less),
        BinaryOp::Gt => i64::from(!less && x != y),
        BinaryOp::Le => i64::from(less || x == y),
    };
    wrap(result, ty)
}
