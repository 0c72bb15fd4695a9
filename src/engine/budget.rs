//! A trace's budget: the limits that its programs keep, and what they had to leave out.

use std::os::fd::AsFd as _;

use super::sys::bpf;
use super::trace::{Detaching, Trace};
use crate::codegen::artifact::{
    BUDGET_FROM, BUDGET_INTERVAL, BUDGET_LEFT, BUDGET_LIMIT, BUDGET_PERIOD_NS, BUDGET_SHARE, BUDGET_TAKEN,
    BUDGET_THROTTLED, BudgetProbe,
};
use crate::model::budget::Budget;

/// What a CPU may take of a period without a budget, ns: more than anything takes.
const NO_LIMIT: u64 = 1 << 40;

/// What a probe did under its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Index of the probe.
    pub probe: u32,
    /// Firings that ran.
    pub taken: u64,
    /// Firings that found it turned off.
    pub throttled: u64,
}

impl Sampled {
    /// How many firings one that ran stands for.
    #[must_use]
    pub fn factor(&self) -> f64 {
        (self.taken.saturating_add(self.throttled)) as f64 / self.taken.max(1) as f64
    }
}

impl Trace {
    /// Sets what each CPU may take; programs keep it from their next period on.
    pub fn set_budget(&self, budget: Option<Budget>) {
        let Some(spec) = &self.artifact().budget else { return };
        let Some(area) = self.area(&spec.area) else { return };
        let limit = budget.map_or(NO_LIMIT, |budget| budget.of(BUDGET_PERIOD_NS).max(1));
        // One probe alone has all of it. Of several, those that have had their share leave the last quarter to others.
        let probes = spec.probes.len().max(1) as u64;
        let from = if probes == 1 { limit } else { limit / 4 * 3 };
        for (at, ns) in [(BUDGET_LIMIT, limit), (BUDGET_SHARE, (limit / probes).max(1)), (BUDGET_FROM, from)] {
            area.write_u64(at as usize, ns);
        }
    }

    /// What each probe with a budget did so far.
    #[must_use]
    pub fn sampled(&self) -> Vec<Sampled> {
        let Some(spec) = &self.artifact().budget else { return Vec::new() };
        let Some(area) = self.area(&spec.area) else { return Vec::new() };
        let of_probe = |probe: &BudgetProbe| {
            let mut sampled = Sampled { probe: probe.probe, taken: 0, throttled: 0 };
            for cpu in 0..self.cpus() {
                let word = |at: u32| area.read_u64(probe.offset as usize + cpu * probe.stride as usize + at as usize);
                let since = word(BUDGET_INTERVAL).saturating_sub(1).saturating_sub(word(BUDGET_LEFT));
                sampled.taken = sampled.taken.saturating_add(word(BUDGET_TAKEN)).saturating_add(since);
                sampled.throttled = sampled.throttled.saturating_add(word(BUDGET_THROTTLED));
            }
            sampled
        };
        spec.probes.iter().map(of_probe).collect()
    }

    /// Takes out what a probe is attached by. Dropping it detaches; what the kernel skipped of it stays counted.
    pub fn take_links(&mut self, probe: u32) -> Detaching {
        let programs = &self.artifact().programs;
        let of_probe: Vec<bool> = programs.iter().map(|p| p.probe == probe || p.on_return == Some(probe)).collect();
        let taken = self.take_links_of(|program| of_probe.get(program).copied().unwrap_or(false));
        let missed = taken.links().iter().map(|link| bpf::link_missed(link.link.as_fd())).sum();
        self.note_missed(probe, missed);
        taken
    }

    /// Turns the kernel's statistics of programs on, for measuring what they cost; false where they can't be had.
    pub fn measure(&mut self) -> bool {
        if !self.measured() {
            self.set_statistics(bpf::enable_run_statistics().ok());
        }
        self.measured()
    }
}
