//! Steps: iterations of loops, each with the calls in it. How many a firing may make at most, as far as the script shows.

use crate::codegen::lower::loops::cost::{CostContext, sum};
use crate::codegen::lower::loops::counted;
use crate::codegen::lower::loops::strategy::MOST_IN_ROUNDS;
use crate::lang::typed::{Block, Expr, ExprKind, Intrinsic, Probe, Statement, StatementKind};

/// Walking a stack takes as long as so many other calls.
const STACK_STEPS: u64 = 16;

/// Steps of a firing that is long, so that its program has a brake.
pub const LONG: u64 = 2048;

/// Whether loops of the probe can make many steps, and brakes are wanted.
pub fn may_be_long(context: CostContext<'_>, probe: &Probe) -> bool {
    context.facts.brake && of_probe(context, probe) >= LONG
}

/// Most steps of all loops of a probe together.
pub fn of_probe(context: CostContext<'_>, probe: &Probe) -> u64 {
    of_predicate(context, probe).saturating_add(of_block(context, &probe.body))
}

/// Most steps of all loops in a probe's predicate.
pub fn of_predicate(context: CostContext<'_>, probe: &Probe) -> u64 {
    probe.predicate.as_ref().map_or(0, |e| of_expr(context, e))
}

/// Steps of one iteration, without those of the loops in it.
pub fn of_iteration(context: CostContext<'_>, condition: Option<&Expr>, body: &Block) -> u64 {
    let condition = condition.map_or(0, |e| calls_of_expr(context, e));
    calls(context, body).saturating_add(condition).saturating_add(1)
}

/// Whether there are loops in a loop.
pub fn has_loops(context: CostContext<'_>, condition: Option<&Expr>, body: &Block) -> bool {
    of_block(context, body) > 0 || condition.is_some_and(|e| of_expr(context, e) > 0)
}

fn of_block(context: CostContext<'_>, block: &Block) -> u64 {
    sum(block.statements.iter().enumerate().map(|(at, s)| of_statement(context, s, &block.statements[..at])))
}

fn of_statement(context: CostContext<'_>, s: &Statement, before: &[Statement]) -> u64 {
    let (exprs, blocks) = s.parts();
    let own = sum(exprs.into_iter().map(|e| of_expr(context, e)));
    let inside = sum(blocks.into_iter().map(|b| of_block(context, b)));
    let loops = |iterations: u64, condition: Option<&Expr>, body: &Block| {
        let each = of_iteration(context, condition, body);
        own.saturating_add(inside).saturating_add(each).saturating_mul(iterations)
    };
    match &s.kind {
        StatementKind::ForRange { start, end, body, .. } => {
            let constant = start.as_int().zip(end.as_int());
            let iterations =
                |(start, end): (u64, u64)| (end as i64).saturating_sub(start as i64).clamp(0, MOST_IN_ROUNDS) as u64;
            loops(constant.map_or(context.unknown, iterations), None, body)
        }
        StatementKind::ForMap { map, body, .. } => {
            let entries = context.program.maps.get(map.0 as usize).map_or(0, |map| u64::from(map.max_entries));
            loops(entries.min(context.unknown), None, body)
        }
        StatementKind::While(condition, body) => {
            let iterations = counted::iterations(before, condition, body).unwrap_or(context.unknown);
            loops(iterations, Some(condition), body)
        }
        StatementKind::Unroll(n, body) => loops(u64::from(*n), None, body),
        _ => own.saturating_add(inside),
    }
}

fn of_expr(context: CostContext<'_>, e: &Expr) -> u64 {
    let inside = sum(e.children().into_iter().map(|child| of_expr(context, child)));
    let own = match &e.kind {
        ExprKind::Block(b, _) => of_block(context, b),
        ExprKind::CallUser(id, _) => context.called(*id).map_or(0, |(context, body)| of_block(context, body)),
        _ => 0,
    };
    own.saturating_add(inside)
}

/// Calls in a block, without those in its loops.
fn calls(context: CostContext<'_>, block: &Block) -> u64 {
    sum(block.statements.iter().map(|s| calls_of_statement(context, s)))
}

fn calls_of_statement(context: CostContext<'_>, s: &Statement) -> u64 {
    let own = match &s.kind {
        _ if s.loop_body().is_some() => return 0,
        StatementKind::Aggregate { key, .. } | StatementKind::SetMap { key, .. } => u64::from(key.is_some()),
        StatementKind::Report { .. } => 1,
        _ => 0,
    };
    let (exprs, blocks) = s.parts();
    let inside = exprs.into_iter().map(|e| calls_of_expr(context, e));
    sum(inside.chain(blocks.into_iter().map(|b| calls(context, b))).chain([own]))
}

fn calls_of_expr(context: CostContext<'_>, e: &Expr) -> u64 {
    let own = match &e.kind {
        ExprKind::Call(i, _) if i.captures_stack() || *i == Intrinsic::StackLen => STACK_STEPS,
        ExprKind::Call(..) | ExprKind::MapFind { .. } => 1,
        ExprKind::MapGet { key, .. }
        | ExprKind::MapHas { key, .. }
        | ExprKind::MapDelete { key, .. }
        | ExprKind::MapStep { key, .. } => u64::from(key.is_some()),
        ExprKind::Block(b, _) => calls(context, b),
        ExprKind::CallUser(id, _) => context.called(*id).map_or(0, |(context, body)| calls(context, body)),
        _ => 0,
    };
    sum(e.children().into_iter().map(|child| calls_of_expr(context, child)).chain([own]))
}
