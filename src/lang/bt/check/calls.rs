//! Calls: one table of functions with their argument counts, and the map functions.

mod compile;
pub mod context;
pub mod intrinsic;
pub mod map;
mod output;
mod text;

use crate::lang::bt::ast;
use crate::lang::bt::builtins::argument_number;
use crate::lang::codes::check::{ARGUMENT_COUNT, ARGUMENT_TYPE, NEEDS_LITERAL, NEEDS_UNSAFE, UNKNOWN_FUNCTION};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;

use crate::lang::bt::check::calls::intrinsic::Call;
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::{args, builtins, coerce, suggest, type_text};

type Handler = fn(&mut Checker<'_>, Call<'_>) -> Expr;

/// A function of the language.
pub struct FunctionInfo {
    pub name: &'static str,
    /// Fewest arguments.
    pub min: usize,
    /// Most arguments.
    pub max: usize,
    handler: Handler,
}

const fn f(name: &'static str, min: usize, max: usize, handler: Handler) -> FunctionInfo {
    FunctionInfo { name, min, max, handler }
}

/// Most arguments of `printf` beside its format.
const MAX_PRINTF: usize = 128;

/// All functions but the map functions that only stand on the right of `@m =`.
const FUNCTIONS: &[FunctionInfo] = &[
    f("printf", 1, MAX_PRINTF, output::printf),
    f("errorf", 1, MAX_PRINTF, output::errorf),
    f("warnf", 1, MAX_PRINTF, output::warnf),
    f("debugf", 1, 4, output::debugf),
    f("print", 1, 3, output::print),
    f("lens", 1, 1, output::lens),
    f("clear", 1, 1, output::clear),
    f("zero", 1, 1, output::zero),
    f("exit", 0, 1, output::exit),
    f("time", 0, 1, output::time),
    f("join", 1, 2, output::join),
    f("cat", 1, MAX_PRINTF, output::cat),
    f("system", 1, MAX_PRINTF, output::system),
    f("skboutput", 4, 4, output::skboutput),
    f("delete", 1, 16, map::delete),
    f("has_key", 2, 2, map::has_key),
    f("find", 3, 3, map::find),
    f("len", 1, 1, map::len),
    f("str", 1, 2, text::str_),
    f("buf", 1, 2, text::buf),
    f("path", 1, 2, text::path),
    f("strlen", 1, 1, text::strlen),
    f("strcap", 1, 1, text::strcap),
    f("strstr", 2, 2, text::strstr),
    f("strcontains", 2, 2, text::strcontains),
    f("str_concat", 2, 2, text::concat),
    f("strncmp", 3, 3, text::strncmp),
    f("memcmp", 3, 3, text::memcmp),
    f("strerror", 1, 1, text::strerror),
    f("signal_name", 1, 1, text::signal_name),
    f("syscall_name", 1, 1, text::syscall_name),
    f("strftime", 2, 2, text::strftime),
    f("ntop", 1, 2, text::ntop),
    f("pton", 1, 1, text::pton),
    f("macaddr", 1, 1, text::macaddr),
    f("kstack", 0, 2, context::kstack),
    f("ustack", 0, 2, context::ustack),
    f("dw_ustack", 0, 2, context::dw_ustack),
    f("ksym", 1, 1, context::ksym),
    f("usym", 1, 1, context::usym),
    f("kaddr", 1, 1, context::kaddr),
    f("uaddr", 1, 1, context::uaddr),
    f("percpu_kaddr", 1, 2, context::percpu_kaddr),
    f("cgroupid", 1, 1, context::cgroupid),
    f("cgroup_path", 1, 2, context::cgroup_path),
    f("reg", 1, 1, context::reg),
    f("bswap", 1, 1, context::bswap),
    f("nsecs", 0, 1, context::nsecs),
    f("pid", 0, 1, context::pid),
    f("tid", 0, 1, context::tid),
    f("comm", 0, 1, context::comm),
    f("pcomm", 0, 1, context::pcomm),
    f("ppid", 0, 1, context::ppid),
    f("signal", 1, 1, context::signal),
    f("signal_thread", 1, 1, context::signal_thread),
    f("override", 1, 1, context::override_),
    f("write_user", 3, 3, context::write_user),
    f("socket_cookie", 1, 1, context::socket_cookie),
    f("__keep_in_session", 1, 1, context::keep_in_session),
    f("unwatch", 1, 1, context::unwatch),
    f("cmdline", 2, 2, text::cmdline),
    f("kptr", 1, 1, compile::kptr),
    f("uptr", 1, 1, compile::uptr),
    f("assert", 1, 2, compile::assert),
    f("static_assert", 1, 2, compile::static_assert),
    f("fail", 1, 1, compile::fail),
    f("is_ptr", 1, 1, compile::is_ptr),
    f("is_str", 1, 1, compile::is_str),
    f("is_integer", 1, 1, compile::is_integer),
    f("is_unsigned_integer", 1, 1, compile::is_unsigned),
    f("is_array", 1, 1, compile::is_array),
    f("is_literal", 1, 1, compile::is_literal),
    f("is_scalar", 1, 1, compile::is_scalar),
    f("is_err", 1, 1, compile::is_err),
    f("kfunc_exist", 1, 1, compile::kfunc_exist),
    f("kfunc_allowed", 1, 1, compile::kfunc_allowed),
    f("container_of", 3, 3, compile::container_of),
];

/// Functions that only a map can hold, with fewest and most arguments.
pub const AGGREGATIONS: &[(&str, usize, usize)] = &[
    ("count", 0, 0),
    ("sum", 1, 1),
    ("min", 1, 1),
    ("max", 1, 1),
    ("avg", 1, 1),
    ("stats", 1, 1),
    ("hist", 1, 2),
    ("lhist", 4, 4),
    ("tseries", 3, 4),
];

pub fn find(name: &str) -> Option<&'static FunctionInfo> {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// All names of functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.name).chain(AGGREGATIONS.iter().map(|a| a.0))
}

impl Checker<'_> {
    /// `name(args)`.
    pub fn call(&mut self, name: &ast::Name, args: &[ast::Expr], span: Span) -> Expr {
        let call = Call { name, args, span };
        if let Some(index) = self.functions.iter().position(|f| f.name == name.text) {
            return call_user(self, index, call);
        }
        if let Some(info) = find(&name.text) {
            if !check_count(self, call, info.min, info.max) {
                return Self::error_value(span);
            }
            return (info.handler)(self, call);
        }
        if args.is_empty() {
            // Builtin variables may be written as calls.
            if let Some(info) = builtins::find(&name.text) {
                return builtins::builtin_value(self, info, span);
            }
            if let Some(n) = argument_number(&name.text, "arg") {
                return args::numbered_argument(self, n, span);
            }
        }
        if AGGREGATIONS.iter().any(|a| a.0 == &*name.text) {
            for arg in args {
                let _ = self.value(arg);
            }
            self.error_help(
                crate::lang::codes::check::AGGREGATION,
                span,
                format!("{}() must be assigned directly to a map", name.text),
                Some(format!("write `@name = {}(...);`", name.text)),
            );
            return Self::error_value(span);
        }
        for arg in args {
            let _ = self.expr(arg);
        }
        let builtins = builtins::BUILTINS.iter().map(|b| b.name);
        let help = self.help(|c| {
            suggest::did_you_mean(&name.text, c.functions.iter().map(|f| &*f.name))
                .or_else(|| suggest::of_other_languages(&name.text))
                .or_else(|| suggest::did_you_mean(&name.text, names().chain(builtins)))
        });
        self.error_help(UNKNOWN_FUNCTION, span, format!("Unknown function: '{}'", name.text), help);
        Self::error_value(span)
    }
}

pub fn check_count(c: &mut Checker<'_>, call: Call<'_>, min: usize, max: usize) -> bool {
    let n = call.args.len();
    if (min..=max).contains(&n) {
        return true;
    }
    for arg in call.args {
        let _ = c.expr(arg);
    }
    let arguments = |count: usize| match count {
        0 => "no arguments".to_owned(),
        1 => "one argument".to_owned(),
        n => format!("{n} arguments"),
    };
    let wanted = if min == max {
        format!("requires {}", arguments(min))
    } else if n < min {
        format!("requires at least {}", arguments(min))
    } else {
        format!("takes up to {}", arguments(max))
    };
    let help = crate::lang::bt::builtins::function(&call.name.text).map(|b| b.signature.to_owned());
    c.error_help(ARGUMENT_COUNT, call.span, format!("{}() {wanted} ({n} provided)", call.name.text), help);
    false
}

/// A call of the script's own function.
fn call_user(c: &mut Checker<'_>, index: usize, call: Call<'_>) -> Expr {
    let signature = &c.functions[index];
    let (types, result) = (signature.parameters.clone(), signature.result.clone());
    if !check_count(c, call, types.len(), types.len()) {
        return Checker::error_value(call.span);
    }
    let mut args = Vec::new();
    for (arg, ty) in call.args.iter().zip(&types) {
        let value = c.value(arg);
        let name = call.name.text.clone();
        args.push(coerce::coerce_or_report(c, value, ty, |from, to| {
            format!("`{name}` takes {to} here, this is {from}")
        }));
    }
    let id = crate::lang::typed::FunctionId(index as u32);
    Expr::new(ExprKind::CallUser(id, args), result, call.span)
}

/// An argument as an integer of 8 bytes.
pub fn integer_argument(c: &mut Checker<'_>, call: Call<'_>, n: usize) -> Expr {
    let Some(arg) = call.args.get(n) else { return Checker::error_value(call.span) };
    let value = c.value(arg);
    let text = match &*call.name.text {
        "sum" | "min" | "max" | "avg" | "stats" => {
            format!("integer arguments ({}", type_text::inferred(&c.types, &value.ty))
        }
        _ => format!("int arguments ({}", type_text::kind(&c.types, &value.ty)),
    };
    match coerce::integer(value) {
        Some(value) => value,
        None => {
            let message = format!("{}() only supports {text} provided)", call.name.text);
            c.error_expr(ARGUMENT_TYPE, call.span, message)
        }
    }
}

/// An argument that must be a constant integer.
pub fn literal_argument(c: &mut Checker<'_>, call: Call<'_>, n: usize) -> Option<i64> {
    let arg = call.args.get(n)?;
    let value = c.value(arg);
    if matches!(value.ty, Type::Error) {
        return None;
    }
    match value.as_int() {
        Some(v) => Some(v as i64),
        None => {
            let message = format!("`{}` needs a number here that is known before the script runs", call.name.text);
            c.error(NEEDS_LITERAL, arg.span, message);
            None
        }
    }
}

/// An argument that must be a string constant.
pub fn string_argument(c: &mut Checker<'_>, call: Call<'_>, n: usize) -> Option<std::sync::Arc<str>> {
    let arg = call.args.get(n)?;
    if let ast::ExprKind::Str(s) = &arg.kind {
        return Some(s.clone());
    }
    let value = c.value(arg);
    match value.kind {
        ExprKind::Str(s) => Some(s),
        _ if matches!(value.ty, Type::Error) => None,
        _ => {
            let text = type_text::kind(&c.types, &value.ty);
            let message = format!("{}() expects a string literal ({text} provided)", call.name.text);
            c.error(NEEDS_LITERAL, call.span, message);
            None
        }
    }
}

pub fn needs_unsafe(c: &mut Checker<'_>, call: Call<'_>) {
    if !c.options.unsafe_allowed {
        c.error_help(
            NEEDS_UNSAFE,
            call.span,
            match &*call.name.text {
                "write_user" => "write_user() is unsafe. To use you need the --unsafe flag".to_owned(),
                name => format!("{name}() is an unsafe function being used in safe mode"),
            },
            Some("start with `--unsafe`".into()),
        );
    }
}
