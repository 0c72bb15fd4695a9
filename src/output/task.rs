//! Where the time of threads went, as text.

use std::fmt::Write as _;

use crate::model::task::verdict::verdict;
use crate::model::task::{LongWait, Part, Relation, TaskReport, ThreadTime};
use crate::model::value::Frame;

/// Rows of each list.
const ROWS: usize = 8;
/// Frames of a stack that are printed.
const FRAMES: usize = 8;

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A time with a unit that suits it.
#[must_use]
pub fn time(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{:.2} µs", ns as f64 / 1e3),
        10_000..10_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// Text of traced programs without what would move the cursor.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The whole report; the worst waits as many as asked for.
#[must_use]
pub fn report(report: &TaskReport, worst: usize) -> String {
    let mut text = String::new();
    let parts = report.parts();
    let wall: u64 = report.threads.iter().map(|thread| thread.wall_ns).sum();
    let many = report.threads.len();
    let _ = writeln!(
        text,
        "{}: {many} thread{}, watched for {}, {} of wall time in all",
        clean(&report.chosen),
        if many == 1 { "" } else { "s" },
        time(report.watched_ns),
        time(wall)
    );
    let _ = writeln!(text, "\n{:<26}{:>10}{:>9}{:>10}{:>11}", "", "time", "share", "times", "longest");
    for part in Part::ALL.into_iter().filter(|part| parts.get(*part) > 0) {
        let times: u64 = report.threads.iter().map(|thread| thread.counts.get(part)).sum();
        let longest = report.threads.iter().map(|thread| thread.longest.get(part)).max().unwrap_or(0);
        let times = if matches!(part, Part::Irqs | Part::Softirqs) { "-".to_owned() } else { times.to_string() };
        let (ns, share) = (parts.get(part), percent(parts.get(part), wall));
        let _ = writeln!(text, "{:<26}{:>10}{share:>7.2} %{times:>10}{:>11}", part.words(), time(ns), time(longest));
    }
    let sum = parts.total();
    let _ = writeln!(text, "{:<26}{:>10}{:>7.2} %", "sum", time(sum), percent(sum, wall));
    let told = verdict(report);
    let _ = writeln!(text, "\n{}", clean(&told.words));
    for share in told.shares.iter().skip(1).filter(|share| percent(share.ns, wall) >= 1.0) {
        let _ = writeln!(text, "  also: {}", clean(&share.words));
    }
    text.push_str(&details(report, worst));
    text
}

/// The lists of a report: threads, behind whom, where it waited, the worst waits, and what is not told.
#[must_use]
pub fn details(report: &TaskReport, worst: usize) -> String {
    let mut text = String::new();
    threads(&mut text, report);
    behind(&mut text, report);
    places(&mut text, report);
    for (number, wait) in report.worst.iter().take(worst).enumerate() {
        let _ = write!(text, "\n#{} ", number + 1);
        long_wait(&mut text, wait);
    }
    for lost in &report.lost {
        let _ = writeln!(text, "\nnot told: {lost}");
    }
    text
}

fn threads(text: &mut String, report: &TaskReport) {
    if report.threads.len() < 2 {
        return;
    }
    let _ = writeln!(text, "\n{:<26}{:>9}{:>9}{:>9}{:>11}", "thread", "running", "waiting", "delayed", "longest");
    let sum = |thread: &ThreadTime, of: fn(Part) -> bool| -> u64 {
        Part::ALL.into_iter().filter(|part| of(*part)).map(|part| thread.parts.get(part)).sum()
    };
    for thread in report.threads.iter().take(ROWS) {
        let delay = sum(thread, Part::is_delay);
        let longest = Part::ALL.into_iter().filter(|p| p.is_delay()).map(|p| thread.longest.get(p)).max().unwrap_or(0);
        let waits = sum(thread, |part| matches!(part, Part::Sleeping | Part::Blocked | Part::Io | Part::Stopped));
        let name = clean(&format!("{}:{}", thread.comm, thread.pid));
        let share = |ns| format!("{:.2} %", percent(ns, thread.wall_ns));
        let (runs, waits, delay) = (share(thread.parts.get(Part::Running)), share(waits), share(delay));
        let _ = writeln!(text, "{name:<26}{runs:>9}{waits:>9}{delay:>9}{:>11}", time(longest));
    }
    if report.threads.len() > ROWS {
        let _ = writeln!(text, "and {} more", report.threads.len() - ROWS);
    }
}

fn behind(text: &mut String, report: &TaskReport) {
    if report.behind.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{:<26}{:>10}{:>9}{:>11}  of", "could run, behind", "time", "times", "longest");
    for row in report.behind.iter().take(ROWS) {
        let of = match row.relation {
            Relation::Idle => "an idle CPU that had to be woken".to_owned(),
            Relation::Itself => "its own".to_owned(),
            Relation::Sibling if row.cgroup == "/" => "the same control group".to_owned(),
            Relation::Sibling => format!("its control group {}", row.cgroup),
            Relation::Neighbour => format!("control group {}", row.cgroup),
        };
        let name = clean(&row.name);
        let (ns, max) = (time(row.ns), time(row.max_ns));
        let _ = writeln!(text, "{name:<26}{ns:>10}{:>9}{max:>11}  {}", row.count, clean(&of));
    }
}

fn places(text: &mut String, report: &TaskReport) {
    if report.places.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{:<26}{:>10}{:>9}{:>11}  for", "waited in", "time", "times", "longest");
    for row in report.places.iter().take(ROWS) {
        let name = if row.function.is_empty() { "?" } else { &row.function };
        let (ns, max) = (time(row.ns), time(row.max_ns));
        let _ = writeln!(text, "{name:<26}{ns:>10}{:>9}{max:>11}  {}", row.count, row.reason.words());
    }
}

fn frames(text: &mut String, what: &str, stacks: [&[Frame]; 2]) {
    if stacks.iter().all(|stack| stack.is_empty()) {
        return;
    }
    let _ = writeln!(text, "    {what}");
    for (stack, mark) in stacks.into_iter().zip(["", " [user]"]) {
        for frame in stack.iter().take(FRAMES) {
            let name = frame.symbol.as_deref().map_or_else(|| format!("{:#x}", frame.address), clean);
            let _ = writeln!(text, "      -> {name}{mark}");
        }
    }
}

/// One wait, step by step.
pub fn long_wait(text: &mut String, wait: &LongWait) {
    let mut at = 0;
    let _ = writeln!(text, "{} waited {} on CPU {}", clean(&wait.name), time(wait.total_ns()), wait.cpu);
    let mut step = |text: &mut String, ns: u64, words: &str| {
        let _ = writeln!(text, "  {:>10} +{:<10} {}", time(at), time(ns), clean(words));
        at += ns;
    };
    if wait.blocked_ns > 0 {
        step(text, wait.blocked_ns, &format!("{}, for {}", wait.why.words(), wait.reason.words()));
    } else {
        let by = if wait.taken_by.is_empty() { String::new() } else { format!(", {} got the CPU", wait.taken_by) };
        step(text, 0, &format!("{}{by}", wait.why.words()));
    }
    if !wait.waker.is_empty() {
        step(text, wait.waking_ns, &format!("woken by {}", wait.waker));
    }
    let told: u64 = wait.behind.iter().map(|turn| turn.ns).sum();
    if wait.delay_ns > told {
        let what = match (wait.why, wait.moved) {
            (Part::Throttled, _) => "until it had quota again, and the CPU",
            (_, 0) => "behind others",
            _ => "on other CPUs' run queues",
        };
        step(text, wait.delay_ns - told, what);
    }
    for turn in &wait.behind {
        let of = if matches!(turn.cgroup.as_str(), "" | "/") { String::new() } else { format!(" of {}", turn.cgroup) };
        step(text, turn.ns, &format!("behind {}{of}", turn.name));
    }
    if wait.irq_ns > 0 {
        let _ = writeln!(text, "             {} of that in interrupts", time(wait.irq_ns));
    }
    frames(text, "waited at", [&wait.kernel_stack, &wait.user_stack]);
    frames(text, "woken from", [&wait.waker_stack, &[]]);
    frames(text, "whoever ran before it gave the CPU up at", [&wait.blocker_kernel, &wait.blocker_user]);
}
