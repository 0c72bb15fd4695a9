//! Histograms: bucket numbering shared by the compiler, the decoder and the printers.

mod log_linear;

use serde::{Deserialize, Serialize};

pub use log_linear::LogLinear;

/// A power-of-two histogram, each power split into `2^bits` buckets.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Log2 {
    /// 0 to 5.
    pub bits: u8,
    /// Counts by [`log2_bucket`].
    pub counts: Vec<u64>,
}

/// A linear histogram; a log-linear one where `step` is 0: `min` is its shape then ([`LogLinear::unpacked`]).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Linear {
    /// Lower edge of the first full bucket.
    pub min: i64,
    /// Upper edge of the last.
    pub max: i64,
    /// Width.
    pub step: i64,
    /// Below `min`, one a step, at or over `max`.
    pub counts: Vec<u64>,
}

/// How many buckets a histogram with `bits` has: one for negatives, one for each value below
/// `2^bits` and then `2^bits` for each higher power of two up to bit 63.
#[must_use]
pub const fn log2_buckets(bits: u8) -> u32 {
    let sub = 1_u32 << bits;
    1 + sub + (64 - bits as u32) * sub
}

/// The bucket of a value: 0 for negatives; `1 + v` below `2^bits`; then, with `p` the place of the
/// highest set bit, `1 + 2^bits * (p - bits + 1) + (next `bits` bits below the highest)`.
#[must_use]
pub const fn log2_bucket(value: i64, bits: u8) -> u32 {
    if value < 0 {
        return 0;
    }
    let v = value as u64;
    let sub = 1_u64 << bits;
    if v < sub {
        return 1 + v as u32;
    }
    let p = v.ilog2();
    let shift = p - bits as u32;
    let low = (v >> shift) & (sub - 1);
    1 + (sub as u32) * (shift + 1) + low as u32
}

/// First value and one past the last of a bucket, as they print; `None` for the negative one's start.
#[must_use]
pub fn log2_bounds(bucket: u32, bits: u8) -> (Option<i64>, Option<i64>) {
    let Some(b) = bucket.checked_sub(1) else { return (None, Some(0)) };
    let sub = 1_u32 << bits;
    if b < sub {
        return (Some(i64::from(b)), Some(i64::from(b) + 1));
    }
    let shift = b / sub - 1;
    let low = u128::from(b % sub);
    let start = (u128::from(sub) + low) << shift;
    let end = start + (1_u128 << shift);
    (i64::try_from(start).ok(), i64::try_from(end).ok())
}

/// How many buckets a linear histogram has.
#[must_use]
pub fn linear_buckets(min: i64, max: i64, step: i64) -> u32 {
    let full = (i128::from(max) - i128::from(min)).max(0) / i128::from(step.max(1));
    u32::try_from(full + 2).unwrap_or(u32::MAX)
}

/// The bucket of a value in a linear histogram.
#[must_use]
pub fn linear_bucket(value: i64, min: i64, max: i64, step: i64) -> u32 {
    if value < min {
        return 0;
    }
    if value >= max {
        return linear_buckets(min, max, step) - 1;
    }
    u32::try_from(1 + (i128::from(value) - i128::from(min)) / i128::from(step.max(1))).unwrap_or(u32::MAX)
}

/// Buckets of D's `quantize`: powers of two on both sides of 0, which is the middle one.
pub const QUANTIZE_BUCKETS: usize = 127;
const ZERO: u32 = QUANTIZE_BUCKETS as u32 / 2;

impl Log2 {
    /// Whether it is of D's `quantize`: other histograms have one bucket for all below 0, and more of them.
    #[must_use]
    pub fn is_two_sided(&self) -> bool {
        self.bits == 0 && self.counts.len() == QUANTIZE_BUCKETS
    }

    /// First value and one past the last of a bucket, as they print; `None` where it has no bound.
    #[must_use]
    pub fn bounds(&self, bucket: u32) -> (Option<i64>, Option<i64>) {
        if !self.is_two_sided() {
            return log2_bounds(bucket, self.bits);
        }
        let power = |n: u32| 1_i64.checked_shl(n).filter(|p| *p > 0);
        match bucket.checked_sub(ZERO) {
            Some(0) => (Some(0), Some(1)),
            Some(n) => (power(n - 1), power(n)),
            None => {
                let n = ZERO - bucket;
                (power(n).map(|p| 1 - p), power(n - 1).map(|p| 1 - p))
            }
        }
    }

    /// All counts added.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |a, b| a.saturating_add(*b))
    }
}

impl Linear {
    /// The shape of a log-linear one.
    #[must_use]
    pub fn log_linear(&self) -> Option<LogLinear> {
        LogLinear::unpacked(self.min).filter(|shape| self.step == 0 && shape.buckets() as usize == self.counts.len())
    }

    /// The first value and one past the last of a bucket; `None` where there is no end.
    #[must_use]
    pub fn bounds(&self, bucket: usize) -> (Option<i64>, Option<i64>) {
        if let Some(shape) = self.log_linear() {
            return shape.bounds(u32::try_from(bucket).unwrap_or(u32::MAX));
        }
        let edge = |n: usize| self.min.saturating_add(self.step.saturating_mul(n as i64));
        match bucket {
            0 => (None, Some(self.min)),
            b if b + 1 >= self.counts.len() => (Some(edge(b - 1)), None),
            b => (Some(edge(b - 1)), Some(edge(b))),
        }
    }

    /// All counts added.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |a, b| a.saturating_add(*b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_holds_its_own_bounds() {
        for bits in 0..=5 {
            for bucket in 0..log2_buckets(bits) {
                let (low, high) = log2_bounds(bucket, bits);
                if let Some(low) = low {
                    assert_eq!(log2_bucket(low, bits), bucket, "low of {bucket} at {bits}");
                }
                if let Some(high) = high {
                    assert_eq!(log2_bucket(high - 1, bits), bucket, "high of {bucket} at {bits}");
                }
            }
            assert!(log2_bucket(i64::MAX, bits) < log2_buckets(bits));
        }
    }

    #[test]
    fn linear_edges_fall_where_they_print() {
        assert_eq!(linear_buckets(0, 100, 10), 12);
        assert_eq!(linear_bucket(-1, 0, 100, 10), 0);
        assert_eq!(linear_bucket(0, 0, 100, 10), 1);
        assert_eq!(linear_bucket(99, 0, 100, 10), 10);
        assert_eq!(linear_bucket(100, 0, 100, 10), 11);
    }

    #[test]
    fn buckets_of_quantize_lie_on_both_sides_of_0() {
        let h = Log2 { bits: 0, counts: vec![0; QUANTIZE_BUCKETS] };
        assert_eq!(h.bounds(ZERO), (Some(0), Some(1)));
        assert_eq!(h.bounds(ZERO + 1), (Some(1), Some(2)));
        assert_eq!(h.bounds(ZERO + 11), (Some(1024), Some(2048)));
        assert_eq!(h.bounds(ZERO - 1), (Some(-1), Some(0)));
        assert_eq!(h.bounds(ZERO - 2), (Some(-3), Some(-1)));
        for bucket in 0..QUANTIZE_BUCKETS as u32 - 1 {
            assert_eq!(h.bounds(bucket).1, h.bounds(bucket + 1).0, "bucket {bucket}");
        }
    }
}
