//! What a probe is given: `args`, `argN`, `retval`, `ctx`, each by the kind of probe.

use std::sync::Arc;

use crate::binary::dwarf::ParameterPlace;
use crate::lang::bt::ast;
use crate::lang::codes::check::{NO_ARGUMENTS, NO_FIELD, NOT_IN_PROBE};
use crate::lang::facts::table::TypeTable;
use crate::lang::facts::{CKind, CParam, CType, Prototype, TraceField, UserParameter};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::Target;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::Kind;
use crate::lang::bt::check::literal::{convert_scalar, pointer};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::probes::trampoline;
use crate::lang::bt::check::{absent, suggest};

/// An argument's name, and its value or why it can't be read.
type Argument = (Arc<str>, Result<Expr, String>);

pub fn argument(c: &mut Checker<'_>, name: &ast::Name, span: Span) -> Expr {
    match argument_list(c, span) {
        Err(e) => e,
        Ok(list) => match list.into_iter().find(|(n, _)| *n == name.text) {
            Some((_, Ok(value))) => Expr { span, ..value },
            Some((_, Err(reason))) => c.error_expr(NO_ARGUMENTS, name.span, reason),
            None => no_argument(c, name, span),
        },
    }
}

fn no_argument(c: &mut Checker<'_>, name: &ast::Name, span: Span) -> Expr {
    let names: Vec<Arc<str>> =
        argument_list(c, span).map(|l| l.into_iter().map(|(n, _)| n).collect()).unwrap_or_default();
    let target = c.frame.name.clone();
    let help = if name.text.starts_with("common_") {
        Some("use `pid`, `comm` and `cpu`: the common fields are not offered".to_owned())
    } else {
        suggest::did_you_mean(&name.text, names.iter().map(|n| &**n)).or_else(|| {
            let shown: Vec<&str> = names.iter().map(|n| &**n).take(16).collect();
            Some(if shown.is_empty() { "it has none".into() } else { format!("it has: {}", shown.join(", ")) })
        })
    };
    c.error_help(NO_FIELD, name.span, format!("`{target}` has no argument `{}`", name.text), help);
    Checker::error_value(span)
}

/// `args` alone: a record of all of them.
pub fn all_arguments(c: &mut Checker<'_>, span: Span) -> Expr {
    let list = match argument_list(c, span) {
        Err(e) => return e,
        Ok(list) => list,
    };
    if list.is_empty() && !matches!(c.frame.kind, Kind::Tracepoint) {
        let message = format!("`{}` has no parameters", c.frame.name);
        return c.error_expr(NO_ARGUMENTS, span, message);
    }
    let mut known = Vec::new();
    for (name, value) in list {
        match value {
            Ok(value) => known.push((name, Expr { span, ..value })),
            Err(reason) => {
                let help = Some("name the others one by one: `args.NAME`".to_owned());
                c.error_help(NO_ARGUMENTS, span, reason, help);
                return Checker::error_value(span);
            }
        }
    }
    let ty = Type::Record(known.iter().map(|(n, e)| (n.clone(), e.ty.clone())).collect());
    c.types.complete(&ty);
    let values = known.into_iter().map(|(_, e)| e).collect();
    Expr::new(ExprKind::Tuple(values), ty, span)
}

/// All arguments by name, or the reported reason why there are none.
fn argument_list(c: &mut Checker<'_>, span: Span) -> Result<Vec<Argument>, Expr> {
    let Some(target) = c.frame.targets.first().cloned() else {
        return Err(absent::not_here(c, "args", span, None));
    };
    let result = match &target {
        Target::Tracepoint { category, event } => tracepoint_arguments(c, category, event, span),
        Target::RawTracepoint { event, module } => match c.types.facts.raw_tracepoint(module, event) {
            Some(prototype) => Ok(slots(c, &prototype.parameters, span)),
            None => Err(format!("the arguments of `{event}` are not known")),
        },
        Target::Fentry { module, function, .. } => match c.types.facts.prototype(module, function) {
            Some(prototype) => Ok(slots(c, &prototype.parameters, span)),
            None => Err(format!("the arguments of `{function}` are not known")),
        },
        Target::Kprobe { ret: false, offset: 0, module, function } if !function.is_empty() => {
            match c.types.facts.prototype(module, function) {
                Some(prototype) => Ok(by_calling_convention(c, &prototype, AddressSpace::Kernel, span)),
                None => Err(format!("the arguments of `{function}` are not in the kernel's type information")),
            }
        }
        Target::Uprobe { ret: false, path, symbol, file_offset, .. } => {
            return match c.types.facts.user_parameters(path, symbol, *file_offset) {
                Ok(parameters) => Ok(user_arguments(&mut c.types, &parameters, span)),
                Err(unknown) => {
                    let numbered = || "`arg0`, `arg1` and so on work without".to_owned();
                    let help = unknown.help.or_else(|| Some(numbered()));
                    c.error_help(NO_ARGUMENTS, span, unknown.message, help);
                    Err(Checker::error_value(span))
                }
            };
        }
        Target::Kprobe { ret: true, .. } | Target::Uprobe { ret: true, .. } => {
            let help = gone_help(c);
            return Err(absent::not_here(c, "args", span, Some(&help)));
        }
        _ => return Err(absent::not_here(c, "args", span, None)),
    };
    let known = |list: Vec<(Arc<str>, Expr)>| list.into_iter().map(|(n, e)| (n, Ok(e))).collect();
    result.map(known).map_err(|reason| {
        let help = Some("`arg0`, `arg1` and so on work without".to_owned())
            .filter(|_| matches!(target, Target::Kprobe { .. }));
        c.error_help(NO_ARGUMENTS, span, reason, help);
        Checker::error_value(span)
    })
}

fn tracepoint_arguments(
    c: &mut Checker<'_>,
    category: &str,
    event: &str,
    span: Span,
) -> Result<Vec<(Arc<str>, Expr)>, String> {
    let fields = c.types.facts.tracepoint(category, event)?;
    let space = if category == "syscalls" { AddressSpace::User } else { AddressSpace::Kernel };
    Ok(fields.iter().map(|f| (f.name.clone(), tracepoint_field(c, f, space, span))).collect())
}

fn tracepoint_field(c: &mut Checker<'_>, field: &TraceField, space: AddressSpace, span: Span) -> Expr {
    let c_type = field.c_type.trim().trim_start_matches("const ").trim();
    if field.data_loc {
        // The data's length is known only when the record is written; most are strings.
        let ty =
            if is_text(c_type) { Type::Str { size: c.config.max_strlen.min(1024) } } else { Type::Buf { size: 256 } };
        return Expr::new(ExprKind::Builtin(Builtin::DataLoc(field.offset)), ty, span);
    }
    let ty = if let Some(len) = field.array.filter(|n| *n > 0) {
        let each = (field.size / len).max(1);
        if c_type == "char" {
            Type::Str { size: field.size }
        } else {
            let of = c_named(c, c_type, each, field.signed, space);
            Type::Array { of: Arc::new(of), len }
        }
    } else {
        c_named(c, c_type, field.size, field.signed, space)
    };
    Expr::new(ExprKind::Builtin(Builtin::CtxField(field.offset)), ty, span)
}

/// A type by its C text, as far as the kernel's types know it; else an integer of that size.
fn c_named(c: &mut Checker<'_>, text: &str, size: u32, signed: bool, space: AddressSpace) -> Type {
    let text = text.replace("const ", "").replace("volatile ", "");
    let (text, user) = match text.split_once("__user") {
        Some((a, b)) => (format!("{a}{b}"), true),
        None => (text, false),
    };
    let space = if user { AddressSpace::User } else { space };
    let stars = text.matches('*').count();
    let base = text.replace('*', "");
    let base = base.trim();
    let named = if let Some(tag) = base.strip_prefix("struct ") {
        c.types.tagged(CKind::Struct, tag.trim())
    } else if let Some(tag) = base.strip_prefix("union ") {
        c.types.tagged(CKind::Union, tag.trim())
    } else if let Some(tag) = base.strip_prefix("enum ") {
        c.types.tagged(CKind::Enum, tag.trim())
    } else {
        c.types.named(base)
    };
    if stars > 0 {
        let mut ty = named.unwrap_or(Type::Void);
        for _ in 0..stars {
            ty = pointer(ty, space);
        }
        return ty;
    }
    match named {
        Some(ty) if c.size_of(&ty) == size && !matches!(ty, Type::Int { .. }) => ty,
        _ if matches!(size, 1 | 2 | 4 | 8) => Type::Int { size: size as u8, signed },
        _ => Type::Array { of: Arc::new(Type::Int { size: 1, signed: false }), len: size },
    }
}

/// Arguments in the slots of a trampoline's context: 8 bytes each, structs by value several.
fn slots(c: &mut Checker<'_>, parameters: &[CParam], span: Span) -> Vec<(Arc<str>, Expr)> {
    let mut list = Vec::new();
    let mut slot = 0_u32;
    for (i, parameter) in parameters.iter().enumerate() {
        let ty = parameter_type(&mut c.types, parameter, AddressSpace::Kernel);
        let size = c.size_of(&ty).max(1);
        let value = Expr::new(ExprKind::Builtin(Builtin::CtxField(slot * 8)), ty, span);
        slot += size.div_ceil(8);
        list.push((parameter_name(parameter, i), value));
    }
    list
}

/// Arguments in registers by the C calling convention; those on the stack are left out.
fn by_calling_convention(
    c: &mut Checker<'_>,
    prototype: &Prototype,
    space: AddressSpace,
    span: Span,
) -> Vec<(Arc<str>, Expr)> {
    let mut list = Vec::new();
    let mut register = 0_u32;
    for (i, parameter) in prototype.parameters.iter().enumerate() {
        let ty = parameter_type(&mut c.types, parameter, space);
        let registers = c.size_of(&ty).max(1).div_ceil(8);
        if registers > 2 {
            continue; // Passed on the stack.
        }
        if register + registers > 6 {
            break;
        }
        let raw = Expr::new(ExprKind::Builtin(Builtin::Arg(register as u8)), Type::U64, span);
        register += registers;
        if ty.fits_register() {
            list.push((parameter_name(parameter, i), convert_scalar(raw, &ty)));
        }
    }
    list
}

/// The arguments of a function of a user-space binary.
fn user_arguments(types: &mut TypeTable<'_>, parameters: &[UserParameter], span: Span) -> Vec<Argument> {
    let named = |p: &UserParameter, i: usize| {
        if p.name.is_empty() { Arc::from(format!("arg{i}")) } else { p.name.clone() }
    };
    parameters.iter().enumerate().map(|(i, p)| (named(p, i), user_argument(types, p, span))).collect()
}

fn user_argument(types: &mut TypeTable<'_>, parameter: &UserParameter, span: Span) -> Result<Expr, String> {
    let register = |n: u8| Expr::new(ExprKind::Builtin(Builtin::Arg(n)), Type::U64, span);
    let ty = parameter.ty.map_or(Type::U64, |id| types.import(id, AddressSpace::User));
    match parameter.place {
        ParameterPlace::Register(n) if ty == Type::Bool => {
            // Only the lowest byte of the register counts.
            let byte = convert_scalar(register(n), &Type::Int { size: 1, signed: false });
            Ok(convert_scalar(byte, &Type::Bool))
        }
        ParameterPlace::Register(n) if ty.fits_register() => Ok(convert_scalar(register(n), &ty)),
        ParameterPlace::Reference(n) => {
            let address = convert_scalar(register(n), &pointer(ty.clone(), AddressSpace::User));
            Ok(Expr::new(ExprKind::Deref(Box::new(address)), ty, span))
        }
        ParameterPlace::Register(_) => Err(format!("`{}` has a type that is not understood", parameter.name)),
        ParameterPlace::Elsewhere(reason) => {
            Err(format!("`{}` {reason}: a probe reads arguments from integer registers", parameter.name))
        }
    }
}

fn parameter_type(types: &mut TypeTable<'_>, parameter: &CParam, space: AddressSpace) -> Type {
    match parameter.ty {
        Some(id) => match types.import(id, space) {
            Type::Void => Type::U64,
            ty => ty,
        },
        None => Type::U64,
    }
}

/// `argN`.
pub fn numbered_argument(c: &mut Checker<'_>, n: u32, span: Span) -> Expr {
    match c.frame.kind {
        Kind::Kprobe | Kind::Uprobe if n < 6 => {}
        Kind::Kprobe | Kind::Uprobe => {
            c.error_help(
                NOT_IN_PROBE,
                span,
                format!("`arg{n}` is not in a register"),
                Some("arguments after the sixth are on the stack: read them from `reg(\"sp\")`".into()),
            );
            return Checker::error_value(span);
        }
        Kind::Usdt if !c.frame.absent => {
            let known = c.frame.targets.iter().map(|t| match t {
                Target::Usdt { arguments, .. } => arguments.len() as u32,
                _ => 0,
            });
            let most = known.min().unwrap_or(0);
            if n >= most {
                let message = format!("this probe has {most} arguments, so no `arg{n}`");
                return c.error_expr(NOT_IN_PROBE, span, message);
            }
        }
        Kind::Usdt => {}
        Kind::RawTracepoint | Kind::Fentry | Kind::Fexit if n < 12 => {
            return slot_argument(c, n, Type::U64, span);
        }
        Kind::Kretprobe if n < 12 && in_trampoline(c) => {
            return slot_argument(c, n, Type::U64, span);
        }
        _ => {
            let gone = gone_help(c);
            let help = match c.frame.kind {
                Kind::Tracepoint => Some("a tracepoint's arguments have names: `args.NAME`"),
                Kind::Kretprobe | Kind::Uretprobe => Some(&*gone),
                _ => None,
            };
            return absent::not_here(c, &format!("arg{n}"), span, help);
        }
    }
    // The values of static probes have signs, registers have none.
    let ty = if c.frame.kind == Kind::Usdt { Type::I64 } else { Type::U64 };
    Expr::new(ExprKind::Builtin(Builtin::Arg(n as u8)), ty, span)
}

/// Whether the body runs in a kernel function's trampoline.
pub fn in_trampoline(c: &Checker<'_>) -> bool {
    matches!(c.frame.targets.first(), Some(Target::Fentry { .. }))
}

/// Why a return has no arguments, and what to do instead.
fn gone_help(c: &Checker<'_>) -> String {
    let reason = match c.frame.targets.first().and_then(|t| trampoline::trampoline(&c.types, t)) {
        Some(Err(refusal)) => format!(" ({}, so the kernel can't keep them)", refusal.message),
        _ => String::new(),
    };
    format!("the arguments are gone when the function returns{reason}: keep them in a map at its entry")
}

/// The word of a trampoline's or raw tracepoint's context that holds an argument.
fn slot_argument(c: &mut Checker<'_>, n: u32, ty: Type, span: Span) -> Expr {
    let known = c.frame.targets.iter().filter_map(|t| match t {
        Target::Fentry { module, function, .. } => c.types.facts.prototype(module, function),
        Target::RawTracepoint { module, event } => c.types.facts.raw_tracepoint(module, event),
        _ => None,
    });
    let known: Vec<_> = known.collect();
    let words = known.iter().map(|p| p.parameters.iter().map(|p| words(&c.types, p)).sum::<u32>()).min();
    if let Some(words) = words.filter(|words| n >= *words) {
        let message = format!("`{}` has {words} arguments, so no `arg{n}`", c.frame.name);
        return c.error_expr(NOT_IN_PROBE, span, message);
    }
    let pointers: Vec<Type> = known.iter().filter_map(|p| pointer_in_slot(&mut c.types, p, n)).collect();
    let field = ExprKind::Builtin(Builtin::CtxField(n * 8));
    // What the verifier lets be loaded depends on the type that the kernel gives the argument.
    match pointers.first() {
        None => Expr::new(field, ty, span),
        Some(first) if pointers.iter().all(|p| p == first) => {
            convert_scalar(Expr::new(field, first.clone(), span), &ty)
        }
        Some(_) => convert_scalar(Expr::new(field, pointer(Type::Void, AddressSpace::Kernel), span), &ty),
    }
}

/// The type of the parameter that begins at a word, if it is a pointer.
fn pointer_in_slot(types: &mut TypeTable<'_>, prototype: &Prototype, n: u32) -> Option<Type> {
    let mut slot = 0;
    for parameter in &prototype.parameters {
        if slot == n {
            let ty = parameter_type(types, parameter, AddressSpace::Kernel);
            return matches!(ty, Type::Ptr { .. }).then_some(ty);
        }
        slot += words(types, parameter);
    }
    None
}

/// How many words a parameter takes: structs by value may take several.
fn words(types: &TypeTable<'_>, parameter: &CParam) -> u32 {
    match parameter.ty.map(|id| types.facts.c_type(id)) {
        Some(CType::Struct { size, .. }) => size.div_ceil(8).max(1),
        _ => 1,
    }
}

/// `sargN`.
pub fn stack_argument(c: &mut Checker<'_>, n: u32, span: Span) -> Expr {
    match c.frame.kind {
        Kind::Kprobe | Kind::Uprobe => {
            Expr::new(ExprKind::Builtin(Builtin::StackArg(n.min(255) as u8)), Type::U64, span)
        }
        _ => absent::not_here(c, &format!("sarg{n}"), span, None),
    }
}

pub fn retval(c: &mut Checker<'_>, span: Span) -> Expr {
    let raw = Expr::new(ExprKind::Builtin(Builtin::Retval), Type::U64, span);
    match (c.frame.kind, c.frame.targets.first().cloned()) {
        (Kind::Kretprobe | Kind::Uretprobe, _) => raw,
        (Kind::Fexit, Some(Target::Fentry { module, function, .. })) => {
            let prototype = c.types.facts.prototype(&module, &function);
            let result = prototype.and_then(|p| p.result).map(|id| c.types.import(id, AddressSpace::Kernel));
            match result {
                Some(ty) if ty.fits_register() => convert_scalar(raw, &ty),
                Some(_) => raw,
                None => c.error_expr(NOT_IN_PROBE, span, format!("`{function}` returns nothing")),
            }
        }
        // What a system call returned is a field of the tracepoint at its end.
        (Kind::Tracepoint, _) => absent::not_here(c, "retval", span, None),
        _ => absent::not_here(c, "retval", span, Some("kretprobe, uretprobe and fexit probes have it")),
    }
}

/// `ctx`.
pub fn context(c: &mut Checker<'_>, span: Span) -> Expr {
    let name = match c.frame.targets.first() {
        Some(Target::Kprobe { .. } | Target::Uprobe { .. } | Target::Usdt { .. }) => "pt_regs".to_owned(),
        Some(
            Target::Profile { .. } | Target::Interval { .. } | Target::PerfEvent { .. } | Target::Watchpoint { .. },
        ) => "bpf_perf_event_data".to_owned(),
        Some(Target::Iter { kind, .. }) => format!("bpf_iter__{kind}"),
        Some(Target::Tracepoint { event, .. }) => format!("trace_event_raw_{event}"),
        None => String::new(),
        Some(_) => return absent::not_here(c, "ctx", span, None),
    };
    let ty = match name.as_str() {
        "" => pointer(Type::Void, AddressSpace::Context),
        name => space::kernel_pointer(&mut c.types, name, AddressSpace::Context),
    };
    Expr::new(ExprKind::Builtin(Builtin::Ctx), ty, span)
}

fn is_text(c_type: &str) -> bool {
    let base = c_type.trim_end_matches("[]").trim();
    base == "char" || base.ends_with(" char") && !base.contains("unsigned")
}

fn parameter_name(parameter: &CParam, index: usize) -> Arc<str> {
    if parameter.name.is_empty() { format!("arg{index}").into() } else { parameter.name.clone() }
}
