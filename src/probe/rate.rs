//! How often places are passed on a busy CPU: orders of size, for warnings.

use crate::model::target::{Rate, Target};

/// Events that every allocation, lock or entry to the kernel passes, ones a second.
const OFTEN: u64 = 500_000;
/// System calls of a busy program.
const CALLS: u64 = 200_000;
/// Turns of the scheduler on a CPU whose threads wait for each other.
const SWITCHES: u64 = 20_000;

/// Categories of tracepoints all of whose events are passed at every allocation, lock or entry to the
/// kernel (`include/trace/events`).
pub const HOT_CATEGORIES: &[&str] =
    &["context_tracking", "kmem", "lock", "msr", "page_ref", "preemptirq", "rcu", "sched", "tlb"];

/// Single events that are.
pub const HOT_EVENTS: &[(&str, &str)] = &[
    ("kmem", "kfree"),
    ("kmem", "kmalloc"),
    ("kmem", "kmem_cache_alloc"),
    ("kmem", "kmem_cache_free"),
    ("lock", "lock_acquire"),
    ("lock", "lock_release"),
    ("msr", "read_msr"),
    ("msr", "write_msr"),
    ("page_ref", "page_ref_mod"),
    ("preemptirq", "irq_disable"),
    ("preemptirq", "irq_enable"),
    ("preemptirq", "preempt_disable"),
    ("preemptirq", "preempt_enable"),
];

/// Functions of the kernel that every system call, allocation, lock or turn of the scheduler runs
/// through, by the beginning of their names up to a suffix such as `_noprof`.
const HOT_FUNCTIONS: &[&str] = &[
    "__fdget",
    "__fget_light",
    "__kmalloc",
    "__rcu_read_lock",
    "__rcu_read_unlock",
    "_raw_spin_lock",
    "_raw_spin_lock_irqsave",
    "_raw_spin_unlock",
    "_raw_spin_unlock_irqrestore",
    "do_syscall_64",
    "fput",
    "kfree",
    "kmem_cache_alloc",
    "kmem_cache_free",
    "ktime_get",
    "mutex_lock",
    "mutex_unlock",
    "update_curr",
];

/// Events of the scheduler that come with every turn.
const SCHEDULER: &[&str] = &["sched_switch", "sched_wakeup", "sched_waking", "sched_stat_runtime"];

/// Whether a function of the kernel is one of those that are passed all the time.
#[must_use]
pub fn is_hot(function: &str) -> bool {
    let plain = function.strip_suffix("_noprof").unwrap_or(function);
    HOT_FUNCTIONS.contains(&plain)
}

/// How often a place is passed on a busy CPU, where that is known to be often.
#[must_use]
pub fn firings_a_second(target: &Target) -> Option<u64> {
    match target {
        Target::Tracepoint { category, event } => match (&**category, &**event) {
            ("raw_syscalls", _) => Some(CALLS),
            ("sched", event) if SCHEDULER.contains(&event) => Some(SWITCHES),
            known => HOT_EVENTS.contains(&known).then_some(OFTEN),
        },
        Target::RawTracepoint { event, .. } => match &**event {
            "sys_enter" | "sys_exit" => Some(CALLS),
            event => SCHEDULER.contains(&event).then_some(SWITCHES),
        },
        Target::Kprobe { function, offset: 0, .. } | Target::Fentry { function, .. } => match &**function {
            "__schedule" | "schedule" | "finish_task_switch" => Some(SWITCHES),
            function => is_hot(function).then_some(OFTEN),
        },
        Target::Profile { rate: Rate::Hertz(hz) } => Some(*hz),
        Target::Profile { rate: Rate::PeriodNs(period_ns) } | Target::Interval { period_ns } => {
            Some(1_000_000_000 / (*period_ns).max(1))
        }
        _ => None,
    }
}
