//! Aggregations: their order, tables and histograms, and `printa`.

use std::cmp::Ordering;
use std::io::Write as _;

use super::format::convert;
use crate::model::bytes::bytes_of;
use crate::model::d::{Count, Format, Piece, Style};
use crate::model::histogram::{Linear, Log2, LogLinear};
use crate::model::value::Value;

/// One key with its value in each of the aggregations that are printed together, as whole numbers divided by the
/// aggregation's norm.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The parts of the key.
    pub key: &'a [Value],
    /// Values and norms; absent where an aggregation lacks the key.
    pub values: Vec<(Option<&'a Value>, i64)>,
}

/// In which order rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// By key, and not by value.
    pub by_key: bool,
    /// Descending.
    pub reversed: bool,
    /// Which of several aggregations decides.
    pub position: usize,
    /// Which part of the key decides.
    pub key_position: usize,
}

impl Order {
    /// Sorts rows.
    pub fn sort(self, rows: &mut [Row<'_>]) {
        rows.sort_by(|a, b| {
            let (by_key, by_value) = (self.keys(a, b), self.values(a, b));
            let order = if self.by_key { by_key.then(by_value) } else { by_value.then(by_key) };
            if self.reversed { order.reverse() } else { order }
        });
    }

    fn values(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let count = a.values.len();
        let first = if self.position < count { self.position } else { 0 };
        let order = (0..count).map(|i| (first + i) % count.max(1));
        let one = |i: usize| weight(a.values[i].0).cmp(&weight(b.values[i].0));
        order.map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn keys(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let count = a.key.len().min(b.key.len());
        let first = if self.key_position < count { self.key_position } else { 0 };
        let order = (0..count).map(|i| (first + i) % count.max(1));
        let one = |i: usize| match (&a.key[i], &b.key[i]) {
            (Value::Str(x), Value::Str(y)) => x.cmp(y),
            // Names of functions are numbers in the kernel.
            (Value::Text(x, _), Value::Text(y, _)) => x.cmp(y),
            (x, y) => key_number(x).cmp(&key_number(y)),
        };
        order.map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// What keys are compared by: numbers as if they had no sign, as the reference has it.
fn key_number(value: &Value) -> i128 {
    match value {
        Value::Int(n, size) => {
            let spare = 64 - u32::from((*size).clamp(1, 8)) * 8;
            i128::from((*n as u64) << spare >> spare)
        }
        other => other.as_number().unwrap_or(0),
    }
}

/// What values are compared by; histograms by the sum of their values, then by how many lie at 0.
pub fn weight(value: Option<&Value>) -> (i128, i64) {
    match value {
        Some(Value::Hist(h)) => {
            let sum = h.counts.iter().enumerate().fold(0_i128, |s, (i, n)| {
                s.saturating_add(i128::from(bucket_value(i)).saturating_mul(i128::from(*n as i64)))
            });
            (sum, h.counts.get(63).copied().unwrap_or(0) as i64)
        }
        Some(Value::LHist(h)) if let Some(shape) = h.log_linear() => {
            let middle = shape.middle() as usize;
            let count = |at: usize| i128::from(h.counts.get(at).copied().unwrap_or(0) as i64);
            let one = |(at, start): (u32, u64)| {
                i128::from(start).saturating_mul(count(middle + at as usize) - count(middle - at as usize))
            };
            let sum = shape.starts().into_iter().map(one).fold(0_i128, i128::saturating_add);
            (sum, count(middle) as i64)
        }
        Some(Value::LHist(h)) => {
            let mut sum = 0_i128;
            let last = h.counts.len().saturating_sub(1);
            for (i, n) in h.counts.iter().enumerate() {
                let at = match i {
                    0 => i128::from(h.min) - 1,
                    i if i == last => i128::from(h.max) + 1,
                    i => i128::from(h.min) + (i as i128 - 1) * i128::from(h.step),
                };
                sum = sum.saturating_add(at.saturating_mul(i128::from(*n as i64)));
            }
            (sum, 0)
        }
        Some(value) => (value.as_number().unwrap_or(0), 0),
        None => (0, 0),
    }
}

/// Lower edge of a bucket of `quantize`.
fn bucket_value(bucket: usize) -> i64 {
    match bucket.cmp(&63) {
        Ordering::Equal => 0,
        Ordering::Greater => 1_i64.checked_shl(bucket as u32 - 64).unwrap_or(i64::MAX),
        Ordering::Less => 1_i64.checked_shl(62 - bucket as u32).unwrap_or(i64::MAX).wrapping_neg(),
    }
}

fn divided(value: &Value, norm: i64) -> i64 {
    let number = value.as_number().unwrap_or(0) as i64;
    if norm > 1 { number.wrapping_div(norm) } else { number }
}

/// A table without a format: a blank line and a row a key. Nothing is printed of no rows.
pub fn table(style: Style, rows: &[Row<'_>], out: &mut Vec<u8>) {
    for row in rows {
        for part in row.key {
            key(style, part, out);
        }
        for (value, norm) in &row.values {
            match value {
                Some(value) => self::value(value, *norm, out),
                None => {
                    let _ = write!(out, " {:>16}", 0);
                }
            }
        }
        out.push(b'\n');
    }
}

fn key(style: Style, part: &Value, out: &mut Vec<u8>) {
    let _ = match part {
        Value::Str(text) => {
            out.extend_from_slice(b"  ");
            out.extend_from_slice(text);
            out.extend(std::iter::repeat_n(b' ', 50_usize.saturating_sub(text.len())));
            return;
        }
        Value::Text(text, _) => write!(out, "  {text:<50}"),
        Value::Stack(stack) => {
            super::stack(style.stack_indent, stack, out);
            return;
        }
        Value::Int(n, 8) => write!(out, " {n:>16}"),
        Value::Int(n, 4) => write!(out, " {n:>8}"),
        // The reference prints short ones without a sign.
        Value::Int(n, 2) => write!(out, " {:>5}", *n as u16),
        Value::Int(n, 1) => write!(out, " {:>3}", *n as u8),
        Value::Int(n, _) => write!(out, " {n:>8}"),
        // Numbers without a sign print as those with one.
        Value::Uint(n, 4) => write!(out, " {:>8}", *n as i32),
        Value::Uint(n, 2) => write!(out, " {n:>5}"),
        Value::Uint(n, 1) => write!(out, " {n:>3}"),
        other => write!(out, " {:>16}", other.as_number().unwrap_or(0) as i64),
    };
}

fn value(value: &Value, norm: i64, out: &mut Vec<u8>) {
    match value {
        Value::Hist(h) => log2(h, norm, out),
        Value::LHist(h) => linear(h, norm, out),
        other => {
            let _ = write!(out, " {:>16}", divided(other, norm));
        }
    }
}

/// The buckets that are printed: those with values and one on each side.
fn shown(counts: &[u64], otherwise: (usize, usize)) -> (usize, usize) {
    let used = |(i, n): (usize, &u64)| (*n != 0).then_some(i);
    let first = counts.iter().enumerate().find_map(used);
    let last = counts.iter().enumerate().rev().find_map(used);
    match (first, last) {
        (Some(first), Some(last)) => (first.saturating_sub(1), (last + 1).min(counts.len().saturating_sub(1))),
        _ => (otherwise.0, otherwise.1.min(counts.len().saturating_sub(1))),
    }
}

fn rows(
    counts: &[u64],
    (first, last): (usize, usize),
    norm: i64,
    label: impl Fn(usize) -> Option<String>,
    out: &mut Vec<u8>,
) {
    let _ = write!(out, "\n{:>16} {:>41} {:<9}\n", "value", "------------- Distribution -------------", "count");
    let numbers: Vec<i64> = counts.iter().map(|n| *n as i64).collect();
    let shown = numbers.get(first..=last).unwrap_or(&[]);
    let total: u128 = shown.iter().map(|n| u128::from(n.unsigned_abs())).sum();
    let (positive, negative) = (shown.iter().any(|n| *n > 0), shown.iter().any(|n| *n < 0));
    for (i, n) in shown.iter().enumerate() {
        let Some(label) = label(first + i) else { continue };
        let _ = write!(out, "{label:>16} ");
        line(*n, norm, total, (positive, negative), out);
    }
}

fn line(n: i64, norm: i64, total: u128, (positive, negative): (bool, bool), out: &mut Vec<u8>) {
    let len: usize = if positive && negative { 20 } else { 40 };
    let amount = u128::from(n.unsigned_abs());
    let depth = if total == 0 { 0 } else { ((amount * len as u128 * 2 + total) / (total * 2)) as usize };
    let depth = depth.min(len);
    let (bar, blank) = ("@".repeat(depth), " ".repeat(len - depth));
    let count = n / norm.max(1);
    let _ = match (positive, negative) {
        (_, false) => writeln!(out, "|{bar}{blank} {count:<9}"),
        (false, true) => writeln!(out, "{blank}{bar}| {count:<9}"),
        (true, true) if n <= 0 => writeln!(out, "{blank}{bar}|{:20} {count:<9}", ""),
        (true, true) => writeln!(out, "{:20}|{bar}{blank} {count:<9}", ""),
    };
}

fn log2(h: &Log2, norm: i64, out: &mut Vec<u8>) {
    let bounds = shown(&h.counts, (62, 64));
    rows(&h.counts, bounds, norm, |i| Some(bucket_value(i).to_string()), out);
}

/// Labels of a log-linear histogram's buckets; buckets that share a value have one label together.
fn log_linear(h: &Linear, shape: LogLinear, norm: i64, out: &mut Vec<u8>) {
    let (first, last) = shown(&h.counts, (shape.middle() as usize, shape.middle() as usize + 2));
    let middle = shape.middle() as usize;
    let end = h.counts.len().saturating_sub(1);
    let mut labels = std::collections::BTreeMap::new();
    let scale = shape.power(u32::from(shape.low));
    let none_below = h.counts.iter().take(middle).all(|n| *n == 0) && first >= middle;
    labels.insert(
        middle,
        match (scale, none_below) {
            (1, _) => "0".to_owned(),
            (_, true) => format!("< {scale}"),
            _ => format!("abs() < {scale}"),
        },
    );
    for (at, start) in shape.starts() {
        labels.insert(middle + at as usize, start.to_string());
        labels.insert(middle - at as usize, format!("-{start}"));
    }
    let beyond = shape.power(u32::from(shape.high) + 1);
    labels.insert(0, format!("<= -{beyond}"));
    labels.insert(end, format!(">= {beyond}"));
    // The buckets at the rim may have no label of their own: that of the next one outwards stands for them.
    let first = labels.range(..=first).next_back().map_or(first, |(at, _)| *at);
    let last = labels.range(last..).next().map_or(last, |(at, _)| *at);
    rows(&h.counts, (first, last), norm, |i| labels.get(&i).cloned(), out);
}

fn linear(h: &Linear, norm: i64, out: &mut Vec<u8>) {
    if let Some(shape) = h.log_linear() {
        log_linear(h, shape, norm, out);
        return;
    }
    let last = h.counts.len().saturating_sub(1);
    let label = |i: usize| match i {
        0 => format!("< {}", h.min),
        i if i == last => format!(">= {}", h.min + (last as i64 - 1) * h.step),
        i => (h.min + (i as i64 - 1) * h.step).to_string(),
    };
    rows(&h.counts, shown(&h.counts, (0, 2)), norm, |i| Some(label(i)), out);
}

/// `printa` with a format, once a row. Conversions with `@` take the values in turn, others the parts of the key.
pub fn printa(style: Style, format: &Format, rows: &[Row<'_>], out: &mut Vec<u8>) {
    for row in rows {
        let (mut key, mut next) = (row.key.iter(), 0);
        for piece in &format.pieces {
            let conversion = match piece {
                Piece::Literal(text) => {
                    out.extend_from_slice(&bytes_of(text));
                    continue;
                }
                Piece::Conversion(conversion) => conversion,
            };
            let fixed = |count: Option<Count>| match count {
                Some(Count::Fixed(n)) => Some(i64::from(n)),
                _ => None,
            };
            let (width, precision) = (fixed(conversion.width), fixed(conversion.precision));
            if conversion.aggregation {
                let (found, norm) = row.values.get(next).or(row.values.last()).copied().unwrap_or((None, 1));
                next += 1;
                match found {
                    Some(histogram @ (Value::Hist(_) | Value::LHist(_))) => value(histogram, norm, out),
                    found => {
                        let number = Value::Int(found.map_or(0, |v| divided(v, norm)), 8);
                        convert(style, conversion, (width, precision), &number, out);
                    }
                }
                continue;
            }
            // A `*` takes a part of the key, as the value does.
            let mut counted = |fixed: Option<i64>, count: Option<Count>| match count {
                Some(Count::Value) => key.next().and_then(Value::as_number).map(|n| n as i64),
                _ => fixed,
            };
            let width = counted(width, conversion.width);
            let precision = counted(precision, conversion.precision);
            let value = key.next().unwrap_or(&Value::None);
            convert(style, conversion, (width, precision), value, out);
        }
    }
}
