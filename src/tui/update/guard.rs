//! What keeps the machine safe: the budget of the traces, and the key that ends all of them.

use super::super::action::{Action, App};
use super::super::effect::Effect;
use super::super::state::{Confirm, Layer, State};
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
    let effects = set_budget(state, Budget::next(state.budget));
    let text = match state.budget {
        Some(budget) => format!("Probes may take {budget} of the CPUs' time"),
        None => "Probes may take all of the CPUs' time".to_owned(),
    };
    state.tell(Severity::Info, text);
    effects
}

/// Gives the traces, and those to come, this budget.
pub fn set_budget(state: &mut State, budget: Option<Budget>) -> Vec<Effect> {
    state.budget = budget;
    vec![Effect::SetBudget(running(state), budget)]
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

/// Asks before a running trace is stopped: the key is a letter, which may have been meant for the script.
pub fn ask_to_stop(state: &mut State) -> Vec<Effect> {
    let runs = matches!(state.document.trace.phase, Phase::Running | Phase::Starting);
    if !runs {
        return super::app::act(state, App::Stop);
    }
    state.layers.push(Layer::Confirm(Confirm {
        title: "Stop the trace?".to_owned(),
        about: "What it has found so far stays on the screen. F8 stops without a question.".to_owned(),
        yes: Action::App(App::Stop),
    }));
    Vec::new()
}

/// Asks before the workbench is left while something runs.
pub fn ask_to_quit(state: &mut State) -> Vec<Effect> {
    if running(state).is_empty() {
        return super::app::act(state, App::Quit);
    }
    state.layers.push(Layer::Confirm(Confirm {
        title: "Leave the workbench?".to_owned(),
        about: "What runs is detached. Ctrl-Q leaves without this question.".to_owned(),
        yes: Action::App(App::Quit),
    }));
    Vec::new()
}
