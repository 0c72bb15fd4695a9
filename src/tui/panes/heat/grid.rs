//! Samples as a picture: what came in each stretch of time, in rows of values or of keys.

use std::collections::BTreeMap;
use std::ops::Range;

use super::feed::{Feed, Number, Sample, Scale};
use crate::model::snapshot::MapKind;

/// Lines of the screen that a row takes at most.
const MOST_TALL: usize = 3;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOf {
    /// Of these buckets.
    Buckets(Range<u32>),
    /// Of this key.
    Key(u16),
}

/// The picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Where each column begins; one more than there are columns.
    pub times: Vec<u64>,
    /// Rows, the uppermost first.
    pub rows: Vec<RowOf>,
    /// By column, then by row.
    pub cells: Vec<Vec<f64>>,
    /// The largest of them.
    pub most: f64,
}

impl Grid {
    /// Lines of the screen that a row takes: few rows are drawn taller.
    #[must_use]
    pub fn tall(&self, height: usize) -> usize {
        (height / self.rows.len().max(1)).clamp(1, MOST_TALL)
    }

    /// The column of a time; the last one without a time.
    #[must_use]
    pub fn column(&self, at_ns: Option<u64>) -> Option<usize> {
        let last = self.cells.len().checked_sub(1)?;
        Some(at_ns.map_or(last, |at| self.times.partition_point(|t| *t < at).saturating_sub(1).min(last)))
    }
}

/// What is shown of the samples.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// From this time on.
    pub from_ns: u64,
    /// To this time.
    pub to_ns: u64,
    /// Histograms: of this key, or of all.
    pub key: Option<u16>,
    /// Columns and rows that there is room for.
    pub room: (usize, usize),
}

/// What came between two samples, or what stands in the later one where numbers do not only grow; by key and bucket.
#[must_use]
pub fn between(grows: bool, from: Option<&Sample>, to: &Sample) -> Vec<Number> {
    let before = from.filter(|_| grows).map_or(&[][..], |s| &s.numbers);
    let mut at = 0;
    let mut out = Vec::with_capacity(to.numbers.len());
    for now in &to.numbers {
        while before.get(at).is_some_and(|b| (b.key, b.bucket) < (now.key, now.bucket)) {
            at += 1;
        }
        let was = before.get(at).filter(|b| (b.key, b.bucket) == (now.key, now.bucket)).map_or(0, |b| b.value);
        // Less than before: the map was cleared, and all of it is new.
        let value = if now.value >= was { now.value - was } else { now.value };
        if value > 0 {
            out.push(Number { value, ..*now });
        }
    }
    out
}

/// What came in a stretch of time; nothing where no sample lies in it.
#[must_use]
pub fn came(feed: &Feed, from_ns: u64, to_ns: u64) -> Vec<Number> {
    let samples = feed.samples();
    let begin = samples.partition_point(|s| s.at_ns <= from_ns);
    let end = samples.partition_point(|s| s.at_ns <= to_ns);
    if end <= begin {
        return Vec::new();
    }
    let first = begin.checked_sub(1).and_then(|at| samples.get(at));
    between(feed.grows(), first, &samples[end - 1])
}

/// Makes the picture.
#[must_use]
pub fn grid(feed: &Feed, view: &View) -> Grid {
    let (columns, rows) = view.room;
    let samples = feed.samples();
    let Some(scale) = feed.scale().filter(|_| columns > 0 && rows > 0 && !samples.is_empty()) else {
        return Grid::default();
    };
    // A column is no narrower than the time between two samples.
    let inside = samples.iter().filter(|s| s.at_ns > view.from_ns && s.at_ns <= view.to_ns).count();
    let columns = columns.min(inside.max(1));
    let span = view.to_ns.saturating_sub(view.from_ns).max(1);
    let edge = |at: usize| view.from_ns + (u128::from(span) * at as u128 / columns as u128) as u64;
    let times: Vec<u64> = (0..=columns).map(edge).collect();
    let all: Vec<Vec<Number>> = times.windows(2).map(|t| came(feed, t[0], t[1])).collect();
    let rows = match scale {
        Scale::Keys => largest(feed, &all, rows),
        _ => buckets(&all, view.key, rows),
    };
    let places = Places::of(&rows);
    let cells: Vec<Vec<f64>> = all.iter().map(|numbers| column(feed, numbers, &places, rows.len(), view.key)).collect();
    let most = cells.iter().flatten().copied().fold(0.0, f64::max);
    Grid { times, rows, cells, most }
}

/// The row of each key or bucket.
struct Places {
    keys: bool,
    rows: Vec<Option<usize>>,
}

impl Places {
    fn of(rows: &[RowOf]) -> Self {
        let mut out = Self { keys: matches!(rows.first(), Some(RowOf::Key(_))), rows: Vec::new() };
        for (at, row) in rows.iter().enumerate() {
            let range = match row {
                RowOf::Key(key) => u32::from(*key)..u32::from(*key) + 1,
                RowOf::Buckets(range) => range.clone(),
            };
            for place in range {
                let place = place as usize;
                if out.rows.len() <= place {
                    out.rows.resize(place + 1, None);
                }
                out.rows[place] = Some(at);
            }
        }
        out
    }

    fn row(&self, number: &Number) -> Option<usize> {
        let place = if self.keys { number.key } else { number.bucket };
        self.rows.get(usize::from(place)).copied().flatten()
    }
}

fn column(feed: &Feed, numbers: &[Number], places: &Places, rows: usize, key: Option<u16>) -> Vec<f64> {
    let mut out = vec![0.0; rows];
    let mean = matches!(feed.kind(), Some(MapKind::Avg | MapKind::Stats));
    let mut count = 0;
    for number in numbers {
        let Some(row) = places.row(number) else { continue };
        match (places.keys, number.bucket) {
            (true, 0) if mean => count = number.value,
            (true, _) if mean => out[row] = number.value as f64 / count.max(1) as f64,
            (false, _) if key.is_some_and(|key| key != number.key) => {}
            _ => out[row] += number.value as f64,
        }
    }
    out
}

/// The keys of the largest sums.
fn largest(feed: &Feed, all: &[Vec<Number>], most: usize) -> Vec<RowOf> {
    let mut sums = vec![0_u128; feed.keys().len()];
    for number in all.iter().flatten() {
        if let Some(sum) = sums.get_mut(usize::from(number.key)) {
            *sum += u128::from(number.value);
        }
    }
    let mut keys: Vec<u16> = (0..sums.len() as u16).filter(|k| sums[usize::from(*k)] > 0).collect();
    keys.sort_by_key(|k| (std::cmp::Reverse(sums[usize::from(*k)]), *k));
    keys.into_iter().take(most).map(RowOf::Key).collect()
}

/// Rows of buckets, large values above; several share a row where there are more than rows.
fn buckets(all: &[Vec<Number>], key: Option<u16>, most: usize) -> Vec<RowOf> {
    let used = all.iter().flatten().filter(|n| key.is_none_or(|key| key == n.key)).map(|n| u32::from(n.bucket));
    let (least, last) = used.fold((u32::MAX, 0), |(least, last), b| (least.min(b), last.max(b)));
    if least > last {
        return Vec::new();
    }
    let step = (last - least + 1).div_ceil(most as u32).max(1);
    let count = (last - least + 1).div_ceil(step);
    (0..count).rev().map(|at| RowOf::Buckets(least + at * step..least + (at + 1) * step)).collect()
}

/// How often each bucket was met, in order.
pub type Distribution = Vec<(u32, u64)>;

/// The distribution of a histogram's numbers.
#[must_use]
pub fn distribution(numbers: &[Number], key: Option<u16>) -> Distribution {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for number in numbers.iter().filter(|n| key.is_none_or(|key| key == n.key)) {
        let sum = sums.entry(u32::from(number.bucket)).or_default();
        *sum = sum.saturating_add(number.value);
    }
    sums.into_iter().collect()
}

/// The bucket in which a quantile lies: no more is known of it than that it is in there.
#[must_use]
pub fn quantile(of: &[(u32, u64)], part: f64) -> Option<u32> {
    let total: u64 = of.iter().map(|(_, n)| n).sum();
    let rank = ((total as f64 * part).ceil() as u64).max(1);
    let mut seen = 0_u64;
    let reached = |(_, n): &&(u32, u64)| {
        seen += n;
        seen >= rank
    };
    of.iter().find(reached).map(|(bucket, _)| *bucket)
}
