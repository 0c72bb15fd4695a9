//! Loops over ranges and maps.
//!
//! A range of few iterations that are constant runs as a plain loop, which the verifier follows iteration by
//! iteration. Others use the kernel's numeric iterator (6.4), whose body the verifier checks once, or
//! `bpf_loop` (5.17) with the body as a callback. Loops over maps are callbacks of
//! `bpf_for_each_map_elem` (5.13). Callbacks share their program's variables through a frame on its
//! stack.

pub mod bounded_loop_lint;
pub mod callback;
pub mod choice;
pub mod cost;
pub mod counted;
pub mod explored;
pub mod hot_loop_lint;
pub mod iterator;
pub mod steps;
pub mod strategy;

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, Operand, Point, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{LoopTargets, Lowerer};
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::loops::strategy::{LoopStrategy, MOST_ITERATIONS, PLAIN_ITERATIONS, constant_trip_count};

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
        let strategy = choice::strategy(self.scale(), start, end, body);
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
            LoopStrategy::None if constant_trip_count(start, end).is_some_and(|n| n <= PLAIN_ITERATIONS) => {
                let error = CodegenError::unsupported(span, "a loop with so much in it", "bpf_loop (Linux 5.17)");
                Err(error.with_hint("use fewer iterations, or do less in each"))
            }
            LoopStrategy::None => {
                let what = "a loop with bounds that are not constant";
                let error = CodegenError::unsupported(span, what, "bpf_loop (Linux 5.17)");
                Err(error.with_hint(format!("use constant bounds with at most {PLAIN_ITERATIONS} iterations")))
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
            l.when(Cond::Gt, iterations.into(), MOST_ITERATIONS.into(), |l| {
                l.function.builder.copy_into(iterations, MOST_ITERATIONS);
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
        self.known.invalidate_all();
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

    /// Fills the block before an iteration of the numeric iterator. Some verifiers (Linux 6.18) look for a path
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
        let slot = self.open_numbers(0.into(), MOST_ITERATIONS.into());
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
