//! Log-linear histograms, as D's `llquantize` has them: each power of a factor is split into equal steps.

/// The shape of a log-linear histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogLinear {
    /// What each magnitude is times the one below, over 1.
    pub factor: u16,
    /// The lowest magnitude: what is below this power of the factor is in the middle bucket.
    pub low: u16,
    /// The highest magnitude.
    pub high: u16,
    /// Steps from 0 to a magnitude's end; those below its begin are of the magnitudes under it.
    pub steps: u16,
}

impl LogLinear {
    /// As one number; the shape is read back by [`LogLinear::unpacked`].
    #[must_use]
    pub fn packed(self) -> i64 {
        [self.steps, self.high, self.low, self.factor].iter().fold(0, |n, part| n << 16 | i64::from(*part))
    }

    /// The shape that a number stands for.
    #[must_use]
    pub fn unpacked(n: i64) -> Option<Self> {
        let part = |at: u32| (n >> (16 * at)) as u16;
        let shape = Self { factor: part(0), low: part(1), high: part(2), steps: part(3) };
        let fits = shape.factor > 1 && shape.low <= shape.high && shape.high < 64 && shape.steps > 0;
        fits.then_some(shape)
    }

    /// Steps of a magnitude that no lower magnitude has.
    #[must_use]
    pub fn new_steps(self) -> u32 {
        u32::from(self.steps) - u32::from(self.steps / self.factor)
    }

    /// Buckets of each sign.
    const fn half(self) -> u32 {
        let below = self.steps as u32 / self.factor as u32;
        (self.high as u32 - self.low as u32 + 1) * (self.steps as u32 - below)
    }

    /// The bucket of what is nearer to 0 than the lowest magnitude.
    #[must_use]
    pub const fn middle(self) -> u32 {
        1 + self.half()
    }

    /// All buckets: those of both signs, the middle one, and one for what is beyond at each side.
    #[must_use]
    pub const fn buckets(self) -> u32 {
        self.half() * 2 + 3
    }

    /// A power of the factor.
    #[must_use]
    pub fn power(self, magnitude: u32) -> u64 {
        u64::from(self.factor).checked_pow(magnitude).unwrap_or(u64::MAX)
    }

    /// The smallest absolute values of the buckets behind the middle one, ascending, with how far each is from it. With
    /// more steps than the first magnitude has numbers, several share a value and only one counts.
    #[must_use]
    pub fn starts(self) -> Vec<(u32, u64)> {
        let below = u32::from(self.steps / self.factor);
        let (mut at, mut magnitude) = (1, u32::from(self.low));
        let mut starts = vec![(1, self.power(magnitude))];
        if self.low == 0 && self.steps > self.factor {
            for number in 2..=u64::from(self.factor) {
                at += below;
                starts.push((at, number));
            }
            magnitude += 1;
        }
        while magnitude <= u32::from(self.high) {
            let scale = self.power(magnitude + 1) / u64::from(self.steps);
            for step in below + 1..=u32::from(self.steps) {
                at += 1;
                starts.push((at, scale.saturating_mul(u64::from(step))));
            }
            magnitude += 1;
        }
        starts
    }

    /// The first value and one past the last of a bucket; `None` where there is no end.
    #[must_use]
    pub fn bounds(self, bucket: u32) -> (Option<i64>, Option<i64>) {
        let starts = self.starts();
        let middle = self.middle();
        let distance = bucket.abs_diff(middle);
        let clamped = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        if distance == 0 {
            let end = clamped(self.power(u32::from(self.low)));
            return (Some(1_i64.saturating_sub(end)), Some(end));
        }
        let place = starts.iter().rposition(|(at, _)| *at <= distance).unwrap_or(0);
        let first = starts.get(place).map(|(_, start)| clamped(*start));
        let end = starts.get(place + 1).map(|(_, start)| clamped(*start));
        if bucket > middle {
            return (first, end);
        }
        (end.map(|end| 1_i64.saturating_sub(end)), first.map(|first| 1_i64.saturating_sub(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_the_steps_do() {
        let shape = LogLinear { factor: 10, low: 0, high: 2, steps: 10 };
        assert_eq!((shape.buckets(), shape.middle()), (57, 28));
        let starts: Vec<u64> = shape.starts().iter().map(|(_, start)| *start).collect();
        assert_eq!(starts[..3], [1, 2, 3]);
        assert_eq!(starts[8..12], [9, 10, 20, 30]);
        assert_eq!(shape.bounds(28), (Some(0), Some(1)));
        assert_eq!(shape.bounds(29), (Some(1), Some(2)));
        assert_eq!(shape.bounds(27), (Some(-1), Some(0)));
        assert_eq!(LogLinear::unpacked(shape.packed()), Some(shape));
    }
}
