//! Positional parameters and options.

use std::sync::Arc;

use super::{AbsentParameters, Expander};
use crate::lang::bt::ast::{BinaryOp, Expr, ExprKind, Item, Name, Script, StatementKind, UnaryOp};
use crate::lang::bt::lexer::{IntError, decode_int};
use crate::lang::bt::settings;
use crate::lang::bt::visit::{self, Node};
use crate::lang::codes::check::NO_PARAMETER;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::front::{Wanted, WantedOption};
use crate::lang::source::Span;

/// Replaces `$1` and `$#` in an attach point's text; parameters that are missing are empty.
pub(super) fn in_point(point: &mut Name, params: &[String]) {
    if !point.text.contains('$') {
        return;
    }
    let mut out = String::with_capacity(point.text.len());
    let mut rest: &str = &point.text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let after = after.get(1..).unwrap_or("");
        if let Some(tail) = after.strip_prefix('#') {
            out.push_str(&params.len().to_string());
            rest = tail;
            continue;
        }
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = after.split_at(digits);
        match number.parse::<usize>() {
            Ok(n) if n > 0 => out.push_str(params.get(n - 1).map_or("", String::as_str)),
            _ => {
                out.push('$');
                out.push_str(number);
            }
        }
        rest = tail;
    }
    out.push_str(rest);
    point.text = out.into();
}

impl Expander<'_> {
    fn param(&self, number: u32) -> Option<&str> {
        self.inputs.params.get((number as usize).checked_sub(1)?).map(String::as_str)
    }

    /// `str($1)`: the first argument becomes the parameter's text.
    pub(super) fn positional_text(&self, arguments: &mut [Expr]) -> bool {
        let Some(first) = arguments.first_mut() else { return false };
        let text = match &first.kind {
            ExprKind::Positional(number) => self.param(*number).unwrap_or("").to_owned(),
            ExprKind::PositionalCount => self.inputs.params.len().to_string(),
            // `str($1 + 2)`: the text from its third byte on.
            ExprKind::Binary(BinaryOp::Add, a, b) => {
                let (number, skipped) = match (&a.kind, &b.kind) {
                    (ExprKind::Positional(number), ExprKind::Int(skipped))
                    | (ExprKind::Int(skipped), ExprKind::Positional(number)) => (*number, *skipped),
                    _ => return false,
                };
                let text = self.param(number).unwrap_or("");
                let at = usize::try_from(skipped).unwrap_or(usize::MAX);
                text.get(at..).unwrap_or("").to_owned()
            }
            _ => return false,
        };
        first.kind = ExprKind::Str(text.into());
        true
    }

    /// `$1`: a number when it is one, else a text; a missing or empty one is 0.
    pub(super) fn positional(&mut self, e: &mut Expr) {
        let ExprKind::Positional(number) = e.kind else {
            e.kind = ExprKind::Int(self.inputs.params.len() as u64);
            return;
        };
        let given = self.param(number).filter(|text| !text.is_empty()).map(str::to_owned);
        if given.is_none() {
            self.warn_absent(number, e.span);
        }
        let text = given.unwrap_or_else(|| "0".to_owned());
        if let Some(value) = integer(&text, e.span) {
            e.kind = value;
            return;
        }
        e.kind = ExprKind::Str(text.into());
    }

    fn warn_absent(&mut self, number: u32, span: Span) {
        let told = match self.inputs.absent {
            AbsentParameters::Quiet => false,
            AbsentParameters::Unasked => self.asked.as_ref().is_some_and(|asked| !asked.contains(&number)),
            AbsentParameters::All => true,
        };
        if told {
            let message = format!("Positional parameter ${number} is empty or not provided. ");
            let mut warning = Diagnostic::warning(NO_PARAMETER, span, message);
            if self.inputs.absent == AbsentParameters::Unasked {
                warning = warning.help("it counts as 0 here: give it behind the script's name");
            }
            self.diagnostics.push(warning);
        }
    }

    /// `getopt("name", default[, "help"])` becomes the option's value.
    pub(super) fn getopt(&mut self, e: &mut Expr) {
        let ExprKind::Call(_, arguments) = &e.kind else { return };
        let (name, default) = match arguments.as_slice() {
            [Expr { kind: ExprKind::Str(name), .. }] => (name.clone(), ExprKind::Bool(false)),
            [Expr { kind: ExprKind::Str(name), .. }, default] => (name.clone(), default.kind.clone()),
            [Expr { kind: ExprKind::Str(name), .. }, default, Expr { kind: ExprKind::Str(text), .. }] => {
                match self.described.iter().find(|(n, _)| n == name) {
                    Some((_, before)) if before != text => {
                        let message = format!(
                            "Command line option '{name}' must have the same description in all places it's used."
                        );
                        let help = "wrap the call in a macro, and use that in all places";
                        self.diagnostics.push(Diagnostic::error(codes::BAD_GETOPT, e.span, message).help(help));
                    }
                    Some(_) => {}
                    None => self.described.push((name.clone(), text.clone())),
                }
                (name.clone(), default.kind.clone())
            }
            _ => return self.bad_getopt(e),
        };
        if !is_literal(&default) {
            return self.bad_getopt(e);
        }
        if let Some((_, before)) = self.defaults.iter().find(|(n, _)| *n == name) {
            if !same_literal(before, &default) {
                let message = format!(
                    "Command line option '{name}' needs to have the same default value in all places it is used. \
                     Previous default value: {}",
                    literal_text(before)
                );
                self.diagnostics.push(Diagnostic::error(codes::BAD_GETOPT, e.span, message));
            }
        } else {
            self.defaults.push((name.clone(), default.clone()));
        }
        let given = self.inputs.named.iter().rev().find(|(n, _)| **n == *name).map(|(_, v)| v.clone());
        e.kind = match given {
            None => default,
            Some(value) => self.option_value(&name, &default, value.as_deref(), e.span),
        };
        if !self.options.contains(&name) {
            self.options.push(name);
        }
    }

    fn option_value(&mut self, name: &str, default: &ExprKind, value: Option<&str>, span: Span) -> ExprKind {
        // What is given without a value says `true`.
        let given = value.unwrap_or("true");
        let (parsed, wanted) = match default {
            ExprKind::Bool(_) => (settings::truth(given).map(ExprKind::Bool).ok_or(BadValue::Boolean), "true or false"),
            ExprKind::Str(_) => (value.map(|v| ExprKind::Str(v.into())).ok_or(BadValue::NoText), "a text"),
            _ => (number(value, matches!(default, ExprKind::Unary(..)), span), "an integer"),
        };
        parsed.unwrap_or_else(|bad| {
            let message = format!("program command line option --{name} {} (value: {given})", bad.words());
            let help = format!("the option takes {wanted}: write `--{name}=VALUE` after `--`");
            // A macro that asks for it is expanded wherever it is called.
            if !self.diagnostics.iter().any(|d| d.message == message) {
                self.diagnostics.push(Diagnostic::error(codes::BAD_OPTION, Span::default(), message).help(help));
            }
            default.clone()
        })
    }

    fn bad_getopt(&mut self, e: &mut Expr) {
        self.diagnostics.push(
            Diagnostic::error(codes::BAD_GETOPT, e.span, "getopt needs a literal name and a literal default").help(
                "write `getopt(\"name\", 10, \"what it does\")`; the default is an integer, a text, true or false",
            ),
        );
        e.kind = ExprKind::Error;
    }

    /// Options that were given and that the script never asks for.
    pub(super) fn unknown_options(&mut self) {
        let asked = |name: &str| self.options.iter().any(|o| **o == *name);
        let unknown: Vec<_> = self.inputs.named.iter().filter(|(n, _)| !asked(n)).map(|(n, _)| dashed(n)).collect();
        if unknown.is_empty() {
            return;
        }
        let option = |o: &Arc<str>| match self.described.iter().find(|(n, _)| n == o) {
            Some((_, text)) => format!("\n{}: {text}", dashed(o)),
            None => format!("\n{}", dashed(o)),
        };
        // Who asks for help wants to read what each does, others mistyped a name.
        let listed = unknown.iter().any(|name| name == "--help" || name == "-h");
        let limit = if self.limitable { "\n-p PID: only what is about this process" } else { "" };
        let help = if self.options.is_empty() {
            format!(
                "the script has no options{}",
                if limit.is_empty() { "" } else { " but -p PID: only what is about this process" }
            )
        } else if listed {
            format!("expected program options:{}{limit}", self.options.iter().map(option).collect::<String>())
        } else {
            let names: Vec<String> = self.options.iter().map(|o| dashed(o)).collect();
            format!("expected program options: {}{limit}", names.join(": "))
        };
        let message = if listed && (!self.options.is_empty() || self.limitable) {
            crate::lang::codes::OPTIONS_LISTED.to_owned()
        } else {
            format!("unexpected program command line options: {}", unknown.join(", "))
        };
        self.diagnostics.push(Diagnostic::error(codes::UNKNOWN_OPTION, Span::default(), message).help(help));
    }
}

/// An option as it is written: `-x`, `--name`.
fn dashed(option: &str) -> String {
    if option.chars().count() == 1 { format!("-{option}") } else { format!("--{option}") }
}

/// The parameters that a script asks after, because it does without them: it compares them with a number or takes
/// them for true or false. `None` where `$#` tells it of all.
pub(super) fn asked(script: &Script) -> Option<Vec<u32>> {
    let mut found = Some(Vec::new());
    for item in &script.items {
        if let Item::Probe(probe) = item {
            found = found.and_then(|list| in_condition(probe.predicate.as_ref(), list));
        }
        visit::item(item, &mut |node| found = found.take().and_then(|list| in_node(node, list)));
    }
    found
}

/// The parameters that a script can't do without, and its options.
pub(in crate::bt) fn wanted(script: &Script) -> Wanted {
    let mut wanted = Wanted::default();
    let mut numbers = Vec::new();
    for item in &script.items {
        if let Item::Probe(probe) = item {
            numbers.extend(probe.points.iter().filter_map(|point| last_in_point(&point.text)));
            if let Some(predicate) = &probe.predicate {
                wanted_in(Node::Expr(predicate), &mut numbers, &mut wanted.options);
            }
        }
        visit::item(item, &mut |node| wanted_in(node, &mut numbers, &mut wanted.options));
    }
    // A script that counts its parameters does with any number of them.
    let asked = asked(script);
    wanted.takes_any_number = asked.is_none();
    wanted.takes_words = !numbers.is_empty() || wanted.takes_any_number;
    numbers.retain(|number| asked.as_ref().is_some_and(|asked| !asked.contains(number)));
    wanted.positional = numbers.into_iter().max().unwrap_or(0);
    wanted
}

/// The last parameter in an attach point's text.
fn last_in_point(text: &str) -> Option<u32> {
    let numbers = text.split('$').skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
    numbers.filter_map(|digits| digits.parse().ok()).max()
}

fn wanted_in(node: Node<'_>, numbers: &mut Vec<u32>, options: &mut Vec<WantedOption>) {
    match node {
        Node::Expr(e) => {
            match &e.kind {
                ExprKind::Positional(number) => numbers.push(*number),
                ExprKind::Call(name, arguments) if &*name.text == "getopt" => {
                    let option = option(arguments, options);
                    options.extend(option);
                }
                _ => {}
            }
            visit::expr(e, &mut |node| wanted_in(node, numbers, options));
        }
        Node::Block(block) => {
            for statement in &block.statements {
                visit::statement(statement, &mut |node| wanted_in(node, numbers, options));
            }
            if let Some(value) = &block.value {
                wanted_in(Node::Expr(value), numbers, options);
            }
        }
        Node::Type(_) | Node::Name(_) => {}
    }
}

/// The option of a `getopt`, unless it is known already.
fn option(arguments: &[Expr], known: &[WantedOption]) -> Option<WantedOption> {
    let text = |e: &Expr| if let ExprKind::Str(text) = &e.kind { Some(Arc::<str>::from(&**text)) } else { None };
    let name = arguments.first().and_then(text).filter(|name| known.iter().all(|option| option.name != *name))?;
    let takes_value = arguments.get(1).is_some_and(|default| !matches!(default.kind, ExprKind::Bool(_)));
    Some(WantedOption { name, about: arguments.get(2).and_then(text), takes_value })
}

fn in_node(node: Node<'_>, list: Vec<u32>) -> Option<Vec<u32>> {
    let mut found = Some(list);
    let mut below = |node: Node<'_>| found = found.take().and_then(|list| in_node(node, list));
    match node {
        Node::Expr(e) => {
            visit::expr(e, &mut below);
            found.and_then(|list| in_expression(e, list))
        }
        Node::Block(block) => {
            for statement in &block.statements {
                visit::statement(statement, &mut below);
            }
            if let Some(value) = &block.value {
                below(Node::Expr(value));
            }
            for statement in &block.statements {
                if let StatementKind::If(condition, ..) = &statement.kind {
                    found = found.and_then(|list| in_condition(Some(condition), list));
                }
            }
            found
        }
        Node::Type(_) | Node::Name(_) => found,
    }
}

fn in_expression(e: &Expr, list: Vec<u32>) -> Option<Vec<u32>> {
    match &e.kind {
        ExprKind::PositionalCount => None,
        ExprKind::Binary(op, a, b) => {
            use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
            let number = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
            let asks = match op {
                And | Or => true,
                Eq | Ne | Lt | Le | Gt | Ge => number(a) || number(b),
                _ => false,
            };
            let list = in_condition(Some(&**a).filter(|_| asks), list)?;
            in_condition(Some(&**b).filter(|_| asks), list)
        }
        ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Conditional(a, ..) | ExprKind::If(a, ..) => {
            in_condition(Some(a), list)
        }
        _ => Some(list),
    }
}

/// A parameter in the place of a condition.
fn in_condition(e: Option<&Expr>, mut list: Vec<u32>) -> Option<Vec<u32>> {
    if let Some(Expr { kind: ExprKind::Positional(number), .. }) = e {
        list.push(*number);
    }
    Some(list)
}

/// Why an option's value is none.
enum BadValue {
    Boolean,
    NoText,
    NoNumber,
    Number,
    Range,
}

impl BadValue {
    /// bpftrace's words.
    const fn words(&self) -> &'static str {
        match self {
            Self::Boolean => "expects a boolean (e.g. 'true')",
            Self::NoText => "expects a string",
            Self::NoNumber => "expects an integer",
            Self::Number => "invalid integer",
            Self::Range => "value is out of range",
        }
    }
}

/// An option's number. One whose default has no sign is unsigned: a negative one is read modulo 2^64, as C reads it.
fn number(value: Option<&str>, signed: bool, span: Span) -> Result<ExprKind, BadValue> {
    let text = value.ok_or(BadValue::NoNumber)?;
    let digits = text.trim_start().trim_start_matches(['+', '-']);
    let read = integer(text, span).ok_or_else(|| match decode_int(digits) {
        Err(IntError::TooLarge) => BadValue::Range,
        _ => BadValue::Number,
    })?;
    match &read {
        ExprKind::Int(n) if signed && *n > i64::MAX as u64 => Err(BadValue::Range),
        ExprKind::Unary(UnaryOp::Neg, inner) => match inner.kind {
            ExprKind::Int(n) if signed && n > i64::MIN.unsigned_abs() => Err(BadValue::Range),
            ExprKind::Int(n) if !signed => Ok(ExprKind::Int(n.wrapping_neg())),
            _ => Ok(read),
        },
        _ => Ok(read),
    }
}

fn is_literal(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Bool(_) => true,
        ExprKind::Unary(UnaryOp::Neg, inner) => matches!(inner.kind, ExprKind::Int(_)),
        _ => false,
    }
}

fn same_literal(a: &ExprKind, b: &ExprKind) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && literal_text(a) == literal_text(b)
}

/// A literal as it is printed.
fn literal_text(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Str(text) => text.to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Unary(UnaryOp::Neg, inner) => format!("-{}", literal_text(&inner.kind)),
        _ => String::new(),
    }
}

/// An integer as a command line has it: as scripts write them, perhaps with blanks before it, a sign, or in
/// binary.
fn integer(text: &str, span: Span) -> Option<ExprKind> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(text);
    match text.strip_prefix('-') {
        Some(digits) => {
            let value = Expr { kind: ExprKind::Int(unsigned(digits)?), span };
            Some(ExprKind::Unary(UnaryOp::Neg, Box::new(value)))
        }
        None => Some(ExprKind::Int(unsigned(text)?)),
    }
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
        Some(digits) => u64::from_str_radix(digits, 2).ok().filter(|_| !digits.starts_with('+')),
        None => decode_int(text).ok(),
    }
}
