//! System calls that failed, as text: from the call down to the function where the error came from.

use std::fmt::Write as _;

use crate::engine::names::time::{Clocks, format};
use crate::lang::constants;
use crate::model::failure::{Argument, Call, Failure, Outcome};
use crate::model::render::neutralise;
use crate::model::words::error_text;

/// Calls of one tree that are printed.
const MOST_LINES: usize = 5000;
/// Where results begin, in columns, at most.
const WIDEST: usize = 110;

/// An error number by its name.
#[must_use]
pub fn errno_name(number: u16) -> String {
    constants::errno(number).map_or_else(|| format!("error {number}"), str::to_owned)
}

/// What a call returned.
#[must_use]
pub fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Errno(number) => format!("-{}", errno_name(number)),
        Outcome::Null => "NULL".to_owned(),
        Outcome::Number(number) => number.to_string(),
        Outcome::Pointer(address) => format!("{address:#x}"),
        Outcome::Unseen => "?".to_owned(),
    }
}

/// Arguments with their names.
#[must_use]
pub fn arguments(list: &[Argument]) -> String {
    let one = |argument: &Argument| match &*argument.name {
        "" => argument.value.clone(),
        name => format!("{name}: {}", argument.value),
    };
    neutralise(&list.iter().map(one).collect::<Vec<_>>().join(", ")).into_owned()
}

/// A time, in us with as many digits as it deserves.
#[must_use]
pub fn time(ns: u64) -> String {
    match ns {
        0..100_000 => format!("{:.1} µs", ns as f64 / 1e3),
        100_000..10_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        _ => format!("{:.0} ms", ns as f64 / 1e6),
    }
}

/// One failure: a line for the system call, then its chain, or all calls.
#[must_use]
pub fn text(failure: &Failure, clocks: &Clocks, whole: bool) -> String {
    let when = format("%H:%M:%S.%f", clocks.wall(failure.at_ns, 1));
    let error = errno_name(failure.errno);
    let words = error_text(u64::from(failure.errno));
    let mut out = format!(
        "{when} {} {} {}({}) = -1 {error} ({words}), {}\n",
        neutralise(&failure.comm),
        failure.tid,
        neutralise(&failure.syscall),
        arguments(&failure.arguments),
        time(failure.duration_ns)
    );
    let chain = failure.chain();
    let mut lines = Vec::new();
    if whole {
        tree(&mut lines, &failure.calls, 1, &chain);
    } else {
        for (depth, call) in chain.iter().enumerate() {
            let last = depth + 1 == chain.len();
            lines.push(line(call, depth + 1, if last { ORIGIN } else { "" }));
        }
        lines.extend(translated(&chain));
    }
    let width = lines.iter().map(|line| line.head.len()).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    for Line { head, outcome, took, mark } in &lines {
        let _ = writeln!(out, "{head:<width$}  {outcome:>12} {took:>9}{mark}");
    }
    if lines.len() >= MOST_LINES {
        out.push_str("  ... (more calls)\n");
    }
    if chain.is_empty() {
        out.push_str("  none of the traced functions returned it: it comes from the system call itself\n");
    }
    if failure.incomplete {
        out.push_str("  some calls or returns were not seen: the tree may have gaps\n");
    }
    out
}

const ORIGIN: &str = "  <- from here";

/// A call as it is printed.
struct Line {
    head: String,
    outcome: String,
    took: String,
    mark: &'static str,
}

/// The error that the deepest function made its own of, if it is another one.
fn translated(chain: &[&Call]) -> Option<Line> {
    let below = chain.last()?.last_error_below()?;
    Some(line(below, chain.len() + 1, "  (ended otherwise)"))
}

fn tree(lines: &mut Vec<Line>, calls: &[Call], depth: usize, chain: &[&Call]) {
    for call in calls {
        if lines.len() >= MOST_LINES {
            return;
        }
        let origin = chain.last().is_some_and(|last| std::ptr::eq(*last, call));
        lines.push(line(call, depth, if origin { ORIGIN } else { "" }));
        tree(lines, &call.calls, depth + 1, chain);
    }
}

fn line(call: &Call, depth: usize, mark: &'static str) -> Line {
    let indent = "  ".repeat(depth.min(40));
    let head = format!("{indent}{}({})", neutralise(&call.function), arguments(&call.arguments));
    let took = call.duration_ns.map_or_else(String::new, time);
    Line { head, outcome: outcome(call.outcome), took, mark }
}
