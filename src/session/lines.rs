//! A face that collects finished lines for views.

use std::io;
use std::sync::Arc;

use crate::model::event::{Chunk, Line, Origin};
use crate::model::render;
use crate::tracer::report::{Face, Report};

/// Lines in one chunk at most.
const CHUNK_LINES: usize = 4096;
/// A line without an end is cut here.
const LONGEST_LINE: usize = 64 << 10;

/// Collects lines; whole ones only, until it is flushed.
#[derive(Debug, Default)]
pub struct Lines {
    origin: Arc<Origin>,
    next: u64,
    lines: Vec<Line>,
    /// Text without a line break yet, and where it comes from.
    partial: Vec<u8>,
    partial_from: From,
    /// Where the next text comes from.
    from: From,
    scratch: Vec<u8>,
}

/// An action and a time.
#[derive(Clone, Copy, Debug, Default)]
struct From {
    action: u32,
    at_ns: u64,
}

impl Lines {
    /// Of one trace.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self { origin: Arc::new(origin), ..Self::default() }
    }

    /// The lines collected so far, as a chunk; `None` when there are none.
    pub fn take(&mut self) -> Option<Chunk> {
        if self.lines.is_empty() {
            return None;
        }
        let lines = std::mem::take(&mut self.lines);
        let first = self.next;
        self.next += lines.len() as u64;
        Some(Chunk { first, lines, origin: Arc::clone(&self.origin) })
    }

    /// True when a chunk should be taken now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lines.len() >= CHUNK_LINES
    }

    fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if self.partial.is_empty() {
                self.push(self.from, line);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.push(self.partial_from, &whole);
            }
            rest = after;
        }
        if !rest.is_empty() {
            if self.partial.is_empty() {
                self.partial_from = self.from;
            }
            self.partial.extend_from_slice(rest);
            if self.partial.len() > LONGEST_LINE {
                self.end_line();
            }
        }
    }

    fn push(&mut self, from: From, text: &[u8]) {
        let text: Arc<str> = match str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(text).into(),
        };
        self.lines.push(Line { at_ns: from.at_ns, action: from.action, text });
    }

    /// Makes a line of what has no line break yet.
    fn end_line(&mut self) {
        if !self.partial.is_empty() {
            let partial = std::mem::take(&mut self.partial);
            self.push(self.partial_from, &partial);
        }
    }

    fn add_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        write(&mut scratch);
        self.add(&scratch);
        self.scratch = scratch;
    }
}

impl Face for Lines {
    fn comes_from(&mut self, action: u32, at_ns: u64, _cpu: Option<u16>) {
        self.from = From { action, at_ns };
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match report {
            Report::Printf { format, values, .. } => {
                self.add_with(|out| render::printf_into(format, values, out));
            }
            Report::Value { value, .. } => self.add_with(|out| {
                render::value_into(value, out);
                out.push(b'\n');
            }),
            Report::Map { snapshot, options } => self.add_with(|out| render::map_into(snapshot, options, out)),
            Report::Text { text, .. } => {
                self.add(text);
                self.end_line();
            }
            Report::RuntimeError { message, .. } | Report::Failed { message, .. } => {
                self.add(format!("{message}\n").as_bytes());
            }
            // Views show these in places of their own.
            Report::Attached(_)
            | Report::Unattached(_)
            | Report::End { .. }
            | Report::Maps(_)
            | Report::Stats(_)
            | Report::Failure { .. }
            | Report::Lost { .. } => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(chunk: Option<Chunk>) -> Vec<String> {
        chunk.map(|c| c.lines.iter().map(|l| l.text.to_string()).collect()).unwrap_or_default()
    }

    #[test]
    fn parts_are_joined_to_lines() {
        let mut lines = Lines::default();
        lines.comes_from(7, 70, Some(0));
        lines.add(b"a");
        assert_eq!(lines.take().map(|c| c.first), None, "no line before its end");
        lines.comes_from(8, 80, Some(1));
        lines.add(b"b\nc\n\nd");
        let chunk = lines.take();
        let from: Vec<_> = chunk.iter().flat_map(|c| &c.lines).map(|l| (l.action, l.at_ns)).collect();
        assert_eq!(from, [(7, 70), (8, 80), (8, 80)], "a line comes from where it began");
        assert_eq!(texts(chunk), ["ab", "c", ""]);
        lines.flush().expect("never fails");
        let chunk = lines.take().expect("the last part is a line when nothing follows");
        assert_eq!((chunk.first, &*chunk.lines[0].text), (3, "d"));
    }

    #[test]
    fn what_is_not_utf8_is_still_a_line() {
        let mut lines = Lines::default();
        lines.add(b"\xffx\n");
        assert_eq!(texts(lines.take()), ["\u{fffd}x"]);
    }
}
