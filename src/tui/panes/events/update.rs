//! Intents in the events.

use super::log::Shown;
use crate::tui::action::{Action, Events, Go, Pick};
use crate::tui::effect::Effect;
use crate::tui::input::Input;
use crate::tui::panes::rows::{by, copy, page};
use crate::tui::state::{Confirm, Layer, Reader, State};
use crate::tui::text::grouped;
use crate::tui::update::time::choose;
use ratatui::layout::Rect;

/// Applies an intent in the events.
pub fn act(state: &mut State, action: &Action, area: Rect) -> Vec<Effect> {
    let page = page(area) as isize;
    match action {
        Action::Go(Go::Left) => state.events.left = state.events.left.saturating_sub(8),
        Action::Go(Go::Right) => state.events.left = (state.events.left + 8).min(4096),
        Action::Go(go) => {
            state.events.go(by(*go, page), &state.store);
            choose(state);
        }
        Action::Events(Events::Filter) => state.layers.push(Layer::Filter(Input::new(state.events.filter()))),
        Action::Events(Events::Follow) => {
            if state.events.follows() {
                state.events.stay(&state.store);
            } else {
                state.events.go(isize::MAX, &state.store);
            }
        }
        Action::Events(Events::Clear) if state.events.held(&state.store) > 0 => {
            state.layers.push(Layer::Confirm(Confirm {
                title: "Forget the lines so far?".to_owned(),
                about: format!("{} lines can't be shown again.", grouped(state.events.held(&state.store) as u64)),
                yes: Action::Events(Events::ClearNow),
            }));
        }
        Action::Events(Events::ClearNow) => state.events.clear(&state.store),
        Action::Events(Events::Copy) => {
            let text = chosen(state).map(|shown| shown.text());
            return copy(state, text);
        }
        Action::Events(Events::Clock) => state.events.clock = !state.events.clock,
        Action::Accept => open_line(state),
        Action::Pick(Pick::Row { row, .. }, _) => {
            state.events.select(*row, &state.store);
            choose(state);
        }
        _ => {}
    }
    Vec::new()
}

/// The row that is chosen.
fn chosen(state: &State) -> Option<Shown> {
    state.events.get(state.events.selected(&state.store)?, &state.store)
}

/// Shows the selected line in full, broken at the frame.
fn open_line(state: &mut State) {
    let Some(shown) = chosen(state) else { return };
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
