//! `sdt` and `rawtp`: the kernel's tracepoints, with the fields of their records or the arguments of their calls.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{builtin, cast, int64};
use super::descriptions::Found;
use super::parameters;
use super::site::SiteKind;
use super::value::{Value, decay, word};
use crate::lang::d::patterns::{chosen, fits, widened};
use crate::lang::facts::{CParam, TraceField};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr};
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::Target;

/// Adds the tracepoints that a description of these providers names: the group is the module.
pub fn tracepoints(
    c: &mut Checker<'_>,
    (provider, group, function, name): (&str, &str, &str, &str),
    found: &mut Vec<Found>,
) {
    let kinds = [("sdt", SiteKind::Tracepoint), ("rawtp", SiteKind::RawTracepoint)];
    // Who names no provider asks for none of these: there are thousands, and others that mean more.
    if provider == "*" || !fits(function, "") {
        return;
    }
    for (own, kind) in kinds.into_iter().filter(|(own, _)| fits(provider, own)) {
        let point = format!("tracepoint:{}:{}", widened(group), widened(name));
        let Ok(targets) = c.facts.expand(&point) else { continue };
        for (target, _) in targets {
            let Target::Tracepoint { category, event } = &target else { continue };
            let is_named = chosen(group, category) && chosen(name, event);
            if !is_named || category.starts_with("syscalls") && kind == SiteKind::RawTracepoint {
                continue;
            }
            let full: Arc<str> = format!("{own}:{category}::{event}").into();
            let target = match kind {
                SiteKind::Tracepoint => Some(target),
                _ => raw(c, event),
            };
            found.extend(target.map(|target| Found::new(Some(target), full, kind)));
        }
    }
}

/// How many arguments the firing tracepoint has.
pub fn arguments_of_tracepoint(c: &Checker<'_>) -> u64 {
    match c.frame.site.kind {
        SiteKind::Tracepoint => fields_of_record(c).len() as u64,
        _ => arguments_of_call(c).len() as u64,
    }
}

/// An argument of the firing tracepoint by its number, with its type; `None` where there is none.
pub fn argument_of_tracepoint(c: &mut Checker<'_>, number: usize, span: Span) -> Option<Value> {
    let e = if c.frame.site.kind == SiteKind::Tracepoint {
        let fields = fields_of_record(c);
        field_of_record(c, fields.get(number)?, span)
    } else {
        let parameters = arguments_of_call(c);
        let mut slot = 0;
        for parameter in parameters.iter().take(number) {
            let ty = parameters::type_of(&mut c.types, parameter.ty);
            slot += c.size_of(&ty).max(1).div_ceil(8);
        }
        let ty = parameters::type_of(&mut c.types, parameters.get(number)?.ty);
        builtin(Builtin::CtxField(slot * 8), ty, span)
    };
    Some(Value::new(e))
}

/// The same as `argN` has it: a number, or an address.
pub fn word_of_tracepoint(c: &mut Checker<'_>, number: usize, span: Span) -> Value {
    let none = int64(0, span);
    let Some(value) = argument_of_tracepoint(c, number, span) else { return Value::new(none) };
    let word = match value.ty() {
        Type::Str { .. } | Type::Struct(_) => none,
        Type::Array { .. } => decay(value),
        _ => word(value.e),
    };
    Value::new(cast(word, &Type::I64))
}

fn arguments_of_call(c: &Checker<'_>) -> Vec<CParam> {
    let names = names_of_tracepoint(c);
    let prototype = names.and_then(|(_, event)| c.facts.raw_tracepoint("", &event));
    prototype.map_or_else(Vec::new, |prototype| prototype.parameters)
}

/// A field of a tracepoint's record: a text where it is one.
fn field_of_record(c: &mut Checker<'_>, field: &TraceField, span: Span) -> Expr {
    let c_type = field.c_type.trim().trim_start_matches("const ").trim().trim_end_matches("[]");
    let value = |source, ty| builtin(source, ty, span);
    if field.data_loc && c_type.ends_with("char") {
        let text = value(Builtin::DataLoc(field.offset), Type::Str { size: c.options.strsize + 1 });
        return c.text(text);
    }
    if let Some(len) = field.array.filter(|n| *n > 0) {
        if c_type == "char" {
            let text = value(Builtin::CtxField(field.offset), Type::Str { size: field.size });
            return c.text(text);
        }
        let size = (field.size / len).clamp(1, 8) as u8;
        let of = Arc::new(Type::Int { size, signed: field.signed });
        return value(Builtin::CtxField(field.offset), Type::Array { of, len });
    }
    if c_type.contains('*') {
        let to = Arc::new(Type::Int { size: 1, signed: true });
        return value(Builtin::CtxField(field.offset), Type::Ptr { to, space: AddressSpace::Kernel });
    }
    let size = if field.data_loc { 4 } else { field.size.clamp(1, 8) as u8 };
    value(Builtin::CtxField(field.offset), Type::Int { size, signed: field.signed })
}

fn fields_of_record(c: &Checker<'_>) -> Vec<TraceField> {
    let names = names_of_tracepoint(c);
    names.and_then(|(group, event)| c.facts.tracepoint(&group, &event).ok()).unwrap_or_default()
}

fn names_of_tracepoint(c: &Checker<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let name = c.frame.site.name.clone()?;
    let mut fields = name.split(':');
    let (group, event) = (fields.nth(1)?, fields.nth(1)?);
    Some((group.into(), event.into()))
}

fn raw(c: &Checker<'_>, event: &str) -> Option<Target> {
    let targets = c.facts.expand(&format!("rawtracepoint:{event}")).ok()?;
    targets.into_iter().map(|(target, _)| target).next()
}
