//! Intents in the panes of output.

use super::super::action::{Action, Events, Go, Table};
use super::super::columns;
use super::super::effect::Effect;
use super::super::input::Input;
use super::super::maps::{cell, key_text};
use super::super::state::{Layer, Pane, Reader, State};
use super::super::text::grouped;
use super::page;
use crate::lang::diagnostic::Severity;

/// Applies an intent in the events.
pub fn events(state: &mut State, action: &Action) -> Vec<Effect> {
    let page = page(state, Pane::Events) as isize;
    match action {
        Action::Go(Go::Left) => state.events.left = state.events.left.saturating_sub(8),
        Action::Go(Go::Right) => state.events.left = (state.events.left + 8).min(4096),
        Action::Go(go) => state.events.go(by(*go, page)),
        Action::Events(Events::Filter) => state.layers.push(Layer::Filter(Input::new(state.events.filter()))),
        Action::Events(Events::Follow) => {
            if state.events.stay {
                state.events.go(isize::MAX);
            } else {
                state.events.stay = true;
            }
        }
        Action::Events(Events::Clear) => state.events.clear(),
        Action::Events(Events::Copy) => {
            let line = state.events.selected().and_then(|i| state.events.get(i)).map(|r| r.line.text.to_string());
            return copy(state, line);
        }
        Action::Events(Events::Clock) => state.events.clock = !state.events.clock,
        Action::Accept => open_line(state),
        _ => {}
    }
    Vec::new()
}

/// Shows the selected line in full, broken at the frame.
fn open_line(state: &mut State) {
    let Some(row) = state.events.selected().and_then(|i| state.events.get(i)) else { return };
    let of_day = row.time(true);
    let mut lines = vec![format!("{of_day}, {} s after the trace began", row.time(false))];
    if !row.probe().is_empty() {
        lines.push(row.probe().to_owned());
    }
    lines.extend([String::new(), row.line.text.to_string()]);
    let title = format!("Line {}", grouped(row.number + 1));
    state.layers.push(Layer::Reader(Reader { title, lines, top: 0, wrap: true }));
}

/// Applies an intent in the maps.
pub fn maps(state: &mut State, action: &Action) -> Vec<Effect> {
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

/// Applies an intent in the probes.
pub fn probes(state: &mut State, action: &Action) -> Vec<Effect> {
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

fn copy(state: &mut State, text: Option<String>) -> Vec<Effect> {
    let Some(text) = text.filter(|t| !t.is_empty()) else { return Vec::new() };
    state.tell(Severity::Info, "Copied");
    vec![Effect::Copy(text)]
}

const fn by(go: Go, page: isize) -> isize {
    match go {
        Go::Up => -1,
        Go::Down => 1,
        Go::PageUp => -page,
        Go::PageDown => page,
        Go::Top | Go::Home => -0x7fff_ffff,
        Go::Bottom | Go::End => 0x7fff_ffff,
        _ => 0,
    }
}
