//! Keeping a budget from user space: telling of probes that were throttled, and detaching those that cost more than the
//! budget even so.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread::JoinHandle;

use crate::codegen::artifact::BUDGET_PERIOD_NS;
use crate::engine::Trace;
use crate::engine::detach::Released;
use crate::engine::dispatch::Cost;
use crate::lang::codes::run::{OVER_BUDGET, THROTTLED};
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::Span;
use crate::lang::typed::Probe;
use crate::model::budget::Budget;
use crate::model::stats::TraceStats;
use crate::model::words;
use crate::thread::{self, Rights};
use crate::tracer::report::{Face, Report};

/// What costs more than the budget is looked at closer after this long, ns.
const PATIENCE_NS: u64 = 600_000_000;
/// Probes that are all turned off are so from their next period on: what they cost until then says nothing, ns.
const SETTLING_NS: u64 = 2 * BUDGET_PERIOD_NS;
/// So long at least is measured what they cost while they are off, ns.
const MEASURED_NS: u64 = 400_000_000;
/// What throttling held is not measured again for this long, ns; each time for twice as long.
const FIRST_PAUSE_NS: u64 = 10_000_000_000;
const LONGEST_PAUSE_NS: u64 = 600_000_000_000;

/// Watches what a trace with a budget costs.
#[derive(Debug, Default)]
pub struct BudgetKeeper {
    budget: Option<Budget>,
    /// Probes that were told to be throttled.
    told: BTreeSet<u32>,
    /// The counters of the last look.
    last: Option<Costs>,
    /// Since when throttled programs cost more than the budget.
    over_since_ns: Option<u64>,
    /// All probes are turned off, to measure what that leaves.
    trial: Option<Trial>,
    /// No trial before this time, ns.
    not_before_ns: u64,
    pause_ns: u64,
    /// What this process has let go of, and the kernel detaches.
    released: Vec<Released>,
    /// Threads that detach what takes a moment.
    detaching: Vec<JoinHandle<()>>,
    is_partial: bool,
}

/// A while in which nothing runs.
#[derive(Debug)]
struct Trial {
    began_ns: u64,
    /// The counters once that holds.
    from: Option<Costs>,
}

/// What probes have cost so far.
#[derive(Debug)]
struct Costs {
    at_ns: u64,
    probes: BTreeMap<u32, Cost>,
    throttled: u64,
}

impl Costs {
    /// What part of the CPUs' time each probe took since then, percent; the largest first.
    fn shares_since(&self, last: &Self, trace: &Trace) -> Vec<(u32, f64)> {
        let elapsed = self.at_ns.saturating_sub(last.at_ns).max(1) as f64 * f64::from(trace.online_cpus());
        let since =
            |(probe, cost): (&u32, &Cost)| (*probe, cost.since(last.probes.get(probe).copied().unwrap_or_default()));
        let spent: Vec<(u32, Cost)> = self.probes.iter().map(since).collect();
        let mut all = Cost::default();
        spent.iter().for_each(|(_, cost)| all.add(*cost));
        let slowness = all.slowness();
        let mut shares: Vec<(u32, f64)> =
            spent.iter().map(|(probe, cost)| (*probe, cost.ns(slowness) / elapsed * 100.0)).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}

impl BudgetKeeper {
    /// For a trace with a budget.
    #[must_use]
    pub fn new(budget: Option<Budget>) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Whether probes were detached.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// What the kernel may still be detaching.
    #[must_use]
    pub fn leave(self) -> Vec<Released> {
        self.released
    }

    /// Another budget from now on.
    pub fn set(&mut self, budget: Option<Budget>, trace: &Trace) {
        *self =
            Self { budget, trial: None, over_since_ns: None, not_before_ns: 0, pause_ns: 0, ..std::mem::take(self) };
        trace.set_budget(budget);
    }

    /// Tells of probes that are throttled, once each, and detaches those that cost too much all the same.
    pub fn look(&mut self, trace: &mut Trace, stats: &TraceStats, face: &mut dyn Face) -> io::Result<()> {
        let Some(budget) = self.budget.filter(|_| trace.artifact().budget.is_some()) else { return Ok(()) };
        let sampled = trace.sampled();
        for one in sampled.iter().filter(|one| one.throttled > 0) {
            if self.told.insert(one.probe) {
                let message = format!("{} is throttled to keep the budget of {budget}", name(trace, one.probe));
                say(THROTTLED, trace, one.probe, message, THROTTLED_HELP, face)?;
            }
        }
        let throttled = sampled.iter().fold(0_u64, |sum, one| sum.saturating_add(one.throttled));
        if let Some(trial) = self.trial.take() {
            self.go_on(trial, (budget, throttled), trace, stats, face)
        } else {
            self.compare((budget, throttled), trace, stats);
            Ok(())
        }
    }

    /// Begins a trial where throttled probes cost more than the budget for a while.
    fn compare(&mut self, (budget, throttled): (Budget, u64), trace: &mut Trace, stats: &TraceStats) {
        let grows = self.last.as_ref().map_or(throttled > 0, |last| throttled > last.throttled);
        if !grows {
            (self.over_since_ns, self.last) = (None, None);
            return;
        }
        // The kernel's statistics cost something themselves: they are on only where probes are throttled.
        if !trace.measure() {
            return;
        }
        let now = Costs { at_ns: stats.at_ns, probes: costs(trace, stats), throttled };
        let Some(last) = self.last.replace(now) else { return };
        let total =
            self.last.as_ref().map_or(0.0, |now| now.shares_since(&last, trace).iter().map(|(_, share)| share).sum());
        // A budget is kept by throttling where that can keep it: with a tenth of its own for what the periods overlap.
        if total <= budget.percent() * 1.1 + 1.0 {
            self.over_since_ns = None;
            return;
        }
        let since_ns = stats.at_ns.saturating_sub(*self.over_since_ns.get_or_insert(last.at_ns));
        let is_much = total > budget.percent() * 3.0;
        if stats.at_ns >= self.not_before_ns && (is_much || since_ns >= PATIENCE_NS) {
            trace.turn_all_off();
            self.trial = Some(Trial { began_ns: stats.at_ns, from: None });
        }
    }

    /// Measures what probes cost that are all turned off, then detaches those that cost too much even so, or lets all run.
    fn go_on(
        &mut self,
        mut trial: Trial,
        (budget, throttled): (Budget, u64),
        trace: &mut Trace,
        stats: &TraceStats,
        face: &mut dyn Face,
    ) -> io::Result<()> {
        let now = Costs { at_ns: stats.at_ns, probes: costs(trace, stats), throttled };
        let Some(from) = &trial.from else {
            let settled = stats.at_ns.saturating_sub(trial.began_ns) >= SETTLING_NS;
            trial.from = settled.then_some(now);
            self.trial = Some(trial);
            return Ok(());
        };
        if now.at_ns.saturating_sub(from.at_ns) < MEASURED_NS {
            self.trial = Some(trial);
            return Ok(());
        }
        let shares = now.shares_since(from, trace);
        (self.over_since_ns, self.last) = (None, None);
        self.pause_ns = (self.pause_ns * 2).clamp(FIRST_PAUSE_NS, LONGEST_PAUSE_NS);
        self.not_before_ns = stats.at_ns.saturating_add(self.pause_ns);
        let mut total: f64 = shares.iter().map(|(_, share)| share).sum();
        for (probe, share) in shares {
            if total <= budget.percent() {
                break;
            }
            total -= share;
            self.detach(budget, (probe, share), trace, face)?;
        }
        trace.set_budget(Some(budget));
        Ok(())
    }

    fn detach(
        &mut self,
        budget: Budget,
        (probe, share): (u32, f64),
        trace: &mut Trace,
        face: &mut dyn Face,
    ) -> io::Result<()> {
        let links = trace.take_links(probe);
        if links.is_empty() {
            return Ok(());
        }
        self.is_partial = true;
        if links.takes_long() {
            self.released.push(links.release());
        } else {
            // Where no thread can be had it is detached here.
            self.detaching.extend(thread::spawn("psc-detach", Rights::Nothing, move || drop(links)));
        }
        let after = trace.detached(probe).map_or_else(String::new, |ns| format!(" after {}", seconds(ns)));
        let message = format!(
            "{} is detached{after}: its firings take {share:.0} % of the CPUs' time even while nothing runs at them, and \
             the budget is {budget}",
            name(trace, probe)
        );
        say(OVER_BUDGET, trace, probe, message, DETACHED_HELP, face)
    }

    /// Tells how much of each probe's firings the results are of.
    pub fn end(&mut self, trace: &Trace, face: &mut dyn Face) -> io::Result<()> {
        for one in trace.sampled() {
            let detached = trace.detached(one.probe);
            if one.throttled == 0 && detached.is_none() {
                continue;
            }
            let maps = trace.maps_of(one.probe);
            let (name, ran) = (name(trace, one.probe), words::grouped(one.taken));
            let fired = words::grouped(one.taken.saturating_add(one.throttled));
            let of_sample = if maps.is_empty() { String::new() } else { format!(": {} of a sample", are(&maps)) };
            let digits = if one.factor() < 1.95 { 2 } else { 1 };
            let factor = format!("one in {:.digits$}", one.factor());
            match detached {
                None => {
                    let message =
                        format!("{name} ran at {ran} of {fired} firings, to keep its budget{of_sample}, {factor}");
                    say(THROTTLED, trace, one.probe, message, "counts and sums are to be multiplied by that", face)?;
                }
                Some(after_ns) => {
                    let (after, of) = (seconds(after_ns), seconds(trace.age_ns()));
                    let message = format!(
                        "{name} was detached after {after} of {of}: nothing is known of the rest; until then it ran at \
                         {ran} of {fired} firings{of_sample}, {factor}"
                    );
                    say(OVER_BUDGET, trace, one.probe, message, "no factor stands for what came after", face)?;
                }
            }
        }
        for thread in self.detaching.drain(..) {
            let _ = thread.join();
        }
        Ok(())
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

const THROTTLED_HELP: &str = "what it counts is of a sample from here on, and a time from one of its firings to a \
                              later one may span some that were left out; trace fewer events, or give it more by `--budget`";
const DETACHED_HELP: &str = "results are partial from here on: name fewer functions, or give it more by `--budget`";

fn say(code: Code, trace: &Trace, probe: u32, message: String, help: &str, face: &mut dyn Face) -> io::Result<()> {
    let span = trace.program().probes.get(probe as usize).map_or(Span::default(), |p| p.head);
    face.comes_from_here();
    face.report(&Report::Partial(&Diagnostic::warning(code, span, message).help(help)))
}

/// A probe's first place, and how many there are.
fn name(trace: &Trace, probe: u32) -> String {
    let program = trace.program();
    let of = |probe: &Probe| {
        let first = probe.names.first().and_then(|n| program.probe_names.get(*n as usize));
        let more = probe.targets.len().saturating_sub(1);
        let first = first.map_or("a probe", |name| &**name);
        if more == 0 { first.to_owned() } else { format!("{first} (and {} more)", words::grouped(more as u64)) }
    };
    program.probes.get(probe as usize).map_or_else(String::new, of)
}

fn are(maps: &[&str]) -> String {
    match maps {
        [one] => format!("{one} is"),
        [rest @ .., last] => format!("{} and {last} are", rest.join(", ")),
        [] => String::new(),
    }
}

/// What all programs of each probe took, and what the kernel needed to come to them, or to find that it has to skip them.
fn costs(trace: &Trace, stats: &TraceStats) -> BTreeMap<u32, Cost> {
    let mut costs: BTreeMap<u32, Cost> = BTreeMap::new();
    for (spec, stats) in trace.artifact().programs.iter().zip(&stats.probes) {
        let (Some(runs), Some(programs_ns)) = (stats.runs, stats.run_time_ns) else { continue };
        costs.entry(spec.probe).or_default().add(Cost::of(spec.kind, runs, programs_ns, stats.misses));
    }
    costs
}
