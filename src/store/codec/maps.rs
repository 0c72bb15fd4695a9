//! Maps as what changed since they were read before.
//!
//! Rows come in the order of the printers, by value, so that a changed row moves. A map is therefore written as
//! runs: of rows that stand in the old map in the same order, of old rows with new values, and of new rows.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;

use super::Encoder;
use super::decode::Decoder;
use super::values::Tag;
use super::varint::{put, put_signed};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::Value;

/// What a run of rows is.
const SAME: u64 = 0;
const CHANGED: u64 = 1;
const NEW: u64 = 2;
/// In place of a type plus one: a number follows that is added to the old one.
const DIFFERENCE: u64 = 0;

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// An old row.
    Same(usize),
    /// An old row with another value.
    Changed(usize),
    New,
}

impl Source {
    /// Whether a row goes on with the run of the one before.
    fn follows(self, before: Self) -> bool {
        match (before, self) {
            (Self::Same(a), Self::Same(b)) => b == a + 1,
            (Self::Changed(_), Self::Changed(_)) | (Self::New, Self::New) => true,
            _ => false,
        }
    }
}

impl Encoder {
    /// Appends maps read together, as differences to `old` where there are some.
    pub fn maps(&mut self, maps: &[MapSnapshot], old: &[MapSnapshot], at_ns: u64, out: &mut Vec<u8>) {
        put(out, maps.len() as u64);
        for (index, map) in maps.iter().enumerate() {
            let before = old.get(index).filter(|o| o.name == map.name);
            self.map(map, before, at_ns, out);
        }
    }

    /// Appends a map.
    pub fn map(&mut self, map: &MapSnapshot, old: Option<&MapSnapshot>, at_ns: u64, out: &mut Vec<u8>) {
        let name = self.string(map.name.as_bytes());
        put(out, name);
        out.push(kind_code(map.kind) << 1 | u8::from(map.keyed));
        put(out, u64::from(map.capacity));
        put_signed(out, at_ns.wrapping_sub(map.at_ns) as i64);
        let old = old.map_or(&[][..], |o| &o.rows);
        let sources = self.sources(&map.rows, old);
        put(out, map.rows.len() as u64);
        let mut start = 0;
        let mut expected = 0;
        while start < sources.len() {
            let run = sources[start..].windows(2).take_while(|w| w[1].follows(w[0])).count() + 1;
            self.run(&map.rows, old, &sources, start..start + run, &mut expected, out);
            start += run;
        }
    }

    /// Appends a run of rows of one kind.
    fn run(
        &mut self,
        rows: &[MapRow],
        old: &[MapRow],
        sources: &[Source],
        run: Range<usize>,
        expected: &mut usize,
        out: &mut Vec<u8>,
    ) {
        let length = run.len() as u64;
        let mut jump = |from: usize, out: &mut Vec<u8>, count: usize| {
            put_signed(out, from.wrapping_sub(*expected) as i64);
            *expected = from + count;
        };
        match sources[run.start] {
            Source::Same(from) => {
                put(out, length << 2 | SAME);
                jump(from, out, run.len());
            }
            Source::Changed(_) => {
                put(out, length << 2 | CHANGED);
                for at in run {
                    if let Source::Changed(from) = sources[at] {
                        jump(from, out, 1);
                        self.changed(&rows[at].value, &old[from].value, out);
                    }
                }
            }
            Source::New => {
                put(out, length << 2 | NEW);
                for row in &rows[run] {
                    put(out, row.key.len() as u64);
                    row.key.iter().for_each(|part| self.tagged(part, 0, out));
                    self.tagged(&row.value, 0, out);
                }
            }
        }
    }

    /// Where each row comes from; no old row is used twice.
    fn sources(&mut self, rows: &[MapRow], old: &[MapRow]) -> Vec<Source> {
        let mut used = vec![false; old.len()];
        let mut by_key: Option<HashMap<u64, usize>> = None;
        let mut expected = 0;
        let mut sources = Vec::with_capacity(rows.len());
        let hasher = foldhash::fast::RandomState::default();
        for row in rows {
            let found = if old.is_empty() {
                None
            } else if old.get(expected).is_some_and(|o| o.key == row.key) {
                Some(expected)
            } else {
                let by_key = by_key.get_or_insert_with(|| {
                    old.iter().enumerate().map(|(i, o)| (self.key_hash(&o.key, &hasher), i)).collect()
                });
                by_key.get(&self.key_hash(&row.key, &hasher)).copied().filter(|i| old[*i].key == row.key)
            };
            sources.push(match found.filter(|i| !used[*i]) {
                Some(index) => {
                    used[index] = true;
                    expected = index + 1;
                    if old[index].value == row.value { Source::Same(index) } else { Source::Changed(index) }
                }
                None => Source::New,
            });
        }
        sources
    }

    fn key_hash(&mut self, key: &[Value], hasher: &impl BuildHasher) -> u64 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        key.iter().for_each(|part| self.tagged(part, 0, &mut scratch));
        let hash = hasher.hash_one(&scratch[..]);
        self.scratch = scratch;
        hash
    }

    /// Appends a value that has replaced another: a number as the difference.
    fn changed(&mut self, value: &Value, old: &Value, out: &mut Vec<u8>) {
        let tag = Tag::of(value);
        match (value, old) {
            (Value::Int(v, _), Value::Int(o, _)) if tag == Tag::of(old) => {
                put(out, DIFFERENCE);
                put_signed(out, v.wrapping_sub(*o));
            }
            (Value::Uint(v, _), Value::Uint(o, _)) if tag == Tag::of(old) => {
                put(out, DIFFERENCE);
                put_signed(out, v.wrapping_sub(*o) as i64);
            }
            _ => {
                put(out, u64::from(tag.0) + 1);
                self.value(value, 0, out);
            }
        }
    }
}

impl Decoder<'_> {
    /// Maps read together, with those that they differ from.
    pub fn maps(&mut self, old: &[MapSnapshot], at_ns: u64) -> Option<Vec<MapSnapshot>> {
        let count = self.reader.count(5)?;
        (0..count).map(|index| self.map(old.get(index), at_ns)).collect()
    }

    /// A map.
    pub fn map(&mut self, old: Option<&MapSnapshot>, at_ns: u64) -> Option<MapSnapshot> {
        let name = self.string()?;
        let code = self.reader.byte()?;
        let kind = kind_of(code >> 1)?;
        let capacity = self.reader.small()?;
        let at_ns = at_ns.wrapping_sub(self.reader.signed()? as u64);
        let old = old.filter(|o| o.name == name).map_or(&[][..], |o| &o.rows);
        let rows = self.rows(old)?;
        Some(MapSnapshot { name, kind, keyed: code & 1 != 0, rows, capacity, at_ns })
    }

    fn rows(&mut self, old: &[MapRow]) -> Option<Vec<MapRow>> {
        let count = usize::try_from(self.reader.number()?).ok()?;
        // Each row is an old one, used once, or has bytes of its own.
        let mut rows = Vec::with_capacity(count.min(old.len() + self.reader.left()));
        let mut used = vec![false; old.len()];
        let mut expected = 0_usize;
        while rows.len() < count {
            let code = self.reader.number()?;
            let length = usize::try_from(code >> 2).ok().filter(|n| *n > 0 && *n <= count - rows.len())?;
            match code & 3 {
                SAME => {
                    let from = expected.wrapping_add(self.reader.signed()? as usize);
                    expected = from.checked_add(length)?;
                    for at in from..expected {
                        rows.push(take_old(old, &mut used, at)?.clone());
                    }
                }
                CHANGED => {
                    for _ in 0..length {
                        let from = expected.wrapping_add(self.reader.signed()? as usize);
                        expected = from.checked_add(1)?;
                        let row = take_old(old, &mut used, from)?;
                        rows.push(MapRow { key: row.key.clone(), value: self.changed(&row.value)? });
                    }
                }
                NEW => {
                    for _ in 0..length {
                        let parts = self.reader.count(1)?;
                        let key = (0..parts).map(|_| self.tagged(0)).collect::<Option<_>>()?;
                        rows.push(MapRow { key, value: self.tagged(0)? });
                    }
                }
                _ => return None,
            }
        }
        Some(rows)
    }

    fn changed(&mut self, old: &Value) -> Option<Value> {
        let code = self.reader.number()?;
        if code != DIFFERENCE {
            return self.value(Tag(u16::try_from(code - 1).ok()?), 0);
        }
        let difference = self.reader.signed()?;
        match old {
            Value::Int(v, size) => Some(Value::Int(v.wrapping_add(difference), *size)),
            Value::Uint(v, size) => Some(Value::Uint(v.wrapping_add(difference as u64), *size)),
            _ => None,
        }
    }
}

fn take_old<'a>(old: &'a [MapRow], used: &mut [bool], at: usize) -> Option<&'a MapRow> {
    let used = used.get_mut(at)?;
    let row = old.get(at).filter(|_| !*used)?;
    *used = true;
    Some(row)
}

const fn kind_code(of: MapKind) -> u8 {
    match of {
        MapKind::Value => 0,
        MapKind::Count => 1,
        MapKind::Sum => 2,
        MapKind::Min => 3,
        MapKind::Max => 4,
        MapKind::Avg => 5,
        MapKind::Stats => 6,
        MapKind::Hist => 7,
        MapKind::LHist => 8,
        MapKind::TSeries => 9,
    }
}

const fn kind_of(code: u8) -> Option<MapKind> {
    Some(match code {
        0 => MapKind::Value,
        1 => MapKind::Count,
        2 => MapKind::Sum,
        3 => MapKind::Min,
        4 => MapKind::Max,
        5 => MapKind::Avg,
        6 => MapKind::Stats,
        7 => MapKind::Hist,
        8 => MapKind::LHist,
        9 => MapKind::TSeries,
        _ => return None,
    })
}
