//! Members of structs, elements of arrays, and the bits of bitfields.

use super::checker::Checker;
use super::code::{binary, cast, int, int64};
use super::files::open_file;
use super::value::{Target, Value, error_value, is_int, word};
use super::variables::Scope;
use super::{files, operators, other_systems, semantic, translators, variables};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind, Name};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};

/// `@a`, `@a[k]`, and what indexes it again.
pub fn is_of_aggregation(e: &Ast) -> bool {
    match &e.kind {
        Kind::Aggregation(_) => true,
        Kind::Index(base, _) => is_of_aggregation(base),
        _ => false,
    }
}

/// What begins at a variable of the kernel's own.
fn is_of_the_kernel(e: &Ast) -> bool {
    match &e.kind {
        Kind::Ident(name) => super::builtins::is_builtin(name) || name.contains('`'),
        Kind::Member { base, .. } | Kind::Index(base, _) | Kind::Unary(_, base) => is_of_the_kernel(base),
        _ => false,
    }
}

/// What a pointer leads to can be written when it turns out to lie in scratch memory.
pub fn with_target(c: &mut Checker<'_>, left: Value, a: &Ast) -> Value {
    let through_pointer = matches!(left.e.kind, ExprKind::Deref(_) | ExprKind::Field { .. });
    if left.target.is_some() || c.uses_scratch || !through_pointer || is_of_the_kernel(a) {
        return left;
    }
    c.uses_scratch = true;
    c.expr(a)
}

/// `base.name` and `base->name`.
pub fn member(c: &mut Checker<'_>, base: &Ast, arrow: bool, name: &Name, span: Span) -> Value {
    if let (Kind::Ident(word), true) = (&base.kind, arrow) {
        match &**word {
            "self" => return variables::scoped(c, Scope::Thread, &name.text, span),
            "this" => return variables::scoped(c, Scope::Clause, &name.text, span),
            _ => {}
        }
    }
    if let (Kind::Ident(word), false) = (&base.kind, arrow)
        && &**word == "args"
        && let Some(value) = semantic::argument_of_place(c, name, span)
    {
        return value;
    }
    if let Some(items) = open_file(base) {
        return files::of_open_file(c, items, name, span);
    }
    if let Some(value) = semantic::viewed(c, base, name, span) {
        return value;
    }
    if let Kind::Xlate(ty, a) = &base.kind {
        return translators::member_of_translated(c, ty, a, name, span);
    }
    let mut value = c.expr(base);
    if value.is_error() {
        return value;
    }
    if c.frame.site.kind == super::site::SiteKind::Absent && is_int(value.ty()) {
        // What an absent probe's arguments are is not known: a number stands for it.
        return Value::new(int64(0, span));
    }
    if let Some(file) = other_systems::file_of_entry(c, &value, &name.text, span) {
        return file;
    }
    let is_pointer = matches!(value.ty(), Type::Ptr { .. } | Type::Array { .. });
    if arrow && !is_pointer {
        let text = c.type_text(value.ty());
        return c.wrong(tags::D_OP_PTR, span, format!("operator -> requires a pointer operand, not {text}"));
    }
    if !arrow && is_pointer {
        return c.wrong(tags::D_OP_SOU, span, "operator . cannot be applied to a pointer: use ->");
    }
    if arrow {
        value = c.deref(value, span);
    }
    field(c, value, name, span)
}

/// A member of a struct.
fn field(c: &mut Checker<'_>, value: Value, name: &Name, span: Span) -> Value {
    let Type::Struct(id) = *value.ty() else {
        if !value.is_error() {
            let text = c.type_text(value.ty());
            c.error(tags::D_OP_SOU, span, format!("a value of type {text} has no members"));
        }
        return error_value(span);
    };
    let space = match &value.e.kind {
        ExprKind::Deref(pointer) if let Type::Ptr { space, .. } = pointer.ty => space,
        _ => AddressSpace::Kernel,
    };
    let Some(field) = c.types.field(id, &name.text, space) else {
        if let Some(known) = other_systems::member_of_other_system(c, &value, id, &name.text, span) {
            return known;
        }
        let text = c.types.struct_name(id);
        let incomplete = c.incomplete.contains(&id);
        if incomplete {
            c.error(tags::D_OP_INCOMPLETE, span, format!("{text} is an incomplete type"));
        } else {
            c.error(tags::D_TYPE_MEMBER, name.span, format!("{} is not a member of {text}", name.text));
        }
        return error_value(span);
    };
    let part = |base: Expr| {
        let kind = ExprKind::Field { base: Box::new(base), offset: field.offset, bits: field.bits };
        Expr::new(kind, field.ty.clone(), span)
    };
    let target = value.written().map(|base| Target::Part(without_bits(&part(base))));
    let before = value.before;
    Value { target, bits: field.bits, before, ..Value::new(part(value.e)) }
}

/// The word that holds a bitfield, with the bits replaced.
pub fn with_bits(old: &Value, value: Expr, (first, width): (u8, u8), span: Span) -> Expr {
    let ty = value.ty.clone();
    let word = match &old.target {
        Some(Target::Part(place)) => place.clone(),
        _ => without_bits(&old.e),
    };
    let whole = cast(word, &Type::U64);
    let mask = (u64::MAX >> (64 - u32::from(width.clamp(1, 64)))) << first;
    let kept = binary(BinaryOp::BitAnd, whole, int(!mask as i64, Type::U64, span));
    let moved = binary(BinaryOp::Shl, cast(value, &Type::U64), int(i64::from(first), Type::U64, span));
    let new = binary(BinaryOp::BitAnd, moved, int(mask as i64, Type::U64, span));
    cast(binary(BinaryOp::BitOr, kept, new), &ty)
}

/// `a[i]` on a C array or a pointer.
pub fn array_element(c: &mut Checker<'_>, array: Value, index: Value, span: Span) -> Value {
    if !is_int(index.ty()) {
        c.error(tags::D_OP_INT, index.span(), "an array's index is an integer");
        return error_value(span);
    }
    match array.ty().clone() {
        Type::Array { of, len } => {
            let known = index.e.as_int();
            if known.is_some_and(|i| len > 0 && i >= u64::from(len)) {
                let message = format!("index {} is out of bounds for an array of {len}", known.unwrap_or(0) as i64);
                return c.wrong(tags::D_ARR_BOUNDS, span, message);
            }
            // Kept aside so that a fault can tell it.
            let word = cast(word(index.e), &Type::I64);
            let mut before = array.before.clone();
            let (read, written) = if known.is_some() { (word.clone(), word) } else { c.twice(word, &mut before) };
            let mut part = |base: Expr, index: Expr| {
                let index = if known.is_some() { index } else { c.checked_pointer(index) };
                let kind = ExprKind::Index { base: Box::new(base), index: Box::new(index) };
                Expr::new(kind, (*of).clone(), span)
            };
            let target = array.written().map(|base| Target::Part(part(base, written)));
            let e = part(array.e, read);
            Value { target, before, ..Value::new(e) }
        }
        Type::Ptr { .. } => {
            let at = operators::operate(c, crate::lang::d::ast::Binary::Add, array, index, span);
            if at.is_error() { at } else { c.deref(at, span) }
        }
        Type::Str { .. } => {
            if let Some(known) = index.e.as_int().filter(|i| *i >= u64::from(c.options.strsize)) {
                let message = format!("index outside array bounds: {}", known as i64);
                return c.wrong(tags::D_ARR_BOUNDS, span, message);
            }
            let index = cast(word(index.e), &Type::I64);
            let kind = ExprKind::Index { base: Box::new(array.e), index: Box::new(index) };
            Value::new(Expr::new(kind, Type::Int { size: 1, signed: true }, span))
        }
        other => {
            let text = c.type_text(&other);
            c.wrong(tags::D_OP_INCOMPAT, span, format!("a value of type {text} has no elements"))
        }
    }
}

/// The word that a bitfield lies in.
fn without_bits(e: &Expr) -> Expr {
    match &e.kind {
        ExprKind::Field { base, offset, .. } => {
            let kind = ExprKind::Field { base: base.clone(), offset: *offset, bits: None };
            Expr::new(kind, e.ty.clone(), e.span)
        }
        _ => e.clone(),
    }
}
