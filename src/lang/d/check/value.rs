//! Values: what an expression is, and how values become those of other types.

use std::sync::Arc;

use super::code::{CHAR, call, cast, int, int64};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, LocalId, MapId, Statement, SymbolForm};
use crate::lang::types::{AddressSpace, Type};

/// Something that can be assigned to.
#[derive(Clone, Debug)]
pub enum Target {
    Local(LocalId),
    Map(MapId, Option<Expr>),
    /// A part of a variable.
    Part(Expr),
}

/// An expression that was checked.
#[derive(Clone, Debug)]
pub struct Value {
    pub e: Expr,
    pub target: Option<Target>,
    /// The bits of a bitfield.
    pub bits: Option<(u8, u8)>,
    /// The value is a constant that was written as such.
    pub constant: bool,
    /// What it is before it is cut to its type: D computes with 64 bits, and cuts where a value is kept.
    pub wide: Option<Box<Expr>>,
    /// What computing the value does and the target relies on (`a[i++]`): for who writes to the target without that.
    pub before: Vec<Statement>,
}

impl Value {
    pub const fn new(e: Expr) -> Self {
        Self { e, target: None, bits: None, constant: false, wide: None, before: Vec::new() }
    }

    pub fn ty(&self) -> &Type {
        &self.e.ty
    }

    pub fn span(&self) -> Span {
        self.e.span
    }

    pub fn is_error(&self) -> bool {
        self.e.ty == Type::Error
    }

    /// What is written where a part of it is assigned to.
    pub fn written(&self) -> Option<Expr> {
        match self.target.as_ref()? {
            Target::Part(place) => Some(place.clone()),
            Target::Map(map, key) => {
                let kind = ExprKind::MapGet { map: *map, key: key.clone().map(Box::new) };
                Some(Expr::new(kind, self.e.ty.clone(), self.e.span))
            }
            Target::Local(_) => Some(self.e.clone()),
        }
    }
}

/// Integers and enums.
pub const fn is_int(ty: &Type) -> bool {
    matches!(ty, Type::Int { .. } | Type::Enum { .. } | Type::Bool)
}

pub fn is_scalar(ty: &Type) -> bool {
    is_int(ty) || matches!(ty, Type::Ptr { .. })
}

/// A `char *`, or an array of `char`.
pub fn is_text_pointer(ty: &Type) -> bool {
    let char_ = |t: &Type| matches!(t, Type::Int { size: 1, .. } | Type::Str { .. });
    match ty {
        Type::Ptr { to, .. } => char_(to),
        Type::Array { of, .. } => matches!(**of, Type::Int { size: 1, .. }),
        _ => false,
    }
}

/// What works as text.
pub fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Str { .. } | Type::FuncName) || is_text_pointer(ty)
}

pub fn error_value(span: Span) -> Value {
    Value::new(Expr::new(ExprKind::Int(0), Type::Error, span))
}

/// As a plain 64-bit number: addresses, too.
pub fn word(e: Expr) -> Expr {
    let wide = if e.ty.is_signed() { Type::I64 } else { Type::U64 };
    cast(e, &wide)
}

/// An address, of the process that runs or of the kernel, that prints in a form.
pub fn symbol_of(address: Expr, is_of_process: bool, form: SymbolForm) -> Expr {
    let span = address.span;
    let form = int(form as i64, Type::U64, span);
    let arguments = vec![cast(word(address), &Type::U64), form];
    let (which, ty) = if is_of_process { (Intrinsic::USym, Type::USym) } else { (Intrinsic::KSym, Type::KSym) };
    call(which, arguments, ty, span)
}

/// The number in 64 bits, not cut to its type.
pub fn whole(value: &Value) -> Expr {
    match &value.wide {
        Some(wide) => (**wide).clone(),
        None => word(value.e.clone()),
    }
}

pub fn as_condition(value: Value) -> Expr {
    match value.ty() {
        Type::Str { .. } | Type::Array { .. } => {
            let address = address_of_text(value.e);
            cast(address, &Type::U64)
        }
        _ => value.e,
    }
}

pub fn address_of_text(e: Expr) -> Expr {
    // The text itself decides: bpftrace's rule for a text as a condition is that it is not empty.
    let span = e.span;
    call(Intrinsic::StrLen, vec![e], Type::U64, span)
}

/// Pointed-to types that may be taken for one another.
pub fn alike(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Int { size: x, .. }, Type::Int { size: y, .. }) => x == y,
        (Type::Ptr { to: x, .. }, Type::Ptr { to: y, .. }) => alike(x, y),
        _ => a == b,
    }
}

/// An array as a pointer to its first element.
pub fn decay(value: Value) -> Expr {
    let Type::Array { of, .. } = value.ty().clone() else { return value.e };
    first_element(value, &of)
}

/// The address of an array of characters that lies in memory: of all its bytes, behind a NUL, too. Text that is made, as
/// that of a string function, lies nowhere.
pub fn address_of_chars(value: &Value) -> Option<Expr> {
    let in_memory = matches!(value.e.kind, ExprKind::Deref(_) | ExprKind::Field { .. } | ExprKind::Index { .. });
    (matches!(value.ty(), Type::Str { .. }) && in_memory).then(|| first_element(value.clone(), &CHAR))
}

fn first_element(value: Value, of: &Type) -> Expr {
    let ty = Type::Ptr { to: Arc::new(of.clone()), space: AddressSpace::Kernel };
    let span = value.span();
    if let ExprKind::Deref(pointer) = value.e.kind {
        return cast(*pointer, &ty);
    }
    Expr::new(ExprKind::AddressOf(Box::new(value.e)), ty, span)
}

/// A placeholder where a number is wanted.
pub fn zero(span: Span) -> Expr {
    int64(0, span)
}

/// The type of a key of these parts.
pub fn key_type(mut parts: Vec<Type>) -> Type {
    match parts.len() {
        0 => Type::Void,
        1 => parts.remove(0),
        _ => Type::Tuple(parts.into()),
    }
}

/// A key of these parts; none of no parts.
pub fn key(mut parts: Vec<Expr>, span: Span) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let types = parts.iter().map(|e| e.ty.clone()).collect();
    Some(Expr::new(ExprKind::Tuple(parts), Type::Tuple(types), span))
}
