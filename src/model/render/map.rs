//! Maps as text.

use std::borrow::Cow;

use super::append_lossy;
use super::histogram::{linear_rows, log2_rows, text as bars};
use super::series::{self, Clock};
use super::stream::Field;
use super::value::{number, value_into, write};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::{Summary, Value};

/// `print(@map, top, div)` and the clock of charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    /// Print only the largest entries, this many; 0 for all. Charts are never cut.
    pub top: u64,
    /// Divide what is printed; 0 or 1 for not. Divides averages but neither counts nor totals, and
    /// leaves `lhist` and `tseries` as they are, like bpftrace.
    pub div: u64,
    /// For `tseries`.
    pub clock: Clock,
}

/// Appends a whole map; rows in the snapshot's order.
pub fn map(snapshot: &MapSnapshot, out: &mut String) {
    append_lossy(out, |bytes| map_into(snapshot, &MapOptions::default(), bytes));
}

/// Appends a whole map; traced strings keep their bytes.
///
/// A scalar aggregation without a value prints as 0, as when `print` names one that was cleared.
pub fn map_into(snapshot: &MapSnapshot, options: &MapOptions, out: &mut Vec<u8>) {
    for row in shown_rows(snapshot, options.top).iter() {
        entry(snapshot, row, options, out);
    }
}

/// The rows that are printed: the last `top` of them, and an empty scalar's zero.
pub fn shown_rows(snapshot: &MapSnapshot, top: u64) -> Cow<'_, [MapRow]> {
    if snapshot.rows.is_empty() && !snapshot.keyed {
        let zero = match snapshot.kind {
            MapKind::Count | MapKind::Sum | MapKind::Min | MapKind::Max => Value::Int(0, 8),
            MapKind::Avg => Value::Avg(Summary::default()),
            MapKind::Stats => Value::Stats(Summary::default()),
            MapKind::Value | MapKind::Hist | MapKind::LHist | MapKind::TSeries => return Cow::Borrowed(&[]),
        };
        return Cow::Owned(vec![MapRow { key: Vec::new(), value: zero }]);
    }
    let top = usize::try_from(top).unwrap_or(usize::MAX);
    let skip = match snapshot.kind {
        MapKind::TSeries => 0,
        _ if top == 0 => 0,
        _ => snapshot.rows.len().saturating_sub(top),
    };
    Cow::Borrowed(&snapshot.rows[skip..])
}

fn entry(snapshot: &MapSnapshot, row: &MapRow, options: &MapOptions, out: &mut Vec<u8>) {
    out.extend_from_slice(snapshot.name.as_bytes());
    if snapshot.keyed {
        out.push(b'[');
        key_into(&row.key, out);
        out.push(b']');
    }
    match &row.value {
        Value::Hist(h) => {
            out.extend_from_slice(b":\n");
            bars(&log2_rows(h), options.div, out);
        }
        Value::LHist(h) => {
            out.extend_from_slice(b":\n");
            bars(&linear_rows(h), 1, out);
        }
        Value::TSeries(s) => {
            out.extend_from_slice(b":\n");
            series::chart(s, &options.clock, out);
        }
        other => {
            out.extend_from_slice(b": ");
            divided(other, options.div, out);
        }
    }
    out.push(b'\n');
}

/// The parts of a key, joined as they print between the brackets.
fn key_into(key: &[Value], out: &mut Vec<u8>) {
    for (i, part) in key.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        value_into(part, out);
    }
}

/// The value divided, as `print` divides: nothing but numbers, rounded towards zero.
pub fn divide(value: &Value, div: u64) -> Cow<'_, Value> {
    if div < 2 {
        return Cow::Borrowed(value);
    }
    let signed = i64::try_from(div).unwrap_or(i64::MAX);
    Cow::Owned(match value {
        Value::Int(v, size) => Value::Int(v / signed, *size),
        Value::Uint(v, size) => Value::Uint(v / div, *size),
        Value::Avg(s) => {
            let average = if s.signed { s.average() / signed } else { (s.average() as u64 / div) as i64 };
            if s.signed { Value::Int(average, 8) } else { Value::Uint(average as u64, 8) }
        }
        other => return Cow::Borrowed(other),
    })
}

fn divided(value: &Value, div: u64, out: &mut Vec<u8>) {
    match value {
        Value::Stats(s) if div > 1 => stats_divided(s, div, out),
        other => write(&divide(other, div), &mut Field::plain(), out),
    }
}

/// Only the average is divided.
fn stats_divided(s: &Summary, div: u64, out: &mut Vec<u8>) {
    let average =
        if s.signed { s.average() / i64::try_from(div).unwrap_or(i64::MAX) } else { (s.average() as u64 / div) as i64 };
    out.extend_from_slice(format!("{{ .count = {}, .average = ", s.count).as_bytes());
    number(average, s.signed, &mut Field::plain(), out);
    out.extend_from_slice(b", .total = ");
    number(s.total, s.signed, &mut Field::plain(), out);
    out.extend_from_slice(b" }");
}
