//! System calls that failed, as text: from the call down to the function where the error came from.

use std::fmt::Write as _;

use crate::engine::names::time::{Clocks, format};
use crate::lang::constants;
use crate::model::failure::{Argument, Call, Failure, Outcome};
use crate::model::render::neutralise;
use crate::model::words::error_text;

/// Calls of one tree that are printed.
const MOST_LINES: usize = 5000;
/// Where results begin, in columns.
const RESULTS: usize = 84;

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
        0..100_000 => format!("{:.1} us", ns as f64 / 1e3),
        100_000..10_000_000 => format!("{:.0} us", ns as f64 / 1e3),
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
    if whole {
        let mut left = MOST_LINES;
        tree(&mut out, &failure.calls, 1, &chain, &mut left);
        if left == 0 {
            out.push_str("  ... (more calls)\n");
        }
    } else {
        for (depth, call) in chain.iter().enumerate() {
            let last = depth + 1 == chain.len();
            line(&mut out, call, depth + 1, if last { ORIGIN } else { "" });
        }
        translated(&mut out, &chain);
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

/// The error that the deepest function made its own of, if it is another one.
fn translated(out: &mut String, chain: &[&Call]) {
    let Some(below) = chain.last().and_then(|call| call.last_error_below()) else { return };
    line(out, below, chain.len() + 1, "  (ended otherwise)");
}

fn tree(out: &mut String, calls: &[Call], depth: usize, chain: &[&Call], left: &mut usize) {
    for call in calls {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let origin = chain.last().is_some_and(|last| std::ptr::eq(*last, call));
        line(out, call, depth, if origin { ORIGIN } else { "" });
        tree(out, &call.calls, depth + 1, chain, left);
    }
}

fn line(out: &mut String, call: &Call, depth: usize, mark: &str) {
    let indent = "  ".repeat(depth.min(40));
    let head = format!("{indent}{}({})", neutralise(&call.function), arguments(&call.arguments));
    let took = call.duration_ns.map_or_else(String::new, time);
    let _ = writeln!(out, "{head:<RESULTS$} {:>14} {took:>9}{mark}", outcome(call.outcome));
}
