//! Why a compiled script does not run, as a diagnostic at the script's place.

use std::sync::Arc;

use super::compilation::Compiled;
use crate::engine::EngineError;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::Span;

/// The kernel refused a program.
pub const REFUSED: Code = Code(920);
/// A probe could not be attached.
pub const NOT_ATTACHED: Code = Code(921);
/// Anything else that keeps a compiled script from running.
pub const NOT_RUN: Code = Code(922);

/// The diagnostic and the verifier's raw log (empty when there is none).
#[must_use]
pub fn explain(error: &EngineError, compiled: &Compiled) -> (Diagnostic, Arc<str>) {
    match error {
        EngineError::Rejected { index, log, reason, .. } => (refused(*index, log, reason, compiled), Arc::clone(log)),
        EngineError::Attach { span, .. } => (Diagnostic::error(NOT_ATTACHED, *span, error.to_string()), Arc::from("")),
        EngineError::Load { log, .. } => {
            (Diagnostic::error(NOT_RUN, Span::default(), error.to_string()), Arc::clone(log))
        }
        EngineError::Permission { .. } => {
            let diagnostic = Diagnostic::error(NOT_RUN, Span::default(), error.to_string())
                .help("start probescope by sudo, or set its file capabilities with setcap");
            (diagnostic, Arc::from(""))
        }
        other => (Diagnostic::error(NOT_RUN, Span::default(), other.to_string()), Arc::from("")),
    }
}

fn refused(index: usize, log: &str, reason: &str, compiled: &Compiled) -> Diagnostic {
    let spec = compiled.artifact.programs.get(index);
    let place = spec.and_then(|s| last_instruction(log).and_then(|n| at(&s.lines, n)));
    let head = spec.and_then(|s| compiled.program.probes.get(s.probe as usize)).map(|p| p.head);
    let span = place.or(head).unwrap_or_default();
    let said = complaint(log).unwrap_or(reason);
    Diagnostic::error(REFUSED, span, format!("the kernel's verifier refused this probe: {said}"))
}

/// The last line of the log that is the verifier's complaint, not a state or statistics.
fn complaint(log: &str) -> Option<&str> {
    log.lines()
        .rev()
        .map(str::trim)
        .find(|l| !l.is_empty() && !l.starts_with("processed ") && !l.starts_with(';') && !l.starts_with("from "))
        .filter(|l| !l.contains(": ("))
}

/// The last instruction that the verifier looked at: lines like `12: (85) call ...`.
fn last_instruction(log: &str) -> Option<u32> {
    log.lines().rev().find_map(|line| {
        let (number, rest) = line.trim_start().split_once(": ")?;
        rest.starts_with('(').then(|| number.parse().ok())?
    })
}

fn at(lines: &[(u32, Span)], instruction: u32) -> Option<Span> {
    let index = lines.partition_point(|(n, _)| *n <= instruction).checked_sub(1)?;
    lines.get(index).map(|(_, span)| *span).filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "func#0 @0\n0: R1=ctx() R10=fp0\n0: (b7) r1 = 0\n1: (79) r0 = *(u64 *)(r1 +0)\n\
        R1 invalid mem access 'scalar'\nprocessed 2 insns (limit 1000000) max_states_per_insn 0\n";

    #[test]
    fn the_complaint_and_its_instruction() {
        assert_eq!(complaint(LOG), Some("R1 invalid mem access 'scalar'"));
        assert_eq!(last_instruction(LOG), Some(1));
        let lines = [(0, Span::new(3, 5)), (1, Span::new(7, 9)), (4, Span::new(10, 11))];
        assert_eq!(at(&lines, 1), Some(Span::new(7, 9)));
        assert_eq!(at(&lines, 3), Some(Span::new(7, 9)));
    }
}
