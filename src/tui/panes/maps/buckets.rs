//! Histograms as buckets with a label and a count.

use crate::model::histogram::{Linear, Log2};
use crate::model::value::Value;

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
        (Some(low), Some(high)) => {
            format!("[{}, {})", crate::tui::base::text::edge(low), crate::tui::base::text::edge(high))
        }
        (Some(low), None) => format!("[{}, ...)", crate::tui::base::text::edge(low)),
    }
}

fn linear_label(bucket: usize, h: &Linear) -> String {
    use crate::tui::base::text::edge;
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
        Some(high(bucket).map_or_else(|| "∞".to_owned(), crate::tui::base::text::edge))
    };
    if total == 0 { None } else { Some((at(50)?, at(99)?)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::histogram::{log2_bucket, log2_buckets};

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
}
