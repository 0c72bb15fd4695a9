//! What ran on a CPU of late, for the analysis of an episode, and from when on that is all.

use crate::model::latency::Interval;

/// Intervals of a CPU that are kept.
const MOST_INTERVALS: usize = 1024;

/// The last intervals of one CPU, in the order in which they ended.
#[derive(Default)]
pub struct Recent {
    /// What is known.
    pub intervals: Vec<Interval>,
    /// From here on it is all that ran, ns.
    complete_from_ns: u64,
    /// Rows were lost since the last interval.
    has_gap: bool,
}

impl Recent {
    /// One more has ended. Of too many, the older half is given up.
    pub fn push(&mut self, interval: Interval) {
        if self.has_gap {
            // What was lost ended before this one did, and may have begun before it.
            self.complete_from_ns = interval.end_ns();
            self.has_gap = false;
        }
        if self.intervals.len() >= MOST_INTERVALS {
            let ended = self.intervals.drain(..MOST_INTERVALS / 2).map(|old| old.end_ns()).max();
            self.complete_from_ns = self.complete_from_ns.max(ended.unwrap_or(0));
        }
        self.intervals.push(interval);
    }

    /// The kernel had no room for some rows: which, it does not say.
    pub fn lost(&mut self) {
        self.has_gap = true;
    }

    /// What is known, and from when on that is everything; never, while rows are missing behind the last interval.
    pub fn known(&self) -> (Vec<Interval>, u64) {
        (self.intervals.clone(), if self.has_gap { u64::MAX } else { self.complete_from_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::NoiseClass;

    fn interval(end_ns: u64) -> Interval {
        let name = "cat:7".to_owned();
        Interval { class: NoiseClass::Thread, name, start_ns: end_ns - 10, duration_ns: 10, net_ns: 10 }
    }

    #[test]
    fn it_is_complete_behind_what_was_given_up_and_what_was_lost() {
        let mut recent = Recent::default();
        (1..=MOST_INTERVALS as u64).for_each(|n| recent.push(interval(n * 100)));
        assert_eq!(recent.known().1, 0);
        recent.push(interval(1_000_000));
        assert_eq!(recent.known().1, MOST_INTERVALS as u64 / 2 * 100);
        recent.lost();
        assert_eq!(recent.known().1, u64::MAX, "nobody knows what was lost");
        recent.push(interval(2_000_000));
        assert_eq!(recent.known().1, 2_000_000);
    }
}
