//! The lines of output: bounded history, filter, place in view.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::event::{Chunk, Line, Origin};

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
    /// Show the time of the day, not the time since the trace began.
    pub clock: bool,
    /// Chunks that came while paused.
    waiting: Vec<Arc<Chunk>>,
}

/// A line and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Counted from 0 over all traces so far.
    pub number: u64,
    /// The line.
    pub line: &'a Line,
    /// Its trace.
    pub origin: &'a Origin,
}

impl<'a> Row<'a> {
    /// The probe that printed it; empty where that is not known.
    #[must_use]
    pub fn probe(&self) -> &'a str {
        self.origin.probe(self.line)
    }

    /// When it came: of the day, or seconds since the trace began to attach; to the millisecond,
    /// which is as exact as the drain.
    #[must_use]
    pub fn time(&self, clock: bool) -> String {
        let Row { line, origin, .. } = self;
        if clock {
            let ms = (line.at_ns as i64).wrapping_add(origin.local_minus_monotonic_ns).div_euclid(1_000_000);
            let (s, ms) = (ms.div_euclid(1000).rem_euclid(86_400), ms.rem_euclid(1000));
            return format!("{:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60);
        }
        let ms = line.at_ns.saturating_sub(origin.began_ns) / 1_000_000;
        format!("{}.{:03}", ms / 1000, ms % 1000)
    }
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
        let chunk =
            if chunk.first == first { Arc::clone(chunk) } else { Arc::new(Chunk { first, ..Chunk::clone(chunk) }) };
        self.next += chunk.lines.len() as u64;
        self.held += chunk.lines.len();
        let before = self.len();
        if !self.filter.is_empty() {
            let terms = Terms::new(&self.filter);
            self.passing.extend(terms.passing(&chunk));
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
        *self = Self { filter, clock: self.clock, ..Self::default() };
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
            self.passing.extend(terms.passing(chunk));
        }
    }

    /// The line at an index of those that can be shown.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row<'_>> {
        let number = if self.filter.is_empty() {
            self.chunks.front()?.first + index as u64
        } else {
            *self.passing.get(index)?
        };
        let at = self.chunks.partition_point(|c| c.first <= number).checked_sub(1)?;
        let chunk = self.chunks.get(at)?;
        let line = chunk.lines.get(usize::try_from(number - chunk.first).ok()?)?;
        Some(Row { number, line, origin: &chunk.origin })
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

/// A filter taken apart: words that must all be in the line or the name of its probe, in any order.
/// A word with a capital
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

    /// Numbers of the lines of a chunk that pass.
    fn passing(&self, chunk: &Chunk) -> impl Iterator<Item = u64> {
        let lines = chunk.lines.iter().zip(chunk.first..);
        lines.filter(|(l, _)| self.pass(chunk.origin.probe(l), &l.text)).map(|(_, number)| number)
    }

    fn pass(&self, probe: &str, line: &str) -> bool {
        self.terms.iter().all(|(kind, word, exact)| match kind {
            Kind::Fuzzy => in_order(line, word, *exact),
            kind => {
                let found = find(line, word, *exact).or_else(|| find(probe, word, *exact));
                found.is_some() == (*kind == Kind::Has)
            }
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
        Arc::new(Chunk { first, lines: texts.iter().map(line).collect(), ..Chunk::default() })
    }

    fn shown(log: &EventLog) -> Vec<&str> {
        (0..log.len()).filter_map(|i| log.get(i)).map(|r| &*r.line.text).collect()
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
        assert_eq!(log.get(log.selected().unwrap()).unwrap().line.text.as_ref(), "b");
        log.go(100);
        log.take(&chunk(5, &["f"]), false);
        assert_eq!(log.get(log.selected().unwrap()).unwrap().line.text.as_ref(), "f");
    }

    #[test]
    fn what_is_dropped_is_counted() {
        let mut log = EventLog::default();
        let many: Vec<&str> = vec!["x"; 50_000];
        for i in 0..6 {
            log.take(&chunk(i * 50_000, &many), false);
        }
        assert_eq!((log.held(), log.trimmed), (HISTORY, 100_000));
        assert_eq!(log.get(0).unwrap().number, 100_000);
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

    #[test]
    fn lines_tell_when_they_came_and_from_which_probe() {
        let origin = Origin {
            began_ns: 5_000_000_000,
            local_minus_monotonic_ns: 86_399_000_000_000,
            probes: vec!["kprobe:a".into(), "kprobe:b".into()],
        };
        let line = |action, at_ns| Line { at_ns, action, text: "x".into() };
        let lines = vec![line(0, 5_001_999_999), line(1, 17_000_000_000), line(u32::MAX, 0)];
        let mut log = EventLog::default();
        log.take(&Arc::new(Chunk { first: 0, lines, origin: Arc::new(origin) }), false);
        let told = |i| log.get(i).map(|r| (r.probe(), r.time(false), r.time(true))).unwrap();
        assert_eq!(told(0), ("kprobe:a", "0.001".into(), "00:00:04.001".into()));
        assert_eq!(told(1), ("kprobe:b", "12.000".into(), "00:00:16.000".into()));
        assert_eq!(told(2), ("", "0.000".into(), "23:59:59.000".into()));
        log.set_filter("probe:b");
        assert_eq!((log.len(), log.get(0).unwrap().number), (1, 1), "a filter looks at probes too");
        log.set_filter("-probe:b x");
        assert_eq!(log.len(), 2);
    }
}
