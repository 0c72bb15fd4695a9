//! What firings cost: in the programs, as the kernel measures them, and on the kernel's way to them, by guess.

use crate::codegen::artifact::ProgramKind;

/// What a throttled firing takes by the kernel's statistics on an ordinary CPU, most of it their own, ns.
const THROTTLED_RUN_NS: f64 = 40.0;
/// A CPU that takes so many times as long is a slow one.
const SLOW: f64 = 10.0;
/// What of each run's time is that of the clock that measures it, ns: an empty program reads 35.
const CLOCK_NS: u64 = 25;

/// What programs have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    runs: u64,
    /// In the programs, measured by the kernel, ns.
    programs_ns: u64,
    /// On the kernel's way to them, by guess, also at the firings that it skipped, ns.
    dispatch_ns: u64,
}

impl Cost {
    /// Of one program.
    #[must_use]
    pub const fn of(kind: ProgramKind, runs: u64, programs_ns: u64, misses: u64) -> Self {
        let dispatch_ns = runs.saturating_add(misses).saturating_mul(dispatch_ns(kind));
        Self { runs, programs_ns, dispatch_ns }
    }

    /// What came since then.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(before.runs),
            programs_ns: self.programs_ns.saturating_sub(before.programs_ns),
            dispatch_ns: self.dispatch_ns.saturating_sub(before.dispatch_ns),
        }
    }

    /// With another one.
    pub const fn add(&mut self, other: Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.programs_ns = self.programs_ns.saturating_add(other.programs_ns);
        self.dispatch_ns = self.dispatch_ns.saturating_add(other.dispatch_ns);
    }

    /// All of it on a CPU that is so many times slower than the one of the guesses, ns.
    #[must_use]
    pub fn ns(self, slowness: f64) -> f64 {
        let programs_ns = self.programs_ns.saturating_sub(self.runs.saturating_mul(CLOCK_NS));
        programs_ns as f64 + self.dispatch_ns as f64 * slowness
    }

    /// How much longer everything takes here than where the guesses of dispatch are from, by what a throttled firing takes:
    /// an emulated CPU needs microseconds for one. A busy CPU, and the measuring, make some of it on an ordinary one.
    #[must_use]
    pub fn slowness(self) -> f64 {
        let slow = self.programs_ns as f64 / self.runs.max(1) as f64 / THROTTLED_RUN_NS;
        if slow < SLOW { 1.0 } else { slow }
    }
}

/// What is taken for the kernel's own way to a program at a firing, ns: the kernel's statistics count the program alone.
/// Nobody measured these here. They are the order of size of each mechanism, low rather than high, so that a probe is
/// not detached for a cost that it may not have.
const fn dispatch_ns(kind: ProgramKind) -> u64 {
    match kind {
        ProgramKind::TestRun | ProgramKind::Iter => 0,
        ProgramKind::RawTracepoint | ProgramKind::SyscallDispatch => 5,
        ProgramKind::Fentry | ProgramKind::Fexit | ProgramKind::FentryMulti | ProgramKind::FexitMulti => 10,
        ProgramKind::Tracepoint | ProgramKind::KprobeMulti | ProgramKind::KprobeSession => 50,
        ProgramKind::Kprobe => 100,
        ProgramKind::PerfEvent => 200,
        ProgramKind::Uprobe | ProgramKind::UprobeMulti => 800,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_cpu_pays_more_for_dispatch() {
        let cost = |programs_ns| Cost { runs: 1000, programs_ns, dispatch_ns: 150_000 };
        let is = |cost: Cost, wanted: f64| (cost.slowness() - wanted).abs() < 1e-9;
        assert!(is(cost(40_000), 1.0));
        assert!(is(cost(90_000), 1.0), "what is busy is not slow");
        assert!(is(cost(4_000_000), 100.0));
        assert!(is(Cost::default(), 1.0));
        assert!((cost(0).ns(100.0) - 15_000_000.0).abs() < 1.0);
        assert!((cost(65_000).ns(1.0) - 190_000.0).abs() < 1.0, "the clock's own time is no cost of the program");
    }
}
