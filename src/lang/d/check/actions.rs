//! Statements: actions that record, and what is kept for the clause's report.

mod aggregated;
mod format;
mod speculation;

use super::calls::{Class, Function, function};
use super::value::{Value, cast, int, is_int, is_scalar, is_text};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::bytes;
use crate::model::d::{Format, Item, Piece, Setting};

/// Actions that change the traced system.
const DESTRUCTIVE: &[&str] =
    &["system", "raise", "freopen", "breakpoint", "chill", "panic", "stop", "copyout", "copyoutstr"];

/// Most bytes that `tracemem` records.
const MOST_TRACED: u64 = 4096;

/// What `stop` sends.
const SIGSTOP: i64 = 19;

/// Values of a record that stay on the stack or in registers.
const ON_THE_STACK: usize = 8;

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
            if self.count_arguments(f, items.len(), span) {
                self.action_call(f, items, span, out);
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
            self.keep_item(value, out);
            return;
        }
        if matches!(value.e.kind, ExprKind::Int(_) | ExprKind::Local(_)) {
            return;
        }
        out.push(statement(StatementKind::Expr(value.e), span));
    }

    /// Notes that the clause records something.
    fn records(&mut self, span: Span, data: bool) {
        if data && self.frame.commits {
            self.error(tags::D_DREC_COMM, span, "data-recording action may not follow commit( )");
        }
        self.frame.records = true;
    }

    /// Evaluates a value now, for the report at the clause's end; its index there.
    fn keep(&mut self, e: Expr, out: &mut Vec<Statement>) -> usize {
        // Before the values stand the processor and the probe's number.
        let index = self.frame.values.len() + 1;
        let (statements, kept) = match e.kind {
            ExprKind::Call(_, ref items) if items.is_empty() => (Vec::new(), e),
            ExprKind::Int(_) | ExprKind::Str(_) => (Vec::new(), e),
            _ if index > ON_THE_STACK && e.ty.fits_register() => self.set_aside(e),
            _ => self.kept(e),
        };
        out.extend(statements);
        self.frame.values.push(kept);
        index
    }

    /// Keeps a value in memory: the stack of a program has room for some.
    fn set_aside(&mut self, e: Expr) -> (Vec<Statement>, Expr) {
        let span = e.span;
        let known = self.frame.recorded;
        // How many bytes there are is known when the program is whole.
        let local = known.unwrap_or_else(|| self.local("%recorded", Type::Void));
        self.frame.recorded = Some(local);
        let (used, most) = self.frame.recorded_bytes;
        self.frame.recorded_bytes = (used + 8, most.max(used + 8));
        let place = ExprKind::Within { local, offset: Box::new(int(i64::from(used), Type::U64, span)) };
        let place = Expr::new(place, e.ty.clone(), span);
        (vec![statement(StatementKind::Store { place: place.clone(), value: e }, span)], place)
    }

    /// Gives the memory of recorded values its size.
    pub fn size_of_recorded(&mut self) {
        if let Some(local) = self.frame.recorded {
            let half = self.frame.recorded_bytes.1.next_power_of_two().max(64);
            self.frame.locals[local.0 as usize].ty =
                Type::Array { of: std::sync::Arc::new(super::paths::BYTE), len: half * 2 };
        }
    }

    fn keep_item(&mut self, value: Value, out: &mut Vec<Statement>) {
        self.records(value.span(), true);
        let symbol = matches!(value.ty(), Type::KSym | Type::USym);
        let index = self.keep(value.e, out);
        self.frame.items.push(if symbol { Item::Symbol(index) } else { Item::Trace(index) });
    }

    fn action_call(&mut self, f: &'static Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        if self.frame.speculates {
            if f.name == "exit" {
                self.error(tags::D_EXIT_SPEC, span, "exit( ) may not follow speculate( )");
                return;
            }
            if DESTRUCTIVE.contains(&f.name)
                || matches!(f.name, "printa" | "clear" | "trunc" | "normalize" | "denormalize")
            {
                self.error(tags::D_ACT_SPEC, span, format!("{}( ) may not be used in a speculation", f.name));
                return;
            }
        }
        match f.name {
            "exit" => self.exit(f, items, span, out),
            "trace" => self.trace(items, span, out),
            "printf" => self.printf(items, span, out),
            "printa" => self.printa(items, span),
            "stack" | "ustack" | "jstack" => {
                let value = self.stack(f.name, items, span);
                self.keep_item(value, out);
            }
            "clear" | "trunc" | "normalize" | "denormalize" => self.change(f, items, span, out),
            "speculate" | "commit" | "discard" => self.speculation(f, items, span, out),
            "raise" => self.raise(f, items, span, out),
            "stop" => {
                if self.is_destructive(span, "stop") {
                    self.signal(int(SIGSTOP, Type::U32, span), span, out);
                }
            }
            "copyout" | "copyoutstr" => {
                let Some(arguments) = self.arguments(f, items) else { return };
                if self.is_destructive(span, f.name)
                    && let Some(statements) = self.copyout(f.name == "copyoutstr", arguments, span)
                {
                    out.extend(statements);
                }
            }
            "setopt" => self.set_option(items, span, out),
            "tracemem" => self.tracemem(items, out),
            "print" => {
                let value = self.expr(&items[0]);
                if value.is_error() {
                    return;
                }
                if !is_scalar(value.ty()) || !matches!(value.ty(), Type::Ptr { .. }) {
                    let message = "print( ) argument #1 is incompatible with prototype: a pointer is expected";
                    self.error(tags::D_PROTO_ARG, span, message);
                    return;
                }
                if matches!(value.ty(), Type::Ptr { to, .. } if **to == Type::Void) {
                    self.error(
                        tags::D_PRINT_SIZE,
                        span,
                        "print( ) argument #1 has type pointer to void: its size is not known",
                    );
                    return;
                }
                if matches!(value.ty(), Type::Ptr { to, .. } if self.size_of(to) == 0) {
                    self.error(tags::D_PRINT_SIZE, span, "print( ) argument #1 has a type of no size");
                    return;
                }
                self.unsupported(span, "print( )");
            }
            "freopen" | "system" => {
                let Kind::Str(text) = &items[0].kind else {
                    self.error(tags::D_PROTO_ARG, items[0].span, format!("{}( ) takes a format", f.name));
                    return;
                };
                let text = bytes::hold(text, None);
                let Some((format, values)) = self.format(f.name, &text, &items[1..], span, out) else { return };
                if f.name == "freopen" && format.pieces == [Piece::Literal(".".into())] {
                    self.error(tags::D_FREOPEN_INVALID, span, "freopen( ) argument #1 cannot be \".\"");
                    return;
                }
                self.with_the_reader(f.name, format, values, span, out);
            }
            _ => {
                if self.arguments(f, items).is_some() {
                    self.unsupported(span, &format!("{}( )", f.name));
                }
            }
        }
    }

    fn exit(&mut self, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let value = self.expr(&items[0]);
        if value.is_error() {
            return;
        }
        if !is_int(value.ty()) {
            let text = self.type_text(value.ty());
            let message =
                format!("{}( ) argument #1 is incompatible with prototype: int is expected, not {text}", f.name);
            self.error(tags::D_PROTO_ARG, span, message);
            return;
        }
        self.records(span, true);
        self.frame.items.push(Item::Nothing);
        let code = cast(cast(value.e, &Type::I32), &Type::I64);
        let (statements, kept) = self.kept(code);
        out.extend(statements);
        self.frame.exit = Some(kept);
    }

    fn trace(&mut self, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        if let Kind::Aggregation(_) = items[0].kind {
            self.error(tags::D_TRACE_DYN, span, "trace( ) may not be applied to an aggregation");
            return;
        }
        let value = self.expr(&items[0]);
        match value.ty() {
            Type::Error => {}
            Type::Void => self.error(tags::D_TRACE_VOID, span, "trace( ) may not be applied to a void expression"),
            Type::Struct(_) | Type::Array { .. } => {
                let size = self.size_of(value.ty());
                let bytes = ExprKind::Call(crate::lang::typed::Intrinsic::Buf, vec![value.e]);
                self.keep_item(Value::new(Expr::new(bytes, Type::Buf { size }, span)), out);
            }
            Type::FuncName | Type::Str { .. } => {
                let e = self.text(value.e);
                self.keep_item(Value::new(e), out);
            }
            Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::Inet => {
                self.keep_item(value, out);
            }
            ty if is_scalar(ty) => {
                let e = if matches!(ty, Type::Ptr { .. }) { cast(value.e, &Type::U64) } else { value.e };
                self.keep_item(Value::new(e), out);
            }
            _ => self.error(tags::D_TRACE_DYN, span, "trace( ) may not be applied to a dynamic expression"),
        }
    }

    fn tracemem(&mut self, items: &[Ast], out: &mut Vec<Statement>) {
        let at = self.expr(&items[0]);
        if !at.is_error() && !is_scalar(at.ty()) && !matches!(at.ty(), Type::Array { .. } | Type::Str { .. }) {
            self.error(
                tags::D_TRACEMEM_ADDR,
                items[0].span,
                "tracemem( ) argument #1 must be a pointer or integer type",
            );
            return;
        }
        let size = self.expr(&items[1]);
        if !size.is_error() && !is_int(size.ty()) {
            let text = self.type_text(size.ty());
            let message = format!(
                "tracemem( ) argument #2 is incompatible with prototype:\n\tprototype: size_t\n\t argument: {text}"
            );
            self.error(tags::D_PROTO_ARG, items[1].span, message);
            return;
        }
        if !size.is_error() && size.e.as_int().is_none_or(|n| n == 0 || n > i32::MAX as u64) {
            let message = "tracemem( ) argument #2 must be a non-zero positive integral constant expression";
            self.error(tags::D_TRACEMEM_SIZE, items[1].span, message);
            return;
        }
        let mut length = None;
        if let Some(item) = items.get(2) {
            let size = self.expr(item);
            if !size.is_error() && !is_int(size.ty()) {
                self.error(tags::D_TRACEMEM_DYNSIZE, item.span, "tracemem( ) argument #3 must be an integer");
                return;
            }
            length = Some(cast(self.word(size.e), &Type::U64));
        }
        let Some(bytes) = size.e.as_int().filter(|_| !at.is_error()) else { return };
        if bytes > MOST_TRACED {
            let message = format!("tracemem( ) of {bytes} bytes: at most {MOST_TRACED} can be recorded");
            self.error(tags::D_TRACEMEM_SIZE, items[1].span, message);
            return;
        }
        let at = match at.ty() {
            Type::Array { .. } => self.decay(at),
            Type::Str { .. } => self.address_of_bytes(at, out),
            _ => self.word(at.e),
        };
        let bytes = self.bytes_at(at, bytes as u32, length);
        self.keep_item(Value::new(bytes), out);
    }

    /// Says so where the program may not change the traced system.
    fn is_destructive(&mut self, span: Span, name: &str) -> bool {
        if !self.options.destructive {
            let message =
                format!("{name}( ): destructive actions are not allowed without -w or `#pragma D option destructive`");
            self.error(tags::D_DESTRUCTIVE, span, message);
        }
        self.options.destructive
    }

    /// `system(format, ...)` and `freopen(format, ...)`: done when the record is printed.
    fn with_the_reader(&mut self, name: &str, format: Format, values: Vec<Expr>, span: Span, out: &mut Vec<Statement>) {
        if !self.is_destructive(span, name) {
            return;
        }
        self.records(span, true);
        let first = self.frame.values.len() + 1;
        for value in values {
            self.keep(value, out);
        }
        let format = std::sync::Arc::new(format);
        let reopens = name == "freopen";
        self.frame.items.push(if reopens { Item::Reopen { format, first } } else { Item::System { format, first } });
    }

    /// `setopt(name[, value])`: an option of the output, from this record on.
    fn set_option(&mut self, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let constant = |e: &Ast| match &e.kind {
            Kind::Str(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        let Some(name) = constant(&items[0]) else {
            let message = "setopt( ) argument #1 must be a string constant";
            self.error(tags::D_PROTO_ARG, items[0].span, message);
            return;
        };
        let value = match items.get(1).map(|item| (item, constant(item))) {
            Some((_, Some(text))) => Some(Setting::Constant(text.into())),
            Some((item, None)) => {
                let value = self.expr(item);
                if value.is_error() {
                    return;
                }
                if !is_text(value.ty()) {
                    let message = "setopt( ) argument #2 is incompatible with prototype: string is expected";
                    self.error(tags::D_PROTO_ARG, item.span, message);
                    return;
                }
                let text = self.text(value.e);
                Some(Setting::Value(self.keep(text, out)))
            }
            None => None,
        };
        self.records(span, false);
        self.frame.items.push(Item::SetOption { name: name.into(), value });
    }

    /// `raise(signal)`: to the process that runs.
    fn raise(&mut self, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let Some(mut arguments) = self.arguments(f, items) else { return };
        if !self.is_destructive(span, "raise") {
            return;
        }
        let number = cast(arguments.remove(0).e, &Type::U32);
        self.signal(number, span, out);
    }

    fn signal(&mut self, number: Expr, span: Span, out: &mut Vec<Statement>) {
        self.records(span, false);
        self.frame.items.push(Item::Nothing);
        let call = ExprKind::Call(crate::lang::typed::Intrinsic::Signal, vec![number]);
        out.push(statement(StatementKind::Expr(Expr::new(call, Type::I64, span)), span));
    }

    /// A placeholder where a number is wanted.
    pub fn zero(span: Span) -> Expr {
        int(0, Type::I64, span)
    }
}
