//! Counts that a measuring thread writes and another one reads: no locks, no allocation, no system calls.
//!
//! There are two sets. The thread writes one of them and changes over when the reader asks for it; the reader takes
//! what is in the other one and clears it. So what the thread does is the same few stores in every cycle.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::model::histogram::{log2_bounds, log2_bucket, log2_buckets};
use crate::model::latency::{Buckets, Distribution, LatencyStat};

/// Each power of two in 32 parts: lengths are known to 3 %.
const BITS: u8 = 5;

/// One latency of one thread.
pub struct Tally {
    count: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    current: AtomicU64,
    fine: Box<[AtomicU64]>,
    exact: Box<[AtomicU64]>,
    width_ns: u64,
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

/// One more, by the only writer.
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

impl Tally {
    /// With exact buckets where they are asked for: their width in ns and number.
    pub fn new(buckets: Option<(u64, usize)>) -> Self {
        let (width_ns, entries) = buckets.map_or((1, 0), |(width, entries)| (width.max(1), entries + 1));
        Self {
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            current: AtomicU64::new(0),
            fine: zeros(log2_buckets(BITS) as usize),
            exact: zeros(entries),
            width_ns,
        }
    }

    /// Counts one length.
    #[inline]
    pub fn record(&self, length_ns: u64) {
        bump(&self.count, 1);
        bump(&self.sum, length_ns);
        self.current.store(length_ns, Ordering::Relaxed);
        if length_ns < self.min.load(Ordering::Relaxed) {
            self.min.store(length_ns, Ordering::Relaxed);
        }
        if length_ns > self.max.load(Ordering::Relaxed) {
            self.max.store(length_ns, Ordering::Relaxed);
        }
        let fine = log2_bucket(length_ns.min(i64::MAX as u64) as i64, BITS) as usize;
        if let Some(counter) = self.fine.get(fine) {
            bump(counter, 1);
        }
        if let Some(last) = self.exact.len().checked_sub(1) {
            let index = usize::try_from(length_ns / self.width_ns).unwrap_or(usize::MAX).min(last);
            bump(&self.exact[index], 1);
        }
    }

    /// Takes what is there and leaves nothing; adds the exact counts to `buckets`. Only while nobody writes.
    fn take(&self, buckets: &mut Buckets) -> LatencyStat {
        let swap = |counter: &AtomicU64, with| counter.swap(with, Ordering::Relaxed);
        let mut lengths = Distribution::default();
        for (bucket, counter) in self.fine.iter().enumerate() {
            let times = swap(counter, 0);
            if times > 0 {
                let (low, high) = log2_bounds(bucket as u32, BITS);
                let (low, high) = (low.unwrap_or(0), high.unwrap_or(i64::MAX));
                lengths.record((low + (high - 1 - low) / 2).max(0) as u64, times);
            }
        }
        for (index, counter) in self.exact.iter().enumerate() {
            let times = swap(counter, 0);
            match buckets.counts.get_mut(index) {
                Some(count) => *count += times,
                None => buckets.over += times,
            }
        }
        let count = swap(&self.count, 0);
        let min = swap(&self.min, u64::MAX);
        LatencyStat {
            count,
            current_ns: self.current.load(Ordering::Relaxed),
            min_ns: if count == 0 { 0 } else { min },
            max_ns: swap(&self.max, 0),
            sum_ns: swap(&self.sum, 0),
            lengths,
        }
    }
}

/// Words that a thread tells with each set of counts, beside them: numbers that only grow.
pub const WORDS: usize = 20;

/// What one side of the pair holds.
pub struct Side {
    /// Gaps, or the latency of the interrupt.
    pub first: Tally,
    /// The latency of the thread.
    pub thread: Tally,
    /// The latency back in user space.
    pub user: Tally,
    words: [AtomicU64; WORDS],
}

impl Side {
    fn new(buckets: Option<(u64, usize)>) -> Self {
        Self {
            first: Tally::new(buckets),
            thread: Tally::new(buckets),
            user: Tally::new(buckets),
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    /// Adds to a word.
    #[inline]
    pub fn add(&self, word: usize, by: u64) {
        bump(&self.words[word], by);
    }

    /// Keeps the largest.
    #[inline]
    pub fn most(&self, word: usize, value: u64) {
        if value > self.words[word].load(Ordering::Relaxed) {
            self.words[word].store(value, Ordering::Relaxed);
        }
    }
}

/// Two sides, of which the thread writes one.
pub struct Pair {
    sides: [Side; 2],
    wanted: AtomicUsize,
    active: AtomicUsize,
}

/// What was taken from a side.
pub struct Taken {
    /// Gaps, or the latency of the interrupt.
    pub first: LatencyStat,
    /// The latency of the thread.
    pub thread: LatencyStat,
    /// The latency back in user space.
    pub user: LatencyStat,
    /// The words.
    pub words: [u64; WORDS],
}

impl Pair {
    /// Empty.
    pub fn new(buckets: Option<(u64, usize)>) -> Self {
        Self {
            sides: [Side::new(buckets), Side::new(buckets)],
            wanted: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
        }
    }

    /// The side to write, for the measuring thread, at the start of a cycle.
    #[inline]
    pub fn side(&self) -> &Side {
        let wanted = self.wanted.load(Ordering::Acquire) & 1;
        self.active.store(wanted, Ordering::Release);
        &self.sides[wanted]
    }

    /// Asks the thread to write the other side.
    pub fn change_over(&self) {
        let active = self.active.load(Ordering::Acquire);
        self.wanted.store(1 - active, Ordering::Release);
    }

    /// Whether the thread has changed over since it was asked to.
    pub fn changed_over(&self) -> bool {
        self.active.load(Ordering::Acquire) == self.wanted.load(Ordering::Acquire)
    }

    /// Takes what is in the side that is not written.
    pub fn take_idle(&self, buckets: [&mut Buckets; 3]) -> Taken {
        self.take(1 - self.active.load(Ordering::Acquire), buckets)
    }

    /// Takes what is in the side that was written last: only once the thread has ended.
    pub fn take_active(&self, buckets: [&mut Buckets; 3]) -> Taken {
        self.take(self.active.load(Ordering::Acquire), buckets)
    }

    fn take(&self, which: usize, [first, thread, user]: [&mut Buckets; 3]) -> Taken {
        let side = &self.sides[which & 1];
        Taken {
            first: side.first.take(first),
            thread: side.thread.take(thread),
            user: side.user.take(user),
            words: std::array::from_fn(|n| side.words[n].swap(0, Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_taken_once() {
        let pair = Pair::new(Some((1000, 10)));
        let mut buckets = [Buckets::new(1000, 10), Buckets::new(1000, 10), Buckets::new(1000, 10)];
        for length in [500, 1_500, 1_999, 12_000] {
            pair.side().first.record(length);
        }
        pair.side().add(3, 7);
        pair.side().most(4, 9);
        pair.side().most(4, 2);
        pair.change_over();
        assert!(!pair.changed_over(), "the thread has not come by");
        pair.side().first.record(80);
        assert!(pair.changed_over());
        let taken = pair.take_idle(buckets.each_mut());
        assert_eq!((taken.first.count, taken.first.min_ns, taken.first.max_ns), (4, 500, 12_000));
        assert_eq!((taken.first.sum_ns, taken.words[3], taken.words[4]), (15_999, 7, 9));
        assert_eq!((buckets[0].counts[0], buckets[0].counts[1], buckets[0].over), (1, 2, 1));
        assert_eq!(pair.take_idle(buckets.each_mut()).first.count, 0);
        let last = pair.take_active(buckets.each_mut());
        assert_eq!((last.first.count, last.first.current_ns, buckets[0].total()), (1, 80, 5));
    }
}
