//! Painting the state. Nothing is changed here.

use ratatui::buffer::Buffer;

use super::bars;
use super::layout::{self, LEAST};
use super::state::State;
use crate::tui::base::paint;
use crate::tui::base::text::wrap;
use crate::tui::base::theme::Slot;

/// Paints the whole screen.
pub fn draw(state: &State, buf: &mut Buffer) {
    let area = buf.area;
    paint::clear(buf, area, state.theme[Slot::Text]);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(state, buf);
    }
    let layout = layout::of(state);
    if let Some(bar) = layout.bar {
        bars::top(state, buf, bar);
    }
    for placed in &layout.panes.placed {
        if let Some(pane) = state.panes.get(placed.shown) {
            let tabs = layout::tabs(state, placed);
            pane.draw(&layout::context(state, placed, &tabs), buf, placed.area);
        }
    }
    if let Some(status) = layout.status {
        bars::status(state, buf, status);
    }
    let first = layout.panes.placed.iter().find(|placed| placed.shown == state.panes.focus());
    if let Some(placed) = first.filter(|_| state.layers.is_empty())
        && let Some(pane) = state.panes.get(placed.shown)
    {
        let tabs = layout::tabs(state, placed);
        pane.draw_over(&layout::context(state, placed, &tabs), buf, placed.area, layout.body);
    }
    for layer in &state.layers {
        layer.draw(&state.data, buf, layout.body);
    }
    if let Some(footer) = layout.footer {
        bars::footer(state, buf, footer);
    }
}

fn too_small(state: &State, buf: &mut Buffer) {
    let area = buf.area;
    for (y, line) in wrap("too small", usize::from(area.width)).iter().enumerate() {
        paint::put(buf, area, 0, y, line, state.theme[Slot::Warning]);
    }
}
