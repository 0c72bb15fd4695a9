//! The drain: one plain thread that empties the ring buffer in batches.
//!
//! Programs write records without waking anybody (a wake-up for each event halves the throughput);
//! the thread looks at the ring every 200 µs while there is traffic and backs off to a few
//! milliseconds when there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::sys::memory::Ring;

/// A batch is handed over when it has this many bytes.
const BATCH_BYTES: usize = 256 << 10;
/// Shortest and longest pause between two looks at the ring. The longest must be well below the
/// time that one CPU needs to fill the ring (8 MB at 400 MB/s: 20 ms).
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(4);

/// Raw records in the order in which they were reserved.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// When the batch was taken, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

impl Batch {
    /// How many records it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The records, each from its header (see `codegen::artifact::RECORD_HEADER`).
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start as usize..*end as usize])
    }

    /// Adds a record; false when the batch is full.
    pub fn push(&mut self, record: &[u8]) -> bool {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len() as u32);
        self.bytes.len() < BATCH_BYTES
    }
}

/// Takes batches in the drain thread; false ends the draining (nobody listens any more). It may
/// block: then the ring fills and the kernel counts what is lost.
pub type Sink = Box<dyn FnMut(Batch) -> bool + Send>;

/// The running thread.
#[derive(Debug)]
pub struct Drain {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    delivered: AtomicU64,
}

impl Drain {
    /// Starts draining `ring` into `sink`.
    pub fn start(ring: Ring, sink: Sink) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("drain".to_owned()).spawn(move || run(ring, sink, &theirs))?;
        Ok(Self { thread: Some(thread), shared })
    }

    /// Records handed to the sink so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Looks at the ring at once instead of after the pause.
    pub fn nudge(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Makes the thread empty the ring a last time and end; its sink is dropped then. Does not wait:
    /// whoever takes the batches must go on taking them until the sink is gone.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.nudge();
    }
}

impl Drain {
    /// Stops and waits for the thread's end.
    pub fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.join();
    }
}

fn run(mut ring: Ring, mut sink: Sink, shared: &Shared) {
    let mut pause = SHORTEST;
    loop {
        // Read before the ring: what was reported before the stop is still taken.
        let last = shared.stop.load(Ordering::Acquire);
        let mut taken = false;
        loop {
            let mut batch = Batch::default();
            ring.consume(|record| batch.push(record));
            if batch.is_empty() {
                break;
            }
            taken = true;
            let full = batch.bytes.len() >= BATCH_BYTES;
            batch.at_ns = super::monotonic_ns();
            let count = batch.len() as u64;
            if !sink(batch) {
                return;
            }
            shared.delivered.fetch_add(count, Ordering::Relaxed);
            if !full {
                break;
            }
        }
        if last && !taken {
            return;
        }
        pause = if taken { SHORTEST } else { (pause * 2).min(LONGEST) };
        if !last {
            std::thread::park_timeout(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_its_records_in_order() {
        let mut batch = Batch::default();
        assert!(batch.push(b"one"));
        assert!(batch.push(b""));
        assert!(batch.push(b"three"));
        let records: Vec<&[u8]> = batch.records().collect();
        assert_eq!(records, [&b"one"[..], b"", b"three"]);
        assert!(!batch.push(&vec![0; BATCH_BYTES]), "a full batch says so");
    }
}
