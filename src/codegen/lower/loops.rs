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
pub mod rounds;
pub mod steps;
pub mod strategy;

use crate::codegen::builder::{FunctionBuilder, purpose};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Point, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{LoopTargets, Lowerer};
use crate::codegen::lower::loops::rounds::{IteratorRounds, can_nest, range_may_exceed};
use crate::codegen::lower::loops::strategy::{
    LoopStrategy, MOST_IN_ROUNDS, MOST_ITERATIONS, PLAIN_ITERATIONS, constant_trip_count,
};
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::brake;
use crate::codegen::lower::{marks, numbers};

/// Helper that starts a loop, with the map in r1 for maps.
pub enum Over<'a> {
    Range {
        local: LocalId,
        start: Operand,
        iterations: Vreg,
    },
    Map {
        local: LocalId,
        map: MapId,
    },
    /// The loop is cut at what the kernel allows where it can't go on in rounds and may have more.
    While {
        condition: &'a Expr,
        is_cut: bool,
    },
}

impl Lowerer<'_, '_> {
    /// Destroys the iterators of the loops that a `return` leaves: `from` of them stay.
    pub fn destroy_iterators(&mut self, from: usize) {
        for at in from..self.iterators.len() {
            let slot = self.iterators[at];
            iterator::close_numbers(&mut self.function.builder, slot);
        }
    }
}

/// `for $i : start..end`.
pub fn for_range<'a>(
    l: &mut Lowerer<'_, 'a>,
    local: LocalId,
    start: &'a Expr,
    end: &'a Expr,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    let strategy = choice::strategy(l.object.cost_context(), start, end, body);
    let first = l.scalar(start)?;
    let first = numbers::keep(&mut l.function.builder, first, end);
    let last = l.scalar(end)?;
    if matches!(strategy, LoopStrategy::Iterator | LoopStrategy::Callback) {
        marks::mark_changed(l, body);
    }
    match strategy {
        LoopStrategy::Plain { iterations } => {
            bounded_loop_lint::warn_of_iterations(l.object, Some(iterations), body, span);
            brake::add_steps(l, iterations, None, body);
            plain_loop(l, local, first, last, body)
        }
        LoopStrategy::Unrolled { iterations } => unrolled_range(l, local, first, iterations, body),
        LoopStrategy::Iterator => {
            let goes_on = range_may_exceed(start, end);
            let iterations = iterations(l, (first, last), goes_on, span)?;
            let first = l.function.builder.copy(first);
            iterator_loop(l, (iterations.into(), goes_on), None, body, |l, number, before| {
                let b = &mut l.function.builder;
                let index = memory::load(b, Addr::new(Base::Reg(number), 0), 4, true);
                let value = b.add(first, index);
                let value = before.map_or(value, |before| b.add(value, before));
                l.variables.write(&mut l.function, local, value.into());
            })?;
            marks::end_counter(l, local);
            marks::end_loop(l, body);
            Ok(())
        }
        LoopStrategy::Callback => {
            let goes_on = range_may_exceed(start, end) && can_nest(l, None, body);
            let iterations = iterations(l, (first, last), goes_on, span)?;
            callback::callback_loop(l, &Over::Range { local, start: first, iterations }, goes_on, body, span)
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

/// `end - start`, 0 when negative, at most what the kernel allows: of one loop, or of many where it goes on in rounds.
/// Iterations beyond that are counted as a loss.
fn iterations(
    l: &mut Lowerer<'_, '_>,
    (first, last): (Operand, Operand),
    goes_on: bool,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let most = if goes_on { MOST_IN_ROUNDS } else { MOST_ITERATIONS };
    let b = &mut l.function.builder;
    let iterations = b.new_vreg();
    b.copy_into(iterations, 0);
    let first_ = purpose::copy_to_bound(b, first);
    let last = if let Operand::Reg(last) = last { purpose::copy_to_bound(b, last).into() } else { last };
    l.when(Cond::SLt, first_.into(), last, |l| {
        let difference = l.function.builder.sub(last, first_);
        l.function.builder.copy_into(iterations, difference);
        l.when(Cond::Gt, iterations.into(), most.into(), |l| {
            l.count_loss(LossCause::LoopCut, None, span);
            l.function.builder.copy_into(iterations, most);
            Ok(())
        })
    })?;
    let iterations = marks::joined(l, iterations.into(), &Type::I64);
    Ok(l.function.builder.in_register(iterations))
}

/// The body once for each value of the variable.
fn unrolled_range<'a>(
    l: &mut Lowerer<'_, 'a>,
    local: LocalId,
    first: Operand,
    iterations: u64,
    body: &'a Block,
) -> Result<(), CodegenError> {
    let done = l.function.builder.new_block();
    brake::add_steps(l, iterations, None, body);
    let first = l.function.builder.copy(first);
    for iteration in 0..iterations {
        let next = l.function.builder.new_block();
        let value = l.function.builder.add(first, iteration as i64);
        l.variables.write(&mut l.function, local, value.into());
        one_iteration(l, body, done, next)?;
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    marks::end_counter(l, local);
    marks::end_loop(l, body);
    Ok(())
}

/// An iteration of a loop; goes on in `next`, where `continue` leads to.
pub fn one_iteration<'a>(
    l: &mut Lowerer<'_, 'a>,
    body: &'a Block,
    done: BlockId,
    next: BlockId,
) -> Result<(), CodegenError> {
    loop_body(l, body, done, next)?;
    l.known.invalidate_all();
    l.function.builder.switch_to(next);
    marks::end_iteration(l, body);
    Ok(())
}

/// The body of a loop, which `break` leaves for `done`; goes on at the next iteration.
fn loop_body<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block, done: BlockId, next: BlockId) -> Result<(), CodegenError> {
    l.function.loops.push(LoopTargets { on_break: done, on_continue: next });
    l.block(body)?;
    l.function.loops.pop();
    l.function.builder.jump(next);
    Ok(())
}

/// Goes on `inside` where a loop's condition holds.
pub fn test_condition<'a>(
    l: &mut Lowerer<'_, 'a>,
    c: &'a Expr,
    inside: BlockId,
    done: BlockId,
) -> Result<(), CodegenError> {
    let mark = l.mark();
    l.condition(c, inside, done)?;
    l.release(mark);
    l.function.builder.switch_to(inside);
    Ok(())
}

/// A `while` of so many iterations, its condition and body once for each.
pub fn unrolled_while<'a>(
    l: &mut Lowerer<'_, 'a>,
    iterations: u64,
    c: &'a Expr,
    body: &'a Block,
) -> Result<(), CodegenError> {
    let done = l.function.builder.new_block();
    brake::add_steps(l, iterations, Some(c), body);
    for _ in 0..iterations {
        let [inside, next] = l.function.builder.new_blocks();
        test_condition(l, c, inside, done)?;
        one_iteration(l, body, done, next)?;
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    marks::end_loop(l, body);
    Ok(())
}

fn plain_loop<'a>(
    l: &mut Lowerer<'_, 'a>,
    local: LocalId,
    first: Operand,
    last: Operand,
    body: &'a Block,
) -> Result<(), CodegenError> {
    let b = &mut l.function.builder;
    let counter = b.copy(first);
    let [head, inside, next, done] = b.new_blocks();
    b.jump(head);
    b.switch_to(head);
    b.branch(Cond::SLt, counter, last, inside, done);
    b.switch_to(inside);
    l.variables.write(&mut l.function, local, counter.into());
    one_iteration(l, body, done, next)?;
    let b = &mut l.function.builder;
    b.alu_into(counter, Alu::Add, Width::W64, counter, 1);
    b.jump(head);
    b.switch_to(done);
    marks::end_counter(l, local);
    marks::end_loop(l, body);
    Ok(())
}

/// The body once for each number of the kernel's iterator, as long as the condition holds: so many times, in rounds
/// where that may be more than one iterator has. `begin` is what an iteration begins with; it gets the address of its
/// number, and how many iterations the rounds before had.
fn iterator_loop<'a>(
    l: &mut Lowerer<'_, 'a>,
    (iterations, goes_on): (Operand, bool),
    condition: Option<&'a Expr>,
    body: &'a Block,
    begin: impl FnOnce(&mut Lowerer<'_, 'a>, Vreg, Option<Vreg>),
) -> Result<(), CodegenError> {
    let constants = marks::constants_by_iteration(l, condition, body);
    marks::end_locals_of(l, Point::LoopStart, body);
    let alone = l.iterators.is_empty();
    let rounds = goes_on.then(|| IteratorRounds::begin(l, iterations));
    let slot = iterator::open_numbers(&mut l.function, 0.into(), rounds.map_or(iterations, |rounds| rounds.iterations));
    let b = &mut l.function.builder;
    let [again, head, iteration, start] = b.new_blocks();
    let condition = condition.map(|c| (c, b.new_block()));
    let done = b.new_block();
    let over = rounds.map_or(done, |_| b.new_block());
    l.function.builder.jump(again);
    l.function.builder.switch_to(head);
    let given = l.function.given();
    let b = &mut l.function.builder;
    let number = iterator::next_number(b, slot);
    b.branch(Cond::Ne, number, 0, iteration, over);
    b.switch_to(start);
    begin(l, number, rounds.map(|rounds| rounds.before));
    l.iterators.push(slot);
    brake::count_step(l, (condition.map(|(c, _)| c), body), alone.then_some(number), done);
    if let Some((c, inside)) = condition {
        test_condition(l, c, inside, done)?;
    }
    loop_body(l, body, done, again)?;
    begin_iteration(l, again, given, body, &constants);
    l.iterators.pop();
    l.function.builder.jump(head);
    enter_iteration(l.object, &mut l.function.builder, iteration, start, again);
    if let Some(rounds) = rounds {
        l.function.builder.switch_to(over);
        iterator::close_numbers(&mut l.function.builder, slot);
        l.function.builder.jump(rounds.head);
    }
    l.function.builder.switch_to(done);
    iterator::end_numbers(&mut l.function, slot);
    if let Some(rounds) = rounds {
        rounds.end(l);
    }
    Ok(())
}

/// Begins the block that leads to a loop's next number. What the body keeps for a while on the stack has ended there.
fn begin_iteration<'a>(l: &mut Lowerer<'_, 'a>, again: BlockId, given: usize, body: &'a Block, constants: &[LocalId]) {
    l.function.builder.switch_to(again);
    let slots = l.function.given_back_since(given);
    marks::end_slots(l, Point::IterationStart, &slots);
    marks::end_left_locals(l, Point::IterationStart, body);
    marks::mark_numbers(l, Point::IterationStart, constants);
}

/// Fills the block before an iteration of the numeric iterator. Some verifiers (Linux 6.18) look for a path
/// back to its next number and fail with EFAULT where there is none, because the first iteration always
/// leaves: those get one that is never taken.
fn enter_iteration(
    object: &mut ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    iteration: BlockId,
    inside: BlockId,
    head: BlockId,
) {
    b.switch_to(iteration);
    if b.function().leads_to(inside, head) {
        b.jump(inside);
    } else {
        let zero = marks::hidden(object, b, 0);
        b.branch(Cond::Ne, zero, 0, head, inside);
    }
}

/// `while` in iterations of the numeric iterator: what the verifier can't foresee the end of, it need not
/// follow to the end. `most` is how many iterations it has, where that is known.
pub fn while_iterator<'a>(
    l: &mut Lowerer<'_, 'a>,
    most: Option<u64>,
    c: &'a Expr,
    body: &'a Block,
) -> Result<(), CodegenError> {
    marks::mark_changed(l, body);
    let goes_on = most.is_none_or(|most| most > MOST_ITERATIONS as u64);
    let iterations = if goes_on { MOST_IN_ROUNDS } else { MOST_ITERATIONS };
    iterator_loop(l, (iterations.into(), goes_on), Some(c), body, |_, _, _| ())?;
    marks::end_loop(l, body);
    Ok(())
}

/// One iteration of a `while`: its condition in the present block, its body, and back to the head; goes
/// on where the loop is done.
pub fn while_iteration<'a>(
    l: &mut Lowerer<'_, 'a>,
    c: &'a Expr,
    body: &'a Block,
    (head, inside, done): (BlockId, BlockId, BlockId),
) -> Result<(), CodegenError> {
    test_condition(l, c, inside, done)?;
    loop_body(l, body, done, head)?;
    l.function.builder.switch_to(done);
    Ok(())
}
