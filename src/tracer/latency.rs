//! Latency and noise: osnoise, timerlat and, without any load of its own, the lateness of the kernel's timers.
//!
//! A [`Measurement`] is started with [`Options`], polled for [`Item`]s, and stopped by dropping it. Where the items
//! come from is a backend's matter: our BPF programs with threads of our own ([`bpf`]), or the kernel's tracers
//! ([`tracefs`]).

pub mod analysis;
pub mod badges;
pub mod bpf;
pub mod events;
pub mod meter;
pub mod places;
mod smi;
pub mod sources;
mod tally;
pub mod threads;
pub mod tracefs;
mod watch;

use std::io;
use std::time::Duration;

use crate::engine::EngineError;
pub use crate::engine::latency::Policy;
use crate::kernel::Absence;
use crate::model::latency::{Buckets, CpuSample, Episode};
pub use crate::model::latency::{Mode, Thresholds};

/// How to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What.
    pub mode: Mode,
    /// Where. Passive measuring ignores it.
    pub cpus: Vec<u32>,
    /// How the measuring threads are scheduled.
    pub policy: Policy,
    /// From one run time, or one wake-up, to the next.
    pub period_ns: u64,
    /// How long a thread spins in each period.
    pub runtime_ns: u64,
    /// Gaps shorter than this are no noise.
    pub gap_ns: u64,
    /// What makes an episode.
    pub thresholds: Thresholds,
    /// How often samples are told.
    pub interval: Duration,
    /// Nothing is told before this has passed.
    pub warm_up: Duration,
    /// Measuring threads end by themselves after this: real-time threads may leave a slow machine no time to end them.
    pub at_most: Option<Duration>,
    /// Buckets of the exact histograms: width in ns and number.
    pub buckets: Option<(u64, usize)>,
    /// Keep CPUs from idle states that take longer than this to leave, us.
    pub dma_latency_us: Option<u32>,
    /// Keep stacks of blockers and of senders of interrupts.
    pub stacks: bool,
    /// The kernel's tracer keeps stacks of latencies from here on; 0: of those over a threshold.
    pub stack_ns: u64,
    /// The threads of the kernel's tracer move to the control group of this process.
    pub join_cgroup: bool,
    /// Each thread that sleeps wakes up this much later than the one before; each at its own time where there is none.
    pub align_ns: Option<u64>,
}

impl Default for Options {
    /// A passive measurement that tells samples every second.
    fn default() -> Self {
        Self {
            mode: Mode::Passive,
            cpus: Vec::new(),
            policy: Policy::Other,
            period_ns: 1_000_000_000,
            runtime_ns: 900_000_000,
            gap_ns: 1_000,
            thresholds: Thresholds::default(),
            interval: Duration::from_secs(1),
            warm_up: Duration::ZERO,
            at_most: None,
            buckets: None,
            dma_latency_us: None,
            stacks: false,
            stack_ns: 0,
            join_cgroup: false,
            align_ns: None,
        }
    }
}

/// Something measured.
#[derive(Clone, Debug)]
pub enum Item {
    /// One CPU, one interval.
    Sample(Box<CpuSample>),
    /// A threshold was passed.
    Episode(Box<Episode>),
    /// Something that the user should know: a CPU that went offline, a clock that jumped.
    Note(String),
}

/// Exact histograms of one CPU.
#[derive(Clone, Debug)]
pub struct CpuBuckets {
    /// Which CPU.
    pub cpu: u32,
    /// Gaps, or the latency of the timer's interrupt.
    pub first: Buckets,
    /// The latency of the thread.
    pub thread: Buckets,
    /// The latency back in user space.
    pub user: Buckets,
}

/// A measurement that runs. Dropping it stops the threads, detaches the programs and restores what was set.
pub trait Measurement {
    /// What was measured since the last call. Never waits.
    ///
    /// # Errors
    /// When measuring cannot go on.
    fn poll(&mut self) -> Result<Vec<Item>, LatencyError>;

    /// Ends measuring and gives what was left.
    ///
    /// # Errors
    /// As [`Measurement::poll`].
    fn finish(&mut self) -> Result<Vec<Item>, LatencyError>;

    /// The exact histograms so far, by CPU.
    fn buckets(&self) -> &[CpuBuckets];

    /// How it measures and what it cannot see, for the screen.
    fn describe(&self) -> Vec<String>;

    /// What each of its programs costs, for the screen.
    fn costs(&self) -> Vec<String> {
        Vec::new()
    }

    /// From now on these make an episode; false where they can't be changed while it measures.
    fn set_thresholds(&mut self, _thresholds: &Thresholds) -> bool {
        false
    }
}

/// Why something cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    /// This kernel cannot do it.
    #[error("{absence}; {}", absence.remedy)]
    Absent {
        /// What is missing, and why.
        #[from]
        absence: Absence,
    },
    /// The BPF programs could not be started.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A measuring thread could not be set up.
    #[error("cannot {operation} on CPU {cpu}: {source}{hint}")]
    Thread {
        /// What was tried.
        operation: &'static str,
        /// Where.
        cpu: u32,
        /// The kernel's answer.
        source: io::Error,
        /// What to do about it, after a semicolon.
        hint: &'static str,
    },
    /// A file of the kernel could not be read or written.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// What was tried.
        operation: &'static str,
        /// Which.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The options make no sense; in plain words.
    #[error("{0}")]
    Options(String),
}
