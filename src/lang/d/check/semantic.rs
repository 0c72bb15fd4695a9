//! Semantic probes: what their arguments are, by the texts of their rows, and what is told of the thread that runs.

use super::checker::Checker;
use super::code::{builtin, call, cast, int, read_as};
use super::value::{Value, as_condition, error_value, is_int, word};
use super::{addresses, parameters};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind, ItemKind, Name};
use crate::lang::d::lexer::Macros;
use crate::lang::d::parser::{ParseOptions, parse_with};
use crate::lang::d::words;
use crate::lang::facts::table::TypeTable;
use crate::lang::facts::{CKind, TraceField};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, Intrinsic, WORDS_BYTES};
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::Target;
use crate::probe::providers::SINCE;

/// Functions that texts of rows may call besides those of the language.
const OF_ROWS: &[&str] = &["cmdline", "nsecs", "ntop", "str", "uptr"];

/// Members that the reference declares and gives no value.
const NOT_CONVERTED: &[&str] = &[
    "pr_argc",
    "pr_argv",
    "pr_cpu",
    "pr_ctime",
    "pr_envp",
    "pr_lwp",
    "pr_nice",
    "pr_oldpri",
    "pr_pctcpu",
    "pr_pctmem",
    "pr_rssize",
    "pr_size",
    "pr_start",
    "pr_time",
];

/// An expression of a row, as if it stood at a place of the program.
fn expression(text: &str, span: Span) -> Option<Ast> {
    let macros = Macros { defaults: true, ..Macros::default() };
    let options = ParseOptions { macros: &macros, is_type: &|_| false, of_command_line: false };
    let parsed = parse_with(&format!("BEGIN {{ ({text}); }}"), &options);
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let ItemKind::Clause(clause) = parsed.script.items.into_iter().next()?.kind else { return None };
    let mut e = clause.body?.into_iter().find(|e| !matches!(e.kind, Kind::Empty))?;
    place_at(&mut e, span);
    Some(e)
}

fn place_at(e: &mut Ast, span: Span) {
    e.span = span;
    match &mut e.kind {
        Kind::Unary(_, a) | Kind::Step { operand: a, .. } | Kind::SizeofExpr(a) => place_at(a, span),
        Kind::Binary(_, a, b) | Kind::Assign(_, a, b) => {
            place_at(a, span);
            place_at(b, span);
        }
        Kind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| place_at(e, span)),
        Kind::Index(a, list) | Kind::Call(a, list) => {
            place_at(a, span);
            list.iter_mut().for_each(|e| place_at(e, span));
        }
        Kind::Member { base, name, .. } => {
            place_at(base, span);
            name.span = span;
        }
        Kind::Cast(ty, a) | Kind::Xlate(ty, a) => {
            ty.span = span;
            place_at(a, span);
        }
        Kind::Offsetof(_, name) => name.span = span,
        Kind::Error | Kind::Empty | Kind::Int(_) | Kind::Str(_) | Kind::Ident(_) | Kind::Aggregation(_) => {}
        Kind::SizeofType(_) => {}
    }
}

/// A number as the address of an object by its type's name; what the kernel's types don't have is a number.
fn as_pointer(types: &mut TypeTable<'_>, word: Expr, object: &str) -> Expr {
    let (kind, name) = match object.strip_prefix("struct ") {
        Some(tag) => (CKind::Struct, tag),
        None => (CKind::Typedef, object),
    };
    match types.tagged(kind, name) {
        Some(to) => cast(word, &Type::Ptr { to: std::sync::Arc::new(to), space: AddressSpace::Kernel }),
        None => cast(word, &Type::U64),
    }
}

impl Checker<'_> {
    /// The value of a row's text, as one of a type by its name in D.
    pub fn of_row(&mut self, ty: &str, text: &str, span: Span) -> Value {
        let Some(e) = expression(text, span) else {
            return self.wrong(
                tags::D_UNKNOWN,
                span,
                format!("`{text}` is no expression (this is a bug in probescope)"),
            );
        };
        let outer = std::mem::replace(&mut self.frame.in_row, true);
        let value = self.expr(&e);
        self.frame.in_row = outer;
        if value.is_error() { value } else { as_named(self, value, ty, span) }
    }

    /// The same with names that stand for values.
    pub fn snippet(&mut self, ty: &str, text: &str, named: &[(&str, Expr)], span: Span) -> Value {
        let outer = self.frame.site.inline_arguments.clone();
        let named = named.iter().map(|(name, value)| ((*name).into(), value.clone()));
        self.frame.site.inline_arguments.extend(named);
        let value = self.of_row(ty, text, span);
        self.frame.site.inline_arguments = outer;
        value
    }
}

pub fn condition_of_row(c: &mut Checker<'_>, text: &str, span: Span) -> Expr {
    let Some(e) = expression(text, span) else { return int(0, Type::Bool, span) };
    let outer = std::mem::replace(&mut c.frame.in_row, true);
    let value = c.expr(&e);
    c.frame.in_row = outer;
    as_condition(value)
}

fn as_named(c: &mut Checker<'_>, value: Value, ty: &str, span: Span) -> Value {
    if ty == "string" && *value.ty() == Type::Inet {
        return value;
    }
    if ty == "string" {
        let text = c.text(value.e);
        return Value::new(Expr { span, ..text });
    }
    if let Some(object) = ty.strip_suffix(" *") {
        let word = word(value.e);
        return Value::new(Expr { span, ..as_pointer(&mut c.types, word, object) });
    }
    let by_word = match ty {
        "char" => Some((1, true)),
        "short" => Some((2, true)),
        "int" => Some((4, true)),
        "long" => Some((8, true)),
        _ => words::INTEGERS.iter().find(|(name, ..)| *name == ty).map(|(_, size, signed)| (*size, *signed)),
    };
    let (size, signed) = by_word.unwrap_or((8, false));
    let word = word(value.e);
    Value::new(Expr { span, ..cast(word, &Type::Int { size, signed }) })
}

/// What only texts of rows may say; `None` for what means what it says everywhere.
pub fn word_of_row(c: &mut Checker<'_>, name: &str, span: Span) -> Option<Value> {
    match name {
        _ if !c.frame.in_row => None,
        "curtask" => c.builtin("curthread", span),
        SINCE => c.frame.site.since.map(|l| Value::new(read_as(l, Type::U64, span))),
        _ => None,
    }
}

/// A call that only texts of rows may make.
pub fn call_of_row(c: &mut Checker<'_>, name: &str, items: &[Ast], span: Span) -> Option<Value> {
    if !c.frame.in_row || !OF_ROWS.contains(&name) {
        return None;
    }
    if name == "nsecs" {
        return c.builtin("timestamp", span);
    }
    let value = c.expr(items.first()?);
    if value.is_error() {
        return Some(value);
    }
    Some(match name {
        "cmdline" => {
            let length = word(c.expr(items.get(1)?).e);
            let text = call(Intrinsic::Words, vec![word(value.e), length], Type::Str { size: WORDS_BYTES }, span);
            Value::new(c.text(text))
        }
        "uptr" => {
            let to = std::sync::Arc::new(Type::Int { size: 1, signed: true });
            Value::new(cast(word(value.e), &Type::Ptr { to, space: AddressSpace::User }))
        }
        "ntop" if is_int(value.ty()) => Value::new(addresses::address_text(2, cast(value.e, &Type::U32))),
        "ntop" => Value::new(addresses::address_text(10, value.e)),
        _ => Value::new(c.text(value.e)),
    })
}

/// `args[n]->name` of a semantic probe, and `curpsinfo->name`; `None` for what is a struct of its own.
pub fn viewed(c: &mut Checker<'_>, base: &Ast, name: &Name, span: Span) -> Option<Value> {
    let told = match &base.kind {
        Kind::Ident(word) if matches!(&**word, "curpsinfo" | "curlwpsinfo" | "curcpu") => {
            c.facts.current(word, &name.text)
        }
        Kind::Index(array, items) if matches!(&array.kind, Kind::Ident(word) if &**word == "args") => {
            let place = c.frame.site.place.clone()?;
            let [Ast { kind: Kind::Int(number), .. }] = &items[..] else { return None };
            let argument = usize::try_from(number.value).unwrap_or(usize::MAX);
            if argument >= place.row.arguments.len() {
                return None;
            }
            place.member(argument, &name.text)
        }
        _ => return None,
    };
    Some(match told {
        Ok((ty, text)) => c.of_row(ty, &text, span),
        Err(message) => {
            let tag = if NOT_CONVERTED.contains(&&*name.text) { tags::D_XLATE_NOCONV } else { tags::D_TYPE_MEMBER };
            c.error(tag, name.span, message);
            error_value(span)
        }
    })
}

/// `args[n]` of a semantic probe: a plain value, or the object's address.
pub fn semantic_argument(c: &mut Checker<'_>, number: usize, span: Span) -> Option<Value> {
    let place = c.frame.site.place.clone()?;
    if number >= place.row.arguments.len() {
        let name = place.row.point();
        c.error(tags::D_ARGS_IDX, span, format!("index {number} is out of range for {name} args[ ]"));
        return Some(error_value(span));
    }
    if let Some((ty, text)) = place.plain(number) {
        return Some(c.of_row(ty, text, span));
    }
    let base = place.object(number)?;
    Some(c.of_row("uintptr_t", &format!("(unsigned long){base}"), span))
}

/// `args.NAME` in a row's text: an argument of the place.
pub fn argument_of_place(c: &mut Checker<'_>, name: &Name, span: Span) -> Option<Value> {
    if !c.frame.in_row {
        return None;
    }
    let target = c.frame.site.place.as_ref()?.targets.first()?.clone();
    let found = match &target {
        Target::Tracepoint { category, event } => {
            let fields = c.facts.tracepoint(category, event).unwrap_or_default();
            fields.iter().find(|f| *f.name == *name.text).map(|f| field_of_tracepoint(f, span))
        }
        Target::RawTracepoint { module, event } => {
            let parameters = c.facts.raw_tracepoint(module, event).unwrap_or_default().parameters;
            parameters::slot(c, &parameters, &name.text, span)
        }
        Target::Fentry { module, function, .. } => {
            let parameters = c.facts.prototype(module, function).unwrap_or_default().parameters;
            parameters::slot(c, &parameters, &name.text, span)
        }
        Target::Kprobe { module, function, ret: false, .. } => {
            let parameters = c.facts.prototype(module, function).unwrap_or_default().parameters;
            let at = parameters.iter().position(|p| p.name == name.text).filter(|at| *at < 6);
            at.map(|at| {
                let ty = parameters::type_of(&mut c.types, parameters[at].ty);
                cast(builtin(Builtin::Arg(at as u8), Type::U64, span), &ty)
            })
        }
        _ => None,
    };
    found.map(Value::new).or_else(|| {
        c.error(tags::D_IDENT_UNDEF, span, format!("the place has no argument {}", name.text));
        Some(error_value(span))
    })
}

fn field_of_tracepoint(field: &TraceField, span: Span) -> Expr {
    let value = |ty: Type| builtin(Builtin::CtxField(field.offset), ty, span);
    if field.c_type.contains('*') {
        let to = std::sync::Arc::new(Type::Int { size: 1, signed: true });
        return value(Type::Ptr { to, space: AddressSpace::User });
    }
    value(Type::Int { size: field.size.clamp(1, 8) as u8, signed: field.signed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::providers::{Given, rows};

    #[test]
    fn every_text_of_every_row_is_an_expression() {
        let parses = |text: &str| assert!(expression(text, Span::default()).is_some(), "{text}");
        for source in rows().flat_map(|row| row.places.iter().flat_map(|list| list.iter())) {
            if !source.when.is_empty() {
                parses(source.when);
            }
            for given in source.given {
                match given {
                    Given::Plain(_, text) => parses(text),
                    Given::Since(begin) => [begin.when, begin.key].into_iter().for_each(parses),
                    Given::Object(view, base) => {
                        parses(base);
                        view.all().flat_map(|member| member.texts).for_each(|text| parses(text));
                    }
                }
            }
        }
    }
}
