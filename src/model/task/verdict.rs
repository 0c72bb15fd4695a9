//! What kept the chosen threads, in words.

use serde::{Deserialize, Serialize};

use super::{BehindWhom, Part, Reason, Relation, TaskReport};

/// Shares below this are not worth a word, in thousandths of the time.
const WORTH: u64 = 10;

/// What keeps a thread from going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The quota of its control group.
    Quota,
    /// Others of its own process, or of those chosen.
    Itself,
    /// Others in its control group.
    Siblings,
    /// Others in other control groups.
    Neighbours,
    /// CPUs that were idle and had to be woken.
    Idle,
    /// Interrupts and softirqs while it had the CPU.
    Interrupts,
    /// Locks.
    Locks,
    /// I/O.
    Io,
    /// Memory that had to be found.
    Memory,
}

impl Cause {
    /// As the verdict begins.
    const fn words(self) -> &'static str {
        match self {
            Self::Quota => "throttled by its own quota",
            Self::Itself => "its own threads stood in each other's way",
            Self::Siblings => "others in the same control group had the CPU",
            Self::Neighbours => "neighbours in other control groups had the CPU",
            Self::Idle => "idle CPUs had to be woken",
            Self::Interrupts => "interrupts took the CPU",
            Self::Locks => "locks",
            Self::Io => "I/O",
            Self::Memory => "memory that had to be found",
        }
    }
}

/// One cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which.
    pub cause: Cause,
    /// How long it kept the threads, all added.
    pub ns: u64,
    /// The same in words, with what is most of it.
    pub words: String,
}

/// What kept the chosen threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// In one sentence.
    pub words: String,
    /// The causes, the largest first.
    pub shares: Vec<Share>,
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

fn ms(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

/// Decides.
#[must_use]
pub fn verdict(report: &TaskReport) -> Verdict {
    let parts = report.parts();
    let wall = parts.total();
    let mut shares: Vec<Share> = causes(report)
        .into_iter()
        .filter(|(_, ns, _)| *ns > 0)
        .map(|(cause, ns, most)| {
            let most = if most.is_empty() { most } else { format!(": {most}") };
            let words = format!("{} {} ({:.1} % of the time){most}", cause.words(), ms(ns), percent(ns, wall));
            Share { cause, ns, words }
        })
        .collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
    let ran = percent(parts.get(Part::Running), wall);
    let words = match shares.first() {
        _ if wall == 0 => "Nothing ran: no thread was seen.".to_owned(),
        Some(first) if u128::from(first.ns) * 2 >= u128::from(wall) => {
            format!("Mostly kept by one thing: {}.", first.words)
        }
        Some(first) if u128::from(first.ns) * 1000 >= u128::from(wall) * u128::from(WORTH) => {
            format!("It ran {ran:.1} % of the time{}. What kept it most: {}.", wished(report, wall), first.words)
        }
        _ => format!("Nothing kept it for long: it ran {ran:.1} % of the time{}.", wished(report, wall)),
    };
    Verdict { words, shares }
}

/// What it waited for by its own wish, most of all.
fn wished(report: &TaskReport, wall: u64) -> String {
    let mut by_reason: Vec<(Reason, u64)> = Vec::new();
    for place in report.places.iter().filter(|place| !place.reason.is_kept()) {
        match by_reason.iter_mut().find(|(reason, _)| *reason == place.reason) {
            Some((_, ns)) => *ns += place.ns,
            None => by_reason.push((place.reason, place.ns)),
        }
    }
    let most = by_reason.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| percent(*ns, wall) >= 1.0);
    most.map_or_else(String::new, |(reason, ns)| {
        format!(" and waited {:.1} % for {}", percent(ns, wall), reason.words())
    })
}

fn causes(report: &TaskReport) -> Vec<(Cause, u64, String)> {
    let parts = report.parts();
    let of = |relation: Relation| report.behind.iter().filter(move |b| b.relation == relation);
    let behind = |relation: Relation| {
        (of(relation).map(|b| b.ns).sum::<u64>(), of(relation).max_by_key(|b| b.ns).map(most).unwrap_or_default())
    };
    let waits = |reason: Reason| {
        let here = report.places.iter().filter(move |place| place.reason == reason);
        let most = here.clone().max_by_key(|place| place.ns);
        let words = most.map(|p| format!("{} in {} ({} times)", ms(p.ns), p.function, p.count)).unwrap_or_default();
        (here.map(|place| place.ns).sum::<u64>(), words)
    };
    let quota = report.quotas.iter().max_by_key(|quota| quota.throttled_ns);
    let quota = quota.map(|q| format!("cpu.max of {} is {}, used up {} times", q.cgroup, q.max, q.times));
    let (itself, own) = behind(Relation::Itself);
    let (siblings, sibling) = behind(Relation::Sibling);
    let (neighbours, neighbour) = behind(Relation::Neighbour);
    let (idle, _) = behind(Relation::Idle);
    let (locks, lock) = waits(Reason::Lock);
    let (io, device) = waits(Reason::Io);
    let (memory, reclaim) = waits(Reason::Memory);
    let (irqs, softirqs) = (parts.get(Part::Irqs), parts.get(Part::Softirqs));
    let interrupts = format!("{} of IRQs, {} of softirqs", ms(irqs), ms(softirqs));
    vec![
        (Cause::Quota, parts.get(Part::Throttled), quota.unwrap_or_default()),
        (Cause::Itself, itself, own),
        (Cause::Siblings, siblings, sibling),
        (Cause::Neighbours, neighbours, neighbour),
        (Cause::Idle, idle + parts.get(Part::Waking), String::new()),
        (Cause::Interrupts, irqs + softirqs, interrupts),
        (Cause::Locks, locks, lock),
        (Cause::Io, io.max(parts.get(Part::Io)), device),
        (Cause::Memory, memory, reclaim),
    ]
}

fn most(behind: &BehindWhom) -> String {
    let group =
        if matches!(behind.cgroup.as_str(), "" | "/") { String::new() } else { format!(" of {}", behind.cgroup) };
    format!("{} behind {}{group} ({} times)", ms(behind.ns), behind.name, behind.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::task::{Parts, ThreadTime, WaitPlace};

    fn report(times: &[(Part, u64)]) -> TaskReport {
        let mut parts = Parts::default();
        times.iter().for_each(|(part, ms)| parts.add(*part, *ms * 1_000_000));
        TaskReport { threads: vec![ThreadTime { parts, ..ThreadTime::default() }], ..TaskReport::default() }
    }

    #[test]
    fn the_largest_cause_is_named_and_a_thread_that_only_sleeps_is_kept_by_nothing() {
        let told = verdict(&report(&[(Part::Running, 200), (Part::Throttled, 790), (Part::Preempted, 10)]));
        assert!(told.words.contains("its own quota 790.0 ms (79.0 % of the time)"), "{told:?}");
        let mut late = report(&[(Part::Running, 500), (Part::Queued, 500)]);
        late.behind.push(BehindWhom {
            name: "burn:7".into(),
            cgroup: "/batch".into(),
            relation: Relation::Neighbour,
            ns: 490_000_000,
            count: 3,
            max_ns: 1,
        });
        let told = verdict(&late);
        assert!(told.words.contains("490.0 ms behind burn:7 of /batch (3 times)"), "{told:?}");
        assert!(told.words.starts_with("It ran 50.0 % of the time. What kept it most: neighbours"), "{told:?}");
        let mut asleep = report(&[(Part::Running, 3), (Part::Sleeping, 997)]);
        let place = |reason, ns| WaitPlace {
            part: Part::Sleeping,
            reason,
            function: "futex_do_wait".into(),
            ns,
            count: 1,
            max_ns: ns,
            stack: Vec::new(),
        };
        asleep.places = vec![place(Reason::Timer, 934_000_000), place(Reason::Lock, 63_000_000)];
        let told = verdict(&asleep);
        let words = "It ran 0.3 % of the time and waited 93.4 % for a time that it chose. What kept it most: locks 63.0 ms (6.3 %";
        assert!(told.words.starts_with(words), "{told:?}");
        let told = verdict(&report(&[(Part::Running, 5), (Part::Sleeping, 995), (Part::Queued, 1)]));
        assert!(told.words.starts_with("Nothing kept it for long: it ran 0.5 %"), "{told:?}");
        assert!(verdict(&TaskReport::default()).words.contains("no thread was seen"));
    }
}
