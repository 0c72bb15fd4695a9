//! The measuring threads: pinned, one a CPU.
//!
//! Inside the loops there is no allocation, no lock and no system call but the sleep of the timer loop: what else ran
//! on the CPU is read from the memory that the BPF programs share, the clock from the vDSO.

mod spun;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, Timespec};

use spun::{COUNTED, Spun};

use super::tally::{Pair, Side};
use super::{LatencyError, Mode, Options, Thresholds};
use crate::engine::latency::layout::slot;
use crate::engine::latency::{Memory, Policy, Slot, set_policy, without_timer_slack};
use crate::engine::monotonic_ns;
use crate::model::latency::{ByClass, LatencyParts};
use crate::thread::{self, Rights};

/// Words of a [`Side`].
pub mod word {
    /// Complete periods.
    pub const PERIODS: usize = 0;
    /// ns spun.
    pub const RUNTIME: usize = 1;
    /// ns of noise.
    pub const NOISE: usize = 2;
    /// Most noise of a period.
    pub const MAX_NOISE: usize = 3;
    /// Gaps without any entry, and their ns.
    pub const HARDWARE: usize = 4;
    /// Their time.
    pub const HARDWARE_NS: usize = 5;
    /// Entries while spinning: NMI, IRQ, softirq, thread.
    pub const ENTRIES: usize = 6;
    /// Net ns inside gaps, in the same order.
    pub const NET: usize = 10;
    /// Residual ns, signed.
    pub const RESIDUAL: usize = 14;
    /// Gaps with a negative residual.
    pub const NEGATIVE: usize = 15;
    /// Periods slept through.
    pub const SKIPPED: usize = 16;
    /// Cycles whose interrupt was not seen.
    pub const UNSEEN: usize = 17;
}

/// Why a thread stopped by itself.
const LEFT_CPU: u32 = 1;

/// What makes an episode, as the thread looks for it: thread, gap and period, ns; 0 is none.
struct Limits([AtomicU64; 3]);

impl Limits {
    fn new(thresholds: &Thresholds) -> Self {
        let limits = Self([const { AtomicU64::new(0) }; 3]);
        limits.set(thresholds);
        limits
    }

    fn set(&self, thresholds: &Thresholds) {
        let wanted = [thresholds.thread_ns, thresholds.gap_ns, thresholds.noise_ns];
        self.0.iter().zip(wanted).for_each(|(limit, ns)| limit.store(ns, Ordering::Relaxed));
    }

    /// Whether a limit is there and this is over it.
    #[inline]
    fn is_over(&self, which: usize, ns: u64) -> bool {
        let limit = self.0[which].load(Ordering::Relaxed);
        limit > 0 && ns > limit
    }
}

const THREAD: usize = 0;
const GAP: usize = 1;
const PERIOD: usize = 2;

/// What a thread shares with the reader.
pub struct Shared {
    /// Which CPU it measures.
    pub cpu: u32,
    /// Its counts.
    pub pair: Pair,
    stop: AtomicBool,
    /// When the thread ends by itself, ns.
    end_ns: u64,
    state: AtomicU32,
    limits: Limits,
    /// The latency over a threshold that it saw last: its kind (1 gap, 2 user, 3 period), beginning, end, and what was
    /// counted of it (see [`Spun::words`]).
    hit: [AtomicU64; 3 + COUNTED],
}

/// A latency over a threshold that a measuring thread saw.
pub struct Hit {
    /// [`HIT_GAP`], [`HIT_USER`] or [`HIT_PERIOD`].
    pub kind: u64,
    /// When it began.
    pub began_ns: u64,
    /// When it was over.
    pub ended_ns: u64,
    /// Its parts as a spinning thread counted them.
    pub parts: LatencyParts,
}

impl Shared {
    /// From now on these make an episode.
    pub fn set_thresholds(&self, thresholds: &Thresholds) {
        self.limits.set(thresholds);
    }

    /// The latency over a threshold that the thread saw, with its kind, while the recorder is frozen.
    pub fn hit(&self) -> Hit {
        let [kind, began_ns, ended_ns, counted @ ..] = self.hit.each_ref().map(|word| word.load(Ordering::Acquire));
        Hit { kind, began_ns, ended_ns, parts: Spun::parts(counted, ended_ns.saturating_sub(began_ns)) }
    }

    /// Whether the thread was moved off its CPU, which must have gone offline.
    pub fn left_cpu(&self) -> bool {
        self.state.load(Ordering::Acquire) == LEFT_CPU
    }
}

/// A gap was seen.
pub const HIT_GAP: u64 = 1;
/// A thread was late back in user space.
pub const HIT_USER: u64 = 2;
/// A period had too much noise.
pub const HIT_PERIOD: u64 = 3;

/// A running thread; stopped and joined when dropped.
pub struct Thread {
    /// What it shares.
    pub shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl Shared {
    /// Whether the thread was asked to end, or has measured for as long as it may.
    fn is_done(&self, now: u64) -> bool {
        self.stop.load(Ordering::Relaxed) || now >= self.end_ns
    }

    fn new(options: &Options, cpu: u32) -> Self {
        Self {
            cpu,
            pair: Pair::new(options.buckets),
            stop: AtomicBool::new(false),
            end_ns: options.at_most.map_or(u64::MAX, |long| monotonic_ns().saturating_add(long.as_nanos() as u64)),
            state: AtomicU32::new(0),
            limits: Limits::new(&options.thresholds),
            hit: [const { AtomicU64::new(0) }; 3 + COUNTED],
        }
    }
}

impl Thread {
    /// One that does not run: its counts are written by a bench.
    pub(super) fn simulated(options: &Options, cpu: u32) -> Self {
        Self { shared: Arc::new(Shared::new(options, cpu)), handle: None }
    }

    /// Ends the thread and waits until it has.
    pub fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(handle) = self.handle.take() {
            drop(handle.join());
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a thread on each CPU that is asked for.
///
/// # Errors
/// When one cannot be pinned there, or be scheduled as asked for.
pub fn start(memory: &Arc<Memory>, options: &Options) -> Result<Vec<Thread>, LatencyError> {
    let base_ns = monotonic_ns() + options.period_ns;
    let first = |at: usize| options.align_ns.map(|align_ns| base_ns + align_ns * at as u64);
    options.cpus.iter().enumerate().map(|(at, cpu)| start_on(memory, options, *cpu, first(at))).collect()
}

fn start_on(memory: &Arc<Memory>, options: &Options, cpu: u32, first_ns: Option<u64>) -> Result<Thread, LatencyError> {
    let shared = Arc::new(Shared::new(options, cpu));
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let (memory, shared_too, options) = (Arc::clone(memory), Arc::clone(&shared), options.clone());
    let name = if options.mode == Mode::Osnoise { "osnoise" } else { "timerlat" };
    let handle = thread::spawn(&format!("{name}/{cpu}"), Rights::All, move || {
        let set_up = set_up(cpu, options.policy);
        Rights::Nothing.keep();
        let failed = set_up.is_err();
        drop(tell.send(set_up));
        if !failed {
            run(&memory, &shared_too, &options, first_ns);
        }
    })
    .map_err(|source| LatencyError::Thread { operation: "start a measuring thread", cpu, source, hint: "" })?;
    let thread = Thread { shared, handle: Some(handle) };
    match told.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let source = io::Error::other("the measuring thread ended at once");
            Err(LatencyError::Thread { operation: "measure", cpu, source, hint: "" })
        }
    }
}

fn set_up(cpu: u32, policy: Policy) -> Result<(), LatencyError> {
    let failed = |operation, hint| move |source: io::Error| LatencyError::Thread { operation, cpu, source, hint };
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        return Err(failed("pin a thread", "; only the first 1024 CPUs can be measured")(source));
    }
    set.set(cpu as usize);
    let deadline = matches!(policy, Policy::Deadline { .. });
    sched_setaffinity(None, &set)
        .map_err(|e| failed("pin a thread", "; it is offline or not in this process's cpuset")(e.into()))?;
    without_timer_slack();
    if policy == Policy::Other {
        return Ok(());
    }
    set_policy(policy).map_err(failed(
        "give a thread its scheduling policy",
        if deadline {
            "; the kernel takes a pinned deadline thread only in a cpuset that is a root domain of its own"
        } else {
            "; it needs root or CAP_SYS_NICE, and with RT_GROUP_SCHED real-time run time for its cgroup; -P o:0 measures \
             with an ordinary thread"
        },
    ))
}

fn run(memory: &Memory, shared: &Shared, options: &Options, first_ns: Option<u64>) {
    let slot = memory.slot(shared.cpu);
    let me = u64::from(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
    slot.set(slot::ME, me);
    match options.mode {
        Mode::Osnoise => spin_periods(slot, shared, options),
        Mode::Timerlat => sleep_cycles(slot, shared, options, first_ns),
        Mode::Passive => {}
    }
    slot.set(slot::EXPECTED, 0);
    slot.set(slot::ME, 0);
}

/// A moment: the clock, and what had run on the CPU until then.
#[derive(Clone, Copy)]
struct Moment {
    ns: u64,
    interference: u64,
}

/// Reads the clock and the count of interferences so that nothing came in between.
#[inline]
fn moment(slot: Slot<'_>) -> Moment {
    loop {
        let interference = slot.interference();
        fence(Ordering::Acquire);
        let ns = monotonic_ns();
        fence(Ordering::Acquire);
        if slot.interference() == interference {
            return Moment { ns, interference };
        }
    }
}

/// The same with the time that each class has taken until then: what comes in between would be in the next gap's parts
/// or in none.
fn moment_and_net(slot: Slot<'_>) -> (Moment, ByClass) {
    loop {
        let net = slot.net_ns();
        let before = slot.interference();
        fence(Ordering::Acquire);
        let now = moment(slot);
        if now.interference == before && slot.net_ns() == net {
            return (now, net);
        }
    }
}

/// Whether the thread runs elsewhere: its CPU went offline. It is noted for the reader.
#[inline]
fn has_left(shared: &Shared) -> bool {
    let left = sched_getcpu() != shared.cpu as usize;
    if left {
        shared.state.store(LEFT_CPU, Ordering::Release);
    }
    left
}

fn spin_periods(slot: Slot<'_>, shared: &Shared, options: &Options) {
    let mut next = monotonic_ns();
    while !shared.is_done(next) {
        let side = shared.pair.side();
        let noise = spin(slot, shared, side, options);
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        if has_left(shared) {
            return;
        }
        side.add(word::PERIODS, 1);
        side.most(word::MAX_NOISE, noise);
        next += options.period_ns;
        let now = monotonic_ns();
        if options.runtime_ns >= options.period_ns || next <= now {
            next = now;
            continue;
        }
        sleep_until(next, shared);
    }
}

/// Spins for one run time. Gives its noise.
fn spin(slot: Slot<'_>, shared: &Shared, side: &Side, options: &Options) -> u64 {
    let (began, mut net) = moment_and_net(slot);
    let entries = slot.entries();
    let (mut last, mut spun) = (began, Spun::default());
    while last.ns.wrapping_sub(began.ns) < options.runtime_ns {
        let mut now = moment(slot);
        let mut after = net;
        let entered = now.interference != last.interference;
        if entered {
            (now, after) = moment_and_net(slot);
        }
        let gap = now.ns.wrapping_sub(last.ns);
        if gap >= options.gap_ns {
            // Moved off its CPU it would tell of another one's gaps by this one's counts.
            if has_left(shared) {
                break;
            }
            let parts = after.since(&net);
            account(side, gap, entered, &parts);
            spun.add(gap, entered, &parts);
            if shared.limits.is_over(GAP, gap) {
                let mut of_gap = Spun::default();
                of_gap.add(gap, entered, &parts);
                freeze(slot, shared, [HIT_GAP, last.ns, now.ns], &of_gap);
            }
        }
        (last, net) = (now, after);
        // A relaxed load of a line that nobody writes.
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let counted = slot.entries().since(&entries);
    add_classes(side, word::ENTRIES, &counted);
    side.add(word::RUNTIME, last.ns.wrapping_sub(began.ns));
    side.add(word::NOISE, spun.noise);
    if shared.limits.is_over(PERIOD, spun.noise) {
        freeze(slot, shared, [HIT_PERIOD, began.ns, last.ns], &spun);
    }
    spun.noise
}

fn add_classes(side: &Side, word: usize, classes: &ByClass) {
    for (n, value) in [classes.nmi, classes.irq, classes.softirq, classes.thread].into_iter().enumerate() {
        side.add(word + n, value);
    }
}

#[inline]
fn account(side: &Side, gap: u64, entered: bool, parts: &ByClass) {
    side.first.record(gap);
    if !entered {
        side.add(word::HARDWARE, 1);
        side.add(word::HARDWARE_NS, gap);
        return;
    }
    add_classes(side, word::NET, parts);
    let residual = gap.wrapping_sub(parts.total());
    side.add(word::RESIDUAL, residual);
    if residual.cast_signed() < 0 {
        side.add(word::NEGATIVE, 1);
    }
}

/// Holds the flight recorder, unless it is held already.
fn freeze(slot: Slot<'_>, shared: &Shared, hit: [u64; 3], counted: &Spun) {
    let held = slot.get(slot::FROZEN_USER) | slot.get(slot::FROZEN_IRQ) | slot.get(slot::FROZEN_THR);
    if held != 0 {
        return;
    }
    for (word, value) in shared.hit.iter().zip(hit.into_iter().chain(counted.words())) {
        word.store(value, Ordering::Release);
    }
    if hit[0] == HIT_USER {
        // The next cycle takes the place of this one before the reader comes. Only this thread's own switches write the
        // copy, and it is running.
        (0..slot::CYCLE_WORDS).for_each(|n| slot.set(slot::HIT + n * 8, slot.get(slot::NOW + n * 8)));
    }
    slot.set(slot::FROZEN_USER, 1);
}

/// Sleeps until a time, but not past a request to stop by more than a tenth of a second.
fn sleep_until(until: u64, shared: &Shared) {
    const STEP: u64 = 100_000_000;
    loop {
        let now = monotonic_ns();
        if now >= until || shared.stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_to(until.min(now + STEP));
    }
}

#[inline]
fn sleep_to(ns: u64) {
    let until = Timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() };
    // A signal ends it early, which the clock tells.
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until);
}

fn sleep_cycles(slot: Slot<'_>, shared: &Shared, options: &Options, first_ns: Option<u64>) {
    let period = options.period_ns.max(1);
    let now = monotonic_ns();
    // One that starts late keeps its distance from the others.
    let mut expected = match first_ns {
        Some(first) => first + now.saturating_sub(first).div_ceil(period) * period,
        None => now + period,
    };
    while !shared.is_done(expected) {
        let side = shared.pair.side();
        slot.set(slot::EXPECTED, expected);
        sleep_to(expected);
        let woke = monotonic_ns();
        slot.set(slot::EXPECTED, 0);
        if woke < expected {
            continue;
        }
        if has_left(shared) {
            return;
        }
        cycle(slot, shared, side, expected, woke);
        let missed = woke.saturating_sub(expected) / period;
        side.add(word::SKIPPED, missed);
        expected += (missed + 1) * period;
    }
}

/// One cycle: what the programs saw of it, and when it ended here.
#[inline]
fn cycle(slot: Slot<'_>, shared: &Shared, side: &Side, expected: u64, woke: u64) {
    let user = woke - expected;
    if slot.get(slot::NOW) == expected {
        let irq = slot.get(slot::NOW + 16).saturating_sub(expected);
        // Without a switch the thread had not gone to sleep yet: it went on.
        let thread = match slot.get(slot::NOW + 24) {
            0 => user,
            switched => switched.saturating_sub(expected),
        };
        side.first.record(irq);
        side.thread.record(thread);
        // At least so late, where gaps have to be longer.
        if shared.limits.is_over(THREAD, user + 1) {
            freeze(slot, shared, [HIT_USER, expected, woke], &Spun::default());
        }
    } else {
        side.add(word::UNSEEN, 1);
    }
    side.user.record(user);
}
