//! Probes that are known to fire so often that they slow the machine down.
//!
//! What counts is how often a place is passed on a busy CPU: from a hundred thousand times a second
//! on. A script may well mean it, so this is a warning.

use crate::lang::codes::check::HOT_PROBE;
use crate::lang::source::Span;
use crate::model::target::{Rate, Target};
use crate::probe::rate::{HOT_CATEGORIES, HOT_EVENTS, is_hot};

use crate::lang::bt::check::checker::Checker;

/// That many functions of the kernel together are hot, whatever they are.
const MANY_FUNCTIONS: usize = 1000;
/// That many functions of programs.
const MANY_USER_FUNCTIONS: usize = 2000;
/// Shortest time between two firings of a timer that costs little, ns.
const SHORT_PERIOD_NS: u64 = 50_000;

/// Warns when what an attach point stands for is known to be hot.
pub fn warn_hot(c: &mut Checker<'_>, targets: &[(Target, String)], span: Span) {
    let Some((message, help)) = hot(targets) else { return };
    c.warn(HOT_PROBE, span, message, Some(help));
}

fn hot(targets: &[(Target, String)]) -> Option<(String, String)> {
    let narrower = || "name fewer of them; `probescope list` shows what a pattern stands for".to_owned();
    let count = |wanted: fn(&Target) -> bool| targets.iter().filter(|(t, _)| wanted(t)).count();
    let functions = count(|t| matches!(t, Target::Kprobe { .. } | Target::Fentry { .. }));
    if functions >= MANY_FUNCTIONS {
        return Some((format!("{functions} functions of the kernel fire millions of times a second"), narrower()));
    }
    let user = count(|t| matches!(t, Target::Uprobe { .. }));
    if user >= MANY_USER_FUNCTIONS {
        let message = format!("{user} functions of programs, each firing of which interrupts its program");
        return Some((message, narrower()));
    }
    if let [(target, name)] = targets {
        let often = format!("`{name}` fires hundreds of thousands of times a second on a busy machine");
        return match target {
            Target::Tracepoint { category, event } if HOT_EVENTS.contains(&(category, event)) => {
                Some((often, "count in a map instead of printing each one".into()))
            }
            Target::Kprobe { function, offset: 0, .. } | Target::Fentry { function, .. } if is_hot(function) => {
                Some((often, "count in a map instead of printing each one".into()))
            }
            Target::Profile { rate: Rate::PeriodNs(period_ns) } if *period_ns < SHORT_PERIOD_NS => too_fast(*period_ns),
            Target::Profile { rate: Rate::Hertz(hz) } if 1_000_000_000 / (*hz).max(1) < SHORT_PERIOD_NS => {
                too_fast(1_000_000_000 / (*hz).max(1))
            }
            Target::Interval { period_ns } if *period_ns < SHORT_PERIOD_NS => too_fast(*period_ns),
            _ => None,
        };
    }
    let category = |t: &Target| match t {
        Target::Tracepoint { category, .. } => HOT_CATEGORIES.iter().find(|hot| **hot == &**category).copied(),
        _ => None,
    };
    // A pattern with several events of one of these categories takes its hottest.
    let hot: Vec<&str> = targets.iter().filter_map(|(t, _)| category(t)).collect();
    let first = *hot.first()?;
    let several = hot.iter().filter(|c| **c == first).count() > HOT_PATTERN;
    several.then(|| (format!("the tracepoints of `{first}` together fire at almost everything"), narrower()))
}

/// Patterns for so many events are still about something in particular (`sched:sched_process_*`).
const HOT_PATTERN: usize = 12;

fn too_fast(period_ns: u64) -> Option<(String, String)> {
    let message = format!("a timer that fires every {period_ns} ns takes much of the CPU's time for itself");
    Some((message, "profile:hz:99 or interval:ms:1 tell as much at little cost".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(targets: &[Target]) -> Option<String> {
        let named: Vec<_> = targets.iter().map(|t| (t.clone(), "a probe".to_owned())).collect();
        hot(&named).map(|(message, _)| message)
    }

    fn tracepoint(category: &str, event: &str) -> Target {
        Target::Tracepoint { category: category.into(), event: event.into() }
    }

    fn kprobe(function: &str) -> Target {
        Target::Kprobe { module: "".into(), function: function.into(), offset: 0, ret: false }
    }

    #[test]
    fn what_fires_all_the_time_is_known() {
        assert!(found(&[tracepoint("kmem", "kfree")]).is_some());
        assert!(found(&[tracepoint("sched", "sched_switch")]).is_none(), "many scripts need it");
        assert!(found(&[kprobe("kmem_cache_alloc_noprof")]).is_some());
        assert!(found(&[kprobe("vfs_read")]).is_none());
        let of = |category: &str, n: usize| (0..n).map(|i| tracepoint(category, &i.to_string())).collect::<Vec<_>>();
        assert!(found(&of("sched", 26)).is_some());
        assert!(found(&of("sched", 4)).is_none());
        assert!(found(&of("syscalls", 400)).is_none());
        let functions: Vec<_> = (0..MANY_FUNCTIONS).map(|i| kprobe(&i.to_string())).collect();
        assert!(found(&functions).is_some_and(|m| m.contains("1000 functions")));
        assert!(found(&functions[1..]).is_none());
        assert!(found(&[Target::Profile { rate: Rate::Hertz(99_999) }]).is_some());
        assert!(found(&[Target::Profile { rate: Rate::Hertz(999) }]).is_none());
    }
}
