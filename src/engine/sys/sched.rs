//! Scheduling policies of threads (`sched_setattr(2)`), which libc has no form of.
#![allow(unsafe_code)]

use std::io;

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// The fair scheduler, at nice 0.
    #[default]
    Other,
    /// First in, first out, with a priority from 1 to 99.
    Fifo(u32),
    /// Round robin, with a priority from 1 to 99.
    RoundRobin(u32),
    /// A run time in each period, both in ns.
    Deadline {
        /// Run time.
        runtime_ns: u64,
        /// Period and deadline.
        period_ns: u64,
    },
}

impl std::fmt::Display for Policy {
    /// As `chrt` names it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other => f.write_str("SCHED_OTHER"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
            Self::Deadline { runtime_ns, period_ns } => {
                write!(f, "SCHED_DEADLINE {}:{} us", runtime_ns / 1000, period_ns / 1000)
            }
        }
    }
}

/// `struct sched_attr` in its first version (`SCHED_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SCHED_DEADLINE: u32 = 6;

/// Gives the calling thread a policy. Children start with the default one.
///
/// # Errors
/// The kernel's: no right to (EPERM), a deadline thread that is pinned (EPERM), no room for a deadline (EBUSY).
pub fn set_policy(policy: Policy) -> io::Result<()> {
    set_policy_of(0, policy)
}

/// Gives a thread a policy, by its id.
///
/// # Errors
/// As [`set_policy`].
pub fn set_policy_of(thread: u32, policy: Policy) -> io::Result<()> {
    const SCHED_FLAG_RESET_ON_FORK: u64 = 1;
    let mut attributes =
        Attributes { size: size_of::<Attributes>() as u32, flags: SCHED_FLAG_RESET_ON_FORK, ..Attributes::default() };
    match policy {
        // What a thread was given is taken back by the same call, without a right to do so.
        Policy::Other => attributes.flags = 0,
        Policy::Fifo(priority) => {
            attributes.policy = libc::SCHED_FIFO as u32;
            attributes.priority = priority;
        }
        Policy::RoundRobin(priority) => {
            attributes.policy = libc::SCHED_RR as u32;
            attributes.priority = priority;
        }
        Policy::Deadline { runtime_ns, period_ns } => {
            attributes.policy = SCHED_DEADLINE;
            attributes.runtime = runtime_ns;
            attributes.deadline = period_ns;
            attributes.period = period_ns;
        }
    }
    // SAFETY: the struct is as long as its first member says; thread 0 is the caller.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw mut attributes, 0) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the calling thread's timers expire when they were set to, not up to 50 us later.
pub fn without_timer_slack() {
    // SAFETY: the call takes no pointers; what it sets ends with the thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}

/// Interrupts every CPU that another thread of this process runs on, by a memory barrier (`membarrier(2)`, private and
/// expedited, 4.14).
pub fn interrupt_own_threads() {
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    // SAFETY: the call takes no pointers. It fails until the process has registered, once.
    unsafe {
        if libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) != 0 {
            libc::syscall(libc::SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0);
            libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0);
        }
    }
}
