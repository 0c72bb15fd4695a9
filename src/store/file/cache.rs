//! Chunks that were read last.

use std::sync::Arc;

use crate::store::chunk::Chunk;

/// Memory of the chunks that are kept, bytes.
const MOST_BYTES: usize = 64 << 20;

/// Chunks by number, those used last in front.
#[derive(Debug, Default)]
pub struct Cache {
    chunks: Vec<(usize, Arc<Chunk>)>,
    bytes: usize,
}

impl Cache {
    /// A chunk that is kept.
    pub fn get(&mut self, number: usize) -> Option<Arc<Chunk>> {
        let at = self.chunks.iter().position(|(n, _)| *n == number)?;
        self.chunks[..=at].rotate_right(1);
        self.chunks.first().map(|(_, chunk)| Arc::clone(chunk))
    }

    /// Keeps a chunk, and drops what was not used for long.
    pub fn put(&mut self, number: usize, chunk: &Arc<Chunk>) {
        self.bytes += chunk.bytes();
        self.chunks.insert(0, (number, Arc::clone(chunk)));
        while self.bytes > MOST_BYTES && self.chunks.len() > 1 {
            self.bytes -= self.chunks.pop().map_or(0, |(_, chunk)| chunk.bytes());
        }
    }
}
