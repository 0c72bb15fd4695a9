//! How lengths of time are distributed.

use hdrhistogram::Histogram;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq as _, Serializer};
use serde::{Deserialize, Serialize};

/// Significant decimal digits that are kept: values are known to 1 %.
const DIGITS: u8 = 2;
/// Longest time that is told apart: a little over an hour.
const LONGEST_NS: u64 = 1 << 42;

/// Counts of lengths to 1 %, for percentiles. Takes memory once something was recorded.
#[derive(Clone, Debug, Default)]
pub struct Distribution(Option<Box<Histogram<u64>>>);

impl Distribution {
    /// Counts a length so many times. Lengths over an hour count as one hour.
    pub fn record(&mut self, length_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        if self.0.is_none() {
            self.0 = Histogram::new(DIGITS).ok().map(Box::new);
        }
        if let Some(histogram) = &mut self.0 {
            // It grows as needed, which `LONGEST_NS` bounds; only a count over 2^64 would fail.
            let _ = histogram.record_n(length_ns.min(LONGEST_NS), times);
        }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (Some(mine), Some(other)) => drop(mine.add(&**other)),
            (None, Some(other)) => self.0 = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// What was counted since an earlier state of the same distribution.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rest = self.clone();
        if let (Some(mine), Some(earlier)) = (&mut rest.0, &earlier.0) {
            // Fails where the other has what this one lacks: then it is no earlier state.
            let _ = mine.subtract(&**earlier);
        }
        rest
    }

    /// How many lengths were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |h| h.len())
    }

    /// The length that `percent` of all do not exceed; `None` when there is none.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        self.0.as_ref().filter(|h| !h.is_empty()).map(|h| h.value_at_percentile(percent))
    }

    /// The lengths that occur, ascending, each with its count. A length stands for all that are within 1 % of it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|h| h.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())))
    }
}

impl PartialEq for Distribution {
    /// An empty one is equal to one that nothing was recorded in.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for pair in self.iter() {
            seq.serialize_element(&pair)?;
        }
        seq.end()
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Distribution;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("pairs of a length in ns and a count")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Distribution, A::Error> {
                let mut pairs: Vec<(u64, u64)> = Vec::new();
                while let Some(pair) = seq.next_element()? {
                    pairs.push(pair);
                }
                // As wide as it has to be at once: growing length by length is most of the work.
                let longest = pairs.iter().map(|(length, _)| (*length).min(LONGEST_NS)).max();
                let mut distribution = Distribution(longest.and_then(|longest| {
                    let mut histogram = Histogram::new_with_bounds(1, longest.max(2), DIGITS).ok()?;
                    histogram.auto(true);
                    Some(Box::new(histogram))
                }));
                pairs.into_iter().for_each(|(length, times)| distribution.record(length, times));
                Ok(distribution)
            }
        }
        deserializer.deserialize_seq(Pairs)
    }
}

/// Buckets of one width as rtla's histograms have them: exact counts, and one for all that is longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// Nanoseconds that a bucket is wide.
    pub width_ns: u64,
    /// Counts by length divided by the width.
    pub counts: Vec<u64>,
    /// Lengths after the last bucket.
    pub over: u64,
}

impl Buckets {
    /// Empty buckets.
    #[must_use]
    pub fn new(width_ns: u64, entries: usize) -> Self {
        Self { width_ns: width_ns.max(1), counts: vec![0; entries], over: 0 }
    }

    /// Counts one length.
    pub fn record(&mut self, length_ns: u64) {
        let index = usize::try_from(length_ns / self.width_ns.max(1)).unwrap_or(usize::MAX);
        match self.counts.get_mut(index) {
            Some(count) => *count += 1,
            None => self.over += 1,
        }
    }

    /// All counts added.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(self.over, |a, b| a.saturating_add(*b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_is_what_is_more() {
        let mut lengths = Distribution::default();
        lengths.record(1_000, 5);
        let earlier = lengths.clone();
        assert_eq!(lengths.since(&earlier).count(), 0);
        lengths.record(70_000, 2);
        lengths.record(1_000, 1);
        let since = lengths.since(&earlier);
        assert_eq!((since.count(), lengths.since(&Distribution::default())), (3, lengths.clone()));
        assert!(since.percentile_ns(100.0).unwrap().abs_diff(70_000) <= 700);
        assert_eq!(earlier.since(&lengths), earlier, "nothing comes before the beginning");
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let mut distribution = Distribution::default();
        for (length, times) in [(0, 1), (17, 3), (1_234_567, 2), (u64::MAX, 5)] {
            distribution.record(length, times);
        }
        let text = serde_json::to_string(&distribution).unwrap();
        let back: Distribution = serde_json::from_str(&text).unwrap();
        assert_eq!(back, distribution);
        assert_eq!(back.count(), 11);
        assert_eq!(serde_json::to_string(&Distribution::default()).unwrap(), "[]");
    }

    #[test]
    fn percentiles_are_within_one_percent() {
        let mut distribution = Distribution::default();
        assert_eq!(distribution.percentile_ns(99.0), None);
        for length in 1..=100_000 {
            distribution.record(length, 1);
        }
        for (percent, exact) in [(50.0, 50_000_f64), (99.0, 99_000.0), (99.9, 99_900.0)] {
            let told = distribution.percentile_ns(percent).unwrap() as f64;
            assert!((told / exact - 1.0).abs() < 0.011, "p{percent}: {told}");
        }
    }

    #[test]
    fn a_bucket_holds_what_rtla_puts_in_it() {
        let mut buckets = Buckets::new(1000, 11);
        for length in [0, 999, 1000, 10_999, 11_000, u64::MAX] {
            buckets.record(length);
        }
        assert_eq!((buckets.counts[0], buckets.counts[1], buckets.counts[10], buckets.over), (2, 1, 1, 2));
        assert_eq!(buckets.total(), 6);
    }
}
