//! Blocks: what a file is made of behind its first bytes.
//!
//! A header of fixed size, a summary that is readable without the rest, and the content, compressed where that makes
//! it shorter. One checksum covers the header and the summary, another one the content.

use super::{MAGIC, VERSION};

/// What each header begins with.
pub const MARKER: [u8; 4] = *b"PBLK";
/// Bytes of a header.
pub const HEADER: usize = 28;
/// Bytes at the beginning of a file: magic, version, and room for later.
pub const START: usize = 16;
/// Bytes at the end of a whole file.
pub const TRAILER: usize = 24;
const TRAILER_MAGIC: &[u8; 8] = b"PSEND\r\n\x1a";
/// No block is longer, as it stands or unpacked.
pub const LONGEST: u32 = 64 << 20;
/// A summary is no longer.
pub const LONGEST_SUMMARY: u32 = 64 << 10;
/// LZ4 makes nothing shorter than by this factor.
const BEST_RATIO: u64 = 255;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// [`super::RecordingInfo`] as JSON.
    Info = 1,
    /// [`crate::store::TraceInfo`] as JSON.
    Trace = 2,
    /// A chunk; its summary stands in front.
    Chunk = 3,
    /// The index.
    Index = 4,
    /// Something that a later version writes.
    Other = 255,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub kind: Kind,
    /// The content is compressed.
    packed: bool,
    /// Bytes of the summary.
    pub summary: u32,
    /// Bytes of the content as it stands.
    pub stored: u32,
    /// Bytes of the content.
    raw: u32,
    /// Checksum of the content as it stands.
    content_crc: u32,
    /// Checksum of what stands before it in the header, and of the summary.
    crc: u32,
}

impl Header {
    /// Reads a header; `None` when these bytes are none, or lie about lengths.
    pub fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[..4] != MARKER {
            return None;
        }
        let kind = match bytes[4] {
            1 => Kind::Info,
            2 => Kind::Trace,
            3 => Kind::Chunk,
            4 => Kind::Index,
            _ => Kind::Other,
        };
        let header = Self {
            kind,
            packed: bytes[5] & 1 != 0,
            summary: word(8),
            stored: word(12),
            raw: word(16),
            content_crc: word(20),
            crc: word(24),
        };
        let Self { packed, summary, stored, raw, .. } = header;
        let fits = if packed { u64::from(raw) <= u64::from(stored) * BEST_RATIO + 64 } else { raw == stored };
        (summary <= LONGEST_SUMMARY && stored <= LONGEST && raw <= LONGEST && fits).then_some(header)
    }

    /// Whether the header's bytes and the summary are as they were written.
    pub fn holds(&self, bytes: &[u8; HEADER], summary: &[u8]) -> bool {
        checksum(&[&bytes[..HEADER - 4], summary]) == self.crc
    }

    /// Bytes of the whole block.
    pub const fn length(&self) -> u64 {
        HEADER as u64 + self.summary as u64 + self.stored as u64
    }

    /// The content unpacked; `None` when it is damaged.
    pub fn unpack(&self, stored: Vec<u8>) -> Option<Vec<u8>> {
        if checksum(&[&stored]) != self.content_crc {
            return None;
        }
        if !self.packed {
            return Some(stored);
        }
        let content = lz4_flex::block::decompress(&stored, self.raw as usize).ok()?;
        (content.len() == self.raw as usize).then_some(content)
    }
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// A whole block; `None` when its content is too long for one.
pub fn write(kind: Kind, summary: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    let raw = u32::try_from(content.len()).ok().filter(|n| *n <= LONGEST)?;
    let summary_length = u32::try_from(summary.len()).ok().filter(|n| *n <= LONGEST_SUMMARY)?;
    let packed = lz4_flex::block::compress(content);
    let (content, is_packed) = if packed.len() < content.len() { (&packed[..], true) } else { (content, false) };
    let mut block = Vec::with_capacity(HEADER + summary.len() + content.len());
    block.extend_from_slice(&MARKER);
    block.extend_from_slice(&[kind as u8, u8::from(is_packed), 0, 0]);
    for word in [summary_length, content.len() as u32, raw, checksum(&[content])] {
        block.extend_from_slice(&word.to_le_bytes());
    }
    let crc = checksum(&[&block, summary]);
    block.extend_from_slice(&crc.to_le_bytes());
    block.extend_from_slice(summary);
    block.extend_from_slice(content);
    Some(block)
}

/// The first bytes of a file.
pub fn start() -> [u8; START] {
    let mut start = [0; START];
    start[..8].copy_from_slice(MAGIC);
    start[8..10].copy_from_slice(&VERSION.to_le_bytes());
    start
}

/// The last bytes of a whole file: where its index is.
pub fn trailer(index: u64) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..8].copy_from_slice(TRAILER_MAGIC);
    trailer[8..16].copy_from_slice(&index.to_le_bytes());
    let crc = checksum(&[&trailer[..16]]);
    trailer[16..20].copy_from_slice(&crc.to_le_bytes());
    trailer
}

/// Where the index is, from the last bytes of a file; `None` when it has none.
pub fn index_at(bytes: &[u8; TRAILER]) -> Option<u64> {
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (crc, _) = rest.split_first_chunk::<4>()?;
    let whole = magic == TRAILER_MAGIC && checksum(&[&bytes[..16]]) == u32::from_le_bytes(*crc);
    whole.then(|| u64::from_le_bytes(*offset))
}
