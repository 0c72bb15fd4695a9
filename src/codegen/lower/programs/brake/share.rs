//! The share of long firings: of a CPU's second, and of what a thread got of its CPU.
//!
//! Where many threads want a CPU, a firing that takes all that its thread gets is a small part of a second. So that load
//! changes nothing, the time that a thread waited for a CPU that others had (`sched_info.run_delay`) is no part of its
//! time: its clock stands still while it waits. Time that it sleeps counts, and so a thread that seldom runs is never
//! found out for what takes long beside the little that it does.
//!
//! A thread's window is one of a few that all CPUs share: threads move. Whose window is another's is looked at by its CPU's
//! alone.

use super::{LONG_TENTHS, SECOND_NS, VERY_LONG, VERY_LONG_TENTHS};
use crate::codegen::artifact::{BRAKE_CAUSE, BRAKE_ELAPSED, BRAKE_NS, BRAKE_STEPS, BrakeCause};
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::ir::{BlockId, Cond, Operand, Size, Vreg};

use crate::codegen::lower::helpers as h;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::programs::firing::{Bound, Brake};

/// Threads' windows of a program, and bytes of one.
const THREADS: u32 = 64;
const THREAD_BYTES: u32 = 32;
/// Bytes of all of them.
pub const THREADS_BYTES: u32 = THREADS * THREAD_BYTES;
/// A thread's window that was begun so long ago may become another's, ns.
const FORGOTTEN_NS: i64 = 3_000_000_000;
/// The least of a thread's time that says something, ns.
const LEAST_NS: i64 = 50_000_000;
/// A thread's clock begins here: it is less than the time by what the thread waited, and never 0 or negative.
const EPOCH: i64 = 1 << 60;

/// Words of a window: when it began, by the time of day; what long firings took of it; those of threads also when it began
/// by the thread's clock, and the thread's id.
const WINDOW_BEGAN: i16 = 0;
const WINDOW_NS: i16 = 8;
const THREAD_BEGAN: i16 = 16;
const THREAD_ID: i16 = 24;

/// One reading of the clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The time of day, ns.
    pub now: Vreg,
    /// The running thread's, ns.
    pub own: Vreg,
}

/// Where a task keeps the time that it waited, for programs that run beside others.
pub fn waited_at(object: &ObjectBuilder<'_>, brake: Brake) -> Option<u32> {
    let counts = matches!(brake.bound, Bound::Both | Bound::Second);
    object.facts.features().task_offsets.and_then(|task| task.run_delay).filter(|_| counts)
}

/// Reads the clocks; the word of working memory at `words` is overwritten.
pub fn read_clocks(
    object: &ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    brake: Brake,
    words: Vreg,
    word: i16,
) -> Clocks {
    let Some(at) = waited_at(object, brake) else {
        let now = b.call(h::KTIME_GET_NS, &[]);
        return Clocks { now, own: now };
    };
    let task = b.call(h::GET_CURRENT_TASK, &[]);
    let from = b.add(task, i64::from(at));
    let to = b.add(words, i64::from(brake.at(word)));
    b.call_void(h::PROBE_READ_KERNEL, &[to.into(), 8.into(), from.into()]);
    let now = b.call(h::KTIME_GET_NS, &[]);
    let waited = b.load(words, brake.at(word), Size::B8);
    let own = b.sub(now, waited);
    let own = b.add(own, EPOCH);
    Clocks { now, own }
}

/// What a long firing adds.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub clocks: Clocks,
    /// Steps that it made, and how long they took, ns.
    pub steps: Vreg,
    pub took: Vreg,
    /// The program's words.
    pub head: Vreg,
}

impl Taken {
    /// Adds to a CPU's second; goes on in a new block, `done` is where a program that was turned off ends.
    pub fn add_to_cpu(self, b: &mut FunctionBuilder, window: Vreg, done: BlockId) {
        let go_on = b.new_block();
        let now = self.clocks.now;
        let since = b.load(window, WINDOW_BEGAN, Size::B8);
        let fresh = all_if_zero(b, since);
        let began = b.sub(now, self.took);
        let since = choose(b, fresh, began, since);
        b.store(window, WINDOW_BEGAN, Size::B8, since);
        let sum = add_to(b, window, self.took);
        let elapsed = b.sub(now, since);
        flow::require(b, Cond::Ge, elapsed, SECOND_NS, go_on);
        b.store(window, WINDOW_BEGAN, Size::B8, now);
        b.store(window, WINDOW_NS, Size::B8, 0);
        self.judge(b, (sum, elapsed), BrakeCause::Second, (go_on, done));
        b.switch_to(go_on);
    }

    /// Adds to the running thread's time, one of the windows from `first` on.
    pub fn add_to_thread(self, b: &mut FunctionBuilder, first: Vreg, done: BlockId) {
        let both = b.call(h::GET_CURRENT_PID_TGID, &[]);
        let id = b.extend(both, 32, false);
        // The idle task is nobody.
        flow::require(b, Cond::Ne, id, 0, done);
        let index = b.and(id, i64::from(THREADS - 1));
        let offset = b.mul(index, i64::from(THREAD_BYTES));
        let window = b.add(first, offset);
        let Clocks { now, own } = self.clocks;
        let [mine, other, add] = b.new_blocks();
        let whose = b.load(window, THREAD_ID, Size::B8);
        b.branch(Cond::Eq, whose, id, mine, other);
        b.switch_to(other);
        let since = b.load(window, WINDOW_BEGAN, Size::B8);
        let age = b.sub(now, since);
        flow::require(b, Cond::Ge, age, FORGOTTEN_NS, done);
        for (word, end) in [(WINDOW_BEGAN, now), (THREAD_BEGAN, own)] {
            let began = b.sub(end, self.took);
            b.store(window, word, Size::B8, began);
        }
        b.store(window, WINDOW_NS, Size::B8, 0);
        b.store(window, THREAD_ID, Size::B8, id);
        b.jump(mine);
        b.switch_to(mine);
        let sum = add_to(b, window, self.took);
        let (since, own_since) = (b.load(window, WINDOW_BEGAN, Size::B8), b.load(window, THREAD_BEGAN, Size::B8));
        let (age, elapsed) = (b.sub(now, since), b.sub(own, own_since));
        let (long, much) = (at_least(b, age, SECOND_NS), at_least(b, elapsed, LEAST_NS));
        let says = b.and(long, much);
        b.branch(Cond::Ne, says, 0, add, done);
        b.switch_to(add);
        b.store(window, WINDOW_BEGAN, Size::B8, now);
        b.store(window, THREAD_BEGAN, Size::B8, own);
        b.store(window, WINDOW_NS, Size::B8, 0);
        self.judge(b, (sum, elapsed), BrakeCause::Thread, (done, done));
    }

    /// Turns the program off where its firings took too much of a time.
    fn judge(
        self,
        b: &mut FunctionBuilder,
        (sum, elapsed): (Vreg, Vreg),
        cause: BrakeCause,
        (go_on, done): (BlockId, BlockId),
    ) {
        let very_long = at_least(b, self.steps, VERY_LONG);
        let fewer = b.mul(very_long, LONG_TENTHS - VERY_LONG_TENTHS);
        let tenths = b.sub(LONG_TENTHS, fewer);
        let (a, most) = (b.mul(sum, 10), b.mul(elapsed, tenths));
        flow::require(b, Cond::Gt, a, most, go_on);
        let before = b.load(self.head, BRAKE_CAUSE as i16, Size::B8);
        flow::require(b, Cond::Eq, before, 0, done);
        for (word, value) in [(BRAKE_STEPS, self.steps), (BRAKE_NS, sum), (BRAKE_ELAPSED, elapsed)] {
            b.store(self.head, word as i16, Size::B8, value);
        }
        b.store(self.head, BRAKE_CAUSE as i16, Size::B8, Operand::Imm(cause as i64));
        b.jump(done);
    }
}

/// Adds to what firings took of a window; gives the sum.
fn add_to(b: &mut FunctionBuilder, window: Vreg, took: Vreg) -> Vreg {
    let sum = b.load(window, WINDOW_NS, Size::B8);
    let sum = b.add(sum, took);
    b.store(window, WINDOW_NS, Size::B8, sum);
    sum
}
