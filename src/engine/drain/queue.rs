//! Batches that wait for a reader who is behind.
//!
//! A burst of a million reports is dozens of megabytes, and most of their bytes are like those of the report before:
//! all but the first batches wait compressed.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::super::reports::Reports;
use super::{BATCH_BYTES, Batch, Handed, Shared, Sink, Wait};

/// Bytes that wait at most, as they are stored: some three seconds at full speed, and more when they were compressed.
const WAITING_BYTES: usize = 128 << 20;
/// From so many waiting batches on they are compressed: a reader who is only a little behind should not wait for it.
const PLAIN_BATCHES: usize = 4;

/// Batches on their way to the sink.
pub(super) struct Queue<'a> {
    sink: Sink,
    /// Those that are complete, the oldest first.
    waiting: VecDeque<Waiting>,
    /// The one that records are added to.
    last: Batch,
    /// Bytes of all that wait.
    bytes: usize,
    shared: &'a Shared,
}

enum Waiting {
    Plain(Batch),
    Packed(Packed),
}

/// A compressed batch.
struct Packed {
    /// LZ4 blocks with their size before them: the records' bytes, and their ends.
    bytes: Vec<u8>,
    ends: Vec<u8>,
}

impl Packed {
    fn of(batch: &Batch) -> Self {
        // Lengths repeat themselves; ends don't.
        let starts = std::iter::once(&0).chain(&batch.ends);
        let lengths: Vec<u8> = starts.zip(&batch.ends).flat_map(|(start, end)| (end - start).to_le_bytes()).collect();
        let pack = lz4_flex::compress_prepend_size;
        Self { bytes: pack(&batch.bytes), ends: pack(&lengths) }
    }

    /// The batch again; none if this is not what [`Packed::of`] wrote.
    fn unpack(&self) -> Option<Batch> {
        let unpack = |bytes: &[u8]| lz4_flex::decompress_size_prepended(bytes).ok();
        let lengths = unpack(&self.ends)?;
        let mut end = 0;
        let ends = lengths.as_chunks().0.iter().map(|length| {
            end += u32::from_le_bytes(*length);
            end
        });
        Some(Batch { ends: ends.collect(), bytes: unpack(&self.bytes)? })
    }

    const fn len(&self) -> usize {
        self.bytes.len() + self.ends.len()
    }
}

impl Waiting {
    const fn bytes(&self) -> usize {
        match self {
            Self::Plain(batch) => batch.bytes.len(),
            Self::Packed(packed) => packed.len(),
        }
    }
}

impl<'a> Queue<'a> {
    pub(super) const fn new(sink: Sink, shared: &'a Shared) -> Self {
        Self { sink, waiting: VecDeque::new(), last: Batch::NONE, bytes: 0, shared }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.last.is_empty()
    }

    /// Whether more may wait.
    pub(super) const fn has_room(&self) -> bool {
        self.bytes < WAITING_BYTES
    }

    /// Takes what is in the ring, into the last batch while that has room, and adds the bytes of the ring to `taken`;
    /// true when the batch is full and the ring may have more.
    pub(super) fn fill(&mut self, ring: &mut Reports, taken: &mut usize) -> bool {
        let batch = &mut self.last;
        *taken += ring.consume(|record| batch.push(record));
        let full = batch.bytes.len() >= BATCH_BYTES;
        if full {
            self.close();
        }
        full
    }

    /// Ends the last batch.
    fn close(&mut self) {
        let batch = std::mem::take(&mut self.last);
        let closed = if self.waiting.len() < PLAIN_BATCHES {
            Waiting::Plain(batch)
        } else {
            Waiting::Packed(Packed::of(&batch))
        };
        self.bytes += closed.bytes();
        self.waiting.push_back(closed);
    }

    /// Hands batches on until the sink gives one back; with `Wait::Yes` the first one at any rate.
    /// False when nobody listens.
    pub(super) fn hand_over(&mut self, mut wait: Wait) -> bool {
        loop {
            let Some(batch) = self.next() else { return true };
            let records = batch.len() as u64;
            match (self.sink)(batch, wait) {
                Handed::Taken => {
                    self.shared.delivered.fetch_add(records, Ordering::Relaxed);
                }
                Handed::Back(batch) => {
                    self.bytes += batch.bytes.len();
                    self.waiting.push_front(Waiting::Plain(batch));
                    return true;
                }
                Handed::Gone => return false,
            }
            wait = Wait::No;
        }
    }

    /// The batch that is handed over next: the one that is being filled when no other waits.
    fn next(&mut self) -> Option<Batch> {
        let Some(waiting) = self.waiting.pop_front() else {
            return (!self.last.is_empty()).then(|| std::mem::take(&mut self.last));
        };
        self.bytes -= waiting.bytes();
        match waiting {
            Waiting::Plain(batch) => Some(batch),
            Waiting::Packed(packed) => packed.unpack(),
        }
    }

    pub(super) fn hand_over_all(&mut self) {
        while !self.is_empty() {
            if !self.hand_over(Wait::Yes) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(records: &[&[u8]]) -> Batch {
        let mut batch = Batch::default();
        for record in records {
            batch.push(record);
        }
        batch
    }

    #[test]
    fn a_batch_that_waited_compressed_is_the_same() {
        for records in [vec![], vec![&b""[..]], vec![b"one", b"", b"three"], vec![&[0; 9000][..], b"x"]] {
            let plain = batch(&records);
            let back = Packed::of(&plain).unpack().expect("what was packed");
            assert!(back.records().eq(plain.records()));
            assert_eq!(back.len(), records.len());
        }
    }

    #[test]
    fn a_reader_who_is_behind_gets_everything_in_order() {
        use std::sync::{Arc, Mutex};
        let shared = Shared::new().expect("an eventfd");
        let (open, got) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (is_open, takes) = (Arc::clone(&open), Arc::clone(&got));
        let sink: Sink = Box::new(move |batch, _| {
            if !*is_open.lock().expect("no panic") {
                return Handed::Back(batch);
            }
            takes.lock().expect("no panic").extend(batch.records().map(<[u8]>::to_vec));
            Handed::Taken
        });
        let mut queue = Queue::new(sink, &shared);
        let record = |n: u32| [&n.to_le_bytes()[..], &[0; 4092]].concat();
        for n in 0..2000_u32 {
            if !queue.last.push(&record(n)) {
                queue.close();
                assert!(queue.hand_over(Wait::No));
            }
        }
        assert!(queue.bytes < 2000 * 4096 / 4, "most wait compressed: {} bytes", queue.bytes);
        *open.lock().expect("no panic") = true;
        queue.hand_over_all();
        assert!(queue.is_empty() && queue.bytes == 0);
        assert!(got.lock().expect("no panic").iter().eq((0..2000).map(record).collect::<Vec<_>>().iter()));
    }
}
