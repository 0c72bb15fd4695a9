//! A face that collects finished lines for views.

use std::io;
use std::sync::Arc;

use super::report::{Face, Report};
use crate::model::event::{Chunk, Line};
use crate::model::render;

/// Lines in one chunk at most.
const CHUNK_LINES: usize = 4096;
/// A line without an end is cut here.
const LONGEST_LINE: usize = 64 << 10;

/// Collects lines; whole ones only, until it is flushed.
#[derive(Debug, Default)]
pub struct Lines {
    next: u64,
    lines: Vec<Line>,
    partial: Vec<u8>,
    partial_action: u32,
    scratch: Vec<u8>,
}

impl Lines {
    /// The lines collected so far, as a chunk; `None` when there are none.
    pub fn take(&mut self) -> Option<Chunk> {
        if self.lines.is_empty() {
            return None;
        }
        let lines = std::mem::take(&mut self.lines);
        let first = self.next;
        self.next += lines.len() as u64;
        Some(Chunk { first, lines })
    }

    /// True when a chunk should be taken now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lines.len() >= CHUNK_LINES
    }

    fn add(&mut self, action: u32, text: &[u8]) {
        let mut rest = text;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if self.partial.is_empty() {
                self.push(action, line);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.push(self.partial_action, &whole);
            }
            rest = after;
        }
        if !rest.is_empty() {
            self.partial_action = action;
            self.partial.extend_from_slice(rest);
            if self.partial.len() > LONGEST_LINE {
                self.end_line();
            }
        }
    }

    fn push(&mut self, action: u32, text: &[u8]) {
        let at_ns = crate::engine::monotonic_ns();
        let text: Arc<str> = match str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(text).into(),
        };
        self.lines.push(Line { at_ns, action, text });
    }

    /// Makes a line of what has no line break yet.
    fn end_line(&mut self) {
        if !self.partial.is_empty() {
            let partial = std::mem::take(&mut self.partial);
            self.push(self.partial_action, &partial);
        }
    }

    fn add_with(&mut self, action: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        write(&mut scratch);
        self.add(action, &scratch);
        self.scratch = scratch;
    }
}

impl Face for Lines {
    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match report {
            Report::Printf { action, format, values, .. } => {
                self.add_with(*action, |out| render::printf_into(format, values, out));
            }
            Report::Value { action, value } => self.add_with(*action, |out| {
                render::value_into(value, out);
                out.push(b'\n');
            }),
            Report::Map { snapshot, options } => {
                self.add_with(u32::MAX, |out| render::map_into(snapshot, options, out));
            }
            Report::Text { text, .. } => {
                self.add(u32::MAX, text);
                self.end_line();
            }
            Report::RuntimeError { message, .. } | Report::Failed { message, .. } => {
                self.add(u32::MAX, format!("{message}\n").as_bytes());
            }
            // Views show these in places of their own.
            Report::Attached(_) | Report::Unattached(_) | Report::End { .. } | Report::Lost { .. } => {}
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
        lines.add(0, b"a");
        assert_eq!(lines.take().map(|c| c.first), None, "no line before its end");
        lines.add(0, b"b\nc\n\nd");
        assert_eq!(texts(lines.take()), ["ab", "c", ""]);
        lines.flush().expect("never fails");
        let chunk = lines.take().expect("the last part is a line when nothing follows");
        assert_eq!((chunk.first, &*chunk.lines[0].text), (3, "d"));
    }

    #[test]
    fn what_is_not_utf8_is_still_a_line() {
        let mut lines = Lines::default();
        lines.add(0, b"\xffx\n");
        assert_eq!(texts(lines.take()), ["\u{fffd}x"]);
    }
}
