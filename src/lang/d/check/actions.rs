//! Statements: actions that record, and what is kept for the clause's report.

use std::sync::Arc;

use super::calls::{Class, Function, function};
use super::value::{Value, cast, int, is_int, is_scalar, is_text};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::d::{Count, Format, Item};

/// Actions that change the traced system.
const DESTRUCTIVE: &[&str] =
    &["system", "raise", "freopen", "breakpoint", "chill", "panic", "stop", "copyout", "copyoutstr"];

impl Checker<'_> {
    /// One statement of a clause.
    pub fn statement(&mut self, e: &Ast, out: &mut Vec<Statement>) {
        let span = e.span;
        if let Kind::Call(callee, items) = &e.kind
            && let Kind::Ident(name) = &callee.kind
            && let Some(f) = function(name).filter(|f| f.class == Class::Action)
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
            "speculate" | "commit" | "discard" => self.speculation(f, items, span),
            "tracemem" => self.tracemem(items, span, out),
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
                if self.format(f.name, &text, &items[1..], span, out).is_none() {
                    return;
                }
                self.unsupported(span, &format!("{}( )", f.name));
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
            Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym => self.keep_item(value, out),
            ty if is_scalar(ty) => {
                let e = if matches!(ty, Type::Ptr { .. }) { cast(value.e, &Type::U64) } else { value.e };
                self.keep_item(Value::new(e), out);
            }
            _ => self.error(tags::D_TRACE_DYN, span, "trace( ) may not be applied to a dynamic expression"),
        }
    }

    fn tracemem(&mut self, items: &[Ast], span: Span, _: &mut Vec<Statement>) {
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

    fn printf(&mut self, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let Kind::Str(text) = &items[0].kind else {
            let value = self.expr(&items[0]);
            if value.is_error() {
                return;
            }
            if is_text(value.ty()) {
                self.error(tags::D_PRINTF_ARG_FMT, span, "printf( ) argument #1 must be a format string");
            } else {
                let message = "printf( ) argument #1 is incompatible with prototype: string is expected";
                self.error(tags::D_PROTO_ARG, span, message);
            }
            return;
        };
        if text.is_empty() {
            self.error(tags::D_PRINTF_FMT_EMPTY, span, "printf( ) format string is empty");
            return;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        self.records(span, true);
        if let Some((format, values)) = self.format("printf", &text, &items[1..], span, out) {
            let first = self.frame.values.len() + 1;
            for value in values {
                self.keep(value, out);
            }
            self.frame.items.push(Item::Printf { format: Arc::new(format), first });
        }
    }

    /// A format and its values, checked against each other.
    fn format(
        &mut self,
        name: &str,
        text: &str,
        items: &[Ast],
        span: Span,
        _: &mut Vec<Statement>,
    ) -> Option<(Format, Vec<Expr>)> {
        let format = match Format::parse(text) {
            Ok(format) => format,
            Err(why) => {
                self.error(tags::D_SYNTAX, span, format!("{name}( ) {why}"));
                return None;
            }
        };
        let mut values: Vec<Value> = items.iter().map(|e| self.expr(e)).collect();
        if values.iter().any(Value::is_error) {
            return None;
        }
        let mut taken = Vec::new();
        let mut rest = values.drain(..);
        for (number, conversion) in format.conversions().enumerate() {
            let number = number + 1;
            if conversion.aggregation {
                let message = format!(
                    "{name}( ) conversion #{number} (%@{}) prints an aggregation: use printa( )",
                    conversion.kind
                );
                self.error(tags::D_PRINTF_AGG_CONV, span, message);
                return None;
            }
            for count in [conversion.width, conversion.precision] {
                if count != Some(Count::Value) {
                    continue;
                }
                let Some(value) = rest.next() else {
                    self.error(tags::D_PRINTF_DYN_PROTO, span, format!("{name}( ) prototype mismatch: conversion #{number} is missing a corresponding \"*\" argument"));
                    return None;
                };
                if !is_int(value.ty()) {
                    self.error(
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
                self.error(tags::D_PRINTF_ARG_PROTO, span, message);
                return None;
            };
            if !fits(conversion.kind, &conversion.length, value.ty()) {
                let text = self.type_text(value.ty());
                let message = format!(
                    "{name}( ) argument #{} is incompatible with conversion #{number}: %{} of {text}",
                    number + 1,
                    conversion.kind
                );
                self.error(tags::D_PRINTF_ARG_TYPE, span, message);
                return None;
            }
            let e = self.printed(conversion.kind, value);
            taken.push(e);
        }
        if rest.next().is_some() {
            drop(rest);
            let (given, wanted) = (items.len(), taken.len());
            self.error(tags::D_PRINTF_ARG_EXTRA, span, format!("{name}( ) prototype mismatch: only {wanted} arguments required by this format string, {given} given"));
            return None;
        }
        drop(rest);
        Some((format, taken))
    }

    fn printed(&mut self, kind: char, value: Value) -> Expr {
        match value.ty() {
            Type::FuncName => self.text(value.e),
            ty if kind == 's' && is_text(ty) => self.text(value.e),
            Type::Ptr { .. } => cast(value.e, &Type::U64),
            Type::Array { .. } => {
                let at = self.decay(value);
                cast(at, &Type::U64)
            }
            Type::Bool => cast(value.e, &Type::I32),
            Type::Enum { .. } => cast(value.e, &Type::I32),
            _ if matches!(kind, 'Y' | 'T') => {
                let text = if kind == 'Y' { "%Y %b %e %H:%M:%S" } else { "%a, %d %b %Y %H:%M:%S %z" };
                self.date(text, value)
            }
            _ if matches!(kind, 'a' | 'A') && is_int(value.ty()) => {
                let span = value.span();
                let e = cast(self.word(value.e), &Type::U64);
                Expr::new(ExprKind::Call(crate::lang::typed::Intrinsic::KSym, vec![e]), Type::KSym, span)
            }
            _ => value.e,
        }
    }

    /// A wall time that prints by a format.
    fn date(&mut self, format: &str, value: Value) -> Expr {
        let span = value.span();
        let formats = &mut self.program.time_formats;
        let index = formats.iter().position(|f| **f == *format).unwrap_or_else(|| {
            formats.push(format.into());
            formats.len() - 1
        });
        let time = cast(self.word(value.e), &Type::U64);
        let arguments = vec![int(index as i64, Type::U64, span), time, int(3, Type::U64, span)];
        Expr::new(ExprKind::Call(crate::lang::typed::Intrinsic::Strftime, arguments), Type::Timestamp, span)
    }

    fn speculation(&mut self, f: &Function, items: &[Ast], span: Span) {
        match f.name {
            "speculate" => {
                if self.frame.commits {
                    self.error(tags::D_SPEC_COMM, span, "speculate( ) may not follow commit( )");
                    return;
                }
                if self.frame.speculates {
                    self.error(tags::D_SPEC_SPEC, span, "speculate( ) may not follow another speculate( )");
                    return;
                }
                if self.frame.records {
                    self.error(tags::D_SPEC_DREC, span, "speculate( ) may not follow data-recording action(s)");
                    return;
                }
                self.frame.speculates = true;
            }
            "commit" => {
                if self.frame.records {
                    self.error(tags::D_COMM_DREC, span, "commit( ) may not follow data-recording action(s)");
                    return;
                }
                if self.frame.commits {
                    self.error(tags::D_COMM_COMM, span, "commit( ) may not follow another commit( )");
                    return;
                }
                self.frame.commits = true;
            }
            _ => {}
        }
        if self.arguments(f, items).is_some() {
            self.unsupported(span, &format!("{}( )", f.name));
        }
    }

    /// Arguments of aggregations that are printed or changed: their map.
    fn named_aggregation(
        &mut self,
        name: &str,
        item: &Ast,
        tags: (crate::lang::diagnostic::Code, crate::lang::diagnostic::Code),
    ) -> Option<u32> {
        let Kind::Aggregation(aggregation) = &item.kind else {
            self.error(
                tags.0,
                item.span,
                format!("{name}( ) argument #1 is incompatible with prototype: an aggregation is expected"),
            );
            return None;
        };
        match self.variables.aggregates.get(aggregation) {
            Some(known) => Some(known.map.0),
            None => {
                self.error(tags.1, item.span, format!("undefined aggregation: {aggregation}"));
                None
            }
        }
    }

    fn change(&mut self, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let codes = match f.name {
            "clear" => (tags::D_CLEAR_AGGARG, tags::D_CLEAR_AGGBAD),
            "trunc" => (tags::D_TRUNC_AGGARG, tags::D_TRUNC_AGGBAD),
            _ => (tags::D_NORMALIZE_AGGARG, tags::D_NORMALIZE_AGGBAD),
        };
        let Some(map) = self.named_aggregation(f.name, &items[0], codes) else { return };
        let mut number = None;
        if let Some(item) = items.get(1) {
            let value = self.expr(item);
            if value.is_error() {
                return;
            }
            if !is_int(value.ty()) {
                let text = self.type_text(value.ty());
                let message = format!(
                    "{}( ) argument #2 is incompatible with prototype: an integer is expected, not {text}",
                    f.name
                );
                self.error(tags::D_PROTO_ARG, item.span, message);
                return;
            }
            let e = self.word(value.e);
            number = Some(self.keep(e, out));
        }
        self.records(span, false);
        self.frame.items.push(match (f.name, number) {
            ("clear", _) => Item::Clear(map),
            ("trunc", n) => Item::Trunc(map, n),
            ("normalize", Some(n)) => Item::Normalize(map, n),
            _ => Item::Denormalize(map),
        });
    }

    fn printa(&mut self, items: &[Ast], span: Span) {
        let (format, rest) = match &items[0].kind {
            Kind::Str(text) => {
                if text.is_empty() {
                    self.error(tags::D_PRINTF_FMT_EMPTY, span, "printa( ) format string is empty");
                    return;
                }
                match Format::parse(&String::from_utf8_lossy(text)) {
                    Ok(format) => (Some(format), &items[1..]),
                    Err(why) => {
                        self.error(tags::D_SYNTAX, span, format!("printa( ) {why}"));
                        return;
                    }
                }
            }
            _ => (None, items),
        };
        if rest.is_empty() || (format.is_none() && rest.len() > 1) {
            if format.is_none() && rest.len() > 1 && matches!(items[0].kind, Kind::Aggregation(_)) {
                self.error(
                    tags::D_PRINTA_PROTO,
                    span,
                    "printa( ) prototype mismatch: only one aggregation without a format",
                );
            } else if format.is_none() && !matches!(items[0].kind, Kind::Aggregation(_)) {
                self.error(
                    tags::D_PRINTA_AGGARG,
                    span,
                    "printa( ) argument is incompatible with prototype: an aggregation is expected",
                );
            } else {
                self.error(
                    tags::D_PRINTA_PROTO,
                    span,
                    "printa( ) prototype mismatch: an aggregation is expected behind the format",
                );
            }
            return;
        }
        let mut maps = Vec::new();
        let mut keys: Option<Vec<Type>> = None;
        for item in rest {
            let Some(map) = self.named_aggregation("printa", item, (tags::D_PRINTA_AGGARG, tags::D_PRINTA_AGGBAD))
            else {
                return;
            };
            let Kind::Aggregation(name) = &item.kind else { return };
            let own = self.variables.aggregates[name].keys.clone();
            if keys.as_ref().is_some_and(|keys| !alike(keys, &own)) {
                self.error(
                    tags::D_PRINTA_AGGKEY,
                    item.span,
                    format!("printa( ) aggregation {name} has other keys than the first one"),
                );
                return;
            }
            keys.get_or_insert(own);
            maps.push(map);
        }
        if let Some(format) = &format
            && !self.fits_keys(format, &keys.unwrap_or_default(), span)
        {
            return;
        }
        self.records(span, false);
        self.frame.items.push(Item::Printa { format: format.map(Arc::new), maps });
    }

    fn fits_keys(&mut self, format: &Format, keys: &[Type], span: Span) -> bool {
        let mut next = keys.iter();
        for (number, conversion) in format.conversions().enumerate() {
            if [conversion.width, conversion.precision].contains(&Some(Count::Value)) {
                self.error(
                    tags::D_PRINTF_DYN_PROTO,
                    span,
                    format!("printa( ) conversion #{} has a \"*\", which has no value here", number + 1),
                );
                return false;
            }
            if conversion.aggregation {
                if !"dioxXu".contains(conversion.kind) {
                    self.error(
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
                self.error(
                    tags::D_PRINTF_ARG_PROTO,
                    span,
                    format!("printa( ) conversion #{} is missing a key", number + 1),
                );
                return false;
            };
            if !fits(conversion.kind, &conversion.length, key) {
                self.error(
                    tags::D_PRINTF_ARG_TYPE,
                    span,
                    format!("printa( ) conversion #{} (%{}) does not print this key", number + 1, conversion.kind),
                );
                return false;
            }
        }
        true
    }

    /// A placeholder where a number is wanted.
    pub fn zero(span: Span) -> Expr {
        int(0, Type::I64, span)
    }
}

/// Key types that print side by side.
fn alike(a: &[Type], b: &[Type]) -> bool {
    let same = |x: &Type, y: &Type| x == y || (is_int(x) && is_int(y)) || (is_text(x) && is_text(y));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

/// Whether a conversion prints a type of value.
fn fits(kind: char, length: &str, ty: &Type) -> bool {
    match kind {
        'd' | 'i' | 'o' | 'u' | 'x' | 'X' => match ty {
            Type::Int { size, .. } if length == "h" => *size <= 2,
            _ => is_int(ty) || (matches!(ty, Type::Ptr { .. }) && length.is_empty() && kind != 'd' && kind != 'i'),
        },
        'c' | 'C' => is_int(ty),
        's' => is_text(ty) && length.is_empty(),
        'S' => is_text(ty),
        'p' | 'a' | 'A' => is_scalar(ty) || matches!(ty, Type::KSym | Type::USym | Type::Array { .. }),
        'Y' | 'T' => is_int(ty),
        'k' => matches!(ty, Type::KStack { .. } | Type::UStack { .. }),
        _ => false,
    }
}
