//! The maps of a script that runs in user space.

use std::collections::HashMap;

use super::datum::{Datum, extend};
use crate::engine::maps::{arranged, reduce};
use crate::lang::typed::{Map, Program, aggregate_size};
use crate::lang::types::{Aggregation, Reduce, Type};
use crate::model::histogram::{linear_bucket, log2_bucket};
use crate::model::snapshot::{MapRow, MapSnapshot};
use crate::model::value::Value;

/// One map.
#[derive(Debug, Default)]
pub struct Elements {
    by_key: HashMap<Vec<u8>, (Datum, Content)>,
    /// New keys that found it full.
    pub refused: u64,
}

/// What stands at a key.
#[derive(Debug)]
enum Content {
    Value(Datum),
    /// As one CPU's part of an aggregation lies in memory (`engine::maps` reads it).
    Aggregate(Vec<u8>),
}

/// The bytes that tell a key from others.
fn identity(key: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.identify(&mut bytes);
    bytes
}

impl Elements {
    /// The value at a key: of an aggregation what it amounts to.
    pub fn get(&self, key: &Datum, map: &Map) -> Datum {
        match (self.by_key.get(&identity(key)), &map.value) {
            (Some((_, Content::Value(value))), _) => value.clone(),
            (Some((_, Content::Aggregate(bytes))), Type::Agg(of)) => {
                Datum::Number(reduce(*of, std::slice::from_ref(bytes)).as_number().map_or(0, |n| n as u64))
            }
            _ => Datum::None,
        }
    }

    pub fn has(&self, key: &Datum) -> bool {
        self.by_key.contains_key(&identity(key))
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn remove(&mut self, key: &Datum) -> bool {
        self.by_key.remove(&identity(key)).is_some()
    }

    pub fn clear(&mut self) {
        self.by_key.clear();
    }

    /// Sets every value to zero and keeps the keys.
    pub fn zero(&mut self) {
        for (_, content) in self.by_key.values_mut() {
            match content {
                Content::Value(value) => *value = Datum::None,
                Content::Aggregate(bytes) => bytes.fill(0),
            }
        }
    }

    /// The keys and values there are, for a loop over them.
    pub fn pairs(&self, map: &Map) -> Vec<(Datum, Datum)> {
        self.by_key.values().map(|(key, _)| (key.clone(), self.get(key, map))).collect()
    }

    /// Sets a value.
    pub fn set(&mut self, key: Datum, value: Datum, map: &Map) {
        if let Some(content) = self.at(key, map) {
            *content = Content::Value(value);
        }
    }

    /// Aggregates a value; `at_ns` is its moment on the wall clock.
    pub fn aggregate(&mut self, key: Datum, value: u64, weight: u64, at_ns: u64, map: &Map) {
        let Type::Agg(of) = &map.value else { return };
        if let Some(Content::Aggregate(bytes)) = self.at(key, map) {
            add(*of, bytes, value, weight, at_ns);
        }
    }

    fn at(&mut self, key: Datum, map: &Map) -> Option<&mut Content> {
        let bytes = identity(&key);
        if !self.by_key.contains_key(&bytes) && self.by_key.len() >= map.max_entries.max(1) as usize {
            self.refused += 1;
            return None;
        }
        let empty = || match &map.value {
            Type::Agg(of) => Content::Aggregate(vec![0; aggregate_size(*of) as usize]),
            _ => Content::Value(Datum::None),
        };
        Some(&mut self.by_key.entry(bytes).or_insert_with(|| (key, empty())).1)
    }

    /// The whole map, or what stands at one key.
    pub fn snapshot(&self, map: &Map, program: &Program, only: Option<&Datum>, at_ns: u64) -> MapSnapshot {
        let only = only.map(identity);
        let chosen = self.by_key.iter().filter(|(bytes, _)| only.as_ref().is_none_or(|only| only == *bytes));
        let rows = chosen.map(|(bytes, (key, content))| {
            let value = match (content, &map.value) {
                (Content::Aggregate(bytes), Type::Agg(of)) => reduce(*of, std::slice::from_ref(bytes)),
                (Content::Value(value), ty) => value.shown(ty, program),
                (Content::Aggregate(_), _) => Value::None,
            };
            (bytes.clone(), MapRow { key: parts(key, &map.key, program), value })
        });
        arranged(map, rows.collect(), at_ns)
    }
}

fn parts(key: &Datum, ty: &Type, program: &Program) -> Vec<Value> {
    match ty {
        Type::Void => Vec::new(),
        _ => match key.shown(ty, program) {
            Value::Tuple(parts) => parts.to_vec(),
            one => vec![one],
        },
    }
}

/// One CPU's part of an aggregation, as its words lie in memory.
struct Words<'a>(&'a mut [u8]);

impl Words<'_> {
    fn get(&self, at: usize) -> u64 {
        let word = self.0.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    }

    fn set(&mut self, at: usize, value: u64) {
        if let Some(word) = self.0.get_mut(at * 8..at * 8 + 8) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn add(&mut self, at: usize, value: u64) {
        self.set(at, self.get(at).wrapping_add(value));
    }
}

/// What a firing does to one CPU's part of an aggregation.
fn add(of: Aggregation, bytes: &mut [u8], value: u64, weight: u64, at_ns: u64) {
    let mut words = Words(bytes);
    let less = |a: u64, b: u64, signed: bool| if signed { (a as i64) < (b as i64) } else { a < b };
    match of {
        Aggregation::Count => words.add(0, weight),
        Aggregation::Sum { .. } => words.add(0, value.wrapping_mul(weight)),
        Aggregation::Min { signed } if words.get(1) != 0 && !less(value, words.get(0), signed) => {}
        Aggregation::Max { signed } if words.get(1) != 0 && !less(words.get(0), value, signed) => {}
        Aggregation::Min { .. } | Aggregation::Max { .. } => {
            words.set(0, value);
            words.set(1, 1);
        }
        Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
            words.add(0, value.wrapping_mul(weight));
            words.add(1, weight);
        }
        // Only D programs have them, which do not run here (see `Rerun::prepare`).
        Aggregation::LogLinear(_) | Aggregation::Quantize | Aggregation::StdDev => {}
        Aggregation::Hist { bits } => words.add(log2_bucket(value as i64, bits) as usize, weight),
        Aggregation::LHist { min, max, step } => {
            words.add(linear_bucket(value as i64, min, max, step) as usize, weight);
        }
        Aggregation::TSeries { interval_ns, buckets, reduce, signed } => {
            let epoch = at_ns / interval_ns.max(1);
            let slot = (epoch % u64::from(buckets.max(1))) as usize * 3;
            let fresh = words.get(slot) != epoch || words.get(slot + 2) == 0;
            let old = words.get(slot + 1);
            let value = match reduce {
                _ if fresh => value,
                Reduce::Last => value,
                Reduce::Avg | Reduce::Sum => old.wrapping_add(value),
                Reduce::Max => {
                    if less(old, value, signed) {
                        value
                    } else {
                        old
                    }
                }
                Reduce::Min => {
                    if less(value, old, signed) {
                        value
                    } else {
                        old
                    }
                }
            };
            let count = match reduce {
                // The moment of the value stands in place of the count.
                Reduce::Last => at_ns,
                _ if fresh => 1,
                _ => words.get(slot + 2) + 1,
            };
            words.set(slot, epoch);
            words.set(slot + 1, value);
            words.set(slot + 2, count);
        }
    }
}

/// A number of a map's values.
pub fn of_map(bits: u64, map: &Map) -> Datum {
    Datum::Number(extend(bits, &map.value))
}
