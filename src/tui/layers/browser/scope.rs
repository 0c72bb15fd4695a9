//! Clauses that the browser inserts may be limited to a process, a container or a control group.

use crate::lang::front::FrontEnd;
use crate::lang::narrow::limited;
use crate::session::scopes::Scope;
use crate::tui::data::Data;
use crate::tui::data::inspect::Inspected;
use crate::tui::layers::palette::{Listed, Palette};
use crate::tui::pane::Turn;

/// Lists what runs.
pub fn told(answer: &Inspected, turn: &mut Turn<&Data>) {
    if let Inspected::Scopes(scopes) = answer {
        turn.open(Palette { listed: Listed::Scopes(scopes.clone()), ..Palette::default() });
    }
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
