//! Loops of more iterations than the kernel lets one loop have: they go on in another round.
//!
//! A round is one loop of the kernel, of at most [`MOST_ITERATIONS`]; rounds are counted by a loop of their own, so that the
//! verifier sees an end. With the numeric iterator that is a second iterator around the first, with `bpf_loop` a callback
//! that calls it.

use super::iterator;
use super::steps;
use super::strategy::{IterationMechanism, MOST_IN_ROUNDS, MOST_ITERATIONS};
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::ir::{Alu, BlockId, Cond, FuncId, Linkage, Operand, Size, Slot, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, ExprKind};
use crate::lang::types::Type;

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::{FRAME_RETURNED, FunctionState, Lowerer, Role};
use crate::codegen::lower::programs::branchless::{at_least, choose};
use crate::codegen::lower::{helpers as h, marks};

/// Iterations of one round, as a power of two.
const ROUND_BITS: i64 = MOST_ITERATIONS.trailing_zeros() as i64;

/// Whether a range may have more iterations than one round.
pub fn range_may_exceed(start: &Expr, end: &Expr) -> bool {
    match (bounds(start), bounds(end)) {
        (Some((lowest, _)), Some((_, highest))) => highest.saturating_sub(lowest) > MOST_ITERATIONS,
        _ => true,
    }
}

/// The least and the most that a number can be, where its type is narrow or it is a constant.
fn bounds(e: &Expr) -> Option<(i64, i64)> {
    if let Some(n) = e.as_int() {
        return Some((n as i64, n as i64));
    }
    match (&e.ty, &e.kind) {
        (Type::Bool, _) => Some((0, 1)),
        (Type::Int { size: size @ (1 | 2), signed }, _) => {
            let values = 1_i64 << (u32::from(*size) * 8);
            Some(if *signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) })
        }
        (Type::Int { size: 8, .. }, ExprKind::Cast(inner)) => bounds(inner),
        _ => None,
    }
}

/// Whether a loop can go on in rounds where it stands. An iterator in an iterator takes a word of the stack. A callback in a
/// callback takes a stack frame, of which there are eight (`MAX_CALL_FRAMES`, include/linux/bpf_verifier.h).
pub fn can_nest(l: &Lowerer<'_, '_>, condition: Option<&Expr>, body: &Block) -> bool {
    match IterationMechanism::of(l.object.facts) {
        IterationMechanism::Iterator => true,
        IterationMechanism::Callback => {
            let innermost = !steps::has_loops(l.object.cost_context(), condition, body);
            l.callbacks == 0 || l.callbacks == 1 && innermost
        }
        IterationMechanism::Counting => false,
    }
}

/// Iterations of the next round, of those that are left.
fn of_next(b: &mut FunctionBuilder, left: Vreg) -> Vreg {
    let more = at_least(b, left, MOST_ITERATIONS);
    let whole = b.neg(more);
    choose(b, whole, MOST_ITERATIONS, left)
}

/// Rounds for so many iterations.
fn rounds(b: &mut FunctionBuilder, iterations: Operand) -> Operand {
    match iterations {
        Operand::Imm(n) => ((n + MOST_ITERATIONS - 1) >> ROUND_BITS).into(),
        Operand::Reg(_) => {
            let up = b.add(iterations, MOST_ITERATIONS - 1);
            b.shr(up, ROUND_BITS).into()
        }
    }
}

/// Rounds of the numeric iterator, while their code is written.
#[derive(Clone, Copy, Debug)]
pub struct IteratorRounds {
    slot: Slot,
    /// Leads to the next round.
    pub head: BlockId,
    /// Behind all of them.
    done: BlockId,
    /// Iterations of the present round.
    pub iterations: Operand,
    /// Iterations of those before it.
    pub before: Vreg,
}

impl IteratorRounds {
    /// Begins rounds of so many iterations in all, and goes on in the first of them.
    pub fn begin(l: &mut Lowerer<'_, '_>, iterations: Operand) -> Self {
        let count = rounds(&mut l.function.builder, iterations);
        let slot = iterator::open_numbers(&mut l.function, 0.into(), count);
        let b = &mut l.function.builder;
        let [head, inside, done] = b.new_blocks();
        b.jump(head);
        b.switch_to(head);
        let number = iterator::next_number(b, slot);
        b.branch(Cond::Ne, number, 0, inside, done);
        b.switch_to(inside);
        let number = b.load(number, 0, Size::B4);
        let before = b.shl(number, ROUND_BITS);
        let iterations = match iterations {
            // Rounds without an end are all whole.
            Operand::Imm(MOST_IN_ROUNDS) => MOST_ITERATIONS.into(),
            iterations => {
                let left = b.sub(iterations, before);
                of_next(b, left).into()
            }
        };
        l.iterators.push(slot);
        Self { slot, head, done, iterations, before }
    }

    /// Ends them: the present block left the loop by itself.
    pub fn end(self, l: &mut Lowerer<'_, '_>) {
        l.iterators.pop();
        l.function.builder.jump(self.done);
        l.function.builder.switch_to(self.done);
        iterator::end_numbers(&mut l.function, self.slot);
    }
}

/// Rounds of `bpf_loop`: their words in the frame that callbacks share with their program.
#[derive(Clone, Copy, Debug)]
pub struct CallbackRounds {
    /// Iterations that are left.
    left: u32,
    /// Not 0 once an iteration has ended the loop.
    ended: u32,
}

impl CallbackRounds {
    /// Takes room for them.
    pub fn reserve(l: &mut Lowerer<'_, '_>) -> Self {
        let (left, ended) = (l.variables.reserve_in_frame(8), l.variables.reserve_in_frame(8));
        Self { left, ended }
    }

    /// Calls a loop's body, round after round.
    pub fn call(self, l: &mut Lowerer<'_, '_>, iterations: Operand, body: FuncId, span: Span) {
        // What the verifier knows of the first round it may believe of all.
        let iterations = marks::hidden(l.object, &mut l.function.builder, iterations);
        let first = marks::hidden(l.object, &mut l.function.builder, 0);
        for (at, value) in [(self.left, iterations), (self.ended, first)] {
            let place = l.variables.frame(&mut l.function, at);
            memory::store(&mut l.function.builder, place, 8, value);
        }
        let count = rounds(&mut l.function.builder, iterations.into());
        let id = l.object.reserve_function();
        let frame = l.variables.frame(&mut l.function, 0);
        let b = &mut l.function.builder;
        let frame = memory::pointer(b, frame);
        let round = b.address(id);
        b.call_void(h::LOOP, &[count, round.into(), frame.into(), 0.into()]);
        self.write_round(l, id, body, span);
    }

    /// The function that is one round.
    fn write_round(self, l: &mut Lowerer<'_, '_>, id: FuncId, body: FuncId, span: Span) {
        let frame = Vreg(1);
        let name = format!("round_{}", id.0);
        let state = FunctionState::new(id, &name, Linkage::Subprogram, 2, Role::Callback(frame), l.function.region);
        let outer = std::mem::replace(&mut l.function, state);
        l.function.begin_body();
        l.function.builder.set_span(span);
        l.function.builder.function_mut().is_loop_body = true;
        l.function.builder.function_mut().has_explored_loop = l.has_explored_loop;
        let b = &mut l.function.builder;
        let left = b.load(frame, self.left as i16, Size::B8);
        let count = of_next(b, left);
        let left = b.sub(left, count);
        b.store(frame, self.left as i16, Size::B8, left);
        let function = b.address(body);
        b.call_void(h::LOOP, &[count.into(), function.into(), frame.into(), 0.into()]);
        let ended = b.load(frame, self.ended as i16, Size::B8);
        let returned = b.load(frame, FRAME_RETURNED as i16, Size::B8);
        let over = b.alu(Alu::Or, ended, returned);
        let [stop, next] = b.new_blocks();
        b.branch(Cond::Ne, over, 0, stop, next);
        b.switch_to(next);
        b.ret(0);
        b.switch_to(stop);
        b.ret(1);
        let made = std::mem::replace(&mut l.function, outer);
        Lowerer::hand_over(l.object, made, l.probe_index, span);
    }

    /// Notes in the loop's body that this iteration ends the loop.
    pub fn note_end(self, b: &mut FunctionBuilder, frame: Vreg) {
        b.store(frame, self.ended as i16, Size::B8, 1);
    }
}
