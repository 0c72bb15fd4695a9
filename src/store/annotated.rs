//! A recording that is read where it lies, with marks that were set since it was opened.

use std::sync::Arc;

use super::chunk::Chunk;
use super::file::Recording;
use super::history::{Held, History};
use super::index::Index;
use super::merge;

/// Where a chunk is.
#[derive(Clone, Debug)]
enum Place {
    /// In the file, by its number there.
    Recorded(usize),
    /// In memory: a mark was set in it.
    Marked(Arc<Chunk>),
}

/// What marks have changed. Each takes the chunk that it falls into to memory.
#[derive(Clone, Debug)]
struct Changes {
    index: Index,
    places: Vec<Place>,
}

/// A recording and the marks set in it; the file stays as it is.
#[derive(Debug)]
pub(super) struct Annotated {
    recording: Arc<Recording>,
    changes: Option<Changes>,
    held: Held,
}

impl Annotated {
    /// A recording without marks of its own.
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording, changes: None, held: Held::default() }
    }

    /// The same, for another thread.
    pub fn snapshot(&self) -> Self {
        Self { recording: Arc::clone(&self.recording), changes: self.changes.clone(), held: Held::default() }
    }

    /// Puts a chunk of one entry into the chunk that its time falls into; false when that can't be read.
    pub fn insert(&mut self, late: &Chunk) -> bool {
        let Some(at) = merge::place_of(self.index(), late.summary().first_ns) else { return false };
        let Some(chunk) = self.chunk(at) else { return false };
        let pieces = merge::with_late(&chunk, late);
        let recording = &self.recording;
        let changes = self.changes.get_or_insert_with(|| {
            let index = recording.index().clone();
            let places = (0..index.segments().len()).map(Place::Recorded).collect();
            Changes { index, places }
        });
        changes.index.replace(at, pieces.iter().map(|piece| piece.summary().clone()));
        changes.places.splice(at..=at, pieces.into_iter().map(Place::Marked));
        self.held = Held::default();
        true
    }
}

impl History for Annotated {
    fn index(&self) -> &Index {
        self.changes.as_ref().map_or_else(|| self.recording.index(), |changes| &changes.index)
    }

    fn chunk(&self, segment: usize) -> Option<Arc<Chunk>> {
        let Some(changes) = &self.changes else { return self.recording.chunk(segment) };
        match changes.places.get(segment)? {
            Place::Recorded(at) => self.recording.chunk(*at),
            Place::Marked(chunk) => Some(Arc::clone(chunk)),
        }
    }

    fn traces(&self) -> &[Arc<super::TraceInfo>] {
        self.recording.traces()
    }

    fn held(&self) -> &Held {
        &self.held
    }
}
