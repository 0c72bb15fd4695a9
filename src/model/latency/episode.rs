//! One latency over a threshold, taken apart.

use serde::{Deserialize, Serialize};

use super::NoiseClass;
use crate::model::value::Frame;

/// Which threshold was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeKind {
    /// A measuring thread's timer was served late.
    Irq,
    /// A measuring thread ran late.
    Thread,
    /// A measuring thread was late back in user space.
    User,
    /// A spinning thread saw a gap, or a period with too many of them.
    Noise,
    /// A timer of the kernel or of any program was served late; nothing of ours waited for it.
    Passive,
}

/// One latency over a threshold: what filled the time from `began_ns` to `ended_ns`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Where.
    pub cpu: u32,
    /// Which latency it was.
    pub kind: EpisodeKind,
    /// When the timer should have expired, or when the gap began.
    pub began_ns: u64,
    /// When it was over.
    pub ended_ns: u64,
    /// The threshold that was passed.
    pub threshold_ns: u64,
    /// The latency in parts.
    pub parts: LatencyParts,
    /// What ran in between, by start; shorter ones lie inside longer ones that they interrupted.
    pub intervals: Vec<Interval>,
    /// Interrupts that ended before the timer's own was served, oldest first: what may have delayed it.
    pub previous_irqs: Vec<Interval>,
    /// Who had the CPU when the timer expired.
    pub blocker: Option<Blocker>,
    /// The idle state that the CPU had to leave.
    pub idle: Option<IdleExit>,
    /// Who sent the interrupts that came from other CPUs.
    pub ipis: Vec<IpiSender>,
    /// What ran on the other CPUs at that time.
    pub others: Vec<CpuTask>,
    /// The recorder did not reach back to the beginning: intervals are missing, and where the parts are made of these,
    /// what came before is [`LatencyParts::unrecorded_ns`].
    pub truncated: bool,
}

impl Episode {
    /// How long it was.
    #[must_use]
    pub const fn latency_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns)
    }

    /// How much of it was latency or noise: all but what the measuring thread itself ran.
    #[must_use]
    pub const fn late_ns(&self) -> u64 {
        self.latency_ns().saturating_sub(self.parts.spun_ns)
    }

    /// Whether it is a period that had too much noise, and no single gap.
    #[must_use]
    pub const fn is_period(&self) -> bool {
        matches!(self.kind, EpisodeKind::Noise) && self.parts.spun_ns > 0
    }
}

/// A latency in rtla's parts. They add up to the latency with `residual_ns`, which is signed and never clamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyParts {
    /// From the time set until the timer's interrupt began.
    pub irq_delay_ns: u64,
    /// From the time set until the timer's function ran; `None` where no timer is concerned.
    pub irq_latency_ns: Option<u64>,
    /// The timer's own interrupt.
    pub timer_irq_ns: u64,
    /// The thread that had the CPU, after the timer's interrupt.
    pub blocking_thread_ns: u64,
    /// Non-maskable interrupts.
    pub nmi_ns: u64,
    /// Other interrupts.
    pub irq_ns: u64,
    /// Softirqs.
    pub softirq_ns: u64,
    /// Other threads.
    pub thread_ns: u64,
    /// Gaps in which nothing was entered, where a thread spins.
    #[serde(default)]
    pub hardware_ns: u64,
    /// What none of these explains.
    pub residual_ns: i64,
    /// What the recorder no longer held: it is charged to nobody.
    #[serde(default)]
    pub unrecorded_ns: u64,
    /// What the measuring thread itself ran, in a period with too much noise. It is no noise.
    #[serde(default)]
    pub spun_ns: u64,
}

/// Something that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// What it is.
    pub class: NoiseClass,
    /// `local_timer:236`, `NET_RX:3`, `rcu_preempt:16`.
    pub name: String,
    /// When it began.
    pub start_ns: u64,
    /// How long it was there, with what interrupted it.
    pub duration_ns: u64,
    /// How long it ran itself.
    pub net_ns: u64,
}

impl Interval {
    /// When it ended.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// The thread that had the CPU when a timer expired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocker {
    /// Its name.
    pub comm: String,
    /// Its thread id.
    pub pid: u32,
    /// Where it was in the kernel, innermost first; empty when it ran in user space.
    pub kernel_stack: Vec<Frame>,
    /// Where it was in user space, innermost first.
    pub user_stack: Vec<Frame>,
}

/// An idle state that a CPU left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleExit {
    /// Its number, as in `/sys/devices/system/cpu/cpuN/cpuidle/stateM`.
    pub state: u32,
    /// Its name there; empty when the kernel has none.
    pub name: String,
    /// When it was entered.
    pub entered_ns: u64,
}

/// Who sent an interrupt to another CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IpiSender {
    /// The CPU that it was sent from.
    pub cpu: u32,
    /// When.
    pub sent_ns: u64,
    /// The thread that ran there.
    pub comm: String,
    /// Its id.
    pub pid: u32,
    /// The function that the other CPU was to call; empty when it was only to look at its run queue.
    pub callback: String,
    /// From where, innermost first.
    pub stack: Vec<Frame>,
}

/// What ran on a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTask {
    /// Which.
    pub cpu: u32,
    /// The thread's name.
    pub comm: String,
    /// Its id; 0 for the idle thread.
    pub pid: u32,
    /// The function that a kworker ran; empty for others.
    pub work: String,
}
