//! Immutable runs of entries.

use super::entry::{Entry, Payload, PayloadKind, TraceId};
use super::index::Summary;
use super::row::Lines;

/// What is known of an entry without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose it is.
    pub trace: TraceId,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: Option<u16>,
    /// What it is.
    pub kind: PayloadKind,
    /// Rows that begin in it.
    pub begun: u32,
    /// Its text begins in the row before, which had no line break at its end.
    pub continues: bool,
}

/// An immutable run of entries in time order.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    entries: Vec<(Entry, Lines)>,
    summary: Summary,
}

impl Chunk {
    pub(super) fn of(mut entries: Vec<(Entry, Lines)>) -> Self {
        entries.sort_by_key(|(e, _)| e.at_ns);
        let mut summary = Summary::default();
        for (entry, lines) in &entries {
            summary.add(entry.trace, entry.at_ns, entry.payload.kind(), lines.begun);
            if let Payload::Lost { count, .. } = &entry.payload {
                summary.lost = summary.lost.saturating_add(*count);
            }
        }
        Self { entries, summary }
    }

    /// What it holds, in numbers.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// How many entries.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.summary.entries
    }

    /// True when there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.summary.entries == 0
    }

    /// Memory that it takes, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.entries.len() * 100
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, index: u32) -> Option<Entry> {
        self.entries.get(index as usize).map(|(e, _)| e.clone())
    }

    /// What is known of an entry without its payload.
    #[must_use]
    pub fn head(&self, index: u32) -> Option<Head> {
        self.heads(index).next()
    }

    /// Heads from an entry on.
    pub fn heads(&self, from: u32) -> impl Iterator<Item = Head> {
        self.entries.iter().skip(from as usize).map(|(e, lines)| Head {
            trace: e.trace,
            at_ns: e.at_ns,
            cpu: e.cpu,
            kind: e.payload.kind(),
            begun: lines.begun,
            continues: lines.continues,
        })
    }

    /// The first entry at or after a time; their number when there is none.
    #[must_use]
    pub fn seek(&self, at_ns: u64) -> u32 {
        self.entries.partition_point(|(e, _)| e.at_ns < at_ns) as u32
    }

    /// The entry in which a row of this chunk begins (rows counted from 0), and which of its rows it is.
    #[must_use]
    pub fn row(&self, row: u32) -> Option<(u32, u32)> {
        let mut before = 0;
        for (index, head) in (0..).zip(self.heads(0)) {
            if row < before + head.begun {
                return Some((index, row - before));
            }
            before += head.begun;
        }
        None
    }

    /// Rows that begin before an entry.
    #[must_use]
    pub fn rows_before(&self, index: u32) -> u32 {
        self.heads(0).take(index as usize).map(|h| h.begun).sum()
    }
}
