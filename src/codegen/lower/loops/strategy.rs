//! How a loop can run, by what the kernel offers and by what its body weighs.

use crate::kernel::target::TargetFacts;
use crate::lang::typed::Expr;

/// Iterations that the verifier follows one by one.
pub const PLAIN_ITERATIONS: i64 = 256;
/// Most that the verifier is made to follow where there is another strategy, roughly in instructions.
const PLAIN_WEIGHT: u64 = 4 << 10;
/// Most where there is none: the verifier gives up at a million (`BPF_COMPLEXITY_LIMIT_INSNS`).
const MOST_FOLLOWED: u64 = 200_000;
/// Most that is written out iteration by iteration, roughly in instructions.
pub const UNROLLED_WEIGHT: u64 = 8 << 10;
/// Iterations that `bpf_loop` and the numeric iterator allow (`BPF_MAX_LOOPS`).
pub const MOST_ITERATIONS: i64 = 8 << 20;
/// Iterations of as many loops one after the other: at a nanosecond each, most of a day of a CPU that does nothing else.
pub const MOST_IN_ROUNDS: i64 = MOST_ITERATIONS * MOST_ITERATIONS;

/// Iterations of a range whose bounds are constants.
pub fn constant_trip_count(start: &Expr, end: &Expr) -> Option<i64> {
    let (start, end) = (start.as_int()? as i64, end.as_int()? as i64);
    Some(end.saturating_sub(start))
}

/// How a loop over a range is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStrategy {
    /// A plain loop, which the verifier follows this many times.
    Plain { iterations: u64 },
    /// The body so many times, one after the other.
    Unrolled { iterations: u64 },
    /// The kernel's numeric iterator.
    Iterator,
    /// `bpf_loop` with the body as a callback.
    Callback,
    /// The kernel has nothing for it.
    None,
}

impl LoopStrategy {
    /// The strategy for a few iterations that the verifier follows, whose bodies weigh so much together.
    fn followed(facts: &TargetFacts, iterations: u64, weight: u64) -> Self {
        // Besides, verifiers that evict iterations compare no more than registers when they look for endless loops:
        // a counter on the stack does not tell iterations apart (`states_maybe_looping`, kernel/bpf/verifier.c).
        if facts.evicts_loop_states() && weight <= UNROLLED_WEIGHT {
            Self::Unrolled { iterations }
        } else {
            Self::Plain { iterations }
        }
    }

    /// The strategy for iterations whose number nobody knows.
    fn unforeseen(facts: &TargetFacts) -> Self {
        match IterationMechanism::of(facts) {
            IterationMechanism::Iterator => Self::Iterator,
            IterationMechanism::Callback => Self::Callback,
            IterationMechanism::Counting => Self::None,
        }
    }
}

/// The strategy for a loop whose body weighs so much.
pub fn strategy_for(facts: &TargetFacts, start: &Expr, end: &Expr, body: u64) -> LoopStrategy {
    let other = LoopStrategy::unforeseen(facts);
    let Some(iterations) = constant_trip_count(start, end).filter(|n| *n <= PLAIN_ITERATIONS) else { return other };
    let iterations = iterations.max(0) as u64;
    if iterations < 2 {
        return LoopStrategy::Unrolled { iterations };
    }
    let most = if other == LoopStrategy::None { MOST_FOLLOWED } else { PLAIN_WEIGHT };
    let weight = iterations.saturating_mul(body);
    if weight <= most { LoopStrategy::followed(facts, iterations, weight) } else { other }
}

/// The strategy for a `while` of so many iterations, when they are known, whose body weighs so much. Who has weighed
/// the body already hands that over: weighed at every level anew, nested loops would take exponential time.
pub fn while_strategy_for(facts: &TargetFacts, iterations: Option<u64>, body: impl FnOnce() -> u64) -> LoopStrategy {
    let other = LoopStrategy::unforeseen(facts);
    let Some(iterations) = iterations.filter(|n| *n <= PLAIN_ITERATIONS as u64) else { return other };
    // Where there is nothing else, all is written out that may be.
    let most = if other == LoopStrategy::None { UNROLLED_WEIGHT } else { PLAIN_WEIGHT };
    let weight = iterations.saturating_mul(body());
    if weight <= most { LoopStrategy::followed(facts, iterations, weight) } else { other }
}

/// How loops of the compiler's own iterate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationMechanism {
    /// The numeric iterator (6.4).
    Iterator,
    /// A callback of `bpf_loop` (5.17).
    Callback,
    /// A counter, which the verifier follows to the end.
    Counting,
}

impl IterationMechanism {
    /// That of a kernel.
    pub fn of(facts: &TargetFacts) -> Self {
        match (facts.features().iter_num, facts.features().bpf_loop) {
            (true, _) => Self::Iterator,
            (false, true) => Self::Callback,
            (false, false) => Self::Counting,
        }
    }
}
