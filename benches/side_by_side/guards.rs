//! What the brake and the budget cost a firing: the same script with and without, beside each other in the same firings.

use super::kernel::{Attached, attach_tool, run_times};
use super::tool::{Tool, median};

const CYCLES: usize = 7;

/// A guard, and a script that it is in.
struct Guard {
    name: &'static str,
    with: &'static [&'static str],
    without: &'static [&'static str],
    script: &'static str,
    /// What it may cost, ns.
    limit: f64,
}

/// Nothing is turned off in any of them. The brake's loop could be long and is short, as loops in honest scripts are.
const GUARDS: &[Guard] = &[
    Guard {
        name: "brake",
        with: &[],
        without: &["--no-brake"],
        script: "tracepoint:syscalls:sys_enter_getppid { $i = tid; while ($i < tid + 4) { $i++; } @ = count(); }",
        limit: 2.0,
    },
    Guard {
        name: "brake",
        with: &[],
        without: &["--no-brake"],
        script: "tracepoint:syscalls:sys_enter_getppid { @ = count(); }",
        limit: 2.0,
    },
    Guard {
        name: "budget",
        with: &["--budget", "100%"],
        without: &[],
        script: "tracepoint:syscalls:sys_enter_getppid { @ = count(); }",
        limit: 5.0,
    },
    Guard {
        name: "budget",
        with: &["--budget", "100%"],
        without: &[],
        script: "tracepoint:syscalls:sys_enter_getppid { @[comm, pid] = count(); }",
        limit: 5.0,
    },
    Guard {
        name: "budget",
        with: &["--budget", "100%"],
        without: &[],
        script: "tracepoint:syscalls:sys_enter_getppid /comm == \"nothing\"/ { @ = count(); }",
        limit: 5.0,
    },
];

/// ns a firing of both, each attached first in half of the rounds: what the machine does to one, it does to the other.
fn measure(guard: &Guard, turn: usize) -> Option<[f64; 2]> {
    let tools = [Tool::probescope_with(guard.with), Tool::probescope_with(guard.without)];
    let mut attached: [Option<(Attached, _)>; 2] = [None, None];
    for place in 0..2 {
        let who = (place + turn) % 2;
        attached[who] = Some(attach_tool(&tools[who], guard.script)?);
    }
    let times = run_times();
    let mut found = [0.0; 2];
    for (sum, contender) in found.iter_mut().zip(&attached) {
        let (_, ids) = contender.as_ref()?;
        *sum = ids.iter().filter_map(|id| times.get(id)).sum();
    }
    Some(found)
}

/// Prints the table.
pub fn table() {
    println!("\nns a firing of the brake and the budget (median of {CYCLES} cycles of two rounds)");
    let _statistics = match probescope::engine::enable_run_statistics() {
        Ok(held) => held,
        Err(e) => return println!("  left out: the kernel's run-time statistics can't be turned on: {e}"),
    };
    println!("  {:>7} {:>7} {:>7} {:>7}", "with", "without", "net", "limit");
    for guard in GUARDS {
        let cycle = |_| {
            let [a, b] = [measure(guard, 0)?, measure(guard, 1)?];
            Some([f64::midpoint(a[0], b[0]), f64::midpoint(a[1], b[1])])
        };
        let cycles: Vec<[f64; 2]> = (0..CYCLES).filter_map(cycle).collect();
        let of = |value: fn(&[f64; 2]) -> f64| median(cycles.iter().map(value).collect());
        let (with, without, net) = (of(|c| c[0]), of(|c| c[1]), of(|c| c[0] - c[1]));
        println!("  {with:7.1} {without:7.1} {net:7.1} {:7.1}  {}: {}", guard.limit, guard.name, guard.script);
    }
}
