//! The lines of output: bounded history, filter, place in view.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::event::{Chunk, Line};

/// Lines kept. Older ones are dropped, and counted.
pub const HISTORY: usize = 200_000;

/// Lines, oldest first, numbered since the trace began.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    chunks: VecDeque<Arc<Chunk>>,
    /// Lines in all chunks.
    held: usize,
    /// Lines that were dropped from the front.
    pub trimmed: u64,
    /// Number that the next line gets.
    next: u64,
    /// What lines must contain; see [`matches`].
    filter: String,
    /// Numbers of the lines that pass, when there is a filter.
    passing: VecDeque<u64>,
    /// Number of passing lines to skip from the end, when not following.
    pub back: usize,
    /// Keep the newest line in sight.
    pub stay: bool,
    /// First column shown.
    pub left: usize,
    /// Chunks that came while paused.
    waiting: Vec<Arc<Chunk>>,
}

impl EventLog {
    /// Takes lines in, renumbered so that numbers are one run; held back while paused.
    pub fn take(&mut self, chunk: &Arc<Chunk>, paused: bool) {
        if paused {
            self.waiting.push(Arc::clone(chunk));
            let held: usize = self.waiting.iter().map(|c| c.lines.len()).sum();
            if held > HISTORY {
                self.trimmed += self.waiting.remove(0).lines.len() as u64;
            }
            return;
        }
        if chunk.lines.is_empty() {
            return;
        }
        let first = self.next;
        let chunk = if chunk.first == first {
            Arc::clone(chunk)
        } else {
            Arc::new(Chunk { first, lines: chunk.lines.clone() })
        };
        self.next += chunk.lines.len() as u64;
        self.held += chunk.lines.len();
        let before = self.len();
        if !self.filter.is_empty() {
            let terms = Terms::new(&self.filter);
            let passing = chunk.lines.iter().enumerate().filter(|(_, l)| terms.pass(&l.text));
            self.passing.extend(passing.map(|(i, _)| first + i as u64));
        }
        self.chunks.push_back(chunk);
        if self.stay {
            self.back += if self.filter.is_empty() { (self.next - first) as usize } else { self.len() - before };
        }
        self.trim();
    }

    /// Lets the lines in that came while paused.
    pub fn resume(&mut self) {
        for chunk in std::mem::take(&mut self.waiting) {
            self.take(&chunk, false);
        }
    }

    /// How many lines wait for the pause to end.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(|c| c.lines.len()).sum()
    }

    fn trim(&mut self) {
        while self.held > HISTORY && self.chunks.len() > 1 {
            let Some(old) = self.chunks.pop_front() else { break };
            self.held -= old.lines.len();
            self.trimmed += old.lines.len() as u64;
            let end = old.first + old.lines.len() as u64;
            while self.passing.front().is_some_and(|n| *n < end) {
                self.passing.pop_front();
            }
        }
        self.back = self.back.min(self.len().saturating_sub(1));
    }

    /// Forgets all lines.
    pub fn clear(&mut self) {
        let filter = std::mem::take(&mut self.filter);
        *self = Self { filter, ..Self::default() };
    }

    /// How many lines can be shown (those that pass the filter).
    #[must_use]
    pub fn len(&self) -> usize {
        if self.filter.is_empty() { self.held } else { self.passing.len() }
    }

    /// True when there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lines held, filtered or not.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Sets the filter and looks through what is held.
    pub fn set_filter(&mut self, filter: &str) {
        if filter == self.filter {
            return;
        }
        filter.clone_into(&mut self.filter);
        self.back = 0;
        self.stay = false;
        self.passing.clear();
        if filter.is_empty() {
            return;
        }
        let terms = Terms::new(filter);
        for chunk in &self.chunks {
            let passing = chunk.lines.iter().enumerate().filter(|(_, l)| terms.pass(&l.text));
            self.passing.extend(passing.map(|(i, _)| chunk.first + i as u64));
        }
    }

    /// The line at an index of those that can be shown, with its number.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(u64, &Line)> {
        let number = if self.filter.is_empty() {
            self.chunks.front()?.first + index as u64
        } else {
            *self.passing.get(index)?
        };
        let at = self.chunks.partition_point(|c| c.first <= number).checked_sub(1)?;
        let chunk = self.chunks.get(at)?;
        chunk.lines.get(usize::try_from(number - chunk.first).ok()?).map(|l| (number, l))
    }

    /// Index of the selected line: the last one when following.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        self.len().checked_sub(1 + self.back)
    }

    /// Selects a line by its index; the last one is followed again.
    pub fn select(&mut self, index: usize) {
        self.back = self.len().saturating_sub(1).saturating_sub(index);
        self.stay = self.back > 0;
    }

    /// Moves the selection; leaving the end stops following, reaching it follows again.
    pub fn go(&mut self, lines: isize) {
        let most = self.len().saturating_sub(1);
        self.back = self.back.saturating_add_signed(lines.saturating_neg()).min(most);
        self.stay = self.back > 0;
    }
}

/// A filter taken apart: words that must all be in the line, in any order. A word with a capital
/// matters as written, others match in any case; `-word` must not be there; `~word`'s letters must
/// be there in their order.
struct Terms<'a> {
    terms: Vec<(Kind, &'a str, bool)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Has,
    Lacks,
    Fuzzy,
}

impl<'a> Terms<'a> {
    fn new(filter: &'a str) -> Self {
        let term = |word: &'a str| {
            let (kind, rest) = match word.split_at_checked(1) {
                Some(("-", rest)) if !rest.is_empty() => (Kind::Lacks, rest),
                Some(("~", rest)) if !rest.is_empty() => (Kind::Fuzzy, rest),
                _ => (Kind::Has, word),
            };
            (kind, rest, rest.chars().any(char::is_uppercase))
        };
        Self { terms: filter.split_whitespace().map(term).collect() }
    }

    fn pass(&self, line: &str) -> bool {
        self.terms.iter().all(|(kind, word, exact)| match kind {
            Kind::Fuzzy => in_order(line, word, *exact),
            kind => (find(line, word, *exact).is_some()) == (*kind == Kind::Has),
        })
    }
}

fn in_order(line: &str, word: &str, exact: bool) -> bool {
    let mut letters = line.chars();
    word.chars().all(|w| letters.any(|c| c == w || (!exact && c.eq_ignore_ascii_case(&w))))
}

/// First place of `word` in `line`, by bytes; ASCII letters in any case unless `exact`.
fn find(line: &str, word: &str, exact: bool) -> Option<usize> {
    if exact {
        return memchr::memmem::find(line.as_bytes(), word.as_bytes());
    }
    line.as_bytes().windows(word.len().max(1)).position(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

/// Places in `line` that the filter's words match, as byte ranges; for highlighting.
#[must_use]
pub fn matches(filter: &str, line: &str) -> Vec<std::ops::Range<usize>> {
    let terms = Terms::new(filter);
    let found = terms.terms.iter().filter(|(k, ..)| *k == Kind::Has);
    let mut out: Vec<_> = found.filter_map(|(_, w, e)| find(line, w, *e).map(|at| at..at + w.len())).collect();
    out.sort_by_key(|r| r.start);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(first: u64, texts: &[&str]) -> Arc<Chunk> {
        let line = |t: &&str| Line { at_ns: 0, action: 0, text: (*t).into() };
        Arc::new(Chunk { first, lines: texts.iter().map(line).collect() })
    }

    fn shown(log: &EventLog) -> Vec<&str> {
        (0..log.len()).filter_map(|i| log.get(i)).map(|(_, l)| &*l.text).collect()
    }

    #[test]
    fn a_filter_holds_for_old_and_new_lines() {
        let mut log = EventLog::default();
        log.take(&chunk(0, &["open /etc/passwd", "close", "Open /tmp"]), false);
        log.set_filter("open -tmp");
        log.take(&chunk(3, &["reopen x", "nothing"]), false);
        assert_eq!(shown(&log), ["open /etc/passwd", "reopen x"]);
        log.set_filter("Open");
        assert_eq!(shown(&log), ["Open /tmp"]);
        log.set_filter("~oetc");
        assert_eq!(shown(&log), ["open /etc/passwd"]);
        log.set_filter("");
        assert_eq!(log.len(), 5);
    }

    #[test]
    fn scrolled_back_lines_stay_while_new_ones_come() {
        let mut log = EventLog::default();
        log.take(&chunk(0, &["a", "b", "c"]), false);
        log.go(-1);
        log.take(&chunk(3, &["d", "e"]), false);
        assert_eq!(log.get(log.selected().unwrap()).unwrap().1.text.as_ref(), "b");
        log.go(100);
        log.take(&chunk(5, &["f"]), false);
        assert_eq!(log.get(log.selected().unwrap()).unwrap().1.text.as_ref(), "f");
    }

    #[test]
    fn what_is_dropped_is_counted() {
        let mut log = EventLog::default();
        let many: Vec<&str> = vec!["x"; 50_000];
        for i in 0..6 {
            log.take(&chunk(i * 50_000, &many), false);
        }
        assert_eq!((log.held(), log.trimmed), (HISTORY, 100_000));
        assert_eq!(log.get(0).unwrap().0, 100_000);
    }

    #[test]
    fn a_pause_holds_lines_back_and_loses_none() {
        let mut log = EventLog::default();
        log.take(&chunk(0, &["a"]), false);
        log.take(&chunk(1, &["b"]), true);
        assert_eq!((log.len(), log.waiting()), (1, 1));
        log.resume();
        assert_eq!(shown(&log), ["a", "b"]);
    }
}
