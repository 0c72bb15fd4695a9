//! One body being checked: its scopes, its variables and the probe it belongs to.

pub mod state;
pub mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::codes::check::{OUTER_SCOPE, TYPE_MISMATCH, UNDEFINED_VARIABLE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, LocalId, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::{infer_type, join, resolve, smallest};
use crate::lang::bt::check::literal::is_literal;
use crate::lang::bt::check::{coerce, strict, suggest, type_text};

pub use crate::lang::bt::check::frame::state::Declaration;
pub use crate::lang::bt::check::frame::state::Frame;
pub use crate::lang::bt::check::frame::state::Kind;
pub use crate::lang::bt::check::frame::state::LocalState;

impl Checker<'_> {
    /// Runs `f` in a new block scope.
    pub fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.frame.scopes.push(BTreeMap::new());
        let result = f(self);
        self.frame.scopes.pop();
        result
    }
}

/// Reads a variable by name.
pub fn variable(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> Expr {
    let Some(id) = c.frame.find_local(name) else {
        let help = c.help(|c| {
            let known = c.frame.scopes.iter().flat_map(BTreeMap::keys);
            let near = suggest::did_you_mean(name, known.map(|n| &**n));
            Some(near.unwrap_or_else(|| format!("assign it first: `{name} = ...;`")))
        });
        c.error_help(UNDEFINED_VARIABLE, span, format!("Undefined or undeclared variable: {name}"), help);
        return Checker::error_value(span);
    };
    let Some(local) = c.frame.locals.get_mut(id.0 as usize) else { return Checker::error_value(span) };
    local.read = true;
    if local.empty && c.options.like_bpftrace {
        c.warn(
            crate::lang::codes::check::READ_UNASSIGNED,
            span,
            format!("Variable used before it was assigned: {name}"),
            None,
        );
    }
    variables::local_expr(c, id, span)
}

/// Joins a value's type to a variable's and gives the value in the variable's type.
pub fn assign_local(c: &mut Checker<'_>, id: LocalId, value: Expr) -> Expr {
    let Some(local) = c.frame.locals.get_mut(id.0 as usize) else { return value };
    local.empty = false;
    let (name, declared) = (local.name.clone(), local.span);
    if let Some(ty) = local.fixed.clone() {
        let is = type_text::inferred(&c.types, &infer_type(&value));
        let place = c.assigning;
        if !holds(&ty, &value) {
            let to = type_text::text(&c.types, &ty);
            let message = format!(
                "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has a \
                 type '{to}'"
            );
            return c.error_expr(TYPE_MISMATCH, place.unwrap_or(value.span), message);
        }
        warn_of_cut(c, &ty, &value);
        return coerce::coerce_or_report_at(c, value, &ty, place, |_, to| {
            format!(
                "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has a \
                 type '{to}'"
            )
        });
    }
    let key = local.key;
    let known = c.variables.get(&key).cloned().unwrap_or(Type::Error);
    let new = infer_type(&value);
    match join(&known, &new) {
        Some(joined) => {
            if joined != known {
                c.variables.insert(key, joined.clone());
                c.changed = true;
            }
            strict::warn_cast(c, &value, &smallest(&joined));
            c.coerce(value, &resolve(&joined))
        }
        None => {
            let (was, is) = (type_text::inferred(&c.types, &known), type_text::inferred(&c.types, &new));
            let diagnostic = crate::lang::diagnostic::Diagnostic::error(
                TYPE_MISMATCH,
                c.assigning.unwrap_or(value.span),
                format!(
                    "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has \
                     a type '{was}'"
                ),
            )
            .label(declared, "first assigned here")
            .help("one variable has one type: use another name");
            c.push(diagnostic);
            Checker::error_value(value.span)
        }
    }
}

/// A number that a declared type may cut or give another sign.
fn warn_of_cut(c: &mut Checker<'_>, declared: &Type, value: &Expr) {
    let (Type::Int { size, signed }, Type::Int { size: from, signed: sign }) = (declared, &value.ty) else {
        return;
    };
    if in_range(declared, value) || from < size && (*signed || !*sign) || from == size && signed == sign {
        return;
    }
    let (is, to) = (type_text::text(&c.types, &value.ty), type_text::text(&c.types, declared));
    let message = format!(
        "Expression of type: {is} being cast to type: {to}. This may cause unexpected results. Use an explicit \
         cast to suppress this warning."
    );
    c.warn(crate::lang::codes::check::CUT_NUMBER, value.span, message, None);
}

/// A variable that is counted up or down: an integer, which has 8 bytes from then on, and a sign when it may fall
/// below zero.
pub fn widened(c: &mut Checker<'_>, id: LocalId, e: Expr, falls: bool, span: Span) -> Expr {
    let Type::Int { size, signed } = e.ty else { return e };
    let inferred = c.frame.locals.get(id.0 as usize).filter(|l| l.fixed.is_none()).map(|l| l.key);
    let Some(key) = inferred else { return e };
    let literal = c.variables.get(&key).is_some_and(|t| *t != resolve(t));
    if size == 8 && !literal && (signed || !falls) {
        return e;
    }
    // Counting computes on 64 bits, signed unless the variable is as wide and unsigned itself.
    let wide = Type::Int { size: 8, signed: signed || falls || size < 8 };
    c.variables.insert(key, wide);
    c.changed = true;
    variables::local_expr(c, id, span)
}

/// `name = value`, which declares the variable where it is new.
pub fn set_variable(c: &mut Checker<'_>, name: &Arc<str>, span: Span, value: Expr) -> StatementKind {
    let id = variable_to_set(c, name, span);
    let value = assign_local(c, id, value);
    StatementKind::SetLocal(id, value)
}

pub fn variable_to_set(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> LocalId {
    if let Some(id) = c.frame.find_local(name) {
        return id;
    }
    if c.frame.hoisted.contains(name) {
        let id = declare_outer(c, name, span);
        return id;
    }
    c.frame.declare(name, None, span)
}

/// Old scripts use variables outside the block that first assigns them: such a variable belongs
/// to the whole body.
fn declare_outer(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> LocalId {
    let id = LocalId(c.frame.locals.len() as u32);
    let at = c.frame.hoisted.iter().position(|n| n == name).unwrap_or(0);
    let key = (c.frame.id, Declaration::Body(at));
    c.frame.locals.push(LocalState::new(name.clone(), None, key, span));
    if let Some(scope) = c.frame.scopes.first_mut() {
        scope.insert(name.clone(), id);
    }
    c.warn(
        OUTER_SCOPE,
        span,
        format!("`{name}` is used outside the block that assigns it"),
        Some(format!("declare it before the block: `let {name};`")),
    );
    id
}

/// Whether a declared type has room for a literal: it is not cut without being asked. Other constants have a type
/// of their own, as `(int32)500`, and are cut like any other value.
fn holds(declared: &Type, value: &Expr) -> bool {
    match (declared, &value.ty) {
        (Type::Int { .. }, Type::Int { .. }) => !is_literal(value) || in_range(declared, value),
        (Type::Str { size }, Type::Str { size: of }) => of <= size || !matches!(value.kind, ExprKind::Str(_)),
        _ => true,
    }
}

/// Whether a constant is one of an integer type's numbers, as any is of those of 8 bytes.
fn in_range(ty: &Type, value: &Expr) -> bool {
    let (Type::Int { size, signed }, Some(v)) = (ty, value.as_int()) else { return false };
    let v = if value.ty.is_signed() { i128::from(v as i64) } else { i128::from(v) };
    let bits = u32::from(*size) * 8;
    let (low, high) = if *signed { (-(1_i128 << (bits - 1)), 1_i128 << (bits - 1)) } else { (0, 1_i128 << bits) };
    *size == 8 || (low..high).contains(&v)
}
