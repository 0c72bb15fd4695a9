//! Latency as text: rtla's tables and its report on a latency over a threshold, character for character where rtla has
//! the same thing.

pub mod report;
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

#[cfg(test)]
mod tests {
    #[test]
    fn durations_are_written_as_rtla_writes_them() {
        assert_eq!(super::duration(65), "  0 00:01:05");
        assert_eq!(super::duration(90_061), "  1 01:01:01");
        assert_eq!(super::us(1234), "1.23");
    }
}
