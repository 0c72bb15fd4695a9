//! What every part asks of types and values: sizes, names, text, and values as those of other types.

use super::checker::Checker;
use super::code::{CHAR, block, byte_pointer, call, cast, constant_text, int, pointer, read_as, statement};
use super::scratch;
use super::value::{Value, alike, decay, is_int, is_text, whole};
use crate::lang::typed::{Expr, ExprKind, Intrinsic, function_of, size_align};
use crate::lang::types::Type;

impl Checker<'_> {
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
            Type::Inet => "address of a host".into(),
            Type::Error => "<error>".into(),
            _ => "<dynamic>".into(),
        }
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
                let pointer = pointer(CHAR, *space);
                let at = self.checked_pointer(cast(e, &pointer));
                call(Intrinsic::Str, vec![at], string, span)
            }
            Type::FuncName => {
                let text =
                    call(Intrinsic::SymbolicText, vec![e], Type::Str { size: Type::FuncName.word_bytes() }, span);
                self.text(text)
            }
            Type::Array { .. } => call(Intrinsic::Str, vec![e], string, span),
            _ => {
                let at = self.checked_pointer(cast(cast(e, &Type::U64), &byte_pointer()));
                call(Intrinsic::Str, vec![at], string, span)
            }
        }
    }

    /// The pointer, kept aside so that a fault can tell the address.
    pub fn checked_pointer(&mut self, pointer: Expr) -> Expr {
        let Some((_, address)) = self.frame.fault else { return pointer };
        let (span, ty) = (pointer.span, pointer.ty.clone());
        let keep = statement(crate::lang::typed::StatementKind::SetLocal(address, cast(pointer, &Type::U64)), span);
        block(vec![keep], cast(read_as(address, Type::U64, span), &ty))
    }

    /// The same for what is read through it, which may lie in scratch memory.
    pub fn read_pointer(&mut self, pointer: Expr, size: u32, may_be_scratch: bool) -> Expr {
        let (span, ty) = (pointer.span, pointer.ty.clone());
        let pointer = self.checked_pointer(pointer);
        let Some((_, address)) = self.frame.fault.filter(|_| may_be_scratch) else { return pointer };
        let address = read_as(address, Type::U64, span);
        let Some(checks) = scratch::fault_of_scratch(self, &address, size, span) else { return pointer };
        // The pointer is noted first, then checked, then read.
        let noted = statement(crate::lang::typed::StatementKind::Expr(pointer), span);
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
                Some(constant_text("", ty.clone(), value.span()))
            }
            (Type::Int { size: 8, .. }, _) if is_int(&from) => Some(cast(whole(&value), ty)),
            (Type::Int { .. } | Type::Enum { .. } | Type::Bool, _) if is_int(&from) => Some(cast(value.e, ty)),
            (Type::Ptr { to, .. }, Type::Ptr { to: other, .. })
                if **to == Type::Void || **other == Type::Void || alike(to, other) =>
            {
                Some(cast(value.e, ty))
            }
            (Type::Ptr { to, .. }, Type::Array { of, .. }) if **to == Type::Void || alike(to, of) => {
                Some(cast(decay(value), ty))
            }
            (Type::Ptr { to, .. }, Type::Str { .. }) if matches!(**to, Type::Int { size: 1, .. }) => {
                let mut out = Vec::new();
                let address = scratch::address_of_bytes(self, value, &mut out);
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
}
