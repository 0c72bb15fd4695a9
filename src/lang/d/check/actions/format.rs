//! Formats of `printf` and its kin, checked against their values.

use crate::lang::typed::Program;
use std::sync::Arc;

use super::super::checker::Checker;
use super::super::code::{call, cast, int};
use super::super::value::{Value, decay, is_int, is_scalar, is_text, word};
use super::super::{declarations, recording};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement};
use crate::lang::types::Type;
use crate::model::bytes;
use crate::model::d::{Count, Format, Item};

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
    if let Some((format, values)) = format(c, "printf", &text, &items[1..], span, out) {
        let first = c.frame.values.len() + 1;
        for value in values {
            recording::keep(c, value, out);
        }
        c.frame.items.push(Item::Printf { format: Arc::new(format), first });
    }
}

/// A format and its values, checked against each other.
pub fn format(
    c: &mut Checker<'_>,
    name: &str,
    text: &str,
    items: &[Ast],
    span: Span,
    _: &mut Vec<Statement>,
) -> Option<(Format, Vec<Expr>)> {
    if let Some(at) = items.iter().position(|e| matches!(e.kind, Kind::Aggregation(_))) {
        let message = format!("{name}( ) argument #{} is an aggregation: use printa( )", at + 2);
        c.error(tags::D_PRINTF_ARG_TYPE, items[at].span, message);
        return None;
    }
    let mut values: Vec<Value> = items.iter().map(|e| c.expr(e)).collect();
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
    let mut taken = Vec::new();
    let mut rest = values.drain(..);
    for (number, conversion) in format.conversions().enumerate() {
        let number = number + 1;
        if conversion.aggregation {
            let message =
                format!("{name}( ) conversion #{number} (%@{}) prints an aggregation: use printa( )", conversion.kind);
            c.error(tags::D_PRINTF_AGG_CONV, span, message);
            return None;
        }
        for count in [conversion.width, conversion.precision] {
            if count != Some(Count::Value) {
                continue;
            }
            let Some(value) = rest.next() else {
                c.error(
                    tags::D_PRINTF_DYN_PROTO,
                    span,
                    format!(
                        "{name}( ) prototype mismatch: conversion #{number} is missing a corresponding \"*\" argument"
                    ),
                );
                return None;
            };
            if !is_int(value.ty()) {
                c.error(
                    tags::D_PRINTF_DYN_TYPE,
                    span,
                    format!("{name}( ) argument for the \"*\" of conversion #{number} must be of integer type"),
                );
                return None;
            }
            taken.push(cast(value.e, &Type::I32));
        }
        let Some(value) = rest.next() else {
            let message = format!(
                "{name}( ) prototype mismatch: conversion #{number} (%{}) is missing a corresponding value argument",
                conversion.kind
            );
            c.error(tags::D_PRINTF_ARG_PROTO, span, message);
            return None;
        };
        let floating = declarations::floating_size(c, value.ty()).is_some() && is_floating(conversion.kind);
        if !floating && !fits(conversion.kind, &conversion.length, value.ty()) {
            let text = c.type_text(value.ty());
            let message = format!(
                "{name}( ) argument #{} is incompatible with conversion #{number}: %{} of {text}",
                number + 1,
                conversion.kind
            );
            c.error(tags::D_PRINTF_ARG_TYPE, span, message);
            return None;
        }
        let e = printed(c, conversion.kind, value);
        taken.push(e);
    }
    if rest.next().is_some() {
        drop(rest);
        let (given, wanted) = (items.len(), taken.len());
        c.error(
            tags::D_PRINTF_ARG_EXTRA,
            span,
            format!(
                "{name}( ) prototype mismatch: only {wanted} arguments required by this format string, {given} given"
            ),
        );
        return None;
    }
    drop(rest);
    Some((format, taken))
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
        _ if matches!(kind, 'a' | 'A') && is_scalar(value.ty()) => {
            let span = value.span();
            let e = cast(word(value.e), &Type::U64);
            let form = int(crate::lang::typed::SymbolForm::InObject as i64, Type::U64, span);
            call(crate::lang::typed::Intrinsic::KSym, vec![e, form], Type::KSym, span)
        }
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

pub fn fits_keys(c: &mut Checker<'_>, format: &Format, keys: &[Type], span: Span) -> bool {
    let mut next = keys.iter();
    for (number, conversion) in format.conversions().enumerate() {
        for _ in [conversion.width, conversion.precision].into_iter().filter(|c| *c == Some(Count::Value)) {
            if !conversion.aggregation && next.next().is_some_and(is_int) {
                continue;
            }
            let number = number + 1;
            let message = format!("printa( ) conversion #{number} has a \"*\", which has no number in the key");
            c.error(tags::D_PRINTF_DYN_PROTO, span, message);
            return false;
        }
        if conversion.aggregation {
            if !"dioxXu".contains(conversion.kind) {
                c.error(
                    tags::D_PRINTF_ARG_TYPE,
                    span,
                    format!(
                        "printa( ) conversion #{} (%@{}) does not print an aggregation",
                        number + 1,
                        conversion.kind
                    ),
                );
                return false;
            }
            continue;
        }
        let Some(key) = next.next() else {
            c.error(tags::D_PRINTF_ARG_PROTO, span, format!("printa( ) conversion #{} is missing a key", number + 1));
            return false;
        };
        if !fits(conversion.kind, &conversion.length, key) {
            c.error(
                tags::D_PRINTF_ARG_TYPE,
                span,
                format!("printa( ) conversion #{} (%{}) does not print this key", number + 1, conversion.kind),
            );
            return false;
        }
    }
    true
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
