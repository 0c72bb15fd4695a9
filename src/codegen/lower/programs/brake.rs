//! The brake: a program whose loops take a CPU away is turned off from inside.
//!
//! Firings count steps (iterations of loops, and the calls in them) in their working memory. A firing of many reads the
//! clock, once in between and once at its end, and adds what it took to its CPU's second and to its thread's time
//! ([`share`]); a firing of a great many looks at the clock again from time to time. Programs whose loops can't make many
//! steps have nothing of this.
//!
//! The words of a firing are zero between firings: those that counted clear them at their end, and so those whose loops
//! are short write nothing. They are at the begin of a region, the same for all programs that use it.
//!
//! Time alone never decides: an emulated CPU, or one whose time is stolen, takes long for little.

mod share;

use crate::codegen::artifact::{BRAKE_CAUSE, BRAKE_ELAPSED, BRAKE_NS, BRAKE_STEPS, BrakeCause, BrakeSpec, ProgramKind};
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::ir::{Alu, BlockId, Cond, Size, Vreg};
use crate::lang::typed::{Block, Expr};
use crate::model::stats::LossCause;
use crate::model::target::Target;
use crate::probe::name::target_name;

use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::layout;
use crate::codegen::lower::layout::{BRAKE, CACHE_LINE};
use crate::codegen::lower::loops::steps;
use crate::codegen::lower::object::{self, ObjectBuilder};
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::programs::firing::{Bound, Brake};
use crate::codegen::lower::programs::refusal;

/// Steps from which on a firing looks at the clock.
const FIRST_LOOK: i64 = LONG / 2;
/// Steps of a long firing, whose time counts.
const LONG: i64 = steps::LONG as i64;
/// Steps of a firing that is long for a whole machine: others wait for milliseconds.
const VERY_LONG: i64 = 64 << 10;
/// Steps between two looks at the clock.
const LOOK_EVERY: i64 = 64 << 10;
/// Steps that are counted together where the kernel numbers the iterations.
const TOGETHER: i64 = 64;
/// Most steps of one firing.
const MOST_STEPS: i64 = 16 << 20;
/// One firing's time counts alone from here on.
const FROM_STEPS: i64 = 2 << 20;
/// Most that one firing takes, ns.
const MOST_NS: i64 = 900_000_000;
/// Most that a program takes that runs once, ns: nothing else runs on its CPU meanwhile. Kernels complain of 20 seconds
/// (`watchdog_thresh`, kernel/watchdog.c; `rcu_cpu_stall_timeout`).
const MOST_NS_ONCE: i64 = 3_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// The part of a second that is too much for long firings.
const LONG_TENTHS: i64 = 9;
/// The part that is too much for very long ones.
const VERY_LONG_TENTHS: i64 = 5;

/// Words in a firing's working memory: steps so far; at how many the clock is looked at next, less [`FIRST_LOOK`]; when
/// it was first, by the thread's clock; what is read of the thread, which is anything between firings.
const STEPS: i16 = 0;
const NEXT: i16 = 8;
const BEGAN: i16 = 16;
const WAITED: i16 = 24;
/// What is in [`NEXT`] once the brake has gone off: every iteration looks.
const ALWAYS: i64 = -FIRST_LOOK;

/// Bytes of one program's words, its CPUs' seconds and its threads' times.
pub fn stride(object: &ObjectBuilder<'_>) -> u32 {
    threads_at(object) + share::THREADS_BYTES
}

/// Offset of the threads' times in a program's words.
fn threads_at(object: &ObjectBuilder<'_>) -> u32 {
    CACHE_LINE * (1 + layout::cpu_slots(object.facts))
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
    if measured || !steps::may_be_long(l.object.cost_context(), l.probe) {
        return;
    }
    let words = object::brake_words(l.object, l.function.region);
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
    let at = b.address(section.at(brake.head));
    let cause = b.load(at, BRAKE_CAUSE as i16, Size::B8);
    let [off, on] = b.new_blocks();
    b.branch(Cond::Ne, cause, 0, off, on);
    b.switch_to(off);
    b.set_cold(true);
    l.count_loss(LossCause::Braked, None, l.probe.head);
    l.function.builder.jump(refused);
    l.function.builder.set_cold(false);
    l.function.builder.switch_to(on);
}

/// Where a predicate with loops sends firings that don't concern the script: their steps are cleared before they leave.
pub fn refused_by_predicate(l: &mut Lowerer<'_, '_>) -> BlockId {
    let refused = refusal::refused(&mut l.function);
    let Some(brake) = l.brake.filter(|_| steps::of_predicate(l.object.cost_context(), l.probe) > 0) else {
        return refused;
    };
    let words = l.function.scratch();
    let b = &mut l.function.builder;
    let (here, counted) = (b.current(), b.new_block());
    b.switch_to(counted);
    clear(b, brake, words);
    b.jump(refused);
    b.switch_to(here);
    counted
}

fn clear(b: &mut FunctionBuilder, brake: Brake, words: Vreg) {
    for word in [STEPS, NEXT, BEGAN] {
        b.store(words, brake.at(word), Size::B8, 0);
    }
}

/// Iterations that are not counted one by one.
pub fn add_steps(l: &mut Lowerer<'_, '_>, iterations: u64, condition: Option<&Expr>, body: &Block) {
    let Some(brake) = l.brake else { return };
    let steps = steps::of_iteration(l.object.cost_context(), condition, body).saturating_mul(iterations);
    let steps = steps.min(MOST_STEPS as u64) as i64;
    if steps >= LONG {
        look_before_loop(l);
    }
    let words = l.function.scratch();
    advance(&mut l.function.builder, brake, words, steps);
}

/// Adds to a firing's steps; gives how many they are.
fn advance(b: &mut FunctionBuilder, brake: Brake, words: Vreg, more: i64) -> Vreg {
    let steps = b.load(words, brake.at(STEPS), Size::B8);
    let steps = b.add(steps, more);
    b.store(words, brake.at(STEPS), Size::B8, steps);
    steps
}

/// Looks at the clock before a loop that is not left to look again. What has been looked at is cleared at the end: it
/// takes a step.
pub fn look_before_loop(l: &mut Lowerer<'_, '_>) {
    if let Some(brake) = l.brake {
        let words = l.function.scratch();
        let b = &mut l.function.builder;
        advance(b, brake, words, 1);
        note_time(l.object, b, brake, words);
    }
}

/// Reads the thread's clock, and keeps the first time of a firing; gives both.
fn note_time(object: &ObjectBuilder<'_>, b: &mut FunctionBuilder, brake: Brake, words: Vreg) -> (Vreg, Vreg) {
    let now = share::read_clocks(object, b, brake, words, WAITED).own;
    let began = b.load(words, brake.at(BEGAN), Size::B8);
    let first = all_if_zero(b, began);
    let began = choose(b, first, now, began);
    b.store(words, brake.at(BEGAN), Size::B8, began);
    (now, began)
}

/// Counts an iteration, and ends the loop where it is one too many.
///
/// `number` is where the kernel keeps the number of this iteration, from 0 on, where no other iterator is open. By it a loop that is in no other one, and
/// has none in it, tells every so many iterations from the others, which do nothing: what is left uncounted at the end is
/// less than those.
pub fn count_step(
    l: &mut Lowerer<'_, '_>,
    (condition, body): (Option<&Expr>, &Block),
    number: Option<Vreg>,
    on_break: BlockId,
) {
    let Some(brake) = l.brake else { return };
    let weight = steps::of_iteration(l.object.cost_context(), condition, body).min(LOOK_EVERY as u64) as i64;
    let alone = l.callbacks == 0 && l.inline.is_empty() && l.function.loops.is_empty();
    let number = number.filter(|_| alone && !steps::has_loops(l.object.cost_context(), condition, body));
    let span = l.function.builder.span();
    let spec = &mut l.object.brakes[brake.index];
    if spec.span == l.probe.head {
        spec.span = span;
    }
    let words = l.function.scratch();
    let b = &mut l.function.builder;
    let [look, go_on] = b.new_blocks();
    let together = number.map_or(1, |number| among_others(b, number, weight, go_on));
    let steps = advance(b, brake, words, weight * together);
    let next = b.load(words, brake.at(NEXT), Size::B8);
    let beyond_first = b.sub(steps, FIRST_LOOK);
    b.branch(Cond::SGe, beyond_first, next, look, go_on);
    b.switch_to(look);
    b.set_cold(true);
    look_at_clock(l.object, &mut l.function.builder, brake, words, go_on, on_break);
    l.function.builder.set_cold(false);
    l.function.builder.switch_to(go_on);
}

/// Leaves all but the last of so many iterations; gives how many.
fn among_others(b: &mut FunctionBuilder, number: Vreg, weight: i64, others: BlockId) -> i64 {
    let together = (TOGETHER / weight).max(1);
    // A power of two, so that numbers need no division.
    let together = 1 << together.ilog2();
    if together > 1 {
        let number = b.load(number, 0, Size::B4);
        let place = b.and(number, together - 1);
        flow::require(b, Cond::Eq, place, together - 1, others);
        b.set_cold(true);
    }
    together
}

/// Looks at the clock and at the count. Once that is too much, every iteration looks, and so all loops end: they end
/// as by `break`, which is no new path to the verifier.
fn look_at_clock(
    object: &mut ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    brake: Brake,
    words: Vreg,
    go_on: BlockId,
    on_break: BlockId,
) {
    let section = object.section(BRAKE);
    let (now, began) = note_time(object, b, brake, words);
    // Read again: it would take a register all through the loop.
    let steps = b.load(words, brake.at(STEPS), Size::B8);
    let next = b.add(steps, LOOK_EVERY - FIRST_LOOK);
    b.store(words, brake.at(NEXT), Size::B8, next);
    let took = b.sub(now, began);
    let too_many = matches!(brake.bound, Bound::Both | Bound::Steps).then(|| at_least(b, steps, MOST_STEPS));
    let too_long = (brake.bound != Bound::Steps).then(|| {
        let most = if brake.bound == Bound::Firing { MOST_NS_ONCE } else { MOST_NS };
        let (many, long) = (at_least(b, steps, FROM_STEPS), at_least(b, took, most));
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
    b.store(words, brake.at(NEXT), Size::B8, ALWAYS);
    let head = b.address(section.at(brake.head));
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
    b.branch(Cond::Eq, next, ALWAYS, braked, go_on);
    b.switch_to(braked);
    b.set_cold(true);
    l.leave();
    l.function.builder.set_cold(false);
    l.function.builder.switch_to(go_on);
}

/// Clears the words of a firing that counted, and adds what a long one took to its CPU's second and its thread's time; goes
/// on in a new block.
pub fn finish_firing(object: &mut ObjectBuilder<'_>, f: &mut FunctionState) {
    let (Some(brake), Some(words), Some(cpu)) = (f.brake, f.scratch.vreg, f.cpu.vreg) else { return };
    let section = object.section(BRAKE);
    let slots = layout::cpu_slots(object.facts);
    let b = &mut f.builder;
    let done = b.new_block();
    let steps = b.load(words, brake.at(STEPS), Size::B8);
    flow::require(b, Cond::Ne, steps, 0, done);
    b.set_cold(true);
    let began = b.load(words, brake.at(BEGAN), Size::B8);
    clear(b, brake, words);
    if !matches!(brake.bound, Bound::Both | Bound::Second) {
        b.jump(done);
        b.set_cold(false);
        b.switch_to(done);
        return;
    }
    flow::require(b, Cond::Ge, steps, LONG, done);
    flow::require(b, Cond::Ne, began, 0, done);
    let clocks = share::read_clocks(object, b, brake, words, WAITED);
    // The clock was first read after some steps, which took as long as the others.
    let took = b.sub(clocks.own, began);
    let product = b.mul(took, steps);
    let measured = b.sub(steps, FIRST_LOOK);
    let took = b.alu(Alu::Div, product, measured);
    let head = b.address(section.at(brake.head));
    let taken = share::Taken { clocks, steps, took, head };
    let index = b.and(cpu, i64::from(slots - 1));
    let offset = b.mul(index, i64::from(CACHE_LINE));
    let base = b.address(section.at(brake.head + CACHE_LINE));
    let window = b.add(base, offset);
    taken.add_to_cpu(b, window, done);
    if share::waited_at(object, brake).is_some() {
        let first = b.address(section.at(brake.head + threads_at(object)));
        taken.add_to_thread(b, first, done);
    } else {
        b.jump(done);
    }
    b.set_cold(false);
    b.switch_to(done);
}
