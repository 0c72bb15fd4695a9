//! Intents in the events.

use crate::tui::action::{Action, Events, Go, Pick};
use crate::tui::effect::Effect;
use crate::tui::input::Input;
use crate::tui::panes::rows::{by, copy, page};
use crate::tui::state::{Confirm, Layer, Reader, State};
use crate::tui::text::grouped;
use ratatui::layout::Rect;

/// Applies an intent in the events.
pub fn act(state: &mut State, action: &Action, area: Rect) -> Vec<Effect> {
    let page = page(area) as isize;
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
        Action::Events(Events::Clear) if state.events.held() > 0 => state.layers.push(Layer::Confirm(Confirm {
            title: "Forget the lines so far?".to_owned(),
            about: format!("{} lines can't be shown again.", grouped(state.events.held() as u64)),
            yes: Action::Events(Events::ClearNow),
        })),
        Action::Events(Events::ClearNow) => state.events.clear(),
        Action::Events(Events::Copy) => {
            let line = state.events.selected().and_then(|i| state.events.get(i)).map(|r| r.line.text.to_string());
            return copy(state, line);
        }
        Action::Events(Events::Clock) => state.events.clock = !state.events.clock,
        Action::Accept => open_line(state),
        Action::Pick(Pick::Row { row, .. }, _) => state.events.select(*row),
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
