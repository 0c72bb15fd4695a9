//! Intents in the probes.

use crate::tui::action::{Action, Table};
use crate::tui::columns;
use crate::tui::effect::Effect;
use crate::tui::panes::rows::by;
use crate::tui::state::{Pane, State};
use crate::tui::update::page;

/// Applies an intent in the probes.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    let page = page(state, Pane::Probes) as isize;
    let rows = state.trace.stats.as_ref().map_or(0, |s| s.probes.len());
    let view = &mut state.probes;
    match action {
        Action::Go(go) => {
            view.selected = view.selected.saturating_add_signed(by(*go, page)).min(rows.saturating_sub(1));
        }
        Action::Table(Table::Sort) => {
            view.sort = (view.sort + 1) % columns::PROBES.len();
            view.descending = view.sort != 0;
        }
        Action::Table(Table::Reverse) => view.descending = !view.descending,
        _ => {}
    }
    Vec::new()
}
