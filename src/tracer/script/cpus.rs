//! Telling of CPUs that come and go while a script samples them.

use std::io;
use std::time::Instant;

use crate::engine::Trace;
use crate::engine::attach::cpus::CpuChange;
use crate::lang::codes::run::CPU_CAME;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::target::Target;
use crate::tracer::report::{Face, Report};

const HELP: &str =
    "timers and counted events are on each CPU; what a CPU did before it was found again is not in the results";

/// Follows the CPUs of a trace.
#[derive(Debug)]
pub struct CpuKeeper {
    looked: Instant,
}

impl Default for CpuKeeper {
    fn default() -> Self {
        Self { looked: Instant::now() }
    }
}

impl CpuKeeper {
    /// Attaches to CPUs that came since the last look, and says so.
    pub fn look(&mut self, trace: &mut Trace, face: &mut dyn Face) -> io::Result<()> {
        let last = std::mem::replace(&mut self.looked, Instant::now());
        let Some(change) = trace.follow_cpus() else { return Ok(()) };
        let Some(message) = words(&change, self.looked.duration_since(last).as_secs_f64()) else { return Ok(()) };
        face.comes_from_here();
        face.report(&Report::Partial(&Diagnostic::warning(CPU_CAME, first_event(trace), message).help(HELP)))
    }
}

fn words(change: &CpuChange, seconds: f64) -> Option<String> {
    let cpus = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let came = (!change.came.is_empty()).then(|| match &change.refused {
        Some(reason) => format!("CPU {} came and can't be sampled: {reason}", cpus(&change.came)),
        None => format!(
            "CPU {} came or came back, and is sampled from now on; up to {seconds:.1} s of it were not",
            cpus(&change.came)
        ),
    });
    let went = (!change.went.is_empty()).then(|| format!("CPU {} went offline", cpus(&change.went)));
    let all: Vec<String> = went.into_iter().chain(came).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Where the script names the first event that is on CPUs.
fn first_event(trace: &Trace) -> Span {
    let is_event = |target: &Target| {
        matches!(
            target,
            Target::Profile { .. } | Target::Interval { .. } | Target::PerfEvent { .. } | Target::Watchpoint { .. }
        )
    };
    let probe = trace.program().probes.iter().find(|probe| probe.targets.iter().any(is_event));
    probe.map_or_else(Span::default, |probe| probe.head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went_is_told() {
        let change = |came: &[u32], went: &[u32]| CpuChange { came: came.into(), went: went.into(), refused: None };
        assert_eq!(words(&change(&[], &[]), 1.0), None);
        assert_eq!(words(&change(&[], &[1, 2]), 1.0).unwrap(), "CPU 1, 2 went offline");
        assert!(words(&change(&[3], &[]), 1.25).unwrap().ends_with("up to 1.2 s of it were not"));
        let refused = CpuChange { refused: Some("too many open files".into()), ..change(&[3], &[]) };
        assert!(words(&refused, 1.0).unwrap().contains("can't be sampled: too many"));
    }
}
