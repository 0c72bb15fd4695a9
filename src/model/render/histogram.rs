//! Histograms as rows of labels, counts and bars.

use std::fmt::Write as _;

use super::stream::{Field, Radix};
use crate::model::histogram::{Linear, Log2, log2_bounds};

/// Columns of the longest bar.
const BAR: u64 = 52;
/// Columns of a label, padded at its right, and of a count, padded at its left.
const LABEL: usize = 16;
const COUNT: usize = 8;

/// One bucket of a histogram as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// `[4, 8)`.
    pub label: String,
    /// First value; absent for the bucket below all others.
    pub min: Option<i64>,
    /// Last value (inclusive); absent for the bucket above all others.
    pub max: Option<i64>,
    /// How many values fell in it.
    pub count: u64,
}

/// The rows from the lowest used bucket to the highest; none when nothing was counted.
#[must_use]
pub fn log2_rows(histogram: &Log2) -> Vec<Bucket> {
    let bits = histogram.bits.min(5);
    if histogram.is_two_sided() {
        return two_sided_rows(histogram);
    }
    rows(&histogram.counts, |index| {
        let (min, end) = log2_bounds(index, bits);
        // Past the last power of two the bound is 2^63, one over the largest value.
        let max = Some(end.map_or(i64::MAX, |e| e.saturating_sub(1)));
        (log2_label(index, bits), min, max)
    })
}

/// The rows of D's `quantize` in this form.
fn two_sided_rows(histogram: &Log2) -> Vec<Bucket> {
    rows(&histogram.counts, |index| {
        let (min, end) = histogram.bounds(index);
        let label = match (min, end) {
            (Some(low), Some(high)) if high - low == 1 => format!("[{}]", short(low)),
            (Some(low), Some(high)) => format!("[{}, {})", short(low), short(high)),
            (low, high) => format!(
                "[{}, {})",
                low.map_or_else(|| "...".to_owned(), short),
                high.map_or_else(|| "...".to_owned(), short)
            ),
        };
        (label, min, end.map(|e| e.saturating_sub(1)))
    })
}

/// The rows from the lowest used bucket to the highest; none when nothing was counted.
#[must_use]
pub fn linear_rows(histogram: &Linear) -> Vec<Bucket> {
    if let Some(shape) = histogram.log_linear() {
        return rows(&histogram.counts, |index| match shape.bounds(index) {
            (None, end) => {
                let end = end.unwrap_or(0);
                (format!("(..., {})", short(end)), None, Some(end.saturating_sub(1)))
            }
            (Some(start), None) => (format!("[{}, ...)", short(start)), Some(start), None),
            (Some(start), Some(end)) => {
                (format!("[{}, {})", short(start), short(end)), Some(start), Some(end.saturating_sub(1)))
            }
        });
    }
    let step = histogram.step.max(1);
    let last = u32::try_from(histogram.counts.len()).unwrap_or(u32::MAX).saturating_sub(1);
    let edge = |index: u32| histogram.min.saturating_add(i64::from(index).saturating_mul(step));
    rows(&histogram.counts, |index| match index {
        0 => {
            let end = histogram.min;
            (format!("(..., {})", short(end)), None, Some(end.saturating_sub(1)))
        }
        i if i == last => {
            let start = edge(i - 1);
            (format!("[{}, ...)", short(start)), Some(start), None)
        }
        i => {
            let (start, end) = (edge(i - 1), edge(i));
            let label =
                if step == 1 { format!("[{}]", short(start)) } else { format!("[{}, {})", short(start), short(end)) };
            (label, Some(start), Some(end.saturating_sub(1)))
        }
    })
}

fn rows(counts: &[u64], label: impl Fn(u32) -> (String, Option<i64>, Option<i64>)) -> Vec<Bucket> {
    let Some(first) = counts.iter().position(|c| *c > 0) else { return Vec::new() };
    let last = counts.iter().rposition(|c| *c > 0).unwrap_or(first);
    let index = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
    (first..=last)
        .map(|i| {
            let (label, min, max) = label(index(i));
            Bucket { label, min, max, count: counts[i] }
        })
        .collect()
}

/// Appends rows as text; `div` divides every count first, as `print(@, top, div)` does.
pub(super) fn text(rows: &[Bucket], div: u64, out: &mut Vec<u8>) {
    let div = div.max(1);
    let most = rows.iter().map(|r| r.count / div).max().unwrap_or(0);
    for row in rows {
        let count = row.count / div;
        let mut label = Field { width: LABEL, left: true, ..Field::plain() };
        label.token(out, row.label.as_bytes());
        Field { width: COUNT, ..Field::plain() }.unsigned(out, count, Radix::Decimal);
        out.extend_from_slice(b" |");
        let bar = if most == 0 { 0 } else { (u128::from(count) * u128::from(BAR) / u128::from(most)) as usize };
        out.resize(out.len() + bar, b'@');
        out.resize(out.len() + BAR as usize - bar, b' ');
        out.extend_from_slice(b"|\n");
    }
}

/// A bucket's label: one number, or from and (excluded) to.
fn log2_label(index: u32, bits: u8) -> String {
    let Some(place) = index.checked_sub(1) else { return "(..., 0)".into() };
    let sub = 1_u32 << bits;
    if place < 2 * sub {
        return format!("[{place}]");
    }
    let mut label = String::from("[");
    power(&mut label, place, bits);
    label.push_str(", ");
    power(&mut label, place + 1, bits);
    label.push(')');
    label
}

/// The lower bound of a bucket: its leading bits, scaled, with a suffix for every ten places that
/// they are shifted by.
fn power(label: &mut String, place: u32, bits: u8) {
    let sub = 1_u32 << bits;
    let shift = (place / sub).saturating_sub(1);
    let leading = if place < sub { u64::from(place) } else { u64::from(sub + place % sub) };
    let suffix = ["", "K", "M", "G", "T", "P", "E"][(shift / 10).min(6) as usize];
    // Writing to a string can't fail.
    let _ = write!(label, "{}{suffix}", leading << (shift % 10));
}

/// A bound of a linear histogram: in K or M where it is a whole number of them.
fn short(value: i64) -> String {
    const KI: i64 = 1024;
    if value != 0 && value % (KI * KI) == 0 {
        format!("{}M", value / (KI * KI))
    } else if value != 0 && value % KI == 0 {
        format!("{}K", value / KI)
    } else {
        value.to_string()
    }
}
