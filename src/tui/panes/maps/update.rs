//! Intents in the maps.

use super::views::{cell, key_text};
use crate::tui::action::{Action, Table};
use crate::tui::columns;
use crate::tui::effect::Effect;
use crate::tui::panes::rows::{by, copy};
use crate::tui::state::{Pane, State};
use crate::tui::update::page;

/// Applies an intent in the maps.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    let page = page(state, Pane::Maps) as isize;
    let maps = &mut state.maps;
    let count = maps.views.len();
    match action {
        Action::Table(Table::NextMap) if count > 0 => maps.selected = (maps.selected + 1) % count,
        Action::Table(Table::PreviousMap) if count > 0 => maps.selected = (maps.selected + count - 1) % count,
        Action::Table(Table::Clear) => {
            let name = maps.current().map(|v| v.snapshot.name.clone());
            return name.map(Effect::ClearMap).into_iter().collect();
        }
        Action::Table(Table::Copy) => {
            let text = maps.current().map(|v| {
                let rows = v.order.iter().filter_map(|r| v.snapshot.rows.get(*r as usize));
                rows.map(|r| format!("{}\t{}", key_text(&r.key), cell(&r.value))).collect::<Vec<_>>().join("\n")
            });
            return copy(state, text);
        }
        action => {
            if let Some(view) = maps.current_mut() {
                match action {
                    Action::Go(go) => {
                        let last = view.order.len().saturating_sub(1);
                        view.row = view.row.saturating_add_signed(by(*go, page)).min(last);
                    }
                    Action::Accept => view.toggle(),
                    Action::Table(Table::Sort) => {
                        let columns = if view.has_rate() { columns::MAP.len() } else { columns::MAP.len() - 1 };
                        view.sort = (view.sort + 1) % columns;
                        view.descending = view.sort != 0;
                        view.arrange();
                    }
                    Action::Table(Table::Reverse) => {
                        view.descending = !view.descending;
                        view.arrange();
                    }
                    _ => {}
                }
            }
        }
    }
    Vec::new()
}
