//! Variables: global, thread-local and clause-local ones, associative arrays, inlines and the built-in ones.

pub mod table;

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::Checker;
use super::code::{binary, block, builtin, cast, choose, effect, either, int, read_as, set, statement, store};
use super::value::{Target, Value, error_value, is_scalar};
use super::{builtins, semantic};
use crate::lang::codes::d as tags;
use crate::lang::d::ast;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Builtin, Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;

pub use table::{Aggregate, Inline, Scope, Variable};

/// Values that may be computed in one variable.
const WORD: Type = Type::I64;

impl Checker<'_> {
    /// Evaluates a value once and for all: reading it again gives the same.
    pub fn kept(&mut self, e: Expr, out: &mut Vec<Statement>) -> Expr {
        if matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_)) {
            return e;
        }
        let (span, ty) = (e.span, e.ty.clone());
        let local = self.local("%kept", ty.clone());
        out.push(set(local, e));
        read_as(local, ty, span)
    }

    /// A part of a place that is computed once though the place is read and written: what reading it has there, and what
    /// writing it has. What the first does beside goes to `before`.
    pub fn twice(&mut self, e: Expr, before: &mut Vec<Statement>) -> (Expr, Expr) {
        let same_again = |e: &Expr| !matches!(e.kind, ExprKind::Call(..) | ExprKind::Builtin(Builtin::Rand));
        if e.is_pure() && e.all_exprs().all(same_again) {
            return (e.clone(), e);
        }
        let mut own = Vec::new();
        let again = self.kept(e, &mut own);
        before.extend(own.iter().cloned());
        (block(own, again.clone()), again)
    }
}

/// A name that stands alone.
pub fn identifier(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> Value {
    if let Some(value) = c.frame.site.inline_arguments.get(name).cloned() {
        return Value::new(value);
    }
    if let Some(value) = semantic::word_of_row(c, name, span) {
        return value;
    }
    if let Some(inline) = c.inlines.get(name).cloned() {
        if !inline.keys.is_empty() {
            return c.wrong(tags::D_IDENT_BADREF, span, format!("`{name}` may not be used without its arguments"));
        }
        return put_in(c, &inline, &[], span);
    }
    if let Some((ty, value)) = c.types.enumerators.get(name).cloned() {
        return Value { constant: true, ..Value::new(int(value, ty, span)) };
    }
    if let Some(variable) = c.variables.known.get(&(Scope::Global, name.clone())).cloned() {
        if variable.indexed {
            let message = format!("{name} may not be referenced as a scalar: it is an associative array");
            return c.wrong(tags::D_IDENT_BADREF, span, message);
        }
        return value_of(c, &variable, Scope::Global, Vec::new(), span);
    }
    if let Some(value) = c.builtin(name, span) {
        return value;
    }
    if let Some(value) = super::library::constant(name) {
        return Value { constant: true, ..Value::new(int(value, Type::I32, span)) };
    }
    if super::prototypes::is_function(name) || c.variables.functions.contains(name) {
        return c.wrong(tags::D_IDENT_BADREF, span, format!("function {name} may not be used as a variable"));
    }
    if let Some(symbol) = name.rsplit_once('`') {
        return builtins::kernel_symbol(c, symbol.1, span);
    }
    if let Some((ty, value)) = c.types.enumerator(name) {
        return Value { constant: true, ..Value::new(int(value, ty, span)) };
    }
    c.wrong(tags::D_IDENT_UNDEF, span, format!("failed to resolve {name}: unknown variable name"))
}

fn value_of(c: &mut Checker<'_>, variable: &Variable, scope: Scope, keys: Vec<Expr>, span: Span) -> Value {
    let mut before = Vec::new();
    let (read, written) = keys.into_iter().map(|key| c.twice(key, &mut before)).unzip();
    let key = full_key(scope, read, span).map(Box::new);
    let e = Expr::new(ExprKind::MapGet { map: variable.map, key }, variable.ty.clone(), span);
    let target = Some(Target::Map(variable.map, full_key(scope, written, span)));
    Value { target, before, ..Value::new(e) }
}

/// The key of thread-local variables: the thread, or the processor of an idle one.
pub fn thread_key(span: Span) -> Expr {
    let of = |b, ty: Type| cast(builtin(b, ty, span), &Type::U64);
    let tid = of(Builtin::Tid, Type::U32);
    let cpu = of(Builtin::Cpu, Type::U32);
    let idle = binary(BinaryOp::BitOr, cpu, int(1 << 32, Type::U64, span));
    let busy = binary(BinaryOp::Ne, tid.clone(), int(0, Type::U64, span));
    choose(busy, tid, idle)
}

fn full_key(scope: Scope, keys: Vec<Expr>, span: Span) -> Option<Expr> {
    let mut all: Vec<Expr> = if scope == Scope::Thread { vec![thread_key(span)] } else { Vec::new() };
    all.extend(keys);
    super::value::key(all, span)
}

/// Makes a variable known.
pub fn declare(
    c: &mut Checker<'_>,
    scope: Scope,
    name: &Arc<str>,
    ty: Type,
    keys: Vec<Type>,
    indexed: bool,
    span: Span,
) -> Variable {
    let mut all: Vec<Type> = if scope == Scope::Thread { vec![Type::U64] } else { Vec::new() };
    all.extend(keys.iter().cloned());
    let key = super::value::key_type(all);
    let shown = match scope {
        Scope::Global => name.to_string(),
        Scope::Thread => format!("self->{name}"),
        Scope::Clause => format!("this->{name}"),
    };
    let map = c.map(&shown, key, ty.clone(), span);
    let variable = Variable { map, ty, keys, indexed };
    c.variables.known.insert((scope, name.clone()), variable.clone());
    variable
}

/// `self->name` and `this->name`.
pub fn scoped(c: &mut Checker<'_>, scope: Scope, name: &Arc<str>, span: Span) -> Value {
    if scope == Scope::Clause {
        if let Some(local) = this_local(c, name) {
            let ty = c.frame.locals[local.0 as usize].ty.clone();
            let e = read_as(local, ty, span);
            return Value { target: Some(Target::Local(local)), ..Value::new(e) };
        }
    } else if let Some(variable) = c.variables.known.get(&(scope, name.clone())).cloned() {
        if variable.indexed {
            return c.wrong(tags::D_IDENT_BADREF, span, format!("{name} may not be referenced as a scalar"));
        }
        return value_of(c, &variable, scope, Vec::new(), span);
    }
    let word = if scope == Scope::Clause { "this" } else { "self" };
    c.wrong(tags::D_VAR_UNDEF, span, format!("{word}->{name} has not yet been declared or assigned"))
}

fn this_local(c: &mut Checker<'_>, name: &Arc<str>) -> Option<crate::lang::typed::LocalId> {
    if let Some(local) = c.frame.this.get(name) {
        return Some(*local);
    }
    let ty = c.variables.declared_this.get(name)?.clone();
    let local = c.local(&format!("this->{name}"), ty);
    c.frame.this.insert(name.clone(), local);
    Some(local)
}

/// The variable that an expression names: `name`, `self->name` or `this->name`.
pub fn named(e: &ast::Expr) -> Option<(Scope, Arc<str>)> {
    match &e.kind {
        ast::ExprKind::Ident(name) => Some((Scope::Global, name.clone())),
        ast::ExprKind::Member { base, arrow: true, name } => match &base.kind {
            ast::ExprKind::Ident(word) if &**word == "self" => Some((Scope::Thread, name.text.clone())),
            ast::ExprKind::Ident(word) if &**word == "this" => Some((Scope::Clause, name.text.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// The variable that an assignment names, made known when it is new.
pub fn assigned(c: &mut Checker<'_>, target: &ast::Expr, ty: &Type) -> Option<Value> {
    let ty = match ty {
        Type::Str { .. } | Type::FuncName => c.string(),
        Type::Bool => Type::I32,
        other => other.clone(),
    };
    let span = target.span;
    let (base, items) = match &target.kind {
        ast::ExprKind::Index(base, items) => (&**base, Some(items)),
        _ => (target, None),
    };
    let (scope, name) = named(base)?;
    if matches!(&*name, "self" | "this") {
        return None;
    }
    let known = match scope {
        Scope::Clause => this_local(c, &name).is_some(),
        _ => c.variables.known.contains_key(&(scope, name.clone())),
    };
    if known || scope == Scope::Global && is_taken(c, &name) {
        return None;
    }
    if !is_scalar(&ty) && !matches!(ty, Type::Str { .. } | Type::Struct(_) | Type::Array { .. } | Type::Inet) {
        if ty != Type::Error {
            let text = c.type_text(&ty);
            c.error(tags::D_OP_INCOMPAT, span, format!("a value of type {text} can't be kept in a variable"));
        }
        return Some(error_value(span));
    }
    let Some(items) = items else {
        if scope == Scope::Clause {
            let local = c.local(&format!("this->{name}"), ty.clone());
            c.frame.this.insert(name.clone(), local);
            c.variables.declared_this.insert(name, ty.clone());
            let e = read_as(local, ty, span);
            return Some(Value { target: Some(Target::Local(local)), ..Value::new(e) });
        }
        let variable = declare(c, scope, &name, ty, Vec::new(), false, span);
        return Some(value_of(c, &variable, scope, Vec::new(), span));
    };
    if scope == Scope::Clause {
        c.error(tags::D_ARR_LOCAL, span, format!("associative array this->{name} may not be clause-local"));
        return Some(error_value(span));
    }
    let keys: Vec<Expr> = items.iter().map(|e| key_part(c, e)).collect();
    let types: Vec<Type> = keys.iter().map(|e| e.ty.clone()).collect();
    let variable = declare(c, scope, &name, ty, types, true, span);
    Some(value_of(c, &variable, scope, keys, span))
}

/// Whether a plain name is that of something else.
fn is_taken(c: &Checker<'_>, name: &str) -> bool {
    c.inlines.contains_key(name)
        || super::prototypes::is_function(name)
        || builtins::is_builtin(name)
        || c.types.enumerators.contains_key(name)
        || c.frame.site.inline_arguments.contains_key(name)
}

/// An element, or a variable with `->`, whose first use is behind `!`, `-` or `~`: a number of 64 bits from then on.
/// A plain name is not made known so.
pub fn first_asked(c: &mut Checker<'_>, operand: &ast::Expr) -> Option<Value> {
    let base = match &operand.kind {
        ast::ExprKind::Index(base, _) => &**base,
        ast::ExprKind::Member { .. } => operand,
        _ => return None,
    };
    let of_the_kernel = matches!(&base.kind, ast::ExprKind::Ident(name) if name.contains('`'));
    if of_the_kernel { None } else { assigned(c, operand, &WORD) }
}

/// A key of an array or an aggregation: numbers as 64 bits, text in full.
pub fn key_part(c: &mut Checker<'_>, e: &ast::Expr) -> Expr {
    let whole = matches!(&e.kind, ast::ExprKind::Ident(name) if matches!(&**name, "curpsinfo" | "curlwpsinfo"));
    if whole || matches!(e.kind, ast::ExprKind::Aggregation(_)) {
        c.error(tags::D_KEY_TYPE, e.span, "expression may not be used as a key");
        return int(0, WORD, e.span);
    }
    let value = c.expr(e);
    let span = value.span();
    match value.ty() {
        Type::Error => int(0, WORD, span),
        Type::Str { .. } => c.text(value.e),
        ty if is_scalar(ty) => {
            let wide = if ty.is_signed() || *ty == Type::Bool { Type::I64 } else { Type::U64 };
            // What prints is as wide as the value was.
            match ty {
                Type::Int { .. } => value.e,
                Type::Bool => cast(value.e, &Type::I32),
                _ => cast(value.e, &wide),
            }
        }
        Type::Array { of, .. } if matches!(**of, Type::Int { size: 1, .. }) => c.text(value.e),
        Type::Struct(_) => value.e,
        Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::FuncName | Type::Inet => value.e,
        _ => {
            c.error(tags::D_KEY_TYPE, span, "expression may not be used as a key");
            int(0, WORD, span)
        }
    }
}

/// An element of an associative array; `None` when the base is none.
pub fn element(c: &mut Checker<'_>, base: &ast::Expr, items: &[ast::Expr], span: Span) -> Option<Value> {
    let (scope, name) = named(base)?;
    if let Some(inline) = c.inlines.get(&name).filter(|i| scope == Scope::Global && !i.keys.is_empty()).cloned() {
        let arguments: Vec<Value> = items.iter().map(|e| c.expr(e)).collect();
        return Some(put_in(c, &inline, &arguments, span));
    }
    let known = c.variables.known.get(&(scope, name.clone())).cloned();
    if known.is_none()
        && scope == Scope::Global
        && let Some((ty, text)) = super::library::inline_of_key(&name)
    {
        return Some(library_inline(c, (ty, text), items, span));
    }
    let variable = known?;
    if !variable.indexed {
        return None;
    }
    if items.len() != variable.keys.len() {
        let message =
            format!("{name}[ ] prototype mismatch: {} keys passed, {} expected", items.len(), variable.keys.len());
        c.error(tags::D_PROTO_LEN, span, message);
        return Some(error_value(span));
    }
    let mut keys = Vec::new();
    for (number, (item, wanted)) in items.iter().zip(&variable.keys).enumerate() {
        let value = c.expr(item);
        let text = c.type_text(value.ty());
        let at = value.span();
        if let Some(key) = c.convert(value, wanted) {
            keys.push(key);
        } else {
            let wanted = c.type_text(wanted);
            let number = number + 1;
            let message = format!("{name}[ ] key #{number} is incompatible with prototype: {text}, {wanted} expected");
            c.error(tags::D_PROTO_ARG, at, message);
            return Some(error_value(span));
        }
    }
    Some(value_of(c, &variable, scope, keys, span))
}

/// An inline of the reference's libraries with its one argument, a number.
fn library_inline(c: &mut Checker<'_>, (ty, text): (&str, &str), items: &[ast::Expr], span: Span) -> Value {
    let [item] = items else {
        let message = format!("prototype mismatch: {} arguments passed, 1 expected", items.len());
        return c.wrong(tags::D_PROTO_LEN, span, message);
    };
    let value = c.expr(item);
    let at = value.span();
    if value.is_error() {
        return value;
    }
    let Some(number) = c.convert(value, &Type::I32) else {
        return c.wrong(tags::D_PROTO_ARG, at, "the argument is a number");
    };
    let mut out = Vec::new();
    let number = c.kept(number, &mut out);
    let text = c.snippet(ty, text, &[("__key", number)], span);
    Value { e: block(out, text.e.clone()), ..text }
}

fn put_in(c: &mut Checker<'_>, inline: &Inline, arguments: &[Value], span: Span) -> Value {
    if arguments.len() != inline.keys.len() {
        let message =
            format!("prototype mismatch: {} arguments passed, {} expected", arguments.len(), inline.keys.len());
        return c.wrong(tags::D_PROTO_LEN, span, message);
    }
    if let Some(why) = c.beyond_budget(inline.value.span) {
        return c.wrong(tags::D_UNKNOWN, span, why);
    }
    let mut named = HashMap::new();
    for ((name, ty), value) in inline.keys.iter().zip(arguments) {
        let at = value.span();
        match c.convert(value.clone(), ty) {
            Some(e) => {
                named.insert(name.clone(), e);
            }
            None => c.error(tags::D_PROTO_ARG, at, format!("argument {name} has another type")),
        }
    }
    let outer = std::mem::replace(&mut c.frame.site.inline_arguments, named);
    c.depth += 1;
    let value = c.expr(&inline.value);
    c.depth -= 1;
    c.frame.site.inline_arguments = outer;
    let constant = value.constant;
    match c.convert(value, &inline.ty) {
        Some(mut e) => {
            e.span = span;
            Value { constant, ..Value::new(e) }
        }
        None => error_value(span),
    }
}

/// The statements that give a variable its value. Assigning 0 to what is kept by key removes it.
pub fn assignment(c: &mut Checker<'_>, target: &Target, value: Expr, span: Span) -> Vec<Statement> {
    match target {
        Target::Local(local) => vec![Statement { span, ..set(*local, value) }],
        Target::Map(map, None) => {
            vec![statement(StatementKind::SetMap { map: *map, key: None, value }, span)]
        }
        Target::Map(map, Some(key)) => {
            let delete = |key: Expr| {
                let kind = ExprKind::MapDelete { map: *map, key: Some(Box::new(key)) };
                effect(Expr::new(kind, Type::Bool, span))
            };
            if value.as_int() == Some(0) {
                return vec![delete(key.clone())];
            }
            if value.as_int().is_some() || !is_scalar(&value.ty) {
                return vec![statement(StatementKind::SetMap { map: *map, key: Some(key.clone()), value }, span)];
            }
            let kept = c.local("%kept", value.ty.clone());
            let again = read_as(kept, value.ty.clone(), span);
            let kind = StatementKind::SetMap { map: *map, key: Some(key.clone()), value: again.clone() };
            let either = either(again, vec![statement(kind, span)], vec![delete(key.clone())]);
            vec![Statement { span, ..set(kept, value) }, either]
        }
        Target::Part(place) => {
            vec![Statement { span, ..store(place.clone(), value) }]
        }
    }
}

/// `place = value` as an expression.
pub fn assign(c: &mut Checker<'_>, target: &Target, value: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let kept = c.kept(value, &mut out);
    out.extend(assignment(c, target, kept.clone(), span));
    Value::new(block(out, kept))
}
