//! Live tables of the script's maps: order, rates, selection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::model::histogram::{Linear, Log2};
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::model::value::{Frame, Stack, Value};
use crate::tui::text::{fit, neutralise, width};

/// How many readings a sparkline shows.
const HISTORY: usize = 60;

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
}

/// One map.
#[derive(Clone, Debug)]
pub struct MapView {
    /// Its contents.
    pub snapshot: MapSnapshot,
    /// Rows in the order shown, by index.
    pub order: Vec<u32>,
    /// Index in [`crate::tui::columns::MAP`] to sort by.
    pub sort: usize,
    /// Largest first.
    pub descending: bool,
    /// Selected row, in the order shown.
    pub row: usize,
    /// Rows opened, by hash of their key.
    pub open: HashSet<u64>,
    /// Numbers of the reading before, by hash of the key, and its time in ns.
    before: (HashMap<u64, i128>, u64),
    /// Change of the whole map a second, oldest first.
    pub history: VecDeque<u64>,
}

impl MapViews {
    /// Takes a reading of all maps in.
    pub fn take(&mut self, snapshots: &Arc<[MapSnapshot]>, paused: bool) {
        if paused {
            self.waiting = Some(Arc::clone(snapshots));
            return;
        }
        self.reading = Some(Arc::clone(snapshots));
        let mut old: Vec<MapView> = std::mem::take(&mut self.views);
        for snapshot in snapshots.iter() {
            let same = old.iter().position(|v| v.snapshot.name == snapshot.name && v.snapshot.kind == snapshot.kind);
            let mut view = same.map_or_else(|| MapView::new(snapshot), |at| old.swap_remove(at));
            view.take(snapshot);
            self.views.push(view);
        }
        self.selected = self.selected.min(self.views.len().saturating_sub(1));
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
    fn new(snapshot: &MapSnapshot) -> Self {
        Self {
            snapshot: MapSnapshot { rows: Vec::new(), ..snapshot.clone() },
            order: Vec::new(),
            sort: 1,
            descending: true,
            row: 0,
            open: HashSet::new(),
            before: (HashMap::new(), 0),
            history: VecDeque::new(),
        }
    }

    fn take(&mut self, snapshot: &MapSnapshot) {
        let selected = self.selected_key();
        if snapshot.at_ns < self.snapshot.at_ns {
            // Back in time: nothing is known of the reading before.
            self.before = (HashMap::new(), 0);
        } else if snapshot.at_ns > self.snapshot.at_ns && !self.snapshot.rows.is_empty() {
            let numbers = self.snapshot.rows.iter().filter_map(|r| Some((key_hash(&r.key), r.value.as_number()?)));
            self.before = (numbers.collect(), self.snapshot.at_ns);
            let seconds = (snapshot.at_ns - self.snapshot.at_ns) as f64 / 1e9;
            let change = (total(snapshot) - total(&self.snapshot)).max(0) as f64;
            self.history.push_back((change / seconds) as u64);
            if self.history.len() > HISTORY {
                self.history.pop_front();
            }
        }
        self.snapshot = snapshot.clone();
        self.arrange();
        let keep = selected.filter(|_| self.row > 0);
        let found = keep.and_then(|key| self.order.iter().position(|r| self.key_at(*r) == Some(key)));
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

    /// Puts the rows in order.
    pub fn arrange(&mut self) {
        let rows = &self.snapshot.rows;
        self.order = (0..rows.len() as u32).collect();
        match self.sort {
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
    pub const fn has_rate(&self) -> bool {
        matches!(self.snapshot.kind, MapKind::Count | MapKind::Sum | MapKind::Hist | MapKind::LHist)
    }

    /// Whether its values are histograms.
    #[must_use]
    pub const fn is_histogram(&self) -> bool {
        matches!(self.snapshot.kind, MapKind::Hist | MapKind::LHist)
    }

    /// Largest number of all rows, for bars.
    #[must_use]
    pub fn largest(&self) -> i128 {
        self.snapshot.rows.iter().filter_map(|r| r.value.as_number()).max().unwrap_or(0)
    }

    /// Whether a row is open.
    #[must_use]
    pub fn is_open(&self, row: u32) -> bool {
        self.key_at(row).is_some_and(|k| self.open.contains(&k))
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

/// A stable number for a key.
#[must_use]
pub fn key_hash(key: &[Value]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for value in key {
        hash(value, &mut hasher);
    }
    hasher.finish()
}

fn hash(value: &Value, into: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(into);
    match value {
        Value::Bool(b) => b.hash(into),
        Value::Int(v, _) => v.hash(into),
        Value::Uint(v, _) | Value::Pointer(v) => v.hash(into),
        Value::Enum { value, .. } => value.hash(into),
        Value::Str(bytes) | Value::Bytes(bytes) => bytes.hash(into),
        Value::Array(items) | Value::Tuple(items) => items.iter().for_each(|v| hash(v, into)),
        Value::Record(items) => items.iter().for_each(|(_, v)| hash(v, into)),
        Value::Text(text, raw) => (text, raw).hash(into),
        Value::Stack(stack) => stack.frames.iter().for_each(|f| f.address.hash(into)),
        _ => {}
    }
}

/// A key on one line.
#[must_use]
pub fn key_text(key: &[Value]) -> String {
    key.iter().map(cell).collect::<Vec<_>>().join(", ")
}

/// How many innermost frames the stacks of several keys have in common; one at least stays of each.
#[must_use]
pub fn common_frames<'v>(keys: impl Iterator<Item = &'v [Value]>) -> usize {
    let stacks = keys.filter_map(|key| key.iter().find_map(|v| if let Value::Stack(s) = v { Some(s) } else { None }));
    let mut stacks = stacks.filter(|s| !s.missing && !s.frames.is_empty());
    let Some(first) = stacks.next() else { return 0 };
    let same = |s: &Stack| s.frames.iter().zip(&*first.frames).take_while(|(a, b)| a.address == b.address).count();
    let least = |s: &Stack| same(s).min(s.frames.len() - 1).min(first.frames.len() - 1);
    stacks.map(least).min().unwrap_or(0)
}

/// A key on one line of `columns`: the longest parts are cut first, so that a stack does not hide the
/// name beside it. Of stacks the innermost `skip` frames are left out.
#[must_use]
pub fn key_fit(key: &[Value], skip: usize, columns: usize) -> String {
    let text = |v: &Value| match v {
        Value::Stack(stack) if skip > 0 => stack_line(stack, skip),
        other => cell(other),
    };
    let shown = |v| Some(text(v)).filter(|c| !c.is_empty()).unwrap_or_else(|| "(empty)".to_owned());
    let mut parts: Vec<String> = key.iter().map(shown).collect();
    let all = |parts: &[String]| parts.iter().map(|p| width(p)).sum::<usize>() + 2 * parts.len().saturating_sub(1);
    for _ in 0..parts.len() {
        let over = all(&parts).saturating_sub(columns);
        let Some(longest) = parts.iter_mut().max_by_key(|p| width(p)).filter(|_| over > 0) else { break };
        let least = width(longest).min(8);
        *longest = fit(longest, width(longest).saturating_sub(over).max(least)).into_owned();
    }
    fit(&parts.join(", "), columns).into_owned()
}

/// A value on one line, safe to draw.
#[must_use]
pub fn cell(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Int(v, _) => v.to_string(),
        Value::Uint(v, _) => v.to_string(),
        Value::Pointer(v) => format!("{v:#x}"),
        Value::Enum { value, name } => name.as_ref().map_or_else(|| value.to_string(), |n| neutralise(n).into_owned()),
        Value::Str(bytes) => neutralise(&String::from_utf8_lossy(bytes)).into_owned(),
        Value::Bytes(bytes) => bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "),
        Value::Array(items) => format!("[{}]", key_text(items)),
        Value::Tuple(items) => format!("({})", key_text(items)),
        Value::Record(items) => {
            let parts: Vec<String> = items.iter().map(|(n, v)| format!("{}={}", neutralise(n), cell(v))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Text(text, _) => neutralise(text).into_owned(),
        Value::Stack(stack) => stack_line(stack, 0),
        Value::Avg(s) => s.average().to_string(),
        Value::Stats(s) => format!("count {}, average {}, total {}", s.count, s.average(), s.total),
        Value::Hist(h) => h.total().to_string(),
        Value::LHist(h) => h.total().to_string(),
        Value::TSeries(s) => s.points.iter().rev().find_map(|(_, v)| *v).map_or_else(String::new, |v| v.to_string()),
    }
}

/// A stack in one line, without its innermost `skip` frames.
fn stack_line(stack: &Stack, skip: usize) -> String {
    if stack.missing || stack.frames.is_empty() {
        return "(no stack)".to_owned();
    }
    let names: Vec<String> = stack.frames.iter().skip(skip).take(12).map(frame_name).collect();
    let lead = if skip > 0 { "… ← " } else { "" };
    format!("{lead}{}", names.join(" ← "))
}

fn frame_name(frame: &Frame) -> String {
    frame.symbol.as_ref().map_or_else(|| format!("{:#x}", frame.address), |s| neutralise(s).into_owned())
}

/// The frames of a stack, one a line.
#[must_use]
pub fn frames(stack: &Stack) -> Vec<String> {
    let line = |f: &Frame| {
        let object = f.object.as_ref().map_or_else(String::new, |o| format!(" [{}]", neutralise(o)));
        let offset = if f.symbol.is_some() { format!("+{}", f.offset) } else { String::new() };
        format!("{}{offset}{object}", frame_name(f))
    };
    stack.frames.iter().map(line).collect()
}

/// The counts of a histogram's buckets, used or not.
fn counts(value: &Value) -> &[u64] {
    match value {
        Value::Hist(h) => &h.counts,
        Value::LHist(h) => &h.counts,
        _ => &[],
    }
}

/// The buckets that are used in any of these values: the first and one past the last.
#[must_use]
pub fn used<'v>(values: impl Iterator<Item = &'v Value>) -> std::ops::Range<usize> {
    let (mut first, mut end) = (usize::MAX, 0);
    for counts in values.map(counts) {
        first = first.min(counts.iter().position(|c| *c > 0).unwrap_or(usize::MAX));
        end = end.max(counts.iter().rposition(|c| *c > 0).map_or(0, |b| b + 1));
    }
    first.min(end)..end
}

/// The counts of some buckets in at most `columns` groups of the same number of buckets.
#[must_use]
pub fn shape(value: &Value, buckets: &std::ops::Range<usize>, columns: usize) -> Vec<u64> {
    let shown = counts(value).get(buckets.clone()).unwrap_or(&[]);
    shown.chunks(shown.len().div_ceil(columns.max(1)).max(1)).map(|g| g.iter().sum()).collect()
}

/// A histogram ready to draw: label and count of each bucket that matters, ascending.
#[must_use]
pub fn buckets(value: &Value) -> Vec<(String, u64)> {
    let label: Box<dyn Fn(usize) -> String> = match value {
        Value::Hist(h) => Box::new(|b| log2_label(b, h)),
        Value::LHist(h) => Box::new(|b| linear_label(b, h)),
        _ => return Vec::new(),
    };
    let counts = counts(value);
    used(std::iter::once(value)).map(|b| (label(b), counts[b])).collect()
}

fn log2_label(bucket: usize, h: &Log2) -> String {
    let (low, high) = h.bounds(bucket as u32);
    match (low, high) {
        (None, _) => "(..., 0)".to_owned(),
        (Some(low), Some(high)) if high - low == 1 => format!("[{low}]"),
        (Some(low), Some(high)) => format!("[{}, {})", crate::tui::text::edge(low), crate::tui::text::edge(high)),
        (Some(low), None) => format!("[{}, ...)", crate::tui::text::edge(low)),
    }
}

fn linear_label(bucket: usize, h: &Linear) -> String {
    use crate::tui::text::edge;
    if h.log_linear().is_some() {
        return match h.bounds(bucket) {
            (None, end) => format!("(..., {})", edge(end.unwrap_or(0))),
            (Some(low), None) => format!("[{}, ...)", edge(low)),
            (Some(low), Some(high)) => format!("[{}, {})", edge(low), edge(high)),
        };
    }
    if bucket == 0 {
        return format!("(..., {})", edge(h.min));
    }
    if bucket + 1 == h.counts.len() {
        return format!("[{}, ...)", edge(h.max));
    }
    let low = h.min.saturating_add(h.step.saturating_mul(bucket as i64 - 1));
    format!("[{}, {})", edge(low), edge(low.saturating_add(h.step)))
}

/// Upper edges below which half and 99 % of the values fall, as text.
#[must_use]
pub fn percentiles(value: &Value) -> Option<(String, String)> {
    let (counts, high): (&[u64], Box<dyn Fn(usize) -> Option<i64>>) = match value {
        Value::Hist(h) => (&h.counts, Box::new(|b| h.bounds(b as u32).1)),
        Value::LHist(h) => (&h.counts, Box::new(|b| h.bounds(b).1)),
        _ => return None,
    };
    let total: u64 = counts.iter().fold(0, |a, b| a.saturating_add(*b));
    let at = |part: u128| {
        let mut sum = 0_u128;
        let bucket = counts.iter().position(|c| {
            sum += u128::from(*c);
            sum * 100 >= u128::from(total) * part
        })?;
        Some(high(bucket).map_or_else(|| "∞".to_owned(), crate::tui::text::edge))
    };
    if total == 0 { None } else { Some((at(50)?, at(99)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::histogram::{log2_bucket, log2_buckets};
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
        maps.views[0].arrange();
        assert_eq!(shown(&maps.views[0]), ["a", "b", "c"]);
        maps.views[0].sort = 2;
        maps.views[0].arrange();
        assert_eq!(shown(&maps.views[0])[2], "a");
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

    #[test]
    fn histograms_show_their_used_buckets_only() {
        let mut counts = vec![0; log2_buckets(0) as usize];
        counts[log2_bucket(5000, 0) as usize] = 99;
        counts[log2_bucket(70_000, 0) as usize] = 1;
        let value = Value::Hist(Arc::new(Log2 { bits: 0, counts }));
        let shown = buckets(&value);
        assert_eq!(shown.first().unwrap(), &("[4K, 8K)".to_owned(), 99));
        assert_eq!(shown.last().unwrap(), &("[64K, 128K)".to_owned(), 1));
        assert_eq!(shown.len(), 5);
        assert_eq!(percentiles(&value).unwrap(), ("8K".to_owned(), "8K".to_owned()));
    }

    #[test]
    fn histograms_of_one_map_share_their_axis() {
        let value = |n: i64| {
            let mut counts = vec![0; log2_buckets(0) as usize];
            counts[log2_bucket(n, 0) as usize] = 7;
            Value::Hist(Arc::new(Log2 { bits: 0, counts }))
        };
        let (small, large) = (value(4), value(64));
        let axis = used([&small, &large].into_iter());
        assert_eq!(shape(&small, &axis, 40), [7, 0, 0, 0, 0]);
        assert_eq!(shape(&large, &axis, 40), [0, 0, 0, 0, 7]);
        assert_eq!(shape(&large, &axis, 3), [0, 0, 7], "two buckets a column");
        assert!(used(std::iter::empty()).is_empty());
    }

    #[test]
    fn a_long_part_of_a_key_gives_way_to_the_others() {
        let key = [Value::Str(b"schedule and what called it"[..].into()), Value::Str(b"nginx"[..].into())];
        assert_eq!(key_fit(&key, 0, 99), "schedule and what called it, nginx");
        assert_eq!(key_fit(&key, 0, 18), "schedule a…, nginx");
        assert!(width(&key_fit(&key, 0, 4)) <= 4);
    }

    #[test]
    fn stacks_in_one_table_leave_out_what_they_share() {
        let stack = |names: &[&str]| {
            let frame = |n: &&str| Frame {
                address: n.bytes().map(u64::from).sum(),
                symbol: Some((*n).into()),
                offset: 0,
                object: None,
                inlined: false,
            };
            [Value::Stack(Stack { frames: names.iter().map(frame).collect(), ..Stack::default() })]
        };
        let keys = [stack(&["switch", "schedule", "read"]), stack(&["switch", "schedule", "write", "sys"])];
        let skip = common_frames(keys.iter().map(|k| &k[..]));
        assert_eq!(skip, 2);
        assert_eq!(key_fit(&keys[1], skip, 99), "… ← write ← sys");
        let same = [stack(&["a", "b"]), stack(&["a", "b"])];
        assert_eq!(common_frames(same.iter().map(|k| &k[..])), 1, "one stays");
        assert_eq!(common_frames(keys.iter().take(1).map(|k| &k[..])), 0);
    }

    #[test]
    fn hostile_text_in_keys_is_made_safe() {
        assert_eq!(cell(&Value::Str(b"\x1b]0;x\x07"[..].into())), "␛]0;x␇");
        assert!(!cell(&Value::Text("a\nb".into(), 0)).contains('\n'));
    }
}
