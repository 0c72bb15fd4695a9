//! The brake: a program whose loops take a CPU away is turned off from inside.
//!
//! Firings count steps (iterations of loops, and the calls in them) in their working memory. A firing of many reads the
//! clock, once in between and once at its end, and adds what it took to its CPU's second; a firing of a great many looks
//! at the clock again from time to time. Programs whose loops can't make many steps have nothing of this.
//!
//! Time alone never decides: an emulated CPU, or one whose time is stolen, takes long for little.

use crate::codegen::artifact::{BRAKE_CAUSE, BRAKE_ELAPSED, BRAKE_NS, BRAKE_STEPS, BrakeCause, BrakeSpec, ProgramKind};
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Size, Vreg};
use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{self, BRAKE, CACHE_LINE};
use crate::codegen::lower::loops::steps;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::programs::firing::{Bound, Brake};
use crate::lang::typed::{Block, Expr};
use crate::model::stats::LossCause;
use crate::model::target::Target;
use crate::probe::name::target_name;

/// Steps from which on a firing looks at the clock.
const FIRST_LOOK: i64 = 1024;
/// Steps of a long firing, whose time counts.
const LONG: i64 = 2 * FIRST_LOOK;
/// Steps of a firing that is long for a whole machine: others wait for milliseconds.
const VERY_LONG: i64 = 64 << 10;
/// Steps between two looks at the clock.
const LOOK_EVERY: i64 = 64 << 10;
/// Most steps of one firing.
const MOST_STEPS: i64 = 16 << 20;
/// One firing's time counts alone from here on.
const FROM_STEPS: i64 = 2 << 20;
/// Most that one firing takes, ns.
const MOST_NS: i64 = 900_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// The part of a second that is too much for long firings.
const MOST_TENTHS: i64 = 9;
/// The part that is too much for very long ones.
const MOST_TENTHS_OF_VERY_LONG: i64 = 5;

/// Words in a firing's working memory: steps so far, where the clock is looked at next, when it was first.
const STEPS: i16 = 0;
const NEXT: i16 = 8;
const BEGAN: i16 = 16;
const WORDS_BYTES: u32 = 24;

/// Words of a CPU's second: when it began, and what long firings took of it.
const WINDOW_BEGAN: i16 = 0;
const WINDOW_NS: i16 = 8;

/// Bytes of one program's words and its CPUs' seconds.
pub fn stride(unit: &ObjectBuilder<'_>) -> u32 {
    CACHE_LINE * (1 + layout::cpu_slots(unit.facts))
}

fn bound(kind: ProgramKind, target: &Target) -> Bound {
    match (kind, target) {
        (ProgramKind::TestRun, _) => Bound::Firing,
        (ProgramKind::Iter, _) => Bound::Steps,
        (_, Target::Interval { .. }) => Bound::Second,
        _ => Bound::Both,
    }
}

impl Lowerer<'_, '_> {
    /// Gives the program a brake, if its loops can make many steps.
    pub fn plan_brake(&mut self) {
        let measured = matches!(self.probe.targets[self.target], Target::Test(_) | Target::Bench(_));
        if !self.object.facts.brake || measured || steps::of_probe(self.scale(), self.probe) < LONG as u64 {
            return;
        }
        let words = self.scratch_bytes(WORDS_BYTES);
        let index = self.object.brakes.len();
        let head = index as u32 * stride(self.object);
        self.object.brakes.push(BrakeSpec {
            name: target_name(&self.probe.targets[self.target]).into(),
            probe: self.probe_index,
            span: self.probe.head,
            area: BRAKE.into(),
            offset: head,
        });
        self.object.section(BRAKE);
        let bound = bound(self.kind, &self.probe.targets[self.target]);
        self.brake = Some(Brake { bound, words, head, index });
        self.function.brake = self.brake;
    }

    /// Once the brake has gone off, firings are counted and change nothing.
    pub fn refuse_when_braked(&mut self) {
        let Some(brake) = self.brake else { return };
        let refused = self.refused();
        let section = self.object.section(BRAKE);
        let at = self.function.builder.global_addr(section, brake.head);
        let cause = self.function.builder.load(at, BRAKE_CAUSE as i16, Size::B8);
        let (off, on) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, cause, 0, off, on);
        self.function.builder.switch_to(off);
        self.count_loss(LossCause::Braked, None, self.probe.head);
        self.function.builder.jump(refused);
        self.function.builder.switch_to(on);
    }

    /// A firing begins with no step: before its predicate, where that has loops, or else after it.
    pub fn begin_steps(&mut self, before_predicate: bool) {
        let Some(brake) = self.brake else { return };
        if before_predicate != (steps::of_predicate(self.scale(), self.probe) > 0) {
            return;
        }
        let words = self.function.scratch();
        for (word, value) in [(STEPS, 0), (NEXT, FIRST_LOOK), (BEGAN, 0)] {
            self.function.builder.store(words, brake.at(word), Size::B8, value);
        }
    }

    /// Iterations that are not counted one by one.
    pub fn add_steps(&mut self, iterations: u64, condition: Option<&Expr>, body: &Block) {
        let Some(brake) = self.brake else { return };
        let steps = steps::of_iteration(self.scale(), condition, body).saturating_mul(iterations);
        let steps = steps.min(MOST_STEPS as u64) as i64;
        if steps >= LONG {
            self.look_before_loop();
        }
        let words = self.function.scratch();
        let b = &mut self.function.builder;
        let so_far = b.load(words, brake.at(STEPS), Size::B8);
        let so_far = b.add(so_far, steps);
        b.store(words, brake.at(STEPS), Size::B8, so_far);
    }

    /// Looks at the clock before a loop that is not left to look again.
    pub fn look_before_loop(&mut self) {
        if let Some(brake) = self.brake {
            let words = self.function.scratch();
            self.note_time(brake, words);
        }
    }

    /// Reads the clock, and keeps the first time of a firing; gives both.
    fn note_time(&mut self, brake: Brake, words: Vreg) -> (Vreg, Vreg) {
        let b = &mut self.function.builder;
        let now = b.call(h::KTIME_GET_NS, &[]);
        let began = b.load(words, brake.at(BEGAN), Size::B8);
        let first = all_if_zero(b, began);
        let began = choose(b, first, now, began);
        b.store(words, brake.at(BEGAN), Size::B8, began);
        (now, began)
    }

    /// Counts an iteration, and ends the loop where it is one too many.
    pub fn count_step(&mut self, condition: Option<&Expr>, body: &Block, on_break: BlockId) {
        let Some(brake) = self.brake else { return };
        let weight = steps::of_iteration(self.scale(), condition, body).min(LOOK_EVERY as u64) as i64;
        let span = self.function.builder.span();
        let spec = &mut self.object.brakes[brake.index];
        if spec.span == self.probe.head {
            spec.span = span;
        }
        let words = self.function.scratch();
        let b = &mut self.function.builder;
        let (look, go_on) = (b.new_block(), b.new_block());
        let steps = b.load(words, brake.at(STEPS), Size::B8);
        let steps = b.add(steps, weight);
        b.store(words, brake.at(STEPS), Size::B8, steps);
        let next = b.load(words, brake.at(NEXT), Size::B8);
        b.branch(Cond::Ge, steps, next, look, go_on);
        b.switch_to(look);
        self.look(brake, (words, steps), go_on, on_break);
        self.function.builder.switch_to(go_on);
    }

    /// Looks at the clock and at the count. Once that is too much, every iteration looks, and so all loops end: they end
    /// as by `break`, which is no new path to the verifier.
    fn look(&mut self, brake: Brake, (words, steps): (Vreg, Vreg), go_on: BlockId, on_break: BlockId) {
        let section = self.object.section(BRAKE);
        let (now, began) = self.note_time(brake, words);
        let b = &mut self.function.builder;
        let next = b.add(steps, LOOK_EVERY);
        b.store(words, brake.at(NEXT), Size::B8, next);
        let took = b.sub(now, began);
        let too_many = matches!(brake.bound, Bound::Both | Bound::Steps).then(|| at_least(b, steps, MOST_STEPS));
        let too_long = (brake.bound != Bound::Steps).then(|| {
            let (many, long) = (at_least(b, steps, FROM_STEPS), at_least(b, took, MOST_NS));
            b.and(many, long)
        });
        let cause = match too_many {
            Some(too_many) => b.sub(BrakeCause::Second as i64, too_many),
            None => b.copy(BrakeCause::Second as i64),
        };
        let over = match (too_many, too_long) {
            (Some(steps), Some(time)) => b.alu(Alu::Or, steps, time),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => b.copy(0),
        };
        let trip = b.new_block();
        b.branch(Cond::Ne, over, 0, trip, go_on);
        b.switch_to(trip);
        b.store(words, brake.at(NEXT), Size::B8, 0);
        let head = b.global_addr(section, brake.head);
        b.store(head, BRAKE_STEPS as i16, Size::B8, steps);
        b.store(head, BRAKE_NS as i16, Size::B8, took);
        b.store(head, BRAKE_ELAPSED as i16, Size::B8, took);
        b.store(head, BRAKE_CAUSE as i16, Size::B8, cause);
        b.jump(on_break);
    }

    /// Behind a loop that is in no other one: a firing whose loops were ended does nothing more.
    pub fn leave_when_braked(&mut self) {
        let alone = self.callbacks == 0 && self.function.loops.is_empty();
        // Of a loop that looks for itself the place is known.
        let looks = |brake: &Brake| self.object.brakes[brake.index].span != self.probe.head;
        let Some(brake) = self.brake.filter(|brake| alone && looks(brake)) else { return };
        let words = self.function.scratch();
        let b = &mut self.function.builder;
        let next = b.load(words, brake.at(NEXT), Size::B8);
        let (braked, go_on) = (b.new_block(), b.new_block());
        b.branch(Cond::Eq, next, 0, braked, go_on);
        b.switch_to(braked);
        self.leave();
        self.function.builder.switch_to(go_on);
    }
}

/// Adds what a long firing took to its CPU's second; goes on in a new block.
pub fn finish_firing(unit: &mut ObjectBuilder<'_>, f: &mut FunctionState) {
    let (Some(brake), Some(words), Some(cpu)) = (f.brake, f.scratch.vreg, f.cpu.vreg) else { return };
    if !matches!(brake.bound, Bound::Both | Bound::Second) {
        return;
    }
    let section = unit.section(BRAKE);
    let slots = layout::cpu_slots(unit.facts);
    let b = &mut f.builder;
    let done = b.new_block();
    let steps = b.load(words, brake.at(STEPS), Size::B8);
    b.require(Cond::Ge, steps, LONG, done);
    let began = b.load(words, brake.at(BEGAN), Size::B8);
    b.require(Cond::Ne, began, 0, done);
    let now = b.call(h::KTIME_GET_NS, &[]);
    // The clock was first read after some steps, which took as long as the others.
    let took = b.sub(now, began);
    let product = b.mul(took, steps);
    let measured = b.sub(steps, FIRST_LOOK);
    let took = b.alu(Alu::Div, product, measured);
    let index = b.and(cpu, i64::from(slots - 1));
    let offset = b.mul(index, i64::from(CACHE_LINE));
    let base = b.global_addr(section, brake.head + CACHE_LINE);
    let window = b.add(base, offset);
    let since = b.load(window, WINDOW_BEGAN, Size::B8);
    let fresh = all_if_zero(b, since);
    let since = choose(b, fresh, began, since);
    b.store(window, WINDOW_BEGAN, Size::B8, since);
    let sum = b.load(window, WINDOW_NS, Size::B8);
    let sum = b.add(sum, took);
    b.store(window, WINDOW_NS, Size::B8, sum);
    let elapsed = b.sub(now, since);
    b.require(Cond::Ge, elapsed, SECOND_NS, done);
    b.store(window, WINDOW_BEGAN, Size::B8, now);
    b.store(window, WINDOW_NS, Size::B8, 0);
    let very_long = at_least(b, steps, VERY_LONG);
    let fewer = b.mul(very_long, MOST_TENTHS - MOST_TENTHS_OF_VERY_LONG);
    let tenths = b.sub(MOST_TENTHS, fewer);
    let (a, most) = (b.mul(sum, 10), b.mul(elapsed, tenths));
    b.require(Cond::Gt, a, most, done);
    let head = b.global_addr(section, brake.head);
    let cause = b.load(head, BRAKE_CAUSE as i16, Size::B8);
    b.require(Cond::Eq, cause, 0, done);
    b.store(head, BRAKE_STEPS as i16, Size::B8, steps);
    b.store(head, BRAKE_NS as i16, Size::B8, sum);
    b.store(head, BRAKE_ELAPSED as i16, Size::B8, elapsed);
    b.store(head, BRAKE_CAUSE as i16, Size::B8, Operand::Imm(BrakeCause::Second as i64));
    b.jump(done);
    b.switch_to(done);
}
