//! Statements: actions that record, and what is kept for the clause's report.

mod aggregated;
mod format;
pub mod speculation;

use super::checker::Checker;
use super::code::{cast, effect, int};
use super::prototypes::{Class, Function, function};
use super::value::{Value, decay, is_int, is_scalar, is_text, word};
use super::{calls, prototypes, recording, scratch, strings};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement};
use crate::lang::types::Type;
use crate::model::bytes;
use crate::model::d::{Item, Piece, Setting};

/// Actions that change the traced system.
const DESTRUCTIVE: &[&str] =
    &["system", "raise", "freopen", "breakpoint", "chill", "panic", "stop", "copyout", "copyoutstr"];

/// Actions on aggregations.
const OF_AGGREGATIONS: &[&str] = &["printa", "clear", "trunc", "normalize", "denormalize"];

/// Most bytes that `tracemem` records.
const MOST_TRACED: u64 = 4096;

/// What `stop` sends.
const SIGSTOP: i64 = 19;

/// Whether an expression does something and has no value: an action, or one more for an aggregation.
fn is_no_value(e: &Ast) -> bool {
    match &e.kind {
        Kind::Call(callee, _) => {
            matches!(&callee.kind, Kind::Ident(name) if function(name).is_some_and(|f| f.class == Class::Action))
        }
        Kind::Assign(_, to, _) => super::members::is_of_aggregation(to),
        Kind::Conditional(_, yes, no) => is_no_value(yes) || is_no_value(no),
        _ => false,
    }
}

impl Checker<'_> {
    /// One statement of a clause.
    pub fn statement(&mut self, e: &Ast, out: &mut Vec<Statement>) {
        let span = e.span;
        if let Kind::Call(callee, items) = &e.kind
            && let Kind::Ident(name) = &callee.kind
            && let Some(f) =
                function(name).filter(|f| f.class == Class::Action || matches!(f.name, "copyout" | "copyoutstr"))
        {
            if prototypes::count_arguments(self, f, items.len(), span) {
                action_call(self, f, items, span, out);
            }
            return;
        }
        if let Kind::Conditional(condition, yes, no) = &e.kind
            && (is_no_value(yes) || is_no_value(no))
            && let Some(known) = self.constant(condition)
        {
            self.statement(if known != 0 { yes } else { no }, out);
            return;
        }
        if let Kind::Aggregation(name) = &e.kind {
            let known = self.variables.aggregates.contains_key(name);
            let (tag, why) = if known {
                (tags::D_AGG_NULL, "does not have an aggregating action")
            } else {
                (tags::D_IDENT_UNDEF, "is an unknown aggregation")
            };
            self.error(tag, span, format!("{name} {why}"));
            return;
        }
        if let Kind::Index(base, _) = &e.kind
            && let Kind::Aggregation(name) = &base.kind
        {
            self.error(tags::D_AGG_NULL, span, format!("{name} does not have an aggregating action"));
            return;
        }
        let value = self.expr(e);
        if value.is_error() {
            return;
        }
        if matches!(value.ty(), Type::KSym | Type::USym) {
            recording::keep_item(self, value, out);
            return;
        }
        if matches!(value.e.kind, ExprKind::Int(_) | ExprKind::Local(_)) {
            return;
        }
        out.push(effect(value.e));
    }
}

fn action_call(c: &mut Checker<'_>, f: &'static Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    if c.frame.speculates && f.name == "exit" {
        return c.error(tags::D_EXIT_SPEC, span, "exit( ) may not follow speculate( )");
    }
    if c.frame.speculates && (DESTRUCTIVE.contains(&f.name) || OF_AGGREGATIONS.contains(&f.name)) {
        return c.error(tags::D_ACT_SPEC, span, format!("{}( ) may not be used in a speculation", f.name));
    }
    match f.name {
        "exit" => exit(c, f, items, span, out),
        "trace" => trace(c, items, span, out),
        "printf" => format::printf(c, items, span, out),
        "printa" => aggregated::printa(c, items, span),
        "stack" | "ustack" | "jstack" => {
            let value = calls::stack(c, f.name, items, span);
            recording::keep_item(c, value, out);
        }
        "clear" | "trunc" | "normalize" | "denormalize" => aggregated::change(c, f, items, span, out),
        "speculate" | "commit" | "discard" => speculation::speculation(c, f, items, span, out),
        "raise" => raise(c, f, items, span, out),
        "stop" => {
            if is_destructive(c, span, "stop") {
                signal(c, int(SIGSTOP, Type::U32, span), span, out);
            }
        }
        "copyout" | "copyoutstr" => {
            let Some(arguments) = prototypes::arguments(c, f, items) else { return };
            if is_destructive(c, span, f.name)
                && let Some(statements) = scratch::copyout(c, f.name == "copyoutstr", arguments, span)
            {
                out.extend(statements);
            }
        }
        "setopt" => set_option(c, items, span, out),
        "tracemem" => tracemem(c, items, out),
        "print" => print(c, items, span),
        "freopen" | "system" => with_the_reader(c, f.name, items, span, out),
        _ => {
            if prototypes::arguments(c, f, items).is_some() {
                c.unsupported(span, &format!("{}( )", f.name));
            }
        }
    }
}

fn exit(c: &mut Checker<'_>, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let value = c.expr(&items[0]);
    if value.is_error() {
        return;
    }
    if !is_int(value.ty()) {
        let text = c.type_text(value.ty());
        let message = format!("{}( ) argument #1 is incompatible with prototype: int is expected, not {text}", f.name);
        return c.error(tags::D_PROTO_ARG, span, message);
    }
    recording::records(c, span, true);
    c.frame.items.push(Item::Nothing);
    let code = cast(cast(value.e, &Type::I32), &Type::I64);
    let kept = c.kept(code, out);
    c.frame.exit = Some(kept);
}

fn trace(c: &mut Checker<'_>, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    if let Kind::Aggregation(_) = items[0].kind {
        return c.error(tags::D_TRACE_DYN, span, "trace( ) may not be applied to an aggregation");
    }
    let value = c.expr(&items[0]);
    match value.ty() {
        Type::Error => {}
        Type::Void => c.error(tags::D_TRACE_VOID, span, "trace( ) may not be applied to a void expression"),
        Type::Struct(_) | Type::Array { .. } => {
            let size = c.size_of(value.ty());
            let bytes = ExprKind::Call(crate::lang::typed::Intrinsic::Buf, vec![value.e]);
            recording::keep_item(c, Value::new(Expr::new(bytes, Type::Buf { size }, span)), out);
        }
        Type::FuncName | Type::Str { .. } => {
            let e = c.text(value.e);
            recording::keep_item(c, Value::new(e), out);
        }
        Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::Inet => {
            recording::keep_item(c, value, out);
        }
        ty if is_scalar(ty) => {
            let e = if matches!(ty, Type::Ptr { .. }) { cast(value.e, &Type::U64) } else { value.e };
            recording::keep_item(c, Value::new(e), out);
        }
        _ => c.error(tags::D_TRACE_DYN, span, "trace( ) may not be applied to a dynamic expression"),
    }
}

fn tracemem(c: &mut Checker<'_>, items: &[Ast], out: &mut Vec<Statement>) {
    let at = c.expr(&items[0]);
    if !at.is_error() && !is_scalar(at.ty()) && !matches!(at.ty(), Type::Array { .. } | Type::Str { .. }) {
        return c.error(
            tags::D_TRACEMEM_ADDR,
            items[0].span,
            "tracemem( ) argument #1 must be a pointer or integer type",
        );
    }
    let size = c.expr(&items[1]);
    if !size.is_error() && !is_int(size.ty()) {
        return prototypes::mismatch(c, "tracemem( )", 2, "size_t", &size, items[1].span);
    }
    if !size.is_error() && size.e.as_int().is_none_or(|n| n == 0 || n > i32::MAX as u64) {
        let message = "tracemem( ) argument #2 must be a non-zero positive integral constant expression";
        return c.error(tags::D_TRACEMEM_SIZE, items[1].span, message);
    }
    let mut length = None;
    if let Some(item) = items.get(2) {
        let size = c.expr(item);
        if !size.is_error() && !is_int(size.ty()) {
            return c.error(tags::D_TRACEMEM_DYNSIZE, item.span, "tracemem( ) argument #3 must be an integer");
        }
        length = Some(cast(word(size.e), &Type::U64));
    }
    let Some(bytes) = size.e.as_int().filter(|_| !at.is_error()) else { return };
    if bytes > MOST_TRACED {
        let message = format!("tracemem( ) of {bytes} bytes: at most {MOST_TRACED} can be recorded");
        return c.error(tags::D_TRACEMEM_SIZE, items[1].span, message);
    }
    let at = match at.ty() {
        Type::Array { .. } => decay(at),
        Type::Str { .. } => scratch::address_of_bytes(c, at, out),
        _ => word(at.e),
    };
    let bytes = strings::bytes_at(c, at, bytes as u32, length);
    recording::keep_item(c, Value::new(bytes), out);
}

/// Says so where the program may not change the traced system.
fn is_destructive(c: &mut Checker<'_>, span: Span, name: &str) -> bool {
    if !c.options.destructive {
        let (leave, help) = if c.options.by_flag_alone {
            ("--unsafe", "start it with `--unsafe` once you trust it: a program's own pragma is no leave to act")
        } else {
            ("-w or `#pragma D option destructive`", "start it with `-w`")
        };
        let message = format!("{name}( ): destructive actions are not allowed without {leave}");
        c.error_with_help(tags::D_DESTRUCTIVE, span, message, help);
    }
    c.options.destructive
}

/// `print(pointer)`, which is only checked.
fn print(c: &mut Checker<'_>, items: &[Ast], span: Span) {
    let value = c.expr(&items[0]);
    match value.ty() {
        Type::Error => {}
        Type::Ptr { to, .. } if **to == Type::Void => {
            let message = "print( ) argument #1 has type pointer to void: its size is not known";
            c.error(tags::D_PRINT_SIZE, span, message);
        }
        Type::Ptr { to, .. } if c.size_of(to) == 0 => {
            c.error(tags::D_PRINT_SIZE, span, "print( ) argument #1 has a type of no size");
        }
        Type::Ptr { .. } => c.unsupported(span, "print( )"),
        _ => {
            let message = "print( ) argument #1 is incompatible with prototype: a pointer is expected";
            c.error(tags::D_PROTO_ARG, span, message);
        }
    }
}

/// `system(format, ...)` and `freopen(format, ...)`: done when the record is printed.
fn with_the_reader(c: &mut Checker<'_>, name: &str, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let Kind::Str(text) = &items[0].kind else {
        return c.error(tags::D_PROTO_ARG, items[0].span, format!("{name}( ) takes a format"));
    };
    let text = bytes::hold(text, None);
    let Some((format, values)) = format::format(c, name, &text, &items[1..], span) else { return };
    if name == "freopen" && format.pieces == [Piece::Literal(".".into())] {
        return c.error(tags::D_FREOPEN_INVALID, span, "freopen( ) argument #1 cannot be \".\"");
    }
    if !is_destructive(c, span, name) {
        return;
    }
    recording::records(c, span, true);
    let first = c.frame.values.len() + 1;
    for value in values {
        recording::keep(c, value, out);
    }
    let format = std::sync::Arc::new(format);
    let reopens = name == "freopen";
    c.frame.items.push(if reopens { Item::Reopen { format, first } } else { Item::System { format, first } });
}

/// `setopt(name[, value])`: an option of the output, from this record on.
fn set_option(c: &mut Checker<'_>, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let constant = |e: &Ast| match &e.kind {
        Kind::Str(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let Some(name) = constant(&items[0]) else {
        let message = "setopt( ) argument #1 must be a string constant";
        return c.error(tags::D_PROTO_ARG, items[0].span, message);
    };
    let value = match items.get(1).map(|item| (item, constant(item))) {
        Some((_, Some(text))) => Some(Setting::Constant(text.into())),
        Some((item, None)) => {
            let value = c.expr(item);
            if value.is_error() {
                return;
            }
            if !is_text(value.ty()) {
                let message = "setopt( ) argument #2 is incompatible with prototype: string is expected";
                return c.error(tags::D_PROTO_ARG, item.span, message);
            }
            let text = c.text(value.e);
            Some(Setting::Value(recording::keep(c, text, out)))
        }
        None => None,
    };
    recording::records(c, span, false);
    c.frame.items.push(Item::SetOption { name: name.into(), value });
}

/// `raise(signal)`: to the process that runs.
fn raise(c: &mut Checker<'_>, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let Some(mut arguments) = prototypes::arguments(c, f, items) else { return };
    if !is_destructive(c, span, "raise") {
        return;
    }
    let number = cast(arguments.remove(0).e, &Type::U32);
    signal(c, number, span, out);
}

fn signal(c: &mut Checker<'_>, number: Expr, span: Span, out: &mut Vec<Statement>) {
    recording::records(c, span, false);
    c.frame.items.push(Item::Nothing);
    let call = ExprKind::Call(crate::lang::typed::Intrinsic::Signal, vec![number]);
    out.push(effect(Expr::new(call, Type::I64, span)));
}
