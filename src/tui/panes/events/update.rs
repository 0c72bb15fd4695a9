//! Intents in the events.

use super::keys::Intent;
use super::log::{EventLog, Shown};
use super::{fields, predicate};
use crate::lang::diagnostic::Severity;
use crate::model::value::Value;
use crate::store::{History as _, Payload};
use crate::tui::action::{Action, Events, Go, Pick};
use crate::tui::effect::Effect;
use crate::tui::input::Input;
use crate::tui::panes::lens;
use crate::tui::panes::rows::{by, copy, page};
use crate::tui::state::{Confirm, Layer, Reader, State};
use crate::tui::text::{counted, grouped};
use crate::tui::update::time::choose;
use ratatui::layout::Rect;

/// Applies an intent in the events.
pub fn act(log: &mut EventLog, state: &mut State, action: &Action, area: Rect) -> Vec<Effect> {
    let page = page(area) as isize;
    match action {
        Action::Go(Go::Left) => log.left = log.left.saturating_sub(8),
        Action::Go(Go::Right) => log.left = (log.left + 8).min(4096),
        Action::Go(go) => {
            log.go(by(*go, page), &state.store);
            moved(log, state);
        }
        Action::Events(Events::Filter) => state.layers.push(Layer::Filter(Input::new(log.filter()))),
        Action::Events(Events::Follow) => {
            if log.follows() {
                log.stay(&state.store);
            } else {
                log.go(isize::MAX, &state.store);
            }
        }
        Action::Events(Events::Clear) if log.held(&state.store) > 0 => {
            state.layers.push(Layer::Confirm(Confirm {
                title: "Forget the lines so far?".to_owned(),
                about: format!("{} can't be shown again.", counted(log.held(&state.store) as u64, "line")),
                yes: Action::Events(Events::ClearNow),
            }));
        }
        Action::Filter(text) => log.set_filter(text, &state.store),
        Action::Events(Events::ClearNow) => log.clear(&state.store),
        Action::Events(Events::Copy) => {
            let text = chosen(log, state).map(|shown| shown.text());
            return copy(state, text);
        }
        Action::Events(Events::Clock) => log.clock = !log.clock,
        Action::Accept => open(log, state),
        Action::Pick(Pick::Row { row, .. }, _) => {
            log.select(*row, &state.store);
            moved(log, state);
        }
        _ => match Intent::of(action) {
            Some(Intent::MarkStruct) => mark_struct(log, state),
            Some(Intent::Own) => log.turn_own(&state.own, &state.store),
            Some(Intent::Predicate) => predicate::choose(log, state),
            Some(intent @ (Intent::Field | Intent::Values | Intent::Cell)) => fields::choose(log, state, intent),
            None => {}
        },
    }
    Vec::new()
}

/// The row that was chosen is the moment of all views.
fn moved(log: &EventLog, state: &mut State) {
    if let Some(entry) = chosen(log, state).map(|shown| shown.row.entry) {
        choose(state, entry);
    }
}

/// The row that is chosen.
pub(super) fn chosen(log: &EventLog, state: &State) -> Option<Shown> {
    log.get(log.selected(&state.store)?, &state.store)
}

/// A struct in the chosen event.
fn captured(log: &EventLog, state: &State) -> Option<Value> {
    let entry = state.store.entry(chosen(log, state)?.row.entry)?;
    let Payload::Event { values, .. } = entry.payload else { return None };
    values.into_iter().find(|value| matches!(value, Value::Record(_)))
}

fn mark_struct(log: &EventLog, state: &mut State) {
    let Some(value) = captured(log, state) else {
        return state.tell(Severity::Info, "This row has no struct: lens(pointer) and print(*pointer) capture one");
    };
    state.marked_struct = Some(value);
    state.tell(Severity::Info, "Structs that you open are compared to this one");
}

/// A captured struct opens as a tree, any other line in full.
fn open(log: &EventLog, state: &mut State) {
    match (captured(log, state), chosen(log, state)) {
        (Some(value), Some(shown)) => {
            let title = format!("Line {}: {}", grouped(shown.row.number + 1), shown.probe());
            lens::update::captured(state, title, value);
        }
        _ => open_line(log, state),
    }
}

/// Shows the selected line in full, broken at the frame.
fn open_line(log: &EventLog, state: &mut State) {
    let Some(shown) = chosen(log, state) else { return };
    let of_day = shown.time(true);
    let cpu = shown.row.cpu.map_or_else(String::new, |cpu| format!(", on CPU {cpu}"));
    let mut lines = vec![format!("{of_day}, {} s after the trace began{cpu}", shown.time(false))];
    if !shown.probe().is_empty() {
        lines.push(shown.probe().to_owned());
    }
    lines.extend([String::new(), shown.text()]);
    let title = format!("Line {}", grouped(shown.row.number + 1));
    state.layers.push(Layer::Reader(Reader { title, lines, top: 0, wrap: true }));
}
