//! The report on one latency over a threshold, in the words of rtla's automatic analysis.

use std::fmt::Write as _;

use super::us;
use crate::model::latency::{Episode, EpisodeKind, Interval, NoiseClass};
use crate::model::value::Frame;

/// How much of a stack is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// Up to the first address without a name.
    #[default]
    Truncate,
    /// Without those that have no name.
    Skip,
    /// All of it.
    Full,
}

impl Stacks {
    /// The frames that are printed.
    fn shown(self, frames: &[Frame]) -> impl Iterator<Item = &Frame> {
        let named = |frame: &&Frame| frame.symbol.is_some();
        let end = if self == Self::Truncate { frames.iter().take_while(named).count() } else { frames.len() };
        frames[..end].iter().filter(move |frame| self == Self::Full || frame.symbol.is_some())
    }
}

/// The report of an episode, its stacks in full.
#[must_use]
pub fn report(episode: &Episode) -> String {
    report_with(episode, Stacks::Full)
}

/// The report of an episode.
#[must_use]
pub fn report_with(episode: &Episode, stacks: Stacks) -> String {
    let mut text = format!("## CPU {} hit stop tracing, analyzing it ##\n", episode.cpu);
    match episode.kind {
        EpisodeKind::Noise => gap(&mut text, episode),
        _ => latency(&mut text, episode, stacks),
    }
    more(&mut text, episode);
    text
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

fn part(text: &mut String, name: &str, ns: u64, whole: u64) {
    let _ = writeln!(text, "  {name:<38}{:>9} us ({:.2} %)", us(ns), percent(ns, whole));
}

fn gap(text: &mut String, episode: &Episode) {
    let (parts, whole) = (&episode.parts, episode.late_ns());
    let entered = !episode.intervals.is_empty() || parts.nmi_ns + parts.irq_ns + parts.softirq_ns + parts.thread_ns > 0;
    let hardware = if entered { parts.hardware_ns } else { whole };
    if hardware > 0 {
        part(text, "Hardware noise (nothing was entered):", hardware, whole);
    }
    interference(text, episode, "NMI interference", NoiseClass::Nmi, parts.nmi_ns, whole);
    interference(text, episode, "IRQ interference", NoiseClass::Irq, parts.irq_ns, whole);
    interference(text, episode, "Softirq interference", NoiseClass::Softirq, parts.softirq_ns, whole);
    interference(text, episode, "Thread interference", NoiseClass::Thread, parts.thread_ns, whole);
    if entered {
        residual(text, episode);
    }
    let name = if episode.is_period() { "Noise of the period:" } else { "Gap:" };
    let _ = writeln!(text, "{}\n  {name:<38}{:>9} us (100%)", "-".repeat(72), us(whole));
}

fn residual(text: &mut String, episode: &Episode) {
    let ns = episode.parts.residual_ns;
    let whole = episode.late_ns().max(1);
    let _ = writeln!(
        text,
        "  {:<38}{:>9.2} us ({:.2} %)",
        "Residual (entry, exit, untraced):",
        ns as f64 / 1000.0,
        ns as f64 * 100.0 / whole as f64
    );
}

fn latency(text: &mut String, episode: &Episode, stacks: Stacks) {
    let parts = &episode.parts;
    let irq_only = matches!(episode.kind, EpisodeKind::Irq | EpisodeKind::Passive);
    let irq_latency = parts.irq_latency_ns.unwrap_or(0);
    let whole = if irq_only { irq_latency } else { episode.latency_ns() };
    if let Some(previous) = episode.previous_irqs.last() {
        let _ = writeln!(text, "  Previous IRQ interference: {:11}up to {:>9} us", "", us(previous.duration_ns));
        episode.previous_irqs.iter().for_each(|i| row(text, i, i.net_ns));
    }
    let woke = if episode.idle.is_some() { "IRQ handler delay: (exit from idle)" } else { "IRQ handler delay:" };
    part(text, woke, parts.irq_delay_ns, whole);
    let _ = writeln!(text, "  {:<38}{:>9} us", "IRQ latency:", us(irq_latency));
    if !irq_only {
        part(text, "Timerlat IRQ duration:", parts.timer_irq_ns, whole);
    }
    if let Some(blocker) = &episode.blocker {
        part(text, "Blocking thread:", parts.blocking_thread_ns, whole);
        let _ = writeln!(text, "\t{:>24}:{:<9}\t{:>9} us", blocker.comm, blocker.pid, us(parts.blocking_thread_ns));
        if !blocker.kernel_stack.is_empty() || !blocker.user_stack.is_empty() {
            text.push_str("    Blocking thread stack trace\n");
            stacks.shown(&blocker.kernel_stack).for_each(|f| frame(text, f, ""));
            stacks.shown(&blocker.user_stack).for_each(|f| frame(text, f, " [user]"));
        }
    }
    if !irq_only {
        interference(text, episode, "NMI interference", NoiseClass::Nmi, parts.nmi_ns, whole);
        interference(text, episode, "IRQ interference", NoiseClass::Irq, parts.irq_ns, whole);
        interference(text, episode, "Softirq interference", NoiseClass::Softirq, parts.softirq_ns, whole);
        interference(text, episode, "Thread interference", NoiseClass::Thread, parts.thread_ns, whole);
        if parts.unrecorded_ns > 0 {
            part(text, "Not recorded (the recorder was full):", parts.unrecorded_ns, whole);
        }
        residual(text, episode);
    }
    let name = match episode.kind {
        EpisodeKind::Irq | EpisodeKind::Passive => "IRQ latency:",
        EpisodeKind::User => "User latency:",
        _ => "Thread latency:",
    };
    let _ = writeln!(text, "{}\n  {name:<38}{:>9} us (100%)", "-".repeat(72), us(whole));
}

fn frame(text: &mut String, frame: &Frame, mark: &str) {
    match &frame.symbol {
        Some(symbol) => drop(writeln!(text, "\t\t-> {symbol}{mark}")),
        None => drop(writeln!(text, "\t\t-> {:#x}{mark}", frame.address)),
    }
}

fn interference(text: &mut String, episode: &Episode, name: &str, class: NoiseClass, ns: u64, whole: u64) {
    if ns == 0 {
        return;
    }
    part(text, name, ns, whole);
    let blocker = episode.blocker.as_ref().map(|b| format!("{}:{}", b.comm, b.pid));
    // Where a timer is concerned, its own interrupt has a line of its own, and what threads did before it is its delay.
    let ran = episode.parts.irq_latency_ns.map(|ns| episode.began_ns + ns);
    let of = |i: &Interval| {
        let is_own = i.class == NoiseClass::Irq && ran.is_some_and(|ran| (i.start_ns..=i.end_ns()).contains(&ran));
        let from = if class == NoiseClass::Thread { ran.unwrap_or(0) } else { 0 };
        let inside_ns = i.end_ns().min(episode.ended_ns).saturating_sub(from.max(i.start_ns));
        let counts = i.class == class && blocker.as_ref() != Some(&i.name) && !is_own && inside_ns > 0;
        counts.then(|| i.net_ns.min(inside_ns))
    };
    episode.intervals.iter().filter_map(|i| Some((i, of(i)?))).for_each(|(i, ns)| row(text, i, ns));
}

fn row(text: &mut String, interval: &Interval, ns: u64) {
    let (name, id) = interval.name.rsplit_once(':').unwrap_or((&interval.name, ""));
    let _ = writeln!(text, "\t{name:>24}:{id:<9}\t{:>9} us", us(ns));
}

/// What rtla does not tell.
fn more(text: &mut String, episode: &Episode) {
    if let Some(idle) = &episode.idle {
        let name = if idle.name.is_empty() { "unnamed" } else { &idle.name };
        let _ = writeln!(text, "  Left idle state {} ({name})", idle.state);
    }
    for ipi in &episode.ipis {
        let callback = if ipi.callback.is_empty() { String::new() } else { format!(" to call {}", ipi.callback) };
        let _ = writeln!(text, "  Interrupt sent by CPU {}, {}:{}{callback}", ipi.cpu, ipi.comm, ipi.pid);
        ipi.stack.iter().for_each(|f| frame(text, f, ""));
    }
    if episode.truncated {
        text.push_str("  The recorder did not reach back to the beginning: what ran before is not listed.\n");
    }
}

/// What ran on the other CPUs, as rtla's `--dump-tasks` prints it.
#[must_use]
pub fn tasks(episode: &Episode) -> String {
    let mut text = "Printing CPU tasks:\n".to_owned();
    if let Some(blocker) = &episode.blocker {
        let _ = writeln!(text, "    [{:03}] {:>24}:{}", episode.cpu, blocker.comm, blocker.pid);
    }
    for task in &episode.others {
        let work = if task.work.is_empty() { String::new() } else { format!(" kworker:{}", task.work) };
        let _ = writeln!(text, "    [{:03}] {:>24}:{}{work}", task.cpu, task.comm, task.pid);
    }
    text
}

/// An episode as a trace: a line for each interval, in order, for `trace` files.
#[must_use]
pub fn trace(episode: &Episode) -> String {
    let mut text = String::new();
    for interval in &episode.intervals {
        let kind = match interval.class {
            NoiseClass::Nmi => "nmi_noise",
            NoiseClass::Irq => "irq_noise",
            NoiseClass::Softirq => "softirq_noise",
            _ => "thread_noise",
        };
        let (seconds, fraction) = (interval.start_ns / 1_000_000_000, interval.start_ns % 1_000_000_000);
        let end = interval.end_ns();
        let _ = writeln!(
            text,
            "          <...>-0       [{:03}] .....  {}.{:06}: {kind}: {} start {seconds}.{fraction:09} duration {} ns",
            episode.cpu,
            end / 1_000_000_000,
            end % 1_000_000_000 / 1000,
            interval.name,
            interval.net_ns,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::{Blocker, LatencyParts};

    fn episode() -> Episode {
        let interval = |class, name: &str, start_ns, duration_ns| Interval {
            class,
            name: name.to_owned(),
            start_ns,
            duration_ns,
            net_ns: duration_ns,
        };
        let frame = Frame { address: 1, symbol: Some("vfs_read".into()), offset: 0, object: None, inlined: false };
        Episode {
            cpu: 3,
            kind: EpisodeKind::Thread,
            began_ns: 1_000_000_000,
            ended_ns: 1_000_010_000,
            threshold_ns: 5_000,
            parts: LatencyParts {
                irq_delay_ns: 1_000,
                irq_latency_ns: Some(1_500),
                timer_irq_ns: 2_000,
                blocking_thread_ns: 5_000,
                softirq_ns: 1_500,
                residual_ns: 500,
                ..LatencyParts::default()
            },
            intervals: vec![
                interval(NoiseClass::Irq, "local_timer:236", 1_000_001_000, 2_000),
                interval(NoiseClass::Softirq, "NET_RX:3", 1_000_004_000, 1_500),
            ],
            previous_irqs: Vec::new(),
            blocker: Some(Blocker { comm: "cat".into(), pid: 7, kernel_stack: vec![frame], user_stack: Vec::new() }),
            idle: None,
            ipis: Vec::new(),
            others: vec![crate::model::latency::CpuTask {
                cpu: 1,
                comm: "kworker/1:0".into(),
                pid: 9,
                work: "vmstat_update".into(),
            }],
            truncated: false,
        }
    }

    #[test]
    fn a_report_has_rtlas_lines() {
        let text = report(&episode());
        for line in [
            "## CPU 3 hit stop tracing, analyzing it ##",
            "Blocking thread stack trace",
            "-> vfs_read",
            "5.00 us (50.00 %)",
            "NET_RX:3",
            "10.00 us (100%)",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(tasks(&episode()).contains("Printing CPU tasks:\n    [003]                      cat:7\n    [001]"));
    }

    #[test]
    fn lines_below_a_part_are_what_the_part_is_of() {
        let mut episode = episode();
        let idle = Interval { name: "swapper/3:0".into(), class: NoiseClass::Thread, ..episode.intervals[0].clone() };
        // Idle until 1.7 us, of which the last 200 ns are after the timer.
        let idle = Interval { start_ns: 999_990_000, duration_ns: 11_700, net_ns: 11_700, ..idle };
        episode.intervals.insert(0, idle);
        (episode.parts.thread_ns, episode.parts.irq_ns, episode.parts.residual_ns) = (200, 300, 0);
        let irq = Interval {
            name: "eth0:25".into(),
            start_ns: 1_000_003_200,
            duration_ns: 300,
            net_ns: 300,
            ..episode.intervals[1].clone()
        };
        episode.intervals.push(irq);
        let text = report(&episode);
        let below = |head: &str| {
            let rest = text.lines().skip_while(|line| !line.contains(head)).skip(1);
            rest.take_while(|line| line.starts_with('\t'))
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        assert_eq!(below("Thread interference"), ["swapper/3:0 0.20 us"], "{text}");
        assert_eq!(below("IRQ interference"), ["eth0:25 0.30 us"], "the timer's own has a line above: {text}");
    }

    #[test]
    fn a_trace_reads_as_the_kernels() {
        let text = trace(&episode());
        let row = crate::tracer::latency::tracefs::parse::row(text.lines().next().unwrap());
        assert!(matches!(row, Some(crate::tracer::latency::tracefs::parse::Row::Interval { cpu: 3, .. })), "{text}");
    }
}
