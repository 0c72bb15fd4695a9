//! How much work a piece of script is to the verifier, roughly in instructions: it decides which
//! loops the verifier may follow iteration by iteration.

use crate::lang::typed::{Block, Expr, ExprKind, FunctionId, Intrinsic, Program, Statement, StatementKind, size_align};
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

impl<'a> CostContext<'a> {
    /// The body of a function that is called, and what to weigh it by; none where calls go too deep.
    pub fn called(self, id: FunctionId) -> Option<(Self, &'a Block)> {
        let depth = self.depth.checked_sub(1)?;
        let function = self.program.functions.get(id.0 as usize)?;
        Some((Self { depth, ..self }, &function.body))
    }
}

/// The sum, or the largest number there is.
pub fn sum(costs: impl IntoIterator<Item = u64>) -> u64 {
    costs.into_iter().fold(0, u64::saturating_add)
}

/// Weight of a block.
pub fn block(context: CostContext<'_>, block: &Block) -> u64 {
    sum(block.statements.iter().enumerate().map(|(at, s)| statement(context, s, &block.statements[..at])))
}

fn statement(context: CostContext<'_>, s: &Statement, before: &[Statement]) -> u64 {
    let (exprs, blocks) = s.parts();
    let own = sum(exprs.into_iter().map(|e| expr(context, e))).saturating_add(2);
    let inside = sum(blocks.into_iter().map(|b| block(context, b)));
    match &s.kind {
        StatementKind::ForRange { start, end, .. } => match strategy_for(context.facts, start, end, inside) {
            LoopStrategy::Plain { iterations } | LoopStrategy::Unrolled { iterations } => {
                own.saturating_add(inside.saturating_mul(iterations))
            }
            _ => until_known(context, own, inside),
        },
        StatementKind::ForMap { .. } => until_known(context, own, inside),
        StatementKind::While(condition, body) => {
            let counted = counted::iterations(before, condition, body);
            let iterations = match while_strategy_for(context.facts, counted, || inside) {
                LoopStrategy::Plain { iterations } | LoopStrategy::Unrolled { iterations } => iterations,
                LoopStrategy::Iterator | LoopStrategy::Callback => {
                    return until_known(context, 0, own.saturating_add(inside));
                }
                LoopStrategy::None => counted.unwrap_or(WHILE_ITERATIONS),
            };
            own.saturating_add(inside).saturating_mul(iterations)
        }
        StatementKind::Unroll(n, _) => own.saturating_add(inside.saturating_mul(u64::from(*n))),
        StatementKind::Aggregate { map, .. } => {
            let aggregation = match context.program.maps.get(map.0 as usize).map(|m| &m.value) {
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
const fn until_known(context: CostContext<'_>, own: u64, inside: u64) -> u64 {
    let brake = if context.facts.brake { LOOP_INSIDE } else { 0 };
    own.saturating_add(inside.saturating_mul(UNTIL_KNOWN)).saturating_add(brake)
}

fn expr(context: CostContext<'_>, e: &Expr) -> u64 {
    let inside = sum(e.children().into_iter().map(|child| expr(context, child)));
    let words = |ty: &Type| u64::from(size_align(ty, &context.program.structs).0 / 8);
    let own = match &e.kind {
        ExprKind::Binary(_, a, b) if !a.ty.fits_register() => {
            let constant = matches!(a.kind, ExprKind::Str(_)) || matches!(b.kind, ExprKind::Str(_));
            match words(&a.ty).min(words(&b.ty)) {
                _ if constant => 8,
                common if !context.facts.features().bpf_loop => 6 * common,
                common if common <= u64::from(UNROLLED_WORDS) => 72,
                _ => LOOP_INSIDE / 4,
            }
        }
        ExprKind::Conditional(..) | ExprKind::And(..) | ExprKind::Or(..) => 10,
        ExprKind::Call(Intrinsic::StrStr | Intrinsic::StrContains, args) => {
            let positions = args.first().map_or(0, |a| words(&a.ty) * 8);
            if context.facts.features().bpf_loop {
                // The longer the text that is looked for, the more is set up before.
                let wanted = args.get(1).map_or(0, |a| words(&a.ty));
                LOOP_INSIDE + 12 * positions.min(32) + 8 * wanted.min(64)
            } else {
                12 * positions
            }
        }
        // A stack's hash is made of many frames.
        ExprKind::Call(i, _) if i.captures_stack() || *i == Intrinsic::StackLen => 400,
        ExprKind::Call(..) => 20,
        ExprKind::MapGet { .. } | ExprKind::MapHas { .. } | ExprKind::MapFind { .. } | ExprKind::MapDelete { .. } => 12,
        ExprKind::MapStep { .. } => 20,
        ExprKind::Field { .. } | ExprKind::Deref(_) | ExprKind::Index { .. } => 8,
        ExprKind::Block(b, _) => block(context, b),
        ExprKind::CallUser(id, _) => context.called(*id).map_or(0, |(context, body)| block(context, body)),
        _ => 2,
    };
    own.saturating_add(inside)
}
