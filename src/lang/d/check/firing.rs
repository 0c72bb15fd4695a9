//! The arguments of the firing probe, its name and what its call returned.

use super::checker::Checker;
use super::code::{and, binary, block, builtin, cast, choose, constant_text, int, int64, is_negative, negated};
use super::site::SiteKind;
use super::value::{Value, error_value, is_int, word};
use super::{parameters, prototypes, semantic, tracepoints};
use crate::lang::codes::d as tags;
use crate::lang::d::ast;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Builtin, Expr, ExprKind};
use crate::lang::types::Type;

/// `argN`.
pub fn argument(c: &mut Checker<'_>, number: u8, span: Span) -> Value {
    if let Some(arguments) = &c.frame.site.error_arguments {
        let e = arguments.get(usize::from(number)).cloned().unwrap_or_else(|| int64(0, span));
        return Value::new(cast(e, &Type::I64));
    }
    if let Some(place) = &c.frame.site.place {
        if usize::from(number) >= place.row.arguments.len() {
            return Value::new(int64(0, span));
        }
        let value = semantic::semantic_argument(c, usize::from(number), span);
        let value = value.unwrap_or_else(|| error_value(span));
        let word = if matches!(value.ty(), Type::Str { .. }) { int64(0, span) } else { word(value.e) };
        return Value::new(cast(word, &Type::I64));
    }
    let field = |offset| cast(builtin(Builtin::CtxField(offset), Type::U64, span), &Type::I64);
    match c.frame.site.kind {
        // A system call's record: common fields, the number, then the arguments as words.
        SiteKind::Entry if number < c.frame.site.arguments => {
            let own = c.frame.site.call.map_or(Some(number), |call| call.argument(number)).unwrap_or(number);
            Value::new(field(16 + u32::from(own) * 8))
        }
        SiteKind::Return if number < 2 => Value::new(field(16)),
        SiteKind::Timer if number < 2 => interrupted(number == 1, span),
        SiteKind::KernelEntry | SiteKind::UserEntry if number < 6 => word_of(Builtin::Arg(number), span),
        SiteKind::Static => word_of(Builtin::Arg(number), span),
        SiteKind::Tracepoint | SiteKind::RawTracepoint => tracepoints::word_of_tracepoint(c, usize::from(number), span),
        SiteKind::KernelReturn | SiteKind::UserReturn if number == 1 => word_of(Builtin::Retval, span),
        _ => Value::new(int64(0, span)),
    }
}

/// Where a timer found its processor: in the kernel or in a process.
fn interrupted(user: bool, span: Span) -> Value {
    /// The instruction pointer in the registers of a perf event's program.
    const INSTRUCTION: u16 = if cfg!(target_arch = "x86_64") { 128 } else { 256 };
    let in_user = builtin(Builtin::UserMode, Type::Int { size: 1, signed: false }, span);
    let at = builtin(Builtin::Register(INSTRUCTION), Type::U64, span);
    let none = int(0, Type::U64, span);
    let (there, here) = if user { (at, none) } else { (none, at) };
    let found = ExprKind::Conditional(Box::new(in_user), Box::new(there), Box::new(here));
    Value::new(cast(Expr::new(found, Type::U64, span), &Type::I64))
}

fn word_of(source: Builtin, span: Span) -> Value {
    Value::new(cast(builtin(source, Type::U64, span), &Type::I64))
}

/// `args[n]` of a function of the kernel, by its prototype.
fn typed_by_prototype(c: &mut Checker<'_>, number: u64, span: Span) -> Option<Value> {
    let kind = c.frame.site.kind;
    if !matches!(kind, SiteKind::KernelEntry | SiteKind::KernelReturn) {
        return None;
    }
    let name = c.frame.site.name.clone()?;
    let mut fields = name.split(':').skip(1);
    let prototype = c.facts.prototype(fields.next()?, fields.next()?)?;
    let (ty, source) = match (kind, number) {
        (SiteKind::KernelReturn, 1) => (prototype.result, Builtin::Retval),
        (SiteKind::KernelReturn, _) => return None,
        (_, n) => (prototype.parameters.get(n as usize)?.ty, Builtin::Arg(u8::try_from(n).ok().filter(|n| *n < 6)?)),
    };
    let ty = parameters::type_of(&mut c.types, ty);
    if !super::value::is_scalar(&ty) {
        return None;
    }
    Some(Value::new(cast(builtin(source, Type::U64, span), &ty)))
}

/// `args[n]`.
pub fn typed_argument(c: &mut Checker<'_>, items: &[ast::Expr], span: Span) -> Value {
    let [item] = items else {
        return c.wrong(tags::D_PROTO_LEN, span, "args[ ] takes one index");
    };
    let value = c.expr(item);
    if value.is_error() {
        return value;
    }
    if !is_int(value.ty()) {
        prototypes::mismatch(c, "args[ ]", 1, "integer", &value, span);
        return error_value(span);
    }
    let Some(number) = value.e.as_int().filter(|_| value.constant) else {
        return c.wrong(tags::D_ARGS_TYPE, span, "args[ ] must be indexed by an integer constant");
    };
    if let Some(value) = semantic::semantic_argument(c, usize::try_from(number).unwrap_or(usize::MAX), span) {
        return value;
    }
    if c.frame.site.kind == SiteKind::Absent {
        return Value::new(int64(0, span));
    }
    if matches!(c.frame.site.kind, SiteKind::Tracepoint | SiteKind::RawTracepoint)
        && let Some(value) = tracepoints::argument_of_tracepoint(c, usize::try_from(number).unwrap_or(usize::MAX), span)
    {
        return value;
    }
    if let Some(value) = typed_by_prototype(c, number, span) {
        return value;
    }
    let most = match c.frame.site.kind {
        SiteKind::Entry => system_call_arguments(c),
        SiteKind::KernelEntry | SiteKind::UserEntry => 6,
        SiteKind::Static => 10,
        SiteKind::Tracepoint | SiteKind::RawTracepoint => tracepoints::arguments_of_tracepoint(c),
        SiteKind::Return | SiteKind::KernelReturn | SiteKind::UserReturn => 2,
        _ => 0,
    };
    if number >= most {
        let name = c.frame.site.name.clone().unwrap_or_else(|| "the probe".into());
        return c.wrong(tags::D_ARGS_IDX, span, format!("index {} is out of range for {name} args[ ]", number as i64));
    }
    argument(c, number as u8, span)
}

/// How many arguments the system call has whose entry this is.
fn system_call_arguments(c: &Checker<'_>) -> u64 {
    if c.frame.site.call.is_some() {
        return u64::from(c.frame.site.arguments);
    }
    let name = c.frame.site.name.as_deref().and_then(|name| name.split(':').nth(2));
    let event = name.map(|name| format!("sys_enter_{name}"));
    u64::from(event.map_or(c.frame.site.arguments, |event| super::site::arguments_of(c.facts, &event)))
}

pub fn errno(c: &mut Checker<'_>, span: Span) -> Value {
    if c.frame.site.kind != SiteKind::Return {
        return Value::new(int(0, Type::I32, span));
    }
    let result = argument(c, 0, span).e;
    let mut out = Vec::new();
    let result = c.kept(result, &mut out);
    let is_errno = binary(BinaryOp::Gt, result.clone(), int64(-2048, span));
    let failed = and(is_errno, is_negative(result.clone()));
    let e = choose(failed, negated(result), int64(0, span));
    Value::new(cast(block(out, e), &Type::I32))
}

/// `probefunc` and its kin.
pub fn probe_part(c: &mut Checker<'_>, which: &str, span: Span) -> Value {
    let Some(name) = c.frame.site.name.clone() else {
        return many_probe_part(c, which, span);
    };
    if matches!(which, "id" | "epid") {
        return Value::new(int(i64::from(c.frame.site.id), Type::U32, span));
    }
    let number = ["probeprov", "probemod", "probefunc", "probename"].iter().position(|n| *n == which).unwrap_or(0);
    let text = name.split(':').nth(number).unwrap_or("");
    Value::new(constant_text(text, c.string(), span))
}

fn many_probe_part(c: &mut Checker<'_>, which: &str, span: Span) -> Value {
    let kind = c.frame.site.kind;
    let common = c.frame.site.common.clone();
    let text = match which {
        "probeprov" if let Some(provider) = &common[0] => provider,
        "probemod" if let Some(module) = &common[1] => module,
        "probename" if kind.is_entry() => "entry",
        "probename" => "return",
        "probefunc" => {
            // Known by the probe's number when it is printed.
            let ty = Type::FuncName;
            let name = builtin(Builtin::FuncId, ty, span);
            return Value::new(if c.names_are_texts { c.text(name) } else { name });
        }
        _ => {
            c.unsupported(span, &format!("{which} in a clause of many probes"));
            return error_value(span);
        }
    };
    Value::new(constant_text(text, c.string(), span))
}
