//! The brake: a program whose loops take a CPU away is turned off from inside.
//!
//! Firings count steps (iterations of loops, and the calls in them) in their working memory. A firing of many reads the
//! clock, once in between and once at its end, and adds what it took to its CPU's second; a firing of a great many looks
//! at the clock again from time to time. Programs whose loops can't make many steps have nothing of this.
//!
//! Time alone never decides: an emulated CPU, or one whose time is stolen, takes long for little.

use crate::codegen::artifact::{BRAKE_CAUSE, BRAKE_ELAPSED, BRAKE_NS, BRAKE_STEPS, BrakeCause, BrakeSpec, ProgramKind};
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Size, Vreg};
use crate::lang::typed::{Block, Expr};
use crate::model::stats::LossCause;
use crate::model::target::Target;
use crate::probe::name::target_name;

use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::layout::{BRAKE, CACHE_LINE};
use crate::codegen::lower::loops::steps;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::programs::firing::{Bound, Brake};
use crate::codegen::lower::programs::refusal;
use crate::codegen::lower::{helpers as h, layout};

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

/// Gives the program a brake, if its loops can make many steps.
pub fn plan(l: &mut Lowerer<'_, '_>) {
    let measured = matches!(l.probe.targets[l.target], Target::Test(_) | Target::Bench(_));
    if !l.object.facts.brake || measured || steps::of_probe(l.object.scale(), l.probe) < LONG as u64 {
        return;
    }
    let words = l.scratch_bytes(WORDS_BYTES);
    let index = l.object.brakes.len();
    let head = index as u32 * stride(l.object);
    l.object.brakes.push(BrakeSpec {
        name: target_name(&l.probe.targets[l.target]).into(),
        probe: l.probe_index,
        span: l.probe.head,
        area: BRAKE.into(),
        offset: head,
    });
    l.object.section(BRAKE);
    let bound = bound(l.kind, &l.probe.targets[l.target]);
    l.brake = Some(Brake { bound, words, head, index });
    l.function.brake = l.brake;
}

/// Once the brake has gone off, firings are counted and change nothing.
pub fn refuse_when_braked(l: &mut Lowerer<'_, '_>) {
    let Some(brake) = l.brake else { return };
    let refused = refusal::refused(&mut l.function);
    let section = l.object.section(BRAKE);
    let b = &mut l.function.builder;
    let at = b.global_addr(section, brake.head);
    let cause = b.load(at, BRAKE_CAUSE as i16, Size::B8);
    let [off, on] = b.new_blocks();
    b.branch(Cond::Ne, cause, 0, off, on);
    b.switch_to(off);
    l.count_loss(LossCause::Braked, None, l.probe.head);
    l.function.builder.jump(refused);
    l.function.builder.switch_to(on);
}

/// A firing begins with no step: before its predicate, where that has loops, or else after it.
pub fn begin_steps(l: &mut Lowerer<'_, '_>, before_predicate: bool) {
    let Some(brake) = l.brake else { return };
    if before_predicate != (steps::of_predicate(l.object.scale(), l.probe) > 0) {
        return;
    }
    let words = l.function.scratch();
    for (word, value) in [(STEPS, 0), (NEXT, FIRST_LOOK), (BEGAN, 0)] {
        l.function.builder.store(words, brake.at(word), Size::B8, value);
    }
}

/// Iterations that are not counted one by one.
pub fn add_steps(l: &mut Lowerer<'_, '_>, iterations: u64, condition: Option<&Expr>, body: &Block) {
    let Some(brake) = l.brake else { return };
    let steps = steps::of_iteration(l.object.scale(), condition, body).saturating_mul(iterations);
    let steps = steps.min(MOST_STEPS as u64) as i64;
    if steps >= LONG {
        look_before_loop(l);
    }
    let words = l.function.scratch();
    let b = &mut l.function.builder;
    let so_far = b.load(words, brake.at(STEPS), Size::B8);
    let so_far = b.add(so_far, steps);
    b.store(words, brake.at(STEPS), Size::B8, so_far);
}

/// Looks at the clock before a loop that is not left to look again.
pub fn look_before_loop(l: &mut Lowerer<'_, '_>) {
    if let Some(brake) = l.brake {
        let words = l.function.scratch();
        note_time(&mut l.function.builder, brake, words);
    }
}

/// Reads the clock, and keeps the first time of a firing; gives both.
fn note_time(b: &mut FunctionBuilder, brake: Brake, words: Vreg) -> (Vreg, Vreg) {
    let now = b.call(h::KTIME_GET_NS, &[]);
    let began = b.load(words, brake.at(BEGAN), Size::B8);
    let first = all_if_zero(b, began);
    let began = choose(b, first, now, began);
    b.store(words, brake.at(BEGAN), Size::B8, began);
    (now, began)
}

/// Counts an iteration, and ends the loop where it is one too many.
pub fn count_step(l: &mut Lowerer<'_, '_>, condition: Option<&Expr>, body: &Block, on_break: BlockId) {
    let Some(brake) = l.brake else { return };
    let weight = steps::of_iteration(l.object.scale(), condition, body).min(LOOK_EVERY as u64) as i64;
    let span = l.function.builder.span();
    let spec = &mut l.object.brakes[brake.index];
    if spec.span == l.probe.head {
        spec.span = span;
    }
    let words = l.function.scratch();
    let b = &mut l.function.builder;
    let [look, go_on] = b.new_blocks();
    let steps = b.load(words, brake.at(STEPS), Size::B8);
    let steps = b.add(steps, weight);
    b.store(words, brake.at(STEPS), Size::B8, steps);
    let next = b.load(words, brake.at(NEXT), Size::B8);
    b.branch(Cond::Ge, steps, next, look, go_on);
    b.switch_to(look);
    look_at_clock(l.object, &mut l.function.builder, brake, (words, steps), go_on, on_break);
    l.function.builder.switch_to(go_on);
}

/// Looks at the clock and at the count. Once that is too much, every iteration looks, and so all loops end: they end
/// as by `break`, which is no new path to the verifier.
fn look_at_clock(
    object: &mut ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    brake: Brake,
    (words, steps): (Vreg, Vreg),
    go_on: BlockId,
    on_break: BlockId,
) {
    let section = object.section(BRAKE);
    let (now, began) = note_time(b, brake, words);
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
pub fn leave_when_braked(l: &mut Lowerer<'_, '_>) {
    let alone = l.callbacks == 0 && l.function.loops.is_empty();
    // Of a loop that looks for itself the place is known.
    let looks = |brake: &Brake| l.object.brakes[brake.index].span != l.probe.head;
    let Some(brake) = l.brake.filter(|brake| alone && looks(brake)) else { return };
    let words = l.function.scratch();
    let b = &mut l.function.builder;
    let next = b.load(words, brake.at(NEXT), Size::B8);
    let [braked, go_on] = b.new_blocks();
    b.branch(Cond::Eq, next, 0, braked, go_on);
    b.switch_to(braked);
    l.leave();
    l.function.builder.switch_to(go_on);
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
