//! Explicit casts.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::BAD_CAST;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic};
use crate::lang::types::{AddressSpace, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{convert_scalar, pointer, settled};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::place::space::{is_place, space_of};
use crate::lang::bt::check::{coerce, join, strict, type_text, typename};

pub fn cast(c: &mut Checker<'_>, name: &ast::TypeName, operand: &ast::Expr, span: Span) -> Expr {
    let mut wanted = typename::type_name(c, name);
    let value = c.value(operand);
    if matches!(wanted, Type::Error) || join::unknown(&value.ty) {
        return Expr::new(ExprKind::Int(0), wanted, span);
    }
    if let Type::Array { of, len: 0 } = &wanted {
        // `(uint8[])x`: as long as the value.
        let (each, whole) = (c.size_of(of).max(1), c.size_of(&value.ty));
        wanted = Type::Array { of: of.clone(), len: whole / each };
    }
    strict::warn_unnecessary_cast(c, &value, &wanted, span);
    let cast = cast_to(c, value, &wanted, span);
    settled(cast)
}

fn cast_to(c: &mut Checker<'_>, value: Expr, wanted: &Type, span: Span) -> Expr {
    match (wanted, &value.ty) {
        // Text is true when it is not empty.
        (Type::Bool, Type::Str { .. }) => Expr { span, ..c.condition(value) },
        (w, v) if w == v => Expr { span, ..value },
        (Type::Enum { id, .. }, _) if value.as_int().is_some_and(|v| !has_variant(&c.types, *id, v)) => {
            let name = type_text::text(&c.types, wanted).trim_start_matches("enum ").to_owned();
            let n = value.as_int().unwrap_or(0) as i64;
            c.error_expr(BAD_CAST, span, format!("Enum: {name} doesn't contain a variant value of {n}"))
        }
        // As a number a function is its address.
        (Type::Int { .. } | Type::Ptr { .. }, Type::FuncName) => function_address(c, wanted, span),
        (Type::Int { .. } | Type::Enum { .. } | Type::Bool, v) if v.fits_register() => {
            Expr { span, ..convert_scalar(value, wanted) }
        }
        (Type::Int { size, .. }, Type::Array { of, len }) if c.size_of(of) * len == u32::from(*size) => {
            Expr::new(ExprKind::Cast(Box::new(value)), wanted.clone(), span)
        }
        (Type::Int { .. }, Type::Array { .. }) => match coerce::integer(value.clone()) {
            Some(e) => convert_scalar(e, wanted),
            None => bad_cast(c, &value, wanted, span),
        },
        (Type::Ptr { to, .. }, v) if v.fits_register() => {
            let space = space::of_address(c, v);
            Expr { span, ..convert_scalar(value, &pointer((**to).clone(), space)) }
        }
        (Type::Ptr { to, .. }, Type::Array { .. } | Type::Str { .. }) if is_place(&value) => {
            let space = space_of(&value).unwrap_or(space::default_space(c));
            let address = Expr::new(ExprKind::AddressOf(Box::new(value)), pointer((**to).clone(), space), span);
            Expr { span, ..address }
        }
        (Type::Username, Type::Int { .. }) => {
            let id = convert_scalar(value, &Type::U32);
            Expr::new(ExprKind::Cast(Box::new(id)), Type::Username, span)
        }
        // Old scripts name the struct alone where they mean a pointer to it; no struct lies at a number in the text.
        (Type::Struct(_), v) if v.is_scalar() && value.as_int().is_none() => {
            let space = space::of_address(c, v);
            let address = convert_scalar(value, &pointer(wanted.clone(), space));
            Expr::new(ExprKind::Deref(Box::new(address)), wanted.clone(), span)
        }
        (Type::Array { of, len }, v) if v.is_scalar() && (1..=8).contains(&(c.size_of(of) * len)) => {
            // Its bytes from the lowest on: as many as there are places for.
            let size = (c.size_of(of) * len).next_power_of_two() as u8;
            let value = convert_scalar(value, &Type::Int { size, signed: false });
            Expr::new(ExprKind::Cast(Box::new(value)), wanted.clone(), span)
        }
        // A cast doesn't cut a text.
        (Type::Str { size: to }, Type::Str { size: from }) | (Type::Buf { size: to }, Type::Buf { size: from })
            if to >= from =>
        {
            Expr::new(ExprKind::Cast(Box::new(value)), wanted.clone(), span)
        }
        (Type::Array { .. } | Type::Str { .. } | Type::Struct(_), v)
            if is_place(&value) && c.size_of(wanted) <= c.size_of(v) =>
        {
            reinterpret(value, wanted, span)
        }
        (Type::Array { of, len }, Type::Str { size }) if c.size_of(of) == 1 && len == size => {
            Expr::new(ExprKind::Cast(Box::new(value)), wanted.clone(), span)
        }
        (Type::Str { .. }, Type::Array { of, .. }) if c.size_of(of) == 1 => {
            Expr::new(ExprKind::Cast(Box::new(value)), wanted.clone(), span)
        }
        (Type::Tuple(_) | Type::Record(_), v) if join::join(wanted, v).is_some() => c.coerce(value, wanted),
        _ => bad_cast(c, &value, wanted, span),
    }
}

fn function_address(c: &mut Checker<'_>, wanted: &Type, span: Span) -> Expr {
    if c.frame.kind == crate::lang::bt::check::frame::Kind::Uretprobe {
        let message = "the address of a function is not known at its return";
        let help = "take it at its entry: `uprobe:BINARY:FUNCTION`".to_owned();
        c.error_help(BAD_CAST, span, message, Some(help));
        return Checker::error_value(span);
    }
    let address = Expr::new(ExprKind::Call(Intrinsic::FuncAddress, Vec::new()), Type::U64, span);
    Expr { span, ..convert_scalar(address, wanted) }
}

/// Whether an enum has a name for a value.
fn has_variant(types: &TypeTable<'_>, id: crate::lang::types::EnumId, value: u64) -> bool {
    let def = types.enum_defs().get(id.0 as usize);
    def.is_none_or(|def| def.variants.is_empty() || def.variants.iter().any(|(_, v)| *v == value as i64))
}

fn bad_cast(c: &mut Checker<'_>, value: &Expr, wanted: &Type, span: Span) -> Expr {
    let (from, to) = (type_text::text(&c.types, &value.ty), type_text::text(&c.types, wanted));
    c.error_expr(BAD_CAST, span, format!("Cannot cast from \"{from}\" to \"{to}\""))
}

/// The same bytes as another type: a place taken by its address.
fn reinterpret(value: Expr, wanted: &Type, span: Span) -> Expr {
    let space = space_of(&value).unwrap_or(AddressSpace::Kernel);
    let to = Type::Ptr { to: Arc::new(wanted.clone()), space };
    let address = Expr::new(ExprKind::AddressOf(Box::new(value)), to, span);
    Expr::new(ExprKind::Deref(Box::new(address)), wanted.clone(), span)
}
