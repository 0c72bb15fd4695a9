//! `comptime`: what literals alone decide; the rest is left to the checker, which knows types.

use crate::lang::bt::ast::{BinaryOp, Block, Expr, ExprKind, Statement, StatementKind, UnaryOp};
use crate::lang::bt::constant;

/// Folds `comptime e`, and `if comptime` as a value.
pub(super) fn expr(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Comptime(inner) => {
            if let Some(value) = literal(inner) {
                e.kind = value;
            }
        }
        ExprKind::If(condition, yes, no) => {
            let ExprKind::Bool(taken) = condition.kind else { return };
            e.kind = ExprKind::Block(std::mem::take(if taken { yes } else { no }));
        }
        _ => {}
    }
}

/// Keeps only the branch that is taken of an `if` whose condition is decided.
pub(super) fn statement(statement: &mut Statement) {
    let StatementKind::If(condition, yes, no) = &mut statement.kind else { return };
    let ExprKind::Bool(taken) = condition.kind else { return };
    let block = if taken { std::mem::take(yes) } else { no.take().unwrap_or_default() };
    let span = statement.span;
    let block = if block.span.is_empty() { Block { span, ..block } } else { block };
    statement.kind = StatementKind::Block(block);
}

/// The literal that an expression of literals comes to.
fn literal(e: &Expr) -> Option<ExprKind> {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Bool(_) => Some(e.kind.clone()),
        ExprKind::Unary(UnaryOp::Not, inner) => Some(ExprKind::Bool(!truth(&literal(inner)?)?)),
        ExprKind::Binary(BinaryOp::And, a, b) => Some(ExprKind::Bool(truth(&literal(a)?)? && truth(&literal(b)?)?)),
        ExprKind::Binary(BinaryOp::Or, a, b) => Some(ExprKind::Bool(truth(&literal(a)?)? || truth(&literal(b)?)?)),
        ExprKind::Binary(op, a, b) => match (literal(a)?, literal(b)?) {
            (ExprKind::Str(a), ExprKind::Str(b)) => match op {
                BinaryOp::Eq => Some(ExprKind::Bool(a == b)),
                BinaryOp::Ne => Some(ExprKind::Bool(a != b)),
                _ => None,
            },
            (a, b) => {
                let value = constant::binary(*op, number(&a)?, number(&b)?)?;
                let compares = matches!(
                    op,
                    BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
                );
                Some(if compares { ExprKind::Bool(value != 0) } else { ExprKind::Int(value) })
            }
        },
        _ => constant::fold(e).map(ExprKind::Int),
    }
}

fn truth(kind: &ExprKind) -> Option<bool> {
    match kind {
        ExprKind::Str(text) => Some(!text.is_empty()),
        other => number(other).map(|n| n != 0),
    }
}

fn number(kind: &ExprKind) -> Option<u64> {
    match kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Bool(value) => Some(u64::from(*value)),
        _ => None,
    }
}
