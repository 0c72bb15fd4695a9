//! Loops over ranges and maps.
//!
//! A range of few rounds that are constant runs as a plain loop, which the verifier follows round by
//! round. Others use the kernel's numeric iterator (6.4), whose body the verifier checks once, or
//! `bpf_loop` (5.17) with the body as a callback. Loops over maps are callbacks of
//! `bpf_for_each_map_elem` (5.13). Callbacks share their program's variables through a frame on its
//! stack.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, Linkage, Operand, Vreg};
use crate::kernel::target::TargetFacts;
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId, Statement, StatementKind, tuple_layout};
use crate::lang::types::Type;

use super::addr::{Addr, Base};
use super::counted;
use super::func::{FRAME_RETURNED, FnState, LocalHome, LoopTargets, Lowerer, Role};
use super::helpers as h;
use super::layout::aggregation;
use super::numbers::Walking;
use super::place::scalar_shape;
use super::value::element_types;
use super::weight::{self, Scale};

/// Rounds that the verifier follows one by one.
const PLAIN_ROUNDS: i64 = 256;
/// Most that the verifier is made to follow where there is another way, roughly in instructions.
const PLAIN_WEIGHT: u64 = 4 << 10;
/// Most where there is none: the verifier gives up at a million (`BPF_COMPLEXITY_LIMIT_INSNS`).
const MOST_FOLLOWED: u64 = 200_000;
/// Most that is written out round by round, roughly in instructions.
pub const UNROLLED_WEIGHT: u64 = 8 << 10;
/// Rounds that `bpf_loop` and the numeric iterator allow (`BPF_MAX_LOOPS`).
const MOST_ROUNDS: i64 = 8 << 20;

fn constant_rounds(start: &Expr, end: &Expr) -> Option<i64> {
    let (start, end) = (start.as_int()? as i64, end.as_int()? as i64);
    Some(end.saturating_sub(start))
}

/// How a loop over a range is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A plain loop, which the verifier follows this many times.
    Plain {
        /// Rounds.
        rounds: u64,
    },
    /// The body so many times, one after the other.
    Unrolled {
        /// Rounds.
        rounds: u64,
    },
    /// The kernel's numeric iterator.
    Iterator,
    /// `bpf_loop` with the body as a callback.
    Callback,
    /// The kernel has nothing for it.
    None,
}

impl Way {
    /// The way for a few rounds that the verifier follows, whose bodies weigh so much together.
    fn followed(facts: &TargetFacts, rounds: u64, weight: u64) -> Self {
        // Besides, verifiers that forget rounds compare no more than registers when they look for endless loops:
        // a counter on the stack does not tell rounds apart (`states_maybe_looping`, kernel/bpf/verifier.c).
        if facts.forgets_rounds() && weight <= UNROLLED_WEIGHT {
            Self::Unrolled { rounds }
        } else {
            Self::Plain { rounds }
        }
    }

    /// The way for rounds whose number nobody knows.
    fn unforeseen(facts: &TargetFacts) -> Self {
        match Walking::of(facts) {
            Walking::Iterator => Self::Iterator,
            Walking::Callback => Self::Callback,
            Walking::Counting => Self::None,
        }
    }
}

/// The way for a loop: a plain one costs least at run time, but what the verifier would follow for
/// too long must be one that it understands without.
pub fn way(scale: Scale<'_>, start: &Expr, end: &Expr, body: &Block) -> Way {
    way_for(scale.facts, start, end, weight::block(scale, body))
}

/// The way for a loop whose body weighs so much.
pub fn way_for(facts: &TargetFacts, start: &Expr, end: &Expr, body: u64) -> Way {
    let other = Way::unforeseen(facts);
    let Some(rounds) = constant_rounds(start, end).filter(|n| *n <= PLAIN_ROUNDS) else { return other };
    let rounds = rounds.max(0) as u64;
    if rounds < 2 {
        return Way::Unrolled { rounds };
    }
    let most = if other == Way::None { MOST_FOLLOWED } else { PLAIN_WEIGHT };
    let weight = rounds.saturating_mul(body);
    if weight <= most { Way::followed(facts, rounds, weight) } else { other }
}

/// The way for a `while`; `before` are the statements before it in its block. It is a plain loop when it
/// counts a few rounds, which the verifier may follow, and for want of anything else.
pub fn while_way(scale: Scale<'_>, before: &[Statement], condition: &Expr, body: &Block) -> Way {
    while_way_for(scale.facts, counted::rounds(before, condition, body), || weight::block(scale, body))
}

/// The way for a `while` of so many rounds, when they are known, whose body weighs so much. Who has weighed
/// the body already hands that over: weighed at every level anew, nested loops would take exponential time.
pub fn while_way_for(facts: &TargetFacts, rounds: Option<u64>, body: impl FnOnce() -> u64) -> Way {
    let other = Way::unforeseen(facts);
    let Some(rounds) = rounds.filter(|n| *n <= PLAIN_ROUNDS as u64) else { return other };
    // Where there is nothing else, all is written out that may be.
    let most = if other == Way::None { UNROLLED_WEIGHT } else { PLAIN_WEIGHT };
    let weight = rounds.saturating_mul(body());
    if weight <= most { Way::followed(facts, rounds, weight) } else { other }
}

/// Whether a statement is a loop whose body is a callback; `before` are the statements before it in its block.
pub fn is_callback(scale: Scale<'_>, before: &[Statement], s: &Statement) -> bool {
    match &s.kind {
        StatementKind::ForMap { .. } => true,
        StatementKind::ForRange { start, end, body, .. } => way(scale, start, end, body) == Way::Callback,
        StatementKind::While(condition, body) => while_way(scale, before, condition, body) == Way::Callback,
        _ => false,
    }
}

/// Helper that starts a loop, with the map in r1 for maps.
enum Over<'a> {
    Range { local: LocalId, start: Operand, rounds: Vreg },
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
        let way = way(self.scale(), start, end, body);
        let first = self.scalar(start)?;
        let first = self.keep(first, end);
        let last = self.scalar(end)?;
        if matches!(way, Way::Iterator | Way::Callback) {
            self.forget_values(body);
        }
        match way {
            Way::Plain { rounds } => {
                self.warn_of_rounds(Some(rounds), body, span);
                self.plain_loop(local, first, last, body)
            }
            Way::Unrolled { rounds } => self.unrolled_range(local, first, rounds, body),
            Way::Iterator => {
                let rounds = self.rounds(first, last)?;
                self.iterator_loop(local, first, rounds, body)
            }
            Way::Callback => {
                let rounds = self.rounds(first, last)?;
                self.callback_loop(&Over::Range { local, start: first, rounds }, body, span)
            }
            Way::None if constant_rounds(start, end).is_some_and(|n| n <= PLAIN_ROUNDS) => {
                let error = CodegenError::unsupported(span, "a loop with so much in it", "bpf_loop (Linux 5.17)");
                Err(error.with_hint("use fewer rounds, or do less in each"))
            }
            Way::None => {
                let what = "a loop with bounds that are not constant";
                let error = CodegenError::unsupported(span, what, "bpf_loop (Linux 5.17)");
                Err(error.with_hint(format!("use constant bounds with at most {PLAIN_ROUNDS} rounds")))
            }
        }
    }

    /// What loops are weighed with.
    pub const fn scale(&self) -> Scale<'_> {
        self.u.scale()
    }

    /// `end - start`, 0 when negative, at most what the kernel allows.
    fn rounds(&mut self, first: Operand, last: Operand) -> Result<Vreg, CodegenError> {
        let rounds = self.f.b.new_vreg();
        self.f.b.copy_into(rounds, 0);
        let first_ = self.own_copy(first);
        let last = if let Operand::Reg(last) = last { self.own_copy(last).into() } else { last };
        self.when(Cond::SLt, first_.into(), last, |l| {
            let difference = l.f.b.sub(last, first_);
            l.f.b.copy_into(rounds, difference);
            l.when(Cond::Gt, rounds.into(), MOST_ROUNDS.into(), |l| {
                l.f.b.copy_into(rounds, MOST_ROUNDS);
                Ok(())
            })
        })?;
        let rounds = self.met(rounds.into(), &Type::I64);
        Ok(self.f.b.in_register(rounds))
    }

    /// The body once for each value of the variable.
    fn unrolled_range(
        &mut self,
        local: LocalId,
        first: Operand,
        rounds: u64,
        body: &'a Block,
    ) -> Result<(), CodegenError> {
        let done = self.f.b.new_block();
        let first = self.f.b.copy(first);
        for round in 0..rounds {
            let next = self.f.b.new_block();
            let value = self.f.b.add(first, round as i64);
            self.write_local(local, value.into());
            self.written_out_round(body, done, next)?;
        }
        self.f.b.jump(done);
        self.f.b.switch_to(done);
        self.wipe_counter(local);
        self.end_loop(body);
        Ok(())
    }

    /// One of the rounds of a loop that is written out; goes on in `next`, where `continue` leads to.
    pub fn written_out_round(&mut self, body: &'a Block, done: BlockId, next: BlockId) -> Result<(), CodegenError> {
        self.f.loops.push(LoopTargets { on_break: done, on_continue: next });
        self.block(body)?;
        self.forget_all();
        self.f.loops.pop();
        self.f.b.jump(next);
        self.f.b.switch_to(next);
        self.end_round(body);
        Ok(())
    }

    /// A `while` of so many rounds, its condition and body once for each.
    pub fn unrolled_while(&mut self, rounds: u64, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        let done = self.f.b.new_block();
        for _ in 0..rounds {
            let (inside, next) = (self.f.b.new_block(), self.f.b.new_block());
            let mark = self.mark();
            self.condition(c, inside, done)?;
            self.release(mark);
            self.f.b.switch_to(inside);
            self.written_out_round(body, done, next)?;
        }
        self.f.b.jump(done);
        self.f.b.switch_to(done);
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
        let counter = self.f.b.copy(first);
        let (head, inside, next, done) =
            (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        self.f.b.jump(head);
        self.f.b.switch_to(head);
        self.f.b.branch(Cond::SLt, counter, last, inside, done);
        self.f.b.switch_to(inside);
        self.write_local(local, counter.into());
        self.f.loops.push(LoopTargets { on_break: done, on_continue: next });
        self.block(body)?;
        self.f.loops.pop();
        self.f.b.jump(next);
        self.f.b.switch_to(next);
        self.end_round(body);
        self.f.b.alu_into(counter, crate::codegen::ir::Alu::Add, crate::codegen::ir::Width::W64, counter, 1);
        self.f.b.jump(head);
        self.f.b.switch_to(done);
        self.wipe_counter(local);
        self.end_loop(body);
        Ok(())
    }

    fn iterator_loop(
        &mut self,
        local: LocalId,
        first: Operand,
        rounds: Vreg,
        body: &'a Block,
    ) -> Result<(), CodegenError> {
        let first = self.f.b.copy(first);
        let forgotten = self.forgotten_in_rounds(None, body);
        let slot = self.open_numbers(0.into(), rounds.into());
        let again = self.f.b.new_block();
        let (head, round, inside, done) =
            (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        if self.iterators.is_empty() {
            self.clear_locals_of(body);
        }
        self.f.b.jump(again);
        self.f.b.switch_to(head);
        let given = self.f.given();
        let number = self.next_number(slot);
        self.f.b.branch(Cond::Ne, number, 0, round, done);
        self.f.b.switch_to(inside);
        let index = self.load(Addr::new(Base::Reg(number), 0), 4, true);
        let value = self.f.b.add(first, index);
        self.write_local(local, value.into());
        self.f.loops.push(LoopTargets { on_break: done, on_continue: again });
        self.iterators.push(slot);
        self.block(body)?;
        self.f.loops.pop();
        self.f.b.jump(again);
        self.begin_round(again, given, body, &forgotten);
        self.iterators.pop();
        self.f.b.jump(head);
        self.enter_round(round, inside, again);
        self.f.b.switch_to(done);
        self.close_numbers(slot);
        self.wipe_counter(local);
        self.end_loop(body);
        Ok(())
    }

    /// Begins the block that leads to a loop's next number. What the body keeps for a while on the stack is made
    /// 0 there: the verifier tells rounds apart by it, though no round reads what another left.
    fn begin_round(&mut self, again: BlockId, given: usize, body: &'a Block, forgotten: &[LocalId]) {
        self.f.b.switch_to(again);
        let slots = self.f.given_back_since(given);
        self.clear_slots(&slots);
        self.wipe_left(body);
        self.forget_numbers(forgotten);
    }

    /// Fills the block before a round of the numeric iterator. Some verifiers (Linux 6.18) look for a way
    /// back to its next number and fail with EFAULT where there is none, because the first round always
    /// leaves: those get one that is never taken.
    fn enter_round(&mut self, round: BlockId, inside: BlockId, head: BlockId) {
        self.f.b.switch_to(round);
        if self.f.b.leads_to(inside, head) {
            self.f.b.jump(inside);
        } else {
            let zero = self.unknown_zero();
            self.f.b.branch(Cond::Ne, zero, 0, head, inside);
        }
    }

    /// `while` in rounds of the numeric iterator: what the verifier can't foresee the end of, it need not
    /// follow to the end. Rounds end at what the kernel allows.
    pub fn while_iterator(&mut self, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        self.forget_values(body);
        let forgotten = self.forgotten_in_rounds(Some(c), body);
        let slot = self.open_numbers(0.into(), MOST_ROUNDS.into());
        let (again, head, round, check, inside, done) = (
            self.f.b.new_block(),
            self.f.b.new_block(),
            self.f.b.new_block(),
            self.f.b.new_block(),
            self.f.b.new_block(),
            self.f.b.new_block(),
        );
        if self.iterators.is_empty() {
            self.clear_locals_of(body);
        }
        self.f.b.jump(again);
        self.f.b.switch_to(head);
        let given = self.f.given();
        let number = self.next_number(slot);
        self.f.b.branch(Cond::Ne, number, 0, round, done);
        self.f.b.switch_to(check);
        self.iterators.push(slot);
        self.while_round(c, body, (again, inside, done))?;
        self.begin_round(again, given, body, &forgotten);
        self.iterators.pop();
        self.f.b.jump(head);
        self.enter_round(round, check, again);
        self.f.b.switch_to(done);
        self.close_numbers(slot);
        self.end_loop(body);
        Ok(())
    }

    /// One round of a `while`: its condition in the present block, its body, and back to the head; goes
    /// on where the loop is done.
    pub fn while_round(
        &mut self,
        c: &'a Expr,
        body: &'a Block,
        (head, inside, done): (BlockId, BlockId, BlockId),
    ) -> Result<(), CodegenError> {
        let mark = self.mark();
        self.condition(c, inside, done)?;
        self.release(mark);
        self.f.b.switch_to(inside);
        self.f.loops.push(LoopTargets { on_break: done, on_continue: head });
        self.block(body)?;
        self.f.loops.pop();
        self.f.b.jump(head);
        self.f.b.switch_to(done);
        Ok(())
    }

    /// Destroys the iterators of the loops that a `return` leaves: `from` of them stay.
    pub fn destroy_iterators(&mut self, from: usize) {
        for at in from..self.iterators.len() {
            let slot = self.iterators[at];
            self.close_numbers(slot);
        }
    }

    /// `for $kv : @map`.
    pub fn for_map(&mut self, local: LocalId, map: MapId, body: &'a Block, span: Span) -> Result<(), CodegenError> {
        if !self.u.facts.abilities().for_each_map_elem {
            return self.unsupported(span, "a loop over a map", "bpf_for_each_map_elem (Linux 5.13)");
        }
        self.forget_values(body);
        self.callback_loop(&Over::Map { local, map }, body, span)
    }

    /// `while` in rounds of `bpf_loop`, which end at what the kernel allows.
    pub fn while_callback(&mut self, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        self.forget_values(body);
        self.callback_loop(&Over::While(c), body, c.span)
    }

    fn callback_loop(&mut self, over: &Over<'a>, body: &'a Block, span: Span) -> Result<(), CodegenError> {
        let frame = self.frame(0);
        // The callback takes the base of the working memory from the frame.
        if self.f.role == Role::Program {
            self.f.scratch();
        }
        let id = self.u.reserve_function();
        let frame_pointer = self.pointer(frame);
        let function = self.f.b.func_addr(id);
        match over {
            Over::Range { local, start, rounds } => {
                // The first number travels in the loop variable itself.
                self.write_local(*local, *start);
                self.hide_numbers();
                self.f.b.call_void(h::LOOP, &[(*rounds).into(), function.into(), frame_pointer.into(), 0.into()]);
            }
            Over::While(_) => {
                self.hide_numbers();
                let args = [MOST_ROUNDS.into(), function.into(), frame_pointer.into(), 0.into()];
                self.f.b.call_void(h::LOOP, &args);
            }
            Over::Map { map, .. } => {
                let Some(bpf) = self.keyed_map(*map) else {
                    return self.internal(span, "a loop over a scalar map");
                };
                self.hide_numbers();
                let handle = self.f.b.map_addr(bpf);
                self.f
                    .b
                    .call_void(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), frame_pointer.into(), 0.into()]);
            }
        }
        self.callback(id, over, body, span)?;
        if let Over::Range { local, .. } = over {
            self.wipe_counter(*local);
        }
        self.take_returned()?;
        // A `return` in the callback ends the probe, or the callback that this loop is in.
        let flag = self.frame(FRAME_RETURNED as u32);
        let returned = self.load(flag, 8, false);
        self.when(Cond::Ne, returned.into(), 0.into(), |l| {
            l.leave();
            Ok(())
        })
    }

    /// Takes from the verifier what it knows of the numbers in the frame, where it would take them for
    /// the same in every round and drop the code for others.
    fn hide_numbers(&mut self) {
        if !self.u.facts.believes_one_round() {
            return;
        }
        let zero = self.unknown_zero();
        for index in 0..self.homes.len() {
            let number = matches!(self.locals[index].ty, Type::Int { .. } | Type::Bool | Type::Enum { .. });
            if let (LocalHome::Frame(at), true) = (self.homes[index], number) {
                let place = self.frame(at);
                let value = self.load(place, 8, false);
                let value = self.f.b.add(value, zero);
                self.store(place, 8, value);
            }
        }
    }

    fn callback(
        &mut self,
        id: crate::codegen::ir::FuncId,
        over: &Over<'a>,
        body: &'a Block,
        span: Span,
    ) -> Result<(), CodegenError> {
        // bpf_loop: (index, frame); bpf_for_each_map_elem: (map, key, value, frame).
        let (parameters, frame) = match over {
            Over::Range { .. } | Over::While(_) => (2, Vreg(1)),
            Over::Map { .. } => (4, Vreg(3)),
        };
        let region = self.f.region;
        let name = format!("loop_{}", id.0);
        let state = FnState::new(id, &name, Linkage::Subprogram, parameters, Role::Callback(frame), region);
        let outer = std::mem::replace(&mut self.f, state);
        let outer_iterators = std::mem::take(&mut self.iterators);
        let outer_scratch = self.scratch_next;
        self.callbacks += 1;
        self.f.begin_body();
        self.f.b.set_span(span);
        let (next, stop) = (self.f.b.new_block(), self.f.b.new_block());
        self.f.loops.push(LoopTargets { on_break: stop, on_continue: next });
        if !self.u.facts.believes_one_round() {
            self.f.b.runs_in_rounds();
            let condition = if let Over::While(c) = over { Some(*c) } else { None };
            let forgotten = self.forgotten_in_rounds(condition, body);
            self.forget_numbers(&forgotten);
        }
        match over {
            Over::Map { local, map } => self.element_variable(*local, *map, span)?,
            Over::While(c) => {
                let inside = self.f.b.new_block();
                let mark = self.mark();
                self.condition(c, inside, stop)?;
                self.release(mark);
                self.f.b.switch_to(inside);
            }
            Over::Range { .. } => {}
        }
        self.block(body)?;
        self.f.b.jump(next);
        self.f.b.switch_to(next);
        self.wipe_left(body);
        if let Over::Range { local, .. } = over {
            let number = self.read_local(*local);
            let number = self.f.b.add(number, 1);
            self.write_local(*local, number.into());
        }
        self.f.b.ret(0);
        self.f.b.switch_to(stop);
        self.wipe_left(body);
        self.f.b.ret(1);
        self.scratch_next = outer_scratch;
        self.callbacks -= 1;
        self.iterators = outer_iterators;
        let made = std::mem::replace(&mut self.f, outer);
        Lowerer::hand_over(self.u, made, self.probe_index, span);
        Ok(())
    }

    /// Fills the loop variable of a loop over a map: a tuple of key and value.
    fn element_variable(&mut self, local: LocalId, map: MapId, span: Span) -> Result<(), CodegenError> {
        let (key, value) = (Vreg(1), Vreg(2));
        let spec = &self.u.program.maps[map.0 as usize];
        let ty = &self.locals[local.0 as usize].ty;
        let types: Vec<Type> = element_types(ty).into_iter().cloned().collect();
        let [key_type, value_type] = types.as_slice() else {
            return self.internal(span, "a loop variable that is not a pair");
        };
        let ((size, _), offsets) = tuple_layout([key_type, value_type].into_iter(), &self.u.program.structs);
        let Some(dst) = self.local_memory(local) else {
            return self.internal(span, "a loop variable without memory");
        };
        let key_size = self.size(key_type);
        self.copy(dst, Addr::new(Base::Reg(key), 0), key_size);
        if offsets[1] > key_size {
            self.zero(dst.at(key_size), offsets[1] - key_size);
        }
        let value_size = self.size(value_type);
        let to = dst.at(offsets[1]);
        if let Some(agg) = aggregation(spec) {
            let number = self.reduce_by_key(map, agg, Addr::new(Base::Reg(key), 0), span)?;
            self.store(to, scalar_shape(value_type).0, number);
        } else {
            self.copy(to, Addr::new(Base::Reg(value), 0), value_size);
        }
        let end = offsets[1] + value_size;
        if size > end {
            self.zero(dst.at(end), size - end);
        }
        Ok(())
    }
}
