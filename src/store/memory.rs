//! The history in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chunk::Chunk;
use super::entry::TraceId;
use super::history::{Held, History};
use super::index::Index;
use super::merge::Run;
use super::trace_info::TraceInfo;

/// Bytes that a store holds unless it is told otherwise.
pub const DEFAULT_BUDGET: usize = 256 << 20;

/// A bounded history: the oldest chunks are dropped, and their entries counted.
#[derive(Debug)]
pub struct Store {
    traces: Vec<Arc<TraceInfo>>,
    run: Run,
    held: Held,
    budget: usize,
    trimmed: BTreeMap<TraceId, u64>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET)
    }
}

impl Store {
    /// An empty one that holds so many bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { traces: Vec::new(), run: Run::default(), held: Held::default(), budget, trimmed: BTreeMap::new() }
    }

    /// Takes a trace in, before its first chunk; one of the same number is replaced.
    pub fn declare(&mut self, info: Arc<TraceInfo>) {
        match self.traces.iter_mut().find(|t| t.id == info.id) {
            Some(known) => *known = info,
            None => self.traces.push(info),
        }
    }

    /// Takes a chunk in at the end, joins small neighbours, and drops old ones while it is over its budget.
    ///
    /// Entries that are earlier than the last ones (of another trace, whose chunks come at other times) are put in
    /// their place.
    pub fn append(&mut self, chunk: Arc<Chunk>) {
        self.run.append(chunk);
        self.trim();
    }

    /// Bytes that it may hold.
    #[must_use]
    pub const fn budget(&self) -> usize {
        self.budget
    }

    /// Changes the bytes that it may hold.
    pub fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
        self.trim();
    }

    /// Bytes that it holds.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.run.bytes()
    }

    /// The chunks, oldest first: what a recording that begins now starts with.
    pub fn chunks(&self) -> impl Iterator<Item = &Arc<Chunk>> {
        self.run.chunks()
    }

    /// Entries that were dropped, by trace.
    #[must_use]
    pub const fn trimmed(&self) -> &BTreeMap<TraceId, u64> {
        &self.trimmed
    }

    /// Entries that were dropped, all in all.
    #[must_use]
    pub fn trimmed_entries(&self) -> u64 {
        self.run.index().entries().start
    }

    /// Forgets all entries; what they were is counted as dropped.
    pub fn clear(&mut self) {
        while self.drop_oldest() {}
    }

    fn trim(&mut self) {
        while self.run.bytes() > self.budget && self.run.index().segments().len() > 1 {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(segment) = self.run.pop_front() else { return false };
        for of in &segment.summary.traces {
            *self.trimmed.entry(of.trace).or_default() += u64::from(of.entries);
        }
        true
    }
}

impl History for Store {
    fn index(&self) -> &Index {
        self.run.index()
    }

    fn chunk(&self, segment: usize) -> Option<Arc<Chunk>> {
        self.run.chunk(segment).cloned()
    }

    fn traces(&self) -> &[Arc<TraceInfo>] {
        &self.traces
    }

    fn held(&self) -> &Held {
        &self.held
    }
}
