//! Latency as text: rtla's tables and its report on a latency over a threshold, character for character where rtla has
//! the same thing.

pub mod report;
pub mod shapes;
pub mod tables;

/// Nanoseconds as microseconds with two digits.
#[must_use]
pub fn us(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1000.0)
}

/// `  0 00:01:05`: days and a clock, as rtla writes how long it has measured.
#[must_use]
pub fn duration(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    format!("{days:3} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// A time as mail and rt-tests write it: `Wed, 25 Nov 2026 10:15:34 +0000`.
#[must_use]
pub fn rfc2822(unix_seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, rest) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Years that begin in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12;
    let year = era * 400 + year_of_era + u64::from(month < 2);
    let name = MONTHS[month as usize];
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{}, {day:02} {name} {year} {hour:02}:{minute:02}:{second:02} +0000", DAYS[(days % 7) as usize])
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_those_of_mail() {
        assert_eq!(super::rfc2822(0), "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(super::rfc2822(1_795_601_734), "Wed, 25 Nov 2026 10:15:34 +0000");
        assert_eq!(super::rfc2822(1_709_164_800), "Thu, 29 Feb 2024 00:00:00 +0000");
    }

    #[test]
    fn durations_are_written_as_rtla_writes_them() {
        assert_eq!(super::duration(65), "  0 00:01:05");
        assert_eq!(super::duration(90_061), "  1 01:01:01");
        assert_eq!(super::us(1234), "1.23");
    }
}
