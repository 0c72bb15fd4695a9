//! Sources of noise, told by their differences from one interval to the next.

use std::collections::HashMap;

use crate::engine::latency::Memory;
use crate::engine::latency::layout::{Source, Table, irq_name, softirq_name};
use crate::kernel::Kernel;
use crate::model::latency::{Distribution, LatencyStat, NoiseClass, SourceStat};

/// The sources of one CPU as they were when they were told last.
#[derive(Debug, Default)]
pub struct Known(HashMap<(u8, Option<u64>), Source>);

/// The name of the function at an address, as kernel stacks have it.
#[must_use]
pub fn function_name(kernel: &Kernel, address: u64) -> String {
    match kernel.symbolize(address) {
        Some((name, 0, _)) => name.to_string(),
        Some((name, offset, _)) => format!("{name}+{offset:#x}"),
        None => format!("{address:#x}"),
    }
}

/// A thread as osnoise names it, `comm:pid`, and a kworker's function.
#[must_use]
pub fn thread_name(kernel: &Kernel, comm: &str, pid: u64, work: u64) -> String {
    let comm = if pid == 0 && comm.is_empty() { "swapper" } else { comm };
    match work {
        0 => format!("{comm}:{pid}"),
        work => format!("{comm}:{pid} {}", function_name(kernel, work)),
    }
}

fn describe(kernel: &Kernel, table: Table, source: &Source) -> (NoiseClass, String) {
    let Some(id) = source.id else {
        return (class_of(table), "others".to_owned());
    };
    let name = match table {
        Table::Nmi | Table::Timer => function_name(kernel, id),
        Table::Vector | Table::Irq => irq_name(id, |_| Some(source.name.clone()).filter(|n| !n.is_empty())),
        Table::Softirq => softirq_name(id),
        Table::Thread => thread_name(kernel, &source.name, id, source.aux),
    };
    (class_of(table), name)
}

const fn class_of(table: Table) -> NoiseClass {
    match table {
        Table::Nmi => NoiseClass::Nmi,
        Table::Vector | Table::Irq => NoiseClass::Irq,
        Table::Softirq => NoiseClass::Softirq,
        Table::Thread => NoiseClass::Thread,
        Table::Timer => NoiseClass::Timer,
    }
}

/// One entry for each source: while a table is forgotten, a thread that runs takes a new place in it, and may later take
/// one that its search comes to sooner. Its runs are then in two.
fn merged(sources: Vec<Source>) -> Vec<Source> {
    let mut places: HashMap<Option<u64>, usize> = HashMap::new();
    let mut all: Vec<Source> = Vec::with_capacity(sources.len());
    for source in sources {
        let place = *places.entry(source.id).or_insert(all.len());
        let Some(known) = all.get_mut(place) else {
            all.push(source);
            continue;
        };
        known.count = known.count.wrapping_add(source.count);
        known.total = known.total.wrapping_add(source.total);
        known.max = known.max.max(source.max);
        known.log2.iter_mut().zip(source.log2).for_each(|(times, more)| *times = times.wrapping_add(more));
    }
    all
}

/// Adds what a thread has run that has not ended yet; the run itself is counted when it ends.
fn add_running(kernel: &Kernel, all: &mut Vec<Source>, pid: u64, ns: u64) {
    let others = all.iter().position(|source| source.id.is_none());
    if let Some(known) = all.iter().position(|source| source.id == Some(pid)).or(others) {
        all[known].total = all[known].total.wrapping_add(ns);
        all[known].max = all[known].max.max(ns);
        return;
    }
    let comm = kernel.proc_text(format!("{pid}/comm")).unwrap_or_default();
    let name = comm.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    all.push(Source { id: Some(pid), total: ns, max: ns, name, ..Source::default() });
}

/// What was added to a source since `earlier`. One that has less than then was begun anew in between.
fn difference(now: &Source, earlier: Option<&Source>) -> LatencyStat {
    let earlier = earlier.filter(|e| now.count >= e.count);
    let mut lengths = Distribution::default();
    let mut top = 0;
    for (n, count) in now.log2.iter().enumerate() {
        let before = earlier.map_or(0, |e| e.log2[n]);
        // A place that is taken anew keeps the lengths of who had it.
        let times = count.saturating_sub(before);
        if times > 0 {
            lengths.record((1_u64 << n) + (1_u64 << n) / 2, u64::from(times));
            top = (2_u64 << n) - 1;
        }
    }
    let grew = earlier.is_none_or(|e| now.max > e.max);
    LatencyStat {
        count: now.count.wrapping_sub(earlier.map_or(0, |e| e.count)),
        current_ns: 0,
        min_ns: 0,
        // Only the longest since the start is known: of a later interval, the bound of its longest's bucket.
        max_ns: if grew { now.max } else { top.min(now.max) },
        sum_ns: now.total.saturating_sub(earlier.map_or(0, |e| e.total)),
        lengths,
    }
}

impl Known {
    /// Whether the table is full of threads that ran once, so that those that run now find no room: a tenth of all time
    /// since the last call was counted for no name.
    fn is_crowded(&self, table: Table, sources: &[Source]) -> bool {
        let since = |source: &Source| {
            let before = self.0.get(&(table as u8, source.id)).map_or(0, |earlier| earlier.total);
            source.total.saturating_sub(before)
        };
        let unnamed: u64 = sources.iter().filter(|source| source.id.is_none()).map(since).sum();
        table == Table::Thread && unnamed > 0 && unnamed * 10 > sources.iter().map(since).sum::<u64>()
    }

    /// What ran since the last call, those with the most time first, and how late timers were.
    /// The run that is not over is told as far as it has come: `running` is its thread and its ns until now.
    pub fn changes(
        &mut self,
        kernel: &Kernel,
        memory: &Memory,
        cpu: u32,
        running: Option<(u64, u64)>,
    ) -> (Vec<SourceStat>, LatencyStat) {
        let mut told = Vec::new();
        let mut late = LatencyStat::default();
        for table in Table::ALL {
            let mut all = merged(memory.sources(cpu, table));
            if let Some((pid, ns)) = running.filter(|(_, ns)| table == Table::Thread && *ns > 0) {
                add_running(kernel, &mut all, pid, ns);
            }
            let crowded = self.is_crowded(table, &all);
            for source in all {
                let key = (table as u8, source.id);
                let stat = difference(&source, self.0.get(&key));
                if stat.count == 0 && stat.sum_ns == 0 {
                    continue;
                }
                if table == Table::Timer {
                    late.add(&LatencyStat { min_ns: late.min_ns, ..stat.clone() });
                }
                let (class, name) = describe(kernel, table, &source);
                told.push(SourceStat {
                    class,
                    name,
                    count: stat.count,
                    net_ns: stat.sum_ns,
                    max_ns: stat.max_ns,
                    lengths: stat.lengths,
                });
                self.0.insert(key, source);
            }
            if crowded {
                memory.forget_sources(cpu, table);
                self.0.retain(|(of, _), _| *of != table as u8);
            }
        }
        told.sort_by(|a, b| (b.net_ns, &a.name).cmp(&(a.net_ns, &b.name)));
        (told, late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_full_once_those_without_a_name_take_a_tenth() {
        let source = |id, total| Source { id, count: 1, total, ..Source::default() };
        let mut known = Known::default();
        let full = [source(None, 200), source(Some(1), 900)];
        assert!(known.is_crowded(Table::Thread, &full) && !known.is_crowded(Table::Irq, &full));
        assert!(!known.is_crowded(Table::Thread, &[source(None, 50), source(Some(1), 900)]));
        known.0.insert((Table::Thread as u8, None), source(None, 190));
        assert!(!known.is_crowded(Table::Thread, &full), "most of it was long ago");
    }

    #[test]
    fn a_run_that_is_not_over_is_told_once() {
        let memory = Memory::simulated(1).unwrap();
        let kernel = Kernel::new(crate::kernel::Roots::fixture(std::path::Path::new("/nonexistent")));
        let mut known = Known::default();
        let mut told = |running| {
            let (sources, _) = known.changes(&kernel, &memory, 0, running);
            sources.iter().map(|s| (s.name.clone(), s.count, s.net_ns)).collect::<Vec<_>>()
        };
        assert_eq!(told(Some((6, 1_000))), [(":6".to_owned(), 0, 1_000)]);
        assert_eq!(told(Some((6, 2_500))), [(":6".to_owned(), 0, 1_500)]);
        memory.simulate_run(0, Table::Thread, 6, 3_000);
        assert_eq!(told(None), [(":6".to_owned(), 1, 500)]);
        assert!(told(None).is_empty());
    }

    #[test]
    fn an_interval_has_what_was_added_in_it() {
        let mut first = Source { id: Some(1), count: 3, total: 3_000, max: 1_500, ..Source::default() };
        first.log2[10] = 3;
        let mut then = Source { count: 5, total: 13_000, ..first.clone() };
        then.log2[10] = 4;
        then.log2[9] = 1;
        let whole = difference(&first, None);
        assert_eq!((whole.count, whole.sum_ns, whole.max_ns, whole.lengths.count()), (3, 3_000, 1_500, 3));
        let added = difference(&then, Some(&first));
        assert_eq!((added.count, added.sum_ns, added.lengths.count()), (2, 10_000, 2));
        assert_eq!(added.max_ns, 1_500, "no longer than the longest since the start");
    }

    #[test]
    fn a_source_in_two_places_is_one_and_one_that_was_begun_anew_counts_from_there() {
        let source = |id, count, total| Source { id, count, total, max: total, ..Source::default() };
        let twice = merged(vec![source(Some(7), 1, 10), source(Some(8), 2, 20), source(Some(7), 500, 9_000)]);
        assert_eq!((twice.len(), twice[0].count, twice[0].total, twice[0].max), (2, 501, 9_010, 9_000));
        let later = merged(vec![source(Some(7), 1, 10), source(Some(7), 520, 9_900)]);
        assert_eq!(difference(&later[0], Some(&twice[0])).count, 20);
        let anew = difference(&source(Some(7), 3, 30), Some(&twice[0]));
        assert_eq!((anew.count, anew.sum_ns), (3, 30), "nothing ran a negative number of times");
    }
}
