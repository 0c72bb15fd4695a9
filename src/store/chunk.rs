//! Immutable runs of entries.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use super::codec::decode::Decoder;
use super::codec::payload;
use super::codec::strings::Strings;
use super::codec::values::Tag;
use super::codec::varint::{Reader, put};
use super::codec::{Shape, Tables};
use super::entry::{Entry, Payload, PayloadKind, TraceId};
use super::index::Summary;
use super::layout::{self, Lying, RESTART_EVERY, Walk};
use super::row::Lines;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;
use crate::model::value::Value;

/// What is known of an entry without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose it is.
    pub trace: TraceId,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: Option<u16>,
    /// What it is.
    pub kind: PayloadKind,
    /// Rows that begin in it.
    pub begun: u32,
    /// Its text begins in the row before, which had no line break at its end.
    pub continues: bool,
}

/// A place to begin reading at, and what the entry there is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restart {
    pub offset: u32,
    /// Rows that begin before it.
    pub row: u32,
    pub at_ns: u64,
    pub trace: TraceId,
    pub cpu: u32,
}

/// Where maps or counters are.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub entry: u32,
    pub trace: TraceId,
    pub kind: PayloadKind,
    pub whole: bool,
}

/// An entry with what is known of it besides.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub entry: Entry,
    pub lines: Lines,
    /// It is a text of a fault.
    pub error: bool,
}

/// What a chunk is made of besides its tables.
#[derive(Debug)]
pub(super) struct Parts {
    pub data: Vec<u8>,
    pub restarts: Vec<Restart>,
    pub states: Vec<State>,
    pub summary: Summary,
    pub fresh: Vec<FreshMaps>,
}

/// The newest reading of a trace's maps, as it was before it was encoded.
#[derive(Clone, Debug)]
pub struct FreshMaps {
    /// Its entry.
    pub entry: u32,
    /// Whose maps.
    pub trace: TraceId,
    /// The reading.
    pub maps: Arc<[MapSnapshot]>,
}

/// An immutable run of entries in time order.
#[derive(Debug)]
pub struct Chunk {
    summary: Summary,
    tables: Tables,
    data: Box<[u8]>,
    restarts: Box<[Restart]>,
    states: Box<[State]>,
    /// Of a chunk that was just made, until somebody takes them.
    fresh: Mutex<Vec<FreshMaps>>,
}

/// An entry in its chunk, decoded only as far as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    chunk: &'a Chunk,
    lying: Lying<'a>,
}

impl EntryRef<'_> {
    /// Its place in its chunk.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.lying.index
    }

    /// Everything but its payload.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.lying.head
    }

    /// The action that it comes from.
    #[must_use]
    pub fn action(&self) -> Option<u32> {
        payload::action(&self.chunk.tables, self.lying.head.kind, self.lying.body)
    }

    /// Whether it tells of trouble: a loss, a warning, a failure, a failed assertion.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        let kind = self.lying.head.kind;
        kind == PayloadKind::Lost || payload::weight(kind, self.lying.body).is_some_and(|w| w.warning)
    }

    /// The values of an event.
    #[must_use]
    pub fn values(&self) -> Option<Vec<Value>> {
        let event = self.lying.head.kind == PayloadKind::Event;
        event.then(|| payload::values(&self.chunk.tables, self.lying.body)).flatten().map(|(_, values)| values)
    }

    /// The whole entry; `None` when its bytes make no sense.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        let Head { trace, at_ns, cpu, kind, .. } = self.lying.head;
        let payload = match kind {
            PayloadKind::Maps => Payload::Maps(self.chunk.maps(&self.lying)?.into()),
            PayloadKind::Stats => Payload::Stats(Arc::new(self.chunk.stats(&self.lying)?)),
            _ => payload::decode(&self.chunk.tables, kind, at_ns, self.lying.body)?,
        };
        Some(Entry { trace, at_ns, cpu, payload })
    }
}

impl Chunk {
    pub(super) fn new(tables: Tables, parts: Parts) -> Self {
        let Parts { data, restarts, states, summary, fresh } = parts;
        Self {
            summary,
            tables,
            data: data.into(),
            restarts: restarts.into(),
            states: states.into(),
            fresh: Mutex::new(fresh),
        }
    }

    /// Takes the newest reading of each trace's maps, which need not be decoded then. Only the first who asks gets
    /// them, and of a chunk that was read from a file nobody does: a history does not hold them beside their bytes.
    pub fn take_fresh(&self) -> Vec<FreshMaps> {
        std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What it holds, in numbers.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// How many entries.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.summary.entries
    }

    /// True when there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.summary.entries == 0
    }

    /// Memory that it takes, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.data)
            + size_of_val(&*self.restarts)
            + size_of_val(&*self.states)
            + size_of_val(&*self.summary.traces)
            + self.tables.bytes()
    }

    /// Entries from one on, not decoded yet.
    pub fn refs(&self, from: u32) -> impl Iterator<Item = EntryRef<'_>> {
        self.walk(from).map(|lying| EntryRef { chunk: self, lying })
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, index: u32) -> Option<Entry> {
        self.refs(index).next()?.entry()
    }

    /// What is known of an entry without its payload.
    #[must_use]
    pub fn head(&self, index: u32) -> Option<Head> {
        self.heads(index).next()
    }

    /// Heads from an entry on.
    pub fn heads(&self, from: u32) -> impl Iterator<Item = Head> {
        self.walk(from).map(|lying| lying.head)
    }

    /// All entries, decoded one after the other; those whose bytes make no sense are left out.
    pub(super) fn counted(&self) -> impl Iterator<Item = Counted> {
        let mut maps: HashMap<TraceId, Arc<[MapSnapshot]>> = HashMap::new();
        let mut stats: HashMap<TraceId, Arc<TraceStats>> = HashMap::new();
        self.walk(0).filter_map(move |lying| {
            let Head { trace, at_ns, cpu, kind, .. } = lying.head;
            let payload = match kind {
                PayloadKind::Maps => {
                    let read: Arc<[_]> = self.maps_after(&lying, maps.get(&trace).map(|m| &**m))?.into();
                    maps.insert(trace, Arc::clone(&read));
                    Payload::Maps(read)
                }
                PayloadKind::Stats => {
                    let read = Arc::new(self.stats_after(&lying, stats.get(&trace).map(|s| &**s))?);
                    stats.insert(trace, Arc::clone(&read));
                    Payload::Stats(read)
                }
                _ => payload::decode(&self.tables, kind, at_ns, lying.body)?,
            };
            let lines = Lines { begun: lying.head.begun, continues: lying.head.continues };
            let error = payload::weight(kind, lying.body)?.warning;
            Some(Counted { entry: Entry { trace, at_ns, cpu, payload }, lines, error })
        })
    }

    /// Shows each reading of a trace's maps, oldest first, with its entry; each is decoded once.
    pub fn readings(
        &self,
        trace: TraceId,
        each: &mut dyn FnMut(u32, Head, &[MapSnapshot]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut before: Vec<MapSnapshot> = Vec::new();
        for state in self.states.iter().filter(|s| s.trace == trace && s.kind == PayloadKind::Maps) {
            let Some(lying) = self.walk(state.entry).next() else { break };
            let Some(maps) = self.maps_after(&lying, Some(&before)) else { continue };
            before = maps;
            each(state.entry, lying.head, &before)?;
        }
        ControlFlow::Continue(())
    }

    /// The last entry up to one that is looked for.
    pub fn last_where(&self, up_to: u32, wanted: impl Fn(&EntryRef<'_>) -> bool) -> Option<u32> {
        // From one place to begin reading at to the next, from behind.
        (0..=up_to.min(self.len().checked_sub(1)?) / RESTART_EVERY).rev().find_map(|restart| {
            let first = restart * RESTART_EVERY;
            let entries = self.refs(first).take((up_to - first).min(RESTART_EVERY - 1) as usize + 1);
            entries.filter(|e| wanted(e)).last().map(|e| e.index())
        })
    }

    /// The first entry at or after a time; their number when there is none.
    #[must_use]
    pub fn seek(&self, at_ns: u64) -> u32 {
        // The entry at a restart may itself be earlier than what it is compared with is not: begin one before.
        let restart = self.restarts.partition_point(|r| r.at_ns < at_ns).saturating_sub(1);
        let from = restart as u32 * RESTART_EVERY;
        let before = self.walk(from).take_while(|lying| lying.head.at_ns < at_ns).count();
        from + before as u32
    }

    /// The entry in which a row of this chunk begins (rows counted from 0), and which of its rows it is.
    #[must_use]
    pub fn row(&self, row: u32) -> Option<(u32, u32)> {
        let restart = self.restarts.partition_point(|r| r.row <= row).checked_sub(1)?;
        let mut walk = self.walk(restart as u32 * RESTART_EVERY);
        let found = walk.find(|lying| row < lying.row.saturating_add(lying.head.begun))?;
        Some((found.index, row - found.row))
    }

    /// Rows that begin before an entry.
    #[must_use]
    pub fn rows_before(&self, index: u32) -> u32 {
        self.walk(index).next().map_or(self.summary.lines, |lying| lying.row)
    }

    /// The last maps or counters of a trace up to an entry.
    #[must_use]
    pub fn last_state(&self, trace: TraceId, kind: PayloadKind, up_to: u32) -> Option<u32> {
        let before = &self.states[..self.states.partition_point(|s| s.entry <= up_to)];
        before.iter().rev().find(|s| s.trace == trace && s.kind == kind).map(|s| s.entry)
    }

    fn walk(&self, from: u32) -> Walk<'_> {
        let restart = (from / RESTART_EVERY) as usize;
        let Some(place) = self.restarts.get(restart) else {
            return Walk::new(&self.tables, &[], from, Restart::default());
        };
        let mut walk = Walk::new(&self.tables, &self.data, restart as u32 * RESTART_EVERY, *place);
        while walk.index < from && walk.next().is_some() {}
        walk
    }

    /// The states that one builds on, itself included, from a whole one on.
    fn chain(&self, of: &Lying<'_>) -> Option<Vec<Lying<'_>>> {
        let before = &self.states[..self.states.partition_point(|s| s.entry <= of.index)];
        let mut chain = Vec::new();
        for state in before.iter().rev().filter(|s| s.trace == of.head.trace && s.kind == of.head.kind) {
            chain.push(self.walk(state.entry).next()?);
            if state.whole {
                chain.reverse();
                return Some(chain);
            }
        }
        None
    }

    fn maps(&self, of: &Lying<'_>) -> Option<Vec<MapSnapshot>> {
        let mut maps = Vec::new();
        for lying in self.chain(of)? {
            maps = self.maps_after(&lying, Some(&maps))?;
        }
        Some(maps)
    }

    fn stats(&self, of: &Lying<'_>) -> Option<TraceStats> {
        let mut stats = None;
        for lying in self.chain(of)? {
            stats = Some(self.stats_after(&lying, stats.as_ref())?);
        }
        stats
    }

    /// Maps, when those before them are known.
    fn maps_after(&self, of: &Lying<'_>, before: Option<&[MapSnapshot]>) -> Option<Vec<MapSnapshot>> {
        let (whole, body) = of.body.split_first()?;
        let before = if *whole != 0 { &[] } else { before? };
        Decoder::new(&self.tables, body).maps(before, of.head.at_ns)
    }

    /// Counters, when those before them are known.
    fn stats_after(&self, of: &Lying<'_>, before: Option<&TraceStats>) -> Option<TraceStats> {
        let (whole, body) = of.body.split_first()?;
        let before = if *whole != 0 { None } else { Some(before?) };
        Decoder::new(&self.tables, body).stats(before, of.head.at_ns)
    }

    /// Appends the chunk as it stands in files.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Tables { strings, frames, stacks, shapes } = &self.tables;
        [strings, frames, stacks].iter().for_each(|table| table.write(out));
        put(out, shapes.len() as u64);
        for shape in shapes {
            put(out, u64::from(shape.action));
            put(out, shape.tags.len() as u64);
            shape.tags.iter().for_each(|tag| put(out, u64::from(tag.0)));
        }
        put(out, self.summary.first_ns);
        out.extend_from_slice(&self.data);
    }

    /// Reads what was written; `None` for bytes that are no chunk.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let r = &mut reader;
        let (strings, frames, stacks) = (Strings::read(r)?, Strings::read(r)?, Strings::read(r)?);
        let mut shapes = Vec::new();
        for _ in 0..r.count(2)? {
            let action = r.small()?;
            let tags = (0..r.count(1)?).map(|_| u16::try_from(r.number()?).ok().map(Tag));
            shapes.push(Shape { action, tags: tags.collect::<Option<_>>()? });
        }
        let first_ns = r.number()?;
        let data = r.bytes(r.left())?.to_vec();
        let tables = Tables { strings, frames, stacks, shapes };
        let parts = layout::check(&tables, data, first_ns)?;
        (parts.summary.entries > 0).then(|| Self::new(tables, parts))
    }
}
