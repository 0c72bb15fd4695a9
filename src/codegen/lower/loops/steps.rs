//! Steps: iterations of loops, each with the calls in it. How many a firing may make at most, as far as the script shows.

use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::loops::counted;
use crate::codegen::lower::loops::strategy::MOST_ITERATIONS;
use crate::lang::typed::{Block, Expr, ExprKind, Intrinsic, Probe, Statement, StatementKind};

/// Walking a stack takes as long as so many other calls.
const STACK_STEPS: u64 = 16;

/// Steps of a firing that is long, so that its program has a brake.
pub const LONG: u64 = 2048;

/// Whether loops of the probe can make many steps, and brakes are wanted.
pub fn may_be_long(scale: CostContext<'_>, probe: &Probe) -> bool {
    scale.facts.brake && of_probe(scale, probe) >= LONG
}

/// Most steps of all loops of a probe together.
pub fn of_probe(scale: CostContext<'_>, probe: &Probe) -> u64 {
    of_predicate(scale, probe).saturating_add(of_block(scale, &probe.body))
}

/// Most steps of all loops in a probe's predicate.
pub fn of_predicate(scale: CostContext<'_>, probe: &Probe) -> u64 {
    probe.predicate.as_ref().map_or(0, |e| of_expr(scale, e))
}

/// Steps of one iteration, without those of the loops in it.
pub fn of_iteration(scale: CostContext<'_>, condition: Option<&Expr>, body: &Block) -> u64 {
    let condition = condition.map_or(0, |e| calls_of_expr(scale, e));
    calls(scale, body).saturating_add(condition).saturating_add(1)
}

/// Whether there are loops in a loop.
pub fn has_loops(scale: CostContext<'_>, condition: Option<&Expr>, body: &Block) -> bool {
    of_block(scale, body) > 0 || condition.is_some_and(|e| of_expr(scale, e) > 0)
}

fn of_block(scale: CostContext<'_>, block: &Block) -> u64 {
    let each = block.statements.iter().enumerate().map(|(at, s)| of_statement(scale, s, &block.statements[..at]));
    each.fold(0, u64::saturating_add)
}

fn of_statement(scale: CostContext<'_>, s: &Statement, before: &[Statement]) -> u64 {
    let (exprs, blocks) = s.parts();
    let own = exprs.into_iter().fold(0, |sum: u64, e| sum.saturating_add(of_expr(scale, e)));
    let inside = blocks.into_iter().fold(0, |sum: u64, b| sum.saturating_add(of_block(scale, b)));
    let loops = |iterations: u64, condition: Option<&Expr>, body: &Block| {
        let each = of_iteration(scale, condition, body);
        own.saturating_add(inside).saturating_add(each).saturating_mul(iterations)
    };
    match &s.kind {
        StatementKind::ForRange { start, end, body, .. } => {
            let constant = start.as_int().zip(end.as_int());
            let iterations =
                |(start, end): (u64, u64)| (end as i64).saturating_sub(start as i64).clamp(0, MOST_ITERATIONS) as u64;
            loops(constant.map_or(scale.unknown, iterations), None, body)
        }
        StatementKind::ForMap { map, body, .. } => {
            let entries = scale.program.maps.get(map.0 as usize).map_or(0, |map| u64::from(map.max_entries));
            loops(entries.min(scale.unknown), None, body)
        }
        StatementKind::While(condition, body) => {
            let iterations = counted::iterations(before, condition, body).unwrap_or(scale.unknown);
            loops(iterations, Some(condition), body)
        }
        StatementKind::Unroll(n, body) => loops(u64::from(*n), None, body),
        _ => own.saturating_add(inside),
    }
}

fn of_expr(scale: CostContext<'_>, e: &Expr) -> u64 {
    let inside = e.children().into_iter().fold(0, |sum: u64, c| sum.saturating_add(of_expr(scale, c)));
    let own = match &e.kind {
        ExprKind::Block(b, _) => of_block(scale, b),
        ExprKind::CallUser(id, _) if scale.depth > 0 => {
            let function = scale.program.functions.get(id.0 as usize);
            function.map_or(0, |f| of_block(CostContext { depth: scale.depth - 1, ..scale }, &f.body))
        }
        _ => 0,
    };
    own.saturating_add(inside)
}

/// Calls in a block, without those in its loops.
fn calls(scale: CostContext<'_>, block: &Block) -> u64 {
    block.statements.iter().fold(0, |sum: u64, s| sum.saturating_add(calls_of_statement(scale, s)))
}

fn calls_of_statement(scale: CostContext<'_>, s: &Statement) -> u64 {
    let own = match &s.kind {
        StatementKind::While(..)
        | StatementKind::ForRange { .. }
        | StatementKind::ForMap { .. }
        | StatementKind::Unroll(..) => return 0,
        StatementKind::Aggregate { key, .. } | StatementKind::SetMap { key, .. } => u64::from(key.is_some()),
        StatementKind::Report { .. } => 1,
        _ => 0,
    };
    let (exprs, blocks) = s.parts();
    let inside = exprs.into_iter().fold(own, |sum: u64, e| sum.saturating_add(calls_of_expr(scale, e)));
    blocks.into_iter().fold(inside, |sum: u64, b| sum.saturating_add(calls(scale, b)))
}

fn calls_of_expr(scale: CostContext<'_>, e: &Expr) -> u64 {
    let own = match &e.kind {
        ExprKind::Call(Intrinsic::KStack | Intrinsic::UStack | Intrinsic::UStackByTables | Intrinsic::StackLen, _) => {
            STACK_STEPS
        }
        ExprKind::Call(..) | ExprKind::MapFind { .. } => 1,
        ExprKind::MapGet { key, .. }
        | ExprKind::MapHas { key, .. }
        | ExprKind::MapDelete { key, .. }
        | ExprKind::MapStep { key, .. } => u64::from(key.is_some()),
        ExprKind::Block(b, _) => calls(scale, b),
        ExprKind::CallUser(id, _) if scale.depth > 0 => {
            let function = scale.program.functions.get(id.0 as usize);
            function.map_or(0, |f| calls(CostContext { depth: scale.depth - 1, ..scale }, &f.body))
        }
        _ => 0,
    };
    e.children().into_iter().fold(own, |sum: u64, c| sum.saturating_add(calls_of_expr(scale, c)))
}
