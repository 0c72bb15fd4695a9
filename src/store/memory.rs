//! The history in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::annotated::Annotated;
use super::chunk::Chunk;
use super::entry::TraceId;
use super::file::Recording;
use super::history::{Held, History};
use super::index::Index;
use super::merge::Run;
use super::trace_info::TraceInfo;

/// Bytes that a store holds unless it is told otherwise.
pub const DEFAULT_BUDGET: usize = 256 << 20;
/// Recordings of at most so many bytes are taken into memory as a whole; larger ones are read where they lie.
const TAKEN_IN: u64 = 16 << 20;

/// A bounded history: the oldest chunks are dropped, and their entries counted.
#[derive(Debug)]
pub struct Store {
    traces: Vec<Arc<TraceInfo>>,
    run: Run,
    held: Held,
    budget: usize,
    trimmed: BTreeMap<TraceId, u64>,
    /// The recording that is read in place of what is in memory.
    recording: Option<Annotated>,
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
        let (traces, run, held) = (Vec::new(), Run::default(), Held::default());
        Self { traces, run, held, budget, trimmed: BTreeMap::new(), recording: None }
    }

    /// The history of a recording. A small one is taken into memory and can be added to; a larger one is read where it
    /// lies, chunk by chunk: it takes marks, and is left behind by the first trace that is added.
    #[must_use]
    pub fn of_recording(recording: Arc<Recording>) -> Self {
        if recording.bytes() > TAKEN_IN {
            return Self::reading(recording);
        }
        let mut store = Self::default();
        recording.traces().iter().for_each(|info| store.declare(Arc::clone(info)));
        for segment in 0..recording.index().segments().len() {
            if let Some(chunk) = recording.chunk(segment) {
                store.append(chunk);
            }
        }
        store
    }

    /// The history of a recording that is read where it lies, whatever its size.
    pub(super) fn reading(recording: Arc<Recording>) -> Self {
        Self { recording: Some(Annotated::new(recording)), ..Self::default() }
    }

    /// The same history as it is now, for another thread: chunks are shared.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self {
            traces: self.traces.clone(),
            run: self.run.snapshot(),
            held: Held::default(),
            budget: self.budget,
            trimmed: self.trimmed.clone(),
            recording: self.recording.as_ref().map(Annotated::snapshot),
        }
    }

    /// Whether it can be added to without leaving a recording behind.
    #[must_use]
    pub const fn takes_entries(&self) -> bool {
        self.recording.is_none()
    }

    /// Takes a trace in, before its first chunk; one of the same number is replaced.
    pub fn declare(&mut self, info: Arc<TraceInfo>) {
        self.recording = None;
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
        self.recording = None;
        self.run.append(chunk);
        self.trim();
    }

    /// Puts a chunk of one entry, a mark, among the entries of its time, however far back; false when the recording's
    /// chunk of that time can't be read.
    pub fn insert(&mut self, late: &Arc<Chunk>) -> bool {
        if let Some(recording) = &mut self.recording {
            return recording.insert(late);
        }
        self.run.insert(late);
        self.trim();
        true
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
        self.recording.as_ref().map_or_else(|| self.run.index(), History::index)
    }

    fn chunk(&self, segment: usize) -> Option<Arc<Chunk>> {
        match &self.recording {
            Some(recording) => recording.chunk(segment),
            None => self.run.chunk(segment).cloned(),
        }
    }

    fn traces(&self) -> &[Arc<TraceInfo>] {
        self.recording.as_ref().map_or(&self.traces, History::traces)
    }

    fn held(&self) -> &Held {
        self.recording.as_ref().map_or(&self.held, History::held)
    }
}
