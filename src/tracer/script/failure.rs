//! Why a compiled script does not run, as a diagnostic at the script's place.

use std::sync::Arc;

use super::compilation::Compiled;
use crate::codegen::verifier_log;
use crate::engine::EngineError;
use crate::lang::codes::run::{FAULT, NOT_ATTACHED, NOT_RUN, REFUSED};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::tracer::TracerError;

/// The diagnostic and the verifier's raw log (empty when there is none).
#[must_use]
pub fn explain(error: &TracerError, compiled: &Compiled) -> (Diagnostic, Arc<str>) {
    let TracerError::Engine(error) = error else {
        return (Diagnostic::error(NOT_RUN, Span::default(), error.to_string()), Arc::from(""));
    };
    match error {
        EngineError::Rejected { index, log, reason, .. } => (refused(*index, log, reason, compiled), Arc::clone(log)),
        EngineError::Attach { span, probe, reason } => {
            let message = format!(
                "Unable to attach probe: {probe}. If this is expected, set the 'missing_probes' config variable to 'warn'."
            );
            (Diagnostic::error(NOT_ATTACHED, *span, message).help(reason.clone()), Arc::from(""))
        }
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

/// The compiler stopped with a panic: a fault of its own, told as such.
#[must_use]
pub fn fault() -> Diagnostic {
    Diagnostic::error(FAULT, Span::default(), "probescope failed on this script by a fault of its own")
        .help("the trace before it goes on; please report the script that does this")
}

fn refused(index: usize, log: &str, reason: &str, compiled: &Compiled) -> Diagnostic {
    let spec = compiled.artifact.programs.get(index);
    let head = spec.and_then(|s| compiled.program.probes.get(s.probe as usize)).map(|p| p.head);
    let Some(said) = verifier_log::explain(log, spec.map_or(&[], |s| &s.lines)) else {
        let message = format!("the kernel's verifier refused this probe: {reason}");
        return Diagnostic::error(REFUSED, head.unwrap_or_default(), message);
    };
    let span = said.span.or(head).unwrap_or_default();
    let message = format!("the kernel refuses this probe: {} ({})", said.message, said.reason);
    let diagnostic = Diagnostic::error(REFUSED, span, message);
    match said.hint {
        Some(hint) => diagnostic.help(hint),
        None => diagnostic,
    }
}
