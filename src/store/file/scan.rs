//! Finding the blocks of a file that has no index.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use memchr::memmem::Finder;

use super::block::{HEADER, Header, Kind, MARKER, START};
use super::table::{self, Place, Table};
use crate::store::codec::varint::Reader;

/// A damaged stretch is looked through so far for the next block.
const WIDEST_HOLE: u64 = 64 << 20;
/// Markers without a block behind them that are believed to be chance.
const MOST_CHANCES: u32 = 1000;
/// Bytes that are looked through at once.
const WINDOW: usize = 256 << 10;

/// What was found besides blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Stretches without a whole block.
    pub holes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last block is not whole, or something else follows it.
    pub cut: bool,
}

/// Goes from block to block and notes what each is; contents are not read.
pub fn scan(file: &File, length: u64) -> io::Result<(Table, Gaps)> {
    let (mut table, mut gaps) = (Table::default(), Gaps::default());
    let mut at = START as u64;
    while at + HEADER as u64 <= length {
        if let Some((header, summary)) = block(file, at, length)? {
            let place = Place { offset: at, length: header.length() };
            match header.kind {
                Kind::Trace => table.traces.push(place),
                Kind::Chunk => match table::summary(&mut Reader::new(&summary)) {
                    Some(summary) => table.chunks.push((place, summary)),
                    None => gaps.holes += 1,
                },
                // What stands behind an index is its place.
                Kind::Index => return Ok((table, gaps)),
                Kind::Info | Kind::Other => {}
            }
            at += place.length;
            continue;
        }
        match next_block(file, at + 1, length)? {
            Some(next) => {
                gaps.holes += 1;
                gaps.bytes += next - at;
                at = next;
            }
            None => break,
        }
    }
    gaps.cut = true;
    Ok((table, gaps))
}

/// The whole block that begins at a place.
fn block(file: &File, at: u64, length: u64) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut bytes = [0; HEADER];
    if at + HEADER as u64 > length {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, at)?;
    let Some(header) = Header::read(&bytes).filter(|h| at + h.length() <= length) else { return Ok(None) };
    let mut summary = vec![0; header.summary as usize];
    file.read_exact_at(&mut summary, at + HEADER as u64)?;
    Ok(header.holds(&bytes, &summary).then_some((header, summary)))
}

/// The next place where a whole block begins.
fn next_block(file: &File, from: u64, length: u64) -> io::Result<Option<u64>> {
    let finder = Finder::new(&MARKER);
    let mut window = vec![0; WINDOW];
    let mut chances = 0;
    let mut at = from;
    while at < length.min(from + WIDEST_HOLE) {
        let size = usize::try_from(length - at).unwrap_or(WINDOW).min(WINDOW);
        file.read_exact_at(&mut window[..size], at)?;
        for found in finder.find_iter(&window[..size]) {
            let found = at + found as u64;
            if block(file, found, length)?.is_some() {
                return Ok(Some(found));
            }
            chances += 1;
            if chances > MOST_CHANCES {
                return Ok(None);
            }
        }
        // A marker may lie across the windows.
        let step = size.saturating_sub(MARKER.len() - 1).max(1);
        at += step as u64;
    }
    Ok(None)
}
