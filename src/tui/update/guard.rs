//! What keeps the machine safe: the budget of the traces, and the key that ends all of them.

use super::super::effect::Effect;
use super::super::state::State;
use super::super::trace::Phase;
use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::session::update::TraceId;

/// The traces of scripts that run.
fn running(state: &State) -> Vec<TraceId> {
    state.documents().filter(|d| d.trace.phase == Phase::Running).map(|d| d.trace.id).collect()
}

/// Gives the traces the next budget.
pub fn next_budget(state: &mut State) -> Vec<Effect> {
    state.budget = Budget::next(state.budget);
    let text = match state.budget {
        Some(budget) => format!("Probes may take {budget} of the CPUs' time"),
        None => "Probes may take all of the CPUs' time".to_owned(),
    };
    state.tell(Severity::Info, text);
    vec![Effect::SetBudget(running(state), state.budget)]
}

/// Ends every trace at once, those that are being started, too.
pub fn stop_all(state: &mut State) -> Vec<Effect> {
    let mut traces: Vec<TraceId> = state
        .documents()
        .filter(|d| matches!(d.trace.phase, Phase::Running | Phase::Starting))
        .map(|d| d.trace.to_stop(d.submitted_as))
        .collect();
    traces.extend(state.latency.meter.is_on().then_some(state.latency.meter.trace));
    if traces.is_empty() {
        state.tell(Severity::Info, "Nothing is traced");
        return Vec::new();
    }
    state.tell(Severity::Info, "Every trace is being detached");
    traces.into_iter().map(Effect::Stop).collect()
}
