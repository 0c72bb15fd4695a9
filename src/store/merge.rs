//! A run of chunks that grows at its end: small neighbours are joined, and late entries put in their place.

use std::collections::VecDeque;
use std::sync::Arc;

use super::builder::{ChunkBuilder, MOST_BYTES, MOST_ENTRIES};
use super::chunk::{Chunk, Counted};
use super::entry::TraceId;
use super::index::{Index, Segment};

/// So many neighbours of one level become one of the next: each entry is encoded again a few times at most.
const FAN: usize = 8;
/// A joined chunk covers no more time, ns: what is known of chunks stays exact enough for a timeline.
const LONGEST_NS: u64 = 4_000_000_000;
/// Entries that are looked at for the place of a late one.
const REACH: usize = 4 * MOST_ENTRIES;
/// The level of chunks that are large enough.
const LARGE: u8 = u8::MAX;

/// Chunks in the order of time.
#[derive(Debug, Default)]
pub(super) struct Run {
    chunks: VecDeque<(Arc<Chunk>, u8)>,
    index: Index,
    bytes: usize,
    builder: ChunkBuilder,
}

impl Run {
    /// Takes a chunk in.
    pub fn append(&mut self, chunk: Arc<Chunk>) {
        if chunk.is_empty() {
            return;
        }
        if self.index.span().is_some_and(|(_, last)| chunk.summary().first_ns < last) {
            if chunk.len() == 1 {
                return self.insert(&chunk);
            }
            self.put_in_place(&chunk);
        } else {
            self.push(chunk, 0);
        }
        self.join();
    }

    /// Puts a chunk of one entry into the one that its time falls into, however far back.
    pub fn insert(&mut self, late: &Arc<Chunk>) {
        let first_ns = late.summary().first_ns;
        let is_last = self.index.span().is_none_or(|(_, last_ns)| last_ns <= first_ns);
        let Some((at, (chunk, _))) = place_of(&self.index, first_ns)
            .filter(|_| !is_last)
            .and_then(|at| self.chunks.get(at).map(|chunk| (at, chunk)))
        else {
            return self.append(Arc::clone(late));
        };
        let pieces = with_late(chunk, late);
        self.bytes -= chunk.bytes();
        self.index.replace(at, pieces.iter().map(|piece| piece.summary().clone()));
        let after = self.chunks.split_off(at + 1);
        self.chunks.pop_back();
        self.bytes += pieces.iter().map(|piece| piece.bytes()).sum::<usize>();
        self.chunks.extend(pieces.into_iter().map(|piece| (piece, LARGE)));
        self.chunks.extend(after);
    }

    /// The same chunks.
    pub fn snapshot(&self) -> Self {
        let builder = ChunkBuilder::default();
        Self { chunks: self.chunks.clone(), index: self.index.clone(), bytes: self.bytes, builder }
    }

    /// What is known of the chunks.
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// Memory of all chunks, bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The chunks, oldest first.
    pub fn chunks(&self) -> impl Iterator<Item = &Arc<Chunk>> {
        self.chunks.iter().map(|(chunk, _)| chunk)
    }

    /// A chunk.
    pub fn chunk(&self, segment: usize) -> Option<&Arc<Chunk>> {
        self.chunks.get(segment).map(|(chunk, _)| chunk)
    }

    /// Drops the oldest chunk, and tells what it was.
    pub fn pop_front(&mut self) -> Option<Segment> {
        let (chunk, _) = self.chunks.pop_front()?;
        self.bytes -= chunk.bytes();
        self.index.pop_front()
    }

    fn push(&mut self, chunk: Arc<Chunk>, level: u8) {
        let large = chunk.len() as usize > MOST_ENTRIES / FAN || chunk.bytes() > MOST_BYTES / FAN;
        self.bytes += chunk.bytes();
        self.index.push(chunk.summary().clone());
        self.chunks.push_back((chunk, if large { LARGE } else { level }));
    }

    fn pop_back(&mut self) -> Option<Arc<Chunk>> {
        let (chunk, _) = self.chunks.pop_back()?;
        self.bytes -= chunk.bytes();
        self.index.pop_back();
        Some(chunk)
    }

    /// Joins the last chunks while there are enough of a level.
    fn join(&mut self) {
        while let Some(first) = self.chunks.len().checked_sub(FAN) {
            let last = || self.chunks.range(first..);
            let Some((oldest, level)) = self.chunks.get(first) else { return };
            let (level, began) = (*level, oldest.summary().first_ns);
            let ends = last().map(|(c, _)| c.summary().last_ns).max().unwrap_or(0);
            let bytes: usize = last().map(|(c, _)| c.bytes()).sum();
            let fits = bytes <= MOST_BYTES && ends.saturating_sub(began) <= LONGEST_NS;
            if level == LARGE || !fits || last().any(|(_, l)| *l != level) {
                return;
            }
            let mut entries = Vec::new();
            self.chunks.range(first..).for_each(|(chunk, _)| entries.extend(chunk.counted()));
            (0..FAN).for_each(|_| drop(self.pop_back()));
            self.push_encoded(&entries, level + 1);
        }
    }

    /// Puts a chunk among the last ones, as far back as its first entry belongs.
    fn put_in_place(&mut self, chunk: &Arc<Chunk>) {
        let mut over = Vec::new();
        let mut reached = chunk.len() as usize;
        while let Some((last, _)) = self.chunks.back() {
            reached += last.len() as usize;
            if last.summary().last_ns <= chunk.summary().first_ns || reached > REACH {
                break;
            }
            over.extend(self.pop_back());
        }
        let mut entries = Vec::with_capacity(reached);
        over.iter().rev().for_each(|before| entries.extend(before.counted()));
        entries.extend(chunk.counted());
        entries.sort_by_key(|counted| counted.entry.at_ns);
        self.push_encoded(&entries, 0);
    }

    fn push_encoded(&mut self, entries: &[Counted], level: u8) {
        let mut builder = std::mem::take(&mut self.builder);
        encode(entries, &mut builder, &mut |chunk| self.push(chunk, level));
        self.builder = builder;
    }
}

/// The chunk that an entry of a time belongs into: the last one that begins by then, or the first one.
pub(super) fn place_of(index: &Index, at_ns: u64) -> Option<usize> {
    let segments = index.segments();
    let begun = segments.partition_point(|segment| segment.summary.first_ns <= at_ns);
    (!segments.is_empty()).then(|| begun.saturating_sub(1))
}

/// The entries of a chunk with late ones behind those of the same time: one chunk, or two where it was full.
pub(super) fn with_late(chunk: &Chunk, late: &Chunk) -> Vec<Arc<Chunk>> {
    let mut entries: Vec<Counted> = chunk.counted().chain(late.counted()).collect();
    entries.sort_by_key(|counted| counted.entry.at_ns);
    let (mut builder, mut pieces) = (ChunkBuilder::new(), Vec::new());
    encode(&entries, &mut builder, &mut |piece| pieces.push(piece));
    pieces
}

/// Encodes entries as chunks.
fn encode(entries: &[Counted], builder: &mut ChunkBuilder, take: &mut dyn FnMut(Arc<Chunk>)) {
    for Counted { entry, lines, error } in entries {
        builder.push_counted(entry, *lines, *error);
        if builder.is_full() {
            builder.finish().into_iter().for_each(&mut *take);
        }
    }
    builder.finish().into_iter().for_each(take);
}

/// Chunks for a file: small neighbours joined, as far as the size of a chunk allows.
pub(super) fn coalesce(chunks: Vec<Arc<Chunk>>, builder: &mut ChunkBuilder) -> Vec<Arc<Chunk>> {
    let mut out = Vec::new();
    let mut small: Vec<Arc<Chunk>> = Vec::new();
    let mut latest = 0;
    for chunk in chunks {
        let late = chunk.summary().first_ns < latest;
        latest = latest.max(chunk.summary().last_ns);
        if chunk.len() as usize > MOST_ENTRIES / FAN && !late {
            join_all(&mut small, builder, &mut out);
            out.push(chunk);
        } else {
            // A late one is put in its place among the small ones before it, or stands behind the large ones.
            small.push(chunk);
        }
    }
    join_all(&mut small, builder, &mut out);
    out
}

fn join_all(small: &mut Vec<Arc<Chunk>>, builder: &mut ChunkBuilder, out: &mut Vec<Arc<Chunk>>) {
    if small.len() < 2 {
        out.append(small);
        return;
    }
    let mut entries: Vec<Counted> = small.drain(..).flat_map(|c| c.counted().collect::<Vec<_>>()).collect();
    entries.sort_by_key(|counted| counted.entry.at_ns);
    encode(&entries, builder, &mut |chunk| out.push(chunk));
}

/// The entries of two runs of chunks in the order of time: of the first one those of traces that `keep` holds, of the
/// second one all. Each chunk goes to `take`, which tells whether more is wanted; false when it was not.
pub fn woven(
    first: impl Iterator<Item = Arc<Chunk>>,
    second: &[Arc<Chunk>],
    keep: &dyn Fn(TraceId) -> bool,
    take: &mut dyn FnMut(Arc<Chunk>) -> bool,
) -> bool {
    let all = |chunk: Arc<Chunk>| chunk.counted().collect::<Vec<_>>();
    let mut first = first.flat_map(all).filter(|counted| keep(counted.entry.trace)).peekable();
    let mut second = second.iter().cloned().flat_map(all).peekable();
    let mut builder = ChunkBuilder::new();
    loop {
        let first_comes = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => a.entry.at_ns <= b.entry.at_ns,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        let Some(Counted { entry, lines, error }) = (if first_comes { first.next() } else { second.next() }) else {
            break;
        };
        builder.push_counted(&entry, lines, error);
        if builder.is_full() && !builder.finish().is_none_or(&mut *take) {
            return false;
        }
    }
    builder.finish().is_none_or(take)
}
