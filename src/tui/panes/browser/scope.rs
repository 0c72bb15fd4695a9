//! Clauses that the browser inserts may be limited to a process, a container or a control group.

use crate::lang::diagnostic::Severity;
use crate::lang::front::FrontEnd;
use crate::lang::narrow::limited;
use crate::session::scopes::Scope;
use crate::tui::effect::Effect;
use crate::tui::inspector::{Inspect, Inspected};
use crate::tui::palette::{Listed, Palette};
use crate::tui::state::{Layer, State};

/// Asks what runs.
pub fn ask() -> Vec<Effect> {
    vec![Effect::Inspect(Inspect::Scopes)]
}

/// Lists what runs, unless the browser was closed meanwhile.
pub fn told(state: &mut State, answer: &Inspected) {
    let Inspected::Scopes(scopes) = answer else { return };
    if matches!(state.layers.last(), Some(Layer::Browser(_))) {
        let listed = Listed::Scopes(scopes.clone());
        state.layers.push(Layer::Palette(Palette { listed, ..Palette::default() }));
    }
}

/// From now on clauses are limited to this.
pub fn take(state: &mut State, scope: Option<Scope>) -> Vec<Effect> {
    let text = match &scope {
        Some(scope) => format!("Clauses from the browser are limited to {}", scope.name()),
        None => "Clauses from the browser are for everything that runs".to_owned(),
    };
    state.scope = scope;
    state.tell(Severity::Info, text);
    Vec::new()
}

/// The clauses as they are inserted.
///
/// # Errors
/// Why the language has no such limit.
pub fn within(scope: Option<&Scope>, front: &dyn FrontEnd, clauses: &str) -> Result<String, String> {
    match scope {
        None => Ok(clauses.to_owned()),
        Some(Scope::Group { .. }) if !front.has_control_groups() => {
            Err(format!("{} has no words for a control group: choose a process (Alt-O)", front.name()))
        }
        Some(scope) => limited(front, clauses, &|points| {
            let condition = scope.condition(points)?;
            if front.has_control_groups() || condition.starts_with("pid ==") {
                return Ok(condition);
            }
            Err(format!("{points} is not about the thread that runs: write the condition by its arguments"))
        }),
    }
}
