//! What latency meters have measured so far, ready to be drawn at any moment; and the meter that runs.
//!
//! The history holds all of it; what is kept here is an index of it. Figures since the start at a moment of the past are
//! read from the history again, from the last summary before that moment on.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::baseline::Baselines;
use crate::model::latency::{CpuSample, Distribution, Episode, LatencyStat, Mode, NoiseClass, Thresholds, Totals};
use crate::model::task::TaskReport;
use crate::session::update::TraceId;
use crate::store::{Chunk, Cursor, History, Payload, PayloadKind, Store, TraceInfo, TraceKind};

/// Cells of one measurement at most; the oldest are dropped.
const MOST_CELLS: usize = 60_000;
/// Episodes of one measurement at most; the shortest are dropped.
const MOST_EPISODES: usize = 2_000;
/// Reports on threads at most; the oldest are dropped.
const MOST_REPORTS: usize = 600;
/// Samples from one summary to the next.
const SUMMARY_EVERY: u32 = 64;
/// Bytes of the summaries of one measurement at most; where there are more, every other one is dropped.
const MOST_SUMMARY_BYTES: usize = 32 << 20;
/// Buckets of a cell: 2^n ns to 2^(n+1).
pub const BUCKETS: usize = 32;

/// Where a meter stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// None was asked for.
    #[default]
    Off,
    /// It is being started.
    Starting,
    /// It measures.
    Running,
    /// It was stopped.
    Ended,
    /// It cannot measure here: the reason.
    Refused(String),
}

/// The meter of this session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Its trace.
    pub trace: TraceId,
    /// Where it stands.
    pub phase: Phase,
    /// What was asked for.
    pub mode: Mode,
    /// What makes an episode.
    pub thresholds: Thresholds,
}

impl Default for Meter {
    fn default() -> Self {
        let thresholds = Thresholds { irq_ns: 500_000, thread_ns: 1_000_000, gap_ns: 1_000_000, noise_ns: 0 };
        Self { trace: TraceId::SESSION, phase: Phase::Off, mode: Mode::Passive, thresholds }
    }
}

impl Meter {
    /// Whether it measures, or is about to.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Running)
    }
}

/// Whom the session watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its trace.
    pub trace: TraceId,
    /// Where it stands.
    pub phase: Phase,
}

impl Default for Watched {
    fn default() -> Self {
        Self { trace: TraceId::SESSION, phase: Phase::Off }
    }
}

/// One CPU in one interval, as maps and sparklines draw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Which CPU.
    pub cpu: u32,
    /// When the interval began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// The longest latency: of the interrupt (or gap, or timer), of the thread, back in user space.
    pub worst_ns: [u64; 3],
    /// How the latencies were distributed, of the same three.
    pub lengths: [[u32; BUCKETS]; 3],
    /// Net time of hardware, NMIs, interrupts, softirqs, threads, and the residual.
    pub parts: [u64; 6],
}

/// The classes of [`Cell::parts`]; the residual is of none.
pub const PARTS: [Option<NoiseClass>; 6] = [
    Some(NoiseClass::Hardware),
    Some(NoiseClass::Nmi),
    Some(NoiseClass::Irq),
    Some(NoiseClass::Softirq),
    Some(NoiseClass::Thread),
    None,
];

fn buckets(lengths: &Distribution) -> [u32; BUCKETS] {
    let mut counts = [0_u32; BUCKETS];
    for (ns, times) in lengths.iter() {
        let bucket = (u64::BITS - 1).saturating_sub(ns.leading_zeros()) as usize;
        let count = &mut counts[bucket.min(BUCKETS - 1)];
        *count = count.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
    }
    counts
}

impl Cell {
    /// Of a sample.
    #[must_use]
    pub fn of(sample: &CpuSample) -> Self {
        let empty = [0; BUCKETS];
        let of = |stat: &LatencyStat| (stat.max_ns, buckets(&stat.lengths));
        let [first, second, third] = match (&sample.timer, &sample.noise, &sample.passive) {
            (Some(timer), ..) => [of(&timer.irq), of(&timer.thread), of(&timer.user)],
            (_, Some(noise), _) => [(noise.max_gap_ns, buckets(&noise.lengths)), (0, empty), (0, empty)],
            (.., Some(passive)) => [of(passive), (0, empty), (0, empty)],
            _ => [(0, empty); 3],
        };
        let net = sample.noise.as_ref().map_or(sample.net_ns, |noise| noise.net_ns);
        let hardware = sample.noise.as_ref().map_or(0, |noise| noise.hardware_ns);
        let residual = sample.noise.as_ref().map_or(0, |noise| noise.residual_ns.max(0).unsigned_abs());
        Self {
            cpu: sample.cpu,
            began_ns: sample.began_ns,
            ended_ns: sample.began_ns.saturating_add(sample.period_ns),
            worst_ns: [first.0, second.0, third.0],
            lengths: [first.1, second.1, third.1],
            parts: [hardware, net.nmi, net.irq, net.softirq, net.thread, residual],
        }
    }
}

/// One measurement.
#[derive(Debug, Default)]
pub struct Run {
    /// By the time of their end.
    pub cells: VecDeque<Cell>,
    /// By the time of their end.
    pub episodes: Vec<Arc<Episode>>,
    /// All that was measured.
    pub totals: Totals,
    /// When, and [`Self::totals`] as it was then.
    summaries: Vec<(u64, Vec<u8>)>,
    summary_bytes: usize,
    since: u32,
    /// Cells were dropped that ended until then.
    dropped_ns: u64,
}

impl Run {
    fn sample(&mut self, at_ns: u64, sample: &CpuSample) {
        // A summary stands between two intervals, of which all CPUs tell at the same time.
        if self.since >= SUMMARY_EVERY && self.cells.back().is_some_and(|last| last.began_ns < sample.began_ns) {
            self.since = 0;
            // Plain data with numbers as keys: never fails.
            let text = serde_json::to_vec(&self.totals).unwrap_or_default();
            let bytes = lz4_flex::compress_prepend_size(&text);
            self.summary_bytes += bytes.len();
            self.summaries.push((at_ns, bytes));
            if self.summary_bytes > MOST_SUMMARY_BYTES {
                let mut at = 0_usize;
                self.summaries.retain(|_| {
                    at += 1;
                    at.is_multiple_of(2)
                });
                self.summary_bytes = self.summaries.iter().map(|(_, bytes)| bytes.len()).sum();
            }
        }
        self.since += 1;
        self.totals.add(sample);
        let cell = Cell::of(sample);
        let place = self.cells.iter().rposition(|c| c.ended_ns <= cell.ended_ns).map_or(0, |at| at + 1);
        self.cells.insert(place, cell);
        if self.cells.len() > MOST_CELLS
            && let Some(oldest) = self.cells.pop_front()
        {
            self.dropped_ns = self.dropped_ns.max(oldest.ended_ns);
        }
    }

    fn episode(&mut self, episode: Arc<Episode>) {
        let place = self.episodes.partition_point(|e| e.ended_ns <= episode.ended_ns);
        self.episodes.insert(place, episode);
        if self.episodes.len() > MOST_EPISODES {
            let shortest = (0..self.episodes.len()).min_by_key(|n| self.episodes[*n].late_ns());
            shortest.map(|n| self.episodes.remove(n));
        }
    }

    /// All that was measured until a moment, with what the history has of it. `earlier` is what was found for another
    /// moment.
    fn totals_at(&self, trace: TraceId, at_ns: u64, earlier: Option<Held>, store: &Store) -> Totals {
        let summary = self.summaries.iter().rev().find(|(to_ns, _)| *to_ns <= at_ns);
        let earlier = earlier.filter(|held| held.trace == trace && held.at_ns <= at_ns);
        let (from_ns, mut totals) = match (earlier, summary) {
            (Some(held), summary) if summary.is_none_or(|(to_ns, _)| *to_ns <= held.at_ns) => {
                (held.at_ns + 1, held.totals)
            }
            (_, Some((to_ns, bytes))) => (*to_ns, unpack(bytes).unwrap_or_default()),
            (_, None) => Default::default(),
        };
        self.samples(store, trace, from_ns, at_ns, |sample| totals.add(sample));
        totals
    }

    /// Shows the samples of this measurement whose intervals ended in `from_ns..=to_ns`.
    pub fn samples(&self, store: &Store, trace: TraceId, from_ns: u64, to_ns: u64, mut each: impl FnMut(&CpuSample)) {
        if from_ns <= self.dropped_ns {
            return visit(store, trace, from_ns, to_ns, &mut each);
        }
        // Between them may be any number of entries of other traces, which nobody needs to look at.
        let first = self.cells.partition_point(|cell| cell.ended_ns < from_ns);
        let mut last_ns = None;
        for cell in self.cells.range(first..).take_while(|cell| cell.ended_ns <= to_ns) {
            if last_ns.replace(cell.ended_ns) != Some(cell.ended_ns) {
                visit(store, trace, cell.ended_ns, cell.ended_ns, &mut each);
            }
        }
    }
}

fn unpack(summary: &[u8]) -> Option<Totals> {
    serde_json::from_slice(&lz4_flex::decompress_size_prepended(summary).ok()?).ok()
}

/// Shows the samples of a trace in the history, of a stretch of time.
fn visit(store: &Store, trace: TraceId, from_ns: u64, to_ns: u64, each: &mut impl FnMut(&CpuSample)) {
    let end = to_ns.checked_add(1).map_or_else(|| store.entries().end, |ns| store.seek_time(ns));
    store.visit(store.seek_time(from_ns)..end, &mut |_, entry| {
        let head = entry.head();
        if head.kind == PayloadKind::CpuSample
            && head.trace == trace
            && let Some(Payload::CpuSample(sample)) = entry.entry().map(|e| e.payload)
        {
            each(&sample);
        }
        ControlFlow::Continue(())
    });
}

/// The figures of a moment.
#[derive(Debug)]
struct Held {
    trace: TraceId,
    at_ns: u64,
    totals: Totals,
}

/// Everything that meters have measured.
#[derive(Debug, Default)]
pub struct Measured {
    /// The one that runs, or ran last.
    pub meter: Meter,
    /// Whom the session watches, or watched last.
    pub watched: Watched,
    /// What histograms are compared with.
    pub baselines: Baselines,
    /// What was told of them, by its time.
    tasks: VecDeque<(u64, Arc<TaskReport>)>,
    runs: BTreeMap<TraceId, Run>,
    /// The figures of the moment that the views are held at.
    held: Option<Held>,
}

impl Measured {
    /// What was known of the watched threads at a moment.
    #[must_use]
    pub fn task(&self, store: &Store, cursor: Cursor) -> Option<&TaskReport> {
        let at_ns = if cursor == Cursor::Live { u64::MAX } else { store.time_at(cursor) };
        let told = self.tasks.partition_point(|(told_ns, _)| *told_ns <= at_ns).checked_sub(1)?;
        self.tasks.get(told).map(|(_, report)| &**report)
    }

    /// Whether a trace is a meter of this session, or watches for it.
    #[must_use]
    pub fn owns(&self, trace: TraceId) -> bool {
        let of = |phase: &Phase, number| *phase != Phase::Off && number == trace;
        of(&self.meter.phase, self.meter.trace) || of(&self.watched.phase, self.watched.trace)
    }

    /// Takes the entries of a chunk in.
    pub fn take(&mut self, chunk: &Chunk) {
        for (index, head) in (0..).zip(chunk.heads(0)) {
            if !matches!(head.kind, PayloadKind::CpuSample | PayloadKind::Episode | PayloadKind::Task) {
                continue;
            }
            if head.kind == PayloadKind::Task {
                if let Some(Payload::Task(report)) = chunk.entry(index).map(|entry| entry.payload) {
                    self.tasks.push_back((head.at_ns, report));
                    if self.tasks.len() > MOST_REPORTS {
                        self.tasks.pop_front();
                    }
                }
                continue;
            }
            let run = self.runs.entry(head.trace).or_default();
            match chunk.entry(index).map(|entry| entry.payload) {
                Some(Payload::CpuSample(sample)) => run.sample(head.at_ns, &sample),
                Some(Payload::Episode(episode)) => run.episode(episode),
                _ => {}
            }
        }
    }

    /// Takes all of a history in, in place of what was there.
    pub fn read(&mut self, history: &Store) {
        self.runs.clear();
        self.tasks.clear();
        if !history.traces().iter().any(|info| matches!(info.kind, TraceKind::Latency | TraceKind::Task)) {
            return;
        }
        for segment in 0..history.index().segments().len() {
            if let Some(chunk) = history.chunk(segment) {
                self.take(&chunk);
            }
        }
    }

    /// The views are held at a moment, or are not any more.
    pub fn hold(&mut self, store: &Store, cursor: Cursor) {
        let earlier = self.held.take();
        if let Cursor::At { at_ns, .. } = cursor
            && let Some((info, run)) = self.shown(store, cursor)
        {
            let totals = run.totals_at(info.id, at_ns, earlier, store);
            self.held = Some(Held { trace: info.id, at_ns, totals });
        }
    }

    /// The measurement that is shown at a moment: the newest that had begun, and had measured something if any had.
    #[must_use]
    pub fn shown<'a>(&'a self, store: &'a Store, cursor: Cursor) -> Option<(&'a Arc<TraceInfo>, &'a Run)> {
        let at_ns = if cursor == Cursor::Live { u64::MAX } else { store.time_at(cursor) };
        let meters = || store.traces().iter().filter(|info| info.kind == TraceKind::Latency);
        let begun = meters().filter(|info| info.began_ns <= at_ns).max_by_key(|info| info.began_ns);
        let info = begun.or_else(|| meters().min_by_key(|info| info.began_ns))?;
        Some((info, self.runs.get(&info.id)?))
    }

    /// The figures of a measurement since its start, until the moment that is shown.
    #[must_use]
    pub fn totals<'a>(&'a self, trace: TraceId, run: &'a Run) -> &'a Totals {
        self.held.as_ref().filter(|held| held.trace == trace).map_or(&run.totals, |held| &held.totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::{NoiseSample, TimerSample};
    use crate::store::{ChunkBuilder, Entry};

    const MS: u64 = 1_000_000;

    fn sample(n: u64) -> CpuSample {
        let mut timer = TimerSample::default();
        timer.irq.record(n * 1000);
        timer.thread.record(n * 2000);
        CpuSample { cpu: 1, began_ns: n * MS, period_ns: MS, timer: Some(timer), ..CpuSample::default() }
    }

    fn measured(many: u64) -> (Store, Measured) {
        let mut builder = ChunkBuilder::new();
        let info = Arc::new(TraceInfo { id: TraceId(3), kind: TraceKind::Latency, ..TraceInfo::default() });
        builder.declare(&info);
        for n in 1..=many {
            let payload = Payload::CpuSample(Arc::new(sample(n)));
            builder.push(&Entry { trace: TraceId(3), at_ns: (n + 1) * MS, cpu: Some(1), payload });
        }
        let (mut store, mut measured) = (Store::default(), Measured::default());
        store.declare(info);
        let chunk = builder.finish().unwrap();
        measured.take(&chunk);
        store.append(chunk);
        (store, measured)
    }

    #[test]
    fn figures_of_the_past_are_those_that_were_shown_then() {
        let (store, mut now) = measured(1000);
        for until in [1, 255, 256, 257, 600, 1000, 999, 3, 4] {
            let at_ns = (until + 1) * MS;
            now.hold(&store, Cursor::At { at_ns, entry: store.last_at(at_ns).unwrap() });
            let (info, run) = now.shown(&store, Cursor::Live).unwrap();
            let (_, then) = measured(until);
            assert_eq!(now.totals(info.id, run).cpus, then.runs[&TraceId(3)].totals.cpus, "{until}");
        }
        now.hold(&store, Cursor::Live);
        let (info, run) = now.shown(&store, Cursor::Live).unwrap();
        assert_eq!(now.totals(info.id, run).cpus[&1].timer.as_ref().unwrap().irq.count, 1000);
    }

    #[test]
    fn a_cell_has_the_worst_and_where_it_lies() {
        let cell = Cell::of(&sample(9));
        assert_eq!((cell.worst_ns, cell.ended_ns), ([9_000, 18_000, 0], 10 * MS));
        assert_eq!((cell.lengths[0][13], cell.lengths[1][14], cell.lengths[2].iter().sum::<u32>()), (1, 1, 0));
        let noise = NoiseSample { residual_ns: -5, hardware_ns: 7, ..NoiseSample::default() };
        let cell = Cell::of(&CpuSample { noise: Some(noise), ..CpuSample::default() });
        assert_eq!(cell.parts, [7, 0, 0, 0, 0, 0]);
    }
}
