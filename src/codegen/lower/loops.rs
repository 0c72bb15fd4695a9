//! Loops over ranges and maps.
//!
//! A range of few iterations that are constant runs as a plain loop, which the verifier follows iteration by
//! iteration. Others use the kernel's numeric iterator (6.4), whose body the verifier checks once, or
//! `bpf_loop` (5.17) with the body as a callback. Loops over maps are callbacks of
//! `bpf_for_each_map_elem` (5.13). Callbacks share their program's variables through a frame on its
//! stack.

pub mod bounded_loop_lint;
pub mod callback;
pub mod cost;
pub mod counted;
pub mod explored;
pub mod iterator;
pub mod steps;

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, Operand, Point, Vreg};
use crate::kernel::target::TargetFacts;
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId, Statement, StatementKind};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{LoopTargets, Lowerer};
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::loops::iterator::IterationMechanism;

/// Iterations that the verifier follows one by one.
const PLAIN_ROUNDS: i64 = 256;
/// Most that the verifier is made to follow where there is another way, roughly in instructions.
const PLAIN_WEIGHT: u64 = 4 << 10;
/// Most where there is none: the verifier gives up at a million (`BPF_COMPLEXITY_LIMIT_INSNS`).
const MOST_FOLLOWED: u64 = 200_000;
/// Most that is written out iteration by iteration, roughly in instructions.
pub const UNROLLED_WEIGHT: u64 = 8 << 10;
/// Iterations that `bpf_loop` and the numeric iterator allow (`BPF_MAX_LOOPS`).
const MOST_ROUNDS: i64 = 8 << 20;

fn constant_trip_count(start: &Expr, end: &Expr) -> Option<i64> {
    let (start, end) = (start.as_int()? as i64, end.as_int()? as i64);
    Some(end.saturating_sub(start))
}

/// How a loop over a range is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStrategy {
    /// A plain loop, which the verifier follows this many times.
    Plain {
        /// Iterations.
        iterations: u64,
    },
    /// The body so many times, one after the other.
    Unrolled {
        /// Iterations.
        iterations: u64,
    },
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
        // Besides, verifiers that forget iterations compare no more than registers when they look for endless loops:
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

/// The strategy for a loop: a plain one costs least at run time, but what the verifier would follow for
/// too long must be one that it understands without.
pub fn strategy(scale: CostContext<'_>, start: &Expr, end: &Expr, body: &Block) -> LoopStrategy {
    strategy_for(scale.facts, start, end, cost::block(scale, body))
}

/// The strategy for a loop whose body weighs so much.
pub fn strategy_for(facts: &TargetFacts, start: &Expr, end: &Expr, body: u64) -> LoopStrategy {
    let other = LoopStrategy::unforeseen(facts);
    let Some(iterations) = constant_trip_count(start, end).filter(|n| *n <= PLAIN_ROUNDS) else { return other };
    let iterations = iterations.max(0) as u64;
    if iterations < 2 {
        return LoopStrategy::Unrolled { iterations };
    }
    let most = if other == LoopStrategy::None { MOST_FOLLOWED } else { PLAIN_WEIGHT };
    let weight = iterations.saturating_mul(body);
    if weight <= most { LoopStrategy::followed(facts, iterations, weight) } else { other }
}

/// The strategy for a `while`; `before` are the statements before it in its block. It is a plain loop when it
/// counts a few iterations, which the verifier may follow, and for want of anything else.
pub fn while_strategy(scale: CostContext<'_>, before: &[Statement], condition: &Expr, body: &Block) -> LoopStrategy {
    while_strategy_for(scale.facts, counted::iterations(before, condition, body), || cost::block(scale, body))
}

/// The strategy for a `while` of so many iterations, when they are known, whose body weighs so much. Who has weighed
/// the body already hands that over: weighed at every level anew, nested loops would take exponential time.
pub fn while_strategy_for(facts: &TargetFacts, iterations: Option<u64>, body: impl FnOnce() -> u64) -> LoopStrategy {
    let other = LoopStrategy::unforeseen(facts);
    let Some(iterations) = iterations.filter(|n| *n <= PLAIN_ROUNDS as u64) else { return other };
    // Where there is nothing else, all is written out that may be.
    let most = if other == LoopStrategy::None { UNROLLED_WEIGHT } else { PLAIN_WEIGHT };
    let weight = iterations.saturating_mul(body());
    if weight <= most { LoopStrategy::followed(facts, iterations, weight) } else { other }
}

/// Whether a statement is a loop whose body is a callback; `before` are the statements before it in its block.
pub fn is_callback(scale: CostContext<'_>, before: &[Statement], s: &Statement) -> bool {
    match &s.kind {
        StatementKind::ForMap { .. } => true,
        StatementKind::ForRange { start, end, body, .. } => strategy(scale, start, end, body) == LoopStrategy::Callback,
        StatementKind::While(condition, body) => {
            while_strategy(scale, before, condition, body) == LoopStrategy::Callback
        }
        _ => false,
    }
}

/// Helper that starts a loop, with the map in r1 for maps.
enum Over<'a> {
    Range { local: LocalId, start: Operand, iterations: Vreg },
    Map { local: LocalId, map: MapId },
    While(&'a Expr),
}

impl<'a> Lowerer<'_, 'a> {
    /// `for $i : start..end`.
    pub fn for_range(
        &mut self,
        local: LocalId,
        start: &'a Expr,
        end: &'a Expr,
        body: &'a Block,
        span: Span,
    ) -> Result<(), CodegenError> {
        let strategy = strategy(self.scale(), start, end, body);
        let first = self.scalar(start)?;
        let first = self.keep(first, end);
        let last = self.scalar(end)?;
        if matches!(strategy, LoopStrategy::Iterator | LoopStrategy::Callback) {
            self.mark_changed(body);
        }
        match strategy {
            LoopStrategy::Plain { iterations } => {
                self.warn_of_iterations(Some(iterations), body, span);
                self.add_steps(iterations, None, body);
                self.plain_loop(local, first, last, body)
            }
            LoopStrategy::Unrolled { iterations } => self.unrolled_range(local, first, iterations, body),
            LoopStrategy::Iterator => {
                let iterations = self.iterations(first, last)?;
                self.iterator_loop(local, first, iterations, body)
            }
            LoopStrategy::Callback => {
                let iterations = self.iterations(first, last)?;
                self.callback_loop(&Over::Range { local, start: first, iterations }, body, span)
            }
            LoopStrategy::None if constant_trip_count(start, end).is_some_and(|n| n <= PLAIN_ROUNDS) => {
                let error = CodegenError::unsupported(span, "a loop with so much in it", "bpf_loop (Linux 5.17)");
                Err(error.with_hint("use fewer rounds, or do less in each"))
            }
            LoopStrategy::None => {
                let what = "a loop with bounds that are not constant";
                let error = CodegenError::unsupported(span, what, "bpf_loop (Linux 5.17)");
                Err(error.with_hint(format!("use constant bounds with at most {PLAIN_ROUNDS} rounds")))
            }
        }
    }

    /// What loops are weighed with.
    pub const fn scale(&self) -> CostContext<'_> {
        self.object.scale()
    }

    /// `end - start`, 0 when negative, at most what the kernel allows.
    fn iterations(&mut self, first: Operand, last: Operand) -> Result<Vreg, CodegenError> {
        let iterations = self.function.builder.new_vreg();
        self.function.builder.copy_into(iterations, 0);
        let first_ = self.function.builder.copy_to_bound(first);
        let last = if let Operand::Reg(last) = last { self.function.builder.copy_to_bound(last).into() } else { last };
        self.when(Cond::SLt, first_.into(), last, |l| {
            let difference = l.function.builder.sub(last, first_);
            l.function.builder.copy_into(iterations, difference);
            l.when(Cond::Gt, iterations.into(), MOST_ROUNDS.into(), |l| {
                l.function.builder.copy_into(iterations, MOST_ROUNDS);
                Ok(())
            })
        })?;
        let iterations = self.joined(iterations.into(), &Type::I64);
        Ok(self.function.builder.in_register(iterations))
    }

    /// The body once for each value of the variable.
    fn unrolled_range(
        &mut self,
        local: LocalId,
        first: Operand,
        iterations: u64,
        body: &'a Block,
    ) -> Result<(), CodegenError> {
        let done = self.function.builder.new_block();
        self.add_steps(iterations, None, body);
        let first = self.function.builder.copy(first);
        for iteration in 0..iterations {
            let next = self.function.builder.new_block();
            let value = self.function.builder.add(first, iteration as i64);
            self.write_local(local, value.into());
            self.unrolled_iteration(body, done, next)?;
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.end_counter(local);
        self.end_loop(body);
        Ok(())
    }

    /// One of the iterations of a loop that is written out; goes on in `next`, where `continue` leads to.
    pub fn unrolled_iteration(&mut self, body: &'a Block, done: BlockId, next: BlockId) -> Result<(), CodegenError> {
        self.function.loops.push(LoopTargets { on_break: done, on_continue: next });
        self.block(body)?;
        self.invalidate_all();
        self.function.loops.pop();
        self.function.builder.jump(next);
        self.function.builder.switch_to(next);
        self.end_iteration(body);
        Ok(())
    }

    /// A `while` of so many iterations, its condition and body once for each.
    pub fn unrolled_while(&mut self, iterations: u64, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        let done = self.function.builder.new_block();
        self.add_steps(iterations, Some(c), body);
        for _ in 0..iterations {
            let (inside, next) = (self.function.builder.new_block(), self.function.builder.new_block());
            let mark = self.mark();
            self.condition(c, inside, done)?;
            self.release(mark);
            self.function.builder.switch_to(inside);
            self.unrolled_iteration(body, done, next)?;
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.end_loop(body);
        Ok(())
    }

    fn plain_loop(
        &mut self,
        local: LocalId,
        first: Operand,
        last: Operand,
        body: &'a Block,
    ) -> Result<(), CodegenError> {
        let counter = self.function.builder.copy(first);
        let (head, inside, next, done) = (
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
        );
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        self.function.builder.branch(Cond::SLt, counter, last, inside, done);
        self.function.builder.switch_to(inside);
        self.write_local(local, counter.into());
        self.function.loops.push(LoopTargets { on_break: done, on_continue: next });
        self.block(body)?;
        self.function.loops.pop();
        self.function.builder.jump(next);
        self.function.builder.switch_to(next);
        self.end_iteration(body);
        self.function.builder.alu_into(
            counter,
            crate::codegen::ir::Alu::Add,
            crate::codegen::ir::Width::W64,
            counter,
            1,
        );
        self.function.builder.jump(head);
        self.function.builder.switch_to(done);
        self.end_counter(local);
        self.end_loop(body);
        Ok(())
    }

    fn iterator_loop(
        &mut self,
        local: LocalId,
        first: Operand,
        iterations: Vreg,
        body: &'a Block,
    ) -> Result<(), CodegenError> {
        let first = self.function.builder.copy(first);
        let constants = self.constants_by_iteration(None, body);
        let slot = self.open_numbers(0.into(), iterations.into());
        let again = self.function.builder.new_block();
        let (head, iteration, inside, done) = (
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
        );
        self.end_locals_of(Point::LoopStart, body);
        self.function.builder.jump(again);
        self.function.builder.switch_to(head);
        let given = self.function.given();
        let number = self.next_number(slot);
        self.function.builder.branch(Cond::Ne, number, 0, iteration, done);
        self.function.builder.switch_to(inside);
        let index = self.load(Addr::new(Base::Reg(number), 0), 4, true);
        let value = self.function.builder.add(first, index);
        self.write_local(local, value.into());
        self.function.loops.push(LoopTargets { on_break: done, on_continue: again });
        self.iterators.push(slot);
        self.count_step(None, body, done);
        self.block(body)?;
        self.function.loops.pop();
        self.function.builder.jump(again);
        self.begin_iteration(again, given, body, &constants);
        self.iterators.pop();
        self.function.builder.jump(head);
        self.enter_iteration(iteration, inside, again);
        self.function.builder.switch_to(done);
        self.close_numbers(slot);
        self.end_counter(local);
        self.end_loop(body);
        Ok(())
    }

    /// Begins the block that leads to a loop's next number. What the body keeps for a while on the stack has ended there.
    fn begin_iteration(&mut self, again: BlockId, given: usize, body: &'a Block, constants: &[LocalId]) {
        self.function.builder.switch_to(again);
        let slots = self.function.given_back_since(given);
        self.end_slots(Point::IterationStart, &slots);
        self.end_left_locals(Point::IterationStart, body);
        self.mark_numbers(Point::IterationStart, constants);
    }

    /// Fills the block before an iteration of the numeric iterator. Some verifiers (Linux 6.18) look for a way
    /// back to its next number and fail with EFAULT where there is none, because the first iteration always
    /// leaves: those get one that is never taken.
    fn enter_iteration(&mut self, iteration: BlockId, inside: BlockId, head: BlockId) {
        self.function.builder.switch_to(iteration);
        if self.function.builder.leads_to(inside, head) {
            self.function.builder.jump(inside);
        } else {
            let zero = self.hidden(0);
            self.function.builder.branch(Cond::Ne, zero, 0, head, inside);
        }
    }

    /// `while` in iterations of the numeric iterator: what the verifier can't foresee the end of, it need not
    /// follow to the end. Iterations end at what the kernel allows.
    pub fn while_iterator(&mut self, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        self.mark_changed(body);
        let constants = self.constants_by_iteration(Some(c), body);
        let slot = self.open_numbers(0.into(), MOST_ROUNDS.into());
        let (again, head, iteration, check, inside, done) = (
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
        );
        self.end_locals_of(Point::LoopStart, body);
        self.function.builder.jump(again);
        self.function.builder.switch_to(head);
        let given = self.function.given();
        let number = self.next_number(slot);
        self.function.builder.branch(Cond::Ne, number, 0, iteration, done);
        self.function.builder.switch_to(check);
        self.iterators.push(slot);
        self.count_step(Some(c), body, done);
        self.while_iteration(c, body, (again, inside, done))?;
        self.begin_iteration(again, given, body, &constants);
        self.iterators.pop();
        self.function.builder.jump(head);
        self.enter_iteration(iteration, check, again);
        self.function.builder.switch_to(done);
        self.close_numbers(slot);
        self.end_loop(body);
        Ok(())
    }

    /// One iteration of a `while`: its condition in the present block, its body, and back to the head; goes
    /// on where the loop is done.
    pub fn while_iteration(
        &mut self,
        c: &'a Expr,
        body: &'a Block,
        (head, inside, done): (BlockId, BlockId, BlockId),
    ) -> Result<(), CodegenError> {
        let mark = self.mark();
        self.condition(c, inside, done)?;
        self.release(mark);
        self.function.builder.switch_to(inside);
        self.function.loops.push(LoopTargets { on_break: done, on_continue: head });
        self.block(body)?;
        self.function.loops.pop();
        self.function.builder.jump(head);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// Destroys the iterators of the loops that a `return` leaves: `from` of them stay.
    pub fn destroy_iterators(&mut self, from: usize) {
        for at in from..self.iterators.len() {
            let slot = self.iterators[at];
            self.close_numbers(slot);
        }
    }
}
