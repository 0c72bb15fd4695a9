//! Where the time of a thread goes. All times are nanoseconds of `CLOCK_MONOTONIC`.

pub mod verdict;

use serde::{Deserialize, Serialize};

use super::latency::OwnCost;
use super::value::Frame;

/// How many parts there are.
pub const PARTS: usize = 12;

/// What a thread is doing, or what keeps it. Each nanosecond is in one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before it was first seen to do anything.
    #[default]
    Unknown,
    /// It has the CPU.
    Running,
    /// It has the CPU, and an interrupt took it.
    Irqs,
    /// The same, a softirq.
    Softirqs,
    /// It waits, and signals may wake it.
    Sleeping,
    /// It waits, and signals may not.
    Blocked,
    /// The same, and the kernel says that it is for I/O.
    Io,
    /// It was woken and is on no run queue yet.
    Waking,
    /// On a run queue since it was woken.
    Queued,
    /// On a run queue since it lost the CPU.
    Preempted,
    /// It lost the CPU as the quota of its control group was used up.
    Throttled,
    /// Stopped by a signal or a debugger.
    Stopped,
}

impl Part {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; PARTS] = [
        Self::Unknown,
        Self::Running,
        Self::Irqs,
        Self::Softirqs,
        Self::Sleeping,
        Self::Blocked,
        Self::Io,
        Self::Waking,
        Self::Queued,
        Self::Preempted,
        Self::Throttled,
        Self::Stopped,
    ];

    /// By its number.
    #[must_use]
    pub fn of(number: u64) -> Self {
        usize::try_from(number).ok().and_then(|n| Self::ALL.get(n).copied()).unwrap_or_default()
    }

    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "not known yet",
            Self::Running => "running",
            Self::Irqs => "interrupted by IRQs",
            Self::Softirqs => "interrupted by softirqs",
            Self::Sleeping => "sleeping",
            Self::Blocked => "blocked",
            Self::Io => "waiting for I/O",
            Self::Waking => "being woken",
            Self::Queued => "queued after a wake-up",
            Self::Preempted => "preempted",
            Self::Throttled => "throttled by its quota",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it could run and had no CPU.
    #[must_use]
    pub const fn is_delay(self) -> bool {
        matches!(self, Self::Waking | Self::Queued | Self::Preempted | Self::Throttled)
    }
}

/// A number for each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts(pub [u64; PARTS]);

impl Parts {
    /// Of one part.
    #[must_use]
    pub const fn get(&self, part: Part) -> u64 {
        self.0[part as usize]
    }

    /// Adds to one.
    pub const fn add(&mut self, part: Part, more: u64) {
        self.0[part as usize] = self.0[part as usize].saturating_add(more);
    }

    /// Adds another's numbers.
    pub fn add_all(&mut self, other: &Self) {
        Part::ALL.into_iter().for_each(|part| self.add(part, other.get(part)));
    }

    /// All added.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}

/// What a thread waits for, as far as the functions on its stack tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// For a time that it chose.
    Timer,
    /// For events: poll, epoll, select, `io_uring`.
    Events,
    /// For a lock of a program or of the kernel.
    Lock,
    /// For a disk, or a filesystem.
    Io,
    /// For the network, or another socket.
    Socket,
    /// For the other end of a pipe, or a terminal.
    Pipe,
    /// For another process to end.
    Child,
    /// For memory.
    Memory,
    /// Anything else.
    #[default]
    Other,
}

impl Reason {
    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Timer => "a time that it chose",
            Self::Events => "events",
            Self::Lock => "a lock",
            Self::Io => "I/O",
            Self::Socket => "a socket",
            Self::Pipe => "a pipe or terminal",
            Self::Child => "another process's end",
            Self::Memory => "memory",
            Self::Other => "something else",
        }
    }

    /// Whether somebody else keeps it: a thread that asks to sleep, or has nothing to do, is not kept.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Lock | Self::Io | Self::Memory)
    }
}

/// Functions by their beginning, and what whoever is in them waits for; the first that fits counts.
const FUNCTIONS: &[(&str, Reason)] = &[
    ("hrtimer_nanosleep", Reason::Timer),
    ("do_nanosleep", Reason::Timer),
    ("common_nsleep", Reason::Timer),
    ("msleep", Reason::Timer),
    ("usleep_range", Reason::Timer),
    ("futex_", Reason::Lock),
    ("__futex", Reason::Lock),
    ("do_futex", Reason::Lock),
    ("__mutex_", Reason::Lock),
    ("mutex_lock", Reason::Lock),
    ("ww_mutex", Reason::Lock),
    ("rwsem_", Reason::Lock),
    ("__down", Reason::Lock),
    ("down_", Reason::Lock),
    ("rt_mutex", Reason::Lock),
    ("__rt_mutex", Reason::Lock),
    ("percpu_rwsem", Reason::Lock),
    ("percpu_down", Reason::Lock),
    ("flock_", Reason::Lock),
    ("locks_lock", Reason::Lock),
    ("ep_poll", Reason::Events),
    ("do_epoll", Reason::Events),
    ("poll_schedule", Reason::Events),
    ("do_poll", Reason::Events),
    ("do_sys_poll", Reason::Events),
    ("do_select", Reason::Events),
    ("io_cqring_wait", Reason::Events),
    ("read_events", Reason::Events),
    ("do_sigtimedwait", Reason::Events),
    ("sigsuspend", Reason::Events),
    ("__do_sys_pause", Reason::Events),
    ("signalfd", Reason::Events),
    ("eventfd", Reason::Events),
    ("inotify", Reason::Events),
    ("unix_", Reason::Socket),
    ("tcp_", Reason::Socket),
    ("sk_", Reason::Socket),
    ("inet", Reason::Socket),
    ("udp_", Reason::Socket),
    ("__skb_wait", Reason::Socket),
    ("netlink", Reason::Socket),
    ("pipe_", Reason::Pipe),
    ("anon_pipe_", Reason::Pipe),
    ("fifo_", Reason::Pipe),
    ("n_tty", Reason::Pipe),
    ("tty_", Reason::Pipe),
    ("do_wait", Reason::Child),
    ("kernel_wait4", Reason::Child),
    ("mem_cgroup_handle", Reason::Memory),
    ("throttle_direct", Reason::Memory),
    ("shrink_", Reason::Memory),
    ("do_swap_page", Reason::Memory),
    ("try_to_free", Reason::Memory),
    ("io_schedule", Reason::Io),
    ("folio_wait", Reason::Io),
    ("wait_on_page", Reason::Io),
    ("__wait_on_buffer", Reason::Io),
    ("blk_", Reason::Io),
    ("bio_", Reason::Io),
    ("submit_bio_wait", Reason::Io),
    ("jbd2_", Reason::Io),
    ("ext4_", Reason::Io),
    ("xfs_", Reason::Io),
    ("btrfs_", Reason::Io),
    ("nfs_", Reason::Io),
    ("rpc_", Reason::Io),
    ("p9_client", Reason::Io),
    ("v9fs_", Reason::Io),
    ("netfs_", Reason::Io),
    ("fuse_", Reason::Io),
    ("cifs_", Reason::Io),
    ("smb2_", Reason::Io),
    ("ceph_", Reason::Io),
    ("balance_dirty", Reason::Io),
];

/// What a thread waits for, by the functions on its stack, the innermost first, and the one that tells.
#[must_use]
pub fn reason<'a>(part: Part, functions: impl Iterator<Item = &'a str>) -> (Reason, Option<&'a str>) {
    for function in functions {
        if let Some((_, reason)) = FUNCTIONS.iter().find(|(begin, _)| function.starts_with(begin)) {
            return (*reason, Some(function));
        }
    }
    (if part == Part::Io { Reason::Io } else { Reason::Other }, None)
}

/// The time of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Its number.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// From when it was first seen until now, or until it ended.
    pub wall_ns: u64,
    /// The same in parts.
    pub parts: Parts,
    /// How often it came to each.
    pub counts: Parts,
    /// The longest of each at a stretch.
    pub longest: Parts,
    /// What it is doing now; `None` where it has ended.
    pub now: Option<Part>,
}

/// Whose control group somebody is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is one of those chosen, or of their process.
    Itself,
    /// In the same control group.
    Sibling,
    /// In another one.
    Neighbour,
    /// Nobody: the CPU was idle and had to be woken.
    Idle,
}

/// Who had the CPU while chosen threads could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BehindWhom {
    /// Its name and number.
    pub name: String,
    /// Its control group's path.
    pub cgroup: String,
    /// Whose group that is.
    pub relation: Relation,
    /// How long, over all of them.
    pub ns: u64,
    /// How often.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Where chosen threads waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitPlace {
    /// How they waited.
    pub part: Part,
    /// For what.
    pub reason: Reason,
    /// The function that tells it; empty where none does.
    pub function: String,
    /// How long, over all of them.
    pub ns: u64,
    /// How often.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// Where, innermost first.
    pub stack: Vec<Frame>,
}

/// Somebody who had the CPU for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its name and number.
    pub name: String,
    /// Its control group's path.
    pub cgroup: String,
    /// From when, in the wait.
    pub from_ns: u64,
    /// How long.
    pub ns: u64,
}

/// One long wait, from losing the CPU to having it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongWait {
    /// Whose.
    pub name: String,
    /// When it lost the CPU.
    pub began_ns: u64,
    /// Why.
    pub why: Part,
    /// For what it waited.
    pub reason: Reason,
    /// Until it was woken; 0 where it could run all the time.
    pub blocked_ns: u64,
    /// Until it was on a run queue.
    pub waking_ns: u64,
    /// Until it had the CPU.
    pub delay_ns: u64,
    /// What interrupts and softirqs took of that.
    pub irq_ns: u64,
    /// Where it ran then.
    pub cpu: u32,
    /// How often it changed CPUs meanwhile.
    pub moved: u64,
    /// Who woke it, in words; empty where nobody had to.
    pub waker: String,
    /// From where, innermost first.
    pub waker_stack: Vec<Frame>,
    /// Who got the CPU when it lost it.
    pub taken_by: String,
    /// Who had its CPU while it could run, in their order.
    pub behind: Vec<Turn>,
    /// Where it waited in the kernel.
    pub kernel_stack: Vec<Frame>,
    /// In user space.
    pub user_stack: Vec<Frame>,
    /// Where whoever ran before it was, in the kernel.
    pub blocker_kernel: Vec<Frame>,
    /// In user space.
    pub blocker_user: Vec<Frame>,
}

impl LongWait {
    /// How long it was.
    #[must_use]
    pub const fn total_ns(&self) -> u64 {
        self.blocked_ns.saturating_add(self.waking_ns).saturating_add(self.delay_ns)
    }

    /// How long something else than its own wish kept it.
    #[must_use]
    pub const fn kept_ns(&self) -> u64 {
        let delay = self.waking_ns.saturating_add(self.delay_ns);
        if self.reason.is_kept() { delay.saturating_add(self.blocked_ns) } else { delay }
    }
}

/// The quota of a control group and how often it was used up while it was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// The group's path.
    pub cgroup: String,
    /// `cpu.max`.
    pub max: String,
    /// Periods in which it was throttled.
    pub times: u64,
    /// How long, over all CPUs.
    pub throttled_ns: u64,
}

/// Where the time of chosen threads went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// What was chosen, in words.
    pub chosen: String,
    /// How long it was watched.
    pub watched_ns: u64,
    /// The threads, those with the most delay first.
    pub threads: Vec<ThreadTime>,
    /// Who had the CPU while they could run, the most first.
    pub behind: Vec<BehindWhom>,
    /// Where they waited, the longest first.
    pub places: Vec<WaitPlace>,
    /// The worst waits, the worst first.
    pub worst: Vec<LongWait>,
    /// Quotas that were used up.
    pub quotas: Vec<Quota>,
    /// What was not told for lack of room, in words.
    pub lost: Vec<String>,
    /// What watching cost.
    pub cost: OwnCost,
}

impl TaskReport {
    /// All threads added.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let mut all = Parts::default();
        self.threads.iter().for_each(|thread| all.add_all(&thread.parts));
        all
    }
}
