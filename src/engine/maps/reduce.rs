//! The CPUs' values of an aggregation, combined to one.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::decode::{integer, u64_at};
use crate::lang::types::{Aggregation, Reduce};
use crate::model::histogram::{Linear, Log2, QUANTIZE_BUCKETS, linear_buckets, log2_buckets};
use crate::model::value::{Series, Summary, Value};

/// Combines the CPUs' values of an aggregation.
#[must_use]
pub fn reduce(agg: Aggregation, cpus: &[Vec<u8>]) -> Value {
    let sum = |at: usize| cpus.iter().fold(0_u64, |a, v| a.wrapping_add(u64_at(v, at)));
    let number = |v: u64, signed: bool| integer(&v.to_le_bytes(), 8, signed);
    match agg {
        Aggregation::Count => number(sum(0), true),
        Aggregation::Sum { signed } => number(sum(0), signed),
        Aggregation::Min { signed } => number(extreme(cpus, signed, Ordering::Less), signed),
        Aggregation::Max { signed } => number(extreme(cpus, signed, Ordering::Greater), signed),
        Aggregation::Avg { signed } => Value::Avg(Summary { total: sum(0) as i64, count: sum(8), signed }),
        Aggregation::Stats { signed } => Value::Stats(Summary { total: sum(0) as i64, count: sum(8), signed }),
        Aggregation::Hist { bits } => {
            let counts = (0..log2_buckets(bits) as usize).map(|i| sum(i * 8)).collect();
            Value::Hist(Arc::new(Log2 { bits, counts }))
        }
        Aggregation::LHist { min, max, step } => {
            let buckets = linear_buckets(min, max, step) as usize;
            let counts = (0..buckets).map(|i| sum(i * 8)).collect();
            Value::LHist(Arc::new(Linear { min, max, step, counts }))
        }
        Aggregation::LogLinear(shape) => {
            let counts = (0..shape.buckets() as usize).map(|i| sum(i * 8)).collect();
            Value::LHist(Arc::new(Linear { min: shape.packed(), max: 0, step: 0, counts }))
        }
        Aggregation::Quantize => {
            let counts = (0..QUANTIZE_BUCKETS).map(|i| sum(i * 8)).collect();
            Value::Hist(Arc::new(Log2 { bits: 0, counts }))
        }
        Aggregation::StdDev => Value::Int(deviation(cpus), 8),
        Aggregation::TSeries { interval_ns, buckets, reduce, signed } => {
            Value::TSeries(Arc::new(series(cpus, interval_ns, buckets, reduce, signed)))
        }
    }
}

/// The standard deviation, rounded down.
fn deviation(cpus: &[Vec<u8>]) -> i64 {
    let sum: i128 = cpus.iter().map(|v| i128::from(u64_at(v, 0) as i64)).sum();
    let count: i128 = cpus.iter().map(|v| i128::from(u64_at(v, 8))).sum();
    let squares: u128 =
        cpus.iter().fold(0, |s, v| s.wrapping_add(u128::from(u64_at(v, 16)) | u128::from(u64_at(v, 24)) << 64));
    if count == 0 {
        return 0;
    }
    let mean = sum / count;
    let variance = (squares as i128 / count).saturating_sub(mean.saturating_mul(mean)).max(0);
    variance.isqrt() as i64
}

fn extreme(cpus: &[Vec<u8>], signed: bool, wanted: Ordering) -> u64 {
    let set = cpus.iter().filter(|v| u64_at(v, 8) != 0).map(|v| u64_at(v, 0));
    set.reduce(|a, b| if compare(b, a, signed) == wanted { b } else { a }).unwrap_or(0)
}

fn compare(a: u64, b: u64, signed: bool) -> Ordering {
    if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) }
}

/// Joins the CPUs' rings of intervals: for each, epoch (number of the interval since
/// 1970), value, and count or, where the latest value counts, its moment.
fn series(cpus: &[Vec<u8>], interval_ns: u64, buckets: u32, how: Reduce, signed: bool) -> Series {
    let mut epochs: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for cpu in cpus {
        for slot in cpu.chunks_exact(24) {
            let (epoch, value, count) = (u64_at(slot, 0), u64_at(slot, 8), u64_at(slot, 16));
            if count == 0 {
                continue;
            }
            epochs
                .entry(epoch)
                .and_modify(|(v, n)| {
                    if how != Reduce::Last {
                        *v = combine(*v, value, how, signed);
                        *n = n.wrapping_add(count);
                    } else if count > *n {
                        // The moment of the value stands in place of the count.
                        (*v, *n) = (value, count);
                    }
                })
                .or_insert((value, count));
        }
    }
    let Some(last) = epochs.keys().next_back().copied() else {
        return Series { interval_ns, points: Vec::new(), signed };
    };
    let first = last.saturating_sub(u64::from(buckets).saturating_sub(1));
    let points = (first..=last).map(|epoch| {
        let value = epochs.get(&epoch).map(|(v, n)| match how {
            Reduce::Avg if signed => (*v as i64).wrapping_div((*n).max(1) as i64),
            Reduce::Avg => (*v / (*n).max(1)) as i64,
            _ => *v as i64,
        });
        (epoch.wrapping_mul(interval_ns), value)
    });
    Series { interval_ns, points: points.collect(), signed }
}

fn combine(a: u64, b: u64, how: Reduce, signed: bool) -> u64 {
    match how {
        Reduce::Last => b,
        Reduce::Avg | Reduce::Sum => a.wrapping_add(b),
        Reduce::Max => std::cmp::max_by(a, b, |x, y| compare(*x, *y, signed)),
        Reduce::Min => std::cmp::min_by(a, b, |x, y| compare(*x, *y, signed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn cpus_are_joined() {
        let two = [cpu(&[5, 1]), cpu(&[(-3_i64) as u64, 1])];
        assert_eq!(reduce(Aggregation::Min { signed: true }, &two), Value::Int(-3, 8));
        assert_eq!(reduce(Aggregation::Min { signed: false }, &two), Value::Uint(5, 8));
        assert_eq!(reduce(Aggregation::Max { signed: true }, &two), Value::Int(5, 8));
        assert_eq!(reduce(Aggregation::Count, &two), Value::Int(2, 8));
        let avg = reduce(Aggregation::Avg { signed: true }, &two);
        assert_eq!(avg, Value::Avg(Summary { total: 2, count: 2, signed: true }));
        assert_eq!(
            reduce(Aggregation::Min { signed: true }, &[cpu(&[7, 0]), cpu(&[9, 1])]),
            Value::Int(9, 8),
            "a CPU without a value does not count"
        );
    }

    #[test]
    fn a_series_has_gaps_where_nothing_fell() {
        let value = reduce(
            Aggregation::TSeries { interval_ns: 10, buckets: 3, reduce: Reduce::Sum, signed: true },
            &[cpu(&[7, 1, 1, 0, 0, 0, 9, 2, 1]), cpu(&[9, 5, 2, 0, 0, 0, 0, 0, 0])],
        );
        let Value::TSeries(series) = value else { panic!("not a series") };
        assert_eq!(series.points, [(70, Some(1)), (80, None), (90, Some(7))]);
        let latest = reduce(
            Aggregation::TSeries { interval_ns: 10, buckets: 1, reduce: Reduce::Last, signed: true },
            &[cpu(&[7, 1, 79]), cpu(&[7, 5, 72])],
        );
        let Value::TSeries(series) = latest else { panic!("not a series") };
        assert_eq!(series.points, [(70, Some(1))], "of another CPU, and later");
    }
}
