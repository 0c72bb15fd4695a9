//! Reading a history, in memory or in a file.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use super::chunk::{Chunk, EntryRef, Head};
use super::entry::{Cursor, Entry, Payload, PayloadKind, TraceId};
use super::index::{Bucket, Index, Summary};
use super::row::Row;
use super::text::write_text;
use super::trace_info::TraceInfo;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;

/// A row is cut here.
const LONGEST_ROW: usize = 64 << 10;
/// Entries that are looked at for the rest of a row.
const ROW_REACH: usize = 4096;
const SECOND_NS: u64 = 1_000_000_000;

/// Where a step through the history goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Any entry with a row: an event, a loss, a mark.
    Event,
    /// A second away.
    Second,
    /// A mark.
    Mark,
    /// A loss, a warning, a failure or a failed assertion.
    Trouble,
    /// The begin or the end of a trace.
    Lifecycle,
}

/// Which way a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To later entries.
    Forward,
    /// To earlier ones.
    Back,
}

impl Stop {
    fn is_at(self, entry: &EntryRef<'_>) -> bool {
        let kind = entry.head().kind;
        match self {
            Self::Event => kind.has_rows(),
            Self::Second => true,
            Self::Mark => kind == PayloadKind::Mark,
            Self::Trouble => entry.is_trouble(),
            Self::Lifecycle => kind == PayloadKind::Lifecycle,
        }
    }

    fn is_in(self, summary: &Summary) -> bool {
        match self {
            Self::Event => PayloadKind::ALL.iter().any(|kind| kind.has_rows() && summary.count(*kind) > 0),
            Self::Second => true,
            Self::Mark => summary.count(PayloadKind::Mark) > 0,
            Self::Trouble => summary.warnings > 0 || summary.count(PayloadKind::Lost) > 0,
            Self::Lifecycle => summary.count(PayloadKind::Lifecycle) > 0,
        }
    }
}

/// State that was decoded last: panes ask for the same maps with every frame.
#[derive(Debug, Default)]
pub struct Held {
    maps: Mutex<Vec<(TraceId, u64, u64, Arc<[MapSnapshot]>)>>,
}

impl Held {
    fn maps(
        &self,
        key: (TraceId, u64, u64),
        read: impl FnOnce() -> Option<Arc<[MapSnapshot]>>,
    ) -> Option<Arc<[MapSnapshot]>> {
        let mut held = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., maps)) = held.iter().find(|(trace, entry, at, _)| (*trace, *entry, *at) == key) {
            return Some(Arc::clone(maps));
        }
        let maps = read()?;
        held.retain(|(trace, ..)| *trace != key.0);
        held.push((key.0, key.1, key.2, Arc::clone(&maps)));
        Some(maps)
    }
}

/// A history: numbered entries in the order of time, and the rows of text that they make.
///
/// Numbers count from the beginning of the session, dropped entries included. The last few may change when another
/// trace's earlier entries arrive late.
pub trait History {
    /// Where things lie.
    fn index(&self) -> &Index;

    /// A chunk by its place in the index; `None` when it cannot be read.
    fn chunk(&self, segment: usize) -> Option<Arc<Chunk>>;

    /// All traces, in the order in which they began.
    fn traces(&self) -> &[Arc<TraceInfo>];

    /// What was decoded last.
    fn held(&self) -> &Held;

    /// A trace.
    fn trace(&self, id: TraceId) -> Option<&Arc<TraceInfo>> {
        self.traces().iter().rev().find(|t| t.id == id)
    }

    /// Numbers of the entries that are there.
    fn entries(&self) -> Range<u64> {
        self.index().entries()
    }

    /// Numbers of the rows that are there.
    fn lines(&self) -> Range<u64> {
        self.index().lines()
    }

    /// First and last time.
    fn span(&self) -> Option<(u64, u64)> {
        self.index().span()
    }

    /// An entry by its number.
    fn entry(&self, number: u64) -> Option<Entry> {
        let (chunk, at) = self.place(number)?;
        chunk.entry(at)
    }

    /// What is known of an entry without its payload.
    fn head(&self, number: u64) -> Option<Head> {
        let (chunk, at) = self.place(number)?;
        chunk.head(at)
    }

    /// The chunk that holds an entry, and where in it.
    fn place(&self, entry: u64) -> Option<(Arc<Chunk>, u32)> {
        let segment = self.index().of_entry(entry)?;
        let first = self.index().segments()[segment].first_entry;
        Some((self.chunk(segment)?, (entry - first) as u32))
    }

    /// The first entry at or after a time; one past the last when there is none.
    fn seek_time(&self, at_ns: u64) -> u64 {
        let index = self.index();
        let segment = index.of_time(at_ns);
        let Some(found) = index.segments().get(segment) else { return index.entries().end };
        found.first_entry + self.chunk(segment).map_or(0, |c| u64::from(c.seek(at_ns)))
    }

    /// The last entry at or before a time.
    fn last_at(&self, at_ns: u64) -> Option<u64> {
        let after = at_ns.checked_add(1).map_or_else(|| self.entries().end, |ns| self.seek_time(ns));
        after.checked_sub(1).filter(|n| self.entries().contains(n))
    }

    /// The entry at a cursor: the last one when live, and when held the chosen one, or what stands at its time now.
    fn entry_at(&self, cursor: Cursor) -> Option<u64> {
        match cursor {
            Cursor::Live => self.entries().end.checked_sub(1).filter(|n| self.entries().contains(n)),
            Cursor::At { at_ns, entry } => match self.head(entry) {
                Some(head) if head.at_ns == at_ns => Some(entry),
                _ => self.last_at(at_ns).or_else(|| Some(self.entries().start).filter(|n| self.entries().contains(n))),
            },
        }
    }

    /// The time of a cursor: the last one when live.
    fn time_at(&self, cursor: Cursor) -> u64 {
        match cursor {
            Cursor::Live => self.span().map_or(0, |(_, last)| last),
            Cursor::At { at_ns, .. } => at_ns,
        }
    }

    /// A cursor that holds an entry.
    fn cursor(&self, entry: u64) -> Option<Cursor> {
        Some(Cursor::At { at_ns: self.head(entry)?.at_ns, entry })
    }

    /// The next entry of a kind, seen from an entry.
    fn step(&self, from: u64, stop: Stop, direction: Direction) -> Option<u64> {
        if stop == Stop::Second {
            let at_ns = self.head(from)?.at_ns;
            return match direction {
                Direction::Forward => Some(self.seek_time(at_ns.saturating_add(SECOND_NS))),
                Direction::Back => self.last_at(at_ns.saturating_sub(SECOND_NS)).or(Some(self.entries().start)),
            }
            .filter(|n| self.entries().contains(n) && *n != from);
        }
        let index = self.index();
        let segments = index.segments();
        match direction {
            Direction::Forward => {
                let after = (from + 1).max(index.entries().start);
                for (segment, at) in segments.iter().enumerate().skip(index.of_entry(after)?) {
                    if !stop.is_in(&at.summary) {
                        continue;
                    }
                    let first = at.first_entry;
                    let Some(chunk) = self.chunk(segment) else { continue };
                    let skip = after.saturating_sub(first) as u32;
                    if let Some(at) = chunk.refs(skip).position(|e| stop.is_at(&e)) {
                        return Some(first + u64::from(skip) + at as u64);
                    }
                }
            }
            Direction::Back => {
                let before = from.min(index.entries().end).checked_sub(1)?;
                for segment in (0..=index.of_entry(before)?).rev() {
                    if !stop.is_in(&segments[segment].summary) {
                        continue;
                    }
                    let first = segments[segment].first_entry;
                    let Some(chunk) = self.chunk(segment) else { continue };
                    let up_to = u32::try_from(before - first).unwrap_or(u32::MAX);
                    if let Some(at) = chunk.last_where(up_to, |e| stop.is_at(e)) {
                        return Some(first + u64::from(at));
                    }
                }
            }
        }
        None
    }

    /// A row by its number.
    fn line_at(&self, number: u64) -> Option<Row> {
        let index = self.index();
        let segment = index.of_line(number)?;
        let at = &index.segments()[segment];
        let chunk = self.chunk(segment)?;
        let (entry, part) = chunk.row((number - at.first_line) as u32)?;
        let (first_entry, mut text) = (at.first_entry, Vec::new());
        let head = chunk.head(entry)?;
        let whole = chunk.entry(entry)?;
        write_text(self.trace(head.trace).map(|t| &**t), &whole, &mut text);
        let piece = part as usize + usize::from(head.continues);
        let start = piece
            .checked_sub(1)
            .map_or(0, |n| memchr::memchr_iter(b'\n', &text).nth(n).map_or(text.len(), |at| at + 1));
        text.drain(..start);
        let number_of_entry = first_entry + u64::from(entry);
        match memchr::memchr(b'\n', &text) {
            Some(end) => text.truncate(end),
            None => self.rest_of_row(number_of_entry, head.trace, &mut text),
        }
        text.truncate(LONGEST_ROW);
        Some(Row {
            number,
            entry: number_of_entry,
            part,
            trace: head.trace,
            at_ns: head.at_ns,
            cpu: head.cpu,
            kind: head.kind,
            action: whole.payload.action(),
            text,
        })
    }

    /// Appends what the trace's next entries add to a row without an end.
    fn rest_of_row(&self, entry: u64, trace: TraceId, text: &mut Vec<u8>) {
        let mut looked = 0;
        let mut next = entry + 1;
        let mut more = Vec::new();
        while let Some((chunk, from)) = self.place(next) {
            for (at, head) in (from..).zip(chunk.heads(from)) {
                looked += 1;
                if looked > ROW_REACH || text.len() > LONGEST_ROW {
                    return;
                }
                if head.trace != trace || !head.kind.is_output() || (!head.continues && head.begun == 0) {
                    continue;
                }
                if !head.continues {
                    return;
                }
                let Some(whole) = chunk.entry(at) else { return };
                more.clear();
                write_text(self.trace(trace).map(|t| &**t), &whole, &mut more);
                let end = memchr::memchr(b'\n', &more);
                text.extend_from_slice(&more[..end.unwrap_or(more.len())]);
                if end.is_some() {
                    return;
                }
            }
            looked += 1;
            next += u64::from(chunk.len().saturating_sub(from)).max(1);
        }
    }

    /// The number of the first row that begins in an entry, or after it where none does.
    fn line_of(&self, entry: u64) -> u64 {
        let index = self.index();
        let Some(segment) = index.of_entry(entry) else { return index.lines().end };
        let at = &index.segments()[segment];
        let within = (entry - at.first_entry) as u32;
        at.first_line + self.chunk(segment).map_or(0, |c| u64::from(c.rows_before(within)))
    }

    /// Shows each entry of a range until told to stop; it is decoded only as far as it is asked for.
    fn visit(&self, range: Range<u64>, each: &mut dyn FnMut(u64, EntryRef<'_>) -> ControlFlow<()>) {
        let mut next = range.start.max(self.entries().start);
        while next < range.end {
            let Some(segment) = self.index().of_entry(next) else { return };
            let at = &self.index().segments()[segment];
            let end = at.first_entry + u64::from(at.summary.entries);
            if let Some(chunk) = self.chunk(segment) {
                for (number, entry) in (next..end.min(range.end)).zip(chunk.refs((next - at.first_entry) as u32)) {
                    if each(number, entry).is_break() {
                        return;
                    }
                }
            }
            next = end;
        }
    }

    /// Shows every reading of a trace's maps in a stretch of time, oldest first, with its entry, until told to stop.
    fn readings(&self, trace: TraceId, span: Range<u64>, each: &mut dyn FnMut(u64, &[MapSnapshot]) -> ControlFlow<()>) {
        let index = self.index();
        for segment in index.of_time(span.start)..index.segments().len() {
            let at = &index.segments()[segment];
            if at.summary.first_ns >= span.end {
                return;
            }
            if at.summary.of_trace(trace).is_none_or(|t| t.maps == 0) {
                continue;
            }
            let first = at.first_entry;
            let Some(chunk) = self.chunk(segment) else { continue };
            let shown = chunk.readings(trace, &mut |entry, head, maps| {
                if head.at_ns >= span.end {
                    return ControlFlow::Break(());
                }
                if head.at_ns < span.start { ControlFlow::Continue(()) } else { each(first + u64::from(entry), maps) }
            });
            if shown.is_break() {
                return;
            }
        }
    }

    /// The newest maps or counters that a trace has at a time.
    fn newest(&self, trace: TraceId, kind: PayloadKind, at_ns: u64) -> Option<u64> {
        let last = self.last_at(at_ns)?;
        let segments = self.index().segments();
        for segment in (0..=self.index().of_entry(last)?).rev() {
            let at = &segments[segment];
            let held = at.summary.of_trace(trace).map_or(0, |t| match kind {
                PayloadKind::Maps => t.maps,
                PayloadKind::Stats => t.stats,
                _ => 0,
            });
            if held == 0 {
                continue;
            }
            let up_to = u32::try_from(last - at.first_entry).unwrap_or(u32::MAX);
            if let Some(entry) = self.chunk(segment).and_then(|c| c.last_state(trace, kind, up_to)) {
                return Some(at.first_entry + u64::from(entry));
            }
        }
        None
    }

    /// The maps of a trace as they were last read at a time.
    fn maps_at(&self, trace: TraceId, at_ns: u64) -> Option<Arc<[MapSnapshot]>> {
        let number = self.newest(trace, PayloadKind::Maps, at_ns)?;
        let read_ns = self.head(number)?.at_ns;
        self.held().maps((trace, number, read_ns), || match self.entry(number)?.payload {
            Payload::Maps(maps) => Some(maps),
            _ => None,
        })
    }

    /// The counters of a trace as they were last read at a time.
    fn stats_at(&self, trace: TraceId, at_ns: u64) -> Option<Arc<TraceStats>> {
        match self.entry(self.newest(trace, PayloadKind::Stats, at_ns)?)?.payload {
            Payload::Stats(stats) => Some(stats),
            _ => None,
        }
    }

    /// What falls into each of so many equal stretches of `from_ns..to_ns`, from what is known of whole chunks: each
    /// one's entries are spread evenly over its time.
    fn timeline(&self, from_ns: u64, to_ns: u64, buckets: usize) -> Vec<Bucket> {
        super::index::timeline(self.index(), from_ns, to_ns, buckets)
    }
}
