//! Places: fields, elements, what pointers point to. Pointers are followed wherever a field is asked for.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{BAD_CAST, NO_FIELD, NOT_A_STRUCT, NOT_INDEXABLE, OPERAND_TYPE, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, StructId, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::unknown;
use crate::lang::bt::check::literal::{as_text, convert_scalar, element_types, pointer};
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::place::space::{is_args, space_of, space_of_base};
use crate::lang::bt::check::suggest::did_you_mean;
use crate::lang::bt::check::{args, coerce, setting, type_text, typename};

pub mod space;

/// `base.name` and `base->name`.
pub fn field(c: &mut Checker<'_>, base: &ast::Expr, name: &ast::Name, span: Span) -> Expr {
    if is_args(base) {
        return args::argument(c, name, span);
    }
    if is_config(base) {
        return setting::setting_value(c, name, span);
    }
    let base = c.value(base);
    field_of(c, base, name, span)
}

pub fn field_of(c: &mut Checker<'_>, base: Expr, name: &ast::Name, span: Span) -> Expr {
    let base = follow(base);
    match &base.ty {
        Type::Error => Checker::error_value(span),
        Type::Struct(id) => {
            let id = *id;
            let space = space_of(&base).unwrap_or(AddressSpace::Kernel);
            let inside = if space == AddressSpace::Context { AddressSpace::Kernel } else { space };
            let Some(field) = c.types.field(id, &name.text, inside) else { return no_field(c, id, name) };
            if field.ty == Type::Void {
                let message = format!("`{}` is a floating-point number, or nothing a script can hold", name.text);
                return c.error_expr(OPERAND_TYPE, name.span, message);
            }
            let kind = ExprKind::Field { base: Box::new(base), offset: field.offset, bits: field.bits };
            // The script's own structs don't say in whose memory their pointers point.
            Expr::new(kind, space::inherit_space(field.ty, Some(space)), span)
        }
        Type::Record(fields) => match fields.iter().position(|(n, _)| *n == name.text) {
            Some(index) => tuple_field(c, base, index as u64, span),
            None => {
                let help = did_you_mean(&name.text, fields.iter().map(|(n, _)| &**n));
                c.error_help(
                    NO_FIELD,
                    name.span,
                    format!("Record does not contain a field named '{}'", name.text),
                    help,
                );
                Checker::error_value(span)
            }
        },
        other => {
            let text = type_text::text(&c.types, other);
            let help = match other {
                Type::Ptr { to, .. } if matches!(**to, Type::Int { size: 1, .. }) => {
                    Some("it is the address of a text: read it by `str(...)`".into())
                }
                Type::Int { .. } => Some(format!("cast it first: `((struct NAME *)...).{}`", name.text)),
                // `curtask` is an untyped pointer where the kernel's types are not known.
                _ if text == "void *" => c.types.facts.types_absent(),
                _ => None,
            };
            c.error_help(
                NOT_A_STRUCT,
                span,
                format!("Can not access field '{}' on expression of type '{text}'", name.text),
                help,
            );
            Checker::error_value(span)
        }
    }
}

/// `base[index]`.
pub fn index(c: &mut Checker<'_>, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
    let base = as_text(c.value(base));
    let index = c.value(index);
    if matches!(base.ty, Type::Error) || matches!(index.ty, Type::Error) {
        return Checker::error_value(span);
    }
    if let (Type::Tuple(_) | Type::Record(_), Some(at)) = (&base.ty, index.as_int()) {
        return tuple_field(c, base, at, span);
    }
    let element = match &base.ty {
        Type::Array { of, len } => {
            if let Some(at) = index.as_int()
                && at >= u64::from(*len)
                && *len > 0
            {
                let message = format!("the index {} is out of bounds for array of size {len}", at as i64);
                return c.error_expr(OUT_OF_RANGE, span, message);
            }
            (**of).clone()
        }
        Type::Ptr { to, .. } if **to != Type::Void => (**to).clone(),
        Type::Str { .. } => Type::Int { size: 1, signed: true },
        other => {
            let text = type_text::text(&c.types, other);
            return c.error_expr(
                NOT_INDEXABLE,
                span,
                format!("The array index operator [] can only be used on arrays, pointers, and tuples, found {text}."),
            );
        }
    };
    let Some(index) = coerce::integer(index) else {
        return c.error_expr(OPERAND_TYPE, span, "an index must be an integer");
    };
    let element = space::inherit_space(element, space_of_base(&base));
    Expr::new(ExprKind::Index { base: Box::new(base), index: Box::new(index) }, element, span)
}

/// `*e`.
pub fn dereference(c: &mut Checker<'_>, operand: &ast::Expr, span: Span) -> Expr {
    if let Some(word) = dereference_cast(c, operand, span) {
        return word;
    }
    let e = c.value(operand);
    match &e.ty {
        Type::Error => Checker::error_value(span),
        Type::Ptr { to, .. } if **to == Type::Void => {
            c.error_help(
                OPERAND_TYPE,
                span,
                "a `void *` points to nothing that has a type",
                Some("cast it first: `*(uint64 *)p`".into()),
            );
            Checker::error_value(span)
        }
        Type::Ptr { to, space } => {
            let ty = space::inherit_space((**to).clone(), Some(*space));
            Expr::new(ExprKind::Deref(Box::new(e)), ty, span)
        }
        // Kernel symbols (`*kaddr("jiffies")`) and registers are addresses of 8-byte words.
        Type::Int { size, signed } => {
            let to = if *size == 8 { Type::U64 } else { Type::Int { size: *size, signed: *signed } };
            let address = convert_scalar(e, &pointer(to.clone(), space::default_space(c)));
            Expr::new(ExprKind::Deref(Box::new(address)), to, span)
        }
        other => {
            let text = type_text::text(&c.types, other);
            c.error_expr(OPERAND_TYPE, span, format!("{text} is no pointer"))
        }
    }
}

/// `*(uint32)e`: the integer there. The cast says how wide that is and leaves the address whole.
fn dereference_cast(c: &mut Checker<'_>, operand: &ast::Expr, span: Span) -> Option<Expr> {
    let ast::ExprKind::Cast(name, inner) = &operand.kind else { return None };
    let to = typename::type_name(c, name);
    if !matches!(to, Type::Int { .. }) {
        return None;
    }
    let e = c.value(inner);
    let space = match &e.ty {
        Type::Ptr { space, .. } => *space,
        Type::Int { .. } => space::default_space(c),
        _ => return None,
    };
    let address = convert_scalar(e, &pointer(to.clone(), space));
    Some(Expr::new(ExprKind::Deref(Box::new(address)), to, span))
}

/// `&place`.
pub fn address_of(c: &mut Checker<'_>, operand: &ast::Expr, span: Span) -> Expr {
    if let ast::ExprKind::Map(name, None) = &operand.kind {
        return map_address(c, name, span);
    }
    let e = c.value(operand);
    match (&e.ty, space_of(&e)) {
        (Type::Error, _) => Checker::error_value(span),
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
            c.error_expr(BAD_CAST, span, message)
        }
    }
}

/// `&@map`: what it points to is the map's value type.
fn map_address(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> Expr {
    let id = c.maps.map_id(name, span);
    let to = match c.maps.map_value_type(id) {
        Type::Agg(_) => Type::Void,
        ty => ty,
    };
    if unknown(&to) {
        undefined::report_undefined(c, id, span);
        return Checker::error_value(span);
    }
    Expr::new(ExprKind::MapAddress(id), pointer(to, AddressSpace::Kernel), span)
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

/// `t.0`, `t[0]`.
pub fn tuple_field(c: &mut Checker<'_>, base: Expr, index: u64, span: Span) -> Expr {
    let ty = match &base.ty {
        Type::Error => return Checker::error_value(span),
        Type::Tuple(items) => items.get(index as usize).cloned(),
        Type::Record(items) => items.get(index as usize).map(|(_, t)| t.clone()),
        other => {
            let text = type_text::text(&c.types, other);
            return c.error_expr(OPERAND_TYPE, span, format!("{text} has no numbered elements"));
        }
    };
    match ty {
        Some(ty) => Expr::new(ExprKind::TupleField(Box::new(base), index as u32), ty, span),
        None => c.error_expr(
            NO_FIELD,
            span,
            format!(
                "Invalid tuple index: {index}. Found {} elements in {}.",
                element_types(&base.ty).map_or(0, |t| t.len()),
                type_text::kind(&c.types, &base.ty)
            ),
        ),
    }
}

/// Reports a field that a struct does not have.
pub fn no_field(c: &mut Checker<'_>, id: StructId, name: &ast::Name) -> Expr {
    let names = c.types.field_names(id);
    let help = did_you_mean(&name.text, names.iter().map(|n| &**n))
        .or_else(|| (names.len() <= 12 && !names.is_empty()).then(|| format!("it has: {}", names.join(", "))));
    let owner = c.types.struct_name(id);
    let message = if names.is_empty() {
        format!("{owner} is only declared on this kernel, its fields are not known")
    } else {
        format!("Struct/union of type '{owner}' does not contain a field named '{}'", name.text)
    };
    c.error_help(NO_FIELD, name.span, message, help);
    Checker::error_value(name.span)
}
