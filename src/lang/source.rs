//! Source text, byte spans and line/column positions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A half-open range of byte offsets into one source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from `start` up to, not including, `end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// True when no byte is covered.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// A position as people count it: both start at 1; the column counts characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One script's text with its line index.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// File name or `-e`, for messages.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Arc<[u32]>,
    /// Characters before each [`BLOCK`] of bytes: columns of a long line are not counted from its start.
    characters: Arc<[u32]>,
}

/// Bytes between two counts of characters.
const BLOCK: usize = 512;

impl SourceText {
    /// Indexes `text`. Texts over 4 GiB are cut at that size.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        let starts = std::iter::once(0).chain(
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').filter_map(|(i, _)| u32::try_from(i + 1).ok()),
        );
        let after_blocks = text.as_bytes().chunks(BLOCK).scan(0, |sum, block| {
            *sum += characters(block);
            Some(*sum)
        });
        Self {
            name: name.into(),
            text: text.into(),
            line_starts: starts.collect(),
            characters: std::iter::once(0).chain(after_blocks).collect(),
        }
    }

    /// Line and column of a byte offset; offsets past the end give the last position.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_starts.partition_point(|s| *s <= offset).saturating_sub(1);
        let start = self.line_starts.get(line).copied().unwrap_or(0) as usize;
        let end = (offset as usize).min(self.text.len());
        let before = self.characters_before(end).saturating_sub(self.characters_before(start));
        Position { line: count(line) + 1, column: before + 1 }
    }

    /// Characters that begin before a byte.
    fn characters_before(&self, offset: usize) -> u32 {
        let block = offset / BLOCK;
        let rest = self.text.as_bytes().get(block * BLOCK..offset).unwrap_or_default();
        self.characters.get(block).copied().unwrap_or(0) + characters(rest)
    }

    /// The text of a 1-based line without its line end; empty when there is no such line.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let index = line.saturating_sub(1) as usize;
        let Some(start) = self.line_starts.get(index) else { return "" };
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |e| *e as usize);
        self.text.get(*start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The text under a span; empty when the span is out of range or splits a character.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

/// Characters that begin in these bytes of a text.
fn characters(bytes: &[u8]) -> u32 {
    count(bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).count())
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
