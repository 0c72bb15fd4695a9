//! Types of a body's variables, and the zeros that they begin with.

use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Local, LocalId, Statement, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::state::{Declaration, LocalState};
use crate::lang::bt::check::join::resolve;

/// The type of a variable, `Error` while it is unknown.
fn local_type(c: &Checker<'_>, id: LocalId) -> Type {
    let Some(local) = c.frame.locals.get(id.0 as usize) else { return Type::Error };
    match &local.fixed {
        Some(ty) => ty.clone(),
        None => c.variables.get(&local.key).map_or(Type::Error, resolve),
    }
}

/// The inferred type of a variable, literals in it still flexible.
pub fn inferred_local(c: &Checker<'_>, id: LocalId) -> Option<Type> {
    let local = c.frame.locals.get(id.0 as usize)?;
    match local.fixed {
        None => c.variables.get(&local.key).cloned(),
        Some(_) => local.counts.clone(),
    }
}

pub fn local_expr(c: &Checker<'_>, id: LocalId, span: Span) -> Expr {
    Expr::new(ExprKind::Local(id), local_type(c, id), span)
}

/// Variables of the whole body start as zero or empty.
pub fn hoisted_zeros(c: &mut Checker<'_>, span: Span) -> Vec<Statement> {
    let hoisted = |local: &LocalState| matches!(local.key.1, Declaration::Body(_)) && local.fixed.is_none();
    let outer: Vec<LocalId> =
        (0..c.frame.locals.len()).filter(|i| hoisted(&c.frame.locals[*i])).map(|i| LocalId(i as u32)).collect();
    outer.into_iter().filter_map(|id| zero_statement(c, id, Span::new(span.start, span.start))).collect()
}

/// The frame's variables, typed.
pub fn typed_locals(c: &Checker<'_>) -> Vec<Local> {
    (0..c.frame.locals.len())
        .map(|i| {
            let ty = match local_type(c, LocalId(i as u32)) {
                Type::Error => Type::I64,
                ty => ty,
            };
            Local { name: c.frame.locals[i].name.clone(), ty }
        })
        .collect()
}

/// `let $x = zero`, so that a variable declared in a loop starts anew each iteration.
pub fn zero_statement(c: &mut Checker<'_>, id: LocalId, span: Span) -> Option<Statement> {
    let ty = local_type(c, id);
    let kind = match &ty {
        t if t.fits_register() => ExprKind::Int(0),
        Type::Str { .. } => {
            let empty = Expr::new(ExprKind::Str("".into()), Type::Str { size: 1 }, span);
            let value = c.coerce(empty, &ty);
            return Some(Statement { kind: StatementKind::SetLocal(id, value), span });
        }
        _ => return None,
    };
    Some(Statement { kind: StatementKind::SetLocal(id, Expr::new(kind, ty, span)), span })
}
