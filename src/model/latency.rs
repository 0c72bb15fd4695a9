//! What takes a CPU away from a thread, and how late timers and threads are: the kernel's osnoise
//! and timerlat models. All times are nanoseconds of `CLOCK_MONOTONIC`.

mod distribution;
mod episode;
mod meter;
mod totals;

use serde::{Deserialize, Serialize};

pub use distribution::{Buckets, Distribution};
pub use episode::{Blocker, CpuTask, Episode, EpisodeKind, IdleExit, Interval, IpiSender, LatencyParts};
pub use meter::{Badge, CpuPlace, MeterInfo, Mode, Thresholds};
pub use totals::{CpuTotal, Totals};

/// What a CPU does instead of running a thread. Each class interrupts those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseClass {
    /// No entry of any kind was seen: firmware (SMI), a hypervisor, a stalled core.
    Hardware,
    /// Non-maskable interrupts.
    Nmi,
    /// Device interrupts, timers and interrupts from other CPUs.
    Irq,
    /// Deferred work of interrupts.
    Softirq,
    /// Other threads.
    Thread,
    /// A timer of the kernel that was served late; its time is a delay, not a duration.
    Timer,
}

impl NoiseClass {
    /// The name as osnoise's columns have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "HW",
            Self::Nmi => "NMI",
            Self::Irq => "IRQ",
            Self::Softirq => "Softirq",
            Self::Thread => "Thread",
            Self::Timer => "Timer",
        }
    }
}

/// A number for each class that tracepoints tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByClass {
    /// Non-maskable interrupts.
    pub nmi: u64,
    /// Interrupts.
    pub irq: u64,
    /// Softirqs.
    pub softirq: u64,
    /// Other threads.
    pub thread: u64,
}

impl ByClass {
    /// All four added.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.nmi.wrapping_add(self.irq).wrapping_add(self.softirq).wrapping_add(self.thread)
    }

    /// What was added since `earlier`; counters may wrap.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            nmi: self.nmi.wrapping_sub(earlier.nmi),
            irq: self.irq.wrapping_sub(earlier.irq),
            softirq: self.softirq.wrapping_sub(earlier.softirq),
            thread: self.thread.wrapping_sub(earlier.thread),
        }
    }

    /// Adds another's numbers.
    pub const fn add(&mut self, other: &Self) {
        self.nmi = self.nmi.wrapping_add(other.nmi);
        self.irq = self.irq.wrapping_add(other.irq);
        self.softirq = self.softirq.wrapping_add(other.softirq);
        self.thread = self.thread.wrapping_add(other.thread);
    }
}

/// What was measured on one CPU in one period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSample {
    /// Which CPU.
    pub cpu: u32,
    /// When the period began.
    pub began_ns: u64,
    /// How long it was.
    pub period_ns: u64,
    /// Entries of each class in the period, whoever ran.
    pub entries: ByClass,
    /// Their net time: what interrupted them is taken off.
    pub net_ns: ByClass,
    /// What a spinning thread saw (osnoise), where one measures.
    pub noise: Option<NoiseSample>,
    /// What a sleeping thread saw (timerlat), where one measures.
    pub timer: Option<TimerSample>,
    /// How late the kernel's own timers were, without any thread of ours.
    pub passive: Option<LatencyStat>,
    /// The sources of the period, those with the most time first.
    pub sources: Vec<SourceStat>,
    /// What measuring cost this CPU.
    pub cost: OwnCost,
    /// Time that a hypervisor gave to others, as the kernel counts it: in steps of 10 ms.
    #[serde(default)]
    pub steal_ns: u64,
}

/// What a spinning thread saw in its run time: osnoise's row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseSample {
    /// Run times that are in it, all complete.
    pub periods: u64,
    /// How long it spun.
    pub runtime_ns: u64,
    /// The sum of all gaps of at least the threshold.
    pub noise_ns: u64,
    /// The most noise of one run time.
    pub max_noise_ns: u64,
    /// The longest gap.
    pub max_gap_ns: u64,
    /// Gaps counted.
    pub gaps: u64,
    /// Gaps in which nothing was entered: the hardware's.
    pub hardware: u64,
    /// Their time.
    pub hardware_ns: u64,
    /// Entries of each class while it spun.
    pub entries: ByClass,
    /// The net time of each class inside the gaps.
    pub net_ns: ByClass,
    /// Gaps with entries, less the net time of what was entered: entry and exit code, switches, and whatever
    /// is not traced. Signed and never clamped.
    pub residual_ns: i64,
    /// Gaps in which the parts were longer than the gap.
    pub negative_residuals: u64,
    /// How long the gaps were.
    pub lengths: Distribution,
}

impl NoiseSample {
    /// Adds later run times.
    pub fn add(&mut self, later: &Self) {
        self.periods += later.periods;
        self.runtime_ns += later.runtime_ns;
        self.noise_ns += later.noise_ns;
        self.max_noise_ns = self.max_noise_ns.max(later.max_noise_ns);
        self.max_gap_ns = self.max_gap_ns.max(later.max_gap_ns);
        self.gaps += later.gaps;
        self.hardware += later.hardware;
        self.hardware_ns += later.hardware_ns;
        self.entries.add(&later.entries);
        self.net_ns.add(&later.net_ns);
        self.residual_ns += later.residual_ns;
        self.negative_residuals += later.negative_residuals;
        self.lengths.add(&later.lengths);
    }

    /// The part of the run time that was left, in 1/100,000 (osnoise's `% CPU Aval` with five digits).
    #[must_use]
    pub fn available_e5(&self) -> u64 {
        if self.runtime_ns == 0 {
            return 0;
        }
        let left = u128::from(self.runtime_ns.saturating_sub(self.noise_ns));
        (left * 10_000_000 / u128::from(self.runtime_ns)) as u64
    }
}

/// The latencies of a thread that slept until set times: timerlat's row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimerSample {
    /// From the time set until the timer's interrupt was served.
    pub irq: LatencyStat,
    /// Until the thread ran.
    pub thread: LatencyStat,
    /// Until it was back in user space.
    pub user: LatencyStat,
    /// Periods that had passed before the thread could sleep again.
    pub skipped: u64,
    /// Cycles whose interrupt was not seen.
    pub unseen: u64,
}

impl TimerSample {
    /// Adds a later stretch.
    pub fn add(&mut self, later: &Self) {
        self.irq.add(&later.irq);
        self.thread.add(&later.thread);
        self.user.add(&later.user);
        self.skipped += later.skipped;
        self.unseen += later.unseen;
    }
}

/// One latency over many cycles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyStat {
    /// How many.
    pub count: u64,
    /// The last.
    pub current_ns: u64,
    /// The shortest; 0 when there is none.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All added.
    pub sum_ns: u64,
    /// How they are distributed.
    pub lengths: Distribution,
}

impl LatencyStat {
    /// Counts one more.
    pub fn record(&mut self, latency_ns: u64) {
        self.min_ns = if self.count == 0 { latency_ns } else { self.min_ns.min(latency_ns) };
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
        self.current_ns = latency_ns;
        self.count += 1;
        self.lengths.record(latency_ns, 1);
    }

    /// Adds a later stretch.
    pub fn add(&mut self, later: &Self) {
        if later.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { later.min_ns } else { self.min_ns.min(later.min_ns) };
        self.max_ns = self.max_ns.max(later.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(later.sum_ns);
        self.count += later.count;
        self.current_ns = later.current_ns;
        self.lengths.add(&later.lengths);
    }

    /// The mean; `None` when there is none.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }
}

/// One source of noise: an interrupt line, a vector, a softirq, a thread, a timer's function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceStat {
    /// What it is.
    pub class: NoiseClass,
    /// `local_timer:236`, `NET_RX:3`, `rcu_preempt:16`, `kworker/0:1:57 vmstat_update`.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Its net time.
    pub net_ns: u64,
    /// Its longest run.
    pub max_ns: u64,
    /// How long its runs were.
    pub lengths: Distribution,
}

/// What measuring cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCost {
    /// Runs of our BPF programs, on all CPUs.
    pub runs: u64,
    /// Their time.
    pub run_time_ns: u64,
    /// Firings that the kernel skipped as a program already ran on the CPU.
    pub misses: u64,
}

impl OwnCost {
    /// The mean of one run; `None` when nothing ran or it was not measured.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.run_time_ns.checked_div(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_cpu_is_told_to_five_digits() {
        let mut sample = NoiseSample { runtime_ns: 1_000_000_000, noise_ns: 123_456, ..NoiseSample::default() };
        assert_eq!(sample.available_e5(), 9_998_765);
        sample.noise_ns = 2_000_000_000;
        assert_eq!(sample.available_e5(), 0, "noise that began before the run time");
        assert_eq!(NoiseSample::default().available_e5(), 0);
    }

    #[test]
    fn stretches_add_up_to_the_whole() {
        let (mut whole, mut first, mut second) =
            (LatencyStat::default(), LatencyStat::default(), LatencyStat::default());
        for n in [7_000, 3_000, 90_000] {
            whole.record(n);
            first.record(n);
        }
        for n in [1_000, 5_000] {
            whole.record(n);
            second.record(n);
        }
        first.add(&second);
        assert_eq!(first, whole);
        assert_eq!(
            (whole.min_ns, whole.max_ns, whole.current_ns, whole.mean_ns()),
            (1_000, 90_000, 5_000, Some(21_200))
        );
        let before = whole.clone();
        whole.add(&LatencyStat::default());
        assert_eq!(whole, before, "an empty stretch changes nothing");
    }
}
