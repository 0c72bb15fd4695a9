//! How lengths of time are distributed.

use hdrhistogram::Histogram;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq as _, Serializer};
use serde::{Deserialize, Serialize};

/// Significant decimal digits that are kept: values are known to 1 %.
const DIGITS: u8 = 2;
/// Longest time that is told apart: a little over an hour.
const LONGEST_NS: u64 = 1 << 42;
/// Each power of two is parted into `2^PARTS_BITS` buckets, as a histogram of two digits has them.
const PARTS_BITS: u32 = 7;
const PARTS: u64 = 1 << PARTS_BITS;
/// Lengths below this have a bucket each.
const EXACT: u64 = 2 * PARTS;
/// With more lengths than this, a histogram's table takes less time, and little more memory.
const FEW: usize = 256;

/// Counts of lengths to 1 %, for percentiles. Each thread of the machine may have one for each CPU, and most have a few lengths:
/// these take memory for what occurs only.
#[derive(Clone, Debug, Default)]
pub struct Distribution(Counts);

#[derive(Clone, Debug)]
enum Counts {
    /// Buckets that are not empty, ascending, with their counts.
    Few(Vec<(u16, u64)>),
    /// The same buckets, all of them.
    Many(Box<Histogram<u64>>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

/// The bucket of a length.
const fn bucket(length_ns: u64) -> u16 {
    let length = if length_ns < LONGEST_NS { length_ns } else { LONGEST_NS };
    if length < EXACT {
        return length as u16;
    }
    let shift = u64::BITS - length.leading_zeros() - (PARTS_BITS + 1);
    (EXACT + (shift as u64 - 1) * PARTS + ((length >> shift) - PARTS)) as u16
}

/// The longest length of a bucket, ns.
const fn longest(bucket: u16) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let (power, part) = ((bucket - EXACT) / PARTS + 1, (bucket - EXACT) % PARTS + PARTS);
    ((part + 1) << power) - 1
}

impl Distribution {
    /// Counts a length so many times. Lengths over an hour count as one hour.
    pub fn record(&mut self, length_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        let few = match &mut self.0 {
            Counts::Few(few) => few,
            Counts::Many(many) => {
                // It grows as needed, which `LONGEST_NS` bounds; only a count over 2^64 would fail.
                let _ = many.record_n(length_ns.min(LONGEST_NS), times);
                return;
            }
        };
        let bucket = bucket(length_ns);
        match few.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => few[at].1 = few[at].1.saturating_add(times),
            Err(at) => few.insert(at, (bucket, times)),
        }
        if few.len() > FEW
            && let Ok(mut many) = Histogram::new(DIGITS)
        {
            for (bucket, times) in few.iter() {
                let _ = many.record_n(longest(*bucket).min(LONGEST_NS), *times);
            }
            self.0 = Counts::Many(Box::new(many));
        }
    }

    fn count_of(&self, length_ns: u64) -> u64 {
        match &self.0 {
            Counts::Few(few) => {
                let at = few.binary_search_by_key(&bucket(length_ns), |(bucket, _)| *bucket);
                at.map_or(0, |at| few[at].1)
            }
            Counts::Many(many) => many.count_at(length_ns.min(LONGEST_NS)),
        }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (Counts::Many(mine), Counts::Many(other)) => drop(mine.add(&**other)),
            _ => other.iter().for_each(|(length, times)| self.record(length, times)),
        }
    }

    /// What was counted since an earlier state of the same distribution; all of it where the other is none.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if !earlier.iter().all(|(length, times)| self.count_of(length) >= times) {
            return self.clone();
        }
        let mut rest = Self::default();
        self.iter().for_each(|(length, times)| rest.record(length, times - earlier.count_of(length)));
        rest
    }

    /// How many lengths were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Few(few) => few.iter().fold(0, |sum, (_, times)| sum.saturating_add(*times)),
            Counts::Many(many) => many.len(),
        }
    }

    /// The length that `percent` of all do not exceed; `None` when there is none.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let wanted = (self.count() as f64 * (percent / 100.0).clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0_u64;
        let mut last = None;
        for (length, times) in self.iter() {
            seen = seen.saturating_add(times);
            last = Some(length);
            if seen >= wanted {
                break;
            }
        }
        last
    }

    /// The lengths that occur, ascending, each with its count. A length stands for all that are within 1 % of it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (few, many) = match &self.0 {
            Counts::Few(few) => (Some(few), None),
            Counts::Many(many) => (None, Some(many)),
        };
        let few = few.into_iter().flatten().map(|(bucket, times)| (longest(*bucket), *times));
        let many = many.into_iter().flat_map(|many| many.iter_recorded());
        few.chain(many.map(|value| (value.value_iterated_to(), value.count_at_value())))
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
                let mut distribution = Distribution::default();
                while let Some((length, times)) = seq.next_element()? {
                    distribution.record(length, times);
                }
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
    fn every_length_lies_in_its_bucket() {
        let lengths = (0..42).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + (1 << power) / 3]);
        for length in lengths {
            let end = longest(bucket(length));
            assert!(end >= length && (end - length) as f64 <= length as f64 * 0.01, "{length}: {end}");
            assert_eq!(bucket(end), bucket(length));
            assert!(length == 0 || bucket(length - 1) <= bucket(length));
        }
        assert_eq!(bucket(u64::MAX), bucket(LONGEST_NS));
    }

    #[test]
    fn many_lengths_are_told_as_few_are() {
        let (mut all, mut parts) = (Distribution::default(), Distribution::default());
        for length in (0..60_000_u64).map(|n| n * 7919 % 50_000_017) {
            let mut one = Distribution::default();
            one.record(length, 2);
            all.record(length, 2);
            parts.add(&one);
        }
        assert!(matches!(all.0, Counts::Many(_)));
        assert_eq!((all.count(), &all), (120_000, &parts));
        for (length, _) in all.iter() {
            assert_eq!(longest(bucket(length)), length, "the buckets are the same");
        }
        let mut more = all.clone();
        more.record(12_345, 3);
        assert_eq!(more.since(&all).iter().collect::<Vec<_>>(), [(longest(bucket(12_345)), 3)]);
    }

    #[test]
    fn only_lengths_that_occur_take_memory() {
        let mut distribution = Distribution::default();
        (0..1000).for_each(|_| distribution.record(5_000_000_000, 1));
        assert!(matches!(&distribution.0, Counts::Few(few) if few.len() == 1));
        assert_eq!(distribution.count(), 1000);
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
