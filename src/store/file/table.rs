//! Summaries and the index as bytes.

use crate::store::codec::varint::{Reader, put};
use crate::store::entry::{PayloadKind, TraceId};
use crate::store::index::{Summary, TraceCount};

/// A block's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where its header begins.
    pub offset: u64,
    /// Bytes of the whole block.
    pub length: u64,
}

/// What the index says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Chunks, in the order of the file.
    pub chunks: Vec<(Place, Summary)>,
    /// Traces.
    pub traces: Vec<Place>,
    /// Entries that came and could not be written.
    pub unwritten: u64,
}

/// Appends a summary.
pub fn put_summary(summary: &Summary, out: &mut Vec<u8>) {
    put(out, summary.first_ns);
    put(out, summary.last_ns - summary.first_ns);
    put(out, u64::from(summary.lines));
    put(out, summary.lost);
    put(out, u64::from(summary.warnings));
    let kinds = || summary.kinds.iter().enumerate().filter(|(_, n)| **n > 0);
    put(out, kinds().count() as u64);
    for (kind, count) in kinds() {
        put(out, kind as u64);
        put(out, u64::from(*count));
    }
    put(out, summary.traces.len() as u64);
    for of in &summary.traces {
        for number in [of.trace.0, of.entries, of.output, of.maps, of.stats] {
            put(out, u64::from(number));
        }
    }
}

/// Reads a summary.
pub fn summary(r: &mut Reader<'_>) -> Option<Summary> {
    let first_ns = r.number()?;
    let last_ns = first_ns.checked_add(r.number()?)?;
    let lines = r.small()?;
    let (lost, warnings) = (r.number()?, r.small()?);
    let mut kinds = [0; PayloadKind::COUNT];
    for _ in 0..r.count(2)? {
        let (kind, count) = (r.number()?, r.small()?);
        *kinds.get_mut(usize::try_from(kind).ok()?)? = count;
    }
    let entries = kinds.iter().try_fold(0_u32, |sum, n| sum.checked_add(*n))?;
    let mut traces = Vec::new();
    for _ in 0..r.count(5)? {
        let trace = TraceId(r.small()?);
        let (entries, output, maps, stats) = (r.small()?, r.small()?, r.small()?, r.small()?);
        traces.push(TraceCount { trace, entries, output, maps, stats });
    }
    (entries > 0).then_some(Summary { first_ns, last_ns, entries, lines, kinds, lost, warnings, traces })
}

impl Table {
    /// As it stands in a file.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.unwritten);
        put(&mut out, self.traces.len() as u64);
        self.traces.iter().for_each(|place| put_place(*place, &mut out));
        put(&mut out, self.chunks.len() as u64);
        for (place, summary) in &self.chunks {
            put_place(*place, &mut out);
            put_summary(summary, &mut out);
        }
        out
    }

    /// Reads what was written.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let r = &mut Reader::new(bytes);
        let unwritten = r.number()?;
        let traces = (0..r.count(2)?).map(|_| place(r)).collect::<Option<_>>()?;
        let count = r.count(9)?;
        let mut chunks = Vec::with_capacity(count);
        for _ in 0..count {
            chunks.push((place(r)?, summary(r)?));
        }
        (r.left() == 0).then_some(Self { chunks, traces, unwritten })
    }
}

fn put_place(place: Place, out: &mut Vec<u8>) {
    put(out, place.offset);
    put(out, place.length);
}

fn place(r: &mut Reader<'_>) -> Option<Place> {
    Some(Place { offset: r.number()?, length: r.number()? })
}
