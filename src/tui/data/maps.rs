//! Live tables of the script's maps: order, rates, selection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::cells::{cell, key_hash, key_text};
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::model::value::Value;
use crate::tui::base::discard;

/// How many readings a sparkline shows.
const HISTORY: usize = 60;
/// Rows of a map that are sorted and told rates of: of more, keys would have to wait.
const MOST_SORTED: usize = 50_000;

/// All maps.
#[derive(Clone, Debug, Default)]
pub struct MapViews {
    /// In the script's order.
    pub views: Vec<MapView>,
    /// Which one has the keys.
    pub selected: usize,
    /// The newest reading while paused, shown afterwards.
    waiting: Option<Arc<[MapSnapshot]>>,
    /// The reading that is shown.
    reading: Option<Arc<[MapSnapshot]>>,
    /// What keys must contain.
    pub filter: String,
    /// Maps that the script clears at its end, which only help it.
    helpers: Vec<Arc<str>>,
    /// Helpers are shown, too.
    pub with_helpers: bool,
    /// Maps that the user has hidden.
    hidden: HashSet<Arc<str>>,
}

/// One map.
#[derive(Clone, Debug)]
pub struct MapView {
    /// Its contents.
    pub snapshot: SharedSnapshot,
    /// Rows in the order shown, by index.
    pub order: Vec<u32>,
    /// Index in [`crate::tui::widgets::columns::MAP`] to sort by.
    pub sort: usize,
    /// Largest first.
    pub descending: bool,
    /// Selected row, in the order shown.
    pub row: usize,
    /// Rows opened or closed by the user, by hash of their key.
    pub open: HashSet<u64>,
    /// Numbers of the reading before, by hash of the key, and its time in ns.
    before: (HashMap<u64, i128>, u64),
    /// Change of the whole map a second, oldest first.
    pub history: VecDeque<u64>,
    /// Largest number of all rows.
    largest: i128,
}

/// One map of a reading, which all views of it share.
#[derive(Clone, Debug)]
pub struct SharedSnapshot {
    reading: Arc<[MapSnapshot]>,
    at: usize,
}

impl std::ops::Deref for SharedSnapshot {
    type Target = MapSnapshot;

    fn deref(&self) -> &MapSnapshot {
        &self.reading[self.at]
    }
}

impl MapViews {
    /// Takes a reading of all maps in.
    pub fn take(&mut self, snapshots: &Arc<[MapSnapshot]>, paused: bool) {
        if paused {
            self.waiting = Some(Arc::clone(snapshots));
            return;
        }
        let before = self.reading.replace(Arc::clone(snapshots));
        let mut old: Vec<MapView> = std::mem::take(&mut self.views);
        for (at, snapshot) in snapshots.iter().enumerate() {
            if !self.is_shown(&snapshot.name) {
                continue;
            }
            let same = old.iter().position(|v| v.snapshot.name == snapshot.name && v.snapshot.kind == snapshot.kind);
            let read = SharedSnapshot { reading: Arc::clone(snapshots), at };
            let view = match same {
                Some(at) => {
                    let mut view = old.swap_remove(at);
                    view.take(read, &self.filter);
                    view
                }
                None => MapView::new(read, &self.filter),
            };
            self.views.push(view);
        }
        self.selected = self.selected.min(self.views.len().saturating_sub(1));
        drop(old);
        before.into_iter().for_each(discard::discard);
    }

    fn is_shown(&self, name: &Arc<str>) -> bool {
        !self.hidden.contains(name) && (self.with_helpers || !self.helpers.contains(name))
    }

    /// How many maps there are that are not shown.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.reading.as_ref().map_or(0, |maps| maps.iter().filter(|map| !self.is_shown(&map.name)).count())
    }

    /// Another text runs: these maps are its helpers.
    pub fn set_helpers(&mut self, helpers: Vec<Arc<str>>) {
        self.helpers = helpers;
        self.again();
    }

    /// Hides the map that has the keys.
    pub fn hide(&mut self) {
        self.hidden.extend(self.current().map(|view| Arc::clone(&view.snapshot.name)));
        self.again();
    }

    /// Shows every map; when all are shown, helpers are hidden again.
    pub fn show_all(&mut self) {
        self.with_helpers = self.hidden() > 0;
        self.hidden.clear();
        self.again();
    }

    /// Keys must contain these words.
    pub fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        for view in &mut self.views {
            view.arrange(filter);
            view.row = view.row.min(view.order.len().saturating_sub(1));
        }
    }

    /// Takes the reading that is shown in again.
    fn again(&mut self) {
        if let Some(reading) = self.reading.clone() {
            self.take(&reading, false);
        }
    }

    /// Shows a reading of another time.
    pub fn show(&mut self, snapshots: &Arc<[MapSnapshot]>) {
        let waiting = self.waiting.take();
        self.take(snapshots, false);
        self.waiting = waiting;
    }

    /// Shows what came while paused.
    pub fn resume(&mut self) {
        if let Some(snapshots) = self.waiting.take() {
            self.take(&snapshots, false);
        }
    }

    /// The reading that is shown, of all maps.
    #[must_use]
    pub const fn reading(&self) -> Option<&Arc<[MapSnapshot]>> {
        self.reading.as_ref()
    }

    /// The map that has the keys.
    #[must_use]
    pub fn current(&self) -> Option<&MapView> {
        self.views.get(self.selected)
    }

    /// The same, to change.
    pub fn current_mut(&mut self) -> Option<&mut MapView> {
        self.views.get_mut(self.selected)
    }
}

impl MapView {
    fn new(snapshot: SharedSnapshot, filter: &str) -> Self {
        let mut view = Self {
            snapshot,
            order: Vec::new(),
            sort: 1,
            descending: true,
            row: 0,
            open: HashSet::new(),
            before: (HashMap::new(), 0),
            history: VecDeque::new(),
            largest: 0,
        };
        view.arrange(filter);
        view
    }

    fn take(&mut self, snapshot: SharedSnapshot, filter: &str) {
        // Rows of so many are not found again.
        let selected = self.selected_key().filter(|_| self.row > 0 && snapshot.rows.len() <= MOST_SORTED);
        if snapshot.at_ns < self.snapshot.at_ns {
            // Back in time: nothing is known of the reading before.
            self.before = (HashMap::new(), 0);
        } else if snapshot.at_ns > self.snapshot.at_ns && !self.snapshot.rows.is_empty() {
            self.before = if snapshot.rows.len() <= MOST_SORTED {
                let numbers = self.snapshot.rows.iter().filter_map(|r| Some((key_hash(&r.key), r.value.as_number()?)));
                (numbers.collect(), self.snapshot.at_ns)
            } else {
                (HashMap::new(), 0)
            };
            let seconds = (snapshot.at_ns - self.snapshot.at_ns) as f64 / 1e9;
            let change = (total(&snapshot) - total(&self.snapshot)).max(0) as f64;
            self.history.push_back((change / seconds) as u64);
            if self.history.len() > HISTORY {
                self.history.pop_front();
            }
        }
        self.snapshot = snapshot;
        self.arrange(filter);
        let found = selected.and_then(|key| self.order.iter().position(|r| self.key_at(*r) == Some(key)));
        self.row = found.unwrap_or(self.row).min(self.order.len().saturating_sub(1));
    }

    fn key_at(&self, row: u32) -> Option<u64> {
        self.snapshot.rows.get(row as usize).map(|r| key_hash(&r.key))
    }

    /// Hash of the selected row's key.
    #[must_use]
    pub fn selected_key(&self) -> Option<u64> {
        self.key_at(*self.order.get(self.row)?)
    }

    /// Puts the rows whose keys contain all words of `filter` in order.
    pub fn arrange(&mut self, filter: &str) {
        let rows = &self.snapshot.rows;
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |row: &u32| {
            let key = if words.is_empty() { String::new() } else { key_text(&rows[*row as usize].key).to_lowercase() };
            words.iter().all(|word| key.contains(word))
        };
        self.order = (0..rows.len() as u32).filter(fits).collect();
        self.largest = rows.iter().filter_map(|r| r.value.as_number()).max().unwrap_or(0);
        match self.sorted_by() {
            1 if rows.is_sorted_by(|a, b| a.value.as_number().is_some_and(|a| Some(a) <= b.value.as_number())) => {}
            0 => self.order.sort_by_cached_key(|r| SortKey::of(&rows[*r as usize].key)),
            2 => {
                let rate = |r: u32| self.rate(r as usize).unwrap_or(f64::NEG_INFINITY);
                let mut rated: Vec<(f64, u32)> = self.order.iter().map(|r| (rate(*r), *r)).collect();
                rated.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.order = rated.into_iter().map(|(_, r)| r).collect();
            }
            _ => self.order.sort_by_cached_key(|r| SortKey::one(&rows[*r as usize].value)),
        }
        if self.descending {
            self.order.reverse();
        }
    }

    /// The column that rows are sorted by: of many rows it is their value, as they were read.
    #[must_use]
    pub fn sorted_by(&self) -> usize {
        if self.snapshot.rows.len() > MOST_SORTED { 1 } else { self.sort }
    }

    /// Change of a row a second since the reading before.
    #[must_use]
    pub fn rate(&self, row: usize) -> Option<f64> {
        let row = self.snapshot.rows.get(row)?;
        let (before, at) = &self.before;
        let seconds = self.snapshot.at_ns.checked_sub(*at).filter(|_| *at > 0)? as f64 / 1e9;
        let then = before.get(&key_hash(&row.key)).copied().unwrap_or(0);
        (seconds > 0.0).then(|| (row.value.as_number().unwrap_or(0) - then) as f64 / seconds)
    }

    /// Whether a change per second means anything for this kind of map.
    #[must_use]
    pub fn has_rate(&self) -> bool {
        matches!(self.snapshot.kind, MapKind::Count | MapKind::Sum | MapKind::Hist | MapKind::LHist)
    }

    /// Whether its values are histograms.
    #[must_use]
    pub fn is_histogram(&self) -> bool {
        matches!(self.snapshot.kind, MapKind::Hist | MapKind::LHist)
    }

    /// Largest number of all rows, for bars.
    #[must_use]
    pub const fn largest(&self) -> i128 {
        self.largest
    }

    /// Whether a row is open: stacks that are values are, until they are closed.
    #[must_use]
    pub fn is_open(&self, row: u32) -> bool {
        let is_stack = self.snapshot.rows.get(row as usize).is_some_and(|r| matches!(r.value, Value::Stack(_)));
        self.key_at(row).is_some_and(|k| self.open.contains(&k) != is_stack)
    }

    /// Opens or closes the selected row.
    pub fn toggle(&mut self) {
        if let Some(key) = self.selected_key()
            && !self.open.remove(&key)
        {
            self.open.insert(key);
        }
    }
}

fn total(snapshot: &MapSnapshot) -> i128 {
    snapshot.rows.iter().filter_map(|r| r.value.as_number()).fold(0, i128::saturating_add)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Number(i128),
    Text(String),
    Several(Vec<SortKey>),
}

impl SortKey {
    fn one(value: &Value) -> Self {
        value.as_number().map_or_else(|| Self::Text(cell(value)), Self::Number)
    }

    fn of(key: &[Value]) -> Self {
        Self::Several(key.iter().map(Self::one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::MapRow;

    fn counts(at_s: u64, rows: &[(&str, u64)]) -> Arc<[MapSnapshot]> {
        let row =
            |(k, v): &(&str, u64)| MapRow { key: vec![Value::Str(k.as_bytes().into())], value: Value::Uint(*v, 8) };
        Arc::new([MapSnapshot {
            name: "@n".into(),
            kind: MapKind::Count,
            keyed: true,
            rows: rows.iter().map(row).collect(),
            capacity: 4096,
            at_ns: at_s * 1_000_000_000,
        }])
    }

    fn shown(view: &MapView) -> Vec<String> {
        view.order.iter().map(|r| key_text(&view.snapshot.rows[*r as usize].key)).collect()
    }

    #[test]
    fn a_filter_keeps_keys_that_have_all_of_its_words() {
        let mut maps = MapViews::default();
        maps.take(&counts(1, &[("nginx worker", 5), ("Worker", 9), ("nginx", 1)]), false);
        maps.set_filter("worker");
        assert_eq!(shown(&maps.views[0]), ["Worker", "nginx worker"]);
        maps.set_filter("worker ngi");
        maps.take(&counts(2, &[("nginx worker", 5), ("Worker", 10), ("nginx", 1), ("nginx worker 2", 7)]), false);
        assert_eq!(shown(&maps.views[0]), ["nginx worker 2", "nginx worker"], "of the next reading, too");
        maps.set_filter("");
        assert_eq!(shown(&maps.views[0]).len(), 4);
    }

    #[test]
    fn helpers_are_hidden_until_they_are_asked_for() {
        let mut maps = MapViews::default();
        maps.take(&counts(1, &[("a", 5)]), false);
        maps.set_helpers(vec!["@n".into()]);
        assert_eq!((maps.views.len(), maps.hidden()), (0, 1));
        maps.show_all();
        assert_eq!((maps.views.len(), maps.hidden()), (1, 0));
        maps.show_all();
        assert_eq!((maps.views.len(), maps.hidden()), (0, 1), "hidden again");
        maps.set_helpers(Vec::new());
        maps.hide();
        assert_eq!((maps.views.len(), maps.hidden()), (0, 1), "one that the user does not want");
    }

    #[test]
    fn rows_sort_by_value_key_and_rate_and_the_selection_stays_on_its_key() {
        let mut maps = MapViews::default();
        maps.take(&counts(1, &[("a", 5), ("b", 9), ("c", 1)]), false);
        assert_eq!(shown(&maps.views[0]), ["b", "a", "c"]);
        maps.views[0].row = 1;
        maps.take(&counts(3, &[("a", 45), ("b", 10), ("c", 2)]), false);
        assert_eq!(shown(&maps.views[0]), ["a", "b", "c"]);
        assert_eq!(maps.views[0].row, 0, "still on a");
        assert_eq!(maps.views[0].rate(0), Some(20.0));
        assert_eq!(maps.views[0].history, [21]);
        maps.views[0].sort = 0;
        maps.views[0].descending = false;
        maps.views[0].arrange("");
        assert_eq!(shown(&maps.views[0]), ["a", "b", "c"]);
        maps.views[0].sort = 2;
        maps.views[0].arrange("");
        assert_eq!(shown(&maps.views[0])[2], "a");
    }

    #[test]
    fn of_very_many_keys_the_largest_stand_first_as_they_were_read() {
        let many: Vec<String> = (0..=MOST_SORTED).map(|n| format!("k{n}")).collect();
        let reading =
            |at_s: u64| counts(at_s, &many.iter().zip(at_s..).map(|(key, n)| (key.as_str(), n)).collect::<Vec<_>>());
        let mut maps = MapViews::default();
        maps.take(&reading(1), false);
        maps.views[0].sort = 0;
        maps.views[0].row = 3;
        maps.take(&reading(2), false);
        let view = &maps.views[0];
        let last = MOST_SORTED as u32;
        assert_eq!((view.sorted_by(), view.row, view.rate(0)), (1, 3, None));
        assert_eq!(view.order[..2], [last, last - 1]);
        assert_eq!((view.largest(), view.history.len()), (i128::from(last) + 2, 1));
        maps.set_filter("k777");
        assert_eq!(shown(&maps.views[0])[..2], ["k7779", "k7778"]);
    }

    #[test]
    fn a_pause_keeps_the_last_reading_for_later() {
        let mut maps = MapViews::default();
        maps.take(&counts(1, &[("a", 5)]), false);
        maps.take(&counts(2, &[("a", 6)]), true);
        assert_eq!(maps.views[0].largest(), 5);
        maps.resume();
        assert_eq!(maps.views[0].largest(), 6);
    }
}
