//! What is known of the running trace: state, figures, rates.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::stats::{LossCause, ProbeStats, TraceStats};
use crate::session::update::{CompileFigures, TraceId};
use crate::tui::base::text::short_count;

/// Rates are taken over about this long, ns.
const WINDOW_NS: u64 = 2_000_000_000;

/// A probe that has not fired for this long is told of, ns.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Firings per second, and share of one CPU in percent, from which on a probe is told of.
const HOT_PER_SECOND: f64 = 1_000_000.0;
const HOT_PERCENT: f64 = 20.0;

/// How many points a rate's history keeps.
const HISTORY: usize = 120;

/// Where the trace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing was run yet.
    #[default]
    Idle,
    /// A text was submitted, nothing runs yet.
    Starting,
    /// Attached.
    Running,
    /// It ended or was stopped.
    Ended,
    /// It ran elsewhere, and is seen in a recording.
    Recorded,
}

/// The running trace as the user sees it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Which one runs, or ran last.
    pub id: TraceId,
    /// Where it stands.
    pub phase: Phase,
    /// A newer text was refused while the trace goes on.
    pub stale: bool,
    /// Views are frozen.
    pub paused: bool,
    /// Figures of the last successful compilation.
    pub figures: Option<CompileFigures>,
    /// The script that runs, which places of losses are in.
    pub source: Arc<str>,
    /// Attach points of the running trace.
    pub attached: u32,
    /// From the save to the last attach, ns.
    pub attach_ns: u64,
    /// The verifier's log of the last refusal.
    pub raw_log: Arc<str>,
    /// Why results are partial from some moment on, once they are.
    pub partial: Option<Arc<str>>,
    /// Latest counters.
    pub stats: Option<Arc<TraceStats>>,
    /// Counters of the last moments, oldest first, for rates.
    window: VecDeque<Arc<TraceStats>>,
    /// When the first counters came.
    first_ns: Option<u64>,
    /// Events per second, oldest first.
    pub history: VecDeque<u64>,
}

/// Rates of one probe.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ProbeRate {
    /// Runs per second.
    pub per_second: f64,
    /// Mean of the whole trace, ns.
    pub ns_per_run: f64,
    /// Share of one CPU, in percent.
    pub cpu_percent: f64,
}

impl Trace {
    /// Forgets the counters: another trace runs.
    pub fn restart(&mut self, id: TraceId) {
        self.id = id;
        self.partial = None;
        self.stats = None;
        self.window.clear();
        self.first_ns = None;
        self.history.clear();
        self.stale = false;
        self.phase = Phase::Running;
    }

    /// The trace that a stop is for: the one that runs, else the one that is being started.
    #[must_use]
    pub fn to_stop(&self, submitted: TraceId) -> TraceId {
        if self.phase == Phase::Running { self.id } else { submitted }
    }

    /// Takes new counters in.
    pub fn take(&mut self, stats: Arc<TraceStats>) {
        if let Some(last) = self.window.back() {
            let seconds = seconds(last.at_ns, stats.at_ns);
            let fresh = stats.delivered.saturating_sub(last.delivered) as f64;
            self.history.push_back(if seconds > 0.0 { (fresh / seconds) as u64 } else { 0 });
            if self.history.len() > HISTORY {
                self.history.pop_front();
            }
        }
        self.window.push_back(Arc::clone(&stats));
        while self.window.len() > 2 && self.window.get(1).is_some_and(|s| s.at_ns + WINDOW_NS <= stats.at_ns) {
            self.window.pop_front();
        }
        self.first_ns.get_or_insert(stats.at_ns);
        self.stats = Some(stats);
    }

    /// Shows counters of a moment, with those of some time before for rates.
    pub fn show(&mut self, before: Option<Arc<TraceStats>>, stats: Arc<TraceStats>) {
        self.window = before.into_iter().chain([Arc::clone(&stats)]).collect();
        self.stats = Some(stats);
    }

    fn span(&self) -> Option<(&TraceStats, &TraceStats, f64)> {
        let (first, last) = (self.window.front()?, self.window.back()?);
        let seconds = seconds(first.at_ns, last.at_ns);
        (seconds > 0.0).then_some((first, last, seconds))
    }

    /// Events per second that reach user space.
    #[must_use]
    pub fn event_rate(&self) -> Option<f64> {
        let (first, last, seconds) = self.span()?;
        Some(last.delivered.saturating_sub(first.delivered) as f64 / seconds)
    }

    /// Events that reached user space so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.stats.as_ref().map_or(0, |stats| stats.delivered)
    }

    /// From the first counters to the last ones, ns.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        let (first, last) = (self.first_ns?, self.stats.as_ref()?.at_ns);
        last.checked_sub(first).filter(|ns| *ns > 0)
    }

    /// Rates and shares say nothing any more: totals do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Ended && !self.paused
    }

    /// Kernel time of all probes so far, ns; absent when the kernel gives no run-time statistics.
    #[must_use]
    pub fn total_cost_ns(&self) -> Option<u64> {
        self.stats.as_ref()?.probes.iter().map(|p| p.run_time_ns).sum()
    }

    /// Rates of a probe by its index; absent when the kernel gives no run-time statistics.
    #[must_use]
    pub fn probe_rate(&self, index: usize) -> Option<ProbeRate> {
        let last = self.stats.as_ref()?.probes.get(index)?;
        let (runs, time) = (last.runs?, last.run_time_ns?);
        let mut rate =
            ProbeRate { ns_per_run: if runs == 0 { 0.0 } else { time as f64 / runs as f64 }, ..ProbeRate::default() };
        if let Some((first, _, seconds)) = self.span()
            && let Some(ProbeStats { runs: Some(r0), run_time_ns: Some(t0), .. }) = first.probes.get(index)
        {
            rate.per_second = runs.saturating_sub(*r0) as f64 / seconds;
            rate.cpu_percent = time.saturating_sub(*t0) as f64 / seconds / 1e7;
        }
        Some(rate)
    }

    /// Probes that have not fired although the trace runs for some seconds, by index; empty where the
    /// kernel gives no run-time statistics.
    #[must_use]
    pub fn silent(&self) -> Vec<usize> {
        let (Some(stats), Some(first)) = (&self.stats, self.first_ns) else { return Vec::new() };
        if stats.at_ns < first + PATIENCE_NS {
            return Vec::new();
        }
        let probes = stats.probes.iter().enumerate();
        probes.filter(|(_, p)| p.runs == Some(0) && p.misses == 0 && awaited(&p.name)).map(|(i, _)| i).collect()
    }

    /// The probe that costs most, by index, when it fires so often or takes so much time that the machine
    /// feels it.
    #[must_use]
    pub fn hottest(&self) -> Option<(usize, ProbeRate)> {
        let probes = self.stats.as_ref()?.probes.len();
        let rates = (0..probes).filter_map(|i| Some((i, self.probe_rate(i)?)));
        let hot = rates.filter(|(_, r)| r.per_second > HOT_PER_SECOND || r.cpu_percent > HOT_PERCENT);
        hot.max_by(|a, b| a.1.cpu_percent.total_cmp(&b.1.cpu_percent))
    }

    /// Mean kernel ns per run of all probes, and their share of one CPU in percent.
    #[must_use]
    pub fn cost(&self) -> Option<(f64, f64)> {
        let stats = self.stats.as_ref()?;
        let (mut runs, mut time, mut percent) = (0_u64, 0_u64, 0.0);
        for (index, probe) in stats.probes.iter().enumerate() {
            runs += probe.runs?;
            time += probe.run_time_ns?;
            percent += self.probe_rate(index)?.cpu_percent;
        }
        (runs > 0).then(|| (time as f64 / runs as f64, percent))
    }

    /// Events lost so far: records that found no room, values that found none in a map, and firings
    /// that the kernel skipped.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let missed = self.stats.iter().flat_map(|s| &s.probes).map(|p| p.misses);
        missed
            .chain(self.counts(|cause| !incomplete(cause) && cause != LossCause::Throttled))
            .fold(0, u64::saturating_add)
    }

    /// Firings that were left out to keep the budget.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.counts(|cause| cause == LossCause::Throttled).fold(0, u64::saturating_add)
    }

    /// Events that came with a value cut short or unreadable.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.counts(incomplete).fold(0, u64::saturating_add)
    }

    /// What the figures are a part of: firings were lost, or left out, or a probe was turned off. `None` where they are of
    /// all that happened.
    #[must_use]
    pub fn of_part(&self) -> Option<String> {
        if let Some(why) = &self.partial {
            return Some(format!("of a part: {why}"));
        }
        match (self.lost(), self.throttled()) {
            (0, 0) => None,
            (0, throttled) => Some(format!("of a sample: {} throttled", short_count(throttled as f64))),
            (lost, 0) => Some(format!("of a part: {} lost", short_count(lost as f64))),
            (lost, throttled) => Some(format!(
                "of a part: {} lost, {} throttled",
                short_count(lost as f64),
                short_count(throttled as f64)
            )),
        }
    }

    fn counts(&self, wanted: impl Fn(LossCause) -> bool) -> impl Iterator<Item = u64> {
        let losses = self.stats.iter().flat_map(|s| &s.losses);
        losses.filter(move |l| l.cause != LossCause::HistoryTrimmed && wanted(l.cause)).map(|l| l.count)
    }
}

/// True where the event was delivered, but not all of what it should have told.
#[must_use]
pub const fn incomplete(cause: LossCause) -> bool {
    use LossCause::{DivideByZero, HelperFailed, KeyAbsent, OutOfBounds, ReadFailed, Stack, Truncated};
    matches!(cause, KeyAbsent | ReadFailed | Truncated | Stack | DivideByZero | OutOfBounds | HelperFailed)
}

/// False for probes that fire once, at the script's start or end, or by a signal.
fn awaited(name: &str) -> bool {
    let kind = name.split(':').next().unwrap_or("");
    !matches!(kind, "BEGIN" | "END" | "begin" | "end" | "self")
}

fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(at_s: u64, delivered: u64, runs: u64, time: u64) -> Arc<TraceStats> {
        let probe = ProbeStats { runs: Some(runs), run_time_ns: Some(time), misses: 2, ..ProbeStats::default() };
        Arc::new(TraceStats { at_ns: at_s * 1_000_000_000, delivered, probes: vec![probe], ..TraceStats::default() })
    }

    #[test]
    fn rates_are_taken_over_the_last_moments_only() {
        let mut trace = Trace::default();
        assert_eq!(trace.event_rate(), None);
        for (second, delivered) in [(0, 0), (1, 1_000), (2, 1_100), (3, 1_200), (4, 1_300)] {
            trace.take(stats(second, delivered, delivered * 2, delivered * 100));
        }
        assert_eq!(trace.event_rate(), Some(100.0));
        let rate = trace.probe_rate(0).unwrap();
        assert!((rate.per_second - 200.0).abs() < 1e-9 && (rate.ns_per_run - 50.0).abs() < 1e-9);
        assert!((rate.cpu_percent - 0.001).abs() < 1e-9, "{rate:?}");
        assert_eq!(trace.lost(), 2);
    }

    #[test]
    fn a_probe_that_never_fires_is_told_of_after_some_seconds() {
        let mut trace = Trace::default();
        trace.take(stats(10, 0, 0, 0));
        trace.take(stats(12, 0, 0, 0));
        assert!(trace.silent().is_empty(), "it may still fire");
        let mut quiet = (*stats(14, 0, 0, 0)).clone();
        quiet.probes[0].misses = 0;
        quiet.probes.push(ProbeStats { name: "end".into(), runs: Some(0), ..ProbeStats::default() });
        trace.take(Arc::new(quiet.clone()));
        assert_eq!(trace.silent(), [0], "an end probe is not awaited");
        quiet.probes[0].runs = Some(1);
        trace.take(Arc::new(quiet));
        assert!(trace.silent().is_empty());
    }

    #[test]
    fn a_probe_that_the_machine_feels_is_told_of() {
        let mut trace = Trace::default();
        trace.take(stats(0, 0, 0, 0));
        trace.take(stats(1, 0, 900_000, 100_000_000));
        assert_eq!(trace.hottest(), None, "a tenth of a CPU");
        trace.take(stats(2, 0, 900_000, 600_000_000));
        assert_eq!(trace.hottest().map(|(i, _)| i), Some(0), "half of a CPU");
        let mut trace = Trace::default();
        trace.take(stats(0, 0, 0, 0));
        trace.take(stats(1, 0, 1_500_000, 1));
        assert_eq!(trace.hottest().map(|(i, r)| (i, r.per_second > 1e6)), Some((0, true)));
    }

    #[test]
    fn a_trace_that_is_over_has_totals_and_a_duration() {
        let mut trace = Trace { phase: Phase::Running, ..Trace::default() };
        assert_eq!((trace.duration_ns(), trace.total_cost_ns()), (None, None));
        trace.take(stats(10, 5, 10, 1_000));
        trace.take(stats(13, 500, 1_000, 70_000));
        assert!(!trace.is_over());
        trace.phase = Phase::Ended;
        assert!(trace.is_over());
        assert_eq!((trace.delivered(), trace.duration_ns()), (500, Some(3_000_000_000)));
        assert_eq!(trace.total_cost_ns(), Some(70_000));
    }

    #[test]
    fn figures_tell_what_they_are_a_part_of() {
        let mut trace = Trace::default();
        assert_eq!(trace.of_part(), None);
        trace.take(Arc::new(TraceStats { at_ns: 1, ..TraceStats::default() }));
        assert_eq!(trace.of_part(), None);
        trace.take(stats(2, 5, 10, 1_000));
        assert_eq!(trace.of_part().as_deref(), Some("of a part: 2 lost"));
        trace.partial = Some("the probe was detached".into());
        assert_eq!(trace.of_part().as_deref(), Some("of a part: the probe was detached"));
    }

    #[test]
    fn a_kernel_without_statistics_shows_no_cost() {
        let mut trace = Trace::default();
        trace.take(Arc::new(TraceStats { probes: vec![ProbeStats::default()], ..TraceStats::default() }));
        assert_eq!(trace.cost(), None);
    }
}
