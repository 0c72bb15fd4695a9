//! How much work a piece of script is to the verifier, roughly in instructions: it decides which
//! loops the verifier may follow iteration by iteration.

use crate::lang::typed::{Block, Expr, ExprKind, Intrinsic, Program, Statement, StatementKind, size_align};
use crate::lang::types::{Aggregation, Type};

use crate::codegen::lower::loops::counted;
use crate::codegen::lower::loops::strategy::{LoopStrategy, strategy_for, while_strategy_for};
use crate::kernel::target::TargetFacts;

/// Iterations after which the verifier knows a loop by heart that it need not follow to its end.
const UNTIL_KNOWN: u64 = 4;
/// Iterations assumed of a `while` loop, whose number nobody knows.
const WHILE_ITERATIONS: u64 = 32;

/// Weight of a search, which is a loop of its own: inside of a loop that the verifier follows iteration by iteration
/// it is followed anew on every path that leads to it, so two iterations of it are enough for another strategy.
const LOOP_INSIDE: u64 = 2_400;

/// Comparisons up to this many words are straight code.
pub const UNROLLED_WORDS: u32 = 16;

/// What weighing needs to know.
#[derive(Clone, Copy)]
pub struct CostContext<'a> {
    /// The script.
    pub program: &'a Program,
    /// The kernel.
    pub facts: &'a TargetFacts,
    /// Functions that may still be entered, against recursion.
    pub depth: u32,
    /// Iterations of a loop of which nothing is known.
    pub unknown: u64,
}

/// Weight of a block.
pub fn block(scale: CostContext<'_>, block: &Block) -> u64 {
    let weights = block.statements.iter().enumerate().map(|(at, s)| statement(scale, s, &block.statements[..at]));
    weights.fold(0, u64::saturating_add)
}

fn statement(scale: CostContext<'_>, s: &Statement, before: &[Statement]) -> u64 {
    let (exprs, blocks) = s.parts();
    let own = exprs.into_iter().fold(2, |sum: u64, e| sum.saturating_add(expr(scale, e)));
    let inside = blocks.into_iter().fold(0, |sum: u64, b| sum.saturating_add(block(scale, b)));
    match &s.kind {
        StatementKind::ForRange { start, end, .. } => match strategy_for(scale.facts, start, end, inside) {
            LoopStrategy::Plain { iterations } | LoopStrategy::Unrolled { iterations } => {
                own.saturating_add(inside.saturating_mul(iterations))
            }
            _ => until_known(scale, own, inside),
        },
        StatementKind::ForMap { .. } => until_known(scale, own, inside),
        StatementKind::While(condition, body) => {
            let counted = counted::iterations(before, condition, body);
            let iterations = match while_strategy_for(scale.facts, counted, || inside) {
                LoopStrategy::Plain { iterations } | LoopStrategy::Unrolled { iterations } => iterations,
                LoopStrategy::Iterator | LoopStrategy::Callback => {
                    return until_known(scale, 0, own.saturating_add(inside));
                }
                LoopStrategy::None => counted.unwrap_or(WHILE_ITERATIONS),
            };
            own.saturating_add(inside).saturating_mul(iterations)
        }
        StatementKind::Unroll(n, _) => own.saturating_add(inside.saturating_mul(u64::from(*n))),
        StatementKind::Aggregate { map, .. } => {
            let aggregation = match scale.program.maps.get(map.0 as usize).map(|m| &m.value) {
                // Eight paths lead through a logarithm.
                Some(Type::Agg(Aggregation::Hist { .. })) => 120,
                Some(Type::Agg(Aggregation::TSeries { .. })) => 60,
                _ => 25,
            };
            own.saturating_add(aggregation)
        }
        StatementKind::SetMap { .. } | StatementKind::Report { .. } => own.saturating_add(25),
        // Both paths, and what follows them twice.
        StatementKind::If(..) => own.saturating_add(inside).saturating_mul(2),
        _ => own.saturating_add(inside),
    }
}

/// Weight of a loop that the verifier need not follow to its end. With a brake it looks at the clock now and then.
const fn until_known(scale: CostContext<'_>, own: u64, inside: u64) -> u64 {
    let brake = if scale.facts.brake { LOOP_INSIDE } else { 0 };
    own.saturating_add(inside.saturating_mul(UNTIL_KNOWN)).saturating_add(brake)
}

fn expr(scale: CostContext<'_>, e: &Expr) -> u64 {
    let inside = e.children().into_iter().fold(0, |sum: u64, c| sum.saturating_add(expr(scale, c)));
    let words = |ty: &Type| u64::from(size_align(ty, &scale.program.structs).0 / 8);
    let own = match &e.kind {
        ExprKind::Binary(_, a, b) if !a.ty.fits_register() => {
            let constant = matches!(a.kind, ExprKind::Str(_)) || matches!(b.kind, ExprKind::Str(_));
            match words(&a.ty).min(words(&b.ty)) {
                _ if constant => 8,
                common if !scale.facts.features().bpf_loop => 6 * common,
                common if common <= u64::from(UNROLLED_WORDS) => 72,
                _ => LOOP_INSIDE / 4,
            }
        }
        ExprKind::Conditional(..) | ExprKind::And(..) | ExprKind::Or(..) => 10,
        ExprKind::Call(Intrinsic::StrStr | Intrinsic::StrContains, args) => {
            let positions = args.first().map_or(0, |a| words(&a.ty) * 8);
            if scale.facts.features().bpf_loop {
                // The longer the text that is looked for, the more is set up before.
                let wanted = args.get(1).map_or(0, |a| words(&a.ty));
                LOOP_INSIDE + 12 * positions.min(32) + 8 * wanted.min(64)
            } else {
                12 * positions
            }
        }
        // A stack's hash is made of many frames.
        ExprKind::Call(Intrinsic::KStack | Intrinsic::UStack | Intrinsic::UStackByTables | Intrinsic::StackLen, _) => {
            400
        }
        ExprKind::Call(..) => 20,
        ExprKind::MapGet { .. } | ExprKind::MapHas { .. } | ExprKind::MapFind { .. } | ExprKind::MapDelete { .. } => 12,
        ExprKind::MapStep { .. } => 20,
        ExprKind::Field { .. } | ExprKind::Deref(_) | ExprKind::Index { .. } => 8,
        ExprKind::Block(b, _) => block(scale, b),
        ExprKind::CallUser(id, _) if scale.depth > 0 => {
            let function = scale.program.functions.get(id.0 as usize);
            function.map_or(0, |f| block(CostContext { depth: scale.depth - 1, ..scale }, &f.body))
        }
        _ => 2,
    };
    own.saturating_add(inside)
}
