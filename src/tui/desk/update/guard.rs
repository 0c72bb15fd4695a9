//! What keeps the machine safe: the budget of the traces, and the key that ends all of them.

use super::super::state::State;
use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::session::update::TraceId;
use crate::tui::base::action::{Action, App};
use crate::tui::data::effect::Effect;
use crate::tui::data::trace::Phase;
use crate::tui::layers::reader::Confirm;
use crate::tui::pane::Ask;

/// The traces of scripts that run.
fn running(state: &State) -> Vec<TraceId> {
    state.documents().filter(|d| d.trace.phase == Phase::Running).map(|d| d.trace.id).collect()
}

/// Gives the traces the next budget; a script with a budget of its own alone, while it is worked on.
pub fn next_budget(state: &mut State) -> Vec<Effect> {
    let (whose, budget, effects) = if let Some(own) = state.document.budget {
        let next = Budget::next(own);
        (format!("The probes of {}", state.name()), next, limit(state, next))
    } else {
        state.budget = Budget::next(state.budget);
        let own = |trace: &TraceId| state.documents().any(|d| d.trace.id == *trace && d.budget.is_some());
        let traces = running(state).into_iter().filter(|trace| !own(trace)).collect();
        ("Probes".to_owned(), state.budget, vec![Effect::SetBudget(traces, state.budget)])
    };
    let text = match budget {
        Some(budget) => format!("{whose} may take {budget} of the CPUs' time"),
        None => format!("{whose} may take all of the CPUs' time"),
    };
    state.tell(Severity::Info, text);
    effects
}

/// Gives the script at hand a budget of its own.
pub fn limit(state: &mut State, budget: Option<Budget>) -> Vec<Effect> {
    state.document.budget = Some(budget);
    let runs = state.document.trace.phase == Phase::Running;
    let traces = runs.then_some(state.document.trace.id).into_iter().collect();
    vec![Effect::Limit { script: state.document.id, traces, budget }]
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
pub fn ask_to_stop(state: &mut State) {
    let runs = matches!(state.document.trace.phase, Phase::Running | Phase::Starting);
    if !runs {
        return state.asks.push(Ask::Act(Action::App(App::Stop)));
    }
    state.open(Confirm {
        title: "Stop the trace?".to_owned(),
        about: "What it has found so far stays on the screen. F8 stops without a question.".to_owned(),
        yes: Action::App(App::Stop),
    });
}

/// Asks before the workbench is left while something runs.
pub fn ask_to_quit(state: &mut State) {
    if running(state).is_empty() {
        return state.asks.push(Ask::Act(Action::App(App::Quit)));
    }
    state.open(Confirm {
        title: "Leave the workbench?".to_owned(),
        about: "What runs is detached. Ctrl-Q leaves without this question.".to_owned(),
        yes: Action::App(App::Quit),
    });
}
