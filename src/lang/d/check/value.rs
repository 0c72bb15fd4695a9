//! Values: what an expression is, and how values become those of other types.

use std::sync::Arc;

use super::Checker;
use crate::lang::source::Span;
use crate::lang::typed::{
    Block, Expr, ExprKind, Intrinsic, LocalId, MapId, Statement, UnaryOp, function_of, size_align,
};
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
}

impl Value {
    pub const fn new(e: Expr) -> Self {
        Self { e, target: None, bits: None, constant: false, wide: None }
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
            _ => Some(self.e.clone()),
        }
    }
}

pub fn int(value: i64, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Int(value as u64), ty, span)
}

/// `{ statements; value }`
pub fn block(statements: Vec<Statement>, value: Expr) -> Expr {
    if statements.is_empty() {
        return value;
    }
    let (ty, span) = (value.ty.clone(), value.span);
    Expr::new(ExprKind::Block(Block::new(statements), Box::new(value)), ty, span)
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

impl Checker<'_> {
    pub fn error_value(span: Span) -> Value {
        Value::new(Expr::new(ExprKind::Int(0), Type::Error, span))
    }

    pub fn size_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(id) => self.types.struct_size(*id),
            Type::Array { of, len } => self.size_of(of).saturating_mul(*len),
            _ => size_align(ty, &[]).0,
        }
    }

    /// The type in words, for messages.
    pub fn type_text(&self, ty: &Type) -> String {
        match ty {
            Type::Void => "void".into(),
            Type::Int { size, signed } => {
                let name = ["char", "short", "int", "long"][(size.trailing_zeros() as usize).min(3)];
                if *signed { name.to_owned() } else { format!("unsigned {name}") }
            }
            Type::Str { .. } => "string".into(),
            Type::Ptr { to, .. } => format!("{} *", self.type_text(to)),
            Type::Array { of, len } => format!("{} [{len}]", self.type_text(of)),
            Type::Struct(id) => self.types.struct_name(*id),
            Type::Enum { .. } => "enum".into(),
            Type::KStack { .. } | Type::UStack { .. } => "stack".into(),
            Type::Error => "<error>".into(),
            _ => "<dynamic>".into(),
        }
    }

    /// As a plain 64-bit number: addresses, too.
    pub fn word(&self, e: Expr) -> Expr {
        let wide = if e.ty.is_signed() { Type::I64 } else { Type::U64 };
        cast(e, &wide)
    }

    /// The number in 64 bits, not cut to its type.
    pub fn whole(&self, value: &Value) -> Expr {
        match &value.wide {
            Some(wide) => (**wide).clone(),
            None => self.word(value.e.clone()),
        }
    }

    pub fn condition(&mut self, value: Value) -> Expr {
        match value.ty() {
            Type::Str { .. } | Type::Array { .. } => {
                let address = self.address_of_text(value.e);
                cast(address, &Type::U64)
            }
            _ => value.e,
        }
    }

    fn address_of_text(&self, e: Expr) -> Expr {
        // The text itself decides: bpftrace's rule for a text as a condition is that it is not empty.
        let span = e.span;
        Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![e]), Type::U64, span)
    }

    /// Text of a value that works as text.
    pub fn text(&mut self, e: Expr) -> Expr {
        let (span, string) = (e.span, self.string());
        match &e.ty {
            Type::Str { size } => {
                let wanted = self.options.strsize + 1;
                if *size == wanted {
                    return e;
                }
                if let ExprKind::Str(_) = e.kind {
                    return Expr::new(e.kind, string, span);
                }
                if *size < wanted {
                    return cast(e, &string);
                }
                e
            }
            Type::Ptr { space, .. } => {
                let pointer = Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space: *space };
                let at = self.checked_pointer(cast(e, &pointer));
                Expr::new(ExprKind::Call(Intrinsic::Str, vec![at]), string, span)
            }
            Type::FuncName => {
                let text = Expr::new(
                    ExprKind::Call(Intrinsic::SymbolicText, vec![e]),
                    Type::Str { size: Type::FuncName.word_bytes() },
                    span,
                );
                self.text(text)
            }
            Type::Array { .. } => Expr::new(ExprKind::Call(Intrinsic::Str, vec![e]), string, span),
            _ => {
                let pointer =
                    Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space: AddressSpace::Kernel };
                let at = self.checked_pointer(cast(cast(e, &Type::U64), &pointer));
                Expr::new(ExprKind::Call(Intrinsic::Str, vec![at]), string, span)
            }
        }
    }

    /// The pointer, kept aside so that a fault can tell the address.
    pub fn checked_pointer(&mut self, pointer: Expr) -> Expr {
        let Some((_, address)) = self.frame.fault else { return pointer };
        let (span, ty) = (pointer.span, pointer.ty.clone());
        let keep =
            super::statement(crate::lang::typed::StatementKind::SetLocal(address, cast(pointer, &Type::U64)), span);
        block(vec![keep], cast(Expr::new(ExprKind::Local(address), Type::U64, span), &ty))
    }

    /// The same for what is read through it, which may lie in scratch memory.
    pub fn read_pointer(&mut self, pointer: Expr, size: u32, may_be_scratch: bool) -> Expr {
        let (span, ty) = (pointer.span, pointer.ty.clone());
        let pointer = self.checked_pointer(pointer);
        let Some((_, address)) = self.frame.fault.filter(|_| may_be_scratch) else { return pointer };
        let address = Expr::new(ExprKind::Local(address), Type::U64, span);
        let Some(checks) = self.fault_of_scratch(&address, size, span) else { return pointer };
        // The pointer is noted first, then checked, then read.
        let noted = super::statement(crate::lang::typed::StatementKind::Expr(pointer), span);
        block(std::iter::once(noted).chain(checks).collect(), cast(address, &ty))
    }

    /// A value as one of another type, as an assignment or an argument has it; `None` when they do not go together.
    pub fn convert(&mut self, value: Value, ty: &Type) -> Option<Expr> {
        let from = value.ty().clone();
        if from == *ty {
            return Some(value.e);
        }
        match (ty, &from) {
            (_, Type::Error) | (Type::Error, _) => Some(Expr::new(ExprKind::Int(0), ty.clone(), value.span())),
            (Type::Str { .. }, _) if is_text(&from) => Some(self.text(value.e)),
            // A function's name that is known, beside those that the firing probe tells.
            (Type::FuncName, Type::Str { .. }) => {
                let found = match &value.e.kind {
                    ExprKind::Str(text) => self.program.probe_names.iter().position(|n| function_of(n) == &**text),
                    _ => None,
                };
                self.names_meet_texts |= found.is_none();
                Some(int(found? as i64, Type::FuncName, value.span()))
            }
            // A text that is none.
            (Type::Str { .. }, Type::Ptr { .. }) if value.e.as_int() == Some(0) => {
                Some(Expr::new(ExprKind::Str("".into()), ty.clone(), value.span()))
            }
            (Type::Int { size: 8, .. }, _) if is_int(&from) => Some(cast(self.whole(&value), ty)),
            (Type::Int { .. } | Type::Enum { .. } | Type::Bool, _) if is_int(&from) => Some(cast(value.e, ty)),
            (Type::Ptr { to, .. }, Type::Ptr { to: other, .. })
                if **to == Type::Void || **other == Type::Void || Self::alike(to, other) =>
            {
                Some(cast(value.e, ty))
            }
            (Type::Ptr { to, .. }, Type::Array { of, .. }) if **to == Type::Void || Self::alike(to, of) => {
                Some(cast(self.decay(value), ty))
            }
            (Type::Ptr { to, .. }, Type::Str { .. }) if matches!(**to, Type::Int { size: 1, .. }) => {
                let mut out = Vec::new();
                let address = self.address_of_bytes(value, &mut out);
                Some(block(out, cast(address, ty)))
            }
            (Type::Ptr { .. }, _) if is_int(&from) && value.e.as_int() == Some(0) => Some(cast(value.e, ty)),
            (Type::Array { of, len }, Type::Array { of: other, len: have }) if of == other && have <= len => {
                Some(value.e)
            }
            (Type::Array { of, .. }, Type::Str { .. }) if matches!(**of, Type::Int { size: 1, .. }) => None,
            (Type::KStack { .. }, Type::KStack { .. }) | (Type::UStack { .. }, Type::UStack { .. }) => Some(value.e),
            _ => None,
        }
    }

    /// Pointed-to types that may be taken for one another.
    pub fn alike(a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Int { size: x, .. }, Type::Int { size: y, .. }) => x == y,
            (Type::Ptr { to: x, .. }, Type::Ptr { to: y, .. }) => Self::alike(x, y),
            _ => a == b,
        }
    }

    /// An array as a pointer to its first element.
    pub fn decay(&mut self, value: Value) -> Expr {
        let Type::Array { of, .. } = value.ty().clone() else { return value.e };
        let (span, space) = (value.span(), AddressSpace::Kernel);
        if let ExprKind::Deref(pointer) = value.e.kind {
            return cast(*pointer, &Type::Ptr { to: of, space });
        }
        Expr::new(ExprKind::AddressOf(Box::new(value.e)), Type::Ptr { to: of, space }, span)
    }

    pub fn not(e: Expr) -> Expr {
        let span = e.span;
        Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(e)), Type::Bool, span)
    }
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
