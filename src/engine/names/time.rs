//! Times of the traced machine as text.

use crate::engine::sys::time::{format_local, utc_offset};
use crate::model::render::Clock;

/// Clocks that are further apart than this from what they were have been set, or the machine was suspended.
const CLOCK_STEP_NS: u64 = 10_000_000;

/// Differences between the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Wall clock minus boot clock, ns.
    pub wall_minus_boot: i64,
    /// Boot clock minus monotonic clock (time asleep), ns.
    pub boot_minus_monotonic: i64,
    /// TAI minus wall clock, ns.
    pub tai_minus_wall: i64,
}

impl Clocks {
    /// Reads the running machine's clocks.
    #[must_use]
    pub fn now() -> Self {
        use rustix::time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic};
        let ns = |t: rustix::time::Timespec| t.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec);
        let (wall, boot) = (ns(clock_gettime(ClockId::Realtime)), ns(clock_gettime(ClockId::Boottime)));
        let monotonic = ns(clock_gettime(ClockId::Monotonic));
        let tai = clock_gettime_dynamic(DynamicClockId::Tai).map_or(wall, ns);
        let whole = |d: i64| d.div_euclid(1_000_000_000).wrapping_mul(1_000_000_000);
        // The difference to TAI is whole seconds; the readings are some ns apart.
        Self {
            wall_minus_boot: wall - boot,
            boot_minus_monotonic: boot - monotonic,
            tai_minus_wall: whole(tai - wall + 500_000_000),
        }
    }

    /// Takes the differences anew once a clock was set, or the machine slept; readings of the same ones are never equal.
    pub fn follow(&mut self) {
        let now = Self::now();
        if now.wall(0, 1).abs_diff(self.wall(0, 1)) > CLOCK_STEP_NS {
            *self = now;
        }
    }

    /// For charts over time.
    #[must_use]
    pub fn chart(&self) -> Clock {
        let now = self.wall(crate::engine::boot_ns(), 0).div_euclid(1_000_000_000);
        Clock { utc_offset_s: utc_offset(now) }
    }

    /// Wall-clock ns of a reading of one of the clocks of `Type::Timestamp`.
    #[must_use]
    pub fn wall(&self, ns: u64, clock: u32) -> i64 {
        let ns = ns as i64;
        match clock {
            0 => ns.wrapping_add(self.wall_minus_boot),
            1 => ns.wrapping_add(self.boot_minus_monotonic).wrapping_add(self.wall_minus_boot),
            2 => ns.wrapping_sub(self.tai_minus_wall),
            _ => ns,
        }
    }
}

/// Formats wall-clock ns: `strftime(3)` in local time, and `%f` microseconds, `%k` nanoseconds and
/// `%l` milliseconds within the second, each zero-padded.
#[must_use]
pub fn format(format: &str, wall_ns: i64) -> String {
    let seconds = wall_ns.div_euclid(1_000_000_000);
    let nanos = wall_ns.rem_euclid(1_000_000_000);
    let mut c = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(ch) = chars.next() {
        if ch != '%' {
            c.push(ch);
            continue;
        }
        match chars.next() {
            Some('f') => c.push_str(&format!("{:06}", nanos / 1000)),
            Some('k') => c.push_str(&format!("{nanos:09}")),
            Some('l') => c.push_str(&format!("{:03}", nanos / 1_000_000)),
            Some(other) => {
                c.push('%');
                c.push(other);
            }
            None => c.push_str("%%"),
        }
    }
    format_local(&c, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_second() {
        assert_eq!(format("%f|%k|%l|%%f", 1_234_567_891), "234567|234567891|234|%f");
    }

    #[test]
    fn a_clock_that_was_set_is_followed() {
        let mut clocks = Clocks { wall_minus_boot: 1000, boot_minus_monotonic: 10, tai_minus_wall: 37 };
        clocks.follow();
        let now = clocks;
        assert!(now.wall_minus_boot > 1000);
        clocks.follow();
        assert_eq!(clocks, now, "readings of the same clocks are the same difference");
    }

    #[test]
    fn all_clocks_tell_the_same_wall_time() {
        let c = Clocks { wall_minus_boot: 1000, boot_minus_monotonic: 10, tai_minus_wall: 37 };
        assert_eq!(c.wall(5, 0), 1005);
        assert_eq!(c.wall(5, 1), 1015);
        assert_eq!(c.wall(1042, 2), 1005);
        assert_eq!(c.wall(1005, 3), 1005);
    }
}
