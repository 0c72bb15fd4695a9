//! Loops in probes that fire often: what each firing takes is taken thousands of times a second.

use crate::lang::codes::check::HOT_PROBE;
use crate::lang::diagnostic::Diagnostic;
use crate::model::target::Target;
use crate::model::words;
use crate::probe::rate::firings_a_second;

use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::loops::steps;

/// What a step is taken for, ns: an iteration with its tests, or a call, as on a machine of today. An order of size.
const STEP_NS: u64 = 10;
/// Loops that take less than this part of a busy CPU's time are nobody's concern: one in so many.
const CONCERN: u64 = 10;

const HELP: &str = "let the loop end sooner, move it to an `interval`, or trace fewer events: the brake turns off what takes \
                    a CPU away";

/// Warns of loops that take much of a CPU's time where the probe fires as often as it may, as far as the script
/// shows how long they are.
pub fn warn_hot_loops(l: &mut Lowerer<'_, '_>, targets: &[u32]) {
    let steps = steps::of_probe(CostContext { unknown: 1, ..l.object.cost_context() }, l.probe);
    let took_ns = steps.saturating_mul(STEP_NS);
    let of = |index: &u32| l.probe.targets.get(*index as usize).and_then(firings_a_second);
    let Some(rate) = targets.iter().filter_map(of).max() else { return };
    let a_second = took_ns.saturating_mul(rate);
    if l.probe.targets.iter().any(is_run_by_hand) || a_second < 1_000_000_000 / CONCERN {
        return;
    }
    let message = format!(
        "loops of up to {} steps in a probe that can fire {} times a second on one CPU: about {} a firing",
        words::grouped(steps),
        words::grouped(rate),
        duration(took_ns),
    );
    l.object.warn(Diagnostic::warning(HOT_PROBE, l.probe.head, message).help(HELP));
}

fn is_run_by_hand(target: &Target) -> bool {
    matches!(target, Target::Test(_) | Target::Bench(_))
}

fn duration(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{} µs", (ns / 1_000).max(1)),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", words::grouped(ns / 1_000_000_000)),
    }
}
