//! Intents in the maps.

use super::keys::Intent;
use crate::tui::base::action::{Action, Events, Pick, Picked, Table};
use crate::tui::base::input::Input;
use crate::tui::base::text::{counted, neutralise};
use crate::tui::data::Data;
use crate::tui::data::cells::{cell, key_text};
use crate::tui::data::effect::Effect;
use crate::tui::layers::line::FilterLine;
use crate::tui::layers::reader::Confirm;
use crate::tui::pane::Turn;
use crate::tui::widgets::columns;
use crate::tui::widgets::rows::{by, copy};

/// Applies an intent in the maps.
pub fn act(turn: &mut Turn<&mut Data>, action: &Action, page: usize) {
    let page = page as isize;
    let trace = turn.document.trace.id;
    let maps = &mut turn.document.maps;
    let count = maps.views.len();
    let filter = maps.filter.clone();
    match action {
        Action::Events(Events::Filter) => {
            turn.open(FilterLine(Input::new(&filter)));
        }
        Action::Filter(text) => maps.set_filter(text),
        action if Intent::of(action) == Some(Intent::Hide) => maps.hide(),
        action if Intent::of(action) == Some(Intent::ShowAll) => maps.show_all(),
        Action::Table(Table::NextMap) if count > 0 => maps.selected = (maps.selected + 1) % count,
        Action::Table(Table::PreviousMap) if count > 0 => maps.selected = (maps.selected + count - 1) % count,
        Action::Table(Table::Clear) => {
            if let Some(view) = maps.current() {
                let (name, rows) = (neutralise(&view.snapshot.name).into_owned(), view.snapshot.rows.len());
                turn.open(Confirm {
                    title: format!("Empty {name} in the kernel?"),
                    about: format!(
                        "What its {} {} is lost, for the script, too.",
                        counted(rows as u64, "key"),
                        if rows == 1 { "holds" } else { "hold" }
                    ),
                    yes: Action::Table(Table::ClearNow),
                });
            }
        }
        Action::Table(Table::ClearNow) => {
            let name = maps.current().map(|v| v.snapshot.name.clone());
            if let Some(name) = name {
                turn.out(Effect::ClearMap(trace, name));
            }
        }
        Action::Table(Table::Copy) => {
            let text = maps.current().map(|v| {
                let rows = v.order.iter().filter_map(|r| v.snapshot.rows.get(*r as usize));
                rows.map(|r| format!("{}\t{}", key_text(&r.key), cell(&r.value))).collect::<Vec<_>>().join("\n")
            });
            copy(turn, text);
        }
        Action::Pick(pick, how) => take(turn, *pick, *how == Picked::Again),
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
                        view.arrange(&filter);
                    }
                    Action::Table(Table::Reverse) => {
                        view.descending = !view.descending;
                        view.arrange(&filter);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// A first click selects a row, a second one opens it.
fn take(turn: &mut Turn<&mut Data>, pick: Pick, had_keys: bool) {
    let (Pick::Row { table, .. } | Pick::Heading { table, .. } | Pick::Table(table)) = pick else { return };
    let again = had_keys && turn.document.maps.selected == table;
    turn.document.maps.selected = table;
    let filter = turn.document.maps.filter.clone();
    let Some(view) = turn.document.maps.current_mut() else { return };
    match pick {
        Pick::Row { row, .. } if again && view.row == row => view.toggle(),
        Pick::Row { row, .. } => view.row = row,
        Pick::Heading { column, .. } if column < 2 || view.has_rate() => {
            view.descending = if view.sort == column { !view.descending } else { column != 0 };
            view.sort = column;
            view.arrange(&filter);
        }
        _ => {}
    }
}
