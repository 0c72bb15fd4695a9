//! The lattice of types: what one variable or map is when it is given values of several types.
//!
//! During inference an integer literal has a type of its own, `Int` with [`LITERAL`] set in its
//! size, which takes on the type of whatever it is joined with.

use std::sync::Arc;

use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, Aggregation, Type};

/// Set in the size of a literal's type, beside the bytes that its value needs when signed.
pub const LITERAL: u8 = 0x80;

/// The type of an expression for inference: literals are flexible.
pub fn infer_type(e: &Expr) -> Type {
    match (&e.kind, &e.ty) {
        (ExprKind::Int(v), Type::Int { size: 8, signed: true }) => {
            let v = *v as i64;
            Type::Int { size: LITERAL | signed_bytes(v), signed: v < 0 }
        }
        (ExprKind::Tuple(items), Type::Tuple(_)) => Type::Tuple(items.iter().map(infer_type).collect()),
        (ExprKind::Tuple(items), Type::Record(fields)) => {
            Type::Record(fields.iter().zip(items).map(|((n, _), e)| (n.clone(), infer_type(e))).collect())
        }
        _ => e.ty.clone(),
    }
}

fn signed_bytes(v: i64) -> u8 {
    [1_u8, 2, 4].into_iter().find(|n| i128::from(v).abs() < 1_i128 << (8 * n - 1)).unwrap_or(8)
}

/// Literals become `int64`.
pub fn resolve(ty: &Type) -> Type {
    map_ints(ty, &|size, signed| if size & LITERAL == 0 { Type::Int { size, signed } } else { Type::I64 })
}

/// Literals become the smallest signed type that holds them.
pub fn smallest(ty: &Type) -> Type {
    map_ints(ty, &|size, signed| {
        if size & LITERAL == 0 { Type::Int { size, signed } } else { Type::Int { size: size & !LITERAL, signed: true } }
    })
}

/// What maps store: integers of 8 bytes.
pub fn promote(ty: &Type) -> Type {
    map_ints(ty, &|size, signed| {
        if size & LITERAL == 0 { Type::Int { size: 8, signed } } else { Type::I64 }
    })
}

fn map_ints(ty: &Type, f: &dyn Fn(u8, bool) -> Type) -> Type {
    match ty {
        Type::Int { size, signed } => f(*size, *signed),
        Type::Tuple(items) => Type::Tuple(items.iter().map(|t| map_ints(t, f)).collect()),
        Type::Record(items) => Type::Record(items.iter().map(|(n, t)| (n.clone(), map_ints(t, f))).collect()),
        other => other.clone(),
    }
}

/// True when some part of the type is not known.
pub fn unknown(ty: &Type) -> bool {
    match ty {
        Type::Error => true,
        Type::Tuple(items) => items.iter().any(unknown),
        Type::Record(items) => items.iter().any(|(_, t)| unknown(t)),
        _ => false,
    }
}

/// The type that holds values of both, when there is one. Commutative; `Error` is unknown.
pub fn join(a: &Type, b: &Type) -> Option<Type> {
    use Type::{Array, Bool, Buf, Enum, Error, Int, KStack, Ptr, Record, Str, Tuple, UStack};
    if a == b {
        return Some(a.clone());
    }
    Some(match (a, b) {
        (Error, t) | (t, Error) => t.clone(),
        (Int { size, signed }, Int { size: s, signed: n }) => join_ints((*size, *signed), (*s, *n)),
        (Bool, Int { size, signed }) | (Int { size, signed }, Bool) => join_ints((*size, *signed), (1, false)),
        (Enum { size, signed, .. }, Int { size: s, signed: n })
        | (Int { size: s, signed: n }, Enum { size, signed, .. }) => join_ints((*size, *signed), (*s, *n)),
        (Enum { size, signed, .. }, Enum { size: s, signed: n, .. }) => join_ints((*size, *signed), (*s, *n)),
        (Enum { size, signed, .. }, Bool) | (Bool, Enum { size, signed, .. }) => Int { size: *size, signed: *signed },
        (p @ Ptr { .. }, Int { .. }) | (Int { .. }, p @ Ptr { .. }) => p.clone(),
        (Ptr { to: void, space }, Ptr { to, space: s }) | (Ptr { to, space: s }, Ptr { to: void, space })
            if **void == Type::Void && **to == Type::Void =>
        {
            Ptr { to: to.clone(), space: join_spaces(*space, *s) }
        }
        (Ptr { to, .. }, other @ Ptr { .. }) | (other @ Ptr { .. }, Ptr { to, .. }) if **to == Type::Void => {
            other.clone()
        }
        (Ptr { to, space }, Ptr { to: t, space: s }) => {
            let to = join_pointees(to, t)?;
            Ptr { to: Arc::new(to), space: join_spaces(*space, *s) }
        }
        (Str { size }, Str { size: s }) => Str { size: *size.max(s) },
        (Buf { size }, Buf { size: s }) => Buf { size: *size.max(s) },
        (Tuple(x), Tuple(y)) if x.len() == y.len() => {
            Tuple(x.iter().zip(y.iter()).map(|(a, b)| join(a, b)).collect::<Option<_>>()?)
        }
        // The fields stay in the order of the record that was first.
        (Record(x), Record(y)) if x.len() == y.len() => {
            let other = |name: &Arc<str>| y.iter().find(|(m, _)| m == name).map(|(_, t)| t);
            Record(x.iter().map(|(n, t)| Some((n.clone(), join(t, other(n)?)?))).collect::<Option<_>>()?)
        }
        (Type::Agg(x), Type::Agg(y)) => Type::Agg(join_aggregations(*x, *y)?),
        (KStack { mode, depth }, KStack { mode: m, depth: d }) if mode == m => {
            KStack { mode: *mode, depth: *depth.max(d) }
        }
        (UStack { mode, depth }, UStack { mode: m, depth: d }) if mode == m => {
            UStack { mode: *mode, depth: *depth.max(d) }
        }
        (Array { of, len }, Array { of: o, len: l }) if len == l => Array { of: Arc::new(join(of, o)?), len: *len },
        (Type::KSym, Type::FuncName) | (Type::FuncName, Type::KSym) => Type::KSym,
        (Type::USym, Type::FuncName) | (Type::FuncName, Type::USym) => Type::USym,
        (word, Str { size }) | (Str { size }, word) if word.is_symbolic_number() => {
            Str { size: word.word_bytes().max(*size) }
        }
        (a, b) if a.is_symbolic_number() && b.is_symbolic_number() => Str { size: a.word_bytes().max(b.word_bytes()) },
        (formatted, Int { .. }) | (Int { .. }, formatted) if formatted.fits_register() => formatted.clone(),
        _ => return None,
    })
}

/// Two pointers mix when their targets differ in signedness only, or are texts and bytes.
fn join_pointees(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Type::Int { size, .. }, Type::Int { size: s, .. }) if size == s => Some(a.clone()),
        _ => None,
    }
}

/// The context is kernel memory too; what may be in another memory each time tells by its address.
fn join_spaces(a: AddressSpace, b: AddressSpace) -> AddressSpace {
    match (a, b) {
        _ if a == b => a,
        (AddressSpace::Context, AddressSpace::Kernel) | (AddressSpace::Kernel, AddressSpace::Context) => {
            AddressSpace::Kernel
        }
        _ => AddressSpace::Either,
    }
}

fn join_ints(a: (u8, bool), b: (u8, bool)) -> Type {
    let (literal_a, literal_b) = (a.0 & LITERAL != 0, b.0 & LITERAL != 0);
    let (size_a, size_b) = (a.0 & !LITERAL, b.0 & !LITERAL);
    let (size, signed) = match (literal_a, literal_b) {
        (true, true) => return Type::Int { size: LITERAL | size_a.max(size_b), signed: a.1 || b.1 },
        (true, false) => adapt(size_a, a.1, size_b, b.1),
        (false, true) => adapt(size_b, b.1, size_a, a.1),
        (false, false) => match (a.1, b.1) {
            (x, y) if x == y => (size_a.max(size_b), x),
            (true, false) => (size_a.max((size_b * 2).min(8)), true),
            _ => (size_b.max((size_a * 2).min(8)), true),
        },
    };
    Type::Int { size, signed }
}

/// A literal of `need` bytes (negative or not) joins an integer type.
fn adapt(need: u8, negative: bool, size: u8, signed: bool) -> (u8, bool) {
    if negative && !signed { (need.max((size * 2).min(8)), true) } else { (need.max(size), signed) }
}

fn join_aggregations(a: Aggregation, b: Aggregation) -> Option<Aggregation> {
    use Aggregation::{Avg, Max, Min, Stats, Sum, TSeries};
    Some(match (a, b) {
        (Sum { signed: x }, Sum { signed: y }) => Sum { signed: x || y },
        (Min { signed: x }, Min { signed: y }) => Min { signed: x || y },
        (Max { signed: x }, Max { signed: y }) => Max { signed: x || y },
        (Avg { signed: x }, Avg { signed: y }) => Avg { signed: x || y },
        (Stats { signed: x }, Stats { signed: y }) => Stats { signed: x || y },
        (
            TSeries { interval_ns, buckets, reduce, signed },
            TSeries { interval_ns: i, buckets: n, reduce: r, signed: s },
        ) if interval_ns == i && buckets == n && reduce == r => {
            TSeries { interval_ns, buckets, reduce, signed: signed || s }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(v: i64) -> Type {
        Type::Int { size: LITERAL | signed_bytes(v), signed: v < 0 }
    }

    #[test]
    fn literals_take_the_type_that_they_meet() {
        assert_eq!(join(&literal(0), &Type::U64), Some(Type::U64));
        assert_eq!(join(&Type::U32, &literal(-1)), Some(Type::I64));
        assert_eq!(
            join(&Type::Int { size: 1, signed: false }, &literal(1000)),
            Some(Type::Int { size: 2, signed: false })
        );
        assert_eq!(resolve(&literal(7)), Type::I64);
    }

    #[test]
    fn join_is_commutative_and_strings_grow() {
        let types = [
            Type::I64,
            Type::U64,
            Type::U32,
            Type::I32,
            Type::Bool,
            Type::Str { size: 16 },
            Type::Str { size: 64 },
            literal(3),
            literal(-3),
            Type::Error,
            Type::KSym,
        ];
        for a in &types {
            for b in &types {
                assert_eq!(join(a, b), join(b, a), "{a:?} {b:?}");
            }
        }
        assert_eq!(join(&Type::Str { size: 16 }, &Type::Str { size: 64 }), Some(Type::Str { size: 64 }));
        assert_eq!(join(&Type::Str { size: 16 }, &Type::I64), None);
    }
}
