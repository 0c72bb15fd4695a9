//! What a latency meter measures, and where.

use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A thread a CPU spins and looks for gaps.
    Osnoise,
    /// A thread a CPU sleeps until set times.
    Timerlat,
    /// No threads: the timers and interrupts of the system as it is.
    #[default]
    Passive,
}

impl Mode {
    /// As rtla calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Osnoise => "osnoise",
            Self::Timerlat => "timerlat",
            Self::Passive => "passive",
        }
    }
}

/// Latencies over which an episode is kept; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Thresholds {
    /// A timer's interrupt (also of passive measuring), at least so late.
    pub irq_ns: u64,
    /// The thread, at least so late, in the kernel or back in user space.
    pub thread_ns: u64,
    /// One gap longer than this.
    pub gap_ns: u64,
    /// The noise of one period, more than this.
    pub noise_ns: u64,
}

/// Something that whoever reads the figures should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Badge {
    /// A word or two.
    pub short: String,
    /// What it means for the figures.
    pub about: String,
}

/// Where a CPU is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuPlace {
    /// Which.
    pub cpu: u32,
    /// Its NUMA node.
    pub node: u32,
    /// The first CPU that it shares its last level of cache with.
    pub cache: u32,
    /// The CPUs of its core, itself among them.
    pub core: Vec<u32>,
    /// Kept free of the scheduler's balancing (`isolcpus`).
    pub isolated: bool,
}

/// A latency meter, said once before its first sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeterInfo {
    /// What is measured.
    pub mode: Mode,
    /// What measures: `BPF` or `tracefs`.
    pub backend: String,
    /// The CPUs with a measuring thread; all that are online where there are none.
    pub cpus: Vec<u32>,
    /// How the measuring threads are scheduled, as `chrt` names it.
    pub policy: String,
    /// From one run time, or one wake-up, to the next.
    pub period_ns: u64,
    /// How long a thread spins in each period.
    pub runtime_ns: u64,
    /// Gaps shorter than this are no noise.
    pub gap_ns: u64,
    /// How often samples are told.
    pub interval_ns: u64,
    /// What made an episode at the start.
    pub thresholds: Thresholds,
    /// What bears on the figures.
    pub badges: Vec<Badge>,
    /// Where the CPUs are.
    pub places: Vec<CpuPlace>,
}
