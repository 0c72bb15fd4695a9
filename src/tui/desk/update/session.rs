//! What the session tells.

use std::sync::Arc;

use crate::lang::codes::run::{BRAKED, OVER_BUDGET, THROTTLED};
use crate::lang::diagnostic::{Diagnostic, Severity, has_errors};
use crate::lang::source::SourceText;
use crate::model::snapshot::MapSnapshot;
use crate::session::update::{Ending, ScriptId, Update};
use crate::store::{Chunk, Payload, PayloadKind};
use crate::tui::base::kind::{COMMAND, EVENTS};
use crate::tui::data::trace::Phase;
use crate::tui::desk::layout;
use crate::tui::desk::state::State;
use crate::tui::pane::News;

/// Takes an update in.
pub fn receive(state: &mut State, update: Update) {
    match update {
        Update::Compiled { trace, diagnostics, figures } if trace == state.document.submitted_as => {
            if let Some(figures) = figures {
                state.document.trace.figures = Some(figures);
                state.document.trace.raw_log = "".into();
            }
            state.document.wants_leave = super::given::wants_leave(&state.document, &diagnostics);
            refused_or_warned(state, diagnostics);
        }
        Update::Checked { revision, diagnostics, .. } if revision == state.document.checked.0 => {
            let text = state.document.checked.1.clone();
            state.document.editor.diagnose(diagnostics, &text);
        }
        Update::Attached { trace, probes, elapsed_ns } if trace == state.document.submitted_as => {
            state.document.trace.restart(trace);
            state.document.trace.source = state.document.submitted.clone();
            let helpers = state
                .document
                .language()
                .helper_maps(&SourceText::new(&state.document.source_name(), &state.document.submitted));
            state.document.maps.set_helpers(helpers);
            state.document.trace.attached = probes;
            state.document.trace.attach_ns = elapsed_ns;
            let many = if probes == 1 { "" } else { "s" };
            let took = elapsed_ns as f64 / 1e6;
            let text = format!("{}: attached {probes} probe{many} in {took:.1} ms", state.name());
            state.journal.say(Severity::Info, &text);
        }
        Update::Failed { trace, diagnostic, raw_log } if trace == state.document.submitted_as => {
            state.document.trace.raw_log = raw_log;
            let mut all = state.document.editor.diagnostics().to_vec();
            all.push(diagnostic);
            refused_or_warned(state, all);
        }
        Update::Trace(info) => state.store.declare(info),
        Update::Append(chunk) => append(state, chunk),
        Update::Ended { trace, ending: Ending::Done(code) } if trace == state.document.trace.id => {
            state.document.trace.phase = Phase::Ended;
            state.document.trace.stale = false;
            let code = if code == 0 { String::new() } else { format!(" with exit code {code}") };
            state.mention(Severity::Info, format!("The trace ended{code}"));
        }
        Update::Command { trace, told } => {
            let is_first = state.document.command.is_empty();
            state.document.command.take(trace, told);
            if is_first {
                layout::appear(state, COMMAND, EVENTS);
            }
        }
        Update::Notice { text, .. } => state.mention(Severity::Info, text),
        _ => {}
    }
}

/// Takes entries in: the history keeps them, the views of the present take the newest state of their trace.
pub(super) fn append(state: &mut State, chunk: Arc<Chunk>) {
    let mut maps: Vec<(ScriptId, Arc<[MapSnapshot]>)> = Vec::new();
    let mut partial = None;
    let fresh = chunk.take_fresh();
    for (index, head) in (0..).zip(chunk.heads(0)) {
        if !matches!(head.kind, PayloadKind::Maps | PayloadKind::Stats | PayloadKind::Diagnostic) {
            continue;
        }
        let Some(document) = state.documents_mut().find(|d| d.trace.id == head.trace) else { continue };
        // Only the newest reading of the maps is shown.
        let newest = fresh.iter().find(|f| head.kind == PayloadKind::Maps && f.trace == head.trace);
        let payload = match newest {
            Some(fresh) if fresh.entry != index => continue,
            Some(fresh) => Some(Payload::Maps(Arc::clone(&fresh.maps))),
            None => chunk.entry(index).map(|entry| entry.payload),
        };
        match payload {
            Some(Payload::Maps(read)) => {
                let script = document.id;
                maps.retain(|(of, _)| *of != script);
                maps.push((script, read));
            }
            // Held views show the counters of their moment.
            Some(Payload::Stats(stats)) if !document.trace.paused => document.trace.take(stats),
            Some(Payload::Diagnostic(said)) if [BRAKED, OVER_BUDGET].contains(&said.code) => {
                document.trace.partial = Some(said.message.as_str().into());
                partial = Some(format!("{}; results are partial", said.message));
            }
            Some(Payload::Diagnostic(said)) if said.code == THROTTLED => partial = Some(said.message.clone()),
            _ => {}
        }
    }
    if let Some(said) = partial {
        state.mention(Severity::Warning, said);
    }
    let from = super::time::first_moved(state, &chunk);
    state.data.latency.take(&chunk);
    state.store.append(chunk);
    state.hear(News::Appended(from));
    for (script, maps) in maps {
        if let Some(document) = state.documents_mut().find(|d| d.id == script) {
            document.maps.take(&maps, document.trace.paused);
        }
    }
}

/// Shows diagnostics; an error means that the last good trace goes on.
fn refused_or_warned(state: &mut State, diagnostics: Vec<Diagnostic>) {
    let refused = has_errors(&diagnostics);
    let text = state.document.submitted.clone();
    state.document.editor.diagnose(diagnostics, &text);
    if !refused {
        return;
    }
    if state.document.trace.phase == Phase::Starting {
        state.document.trace.phase = Phase::Idle;
    }
    state.document.trace.stale = state.document.trace.phase == Phase::Running;
    if let Some(worst) = state.document.editor.diagnostics().first() {
        let going_on = if state.document.trace.stale { " — the last good trace goes on" } else { "" };
        let message = format!("{}{going_on}", worst.message);
        // The diagnostic stands in the editor as well, why a save failed only here.
        if state.toast.as_ref().is_none_or(|toast| toast.severity < Severity::Error) {
            state.tell(Severity::Error, message);
        }
    }
}
