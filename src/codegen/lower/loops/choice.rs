//! How each loop of a script runs.

use crate::lang::typed::{Block, Expr, Statement, StatementKind};

use super::cost::{self, CostContext};
use super::counted;
use super::strategy::{LoopStrategy, strategy_for, while_strategy_for};

/// The strategy for a loop: a plain one costs least at run time, but what the verifier would follow for
/// too long must be one that it understands without.
pub fn strategy(context: CostContext<'_>, start: &Expr, end: &Expr, body: &Block) -> LoopStrategy {
    strategy_for(context.facts, start, end, cost::block(context, body))
}

/// The strategy for a `while`; `before` are the statements before it in its block. It is a plain loop when it
/// counts a few iterations, which the verifier may follow, and for want of anything else.
pub fn while_strategy(context: CostContext<'_>, before: &[Statement], condition: &Expr, body: &Block) -> LoopStrategy {
    while_strategy_for(context.facts, counted::iterations(before, condition, body), || cost::block(context, body))
}

/// Whether a statement is a loop whose body is a callback; `before` are the statements before it in its block.
pub fn is_callback(context: CostContext<'_>, before: &[Statement], s: &Statement) -> bool {
    match &s.kind {
        StatementKind::ForMap { .. } => true,
        StatementKind::ForRange { start, end, body, .. } => {
            strategy(context, start, end, body) == LoopStrategy::Callback
        }
        StatementKind::While(condition, body) => {
            while_strategy(context, before, condition, body) == LoopStrategy::Callback
        }
        _ => false,
    }
}
