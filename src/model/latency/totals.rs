//! All that was measured since the start, by CPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ByClass, CpuSample, LatencyStat, NoiseClass, NoiseSample, OwnCost, SourceStat, TimerSample};

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTotal {
    /// How long it was measured.
    pub measured_ns: u64,
    /// Entries of each class.
    pub entries: ByClass,
    /// Their net time.
    pub net_ns: ByClass,
    /// What a spinning thread saw.
    pub noise: Option<NoiseSample>,
    /// What a sleeping thread saw.
    pub timer: Option<TimerSample>,
    /// How late the kernel's own timers were.
    pub passive: LatencyStat,
    /// The sources, those with the most time first.
    pub sources: Vec<SourceStat>,
    /// Time that a hypervisor gave to others.
    pub steal_ns: u64,
}

/// All CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// By number.
    pub cpus: BTreeMap<u32, CpuTotal>,
    /// What measuring cost.
    pub cost: OwnCost,
    /// Where the cost was counted last, so that it is counted once.
    #[serde(skip)]
    last_ns: u64,
}

/// Most sources that are told apart on a CPU, and how many of them stay when there are more: names of threads have no end.
const MOST_SOURCES: usize = 1024;
const KEPT_SOURCES: usize = 512;
/// What stands for those with the least time, of each class.
const OTHERS: &str = "others";

/// Adds a source to those that are known.
fn add_source(sources: &mut Vec<SourceStat>, source: &SourceStat) {
    match sources.iter_mut().find(|s| s.class == source.class && s.name == source.name) {
        Some(known) => {
            known.count = known.count.saturating_add(source.count);
            known.net_ns = known.net_ns.saturating_add(source.net_ns);
            known.max_ns = known.max_ns.max(source.max_ns);
            known.lengths.add(&source.lengths);
        }
        None => sources.push(source.clone()),
    }
}

impl Totals {
    /// Adds a sample.
    pub fn add(&mut self, sample: &CpuSample) {
        let end = sample.began_ns.saturating_add(sample.period_ns);
        // All CPUs of an interval tell the same cost, which is that of all programs.
        if sample.began_ns >= self.last_ns {
            self.last_ns = end;
            self.cost.runs += sample.cost.runs;
            self.cost.run_time_ns += sample.cost.run_time_ns;
            self.cost.misses += sample.cost.misses;
        }
        let cpu = self.cpus.entry(sample.cpu).or_default();
        cpu.measured_ns += sample.period_ns;
        cpu.entries.add(&sample.entries);
        cpu.net_ns.add(&sample.net_ns);
        cpu.steal_ns += sample.steal_ns;
        if let Some(noise) = &sample.noise {
            cpu.noise.get_or_insert_default().add(noise);
        }
        if let Some(timer) = &sample.timer {
            cpu.timer.get_or_insert_default().add(timer);
        }
        if let Some(passive) = &sample.passive {
            cpu.passive.add(passive);
        }
        for source in &sample.sources {
            add_source(&mut cpu.sources, source);
        }
        cpu.sources.sort_by(|a, b| (b.net_ns, &a.name).cmp(&(a.net_ns, &b.name)));
        if cpu.sources.len() > MOST_SOURCES {
            for source in cpu.sources.split_off(KEPT_SOURCES) {
                add_source(&mut cpu.sources, &SourceStat { name: OTHERS.to_owned(), ..source });
            }
        }
    }

    /// What spinning threads saw, by CPU.
    #[must_use]
    pub fn noise(&self) -> Vec<(u32, NoiseSample)> {
        self.cpus.iter().filter_map(|(cpu, total)| Some((*cpu, total.noise.clone()?))).collect()
    }

    /// What sleeping threads saw, by CPU.
    #[must_use]
    pub fn timer(&self) -> Vec<(u32, TimerSample)> {
        self.cpus.iter().filter_map(|(cpu, total)| Some((*cpu, total.timer.clone()?))).collect()
    }

    /// A source on a CPU, by the beginning of its name.
    #[must_use]
    pub fn source(&self, cpu: u32, class: NoiseClass, prefix: &str) -> Option<&SourceStat> {
        self.cpus.get(&cpu)?.sources.iter().find(|s| s.class == class && s.name.starts_with(prefix))
    }

    /// The source on a CPU that has this name.
    #[must_use]
    pub fn exact_source(&self, cpu: u32, class: NoiseClass, name: &str) -> Option<&SourceStat> {
        self.cpus.get(&cpu)?.sources.iter().find(|s| s.class == class && *s.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_all_programs_counts_once_an_interval() {
        let cost = OwnCost { runs: 10, run_time_ns: 1000, misses: 0 };
        let sample = |cpu, began_ns| CpuSample { cpu, began_ns, period_ns: 100, cost, ..CpuSample::default() };
        let mut totals = Totals::default();
        [sample(0, 1000), sample(1, 1000), sample(0, 1100), sample(1, 1100)].iter().for_each(|s| totals.add(s));
        assert_eq!(totals.cost.runs, 20);
        assert_eq!(totals.cpus[&1].measured_ns, 200);
    }
    #[test]
    fn names_without_end_are_told_together() {
        let mut totals = Totals::default();
        for number in 0..3000_u64 {
            let lengths = super::super::Distribution::default();
            let name = format!("thread {number}");
            let class = NoiseClass::Thread;
            let source = SourceStat { class, name, count: 1, net_ns: number, max_ns: number, lengths };
            totals.add(&CpuSample { cpu: 0, sources: vec![source], ..CpuSample::default() });
        }
        let sources = &totals.cpus[&0].sources;
        assert!(sources.len() <= MOST_SOURCES);
        assert_eq!(sources.iter().map(|s| s.count).sum::<u64>(), 3000, "none is lost");
        assert!(totals.exact_source(0, NoiseClass::Thread, OTHERS).is_some());
    }
}
