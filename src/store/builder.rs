//! Making chunks.

use std::collections::HashMap;
use std::sync::Arc;

use super::chunk::Chunk;
use super::entry::{Entry, Payload, TraceId};
use super::row::{Joiner, Lines};
use super::text::write_text;
use super::trace_info::TraceInfo;
use crate::model::value::Value;

/// Entries in a chunk at most.
pub(super) const MOST_ENTRIES: usize = 16 << 10;

/// Encodes entries as they come. One for a session: it holds what all traces say, in any order of time.
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    infos: HashMap<TraceId, Arc<TraceInfo>>,
    joiner: Joiner,
    entries: Vec<(Entry, Lines)>,
    scratch: Vec<u8>,
}

impl ChunkBuilder {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a trace known, before its first entry: rows are counted by its formats.
    pub fn declare(&mut self, info: &Arc<TraceInfo>) {
        self.infos.insert(info.id, Arc::clone(info));
    }

    /// Takes an event: the same as [`Self::push`] with [`Payload::Event`], without making an entry first.
    pub fn event(&mut self, trace: TraceId, at_ns: u64, cpu: Option<u16>, action: u32, values: &[Value]) {
        self.push(&Entry { trace, at_ns, cpu, payload: Payload::Event { action, values: values.to_vec() } });
    }

    /// Takes an entry.
    pub fn push(&mut self, entry: &Entry) {
        self.scratch.clear();
        write_text(self.infos.get(&entry.trace).map(|i| &**i), entry, &mut self.scratch);
        let breaks = memchr::memchr_iter(b'\n', &self.scratch).count() as u32;
        let rest = self.scratch.last().is_some_and(|b| *b != b'\n');
        let lines = self.joiner.take(entry.trace, entry.payload.kind(), breaks, rest);
        self.entries.push((entry.clone(), lines));
    }

    /// Entries taken since the last [`Self::finish`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True when it should be finished now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= MOST_ENTRIES
    }

    /// The entries as a chunk, in time order; `None` when there are none. What comes next goes into another chunk.
    pub fn finish(&mut self) -> Option<Arc<Chunk>> {
        if self.entries.is_empty() {
            return None;
        }
        Some(Arc::new(Chunk::of(std::mem::take(&mut self.entries))))
    }
}
