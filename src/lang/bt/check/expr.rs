//! Expressions by their kind.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, NO_VALUE, TYPE_MISMATCH, UNKNOWN_TYPE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{boolean, constant, effect, string, wrap};
use crate::lang::bt::check::{
    cast, frame, join, maps, operators, place, strict, suggest, type_text, typeinfo, typename,
};

impl Checker<'_> {
    /// Types an expression that must have a value.
    pub fn value(&mut self, e: &ast::Expr) -> Expr {
        let typed = self.expr(e);
        if matches!(typed.ty, Type::Void) {
            return self.error_expr(NO_VALUE, e.span, "this gives no value");
        }
        if let Type::Agg(_) = typed.ty {
            return maps::aggregate_as_value(self, typed);
        }
        typed
    }

    /// Types any expression; those made for their effect are `Void`.
    pub fn expr(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Error => Self::error_value(span),
            ast::ExprKind::Int(v) => {
                let ty = if *v > i64::MAX as u64 { Type::U64 } else { Type::I64 };
                Expr::new(ExprKind::Int(*v), ty, span)
            }
            ast::ExprKind::Str(s) => text(self, s, span),
            ast::ExprKind::Bool(b) => boolean(*b, span),
            ast::ExprKind::Ident(name) => self.identifier(name, span),
            ast::ExprKind::Variable(name) => frame::variable(self, name, span),
            ast::ExprKind::Positional(_) | ast::ExprKind::PositionalCount => constant(0, span),
            ast::ExprKind::Map(name, keys) => maps::map_get(self, name, keys.as_deref(), span),
            ast::ExprKind::Call(name, args) => self.call(name, args, span),
            ast::ExprKind::SizeOf(what) => size_of_operand(self, what, span),
            ast::ExprKind::OffsetOf(what, path) => offset_of(self, what, path, span),
            ast::ExprKind::Unary(op, operand) => operators::unary(self, *op, operand, span),
            ast::ExprKind::Step { target, decrement, postfix } => {
                operators::step(self, target, *decrement, *postfix, span)
            }
            ast::ExprKind::Binary(op, a, b) => operators::binary(self, *op, a, b, span),
            ast::ExprKind::Conditional(c, a, b) => conditional(self, c, a.as_deref(), b, span),
            ast::ExprKind::If(c, a, b) => if_expression(self, c, a, b, span),
            ast::ExprKind::Cast(ty, operand) => cast::cast(self, ty, operand, span),
            ast::ExprKind::Field(base, name) => place::field(self, base, name, span),
            ast::ExprKind::TupleField(base, index, _) => {
                let base = self.value(base);
                place::tuple_field(self, base, u64::from(*index), span)
            }
            ast::ExprKind::Index(base, index) => place::index(self, base, index, span),
            ast::ExprKind::Tuple(items) => tuple(self, items, span),
            ast::ExprKind::Record(items) => record(self, items, span),
            ast::ExprKind::Block(block) => block_expression(self, block, span),
            ast::ExprKind::Comptime(inner) => known_before(self, inner, span),
            ast::ExprKind::Type(name) => {
                let _ = typename::type_name(self, name);
                // `timestamp` is DTrace's clock and a type here.
                let help = match &name.base {
                    ast::TypeBase::Named(word) => suggest::of_other_languages(word),
                    _ => None,
                };
                self.error_help(NO_VALUE, span, "a type is no value", help);
                Self::error_value(span)
            }
            ast::ExprKind::TypeInfo(what) => typeinfo::type_info(self, what, span),
        }
    }
}

/// `comptime e`: a value that is known before the script runs.
fn known_before(c: &mut Checker<'_>, e: &ast::Expr, span: Span) -> Expr {
    let typed = c.expr(e);
    if join::unknown(&typed.ty) || is_known(&typed) {
        return typed;
    }
    let message = "this is known only when the script runs, and comptime wants to know it before";
    c.error_help(crate::lang::codes::check::NEEDS_LITERAL, span, message, Some("leave `comptime` out".to_owned()));
    Checker::error_value(span)
}

/// A string constant, which is no longer than strings may be.
fn text(c: &mut Checker<'_>, s: &Arc<str>, span: Span) -> Expr {
    let most = c.config.max_strlen;
    if bytes_of(s).len() >= most as usize {
        let message = format!("String is too long (over {most} bytes): {s}");
        let help = Some("raise it: `config = { max_strlen = ... }`".to_owned());
        c.error_help(crate::lang::codes::check::OUT_OF_RANGE, span, message, help);
    }
    // Strings end at their first zero byte.
    match s.split_once('\0') {
        Some((before, _)) => string(&before.into(), span),
        None => string(s, span),
    }
}

fn tuple(c: &mut Checker<'_>, items: &[ast::Expr], span: Span) -> Expr {
    let items: Vec<Expr> = items.iter().map(|e| element(c, e)).collect();
    let ty = Type::Tuple(items.iter().map(|e| e.ty.clone()).collect());
    Expr::new(ExprKind::Tuple(items), ty, span)
}

fn record(c: &mut Checker<'_>, items: &[(ast::Name, ast::Expr)], span: Span) -> Expr {
    let mut fields: Vec<(Arc<str>, Type)> = Vec::new();
    let mut values = Vec::new();
    for (name, value) in items {
        let value = element(c, value);
        if fields.iter().any(|(n, _)| *n == name.text) {
            c.error(
                crate::lang::codes::check::DUPLICATE,
                name.span,
                format!("the record has two fields `{}`", name.text),
            );
            continue;
        }
        fields.push((name.text.clone(), value.ty.clone()));
        values.push(value);
    }
    Expr::new(ExprKind::Tuple(values), Type::Record(fields.into()), span)
}

/// A value that is stored inside another: struct places are read whole.
fn element(c: &mut Checker<'_>, e: &ast::Expr) -> Expr {
    let value = c.value(e);
    c.types.complete(&value.ty);
    value
}

fn block_expression(c: &mut Checker<'_>, block: &ast::Block, span: Span) -> Expr {
    expanding(c, block.span, span, |c| {
        c.scoped(|c| {
            let statements = c.statements(&block.statements);
            let value = match &block.value {
                Some(value) => c.expr(value),
                None => Expr::new(ExprKind::Int(0), Type::Void, span),
            };
            wrap(statements, value, span)
        })
    })
}

/// Runs `f` on a body that stands in the place of `call`; the body of a macro stands elsewhere.
pub fn expanding<T>(c: &mut Checker<'_>, body: Span, call: Span, f: impl FnOnce(&mut Checker) -> T) -> T {
    let expanded = body.start < call.start || body.end > call.end;
    if expanded {
        let text = c.source.slice(call).trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        c.expansions.push(Span::new(call.start, call.start + text.len() as u32));
    }
    let result = f(c);
    if expanded {
        c.expansions.pop();
    }
    result
}

fn conditional(c: &mut Checker<'_>, asked: &ast::Expr, a: Option<&ast::Expr>, b: &ast::Expr, span: Span) -> Expr {
    let typed = c.value(asked);
    let Some(a) = a else {
        let known = match &typed.kind {
            ExprKind::Str(text) => Some(!text.is_empty()),
            _ => typed.as_int().map(|n| n != 0),
        };
        if let Some(taken) = known {
            let b = c.value(b);
            let condition = boolean(taken, span);
            return choose(c, condition, typed, b, span);
        }
        // `c ?: b`: the condition is evaluated once.
        let local = c.frame.temporary(typed.ty.clone(), asked.span);
        let again = Expr::new(ExprKind::Local(local), typed.ty.clone(), asked.span);
        let set = Statement { kind: StatementKind::SetLocal(local, typed), span: asked.span };
        let condition = c.condition(again.clone());
        let b = c.value(b);
        let value = choose(c, condition, again, b, span);
        return wrap(vec![set], value, span);
    };
    let condition = c.condition(typed);
    let (a, b) = (c.expr(a), c.expr(b));
    choose(c, condition, a, b, span)
}

fn if_expression(c: &mut Checker<'_>, asked: &ast::Expr, a: &ast::Block, b: &ast::Block, span: Span) -> Expr {
    let condition = c.value(asked);
    let condition = c.condition(condition);
    if let Some(taken) = decided(asked, &condition) {
        let block = if taken { a } else { b };
        return block_expression(c, block, block.span);
    }
    let a = block_expression(c, a, a.span);
    let b = block_expression(c, b, b.span);
    choose(c, condition, a, b, span)
}

fn choose(c: &mut Checker<'_>, condition: Expr, a: Expr, b: Expr, span: Span) -> Expr {
    if matches!(a.ty, Type::Void) || matches!(b.ty, Type::Void) {
        let (a, b) = (effect(a), effect(b));
        let statement = Statement { kind: StatementKind::If(condition, a, b), span };
        return wrap(vec![statement], Expr::new(ExprKind::Int(0), Type::Void, span), span);
    }
    let Some(joined) = join::join(&join::infer_type(&a), &join::infer_type(&b)) else {
        if let Some(known) = condition.as_int() {
            return if known == 0 { b } else { a };
        }
        let (x, y) = (type_text::text(&c.types, &a.ty), type_text::text(&c.types, &b.ty));
        return c.error_expr(TYPE_MISMATCH, span, format!("one branch gives {x}, the other {y}"));
    };
    strict::warn_cast(c, &a, &join::smallest(&joined));
    strict::warn_cast(c, &b, &join::smallest(&joined));
    let ty = join::resolve(&joined);
    let (a, b) = (c.coerce(a, &ty), c.coerce(b, &ty));
    Expr::new(ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)), ty, span)
}

fn size_of_operand(c: &mut Checker<'_>, what: &ast::TypeOrExpr, span: Span) -> Expr {
    let ty = match what {
        ast::TypeOrExpr::Type(name) => typename::type_name(c, name),
        ast::TypeOrExpr::Expr(e) => typename::smallest_type(c, e),
    };
    if matches!(ty, Type::Error) {
        return Checker::error_value(span);
    }
    // An enum's values are 64 bits wide, whatever a struct's member of it takes.
    let member = matches!(what, ast::TypeOrExpr::Expr(ast::Expr { kind: ast::ExprKind::Field(..), .. }));
    let size = if matches!(ty, Type::Enum { .. }) && !member { 8 } else { c.size_of(&ty) };
    // A literal: `-sizeof(x)` is negative.
    Expr::new(ExprKind::Int(u64::from(size)), Type::I64, span)
}

fn offset_of(c: &mut Checker<'_>, what: &ast::TypeOrExpr, path: &[ast::Name], span: Span) -> Expr {
    let mut ty = match what {
        ast::TypeOrExpr::Type(name) => typename::type_name(c, name),
        ast::TypeOrExpr::Expr(e) => typename::type_of(c, e),
    };
    let mut offset = 0_u64;
    for name in path {
        let id = match &ty {
            Type::Error => return Checker::error_value(span),
            Type::Struct(id) => *id,
            other => {
                let text = type_text::text(&c.types, other);
                return c.error_expr(UNKNOWN_TYPE, name.span, format!("{text} has no fields"));
            }
        };
        let Some(field) = c.types.field(id, &name.text, crate::lang::types::AddressSpace::Kernel) else {
            return place::no_field(c, id, name);
        };
        if field.bits.is_some() {
            return c.error_expr(ARGUMENT_TYPE, name.span, "a bitfield has no offset");
        }
        offset += u64::from(field.offset);
        ty = field.ty;
    }
    Expr::new(ExprKind::Int(offset), Type::I64, span)
}

/// Whether a value is made of constants alone.
fn is_known(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Str(_) => true,
        ExprKind::Tuple(items) => items.iter().all(is_known),
        ExprKind::TupleField(base, _) | ExprKind::Cast(base) | ExprKind::Unary(_, base) => is_known(base),
        ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => is_known(a) && is_known(b),
        _ => false,
    }
}

/// What `comptime` decided: the other branch of such an `if` is not looked at, it may make no sense.
pub fn decided(asked: &ast::Expr, condition: &Expr) -> Option<bool> {
    let known = condition.as_int().map(|n| n != 0);
    known.filter(|_| matches!(asked.kind, ast::ExprKind::Comptime(_)))
}
