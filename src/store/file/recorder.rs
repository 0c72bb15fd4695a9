//! Writing a recording, on a thread of its own: whatever the disk does, the trace goes on.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::block::{self, Kind};
use super::table::{Place, Table, put_summary};
use super::{RecordingError, RecordingInfo};
use crate::disk::{Output, Readers};
use crate::store::builder::ChunkBuilder;
use crate::store::chunk::Chunk;
use crate::store::merge::coalesce;
use crate::store::trace_info::TraceInfo;
use crate::thread::{self, Rights};

/// Chunks on their way to the thread; what comes while so many wait is not written, and counted.
const WAITING: usize = 256;
/// Chunks are collected for so long, so that those of a slow trace are not written each alone.
const COLLECT: Duration = Duration::from_secs(1);
/// Collected entries are written when there are so many.
const COLLECT_ENTRIES: u64 = 64 << 10;

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder {
    path: String,
    sender: SyncSender<Arc<Chunk>>,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<(), RecordingError>>,
}

/// What the thread and its owner both see.
#[derive(Debug, Default)]
struct Shared {
    /// Traces that are not in the file yet.
    traces: Mutex<Vec<Arc<TraceInfo>>>,
    bytes: AtomicU64,
    entries: AtomicU64,
    unwritten: AtomicU64,
    failure: Mutex<Option<Arc<str>>>,
}

/// How a recording stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Bytes of the file so far.
    pub bytes: u64,
    /// Entries in it.
    pub entries: u64,
    /// Entries that came and were not written.
    pub unwritten: u64,
    /// Why nothing more is written; none while all is well.
    pub failure: Option<Arc<str>>,
}

/// A recording that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the file.
    pub bytes: u64,
    /// Entries in it.
    pub entries: u64,
    /// Entries that came and were not written.
    pub unwritten: u64,
}

impl Shared {
    fn lose(&self, chunk: &Chunk) {
        self.unwritten.fetch_add(u64::from(chunk.len()), Ordering::Relaxed);
    }
}

impl Recorder {
    /// Makes a file, or empties one, and starts to write: first what is there already.
    pub fn create(
        path: &Path,
        info: &RecordingInfo,
        traces: Vec<Arc<TraceInfo>>,
        history: Vec<Arc<Chunk>>,
    ) -> Result<Self, RecordingError> {
        let name = path.display().to_string();
        let io = |action| {
            let path = name.clone();
            move |source| RecordingError::Io { action, path, source }
        };
        let mut file = Output::growing(path, Readers::Owner).map_err(io("create"))?;
        let mut first = block::start().to_vec();
        // Plain data without maps or numbers that JSON lacks: never fails.
        let info = serde_json::to_vec(info).unwrap_or_default();
        first.extend(block::write(Kind::Info, &[], &info).unwrap_or_default());
        file.write_all(&first).map_err(io("write"))?;
        let shared = Arc::new(Shared { traces: Mutex::new(traces), ..Shared::default() });
        shared.bytes.store(first.len() as u64, Ordering::Relaxed);
        let (sender, receiver) = sync_channel(WAITING);
        let writer = Writer {
            path: name.clone(),
            at: first.len() as u64,
            file: Some(file),
            table: Table::default(),
            builder: ChunkBuilder::new(),
            shared: Arc::clone(&shared),
        };
        let thread = thread::spawn("psc-recorder", Rights::Files, move || writer.run(history, &receiver))
            .map_err(|e| RecordingError::Thread { path: name.clone(), reason: e.to_string() })?;
        Ok(Self { path: name, sender, shared, thread })
    }

    /// Adds a trace that begins now; before its first chunk.
    pub fn declare(&self, info: Arc<TraceInfo>) {
        self.shared.traces.lock().unwrap_or_else(PoisonError::into_inner).push(info);
    }

    /// Adds a chunk; never waits. What the disk is too slow for is counted.
    pub fn append(&self, chunk: Arc<Chunk>) {
        if let Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) = self.sender.try_send(chunk) {
            self.shared.lose(&chunk);
        }
    }

    /// Adds a chunk, and waits while the disk is slow: for what comes from a file and can wait.
    pub fn append_waiting(&self, chunk: Arc<Chunk>) {
        if let Err(refused) = self.sender.send(chunk) {
            self.shared.lose(&refused.0);
        }
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            entries: self.shared.entries.load(Ordering::Relaxed),
            unwritten: self.shared.unwritten.load(Ordering::Relaxed),
            failure: self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Writes what is on its way, and the index.
    pub fn finish(self) -> Result<Written, RecordingError> {
        let Self { path, sender, shared, thread } = self;
        drop(sender);
        let gone = |_| RecordingError::Thread { path, reason: "its thread has panicked".to_owned() };
        thread.join().map_err(gone)??;
        Ok(Written {
            bytes: shared.bytes.load(Ordering::Relaxed),
            entries: shared.entries.load(Ordering::Relaxed),
            unwritten: shared.unwritten.load(Ordering::Relaxed),
        })
    }
}

/// The thread's side.
struct Writer {
    path: String,
    /// Gone once writing has failed.
    file: Option<Output>,
    /// Where the next block goes.
    at: u64,
    table: Table,
    builder: ChunkBuilder,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(mut self, history: Vec<Arc<Chunk>>, chunks: &Receiver<Arc<Chunk>>) -> Result<(), RecordingError> {
        let mut failure = None;
        let mut keep = |result: Result<(), RecordingError>| {
            if let Err(error) = result {
                failure.get_or_insert(error);
            }
        };
        keep(self.write_all(history));
        let (mut waiting, mut since, mut entries) = (Vec::new(), Instant::now(), 0);
        loop {
            let patience = if waiting.is_empty() { COLLECT } else { COLLECT.saturating_sub(since.elapsed()) };
            match chunks.recv_timeout(patience) {
                Ok(chunk) => {
                    if waiting.is_empty() {
                        since = Instant::now();
                    }
                    entries += u64::from(chunk.len());
                    waiting.push(chunk);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if since.elapsed() >= COLLECT || entries >= COLLECT_ENTRIES {
                entries = 0;
                keep(self.write_all(std::mem::take(&mut waiting)));
            }
        }
        keep(self.write_all(waiting));
        keep(self.end());
        failure.map_or(Ok(()), Err)
    }

    /// Writes traces that are new, and chunks.
    fn write_all(&mut self, chunks: Vec<Arc<Chunk>>) -> Result<(), RecordingError> {
        let traces = std::mem::take(&mut *self.shared.traces.lock().unwrap_or_else(PoisonError::into_inner));
        for trace in traces {
            let text = serde_json::to_vec(&*trace).unwrap_or_default();
            match self.block(Kind::Trace, &[], &text) {
                Ok(place) => self.table.traces.extend(place),
                Err(error) => {
                    chunks.iter().for_each(|c| self.shared.lose(c));
                    return Err(error);
                }
            }
        }
        let mut chunks = coalesce(chunks, &mut self.builder).into_iter();
        while let Some(chunk) = chunks.next() {
            if let Err(error) = self.chunk(&chunk) {
                chunks.for_each(|c| self.shared.lose(&c));
                return Err(error);
            }
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: &Chunk) -> Result<(), RecordingError> {
        let (mut summary, mut content) = (Vec::new(), Vec::with_capacity(chunk.bytes()));
        put_summary(chunk.summary(), &mut summary);
        chunk.write(&mut content);
        match self.block(Kind::Chunk, &summary, &content) {
            Ok(Some(place)) => {
                self.table.chunks.push((place, chunk.summary().clone()));
                self.shared.entries.fetch_add(u64::from(chunk.len()), Ordering::Relaxed);
                Ok(())
            }
            // It is too long for any block, or nothing is written any more.
            Ok(None) => {
                self.shared.lose(chunk);
                Ok(())
            }
            Err(error) => {
                self.shared.lose(chunk);
                Err(error)
            }
        }
    }

    fn end(&mut self) -> Result<(), RecordingError> {
        self.table.unwritten = self.shared.unwritten.load(Ordering::Relaxed);
        let table = self.table.write();
        let Some(place) = self.block(Kind::Index, &[], &table)? else { return Ok(()) };
        self.write(&block::trailer(place.offset))?;
        let Some(file) = self.file.take() else { return Ok(()) };
        file.commit().map_err(|source| self.fail(source))
    }

    /// Writes a block; none when it is too long for one, or nothing is written any more.
    fn block(&mut self, kind: Kind, summary: &[u8], content: &[u8]) -> Result<Option<Place>, RecordingError> {
        if self.file.is_none() {
            return Ok(None);
        }
        let Some(block) = block::write(kind, summary, content) else { return Ok(None) };
        let place = Place { offset: self.at, length: block.len() as u64 };
        self.write(&block)?;
        Ok(Some(place))
    }

    /// Writes bytes. When that fails nothing more is written, and what is there stays: up to the last whole block.
    fn write(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Err(source) = file.write_all(bytes) {
            let _ = file.truncate(self.at);
            self.file = None;
            return Err(self.fail(source));
        }
        self.at += bytes.len() as u64;
        self.shared.bytes.store(self.at, Ordering::Relaxed);
        Ok(())
    }

    fn fail(&self, source: std::io::Error) -> RecordingError {
        let error = RecordingError::Io { action: "write", path: self.path.clone(), source };
        let said = format!("{error}: the recording ends here, tracing goes on");
        *self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(said.into());
        error
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::store::entry::Entry;

    /// Lets the thread's side write to a file, and gives what it says of its failure and what it counts.
    pub fn write_to(file: Output, path: &Path, traces: Vec<Arc<TraceInfo>>, entries: Vec<Entry>) -> (String, u64) {
        let shared = Arc::new(Shared { traces: Mutex::new(traces), ..Shared::default() });
        let (sender, receiver) = sync_channel(WAITING);
        let mut builder = ChunkBuilder::new();
        for entry in entries {
            builder.push(&entry);
            sender.send(builder.finish().unwrap()).unwrap();
        }
        drop(sender);
        let writer = Writer {
            path: path.display().to_string(),
            at: 0,
            file: Some(file),
            table: Table::default(),
            builder: ChunkBuilder::new(),
            shared: Arc::clone(&shared),
        };
        assert!(writer.run(Vec::new(), &receiver).is_err());
        let said = shared.failure.lock().unwrap().clone().unwrap_or_default();
        (said.to_string(), shared.unwritten.load(Ordering::Relaxed))
    }
}
