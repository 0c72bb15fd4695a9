//! Entries one after the other: what stands in front of each payload, and how it is read again.
//!
//! A byte with the payload's kind and what differs from the entry before; the time that has passed since then; the
//! trace, the CPU and the rows where they differ from what is expected; the payload.

use std::collections::HashMap;
use std::sync::Arc;

use super::builder::Pending;
use super::chunk::{FreshMaps, Head, Parts, Restart, State};
use super::codec::payload::{self, skip_event};
use super::codec::varint::{Reader, put};
use super::codec::{Encoder, Tables};
use super::entry::{Payload, PayloadKind, TraceId};
use super::index::Summary;
use super::row::Lines;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;

/// Entries from one place to begin reading at to the next.
pub(super) const RESTART_EVERY: u32 = 64;
/// Maps and counters are written whole after so many differences.
const WHOLE_EVERY: u32 = 32;

const KIND: u8 = 0x1f;
const OTHER_TRACE: u8 = 0x20;
const OTHER_CPU: u8 = 0x40;
const OTHER_LINES: u8 = 0x80;

/// The rows that an entry of a kind has when nothing else is said.
const fn expected_lines(kind: PayloadKind) -> Lines {
    Lines { begun: kind.has_rows() as u32, continues: false }
}

/// A trace's maps and counters as they were written last, and how many differences ago they were whole.
#[derive(Default)]
struct Before {
    maps: Option<(Arc<[MapSnapshot]>, u32)>,
    stats: Option<(Arc<TraceStats>, u32)>,
}

/// Lays entries out in the order of time.
pub(super) fn lay_out(
    encoder: &mut Encoder,
    pending: &mut Vec<Pending>,
    bodies: &[u8],
    payloads: &[Payload],
    unsorted: bool,
) -> Parts {
    let mut lengths = body_lengths(pending, bodies.len());
    if unsorted {
        let mut order: Vec<u32> = (0..pending.len() as u32).collect();
        order.sort_by_key(|i| pending[*i as usize].at_ns);
        *pending = order.iter().map(|i| pending[*i as usize]).collect();
        lengths = order.iter().map(|i| lengths[*i as usize]).collect();
    }
    let mut out = Writer::new(bodies.len() + pending.len() * 6);
    let mut before: HashMap<TraceId, Before> = HashMap::new();
    for (entry, length) in pending.iter().zip(&lengths) {
        out.head(entry);
        if is_state(entry.kind) {
            let whole =
                state(encoder, before.entry(entry.trace).or_default(), &payloads[entry.body as usize], entry, &mut out);
            out.states.push(State { entry: out.entries - 1, trace: entry.trace, kind: entry.kind, whole });
        } else {
            out.data.extend_from_slice(&bodies[entry.body as usize..(entry.body + length) as usize]);
        }
    }
    let mut parts = out.parts();
    parts.fresh = fresh(&parts.states, &before);
    parts
}

/// The newest maps of each trace, with their entries.
fn fresh(states: &[State], before: &HashMap<TraceId, Before>) -> Vec<FreshMaps> {
    let of_trace = |(trace, before): (&TraceId, &Before)| {
        let last = states.iter().rfind(|s| s.trace == *trace && s.kind == PayloadKind::Maps)?;
        Some(FreshMaps { entry: last.entry, trace: *trace, maps: Arc::clone(&before.maps.as_ref()?.0) })
    };
    before.iter().filter_map(of_trace).collect()
}

const fn is_state(kind: PayloadKind) -> bool {
    matches!(kind, PayloadKind::Maps | PayloadKind::Stats)
}

/// Lengths of the bodies, in the order in which they were written.
fn body_lengths(pending: &[Pending], end: usize) -> Vec<u32> {
    let mut lengths = vec![0; pending.len()];
    let mut end = end as u32;
    for (length, entry) in lengths.iter_mut().zip(pending).rev() {
        if !is_state(entry.kind) {
            *length = end - entry.body;
            end = entry.body;
        }
    }
    lengths
}

/// Appends maps or counters; tells whether they are whole.
fn state(encoder: &mut Encoder, before: &mut Before, payload: &Payload, entry: &Pending, out: &mut Writer) -> bool {
    let mut body = vec![1];
    match payload {
        Payload::Maps(maps) => {
            let old = before.maps.take().filter(|(_, age)| *age < WHOLE_EVERY);
            body[0] = u8::from(old.is_none());
            encoder.maps(maps, old.as_ref().map_or(&[], |(o, _)| o), entry.at_ns, &mut body);
            before.maps = Some((Arc::clone(maps), old.map_or(0, |(_, age)| age + 1)));
        }
        Payload::Stats(stats) => {
            let old = before.stats.take().filter(|(_, age)| *age < WHOLE_EVERY);
            body[0] = u8::from(old.is_none());
            encoder.stats(stats, old.as_ref().map(|(o, _)| &**o), entry.at_ns, &mut body);
            before.stats = Some((Arc::clone(stats), old.map_or(0, |(_, age)| age + 1)));
        }
        _ => {}
    }
    put(&mut out.data, body.len() as u64);
    out.data.extend_from_slice(&body);
    body[0] != 0
}

/// Writes entries, notes where reading may begin, and counts.
struct Writer {
    data: Vec<u8>,
    restarts: Vec<Restart>,
    states: Vec<State>,
    summary: Summary,
    entries: u32,
    /// What the next entry is compared with.
    last: Restart,
}

impl Writer {
    fn new(bytes: usize) -> Self {
        Self {
            data: Vec::with_capacity(bytes),
            restarts: Vec::new(),
            states: Vec::new(),
            summary: Summary::default(),
            entries: 0,
            last: Restart::default(),
        }
    }

    fn head(&mut self, entry: &Pending) {
        if self.entries == 0 {
            self.last.at_ns = entry.at_ns;
        }
        if self.entries.is_multiple_of(RESTART_EVERY) {
            self.restarts.push(Restart { offset: self.data.len() as u32, ..self.last });
        }
        let cpu = cpu_code(entry.cpu);
        let (trace, lines) = (entry.trace != self.last.trace, entry.lines != expected_lines(entry.kind));
        let mut first = entry.kind as u8;
        first |= if trace { OTHER_TRACE } else { 0 };
        first |= if cpu == self.last.cpu { 0 } else { OTHER_CPU };
        first |= if lines { OTHER_LINES } else { 0 };
        self.data.push(first);
        put(&mut self.data, entry.at_ns - self.last.at_ns);
        if trace {
            put(&mut self.data, u64::from(entry.trace.0));
        }
        if cpu != self.last.cpu {
            put(&mut self.data, u64::from(cpu));
        }
        if lines {
            put(&mut self.data, u64::from(entry.lines.begun) << 1 | u64::from(entry.lines.continues));
        }
        let row = self.last.row.saturating_add(entry.lines.begun);
        self.last = Restart { offset: 0, row, at_ns: entry.at_ns, trace: entry.trace, cpu };
        self.summary.add(entry.trace, entry.at_ns, entry.kind, entry.lines.begun);
        self.entries += 1;
    }

    fn parts(self) -> Parts {
        let Self { data, restarts, states, summary, .. } = self;
        Parts { data, restarts, states, summary, fresh: Vec::new() }
    }
}

/// A CPU plus one, 0 for none.
const fn cpu_code(cpu: Option<u16>) -> u32 {
    match cpu {
        Some(cpu) => cpu as u32 + 1,
        None => 0,
    }
}

/// Reads entries one after the other.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    tables: &'a Tables,
    data: &'a [u8],
    reader: Reader<'a>,
    /// Number of the next entry.
    pub index: u32,
    /// What the next entry is compared with.
    last: Restart,
}

/// An entry as it lies there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lying<'a> {
    pub index: u32,
    pub head: Head,
    /// Rows that begin before it.
    pub row: u32,
    pub body: &'a [u8],
}

impl<'a> Walk<'a> {
    /// From a place on.
    pub fn new(tables: &'a Tables, data: &'a [u8], index: u32, from: Restart) -> Self {
        let rest = data.get(from.offset as usize..).unwrap_or(&[]);
        Self { tables, data, reader: Reader::new(rest), index, last: from }
    }

    /// What the next entry is compared with, and where it lies.
    pub fn place(&self) -> Restart {
        Restart { offset: (self.data.len() - self.reader.left()) as u32, ..self.last }
    }

    /// True when nothing is left.
    pub const fn is_done(&self) -> bool {
        self.reader.left() == 0
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Lying<'a>;

    fn next(&mut self) -> Option<Lying<'a>> {
        let r = &mut self.reader;
        let first = r.byte()?;
        let kind = *PayloadKind::ALL.get(usize::from(first & KIND))?;
        let at_ns = self.last.at_ns.checked_add(r.number()?)?;
        let trace = if first & OTHER_TRACE == 0 { self.last.trace } else { TraceId(r.small()?) };
        let cpu = if first & OTHER_CPU == 0 { self.last.cpu } else { r.small()? };
        let lines = if first & OTHER_LINES == 0 {
            expected_lines(kind)
        } else {
            let code = r.number()?;
            Lines { begun: u32::try_from(code >> 1).ok()?, continues: code & 1 != 0 }
        };
        let body = if kind == PayloadKind::Event {
            let start = self.data.len() - r.left();
            skip_event(self.tables, r)?;
            &self.data[start..self.data.len() - r.left()]
        } else {
            r.block()?
        };
        let row = self.last.row;
        self.last = Restart { offset: 0, row: row.checked_add(lines.begun)?, at_ns, trace, cpu };
        self.index += 1;
        let cpu = cpu.checked_sub(1).and_then(|cpu| u16::try_from(cpu).ok());
        let head = Head { trace, at_ns, cpu, kind, begun: lines.begun, continues: lines.continues };
        Some(Lying { index: self.index - 1, head, row, body })
    }
}

/// Reads all entries of a chunk from a file: `None` when they do not follow each other to the last byte.
pub(super) fn check(tables: &Tables, data: Vec<u8>, first_ns: u64) -> Option<Parts> {
    let mut walk = Walk::new(tables, &data, 0, Restart { at_ns: first_ns, ..Restart::default() });
    let (mut restarts, mut states, mut summary) = (Vec::new(), Vec::new(), Summary::default());
    while !walk.is_done() {
        if walk.index.is_multiple_of(RESTART_EVERY) {
            restarts.push(walk.place());
        }
        let lying = walk.next()?;
        let Head { trace, at_ns, kind, begun, .. } = lying.head;
        let weight = payload::weight(kind, lying.body)?;
        summary.add(trace, at_ns, kind, begun);
        summary.lost = summary.lost.saturating_add(weight.lost);
        summary.warnings += u32::from(weight.warning);
        if is_state(kind) {
            let whole = *lying.body.first()? != 0;
            states.push(State { entry: lying.index, trace, kind, whole });
        }
    }
    Some(Parts { data, restarts, states, summary, fresh: Vec::new() })
}
