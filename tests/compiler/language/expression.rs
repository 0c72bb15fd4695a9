//! Random integer expressions as script text, and what the language says they are worth.

use proptest::prelude::*;

/// Inputs `@i0` to `@i3`, read into `$a` to `$d`.
pub const INPUTS: usize = 4;

/// An expression of type `int64`.
#[derive(Clone, Debug)]
pub enum Expr {
    Input(usize),
    Number(i64),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// Cut to a narrow type and widened again.
    Narrow(u32, bool, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
}

use Expr::{Binary, Conditional, Input, Narrow, Number, Unary};

/// Numbers near the edges of every width; the least one has no literal.
pub fn number() -> impl Strategy<Value = i64> {
    let any = prop_oneof![
        3 => -20_i64..20,
        2 => (0_u32..64, -2_i64..3).prop_map(|(shift, near)| (1_i64 << shift).wrapping_add(near)),
        2 => any::<i64>(),
    ];
    any.prop_map(|n| n.max(-i64::MAX))
}

/// An expression.
pub fn expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![3 => (0..INPUTS).prop_map(Input), 2 => number().prop_map(Number)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operators =
            vec!["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"];
        let boxed = |e| Box::new(e);
        prop_oneof![
            6 => (prop::sample::select(operators), inner.clone(), inner.clone())
                .prop_map(move |(op, a, b)| Binary(op, boxed(a), boxed(b))),
            1 => (prop::sample::select(vec!["-", "~", "!"]), inner.clone()).prop_map(move |(op, a)| Unary(op, boxed(a))),
            2 => (prop::sample::select(vec![8_u32, 16, 32]), any::<bool>(), inner.clone())
                .prop_map(move |(bits, signed, a)| Narrow(bits, signed, boxed(a))),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(move |(c, a, b)| Conditional(boxed(c), boxed(a), boxed(b))),
        ]
    })
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input(i) => write!(f, "${}", ["a", "b", "c", "d"][*i]),
            Number(n) if *n < 0 => write!(f, "({n})"),
            Number(n) => write!(f, "{n}"),
            // A space, so that two minuses are no decrement.
            Unary(op, a) => write!(f, "(int64)({op} ({a}))"),
            Binary(op @ ("<<" | ">>"), a, b) => write!(f, "(int64)(({a}) {op} (({b}) & 63))"),
            Binary(op, a, b) => write!(f, "(int64)(({a}) {op} ({b}))"),
            Narrow(bits, signed, a) => {
                write!(f, "(int64)({}int{bits})({a})", if *signed { "" } else { "u" })
            }
            Conditional(c, a, b) => write!(f, "(({c}) != 0 ? ({a}) : ({b}))"),
        }
    }
}

impl Expr {
    /// What it is worth: 64-bit signed arithmetic that wraps, division by zero gives 1.
    pub fn value(&self, inputs: &[i64]) -> i64 {
        match self {
            Input(i) => inputs[*i],
            Number(n) => *n,
            Unary(op, a) => {
                let v = a.value(inputs);
                match *op {
                    "-" => v.wrapping_neg(),
                    "~" => !v,
                    _ => i64::from(v == 0),
                }
            }
            Binary(op, a, b) => operate(op, a.value(inputs), b.value(inputs)),
            Narrow(bits, signed, a) => {
                let (v, unused) = (a.value(inputs), 64 - bits);
                if *signed { v << unused >> unused } else { ((v as u64) << unused >> unused) as i64 }
            }
            Conditional(c, a, b) => if c.value(inputs) != 0 { a } else { b }.value(inputs),
        }
    }
}

fn operate(op: &str, a: i64, b: i64) -> i64 {
    match op {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => 1,
        "/" => a.wrapping_div(b),
        "%" => a.wrapping_rem(b),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => a << (b & 63),
        ">>" => a >> (b & 63),
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<" => i64::from(a < b),
        "<=" => i64::from(a <= b),
        ">" => i64::from(a > b),
        ">=" => i64::from(a >= b),
        "&&" => i64::from(a != 0 && b != 0),
        _ => i64::from(a != 0 || b != 0),
    }
}
