//! The budget: a probe that takes more than its share of a CPU's time is turned off for the rest of a period.
//!
//! Each CPU times some firings of a probe: those that take long all, of others one in 256 on average, at uneven distances.
//! What was timed stands for those between, and is added to the probe's share of the running period. A probe over it, for
//! which nothing can be drawn from the [`pool`] either, is turned off on that CPU: its firings are counted and do nothing
//! else. Once a tick it is looked whether the period is over. A firing that took more than a whole share is paid for in
//! the periods that follow. A probe that ends what another began is not turned off, see [`follows`].
//!
//! All of it is in the program: it holds when user space gets no CPU.

mod follows;
mod pool;

use crate::codegen::artifact::{
    BUDGET_FROM, BUDGET_INTERVAL, BUDGET_LEFT, BUDGET_LIMIT, BUDGET_PERIOD_NS, BUDGET_SHARE, BUDGET_TAKEN,
    BUDGET_THROTTLED, BudgetProbe, BudgetSpec, ProgramKind, SiteSpec,
};
use crate::codegen::builder::{FunctionBuilder, atomic, flow};
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, SectionId, Size, Vreg};
use crate::lang::typed::Probe;
use crate::model::stats::LossCause;
use crate::model::target::Target;

use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::layout::{BUDGET, CACHE_LINE};
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::programs::exclusion::{Exclusion, exclusion};
use crate::codegen::lower::programs::firing::Budget;
use crate::codegen::lower::programs::refusal;
use crate::codegen::lower::{helpers as h, layout};

/// One firing in so many is timed, on average.
const TIMED_EVERY: i64 = 256;
/// From here on every firing is timed: the clock costs little beside it, ns.
const LONG_NS: i64 = 4_000;
/// Timers of longer periods are left alone: they print, and can't take much.
const LONGEST_TIMER_NS: u64 = 100_000_000;

/// Words of a CPU: when its period began, and what all probes took of it, ns.
const CPU_PERIOD: i16 = 0;
const CPU_TOTAL: i16 = 8;

/// Words of a probe on a CPU, with those that the engine reads ([`BUDGET_LEFT`] and on).
const LEFT: i16 = BUDGET_LEFT as i16;
/// When the firing that is being timed began, ns; 0 where none is.
const BEGAN: i16 = 8;
/// Firings that the next timed one stands for, itself included.
const INTERVAL: i16 = BUDGET_INTERVAL as i16;
/// What the probe took of its period, ns.
const OWN: i16 = 24;
/// 0 while it runs; else the tick at which it was last looked at.
const OFF: i16 = 32;
/// When its period began.
const PERIOD: i16 = 40;

pub fn section_bytes(object: &ObjectBuilder<'_>) -> u32 {
    block(object, object.budgets.len())
}

/// What the engine must know; nothing without a probe that has a budget.
pub fn spec(object: &ObjectBuilder<'_>) -> Option<BudgetSpec> {
    let probes = object.budgets.iter().enumerate().map(|(index, probe)| BudgetProbe {
        probe: *probe,
        offset: block(object, index),
        stride: CACHE_LINE,
        leader: follows::leader(object.program, *probe),
    });
    (!object.budgets.is_empty()).then(|| BudgetSpec { area: BUDGET.into(), probes: probes.collect() })
}

/// The counters of throttled firings.
pub fn sites(object: &ObjectBuilder<'_>) -> Vec<SiteSpec> {
    let site = |(index, probe): (usize, &u32)| SiteSpec {
        cause: LossCause::Throttled,
        action: None,
        probe: *probe,
        span: object.program.probes[*probe as usize].head,
        area: BUDGET.into(),
        offset: block(object, index) + BUDGET_THROTTLED,
        stride: CACHE_LINE,
    };
    object.budgets.iter().enumerate().map(site).collect()
}

/// Offset of a probe's words: behind the limits and the CPUs' words.
fn block(object: &ObjectBuilder<'_>, index: usize) -> u32 {
    let cpus = layout::cpu_slots(object.facts) * CACHE_LINE;
    (index as u32).saturating_add(1).saturating_mul(cpus).saturating_add(CACHE_LINE)
}

fn is_bound(kind: ProgramKind, probe: &Probe) -> bool {
    let spared = |target: &Target| match target {
        Target::Test(_) | Target::Bench(_) => true,
        Target::Interval { period_ns } => *period_ns > LONGEST_TIMER_NS,
        _ => false,
    };
    !matches!(kind, ProgramKind::TestRun | ProgramKind::Iter) && !probe.targets.iter().any(spared)
}

/// The words of this CPU, from those of CPU 0 on.
fn of_cpu(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, first: u32, cpu: Vreg) -> Vreg {
    let section = object.section(BUDGET);
    let slots = layout::cpu_slots(object.facts);
    let b = &mut f.builder;
    let index = b.and(cpu, i64::from(slots - 1));
    let offset = b.mul(index, i64::from(CACHE_LINE));
    let base = b.address(section.at(first));
    b.add(base, offset)
}

/// Asks the budget whether this firing may run: at the begin of the body, or before a predicate that may take long.
pub fn begin_firing(l: &mut Lowerer<'_, '_>, early: bool) {
    if !l.object.facts.budget || !is_bound(l.kind, l.probe) {
        return;
    }
    let index = l.object.budgets.iter().position(|probe| *probe == l.probe_index).unwrap_or_else(|| {
        l.object.budgets.push(l.probe_index);
        l.object.budgets.len() - 1
    });
    let block = block(l.object, index);
    let throttled_to = if early { refusal::refused(&mut l.function) } else { l.function.exit };
    let cpu = l.function.cpu();
    let words = of_cpu(l.object, &mut l.function, block, cpu);
    let preempted = exclusion(l.kind, l.object.facts) == Exclusion::Preempted;
    let follows = follows::leader(l.object.program, l.probe_index).is_some();
    l.function.budget = Some(Budget { block, words, early, preempted, follows });
    let b = &mut l.function.builder;
    let [counted, look, go_on] = b.new_blocks();
    let left = b.load(words, LEFT, Size::B8);
    b.branch(Cond::Eq, left, 0, look, counted);
    b.switch_to(counted);
    let left = b.sub(left, 1);
    b.store(words, LEFT, Size::B8, left);
    b.jump(go_on);
    b.switch_to(look);
    b.set_cold(true);
    let line = of_cpu(l.object, &mut l.function, CACHE_LINE, cpu);
    let now = if follows {
        let now = l.function.builder.call(h::KTIME_GET_NS, &[]);
        renew(l, (words, line), now, follows);
        now
    } else {
        let throttled = l.function.builder.new_block();
        let now = ask_clock(l, words, throttled);
        renew(l, (words, line), now, follows);
        leave_when_off(&mut l.function.builder, words, (throttled, throttled_to));
        now
    };
    let b = &mut l.function.builder;
    let interval = b.load(words, INTERVAL, Size::B8);
    let none = all_if_zero(b, interval);
    let interval = b.sub(interval, none);
    b.store(words, INTERVAL, Size::B8, interval);
    b.store(words, BEGAN, Size::B8, now);
    b.jump(go_on);
    b.set_cold(false);
    b.switch_to(go_on);
}

/// Counts the firings of a probe that is off, and leaves them out.
fn leave_when_off(b: &mut FunctionBuilder, words: Vreg, (throttled, throttled_to): (BlockId, BlockId)) {
    let time = b.new_block();
    let off = b.load(words, OFF, Size::B8);
    b.branch(Cond::Ne, off, 0, throttled, time);
    b.switch_to(throttled);
    atomic::add(b, words, BUDGET_THROTTLED as i16, Size::B8, 1);
    b.jump(throttled_to);
    b.switch_to(time);
}

/// Reads the clock; a probe that is off does so once a tick.
fn ask_clock(l: &mut Lowerer<'_, '_>, words: Vreg, throttled: BlockId) -> Vreg {
    let b = &mut l.function.builder;
    let [is_off, read] = b.new_blocks();
    let off = b.load(words, OFF, Size::B8);
    b.branch(Cond::Ne, off, 0, is_off, read);
    b.switch_to(is_off);
    let tick = b.call(h::JIFFIES64, &[]);
    let seen = b.load(words, OFF, Size::B8);
    b.store(words, OFF, Size::B8, tick);
    b.branch(Cond::Eq, tick, seen, throttled, read);
    b.switch_to(read);
    b.call(h::KTIME_GET_NS, &[])
}

/// Begins a period where the last one is over: the CPU's, and the probe's.
fn renew(l: &mut Lowerer<'_, '_>, (words, line): (Vreg, Vreg), now: Vreg, follows: bool) {
    let section = l.object.section(BUDGET);
    let b = &mut l.function.builder;
    let [over, same] = b.new_blocks();
    let since = b.load(line, CPU_PERIOD, Size::B8);
    let elapsed = b.sub(now, since);
    b.branch(Cond::Ge, elapsed, BUDGET_PERIOD_NS as i64, over, same);
    b.switch_to(over);
    b.store(line, CPU_PERIOD, Size::B8, now);
    b.store(line, CPU_TOTAL, Size::B8, 0);
    b.store(line, pool::CPU_DRAWN, Size::B8, 0);
    b.jump(same);
    b.switch_to(same);
    let [other, done] = b.new_blocks();
    let current = b.load(line, CPU_PERIOD, Size::B8);
    let mine = b.load(words, PERIOD, Size::B8);
    b.branch(Cond::Ne, current, mine, other, done);
    b.switch_to(other);
    // What one firing took beyond a whole limit is paid from its share of each period.
    let head = b.address(section.at(0));
    let (limit, share) = (b.load(head, BUDGET_LIMIT as i16, Size::B8), b.load(head, BUDGET_SHARE as i16, Size::B8));
    let own = b.load(words, OWN, Size::B8);
    let elapsed = b.sub(current, mine);
    let periods = b.alu(Alu::Div, elapsed, BUDGET_PERIOD_NS as i64);
    let paid = b.mul(share, periods);
    let owes = at_least(b, own, limit);
    let rest = pool::beyond(b, own, paid);
    let rest = b.mul(rest, owes);
    b.store(words, OWN, Size::B8, rest);
    if follows {
        // Those that lead pay.
        let total = b.load(line, CPU_TOTAL, Size::B8);
        let total = b.add(total, rest);
        b.store(line, CPU_TOTAL, Size::B8, total);
    } else {
        pay(b, section, (words, rest), (line, limit));
    }
    b.store(words, PERIOD, Size::B8, current);
    b.jump(done);
    b.switch_to(done);
}

/// What is still owed is paid from the pool; a probe that owes more is off.
fn pay(b: &mut FunctionBuilder, section: SectionId, (words, rest): (Vreg, Vreg), (line, limit): (Vreg, Vreg)) {
    let [owing, paid] = b.new_blocks();
    b.store(words, OFF, Size::B8, 0);
    b.branch(Cond::Ge, rest, limit, owing, paid);
    b.switch_to(owing);
    let drawn = pool::draw(b, section, line, rest);
    let rest = pool::beyond(b, rest, drawn.granted);
    b.store(words, OWN, Size::B8, rest);
    let off = at_least(b, rest, limit);
    b.store(words, OFF, Size::B8, off);
    b.jump(paid);
    b.switch_to(paid);
}

/// Adds what a timed firing took to its probe's share; goes on in a new block.
pub fn finish_firing(object: &mut ObjectBuilder<'_>, f: &mut FunctionState) {
    let (Some(budget), Some(cpu)) = (f.budget, f.cpu.vreg) else { return };
    // A firing that was refused before the budget was asked has no words of its own.
    let words = if budget.early { of_cpu(object, f, budget.block, cpu) } else { budget.words };
    let b = &mut f.builder;
    let done = b.new_block();
    let began = b.load(words, BEGAN, Size::B8);
    flow::require(b, Cond::Ne, began, 0, done);
    b.set_cold(true);
    b.store(words, BEGAN, Size::B8, 0);
    let now = b.call(h::KTIME_GET_NS, &[]);
    let took = b.sub(now, began);
    let stands_for = b.load(words, INTERVAL, Size::B8);
    let taken = b.load(words, BUDGET_TAKEN as i16, Size::B8);
    let taken = b.add(taken, stands_for);
    b.store(words, BUDGET_TAKEN as i16, Size::B8, taken);
    let is_long = at_least(b, took, LONG_NS);
    let long = b.neg(is_long);
    // One that was interrupted says nothing of the others.
    let weight = if budget.preempted { choose(b, long, 1, stands_for) } else { stands_for };
    let scaled = b.mul(took, weight);
    let own = b.load(words, OWN, Size::B8);
    let own = b.add(own, scaled);
    b.store(words, OWN, Size::B8, own);
    let doubled = b.add(stands_for, stands_for);
    let many = at_least(b, doubled, TIMED_EVERY);
    let many = b.neg(many);
    let low = b.shr(now, 4);
    let low = b.and(low, TIMED_EVERY - 1);
    let uneven = b.add(low, TIMED_EVERY / 2);
    let next = choose(b, many, uneven, doubled);
    let next = choose(b, long, 1, next);
    b.store(words, INTERVAL, Size::B8, next);
    let left = b.sub(next, 1);
    b.store(words, LEFT, Size::B8, left);
    let line = of_cpu(object, f, CACHE_LINE, cpu);
    let b = &mut f.builder;
    let total = b.load(line, CPU_TOTAL, Size::B8);
    let total = b.add(total, scaled);
    b.store(line, CPU_TOTAL, Size::B8, total);
    if budget.follows {
        b.jump(done);
    } else {
        let section = object.section(BUDGET);
        turn_off_when_over(b, section, (words, own), (line, total), done);
    }
    f.builder.set_cold(false);
    f.builder.switch_to(done);
}

/// Where the probe took all of its CPU's part, where all probes together did, or where little is left and it has had its
/// share, draws from the pool, or turns it off.
fn turn_off_when_over(
    b: &mut FunctionBuilder,
    section: SectionId,
    (words, own): (Vreg, Vreg),
    (line, total): (Vreg, Vreg),
    done: BlockId,
) {
    let head = b.address(section.at(0));
    let limits = [BUDGET_LIMIT, BUDGET_SHARE, BUDGET_FROM].map(|at| b.load(head, at as i16, Size::B8));
    let alone = at_least(b, own, limits[0]);
    let together = at_least(b, total, limits[0]);
    let (share, little) = (at_least(b, own, limits[1]), at_least(b, total, limits[2]));
    let share = b.and(share, little);
    let over = b.alu(Alu::Or, alone, together);
    let over = b.alu(Alu::Or, over, share);
    flow::require(b, Cond::Ne, over, 0, done);
    let more = at_least(b, own, total);
    let more = b.neg(more);
    let taken = choose(b, more, own, total);
    let drawn = pool::draw(b, section, line, taken);
    for (base, word, value) in [(words, OWN, own), (line, CPU_TOTAL, total)] {
        let rest = pool::beyond(b, value, drawn.granted);
        b.store(base, word, Size::B8, rest);
    }
    flow::require(b, Cond::Eq, drawn.is_all, 0, done);
    for (word, value) in [(OFF, 1), (INTERVAL, 1), (LEFT, 0)] {
        b.store(words, word, Size::B8, Operand::Imm(value));
    }
    b.jump(done);
}
