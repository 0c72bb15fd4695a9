//! Formats of `printf` and its kin, checked against their values.

use std::sync::Arc;

use super::super::checker::Checker;
use super::super::code::{call, cast, int};
use super::super::value::{Value, decay, is_int, is_scalar, is_text, word};
use super::super::{address_keys, declarations, recording};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::Program;
use crate::lang::typed::{Expr, ExprKind, Statement};
use crate::lang::types::Type;
use crate::model::bytes;
use crate::model::d::{Conversion, Count, Format, Item};

pub fn printf(c: &mut Checker<'_>, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let Kind::Str(text) = &items[0].kind else {
        let value = c.expr(&items[0]);
        if value.is_error() {
            return;
        }
        if is_text(value.ty()) {
            c.error(tags::D_PRINTF_ARG_FMT, span, "printf( ) argument #1 must be a format string");
        } else {
            let message = "printf( ) argument #1 is incompatible with prototype: string is expected";
            c.error(tags::D_PROTO_ARG, span, message);
        }
        return;
    };
    if text.is_empty() {
        c.error(tags::D_PRINTF_FMT_EMPTY, span, "printf( ) format string is empty");
        return;
    }
    let text = bytes::hold(text, None);
    recording::records(c, span, true);
    if let Some((format, values)) = format(c, "printf", &text, &items[1..], span) {
        let first = c.frame.values.len() + 1;
        for value in values {
            recording::keep(c, value, out);
        }
        c.frame.items.push(Item::Printf { format: Arc::new(format), first });
    }
}

/// A format and its values, checked against each other.
pub fn format(c: &mut Checker<'_>, name: &str, text: &str, items: &[Ast], span: Span) -> Option<(Format, Vec<Expr>)> {
    if let Some(at) = items.iter().position(|e| matches!(e.kind, Kind::Aggregation(_))) {
        let message = format!("{name}( ) argument #{} is an aggregation: use printa( )", at + 2);
        c.error(tags::D_PRINTF_ARG_TYPE, items[at].span, message);
        return None;
    }
    let values: Vec<Value> = items.iter().map(|e| c.expr(e)).collect();
    if values.iter().any(Value::is_error) {
        return None;
    }
    let format = match Format::parse(text) {
        Ok(format) => format,
        Err(why) => {
            c.error(tags::D_SYNTAX, span, format!("{name}( ) {why}"));
            return None;
        }
    };
    let mut rest = values.into_iter();
    let mut taken = Vec::new();
    for (number, conversion) in (1..).zip(format.conversions()) {
        match values_of(c, conversion, number, &mut rest) {
            Ok(values) => taken.extend(values),
            Err((code, why)) => {
                c.error(code, span, format!("{name}( ) {why}"));
                return None;
            }
        }
    }
    if rest.next().is_some() {
        let (given, wanted) = (items.len(), taken.len());
        let why = format!("only {wanted} arguments required by this format string, {given} given");
        c.error(tags::D_PRINTF_ARG_EXTRA, span, format!("{name}( ) prototype mismatch: {why}"));
        return None;
    }
    Some((format, taken))
}

/// What a conversion prints: its width and precision where they are values, and the value.
fn values_of(
    c: &mut Checker<'_>,
    conversion: &Conversion,
    number: usize,
    rest: &mut impl Iterator<Item = Value>,
) -> Result<Vec<Expr>, (Code, String)> {
    let kind = conversion.kind;
    if conversion.aggregation {
        let why = format!("conversion #{number} (%@{kind}) prints an aggregation: use printa( )");
        return Err((tags::D_PRINTF_AGG_CONV, why));
    }
    let mut taken = Vec::new();
    for _ in [conversion.width, conversion.precision].into_iter().filter(|count| *count == Some(Count::Value)) {
        let Some(value) = rest.next() else {
            let why = format!("prototype mismatch: conversion #{number} is missing a corresponding \"*\" argument");
            return Err((tags::D_PRINTF_DYN_PROTO, why));
        };
        if !is_int(value.ty()) {
            let why = format!("argument for the \"*\" of conversion #{number} must be of integer type");
            return Err((tags::D_PRINTF_DYN_TYPE, why));
        }
        taken.push(cast(value.e, &Type::I32));
    }
    let Some(value) = rest.next() else {
        let why =
            format!("prototype mismatch: conversion #{number} (%{kind}) is missing a corresponding value argument");
        return Err((tags::D_PRINTF_ARG_PROTO, why));
    };
    let floating = declarations::floating_size(c, value.ty()).is_some() && is_floating(kind);
    if !floating && !fits(kind, &conversion.length, value.ty()) {
        let text = c.type_text(value.ty());
        let argument = number + 1;
        let why = format!("argument #{argument} is incompatible with conversion #{number}: %{kind} of {text}");
        return Err((tags::D_PRINTF_ARG_TYPE, why));
    }
    taken.push(printed(c, kind, value));
    Ok(taken)
}

fn printed(c: &mut Checker<'_>, kind: char, value: Value) -> Expr {
    match value.ty() {
        Type::FuncName => c.text(value.e),
        ty if kind == 's' && is_text(ty) => c.text(value.e),
        Type::Ptr { .. } if !matches!(kind, 'a' | 'A') => cast(value.e, &Type::U64),
        Type::Struct(_) if let Some(size) = declarations::floating_size(c, value.ty()) => {
            let (span, ty) = (value.span(), Type::Int { size, signed: false });
            Expr::new(ExprKind::Field { base: Box::new(value.e), offset: 0, bits: None }, ty, span)
        }
        Type::Array { .. } => {
            let at = decay(value);
            cast(at, &Type::U64)
        }
        Type::Bool => cast(value.e, &Type::I32),
        Type::Enum { .. } => cast(value.e, &Type::I32),
        _ if matches!(kind, 'Y' | 'T') => {
            let text = if kind == 'Y' { "%Y %b %e %H:%M:%S" } else { "%a, %d %b %Y %H:%M:%S %z" };
            date(&mut c.program, text, value)
        }
        _ if matches!(kind, 'a' | 'A') && is_scalar(value.ty()) => address_keys::of_address(kind, value.e),
        _ => value.e,
    }
}

/// A wall time that prints by a format.
fn date(program: &mut Program, format: &str, value: Value) -> Expr {
    let span = value.span();
    let formats = &mut program.time_formats;
    let index = formats.iter().position(|f| **f == *format).unwrap_or_else(|| {
        formats.push(format.into());
        formats.len() - 1
    });
    let time = cast(word(value.e), &Type::U64);
    let arguments = vec![int(index as i64, Type::U64, span), time, int(3, Type::U64, span)];
    call(crate::lang::typed::Intrinsic::Strftime, arguments, Type::Timestamp, span)
}

/// Whether a format prints keys of these types; says why where it does not.
pub fn fits_keys(c: &mut Checker<'_>, format: &Format, keys: &[Type], span: Span) -> bool {
    let mut keys = keys.iter();
    let misfit = (1..).zip(format.conversions()).find_map(|(number, conversion)| misfit(conversion, number, &mut keys));
    if let Some((code, why)) = &misfit {
        c.error(*code, span, format!("printa( ) {why}"));
    }
    misfit.is_none()
}

/// Why a conversion does not print the next keys.
fn misfit<'t>(
    conversion: &Conversion,
    number: usize,
    keys: &mut impl Iterator<Item = &'t Type>,
) -> Option<(Code, String)> {
    let kind = conversion.kind;
    for _ in [conversion.width, conversion.precision].into_iter().filter(|count| *count == Some(Count::Value)) {
        if conversion.aggregation || !keys.next().is_some_and(is_int) {
            let why = format!("conversion #{number} has a \"*\", which has no number in the key");
            return Some((tags::D_PRINTF_DYN_PROTO, why));
        }
    }
    if conversion.aggregation {
        let why = || format!("conversion #{number} (%@{kind}) does not print an aggregation");
        return (!"dioxXu".contains(kind)).then(|| (tags::D_PRINTF_ARG_TYPE, why()));
    }
    match keys.next() {
        None => Some((tags::D_PRINTF_ARG_PROTO, format!("conversion #{number} is missing a key"))),
        Some(key) if matches!(kind, 'a' | 'A') && is_int(key) => {
            let why = "prints what lies at an address, and another format prints this key as a number";
            Some((tags::D_PRINTF_ARG_TYPE, format!("conversion #{number} (%{kind}) {why}: use sym( ) as the key")))
        }
        Some(key) if fits(kind, &conversion.length, key) => None,
        Some(_) => Some((tags::D_PRINTF_ARG_TYPE, format!("conversion #{number} (%{kind}) does not print this key"))),
    }
}

/// Whether a conversion is of numbers with a point.
const fn is_floating(kind: char) -> bool {
    matches!(kind, 'e' | 'E' | 'f' | 'g' | 'G')
}

/// Whether a conversion prints a type of value.
fn fits(kind: char, length: &str, ty: &Type) -> bool {
    match kind {
        'd' | 'i' | 'o' | 'u' | 'x' | 'X' => match ty {
            Type::Int { size, .. } if length == "h" => *size <= 2,
            _ => is_int(ty) || (matches!(ty, Type::Ptr { .. }) && length.is_empty() && kind != 'd' && kind != 'i'),
        },
        'c' | 'C' => is_int(ty),
        's' => (is_text(ty) || *ty == Type::Inet) && length.is_empty(),
        'S' => is_text(ty),
        'p' | 'a' | 'A' => is_scalar(ty) || matches!(ty, Type::KSym | Type::USym | Type::Array { .. }),
        'Y' | 'T' => is_int(ty),
        'k' => matches!(ty, Type::KStack { .. } | Type::UStack { .. }),
        _ => false,
    }
}
