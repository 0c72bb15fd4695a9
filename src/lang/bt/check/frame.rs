//! One body being checked: its scopes, its variables and the probe it belongs to.

pub mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::codes::check::{OUTER_SCOPE, TYPE_MISMATCH, UNDEFINED_VARIABLE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Local, LocalId, Statement, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::{infer_type, join, resolve, smallest};
use crate::lang::bt::check::literal::is_literal;
use crate::lang::bt::check::suggest;

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

    pub fn find_local(&self, name: &str) -> Option<LocalId> {
        self.frame.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Where a variable of this name is declared that a new one would hide. Those that belong to the whole body because
    /// old scripts use them outside their block hide nothing.
    pub fn shadowed(&self, name: &Arc<str>) -> Option<Span> {
        let innermost = self.frame.scopes.last().is_some_and(|scope| scope.contains_key(name));
        let id = self.find_local(name).filter(|_| innermost || !self.frame.hoisted.contains(name))?;
        self.frame.locals.get(id.0 as usize).map(|local| local.span)
    }

    /// Declares a variable in the innermost scope.
    pub fn declare(&mut self, name: &Arc<str>, fixed: Option<Type>, span: Span) -> LocalId {
        let id = LocalId(self.frame.locals.len() as u32);
        let declared = self.frame.declared.entry(span).or_default();
        let key = (self.frame.id, Declaration::Text(span, *declared));
        *declared += 1;
        self.frame.locals.push(LocalState::new(name.clone(), fixed, key, span));
        if let Some(scope) = self.frame.scopes.last_mut() {
            scope.insert(name.clone(), id);
        }
        id
    }

    /// A made-up variable for a value that is used more than once.
    pub fn temporary(&mut self, ty: Type, span: Span) -> LocalId {
        let id = LocalId(self.frame.locals.len() as u32);
        let name = format!("%{}", id.0).into();
        let local = LocalState::new(name, Some(ty), (u32::MAX, Declaration::Temporary), span);
        self.frame.locals.push(LocalState { read: true, ..local });
        id
    }

    /// The type of a variable, `Error` while it is unknown.
    pub fn local_type(&self, id: LocalId) -> Type {
        let Some(local) = self.frame.locals.get(id.0 as usize) else { return Type::Error };
        match &local.fixed {
            Some(ty) => ty.clone(),
            None => self.variables.get(&local.key).map_or(Type::Error, resolve),
        }
    }

    /// The inferred type of a variable, literals in it still flexible.
    pub fn inferred_local(&self, id: LocalId) -> Option<Type> {
        let local = self.frame.locals.get(id.0 as usize)?;
        match local.fixed {
            None => self.variables.get(&local.key).cloned(),
            Some(_) => local.counts.clone(),
        }
    }

    pub fn local_expr(&self, id: LocalId, span: Span) -> Expr {
        Expr::new(ExprKind::Local(id), self.local_type(id), span)
    }

    /// Reads a variable by name.
    pub fn variable(&mut self, name: &Arc<str>, span: Span) -> Expr {
        let Some(id) = self.find_local(name) else {
            let known: Vec<Arc<str>> = self.frame.scopes.iter().flat_map(BTreeMap::keys).cloned().collect();
            let help = suggest::did_you_mean(name, known.iter().map(|n| &**n))
                .unwrap_or_else(|| format!("assign it first: `{name} = ...;`"));
            self.error_help(UNDEFINED_VARIABLE, span, format!("Undefined or undeclared variable: {name}"), Some(help));
            return Self::error_value(span);
        };
        let Some(local) = self.frame.locals.get_mut(id.0 as usize) else { return Self::error_value(span) };
        local.read = true;
        if local.empty && self.options.like_bpftrace {
            self.warn(
                crate::lang::codes::check::READ_UNASSIGNED,
                span,
                format!("Variable used before it was assigned: {name}"),
                None,
            );
        }
        self.local_expr(id, span)
    }

    /// Joins a value's type to a variable's and gives the value in the variable's type.
    pub fn assign_local(&mut self, id: LocalId, value: Expr) -> Expr {
        let Some(local) = self.frame.locals.get_mut(id.0 as usize) else { return value };
        local.empty = false;
        let (name, declared) = (local.name.clone(), local.span);
        if let Some(ty) = local.fixed.clone() {
            let is = self.inferred_text(&infer_type(&value));
            let place = self.assigning;
            if !holds(&ty, &value) {
                let to = self.type_text(&ty);
                let message = format!(
                    "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has a \
                     type '{to}'"
                );
                return self.error_expr(TYPE_MISMATCH, place.unwrap_or(value.span), message);
            }
            self.warn_of_cut(&ty, &value);
            return self.coerce_or_report_at(value, &ty, place, |_, to| {
                format!(
                    "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has a \
                     type '{to}'"
                )
            });
        }
        let key = local.key;
        let known = self.variables.get(&key).cloned().unwrap_or(Type::Error);
        let new = infer_type(&value);
        match join(&known, &new) {
            Some(joined) => {
                if joined != known {
                    self.variables.insert(key, joined.clone());
                    self.changed = true;
                }
                self.warn_cast(&value, &smallest(&joined));
                self.coerce(value, &resolve(&joined))
            }
            None => {
                let (was, is) = (self.inferred_text(&known), self.inferred_text(&new));
                let diagnostic = crate::lang::diagnostic::Diagnostic::error(
                    TYPE_MISMATCH,
                    self.assigning.unwrap_or(value.span),
                    format!(
                        "Type mismatch for {name}: trying to assign value of type '{is}' when variable already has \
                         a type '{was}'"
                    ),
                )
                .label(declared, "first assigned here")
                .help("one variable has one type: use another name");
                self.push(diagnostic);
                Self::error_value(value.span)
            }
        }
    }

    /// A number that a declared type may cut or give another sign.
    fn warn_of_cut(&mut self, declared: &Type, value: &Expr) {
        let (Type::Int { size, signed }, Type::Int { size: from, signed: sign }) = (declared, &value.ty) else {
            return;
        };
        if in_range(declared, value) || from < size && (*signed || !*sign) || from == size && signed == sign {
            return;
        }
        let (is, to) = (self.type_text(&value.ty), self.type_text(declared));
        let message = format!(
            "Expression of type: {is} being cast to type: {to}. This may cause unexpected results. Use an explicit \
             cast to suppress this warning."
        );
        self.warn(crate::lang::codes::check::CUT_NUMBER, value.span, message, None);
    }

    /// A variable that is counted up or down: an integer, which has 8 bytes from then on, and a sign when it may fall
    /// below zero.
    pub fn widened(&mut self, id: LocalId, e: Expr, falls: bool, span: Span) -> Expr {
        let Type::Int { size, signed } = e.ty else { return e };
        let inferred = self.frame.locals.get(id.0 as usize).filter(|l| l.fixed.is_none()).map(|l| l.key);
        let Some(key) = inferred else { return e };
        let literal = self.variables.get(&key).is_some_and(|t| *t != resolve(t));
        if size == 8 && !literal && (signed || !falls) {
            return e;
        }
        // Counting computes on 64 bits, signed unless the variable is as wide and unsigned itself.
        let wide = Type::Int { size: 8, signed: signed || falls || size < 8 };
        self.variables.insert(key, wide);
        self.changed = true;
        self.local_expr(id, span)
    }

    /// `name = value`, which declares the variable where it is new.
    pub fn set_variable(&mut self, name: &Arc<str>, span: Span, value: Expr) -> StatementKind {
        let id = self.variable_to_set(name, span);
        let value = self.assign_local(id, value);
        StatementKind::SetLocal(id, value)
    }

    pub fn variable_to_set(&mut self, name: &Arc<str>, span: Span) -> LocalId {
        if let Some(id) = self.find_local(name) {
            return id;
        }
        if self.frame.hoisted.contains(name) {
            let id = self.declare_outer(name, span);
            return id;
        }
        self.declare(name, None, span)
    }

    /// Old scripts use variables outside the block that first assigns them: such a variable belongs
    /// to the whole body.
    fn declare_outer(&mut self, name: &Arc<str>, span: Span) -> LocalId {
        let id = LocalId(self.frame.locals.len() as u32);
        let at = self.frame.hoisted.iter().position(|n| n == name).unwrap_or(0);
        let key = (self.frame.id, Declaration::Body(at));
        self.frame.locals.push(LocalState::new(name.clone(), None, key, span));
        if let Some(scope) = self.frame.scopes.first_mut() {
            scope.insert(name.clone(), id);
        }
        self.warn(
            OUTER_SCOPE,
            span,
            format!("`{name}` is used outside the block that assigns it"),
            Some(format!("declare it before the block: `let {name};`")),
        );
        id
    }

    /// Variables of the whole body start as zero or empty.
    pub fn hoisted_zeros(&mut self, span: Span) -> Vec<Statement> {
        let hoisted = |local: &LocalState| matches!(local.key.1, Declaration::Body(_)) && local.fixed.is_none();
        let outer: Vec<LocalId> = (0..self.frame.locals.len())
            .filter(|i| hoisted(&self.frame.locals[*i]))
            .map(|i| LocalId(i as u32))
            .collect();
        outer.into_iter().filter_map(|id| self.zero_statement(id, Span::new(span.start, span.start))).collect()
    }

    /// The frame's variables, typed.
    pub fn typed_locals(&self) -> Vec<Local> {
        (0..self.frame.locals.len())
            .map(|i| {
                let ty = match self.local_type(LocalId(i as u32)) {
                    Type::Error => Type::I64,
                    ty => ty,
                };
                Local { name: self.frame.locals[i].name.clone(), ty }
            })
            .collect()
    }

    /// `let $x = zero`, so that a variable declared in a loop starts anew each iteration.
    pub fn zero_statement(&mut self, id: LocalId, span: Span) -> Option<Statement> {
        let ty = self.local_type(id);
        let kind = match &ty {
            t if t.fits_register() => ExprKind::Int(0),
            Type::Str { .. } => {
                let empty = Expr::new(ExprKind::Str("".into()), Type::Str { size: 1 }, span);
                let value = self.coerce(empty, &ty);
                return Some(Statement { kind: StatementKind::SetLocal(id, value), span });
            }
            _ => return None,
        };
        Some(Statement { kind: StatementKind::SetLocal(id, Expr::new(kind, ty, span)), span })
    }
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
