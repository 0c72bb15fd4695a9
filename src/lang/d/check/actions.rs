//! Statements: actions that record, and what is kept for the clause's report.

mod aggregated;
mod format;
mod speculation;

use super::calls::{Class, Function, function};
use super::value::{Value, cast, int, is_int, is_scalar};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::d::Item;

/// Actions that change the traced system.
const DESTRUCTIVE: &[&str] =
    &["system", "raise", "freopen", "breakpoint", "chill", "panic", "stop", "copyout", "copyoutstr"];

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
            _ => self.kept(e),
        };
        out.extend(statements);
        self.frame.values.push(kept);
        index
    }

    fn keep_item(&mut self, value: Value, out: &mut Vec<Statement>) {
        self.records(value.span(), true);
        let index = self.keep(value.e, out);
        self.frame.items.push(Item::Trace(index));
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
            "stack" | "ustack" => {
                let value = self.stack(f.name, items, span);
                self.keep_item(value, out);
            }
            "clear" | "trunc" | "normalize" | "denormalize" => self.change(f, items, span, out),
            "speculate" | "commit" | "discard" => self.speculation(f, items, span, out),
            "raise" => self.raise(f, items, span, out),
            "copyout" | "copyoutstr" => {
                let Some(arguments) = self.arguments(f, items) else { return };
                if self.is_destructive(span, f.name)
                    && let Some(statements) = self.copyout(f.name == "copyoutstr", arguments, span)
                {
                    out.extend(statements);
                }
            }
            "tracemem" => self.tracemem(items, span),
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
                self.unsupported(span, "print( )");
            }
            "freopen" | "system" => {
                let Kind::Str(text) = &items[0].kind else {
                    self.error(tags::D_PROTO_ARG, items[0].span, format!("{}( ) takes a format", f.name));
                    return;
                };
                let text = String::from_utf8_lossy(text).into_owned();
                let Some((format, values)) = self.format(f.name, &text, &items[1..], span, out) else { return };
                if f.name == "freopen" {
                    self.unsupported(span, "freopen( )");
                    return;
                }
                self.system(format, values, span, out);
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
            Type::Struct(_) | Type::Array { .. } => self.unsupported(span, "trace( ) of a struct or an array"),
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

    fn tracemem(&mut self, items: &[Ast], span: Span) {
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
        if !size.is_error() && size.e.as_int().is_none_or(|n| n == 0 || n > i32::MAX as u64) {
            let message = "tracemem( ) argument #2 must be a non-zero positive integral constant expression";
            self.error(tags::D_TRACEMEM_SIZE, items[1].span, message);
            return;
        }
        if let Some(item) = items.get(2) {
            let size = self.expr(item);
            if !size.is_error() && !is_int(size.ty()) {
                self.error(tags::D_TRACEMEM_DYNSIZE, item.span, "tracemem( ) argument #3 must be an integer");
                return;
            }
        }
        self.unsupported(span, "tracemem( )");
    }

    /// Says so where the program may not change the traced system.
    fn is_destructive(&mut self, span: Span, name: &str) -> bool {
        if !self.options.destructive {
            let message =
                format!("{name}( ): destructive actions are not allowed without -w or `#pragma D option destructive`");
            self.error(tags::D_UNKNOWN, span, message);
        }
        self.options.destructive
    }

    /// `system(format, ...)`: the command is run when its record is printed.
    fn system(&mut self, format: crate::model::d::Format, values: Vec<Expr>, span: Span, out: &mut Vec<Statement>) {
        if !self.is_destructive(span, "system") {
            return;
        }
        self.records(span, true);
        let first = self.frame.values.len() + 1;
        for value in values {
            self.keep(value, out);
        }
        self.frame.items.push(Item::System { format: std::sync::Arc::new(format), first });
    }

    /// `raise(signal)`: to the process that runs.
    fn raise(&mut self, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let Some(mut arguments) = self.arguments(f, items) else { return };
        if !self.is_destructive(span, "raise") {
            return;
        }
        let number = cast(arguments.remove(0).e, &Type::U32);
        let call = ExprKind::Call(crate::lang::typed::Intrinsic::Signal, vec![number]);
        out.push(statement(StatementKind::Expr(Expr::new(call, Type::I64, span)), span));
    }

    /// A placeholder where a number is wanted.
    pub fn zero(span: Span) -> Expr {
        int(0, Type::I64, span)
    }
}
