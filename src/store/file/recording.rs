//! Reading a recording: the index first, chunks when they are asked for.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{self, HEADER, Header, Kind, START, TRAILER};
use super::cache::Cache;
use super::scan::{Gaps, scan};
use super::table::{Place, Table};
use super::{MAGIC, RecordingError, RecordingInfo, VERSION};
use crate::store::chunk::Chunk;
use crate::store::history::{Held, History};
use crate::store::index::Index;
use crate::store::trace_info::TraceInfo;

/// A recording, opened.
#[derive(Debug)]
pub struct Recording {
    file: File,
    info: RecordingInfo,
    traces: Vec<Arc<TraceInfo>>,
    places: Vec<Place>,
    index: Index,
    held: Held,
    cache: Mutex<Cache>,
    /// Chunks that could not be read.
    unreadable: Mutex<BTreeSet<usize>>,
    damage: Damage,
    bytes: u64,
}

/// What is not whole in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// It has no index: it was cut off, or its writer ended by force. What is there was found block by block.
    pub no_index: bool,
    /// Stretches that are no blocks.
    pub holes: u64,
    /// Their bytes.
    pub hole_bytes: u64,
    /// Traces whose description cannot be read.
    pub traces: u64,
    /// Chunks that were asked for and could not be read.
    pub chunks: u64,
    /// Entries that the recorder could not write.
    pub unwritten: u64,
}

impl Recording {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::read(file, &name),
            Err(source) => Err(RecordingError::Io { action: "open", path: name, source }),
        }
    }

    /// Opens what an open file holds; `name` is for messages.
    pub fn read(file: File, name: &str) -> Result<Self, RecordingError> {
        let name = name.to_owned();
        let io = |action| {
            let path = name.clone();
            move |source| RecordingError::Io { action, path, source }
        };
        let metadata = file.metadata().map_err(io("open"))?;
        if !metadata.is_file() {
            return Err(RecordingError::NoRecording { path: name });
        }
        let bytes = metadata.len();
        check_start(&file, bytes, &name)?;
        let empty = |reason| RecordingError::Empty { path: name.clone(), reason };
        let index = read_index(&file, bytes).map_err(io("read"))?;
        let no_index = index.is_none();
        let (table, gaps) = match index {
            Some(table) => (table, Gaps::default()),
            None => scan(&file, bytes).map_err(io("read"))?,
        };
        if bytes <= START as u64 {
            return Err(empty("it ends behind its first bytes"));
        }
        let info = read_json(&file, START as u64, Kind::Info).unwrap_or_default();
        let mut damage = Damage {
            no_index,
            holes: gaps.holes,
            hole_bytes: gaps.bytes,
            unwritten: table.unwritten,
            ..Damage::default()
        };
        let mut traces: Vec<Arc<TraceInfo>> = Vec::new();
        for place in &table.traces {
            match read_json::<TraceInfo>(&file, place.offset, Kind::Trace) {
                Some(trace) => {
                    traces.retain(|t| t.id != trace.id);
                    traces.push(Arc::new(trace));
                }
                None => damage.traces += 1,
            }
        }
        if table.chunks.is_empty() && traces.is_empty() {
            return Err(empty("no block in it is whole"));
        }
        let mut index = Index::default();
        let mut places = Vec::with_capacity(table.chunks.len());
        for (place, summary) in table.chunks {
            index.push(summary);
            places.push(place);
        }
        Ok(Self {
            file,
            info,
            traces,
            places,
            index,
            held: Held::default(),
            cache: Mutex::default(),
            unreadable: Mutex::default(),
            damage,
            bytes,
        })
    }

    /// What it is of.
    #[must_use]
    pub const fn info(&self) -> &RecordingInfo {
        &self.info
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is not whole in it, as far as it was looked at.
    #[must_use]
    pub fn damage(&self) -> Damage {
        let unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        Damage { chunks: unreadable.len() as u64, ..self.damage.clone() }
    }

    fn read_chunk(&self, segment: usize) -> Option<Chunk> {
        let place = self.places.get(segment)?;
        let content = read_block(&self.file, place.offset, Kind::Chunk)?;
        // What the index says of it is relied upon.
        Chunk::read(&content)
            .filter(|chunk| self.index.segments().get(segment).is_some_and(|s| s.summary == *chunk.summary()))
    }
}

impl History for Recording {
    fn index(&self) -> &Index {
        &self.index
    }

    fn chunk(&self, segment: usize) -> Option<Arc<Chunk>> {
        let cache = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chunk) = cache().get(segment) {
            return Some(chunk);
        }
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if unreadable.contains(&segment) {
            return None;
        }
        let Some(chunk) = self.read_chunk(segment).map(Arc::new) else {
            unreadable.insert(segment);
            return None;
        };
        cache().put(segment, &chunk);
        Some(chunk)
    }

    fn traces(&self) -> &[Arc<TraceInfo>] {
        &self.traces
    }

    fn held(&self) -> &Held {
        &self.held
    }
}

fn check_start(file: &File, bytes: u64, path: &str) -> Result<(), RecordingError> {
    let mut start = [0; START];
    let none = || RecordingError::NoRecording { path: path.to_owned() };
    if bytes < START as u64 {
        return Err(none());
    }
    let io = |source| RecordingError::Io { action: "read", path: path.to_owned(), source };
    file.read_exact_at(&mut start, 0).map_err(io)?;
    if &start[..8] != MAGIC {
        return Err(none());
    }
    let found = u16::from_le_bytes([start[8], start[9]]);
    if found > VERSION {
        return Err(RecordingError::Newer { path: path.to_owned(), found });
    }
    Ok(())
}

/// The index, when the file has a whole one.
fn read_index(file: &File, bytes: u64) -> io::Result<Option<Table>> {
    let mut trailer = [0; TRAILER];
    let Some(at) = bytes.checked_sub(TRAILER as u64).filter(|at| *at >= START as u64) else { return Ok(None) };
    file.read_exact_at(&mut trailer, at)?;
    let Some(offset) = block::index_at(&trailer).filter(|o| *o < at) else { return Ok(None) };
    let table = read_block(file, offset, Kind::Index).and_then(|content| Table::read(&content));
    let fits = |place: &Place| place.offset.checked_add(place.length).is_some_and(|end| end <= at);
    Ok(table.filter(|t| t.traces.iter().chain(t.chunks.iter().map(|(place, _)| place)).all(fits)))
}

/// The content of a whole block of a kind.
fn read_block(file: &File, offset: u64, kind: Kind) -> Option<Vec<u8>> {
    let mut bytes = [0; HEADER];
    file.read_exact_at(&mut bytes, offset).ok()?;
    let header = Header::read(&bytes).filter(|h| h.kind == kind)?;
    // What is not there is not made room for.
    let length = file.metadata().ok()?.len();
    offset.checked_add(header.length()).filter(|end| *end <= length)?;
    let mut summary = vec![0; header.summary as usize];
    file.read_exact_at(&mut summary, offset + HEADER as u64).ok()?;
    if !header.holds(&bytes, &summary) {
        return None;
    }
    let mut stored = vec![0; header.stored as usize];
    file.read_exact_at(&mut stored, offset + HEADER as u64 + u64::from(header.summary)).ok()?;
    header.unpack(stored)
}

fn read_json<T: serde::de::DeserializeOwned>(file: &File, offset: u64, kind: Kind) -> Option<T> {
    serde_json::from_slice(&read_block(file, offset, kind)?).ok()
}
