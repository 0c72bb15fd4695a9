//! Rows of the tracers, as the kernel prints them. Untrusted: what makes no sense is no row.

use crate::model::latency::{ByClass, Interval, NoiseClass, NoiseSample};

/// Where a timerlat sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// In the timer's interrupt.
    Irq,
    /// In the thread.
    Thread,
    /// Back from user space.
    User,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// osnoise's summary of a period.
    Noise {
        /// Where.
        cpu: u32,
        /// Its numbers.
        sample: NoiseSample,
    },
    /// `sample_threshold`: one gap.
    Gap {
        /// Where.
        cpu: u32,
        /// When it began.
        start_ns: u64,
        /// How long it was.
        duration_ns: u64,
        /// Entries in it.
        interference: u64,
    },
    /// hwlat's row: the longest gap of one run time.
    Hardware {
        /// Where.
        cpu: u32,
        /// When it began, about.
        start_ns: u64,
        /// How long it was.
        duration_ns: u64,
        /// NMIs in it.
        nmis: u64,
    },
    /// `irq_noise` and its like.
    Interval {
        /// Where.
        cpu: u32,
        /// What ran.
        interval: Interval,
    },
    /// timerlat's sample.
    Timer {
        /// Where.
        cpu: u32,
        /// When it was taken.
        at_ns: u64,
        /// In which context.
        context: Context,
        /// How late.
        latency_ns: u64,
        /// Who had the CPU.
        comm: String,
        /// That thread's id.
        pid: u32,
    },
    /// A threshold of the tracer's own was passed.
    Stopped,
    /// So many records were lost.
    Lost(u64),
    /// A stack follows.
    StackBegins {
        /// Where.
        cpu: u32,
    },
    /// One of its frames.
    StackFrame {
        /// The function.
        symbol: String,
    },
}

/// `205.172211` in ns.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    let ns = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// What stands before the message: who, where, when.
struct Head<'a> {
    comm: &'a str,
    pid: u32,
    cpu: u32,
    at_ns: u64,
    message: &'a str,
}

/// `  <idle>-0       [000] d.h1.   205.170214: #1 ...`; a comm may hold anything, brackets with numbers included: the
/// CPU is the first bracket behind which and before which all is as it should be.
fn head(line: &str) -> Option<Head<'_>> {
    let mut from = 0;
    loop {
        let open = from + line.get(from..)?.find(" [")?;
        let close = open + line.get(open..)?.find("] ")?;
        if let Some(head) = head_at(line, open, close) {
            return Some(head);
        }
        from = open + 2;
    }
}

/// The same, where the CPU is said to be in this bracket.
fn head_at(line: &str, open: usize, close: usize) -> Option<Head<'_>> {
    let cpu = line.get(open + 2..close)?.parse().ok()?;
    let (comm, pid) = line.get(..open)?.trim().rsplit_once('-')?;
    let (before, message) = line.get(close + 2..)?.split_once(": ")?;
    let at_ns = seconds(before.split_whitespace().next_back()?)?;
    let comm = if comm == "<idle>" { "swapper" } else { comm };
    Some(Head { comm, pid: pid.trim().parse().ok()?, cpu, at_ns, message: message.trim_end() })
}

/// Reads a line; `None` when it is no row that is known.
#[must_use]
pub fn row(line: &str) -> Option<Row> {
    if let Some(frame) = line.trim_start().strip_prefix("=> ") {
        let symbol = frame.split_whitespace().next()?;
        return Some(Row::StackFrame { symbol: clean(symbol) });
    }
    if let Some(lost) = line.strip_prefix("CPU:").and_then(|rest| rest.split_once("[LOST ")) {
        return Some(Row::Lost(lost.1.split_whitespace().next()?.parse().ok()?));
    }
    let head = head(line)?;
    let message = head.message.trim_start();
    if message.contains("<stack trace>") {
        return Some(Row::StackBegins { cpu: head.cpu });
    }
    if message.contains("stop tracing hit on cpu") {
        return Some(Row::Stopped);
    }
    if let Some(rest) = message.strip_prefix('#') {
        return if rest.contains("inner/outer(us):") { hwlat(&head, rest) } else { timer(&head, rest) };
    }
    match message.split_once(": ") {
        Some(("sample_threshold", rest)) => {
            let (start_ns, duration_ns) = span(rest)?;
            let interference = after(rest, "interference ").or_else(|| after(rest, "interferences "))?;
            Some(Row::Gap { cpu: head.cpu, start_ns, duration_ns, interference })
        }
        Some(("nmi_noise", rest)) => interval(&head, NoiseClass::Nmi, rest),
        Some(("irq_noise", rest)) => interval(&head, NoiseClass::Irq, rest),
        Some(("softirq_noise", rest)) => interval(&head, NoiseClass::Softirq, rest),
        Some(("thread_noise", rest)) => interval(&head, NoiseClass::Thread, rest),
        _ => noise(&head, message),
    }
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn timer(head: &Head<'_>, rest: &str) -> Option<Row> {
    let mut words = rest.split_whitespace();
    words.next()?.parse::<u64>().ok()?;
    let context = match (words.next()?, words.next()?) {
        ("context", "irq") => Context::Irq,
        ("context", "thread") => Context::Thread,
        ("context", "user-ret") => Context::User,
        _ => return None,
    };
    let latency_ns = (words.next()? == "timer_latency").then(|| words.next()?.parse().ok()).flatten()?;
    Some(Row::Timer { cpu: head.cpu, at_ns: head.at_ns, context, latency_ns, comm: clean(head.comm), pid: head.pid })
}

/// `1     inner/outer(us):   13/14    ts:1499801089.066141990 count:3 nmi-total:9 nmi-count:1`: the longest gap within
/// one reading of the clock, and between two, of one run time.
fn hwlat(head: &Head<'_>, rest: &str) -> Option<Row> {
    let mut words = rest.split_whitespace().skip(2);
    let (inner, outer) = words.next()?.split_once('/')?;
    let duration_ns = inner.parse::<u64>().ok()?.max(outer.parse().ok()?).checked_mul(1000)?;
    let interference = after(rest, "nmi-count:").unwrap_or(0);
    let start_ns = head.at_ns.saturating_sub(duration_ns);
    Some(Row::Hardware { cpu: head.cpu, start_ns, duration_ns, nmis: interference })
}

/// `start 205.172211000 duration 4567 ns`.
fn span(text: &str) -> Option<(u64, u64)> {
    let at = text.rfind("start ")?;
    let mut words = text.get(at..)?.split_whitespace().skip(1);
    let start = seconds(words.next()?)?;
    let duration = (words.next()? == "duration").then(|| words.next()?.parse().ok()).flatten()?;
    Some((start, duration))
}

fn after(text: &str, word: &str) -> Option<u64> {
    text.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

fn interval(head: &Head<'_>, class: NoiseClass, rest: &str) -> Option<Row> {
    let (start_ns, duration_ns) = span(rest)?;
    let name = rest.get(..rest.rfind("start ")?)?.trim();
    let name = if name.is_empty() { "nmi".to_owned() } else { clean(name) };
    // The duration is net: what interrupted it is told by its own row.
    let interval = Interval { class, name, start_ns, duration_ns, net_ns: duration_ns };
    Some(Row::Interval { cpu: head.cpu, interval })
}

/// `1000000      190  99.98100       9     18      0   1007     18      1`.
fn noise(head: &Head<'_>, message: &str) -> Option<Row> {
    let words: Vec<&str> = message.split_whitespace().collect();
    let [runtime, noise, _, single, hardware, nmi, irq, softirq, thread] = words.as_slice() else { return None };
    let us = |text: &str| text.parse::<u64>().ok()?.checked_mul(1000);
    let sample = NoiseSample {
        runtime_ns: us(runtime)?,
        noise_ns: us(noise)?,
        max_gap_ns: us(single)?,
        hardware: hardware.parse().ok()?,
        entries: ByClass {
            nmi: nmi.parse().ok()?,
            irq: irq.parse().ok()?,
            softirq: softirq.parse().ok()?,
            thread: thread.parse().ok()?,
        },
        ..NoiseSample::default()
    };
    Some(Row::Noise { cpu: head.cpu, sample })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_of_osnoise() {
        let line = "       osnoise/0-859     [000] .....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1";
        let Some(Row::Noise { cpu, sample }) = row(line) else { panic!("no row") };
        assert_eq!((cpu, sample.runtime_ns, sample.noise_ns, sample.max_gap_ns), (0, 1_000_000_000, 190_000, 9_000));
        assert_eq!(
            (sample.hardware, sample.entries.irq, sample.entries.softirq, sample.entries.thread),
            (18, 1007, 18, 1)
        );
        let line =
            " osnoise/8-961 [008] d.h.  5789.857532: irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns";
        let expected = Interval {
            class: NoiseClass::Irq,
            name: "local_timer:236".into(),
            start_ns: 5_789_857_529_929,
            duration_ns: 1845,
            net_ns: 1845,
        };
        assert_eq!(row(line), Some(Row::Interval { cpu: 8, interval: expected }));
        let line = " osnoise/8-961 [008] ....  5789.858413: sample_threshold: start 5789.858404871 duration 8812 ns interferences 2";
        let gap = Row::Gap { cpu: 8, start_ns: 5_789_858_404_871, duration_ns: 8812, interference: 2 };
        assert_eq!(row(line), Some(gap));
        let line =
            " osnoise/8-961 [008] ....  5789.858413: softirq_noise:    SCHED:7 start 5789.858404871 duration 8 ns";
        assert!(matches!(row(line), Some(Row::Interval { interval, .. }) if interval.name == "SCHED:7"));
    }

    #[test]
    fn rows_of_timerlat() {
        let line =
            "          <idle>-0       [000] d.h1.    54.029328: #1     context    irq timer_latency       932 ns";
        let expected = Row::Timer {
            cpu: 0,
            at_ns: 54_029_328_000,
            context: Context::Irq,
            latency_ns: 932,
            comm: "swapper".into(),
            pid: 0,
        };
        assert_eq!(row(line), Some(expected));
        let line =
            "      a [7] -b-9       [001] d.h1.    54.000001: #12    context user-ret timer_latency     11700 ns";
        let Some(Row::Timer { comm, pid, cpu, context, .. }) = row(line) else { panic!("a comm may hold anything") };
        assert_eq!((comm.as_str(), pid, cpu, context), ("a [7] -b", 9, 1, Context::User));
        assert_eq!(row("CPU:1 [LOST 17 EVENTS]"), Some(Row::Lost(17)));
        assert_eq!(row(" => vfs_read"), Some(Row::StackFrame { symbol: "vfs_read".into() }));
        assert_eq!(row("# tracer: timerlat"), None);
    }

    #[test]
    fn rows_of_hwlat() {
        let line = "           <...>-1729  [001] d...   678.473449: #1     inner/outer(us):   11/15    ts:1499801089.066141990 count:3";
        let expected = Row::Hardware { cpu: 1, start_ns: 678_473_434_000, duration_ns: 15_000, nmis: 0 };
        assert_eq!(row(line), Some(expected));
        let line = " <...>-7 [000] d...   678.473449: #2     inner/outer(us):    5/0     ts:1.066141990 count:1 nmi-total:8 nmi-count:2";
        assert!(matches!(row(line), Some(Row::Hardware { duration_ns: 5000, nmis: 2, .. })));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(line in ".{0,200}") {
            let _ = row(&line);
        }
    }
}
