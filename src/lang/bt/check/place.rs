//! Places: fields, elements, what pointers point to. Pointers are followed wherever a field is asked for.

pub mod space;

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{BAD_CAST, NOT_A_STRUCT, NOT_INDEXABLE, OPERAND_TYPE, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::unknown;
use crate::lang::bt::check::literal::{as_text, convert_scalar, pointer};
use crate::lang::bt::check::place::space::{is_args, space_of, space_of_base};

impl Checker<'_> {
    /// `base.name` and `base->name`.
    pub fn field(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Expr {
        if is_args(base) {
            return self.argument(name, span);
        }
        if is_config(base) {
            return self.setting_value(name, span);
        }
        let base = self.value(base);
        self.field_of(base, name, span)
    }

    pub fn field_of(&mut self, base: Expr, name: &ast::Name, span: Span) -> Expr {
        let base = follow(base);
        match &base.ty {
            Type::Error => Self::error_value(span),
            Type::Struct(id) => {
                let id = *id;
                let space = space_of(&base).unwrap_or(AddressSpace::Kernel);
                let inside = if space == AddressSpace::Context { AddressSpace::Kernel } else { space };
                let Some(field) = self.types.field(id, &name.text, inside) else { return self.no_field(id, name) };
                if field.ty == Type::Void {
                    let message = format!("`{}` is a floating-point number, or nothing a script can hold", name.text);
                    return self.error_expr(OPERAND_TYPE, name.span, message);
                }
                let kind = ExprKind::Field { base: Box::new(base), offset: field.offset, bits: field.bits };
                // The script's own structs don't say in whose memory their pointers point.
                Expr::new(kind, self.inherit_space(field.ty, Some(space)), span)
            }
            Type::Record(fields) => match fields.iter().position(|(n, _)| *n == name.text) {
                Some(index) => self.tuple_field(base, index as u64, span),
                None => {
                    let help =
                        crate::lang::bt::check::suggest::did_you_mean(&name.text, fields.iter().map(|(n, _)| &**n));
                    self.error_help(
                        crate::lang::codes::check::NO_FIELD,
                        name.span,
                        format!("Record does not contain a field named '{}'", name.text),
                        help,
                    );
                    Self::error_value(span)
                }
            },
            other => {
                let text = self.type_text(other);
                let help = match other {
                    Type::Ptr { to, .. } if matches!(**to, Type::Int { size: 1, .. }) => {
                        Some("it is the address of a text: read it by `str(...)`".into())
                    }
                    Type::Int { .. } => Some(format!("cast it first: `((struct NAME *)...).{}`", name.text)),
                    // `curtask` is an untyped pointer where the kernel's types are not known.
                    _ if text == "void *" => self.types.facts.types_absent(),
                    _ => None,
                };
                self.error_help(
                    NOT_A_STRUCT,
                    span,
                    format!("Can not access field '{}' on expression of type '{text}'", name.text),
                    help,
                );
                Self::error_value(span)
            }
        }
    }

    /// `base[index]`.
    pub fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let base = as_text(self.value(base));
        let index = self.value(index);
        if matches!(base.ty, Type::Error) || matches!(index.ty, Type::Error) {
            return Self::error_value(span);
        }
        if let (Type::Tuple(_) | Type::Record(_), Some(at)) = (&base.ty, index.as_int()) {
            return self.tuple_field(base, at, span);
        }
        let element = match &base.ty {
            Type::Array { of, len } => {
                if let Some(at) = index.as_int()
                    && at >= u64::from(*len)
                    && *len > 0
                {
                    let message = format!("the index {} is out of bounds for array of size {len}", at as i64);
                    return self.error_expr(OUT_OF_RANGE, span, message);
                }
                (**of).clone()
            }
            Type::Ptr { to, .. } if **to != Type::Void => (**to).clone(),
            Type::Str { .. } => Type::Int { size: 1, signed: true },
            other => {
                let text = self.type_text(other);
                return self.error_expr(
                    NOT_INDEXABLE,
                    span,
                    format!(
                        "The array index operator [] can only be used on arrays, pointers, and tuples, found {text}."
                    ),
                );
            }
        };
        let Some(index) = self.integer(index) else {
            return self.error_expr(OPERAND_TYPE, span, "an index must be an integer");
        };
        let element = self.inherit_space(element, space_of_base(&base));
        Expr::new(ExprKind::Index { base: Box::new(base), index: Box::new(index) }, element, span)
    }

    /// Pointers read out of user memory point into user memory, and those out of either into either.
    fn inherit_space(&self, ty: Type, space: Option<AddressSpace>) -> Type {
        match (ty, space) {
            (Type::Ptr { to, .. }, Some(AddressSpace::User)) => Type::Ptr { to, space: AddressSpace::User },
            (Type::Ptr { to, space: AddressSpace::Kernel }, Some(AddressSpace::Either)) => {
                Type::Ptr { to, space: AddressSpace::Either }
            }
            (ty, _) => ty,
        }
    }

    /// `*e`.
    pub fn dereference(&mut self, operand: &ast::Expr, span: Span) -> Expr {
        if let Some(word) = self.dereference_cast(operand, span) {
            return word;
        }
        let e = self.value(operand);
        match &e.ty {
            Type::Error => Self::error_value(span),
            Type::Ptr { to, .. } if **to == Type::Void => {
                self.error_help(
                    OPERAND_TYPE,
                    span,
                    "a `void *` points to nothing that has a type",
                    Some("cast it first: `*(uint64 *)p`".into()),
                );
                Self::error_value(span)
            }
            Type::Ptr { to, space } => {
                let ty = self.inherit_space((**to).clone(), Some(*space));
                Expr::new(ExprKind::Deref(Box::new(e)), ty, span)
            }
            // Kernel symbols (`*kaddr("jiffies")`) and registers are addresses of 8-byte words.
            Type::Int { size, signed } => {
                let to = if *size == 8 { Type::U64 } else { Type::Int { size: *size, signed: *signed } };
                let address = convert_scalar(e, &pointer(to.clone(), self.default_space()));
                Expr::new(ExprKind::Deref(Box::new(address)), to, span)
            }
            other => {
                let text = self.type_text(other);
                self.error_expr(OPERAND_TYPE, span, format!("{text} is no pointer"))
            }
        }
    }

    /// `*(uint32)e`: the integer there. The cast says how wide that is and leaves the address whole.
    fn dereference_cast(&mut self, operand: &ast::Expr, span: Span) -> Option<Expr> {
        let ast::ExprKind::Cast(name, inner) = &operand.kind else { return None };
        let to = self.type_name(name);
        if !matches!(to, Type::Int { .. }) {
            return None;
        }
        let e = self.value(inner);
        let space = match &e.ty {
            Type::Ptr { space, .. } => *space,
            Type::Int { .. } => self.default_space(),
            _ => return None,
        };
        let address = convert_scalar(e, &pointer(to.clone(), space));
        Some(Expr::new(ExprKind::Deref(Box::new(address)), to, span))
    }

    /// `&place`.
    pub fn address_of(&mut self, operand: &ast::Expr, span: Span) -> Expr {
        if let ast::ExprKind::Map(name, None) = &operand.kind {
            return self.map_address(name, span);
        }
        let e = self.value(operand);
        match (&e.ty, space_of(&e)) {
            (Type::Error, _) => Self::error_value(span),
            (ty, _) if matches!(e.kind, ExprKind::Local(_)) => {
                let ty = pointer(ty.clone(), AddressSpace::Kernel);
                Expr::new(ExprKind::AddressOf(Box::new(e)), ty, span)
            }
            (ty, Some(space)) if !matches!(e.kind, ExprKind::Field { bits: Some(_), .. }) => {
                let ty = pointer(ty.clone(), space);
                Expr::new(ExprKind::AddressOf(Box::new(e)), ty, span)
            }
            _ => {
                let message = "only a variable, a map and what is in memory of the kernel or a process has an address";
                self.error_expr(BAD_CAST, span, message)
            }
        }
    }

    /// `&@map`: what it points to is the map's value type.
    fn map_address(&mut self, name: &Arc<str>, span: Span) -> Expr {
        let id = self.map_id(name, span);
        let to = match self.map_value_type(id) {
            Type::Agg(_) => Type::Void,
            ty => ty,
        };
        if unknown(&to) {
            self.report_undefined(id, span);
            return Self::error_value(span);
        }
        Expr::new(ExprKind::MapAddress(id), pointer(to, AddressSpace::Kernel), span)
    }
}

/// `config`, or `config()`, or the name that bpftrace's library has for it.
fn is_config(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Ident(name) => matches!(&**name, "config" | "__builtin_config"),
        ast::ExprKind::Call(name, args) => &*name.text == "config" && args.is_empty(),
        _ => false,
    }
}

/// Follows a pointer to a struct.
fn follow(e: Expr) -> Expr {
    match &e.ty {
        Type::Ptr { to, .. } if matches!(**to, Type::Struct(_)) => {
            let (ty, span) = ((**to).clone(), e.span);
            Expr::new(ExprKind::Deref(Box::new(e)), ty, span)
        }
        _ => e,
    }
}
