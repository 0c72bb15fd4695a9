//! Rows of an X-ray: what the maps of its script say of each function.

use std::collections::BTreeMap;

use super::render;
use super::snapshot::{MapRow, MapSnapshot};
use super::value::Value;

/// Names of the maps that make an X-ray.
const MAPS: [&str; 5] = ["@calls", "@arguments", "@ns", "@longest", "@result"];

/// A function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct XrayRow {
    /// Its name.
    pub function: String,
    /// Calls that were counted.
    pub calls: u64,
    /// Calls that were timed from entry to return.
    pub timed: u64,
    /// The bucket that holds the median, ns: first value and one past the last.
    pub p50_ns: Option<(u64, u64)>,
    /// The same of the 99th percentile.
    pub p99_ns: Option<(u64, u64)>,
    /// The longest, ns.
    pub max_ns: Option<u64>,
    /// The first arguments of the last call.
    pub arguments: Vec<u64>,
    /// What it returned last.
    pub result: Option<u64>,
}

/// What rows are sorted by, largest first; names ascend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XrayOrder {
    /// How often.
    #[default]
    Calls,
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// Longest.
    Max,
    /// Name.
    Function,
}

/// Whether these maps are those of an X-ray.
#[must_use]
pub fn is_xray(maps: &[MapSnapshot]) -> bool {
    MAPS.iter().all(|name| maps.iter().any(|map| &*map.name == *name))
}

/// A row for each function, sorted.
#[must_use]
pub fn rows(maps: &[MapSnapshot], order: XrayOrder) -> Vec<XrayRow> {
    let mut by_function: BTreeMap<String, XrayRow> = BTreeMap::new();
    for map in maps {
        for MapRow { key, value } in &map.rows {
            let [function] = key.as_slice() else { continue };
            let name = text(function);
            let row =
                by_function.entry(name.clone()).or_insert_with(|| XrayRow { function: name, ..XrayRow::default() });
            take(row, &map.name, value);
        }
    }
    let mut rows: Vec<XrayRow> = by_function.into_values().collect();
    rows.iter_mut().for_each(XrayRow::bound);
    sort(&mut rows, order);
    rows
}

fn take(row: &mut XrayRow, map: &str, value: &Value) {
    match (map, value) {
        ("@calls", _) => row.calls = number(value).unwrap_or(0),
        ("@longest", _) => row.max_ns = number(value),
        ("@result", _) => row.result = number(value),
        ("@arguments", Value::Tuple(words)) => row.arguments = words.iter().filter_map(number).collect(),
        ("@ns", Value::Hist(hist)) => {
            row.timed = hist.total();
            let bucket = |part| {
                let index = quantile(&hist.counts, part)?;
                let (low, high) = hist.bounds(index);
                Some((low.unwrap_or(0).max(0) as u64, high.map_or(u64::MAX, |high| high.max(0) as u64)))
            };
            (row.p50_ns, row.p99_ns) = (bucket(0.5), bucket(0.99));
        }
        _ => {}
    }
}

/// The middle of a bucket.
#[must_use]
pub const fn middle((low, high): (u64, u64)) -> u64 {
    low + high.saturating_sub(low) / 2
}

/// The bucket in which a quantile lies.
fn quantile(counts: &[u64], part: f64) -> Option<u32> {
    let total: u64 = counts.iter().sum();
    let wanted = ((total as f64) * part).ceil().max(1.0) as u64;
    let mut seen = 0;
    let at = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    })?;
    u32::try_from(at).ok()
}

fn number(value: &Value) -> Option<u64> {
    value.as_number().map(|n| n as u64)
}

fn text(value: &Value) -> String {
    let mut out = String::new();
    render::value(value, &mut out);
    out
}

fn sort(rows: &mut [XrayRow], order: XrayOrder) {
    let largest_first = |of: &dyn Fn(&XrayRow) -> u64, a: &XrayRow, b: &XrayRow| of(b).cmp(&of(a));
    let start = |bucket: Option<(u64, u64)>| bucket.map_or(0, |(low, _)| low);
    // Rows come in the order of their names, which holds among equals.
    rows.sort_by(|a, b| match order {
        XrayOrder::Calls => largest_first(&|r| r.calls, a, b),
        XrayOrder::P50 => largest_first(&|r| start(r.p50_ns), a, b),
        XrayOrder::P99 => largest_first(&|r| start(r.p99_ns), a, b),
        XrayOrder::Max => largest_first(&|r| r.max_ns.unwrap_or(0), a, b),
        XrayOrder::Function => a.function.cmp(&b.function),
    });
}

/// A word of the kernel as people read it: small numbers and errors in decimal, addresses in hexadecimal.
#[must_use]
pub fn word_text(word: u64) -> String {
    const LAST_ERROR: i64 = -4095;
    let (long, int) = (word as i64, word as u32 as i32);
    if (LAST_ERROR..0).contains(&long) {
        return long.to_string();
    }
    // An `int` leaves the upper half of its register as it is.
    if word >> 32 == 0 && (LAST_ERROR..0).contains(&i64::from(int)) {
        return int.to_string();
    }
    if word < 1 << 24 { word.to_string() } else { format!("{word:#x}") }
}

impl XrayRow {
    /// No quantile lies beyond the longest: its bucket ends there.
    fn bound(&mut self) {
        let Some(max) = self.max_ns else { return };
        for (low, high) in [&mut self.p50_ns, &mut self.p99_ns].into_iter().flatten() {
            *low = (*low).min(max);
            *high = (*high).min(max.saturating_add(1));
        }
    }

    /// Its arguments as a call has them.
    #[must_use]
    pub fn arguments_text(&self) -> String {
        self.arguments.iter().map(|word| word_text(*word)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::histogram::{Log2, log2_bucket, log2_buckets};
    use crate::model::snapshot::MapKind;

    fn map(name: &str, rows: &[(&str, Value)]) -> MapSnapshot {
        let row = |(function, value): &(&str, Value)| MapRow {
            key: vec![Value::Text((*function).into(), 1)],
            value: value.clone(),
        };
        let rows = rows.iter().map(row).collect();
        MapSnapshot { name: name.into(), kind: MapKind::Value, keyed: true, rows, capacity: 4096, at_ns: 0 }
    }

    fn hist(values: &[i64]) -> Value {
        let mut counts = vec![0; log2_buckets(3) as usize];
        for value in values {
            counts[log2_bucket(*value, 3) as usize] += 1;
        }
        Value::Hist(Arc::new(Log2 { bits: 3, counts }))
    }

    #[test]
    fn maps_are_joined_by_function() {
        let words = |words: &[u64]| Value::Tuple(words.iter().map(|w| Value::Uint(*w, 8)).collect());
        let maps = [
            map("@calls", &[("f", Value::Uint(3, 8)), ("g", Value::Uint(9, 8))]),
            map("@arguments", &[("f", words(&[0xffff_8880_0000_1000, 5]))]),
            map("@ns", &[("f", hist(&[100, 100, 5000]))]),
            map("@longest", &[("f", Value::Uint(5000, 8))]),
            map("@result", &[("f", Value::Uint(0xffff_fff5, 8))]),
        ];
        assert!(is_xray(&maps) && !is_xray(&maps[1..]));
        // The bucket of 5,000 goes on to 5,120.
        let ends = rows(&maps, XrayOrder::Max)[0].p99_ns.map(|(_, end)| end);
        assert_eq!(ends, Some(5001), "no quantile is beyond the longest");
        assert!(rows(&maps, XrayOrder::Max)[0].p99_ns.map(middle) <= Some(5000));
        let by_calls = rows(&maps, XrayOrder::Calls);
        assert_eq!((by_calls[0].function.as_str(), by_calls[0].calls), ("g", 9));
        let f = &rows(&maps, XrayOrder::Max)[0];
        assert_eq!((f.function.as_str(), f.timed, f.max_ns), ("f", 3, Some(5000)));
        let holds = |bucket: Option<(u64, u64)>, n: u64| bucket.is_some_and(|(low, high)| (low..high).contains(&n));
        assert!(holds(f.p50_ns, 100) && holds(f.p99_ns, 5000), "{f:?}");
        assert_eq!(f.arguments_text(), "0xffff888000001000, 5");
        assert_eq!(f.result.map(word_text).as_deref(), Some("-11"));
    }
}
