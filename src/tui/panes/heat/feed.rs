//! What maps held over time: readings of one map as samples of numbers, thinned as they grow many.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::model::flame::{only_grows, weight};
use crate::model::histogram::{Linear, Log2, linear_buckets, log2_bounds, log2_buckets};
use crate::model::render;
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::Value;
use crate::session::update::TraceId;
use crate::store::{History as _, Store};
use crate::tui::data::document::Document;

/// Samples that are kept; of more every other one is let go, which loses no counts.
const MOST_SAMPLES: usize = 2048;
/// Numbers of all samples together.
const MOST_NUMBERS: usize = 2_000_000;
/// Keys that are told apart.
pub const MOST_KEYS: usize = 256;
/// Rows of a reading that are looked at, from the largest.
const MOST_ROWS: usize = 4096;

/// How the values of a map lie in the rows of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A row for each key.
    Keys,
    /// Buckets of powers of two, each in `2^bits` parts.
    Log2(u8),
    /// Buckets of one width: least, largest, width.
    Linear(i64, i64, i64),
}

impl Scale {
    /// Where a bucket begins and ends.
    #[must_use]
    pub fn bounds(self, bucket: u32) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Keys => (None, None),
            Self::Log2(bits) => log2_bounds(bucket, bits),
            Self::Linear(min, max, step) => {
                let edge = |b: u32| min.saturating_add(step.saturating_mul(i64::from(b)));
                match bucket {
                    0 => (None, Some(min)),
                    b if b + 1 >= linear_buckets(min, max, step) => (Some(max), None),
                    b => (Some(edge(b - 1)), Some(edge(b).min(max))),
                }
            }
        }
    }

    /// How many buckets there are.
    #[must_use]
    pub fn buckets(self) -> u32 {
        match self {
            Self::Keys => 1,
            Self::Log2(bits) => log2_buckets(bits),
            Self::Linear(min, max, step) => linear_buckets(min, max, step),
        }
    }
}

/// A number of a sample: of a key, in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Which key.
    pub key: u16,
    /// Which bucket; of averages 0 is their count and 1 their sum.
    pub bucket: u16,
    /// As it was read.
    pub value: u64,
}

/// A reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Its numbers.
    pub numbers: Vec<Number>,
}

/// The samples of one map.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    trace: TraceId,
    /// The map that is shown; chosen by the user, or the first one that fits.
    pub map: Option<Arc<str>>,
    kind: Option<(MapKind, Scale)>,
    keys: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u16>,
    /// More keys than are told apart were seen.
    pub crowded: bool,
    samples: Vec<Sample>,
    numbers: usize,
    /// Entry from which on the history was not looked at.
    next: u64,
    /// The history was looked through once: what comes is taken as it comes.
    caught_up: bool,
    /// Of so many readings one is kept.
    every: usize,
    passed: usize,
}

/// Whether a map makes a picture over time.
#[must_use]
pub fn fits(map: &MapSnapshot) -> bool {
    let is_histogram = matches!(map.kind, MapKind::Hist | MapKind::LHist);
    is_histogram || (map.kind != MapKind::TSeries && map.rows.iter().take(8).all(|r| is_number(&r.value)))
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Avg(_) | Value::Stats(_)) || value.as_number().is_some()
}

/// The maps of a script that make a picture.
pub fn maps(document: &Document) -> impl Iterator<Item = &MapSnapshot> {
    document.maps.reading().into_iter().flat_map(|maps| maps.iter()).filter(|map| fits(map))
}

/// A key as it is shown: of stacks the innermost function.
fn key_text(row: &MapRow) -> Arc<str> {
    if row.key.is_empty() {
        return "value".into();
    }
    let mut out = Vec::new();
    for (at, part) in row.key.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        match part {
            Value::Stack(stack) => {
                let innermost = stack.frames.first().and_then(|f| f.symbol.as_deref());
                out.extend_from_slice(innermost.unwrap_or("[no stack]").as_bytes());
            }
            other => render::value_into(other, &mut out),
        }
    }
    out.truncate(512);
    String::from_utf8_lossy(&out).into()
}

fn scale_of(map: &MapSnapshot) -> Scale {
    match map.rows.first().map(|r| &r.value) {
        Some(Value::Hist(h)) => Scale::Log2(h.bits),
        Some(Value::LHist(h)) => Scale::Linear(h.min, h.max, h.step),
        _ => Scale::Keys,
    }
}

impl Feed {
    /// How the rows lie; none before the first reading.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.kind.map(|(_, scale)| scale)
    }

    /// The kind of the map.
    #[must_use]
    pub fn kind(&self) -> Option<MapKind> {
        self.kind.map(|(kind, _)| kind)
    }

    /// Keys that were seen, by number.
    #[must_use]
    pub fn keys(&self) -> &[Arc<str>] {
        &self.keys
    }

    /// All samples, oldest first.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Shows another map.
    pub fn show(&mut self, map: Arc<str>) {
        *self = Self { map: Some(map), ..Self::default() };
    }

    /// Follows the script's trace; true when everything begins anew.
    pub fn settle(&mut self, document: &Document) -> bool {
        let offered = |name: &str| maps(document).any(|m| &*m.name == name);
        let known = self.map.as_deref().is_some_and(offered);
        let first = maps(document).next().map(|m| Arc::clone(&m.name));
        let Some(map) = self.map.clone().filter(|_| known).or(first) else { return false };
        if self.trace == document.trace.id && known {
            return false;
        }
        *self = Self { trace: document.trace.id, map: Some(map), every: 1, ..Self::default() };
        true
    }

    /// Whether there is more of the history to look at.
    #[must_use]
    pub const fn is_behind(&self) -> bool {
        self.map.is_some() && !self.caught_up
    }

    /// Looks at the next chunk of the history.
    pub fn go_on(&mut self, store: &Store) {
        let index = store.index();
        self.next = self.next.max(index.entries().start);
        let Some(at) = index.of_entry(self.next) else {
            self.caught_up = true;
            return;
        };
        let segment = &index.segments()[at];
        if segment.summary.of_trace(self.trace).is_some_and(|t| t.maps > 0)
            && let Some(chunk) = store.chunk(at)
        {
            let _ = chunk.readings(self.trace, &mut |_, _, maps| {
                self.take_one(maps);
                ControlFlow::Continue(())
            });
        }
        self.next = segment.first_entry + u64::from(segment.summary.entries);
    }

    /// Takes the newest reading in, once the history was looked through.
    pub fn follow(&mut self, store: &Store, document: &Document) {
        if !self.caught_up {
            return;
        }
        if !document.trace.paused {
            if let Some(maps) = document.maps.reading() {
                self.take_one(maps);
            }
        } else if let Some(maps) = store.maps_at(self.trace, u64::MAX) {
            self.take_one(&maps);
        }
    }

    fn take_one(&mut self, maps: &[MapSnapshot]) {
        let Some(map) = maps.iter().find(|m| self.map.as_ref() == Some(&m.name)) else { return };
        if self.samples.last().is_none_or(|s| s.at_ns < map.at_ns) {
            self.take(map);
        }
    }

    /// Takes a reading in.
    pub fn take(&mut self, map: &MapSnapshot) {
        let is_empty = map.rows.is_empty();
        if self.kind.is_none() && !is_empty {
            self.kind = Some((map.kind, scale_of(map)));
        }
        self.passed += 1;
        if !self.passed.is_multiple_of(self.every.max(1)) && !is_empty {
            return;
        }
        let mut numbers = Vec::new();
        for row in map.rows.iter().rev().take(MOST_ROWS) {
            if let Some(key) = self.key(row) {
                numbers_of(&row.value, key, &mut numbers);
            }
        }
        numbers.sort_unstable_by_key(|n| (n.key, n.bucket));
        self.numbers += numbers.len();
        self.samples.push(Sample { at_ns: map.at_ns, numbers });
        while self.samples.len() > MOST_SAMPLES || (self.numbers > MOST_NUMBERS && self.samples.len() > 16) {
            self.thin();
        }
    }

    /// The number of a key; none where there are too many.
    fn key(&mut self, row: &MapRow) -> Option<u16> {
        let text = key_text(row);
        if let Some(id) = self.ids.get(&text) {
            return Some(*id);
        }
        if self.keys.len() >= MOST_KEYS {
            self.crowded = true;
            return None;
        }
        let id = self.keys.len() as u16;
        self.keys.push(Arc::clone(&text));
        self.ids.insert(text, id);
        Some(id)
    }

    /// Lets every other sample go, but the newest.
    fn thin(&mut self) {
        let last = self.samples.len() - 1;
        let mut at = 0;
        self.samples.retain(|_| {
            at += 1;
            at % 2 == 1 || at == last + 1
        });
        self.numbers = self.samples.iter().map(|s| s.numbers.len()).sum();
        self.every = self.every.max(1) * 2;
    }

    /// Whether numbers are those since the begin, so that differences tell what came in between.
    #[must_use]
    pub fn grows(&self) -> bool {
        self.kind().is_some_and(only_grows)
    }
}

fn numbers_of(value: &Value, key: u16, out: &mut Vec<Number>) {
    let mut push = |bucket: usize, value: u64| {
        if let Ok(bucket) = u16::try_from(bucket)
            && value > 0
        {
            out.push(Number { key, bucket, value });
        }
    };
    match value {
        Value::Hist(h) => {
            let Log2 { counts, .. } = &**h;
            counts.iter().enumerate().for_each(|(bucket, count)| push(bucket, *count));
        }
        Value::LHist(h) => {
            let Linear { counts, .. } = &**h;
            counts.iter().enumerate().for_each(|(bucket, count)| push(bucket, *count));
        }
        Value::Avg(s) | Value::Stats(s) => {
            push(0, s.count);
            push(1, weight(value));
        }
        other => push(0, weight(other)),
    }
}
