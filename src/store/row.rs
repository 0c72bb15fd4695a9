//! Rows: lines of text of events, as the events pane shows them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::entry::{PayloadKind, TraceId};
use crate::model::render;

/// Entries that are joined to one row at most: a script may never print a line break.
const JOINED_MOST: u32 = 512;

/// One line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counted from 0 over the whole history, trimmed rows included.
    pub number: u64,
    /// The entry that begins it.
    pub entry: u64,
    /// Which of the rows of its entry it is, from 0.
    pub part: u32,
    /// Whose it is.
    pub trace: TraceId,
    /// The time of its entry, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU of its entry.
    pub cpu: Option<u16>,
    /// What its entry is.
    pub kind: PayloadKind,
    /// The action of its entry.
    pub action: Option<u32>,
    /// Without its line break, as the traced programs gave it.
    pub text: Vec<u8>,
}

impl Row {
    /// The text with control characters written out.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        render::neutralise_bytes(&self.text)
    }
}

/// What an entry does to the rows of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Lines {
    /// Rows that begin in it.
    pub begun: u32,
    /// Its text begins in the row before, which had no line break at its end.
    pub continues: bool,
}

/// Joins texts to rows: knows which traces have a row without an end.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    /// By trace: how many entries its open row was made of.
    open: HashMap<TraceId, u32>,
}

impl Joiner {
    /// Takes the text of the next entry of a trace: so many line breaks, and whether something follows the last one.
    pub fn take(&mut self, trace: TraceId, kind: PayloadKind, breaks: u32, rest: bool) -> Lines {
        let pieces = breaks.saturating_add(u32::from(rest));
        if !kind.is_output() || pieces == 0 {
            return Lines { begun: pieces, continues: false };
        }
        let joined = if self.open.is_empty() { None } else { self.open.remove(&trace) };
        let continues = joined.is_some_and(|j| j < JOINED_MOST);
        if rest {
            let joined = if continues && breaks == 0 { joined.unwrap_or(0) + 1 } else { 1 };
            self.open.insert(trace, joined);
        }
        Lines { begun: pieces - u32::from(continues), continues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_a_line_break_are_joined() {
        let mut joiner = Joiner::default();
        let mut take = |trace, breaks, rest| joiner.take(TraceId(trace), PayloadKind::Event, breaks, rest);
        assert_eq!(take(1, 0, true), Lines { begun: 1, continues: false });
        assert_eq!(take(2, 1, false), Lines { begun: 1, continues: false }, "another trace's row is its own");
        assert_eq!(take(1, 1, true), Lines { begun: 1, continues: true });
        assert_eq!(take(1, 0, false), Lines { begun: 0, continues: false }, "no text changes nothing");
        assert_eq!(take(1, 1, false), Lines { begun: 0, continues: true });
        assert_eq!(take(1, 2, false), Lines { begun: 2, continues: false });
    }

    #[test]
    fn a_row_without_an_end_is_cut() {
        let mut joiner = Joiner::default();
        let begun: u32 = (0..=JOINED_MOST).map(|_| joiner.take(TraceId(1), PayloadKind::Event, 0, true).begun).sum();
        assert_eq!(begun, 2);
    }
}
