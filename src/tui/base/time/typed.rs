//! Moments as users type them: `12:30:05.25`, `+1.5s`, `-200ms`, `90`.

const NS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;

/// A moment that was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// From the moment shown, ns.
    From(i64),
    /// From the first moment that is kept, ns.
    Since(u64),
    /// A time of day, ns since midnight.
    OfDay(u64),
}

impl Typed {
    /// Reads what was typed; numbers without a unit are seconds.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(on) = text.strip_prefix('+') {
            return Some(Self::From(i64::try_from(span(on)?).ok()?));
        }
        if let Some(back) = text.strip_prefix('-') {
            return Some(Self::From(-i64::try_from(span(back)?).ok()?));
        }
        if text.contains(':') { of_day(text).map(Self::OfDay) } else { span(text).map(Self::Since) }
    }

    /// The moment on the kernel's clock, ns. `first_ns` and `last_ns` are the history's, `shown_ns` is the moment that is
    /// shown, `wall_minus_ns` what local time is ahead of the kernel's.
    #[must_use]
    pub fn at_ns(self, (first_ns, last_ns): (u64, u64), shown_ns: u64, wall_minus_ns: i64) -> u64 {
        match self {
            Self::From(delta) => shown_ns.saturating_add_signed(delta),
            Self::Since(ns) => first_ns.saturating_add(ns),
            Self::OfDay(of_day) => {
                let local = |at_ns: u64| (at_ns as i64).saturating_add(wall_minus_ns);
                let midnight = |at_ns: u64| local(at_ns) - local(at_ns).rem_euclid(DAY_NS);
                let on = |midnight: i64| midnight.saturating_add(of_day as i64).saturating_sub(wall_minus_ns);
                let moments = [midnight(first_ns), midnight(shown_ns), midnight(last_ns)].map(on);
                let outside = |at: i64| (first_ns as i64 - at).max(at - last_ns as i64).max(0);
                let nearest = moments.into_iter().min_by_key(|at| (outside(*at), at.abs_diff(shown_ns as i64)));
                nearest.and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
            }
        }
    }
}

/// `1.5s`, `1m30s`, `90`: ns.
fn span(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit_ns =
            if unit.is_empty() && after.is_empty() { SECOND_NS } else { NS.iter().find(|(name, _)| *name == unit)?.1 };
        total = total.checked_add(scaled(number, unit_ns)?)?;
        rest = after.trim_start();
    }
    Some(total)
}

/// A decimal number of a unit, ns; what is below a nanosecond is cut.
fn scaled(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut ns = u128::from(whole) * u128::from(unit_ns);
    let mut place = u128::from(unit_ns);
    for digit in part.bytes() {
        place /= 10;
        ns += u128::from(digit - b'0') * place;
    }
    u64::try_from(ns).ok()
}

/// `12:30`, `12:30:05`, `12:30:05.25`: ns since midnight.
fn of_day(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    let (hours, minutes) = (hours.parse::<u64>().ok()?, minutes.parse::<u64>().ok()?);
    let seconds_ns = scaled(seconds, SECOND_NS)?;
    let valid = parts.next().is_none() && hours < 24 && minutes < 60 && seconds_ns < 60 * SECOND_NS;
    valid.then(|| (hours * 3600 + minutes * 60) * SECOND_NS + seconds_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        assert_eq!(Typed::read("+1.5s"), Some(Typed::From(1_500_000_000)));
        assert_eq!(Typed::read("-200 ms"), Some(Typed::From(-200_000_000)));
        assert_eq!(Typed::read(" 1m30s "), Some(Typed::Since(90_000_000_000)));
        assert_eq!(Typed::read("90"), Some(Typed::Since(90_000_000_000)));
        assert_eq!(Typed::read(".000001234567"), Some(Typed::Since(1_234)));
        assert_eq!(Typed::read("12:30:05.25"), Some(Typed::OfDay(45_005_250_000_000)));
        assert_eq!(Typed::read("00:01"), Some(Typed::OfDay(60_000_000_000)));
        for wrong in ["", "+", "x", "1x", "90 5", "24:00", "1:60", "1:2:60", "1:2:3:4", "1..2", "99999999999999999999"]
        {
            assert_eq!(Typed::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_one_within_the_history() {
        // It began at 23:59:58 and ends at 00:00:03 of the next day; the kernel's clock stood at 100 s then.
        let wall_minus_ns = 10 * DAY_NS - 2 * SECOND_NS as i64 - 100 * SECOND_NS as i64;
        let at = |text: &str| {
            let span = (100 * SECOND_NS, 105 * SECOND_NS);
            Typed::read(text).unwrap().at_ns(span, 104 * SECOND_NS, wall_minus_ns)
        };
        assert_eq!(at("23:59:59"), 101 * SECOND_NS);
        assert_eq!(at("0:00:01.5"), 103 * SECOND_NS + SECOND_NS / 2);
        assert_eq!(at("2"), 102 * SECOND_NS);
        assert_eq!(at("-0.5s"), 103 * SECOND_NS + SECOND_NS / 2);
    }
}
