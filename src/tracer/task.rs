//! Where the time of a thread, a process or a control group goes: each nanosecond in one part, long waits one by one.

mod describe;
mod target;
mod tracer;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::latency::LatencyError;
use crate::engine::monotonic_ns;
use crate::engine::task::layout::{Thread, Wait};
use crate::engine::task::{Behind, Lost, TaskMeter};
use crate::kernel::Kernel;
use crate::model::task::{BehindWhom, LongWait, Part, Quota, TaskReport, ThreadTime, WaitPlace};
use describe::Describer;

pub use target::Target;
pub use tracer::TaskTracer;

/// How often threads that have ended are looked for.
const LOOK: Duration = Duration::from_millis(500);
/// Threads that have ended and are kept; the shortest-lived are added up beyond.
const MOST_ENDED: usize = 20_000;
/// Rows of the report's lists.
const MOST_ROWS: usize = 200;

/// What to watch, and what to keep.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose time.
    pub target: Target,
    /// Waits shorter than this are in the sums only.
    pub keep_ns: u64,
    /// How many of the worst waits are kept.
    pub worst: usize,
}

/// Threads that are watched. Dropping it detaches the programs.
#[derive(Debug)]
pub struct Watch {
    options: Options,
    kernel: Arc<Kernel>,
    meter: TaskMeter,
    describer: Describer,
    began_ns: u64,
    looked: Instant,
    ended: HashMap<(u32, u64), Thread>,
    worst: Vec<LongWait>,
    quotas: Vec<Quota>,
}

impl Watch {
    /// Loads the programs and finds the threads that are there already.
    ///
    /// # Errors
    /// When there is nothing to watch, or the kernel lacks what is needed or refuses it.
    pub fn start(kernel: &Arc<Kernel>, options: Options) -> Result<Self, LatencyError> {
        let chosen = options.target.chosen(kernel)?;
        // Threads that run are watched as soon as the first programs are attached.
        let began_ns = monotonic_ns();
        let meter = TaskMeter::start(kernel, chosen, options.keep_ns)?;
        for found in options.target.threads(kernel) {
            meter.seed(found.pid, found.tgid, &found.comm, found.part, monotonic_ns());
        }
        let quotas = options.target.quotas(kernel);
        Ok(Self {
            describer: Describer::new(kernel),
            kernel: Arc::clone(kernel),
            options,
            meter,
            began_ns,
            looked: Instant::now(),
            ended: HashMap::new(),
            worst: Vec::new(),
            quotas,
        })
    }

    /// Takes what has happened since the last call. Never waits.
    pub fn poll(&mut self) {
        for wait in self.meter.take_waits() {
            self.consider(&wait);
        }
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            for thread in self.meter.threads().into_iter().filter(|thread| thread.ended_ns.is_some()) {
                self.meter.forget(thread.pid);
                if self.ended.len() < MOST_ENDED {
                    self.ended.insert((thread.pid, thread.first_ns), thread);
                }
            }
        }
    }

    /// Keeps a wait if it is one of the worst.
    fn consider(&mut self, wait: &Wait) {
        let mut long = self.describer.outline(&self.meter, wait);
        let least = self.worst.last().filter(|_| self.worst.len() >= self.options.worst).map_or(0, LongWait::kept_ns);
        if long.kept_ns() <= least {
            return;
        }
        self.describer.complete(&self.meter, wait, &mut long);
        let place = self.worst.partition_point(|other| other.kept_ns() >= long.kept_ns());
        self.worst.insert(place, long);
        self.worst.truncate(self.options.worst);
    }

    /// Where the time went so far.
    pub fn report(&mut self) -> TaskReport {
        self.poll();
        let now_ns = monotonic_ns();
        let live = self.meter.threads();
        let mut threads: Vec<ThreadTime> = self.ended.values().chain(&live).map(|t| time_of(t, now_ns)).collect();
        let delay = |thread: &ThreadTime| -> u64 {
            Part::ALL.into_iter().filter(|part| part.is_delay()).map(|part| thread.parts.get(part)).sum()
        };
        threads.sort_by_key(|thread| (std::cmp::Reverse(delay(thread)), thread.pid));
        let own: Vec<(u32, u32)> = threads.iter().map(|thread| (thread.pid, thread.tgid)).collect();
        let groups = self.options.target.groups(&self.kernel, &own);
        let mut all: HashMap<(u32, u64), Behind> = HashMap::new();
        // Whoever ran while it had no quota did not keep it.
        for behind in self.meter.behind().into_iter().filter(|behind| behind.part != Part::Throttled) {
            let Some(known) = all.get_mut(&(behind.pid, behind.cgroup)) else {
                all.insert((behind.pid, behind.cgroup), behind);
                continue;
            };
            known.ns += behind.ns;
            known.count += behind.count;
            known.max_ns = known.max_ns.max(behind.max_ns);
        }
        let mut behind: Vec<BehindWhom> = all.values().map(|b| self.describer.behind(b, &own, &groups)).collect();
        behind.sort_by(|a, b| (b.ns, &a.name).cmp(&(a.ns, &b.name)));
        behind.truncate(MOST_ROWS);
        TaskReport {
            chosen: self.options.target.words(&self.kernel),
            watched_ns: now_ns - self.began_ns,
            threads,
            behind,
            places: self.places(),
            worst: self.worst.clone(),
            quotas: self.used_quotas(),
            lost: lost(self.meter.lost()),
            cost: self.meter.cost(),
        }
    }

    fn places(&mut self) -> Vec<WaitPlace> {
        let mut found = self.meter.places();
        found.sort_by_key(|place| std::cmp::Reverse(place.ns));
        let mut places: Vec<WaitPlace> = Vec::new();
        for found in found {
            let place = self.describer.place(&self.meter, &found);
            let same = |known: &&mut WaitPlace| {
                (known.part, known.reason, &known.function) == (place.part, place.reason, &place.function)
            };
            // Many paths lead to one place; the one with the most time is shown.
            if let Some(known) = places.iter_mut().find(same) {
                known.ns += place.ns;
                known.count += place.count;
                known.max_ns = known.max_ns.max(place.max_ns);
            } else if places.len() < MOST_ROWS {
                places.push(place);
            }
        }
        places.sort_by_key(|place| std::cmp::Reverse(place.ns));
        places
    }

    /// The quotas that were used up meanwhile.
    fn used_quotas(&self) -> Vec<Quota> {
        let now = self.options.target.quotas(&self.kernel);
        let used = |now: &Quota| {
            let before = self.quotas.iter().find(|before| before.cgroup == now.cgroup);
            let (times, ns) = before.map_or((0, 0), |before| (before.times, before.throttled_ns));
            Quota {
                times: now.times.saturating_sub(times),
                throttled_ns: now.throttled_ns.saturating_sub(ns),
                ..now.clone()
            }
        };
        now.iter().map(used).filter(|quota| quota.times > 0).collect()
    }
}

/// The time of a thread until now, with the part that it is in.
fn time_of(thread: &Thread, now_ns: u64) -> ThreadTime {
    let end_ns = thread.ended_ns.unwrap_or(now_ns);
    let mut parts = thread.sums;
    let mut longest = thread.longest;
    if thread.ended_ns.is_none() {
        let ns = end_ns.saturating_sub(thread.since_ns);
        parts.add(thread.part, ns);
        let known = &mut longest.0[thread.part as usize];
        *known = (*known).max(ns);
    }
    ThreadTime {
        pid: thread.pid,
        tgid: thread.tgid,
        comm: thread.comm.clone(),
        wall_ns: end_ns.saturating_sub(thread.first_ns),
        parts,
        counts: thread.counts,
        longest,
        now: thread.ended_ns.is_none().then_some(thread.part),
    }
}

fn lost(lost: Lost) -> Vec<String> {
    let all = [
        (lost.tasks, "firings for threads over the 4096 that there is room for"),
        (lost.waits, "long waits, as they came too fast"),
        (lost.stacks, "stacks and places, as there were too many"),
        (lost.behind, "turns of others, as there were too many of them"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}
