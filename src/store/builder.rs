//! Making chunks.

use std::sync::Arc;

use super::breaks::Breaks;
use super::chunk::Chunk;
use super::codec::Encoder;
use super::codec::payload::Weight;
use super::entry::{Entry, Payload, PayloadKind, TraceId};
use super::layout;
use super::row::{Joiner, Lines};
use super::text::write_text;
use super::trace_info::{ActionKind, TraceInfo};
use crate::model::value::Value;

/// Entries in a chunk at most.
pub(super) const MOST_ENTRIES: usize = 16 << 10;
/// A chunk with more bytes takes no further entries.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// Maps and counters in a chunk at most: they are only looked at when the chunk is finished.
const MOST_STATES: usize = 256;

/// Encodes entries as they come. One for a session: it holds what all traces say, in any order of time.
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    traces: Vec<Known>,
    /// The trace that spoke last, which is often the next one.
    last: usize,
    joiner: Joiner,
    encoder: Encoder,
    /// Encoded payloads, one after the other.
    bodies: Vec<u8>,
    pending: Vec<Pending>,
    /// Maps and counters, encoded at the end because they differ from those before them in time.
    states: Vec<Payload>,
    weight: Weight,
    warnings: u32,
    /// No entry is earlier than the one before.
    unsorted: bool,
    scratch: Vec<u8>,
}

/// An entry whose payload is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub at_ns: u64,
    pub trace: TraceId,
    /// Where its payload begins among the bodies; for maps and counters which of the states it is.
    pub body: u32,
    pub lines: Lines,
    pub cpu: Option<u16>,
    pub kind: PayloadKind,
}

/// A trace that was declared.
#[derive(Debug)]
struct Known {
    info: Arc<TraceInfo>,
    breaks: Vec<Breaks>,
}

impl ChunkBuilder {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a trace known, before its first entry: rows are counted by its formats.
    pub fn declare(&mut self, info: &Arc<TraceInfo>) {
        let breaks = info.actions.iter().map(|a| Breaks::of(Some(&a.kind))).collect();
        let known = Known { info: Arc::clone(info), breaks };
        match self.traces.iter_mut().find(|k| k.info.id == info.id) {
            Some(old) => *old = known,
            None => self.traces.push(known),
        }
    }

    /// Takes an event: the same as [`Self::push`] with [`Payload::Event`], without making an entry first.
    pub fn event(&mut self, trace: TraceId, at_ns: u64, cpu: Option<u16>, action: u32, values: &[Value]) {
        let known = self.known(trace);
        let breaks = known.and_then(|k| self.traces[k].breaks.get(action as usize)).unwrap_or(&Breaks::Values);
        let counted = breaks.count(values, &mut self.encoder);
        let (breaks, rest) = counted.unwrap_or_else(|| {
            let payload = Payload::Event { action, values: values.to_vec() };
            self.count(&Entry { trace, at_ns, cpu, payload })
        });
        let lines = self.joiner.take(trace, PayloadKind::Event, breaks, rest);
        self.encoded_event(trace, at_ns, cpu, (action, values), lines);
    }

    /// Takes an entry.
    pub fn push(&mut self, entry: &Entry) {
        if let Payload::Event { action, values } = &entry.payload {
            return self.event(entry.trace, entry.at_ns, entry.cpu, *action, values);
        }
        let (breaks, rest) = self.count(entry);
        let lines = self.joiner.take(entry.trace, entry.payload.kind(), breaks, rest);
        let error = entry.payload.action().is_some_and(|action| self.is_error(entry.trace, action));
        self.push_counted(entry, lines, error);
    }

    /// Takes an entry whose rows are known; `error` tells that it is a text of a fault.
    pub(super) fn push_counted(&mut self, entry: &Entry, lines: Lines, error: bool) {
        let Entry { trace, at_ns, cpu, payload } = entry;
        match payload {
            Payload::Event { action, values } => {
                self.encoded_event(*trace, *at_ns, *cpu, (*action, values), lines);
            }
            Payload::Maps(_) | Payload::Stats(_) => {
                self.add(*trace, *at_ns, *cpu, payload.kind(), self.states.len(), lines);
                self.states.push(payload.clone());
            }
            _ => {
                self.add(*trace, *at_ns, *cpu, payload.kind(), self.bodies.len(), lines);
                let weight = self.encoder.payload(payload, *at_ns, error, &mut self.bodies);
                self.weight.lost = self.weight.lost.saturating_add(weight.lost);
                self.warnings += u32::from(weight.warning);
            }
        }
    }

    fn encoded_event(
        &mut self,
        trace: TraceId,
        at_ns: u64,
        cpu: Option<u16>,
        (action, values): (u32, &[Value]),
        lines: Lines,
    ) {
        self.add(trace, at_ns, cpu, PayloadKind::Event, self.bodies.len(), lines);
        self.encoder.event(action, values, &mut self.bodies);
    }

    fn add(&mut self, trace: TraceId, at_ns: u64, cpu: Option<u16>, kind: PayloadKind, body: usize, lines: Lines) {
        self.unsorted |= self.pending.last().is_some_and(|p| p.at_ns > at_ns);
        self.pending.push(Pending { at_ns, trace, body: body as u32, lines, cpu, kind });
    }

    /// Where a trace is among those that were declared.
    fn known(&mut self, trace: TraceId) -> Option<usize> {
        if self.traces.get(self.last).is_none_or(|k| k.info.id != trace) {
            self.last = self.traces.iter().position(|k| k.info.id == trace)?;
        }
        Some(self.last)
    }

    fn is_error(&mut self, trace: TraceId, action: u32) -> bool {
        let action = self.known(trace).and_then(|k| self.traces[k].info.action(action));
        action.is_some_and(|a| a.kind == ActionKind::RuntimeError)
    }

    /// Line breaks of an entry's text, and whether something follows the last one.
    fn count(&mut self, entry: &Entry) -> (u32, bool) {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        let info = self.known(entry.trace).map(|k| &*self.traces[k].info);
        write_text(info, entry, &mut text);
        let breaks = memchr::memchr_iter(b'\n', &text).count() as u32;
        let rest = text.last().is_some_and(|b| *b != b'\n');
        self.scratch = text;
        (breaks, rest)
    }

    /// Entries taken since the last [`Self::finish`].
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pending.len()
    }

    /// True when there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// True when it should be finished now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pending.len() >= MOST_ENTRIES
            || self.states.len() >= MOST_STATES
            || self.bodies.len() + self.encoder.bytes() >= MOST_BYTES
    }

    /// The entries as a chunk, in time order; `None` when there are none. What comes next goes into another chunk.
    pub fn finish(&mut self) -> Option<Arc<Chunk>> {
        if self.pending.is_empty() {
            return None;
        }
        let mut parts = layout::lay_out(
            &mut self.encoder,
            &mut self.pending,
            &self.bodies,
            &self.states,
            std::mem::take(&mut self.unsorted),
        );
        parts.summary.lost = std::mem::take(&mut self.weight).lost;
        parts.summary.warnings = std::mem::take(&mut self.warnings);
        self.pending.clear();
        self.bodies.clear();
        self.states.clear();
        Some(Arc::new(Chunk::new(self.encoder.take(), parts)))
    }
}
