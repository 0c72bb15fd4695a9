//! A trace's budget: the limits that its programs keep, and what they had to leave out.

use std::collections::HashMap;
use std::os::fd::AsFd as _;

use super::detach::Detaching;
use super::monotonic_ns;
use super::sys::bpf;
use super::trace::Trace;
use crate::codegen::artifact::{
    BUDGET_FROM, BUDGET_INTERVAL, BUDGET_LEFT, BUDGET_LIMIT, BUDGET_MOST_DRAWN, BUDGET_PERIOD_NS, BUDGET_POOL,
    BUDGET_SHARE, BUDGET_TAKEN, BUDGET_THROTTLED, BudgetProbe,
};
use crate::model::budget::Budget;

/// What a CPU may take of a period where there is no budget, ns: more than anything takes.
const NO_LIMIT: u64 = 1 << 40;

/// One part in so many of a CPU's share is its own, the others lie in the pool.
const OWN_PART: u64 = 4;

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

/// What is known of probes that were detached before the trace's end.
#[derive(Debug)]
pub(super) struct Gone {
    /// By probe: what the kernel skipped at its links.
    pub missed: HashMap<u32, u64>,
    /// By probe: when, ns after the begin.
    pub detached_ns: HashMap<u32, u64>,
    began_ns: u64,
}

impl Gone {
    /// Nothing yet, in a trace that begins now.
    pub fn of_now() -> Self {
        Self { missed: HashMap::new(), detached_ns: HashMap::new(), began_ns: monotonic_ns() }
    }
}

/// How a budget of all CPUs is divided, ns of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division {
    /// What each CPU may take, whatever others do.
    own: u64,
    /// What all may take beyond that.
    pool: u64,
    /// What one may take beyond that: no CPU gives more than half of its time, unless the budget is larger.
    most: u64,
}

impl Division {
    fn of(budget: Option<Budget>, cpus: u64) -> Self {
        let Some(budget) = budget else { return Self { own: NO_LIMIT, pool: 0, most: 0 } };
        let share = budget.of(BUDGET_PERIOD_NS).max(4);
        let own = share / OWN_PART;
        Self { own, pool: (share - own).saturating_mul(cpus), most: share.max(BUDGET_PERIOD_NS / 2) - own }
    }
}

impl Trace {
    /// Sets what the CPUs may take together; programs keep it from their next period on.
    pub fn set_budget(&self, budget: Option<Budget>) {
        self.divide(Division::of(budget, self.online_cpus().into()));
    }

    /// Turns off every probe that has a budget, until one is set: their firings are counted and do nothing else.
    pub fn turn_all_off(&self) {
        self.divide(Division { own: 0, pool: 0, most: 0 });
    }

    fn divide(&self, Division { own, pool, most }: Division) {
        let Some(spec) = &self.artifact().budget else { return };
        let Some(area) = self.area(&spec.area) else { return };
        // One probe alone has all of a CPU's part. Of several, those that have had their share leave the last quarter to
        // others.
        let probes = spec.probes.len().max(1) as u64;
        let from = if probes == 1 { own } else { own / 4 * 3 };
        let share = own.div_ceil(probes);
        let words = [BUDGET_LIMIT, BUDGET_SHARE, BUDGET_FROM, BUDGET_POOL, BUDGET_MOST_DRAWN];
        for (at, ns) in words.into_iter().zip([own, share, from, pool, most]) {
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
        let missed: u64 = taken.links().iter().map(|link| bpf::link_missed(link.link.as_fd())).sum();
        *self.gone.missed.entry(probe).or_default() += missed;
        if !taken.is_empty() {
            self.gone.detached_ns.insert(probe, self.age_ns());
        }
        taken
    }

    /// How long after the begin a probe was detached, ns, where that was before the trace's end.
    #[must_use]
    pub fn detached(&self, probe: u32) -> Option<u64> {
        self.gone.detached_ns.get(&probe).copied()
    }

    /// How long ago it was loaded, ns.
    #[must_use]
    pub fn age_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.gone.began_ns)
    }

    /// Turns the kernel's statistics of programs on, for measuring what they cost; false where they can't be had.
    pub fn measure(&mut self) -> bool {
        if !self.measured() {
            self.set_statistics(bpf::enable_run_statistics().ok());
        }
        self.measured()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_the_budget() {
        let parts = |text: &str, cpus| Division::of(text.parse().ok(), cpus);
        let Division { own, pool, most } = parts("10%", 4);
        assert_eq!((own, own * 4 + pool), (2_500_000, 40_000_000));
        assert_eq!(own + most, 50_000_000, "no CPU gives more than half of its time");
        let Division { own, most, .. } = parts("80%", 4);
        assert_eq!(own + most, 80_000_000);
        let Division { own, pool, .. } = parts("0.01%", 1);
        assert!(own > 0 && pool > 0);
        assert_eq!(Division::of(None, 8).own, NO_LIMIT);
    }
}
