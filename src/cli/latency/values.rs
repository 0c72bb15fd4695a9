//! Values of rtla's options: times, lists of CPUs, scheduling policies.

use std::time::Duration;

use crate::cli::CliError;
use crate::kernel::Kernel;
use crate::kernel::cpus::CpuSet;
use crate::tracer::latency::Policy;

/// Longest duration: ten years of seconds, so that a moment so far away is one that clocks can tell.
const LONGEST_S: u64 = 10 * 365 * 86_400;

/// A refusal in plain words.
pub fn refuse<T>(why: impl Into<String>) -> Result<T, CliError> {
    Err(CliError::Refused(why.into()))
}

/// A number of seconds, or with m, h, d.
pub fn duration(text: &str) -> Result<Duration, CliError> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.as_bytes()[text.len() - 1]),
        None => (text, b's'),
    };
    let factor = match unit {
        b'm' => 60,
        b'h' => 3600,
        b'd' => 86_400,
        _ => 1,
    };
    let seconds =
        number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| (1..=LONGEST_S).contains(n));
    match seconds {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => refuse(format!("`{text}` is no duration: write a number with s, m, h or d")),
    }
}

/// `all`, or a list such as 0-3,8.
pub fn cpus(text: &str, kernel: &Kernel) -> Result<Vec<u32>, CliError> {
    if text == "all" {
        return Ok(kernel.online_cpus().as_slice().to_vec());
    }
    let set = CpuSet::parse(text);
    if set.is_empty() {
        refuse(format!("`{text}` is no list of CPUs: write 0-3,8 (a kernel has 8192 at most)"))
    } else {
        Ok(set.as_slice().to_vec())
    }
}

/// us, or with a unit.
fn time_ns(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[split..] {
        "ns" => 1,
        "" | "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(factor)
}

/// `f:95`, `d:500us:1ms`.
pub fn policy(text: &str) -> Result<Policy, CliError> {
    let priority = |text: &str| text.parse::<u32>().ok().filter(|p| (1..=99).contains(p));
    let mut parts = text.split(':');
    let parsed = match (parts.next().map(str::to_ascii_lowercase).as_deref(), parts.next(), parts.next()) {
        (Some("o"), None | Some("0"), None) => Some(Policy::Other),
        (Some("f"), Some(p), None) => priority(p).map(Policy::Fifo),
        (Some("r"), Some(p), None) => priority(p).map(Policy::RoundRobin),
        (Some("d"), Some(runtime), Some(period)) => match (time_ns(runtime), time_ns(period)) {
            (Some(runtime_ns), Some(period_ns)) if runtime_ns <= period_ns => {
                Some(Policy::Deadline { runtime_ns, period_ns })
            }
            _ => None,
        },
        _ => None,
    };
    parsed.map_or_else(
        || refuse(format!("`{text}` is no scheduling policy: write o:0, f:PRIO, r:PRIO or d:RUNTIME:PERIOD")),
        Ok,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_policies_are_rtlas() {
        assert_eq!(duration("5").unwrap(), Duration::from_secs(5));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        for bad in ["", "s", "0s", "5x", "-1", "5.5s", "9999999d", "99999999999999999999"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(policy("f:1").unwrap(), Policy::Fifo(1));
        assert_eq!(policy("R:99").unwrap(), Policy::RoundRobin(99));
        assert_eq!(policy("o:0").unwrap(), Policy::Other);
        let deadline = Policy::Deadline { runtime_ns: 500_000, period_ns: 1_000_000 };
        assert_eq!(policy("d:500us:1ms").unwrap(), deadline);
        for bad in ["f", "f:0", "f:100", "x:1", "d:2ms:1ms", "o:5"] {
            assert!(policy(bad).is_err(), "{bad}");
        }
    }
}
