//! Where things lie: what is known of each chunk without looking into it.

use std::collections::VecDeque;
use std::ops::Range;

use super::entry::{PayloadKind, TraceId};

/// What is known of a chunk without looking into it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// Time of the first entry.
    pub first_ns: u64,
    /// Time of the last entry.
    pub last_ns: u64,
    /// How many entries.
    pub entries: u32,
    /// How many rows begin in it.
    pub lines: u32,
    /// Entries by [`PayloadKind`].
    pub kinds: [u32; PayloadKind::COUNT],
    /// What its [`PayloadKind::Lost`] entries add up to.
    pub lost: u64,
    /// Diagnostics that are warnings or errors, failures, and failed assertions.
    pub warnings: u32,
    /// Each trace with entries in it.
    pub traces: Vec<TraceCount>,
}

/// Entries of one trace in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceCount {
    /// Which.
    pub trace: TraceId,
    /// How many.
    pub entries: u32,
    /// Of them: events, texts and printed maps.
    pub output: u32,
    /// Of them: [`PayloadKind::Maps`].
    pub maps: u32,
    /// Of them: [`PayloadKind::Stats`].
    pub stats: u32,
}

impl TraceCount {
    /// None yet.
    #[must_use]
    pub const fn new(trace: TraceId) -> Self {
        Self { trace, entries: 0, output: 0, maps: 0, stats: 0 }
    }
}

impl Summary {
    /// How many entries of a kind.
    #[must_use]
    pub const fn count(&self, kind: PayloadKind) -> u32 {
        self.kinds[kind as usize]
    }

    /// What is known of one trace in it.
    #[must_use]
    pub fn of_trace(&self, trace: TraceId) -> Option<&TraceCount> {
        self.traces.iter().find(|t| t.trace == trace)
    }

    /// Counts one entry.
    pub(super) fn add(&mut self, trace: TraceId, at_ns: u64, kind: PayloadKind, lines: u32) {
        if self.entries == 0 {
            self.first_ns = at_ns;
        }
        self.last_ns = at_ns;
        self.entries += 1;
        self.lines = self.lines.saturating_add(lines);
        self.kinds[kind as usize] += 1;
        let at = if let Some(at) = self.traces.iter().position(|t| t.trace == trace) {
            at
        } else {
            self.traces.push(TraceCount::new(trace));
            self.traces.len() - 1
        };
        let of = &mut self.traces[at];
        of.entries += 1;
        of.output += u32::from(kind.is_output());
        of.maps += u32::from(kind == PayloadKind::Maps);
        of.stats += u32::from(kind == PayloadKind::Stats);
    }
}

/// A chunk's place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What it holds.
    pub summary: Summary,
    /// Number of its first entry.
    pub first_entry: u64,
    /// Number of the first row that begins in it.
    pub first_line: u64,
    /// The latest time in it and in all before it.
    pub latest_ns: u64,
}

/// What falls into a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bucket {
    /// Events, texts and printed maps.
    pub events: u64,
    /// Reports and values that were lost.
    pub lost: u64,
    /// Marks.
    pub marks: u32,
    /// Warnings, failures and failed assertions.
    pub warnings: u32,
}

/// All chunks of a history, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Index {
    segments: VecDeque<Segment>,
    /// Numbers of the entry and the row after the last one of what was dropped in front.
    start: (u64, u64),
}

impl Index {
    /// The chunks.
    #[must_use]
    pub const fn segments(&self) -> &VecDeque<Segment> {
        &self.segments
    }

    /// Numbers of the entries that are there.
    #[must_use]
    pub fn entries(&self) -> Range<u64> {
        let end = self.segments.back().map_or(self.start.0, |s| s.first_entry + u64::from(s.summary.entries));
        self.segments.front().map_or(self.start.0, |s| s.first_entry)..end
    }

    /// Numbers of the rows that are there.
    #[must_use]
    pub fn lines(&self) -> Range<u64> {
        let end = self.segments.back().map_or(self.start.1, |s| s.first_line + u64::from(s.summary.lines));
        self.segments.front().map_or(self.start.1, |s| s.first_line)..end
    }

    /// First and last time.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        let first = self.segments.front()?.summary.first_ns;
        Some((first, self.segments.back()?.latest_ns))
    }

    /// The chunk that holds an entry.
    #[must_use]
    pub fn of_entry(&self, entry: u64) -> Option<usize> {
        let at = self.segments.partition_point(|s| s.first_entry <= entry).checked_sub(1)?;
        let segment = &self.segments[at];
        (entry - segment.first_entry < u64::from(segment.summary.entries)).then_some(at)
    }

    /// The chunk in which a row begins.
    #[must_use]
    pub fn of_line(&self, line: u64) -> Option<usize> {
        let at = self.segments.partition_point(|s| s.first_line <= line).checked_sub(1)?;
        let segment = &self.segments[at];
        (line - segment.first_line < u64::from(segment.summary.lines)).then_some(at)
    }

    /// The first chunk that ends at or after a time; their number when there is none.
    #[must_use]
    pub fn of_time(&self, at_ns: u64) -> usize {
        self.segments.partition_point(|s| s.latest_ns < at_ns)
    }

    pub(super) fn push(&mut self, summary: Summary) {
        let (first_entry, first_line) = (self.entries().end, self.lines().end);
        let before = self.segments.back().map_or(0, |s| s.latest_ns);
        let latest_ns = before.max(summary.last_ns);
        self.segments.push_back(Segment { summary, first_entry, first_line, latest_ns });
    }

    /// Puts others in a chunk's place; the numbers of all that follow move on.
    pub(super) fn replace(&mut self, at: usize, with: impl Iterator<Item = Summary>) {
        let after = self.segments.split_off(at + 1);
        self.pop_back();
        with.chain(after.into_iter().map(|segment| segment.summary)).for_each(|summary| self.push(summary));
    }

    pub(super) fn pop_back(&mut self) {
        let Some(segment) = self.segments.pop_back() else { return };
        if self.segments.is_empty() {
            self.start = (segment.first_entry, segment.first_line);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Segment> {
        let (entry, line) = self
            .segments
            .get(1)
            .map_or_else(|| (self.entries().end, self.lines().end), |next| (next.first_entry, next.first_line));
        self.start = (entry, line);
        self.segments.pop_front()
    }
}

/// See [`super::History::timeline`].
pub(super) fn timeline(index: &Index, from_ns: u64, to_ns: u64, buckets: usize) -> Vec<Bucket> {
    let mut out = vec![Bucket::default(); buckets];
    let span = u128::from(to_ns.saturating_sub(from_ns));
    if span == 0 || buckets == 0 {
        return out;
    }
    // Bucket of a time, and where a bucket begins.
    let bucket =
        |ns: u64| (u128::from(ns.saturating_sub(from_ns)) * buckets as u128 / span).min(buckets as u128 - 1) as usize;
    let begins = |n: usize| from_ns + (n as u128 * span).div_ceil(buckets as u128) as u64;
    let first = index.of_time(from_ns);
    for segment in index.segments().range(first..) {
        let summary = &segment.summary;
        if summary.first_ns > to_ns {
            break;
        }
        if summary.last_ns < from_ns {
            continue;
        }
        let events = summary.kinds[..=PayloadKind::Print as usize].iter().map(|n| u64::from(*n)).sum();
        let marks = u64::from(summary.count(PayloadKind::Mark));
        let warnings = u64::from(summary.warnings);
        let (low, high) = (summary.first_ns, summary.last_ns);
        let length = u128::from(high - low) + 1;
        // What of a count lies before a time, rounded so that all parts add up to the whole.
        let before = |count: u64, ns: u64| {
            let done = (u128::from(ns).max(low.into()) - u128::from(low)).min(length);
            (u128::from(count) * done / length) as u64
        };
        for (n, into) in out.iter_mut().enumerate().take(bucket(high) + 1).skip(bucket(low)) {
            let start = begins(n).max(from_ns);
            let end = if n + 1 == buckets { to_ns.saturating_add(1) } else { begins(n + 1) };
            let share = |count| before(count, end) - before(count, start);
            into.events += share(events);
            into.lost += share(summary.lost);
            into.marks += share(marks) as u32;
            into.warnings += share(warnings) as u32;
        }
    }
    out
}
