//! The rows of the events pane: which rows of the history it shows, and which one is chosen.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::store::{History as _, PayloadKind, Row, Store, TraceId, TraceInfo};
use crate::tui::data::expression::{Expression, Fields};
use crate::tui::data::filter::Terms;
use crate::tui::data::own::Own;

/// Rows that a filter looks at between two looks at the keyboard, by their texts and by their values.
const LOOKED_AT_ONCE: u64 = 8192;
const ENTRIES_AT_ONCE: u64 = 1024;
/// Bytes of text that count as one more row: whole structs and stacks are long.
const ROW_BYTES: u64 = 256;

/// A view of the history's rows: those that pass the filter, oldest first.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// What rows must contain; see [`crate::tui::data::filter::matches`].
    filter: String,
    /// The same as a condition over fields, where it is one.
    expression: Option<Expression>,
    /// The traces whose rows are shown; all without it.
    traces: Option<Vec<TraceId>>,
    /// Numbers of the rows that pass, when not all do.
    passing: VecDeque<u64>,
    /// The rows that the filter has looked at.
    looked: std::ops::Range<u64>,
    /// Rows before this one were cleared away.
    cleared: u64,
    /// Rows from this one on are not shown: the views are paused.
    until: Option<u64>,
    /// The row that is kept in sight; none follows the last one.
    chosen: Option<u64>,
    /// Rows that our own threads caused are left out.
    own: Option<Own>,
    /// First column shown.
    pub left: usize,
    /// Show the time of the day, not the time since the trace began.
    pub clock: bool,
}

/// A row and where it comes from.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The row.
    pub row: Row,
    /// Its trace.
    pub info: Option<Arc<TraceInfo>>,
    /// Time of the row before it in the history.
    pub before_ns: Option<u64>,
}

impl Shown {
    /// The probe that printed it; empty where that is not known.
    #[must_use]
    pub fn probe(&self) -> &str {
        self.info.as_ref().map_or("", |info| info.probe(self.row.action))
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.row.text);
        match self.row.kind {
            PayloadKind::Lost => text.replacen(" lost: ", " lost here: ", 1),
            _ => text.into_owned(),
        }
    }

    /// When it happened: of the day, or seconds since its trace began to attach; to the microsecond.
    #[must_use]
    pub fn time(&self, clock: bool) -> String {
        let info = self.info.as_deref();
        if clock {
            let offset_us = info.map_or(0, |i| i64::from(i.utc_offset_s)) * 1_000_000;
            let wall_ns = info.map_or(self.row.at_ns as i64, |i| i.wall_ns(self.row.at_ns));
            let us = wall_ns.div_euclid(1000).wrapping_add(offset_us);
            let (s, us) = (us.div_euclid(1_000_000).rem_euclid(86_400), us.rem_euclid(1_000_000));
            return format!("{:02}:{:02}:{:02}.{us:06}", s / 3600, s / 60 % 60, s % 60);
        }
        let us = self.row.at_ns.saturating_sub(info.map_or(0, |i| i.began_ns)) / 1000;
        format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
    }

    /// How long after the row before it.
    #[must_use]
    pub fn delta(&self) -> String {
        let Some(before) = self.before_ns else { return String::new() };
        let ns = self.row.at_ns.saturating_sub(before);
        match ns {
            0..1_000_000 => format!("+{}.{}µs", ns / 1000, ns / 100 % 10),
            1_000_000..1_000_000_000 => format!("+{}.{:03}ms", ns / 1_000_000, ns / 1000 % 1000),
            _ => format!("+{}.{:03}s", ns / 1_000_000_000, ns / 1_000_000 % 1000),
        }
    }
}

impl EventLog {
    /// The rows that can be shown, filtered or not.
    fn rows(&self, store: &Store) -> std::ops::Range<u64> {
        let lines = store.lines();
        let start = lines.start.max(self.cleared);
        start..self.until.map_or(lines.end, |until| until.min(lines.end)).max(start)
    }

    /// Rows from this one on have changed or are new.
    pub fn appended(&mut self, store: &Store, from: u64) {
        let first = self.rows(store).start;
        while self.passing.back().is_some_and(|n| *n >= from) {
            self.passing.pop_back();
        }
        while self.passing.front().is_some_and(|n| *n < first) {
            self.passing.pop_front();
        }
        self.looked.end = self.looked.end.min(from);
        self.looked.start = self.looked.start.clamp(first.min(self.looked.end), self.looked.end);
        self.chosen = self.chosen.map(|n| n.max(first));
        self.look(store);
    }

    /// Whether the filter has rows to look at yet.
    #[must_use]
    pub fn is_looking(&self, store: &Store) -> bool {
        let rows = self.rows(store);
        self.is_filtered() && (self.looked.end < rows.end || self.looked.start > rows.start)
    }

    /// Goes on filtering for a moment: what is new first, then backwards.
    pub fn look(&mut self, store: &Store) {
        if !self.is_filtered() {
            return;
        }
        let filter = std::mem::take(&mut self.filter);
        let traces = self.traces.take();
        let terms = Terms::new(&filter);
        let expression = self.expression.take();
        let own = self.own.take();
        let mut left = if own.is_some() || expression.is_some() { ENTRIES_AT_ONCE } else { LOOKED_AT_ONCE };
        let passes = |number, left: &mut u64| {
            store.line_at(number).is_some_and(|row| {
                *left = left.saturating_sub(1 + row.text.len() as u64 / ROW_BYTES);
                if traces.as_ref().is_some_and(|t| !t.contains(&row.trace)) {
                    return false;
                }
                let info = store.trace(row.trace).map(|info| &**info);
                if let Some(own) = &own
                    && store.entry(row.entry).is_some_and(|entry| own.has_caused(info, &entry))
                {
                    return false;
                }
                if let Some(expression) = &expression {
                    let text = String::from_utf8_lossy(&row.text);
                    let entry = store.entry(row.entry);
                    return entry.is_some_and(|e| expression.passes(&Fields { info, entry: &e, text: &text }));
                }
                let probe = info.map_or("", |info| info.probe(row.action));
                terms.pass(probe, &String::from_utf8_lossy(&row.text))
            })
        };
        let rows = self.rows(store);
        self.looked.end = self.looked.end.max(rows.start);
        while left > 0 && self.looked.end < rows.end {
            if passes(self.looked.end, &mut left) {
                self.passing.push_back(self.looked.end);
            }
            self.looked.end += 1;
        }
        while left > 0 && self.looked.start > rows.start {
            self.looked.start -= 1;
            if passes(self.looked.start, &mut left) {
                self.passing.push_front(self.looked.start);
            }
        }
        self.filter = filter;
        self.expression = expression;
        self.traces = traces;
        self.own = own;
    }

    /// Holds what is shown.
    pub fn pause(&mut self, store: &Store) {
        self.until = Some(store.lines().end);
    }

    /// Shows what has come since [`Self::pause`].
    pub fn resume(&mut self, store: &Store) {
        self.until = None;
        self.chosen = None;
        self.look(store);
    }

    /// Holds the rows up to an entry at least, and chooses its row.
    pub fn hold(&mut self, entry: u64, store: &Store) {
        let row = store.line_of(entry).min(store.lines().end.saturating_sub(1));
        self.until = self.until.map(|until| until.max(row + 1));
        self.chosen = Some(row);
        self.look(store);
    }

    /// How many rows wait for the pause to end.
    #[must_use]
    pub fn waiting(&self, store: &Store) -> u64 {
        self.until.map_or(0, |until| store.lines().end.saturating_sub(until))
    }

    /// Shows nothing of what there is now; the history keeps it.
    pub fn clear(&mut self, store: &Store) {
        self.cleared = self.rows(store).end;
        self.passing.clear();
        self.chosen = None;
    }

    /// How many rows can be shown (those that pass the filter).
    #[must_use]
    pub fn len(&self, store: &Store) -> usize {
        let rows = self.rows(store);
        if !self.is_filtered() {
            return (rows.end - rows.start) as usize;
        }
        self.passing.partition_point(|n| *n < rows.end)
    }

    /// True when there is nothing to show.
    #[must_use]
    pub fn is_empty(&self, store: &Store) -> bool {
        self.len(store) == 0
    }

    /// Rows held, filtered or not.
    #[must_use]
    pub fn held(&self, store: &Store) -> usize {
        let rows = self.rows(store);
        (rows.end - rows.start) as usize
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether the filter is a condition over fields.
    #[must_use]
    pub const fn is_expression(&self) -> bool {
        self.expression.is_some()
    }

    /// Sets the filter and begins to look through what is held, newest first.
    pub fn set_filter(&mut self, filter: &str, store: &Store) {
        if filter == self.filter {
            return;
        }
        filter.clone_into(&mut self.filter);
        self.expression = Expression::parse(filter).ok();
        self.look_again(store);
    }

    /// Shows the rows of these traces only, or of all.
    pub fn set_traces(&mut self, traces: Option<Vec<TraceId>>, store: &Store) {
        if traces != self.traces {
            self.traces = traces;
            self.look_again(store);
        }
    }

    /// Leaves out what our own threads caused, or shows it again.
    pub fn turn_own(&mut self, own: &Own, store: &Store) {
        self.own = if self.own.is_some() { None } else { Some(own.clone()) };
        self.look_again(store);
    }

    /// There are other threads of our own now.
    pub fn know_own(&mut self, own: &Own) {
        if let Some(known) = &mut self.own
            && known != own
        {
            known.clone_from(own);
        }
    }

    /// Whether what our own threads caused is left out.
    #[must_use]
    pub const fn hides_own(&self) -> bool {
        self.own.is_some()
    }

    /// Whether not all rows are shown.
    #[must_use]
    pub const fn is_filtered(&self) -> bool {
        !self.filter.is_empty() || self.traces.is_some() || self.own.is_some()
    }

    fn look_again(&mut self, store: &Store) {
        self.chosen = None;
        self.passing.clear();
        let end = self.rows(store).end;
        self.looked = end..end;
        self.look(store);
    }

    fn number(&self, index: usize, store: &Store) -> Option<u64> {
        if index >= self.len(store) {
            return None;
        }
        if self.is_filtered() { self.passing.get(index).copied() } else { Some(self.rows(store).start + index as u64) }
    }

    fn index(&self, number: u64, store: &Store) -> usize {
        let first = self.rows(store).start;
        if self.is_filtered() {
            self.passing.partition_point(|n| *n < number)
        } else {
            number.saturating_sub(first) as usize
        }
    }

    /// The row of the history at an index of those that can be shown.
    #[must_use]
    pub fn row(&self, index: usize, store: &Store) -> Option<Row> {
        store.line_at(self.number(index, store)?)
    }

    /// The row at an index of those that can be shown, with where it comes from.
    #[must_use]
    pub fn get(&self, index: usize, store: &Store) -> Option<Shown> {
        let row = store.line_at(self.number(index, store)?)?;
        let before_ns = row.entry.checked_sub(1).and_then(|_| {
            let before = store.line_at(row.number.checked_sub(1)?)?;
            Some(before.at_ns)
        });
        // What the user has marked is of no trace: its time counts from the one that ran then.
        let of_then = || store.traces().iter().rev().find(|info| info.began_ns <= row.at_ns);
        let info = store.trace(row.trace).or_else(of_then).cloned();
        Some(Shown { row, info, before_ns })
    }

    /// Index of the chosen row: the last one when following.
    #[must_use]
    pub fn selected(&self, store: &Store) -> Option<usize> {
        let last = self.len(store).checked_sub(1)?;
        Some(self.chosen.map_or(last, |number| self.index(number, store).min(last)))
    }

    /// How many rows there are behind the chosen one.
    #[must_use]
    pub fn below(&self, store: &Store) -> usize {
        self.selected(store).map_or(0, |at| self.len(store) - 1 - at)
    }

    /// Whether the last row is followed.
    #[must_use]
    pub const fn follows(&self) -> bool {
        self.chosen.is_none()
    }

    /// Keeps the row that is chosen now in sight, though it is the last one.
    pub fn stay(&mut self, store: &Store) {
        self.chosen = self.selected(store).and_then(|at| self.number(at, store));
    }

    /// Chooses a row by its index; the last one is followed again.
    pub fn select(&mut self, index: usize, store: &Store) {
        let is_last = index + 1 >= self.len(store);
        self.chosen = if is_last { None } else { self.number(index, store) };
    }

    /// Moves the choice; leaving the end stops following, reaching it follows again.
    pub fn go(&mut self, rows: isize, store: &Store) {
        if let Some(at) = self.selected(store) {
            self.select(at.saturating_add_signed(rows), store);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ActionInfo, ActionKind, ChunkBuilder, Entry, Payload};

    fn info() -> Arc<TraceInfo> {
        let action = |probe: &str| ActionInfo {
            kind: ActionKind::Time,
            span: crate::lang::source::Span::default(),
            expanded: Vec::new(),
            probe: probe.into(),
            columns: Vec::new(),
            origin: None,
        };
        Arc::new(TraceInfo {
            id: TraceId(1),
            actions: vec![action("kprobe:a"), action("kprobe:b")],
            began_ns: 5_000_000_000,
            wall_minus_monotonic_ns: 86_398_000_000_000,
            utc_offset_s: 1,
            ..TraceInfo::default()
        })
    }

    fn append(store: &mut Store, log: &mut EventLog, lines: &[(&str, u64)]) {
        let mut builder = ChunkBuilder::new();
        builder.declare(&info());
        store.declare(info());
        for (nth, (text, at_ns)) in lines.iter().enumerate() {
            let payload = Payload::Text { action: (nth % 2) as u32, text: text.as_bytes().into() };
            builder.push(&Entry { trace: TraceId(1), at_ns: *at_ns, cpu: None, payload });
        }
        let from = store.lines().end;
        store.append(builder.finish().unwrap());
        log.appended(store, from);
    }

    fn shown(log: &EventLog, store: &Store) -> Vec<String> {
        (0..log.len(store)).filter_map(|i| log.get(i, store)).map(|r| r.text()).collect()
    }

    #[test]
    fn a_filter_holds_for_old_and_new_rows() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        append(&mut store, &mut log, &[("open /etc/passwd", 1), ("close", 2), ("Open /tmp", 3)]);
        log.set_filter("open -tmp", &store);
        append(&mut store, &mut log, &[("reopen x", 4), ("nothing", 5)]);
        assert_eq!(shown(&log, &store), ["open /etc/passwd", "reopen x"]);
        log.set_filter("Open", &store);
        assert_eq!(shown(&log, &store), ["Open /tmp"]);
        log.set_filter("", &store);
        assert_eq!(log.len(&store), 5);
    }

    #[test]
    fn a_long_history_is_filtered_from_its_end() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        let lines: Vec<_> = (0..20_000).map(|n| (if n % 10_000 == 0 { "rare" } else { "often" }, n)).collect();
        append(&mut store, &mut log, &lines);
        log.set_filter("rare", &store);
        assert!(log.is_looking(&store));
        while log.is_looking(&store) {
            log.look(&store);
        }
        assert_eq!(shown(&log, &store), ["rare", "rare"]);
    }

    #[test]
    fn long_texts_are_looked_at_in_smaller_steps() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        let whole_struct = "x".repeat(10_000);
        append(&mut store, &mut log, &vec![(whole_struct.as_str(), 1); 500]);
        log.set_filter("x", &store);
        assert!(log.is_looking(&store) && log.len(&store) > 100, "{}", log.len(&store));
    }

    #[test]
    fn a_chosen_row_stays_while_new_ones_come() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        append(&mut store, &mut log, &[("a", 1), ("b", 2), ("c", 3)]);
        log.go(-1, &store);
        append(&mut store, &mut log, &[("d", 4), ("e", 5)]);
        let text = |log: &EventLog, store: &Store| log.get(log.selected(store).unwrap(), store).unwrap().text();
        assert_eq!((text(&log, &store), log.below(&store)), ("b".into(), 3));
        log.go(100, &store);
        append(&mut store, &mut log, &[("f", 6)]);
        assert_eq!(text(&log, &store), "f");
    }

    #[test]
    fn a_pause_holds_rows_back_and_loses_none() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        append(&mut store, &mut log, &[("a", 1)]);
        log.pause(&store);
        append(&mut store, &mut log, &[("b", 2)]);
        assert_eq!((log.len(&store), log.waiting(&store)), (1, 1));
        log.resume(&store);
        assert_eq!(shown(&log, &store), ["a", "b"]);
    }

    #[test]
    fn rows_tell_when_they_came_and_from_which_probe() {
        let (mut store, mut log) = (Store::default(), EventLog::default());
        append(&mut store, &mut log, &[("x", 5_001_999_999), ("x", 17_000_000_000)]);
        let told =
            |i| log.get(i, &store).map(|r| (r.probe().to_owned(), r.time(false), r.time(true), r.delta())).unwrap();
        assert_eq!(told(0), ("kprobe:a".into(), "0.001999".into(), "00:00:04.001999".into(), String::new()));
        let second = ("kprobe:b".into(), "12.000000".into(), "00:00:16.000000".into(), "+11.998s".into());
        assert_eq!(told(1), second);
        log.set_filter("probe:b", &store);
        assert_eq!(log.len(&store), 1, "a filter looks at probes too");
    }
}
