//! What the mouse does: it takes the pane, row or key under it, and the wheel scrolls what is there.

use ratatui::layout::{Position, Rect};

use super::give::{in_layer, in_pane};
use super::{time, windows};
use crate::tui::base::action::{Action, Go, Mouse, Pick, Picked};
use crate::tui::base::arrange::{Arranged, Placed};
use crate::tui::base::tree::{Axis, PaneId};
use crate::tui::data::effect::Effect;
use crate::tui::desk::state::{Grab, State};
use crate::tui::desk::{bars, layout, timeline};
use crate::tui::pane::{Ask, Turn};

/// Lines of one turn of the wheel.
const WHEEL: usize = 3;

/// Applies what the mouse does at a column and row of the screen.
pub fn point(state: &mut State, mouse: Mouse, at: (u16, u16)) -> Vec<Effect> {
    let places = layout::of(state);
    let position = Position::new(at.0, at.1);
    match (mouse, state.grab.clone()) {
        (Mouse::Drag, Some(grab)) => {
            windows::drag(state, &grab, position);
            return Vec::new();
        }
        (Mouse::Release, Some(grab)) => {
            state.grab = None;
            return windows::drop(state, grab, position);
        }
        _ => state.grab = None,
    }
    if mouse == Mouse::Press
        && let Some(footer) = places.footer.filter(|f| f.y == at.1)
    {
        let key = bars::key_at(state, usize::from(at.0), usize::from(footer.width));
        state.asks.extend(key.map(|binding| Ask::Act(binding.action.clone())));
        return Vec::new();
    }
    if matches!(mouse, Mouse::Press | Mouse::Drag)
        && state.layers.is_empty()
        && timeline::is_shown(state)
        && let Some(status) = places.status.filter(|s| s.y == at.1)
        && let Some((column, columns)) = timeline::column_at(state, status, at.0)
    {
        time::point(state, column, columns);
        return Vec::new();
    }
    if state.layers.last().is_some_and(|layer| layer.typed().is_none()) {
        overlay(state, mouse, at, places.body);
        return Vec::new();
    }
    let Some(placed) = places.panes.at(position).cloned() else { return Vec::new() };
    match mouse {
        Mouse::WheelUp => wheel(state, placed.shown, Go::Up),
        Mouse::WheelDown => wheel(state, placed.shown, Go::Down),
        Mouse::Press => press(state, &places.panes, &placed, position),
        Mouse::Middle if at.1 == placed.area.y => {
            let title = bars::tab_at(state, &placed, at.0);
            return title.map_or_else(Vec::new, |pane| windows::close(state, pane));
        }
        Mouse::Drag if state.panes.focus() == placed.shown => {
            if let Some(pick) = hit(state, &placed, position) {
                in_pane(state, placed.shown, &Action::Pick(pick, Picked::Dragged));
            }
        }
        Mouse::Drag | Mouse::Release | Mouse::Middle => {}
    }
    Vec::new()
}

/// Scrolls a pane without taking the keys there.
fn wheel(state: &mut State, pane: PaneId, go: Go) {
    (0..WHEEL).for_each(|_| in_pane(state, pane, &Action::Go(go)));
    // A script that is only scrolled is not worked on.
    let script = state.document.id;
    state.asks.push(Ask::WorkOn(script));
}

fn hit(state: &State, placed: &Placed, at: Position) -> Option<Pick> {
    let tabs = layout::tabs(state, placed);
    state.panes.get(placed.shown)?.hit(&layout::context(state, placed, &tabs), placed.area, at)
}

fn press(state: &mut State, panes: &Arranged, placed: &Placed, at: Position) {
    state.document.assist.popup = None;
    if at.y == placed.area.y
        && let Some(pane) = bars::tab_at(state, placed, at.x)
    {
        let had_keys = state.panes.focus() == pane;
        state.grab = Some(Grab::Title { pane, from: at, had_keys });
        state.panes.focus_on(pane);
        return;
    }
    if let Some(border) = panes.border(at) {
        let cell = match border.axis {
            Axis::Across => at.x - border.area.x,
            Axis::Down => at.y - border.area.y,
        };
        state.grab = Some(Grab::Border(border.clone(), state.panes.tree.clone(), cell));
    }
    let had_keys = state.panes.focus() == placed.shown;
    // A row is looked up before the pane takes the keys, which may change what is shown where.
    let pick = hit(state, placed, at);
    state.panes.focus_on(placed.shown);
    let how = if had_keys { Picked::Again } else { Picked::First };
    if let Some(pick) = pick {
        in_pane(state, placed.shown, &Action::Pick(pick, how));
    }
}

/// In an overlay: a click on a row selects it, on the selected one takes it, outside closes.
fn overlay(state: &mut State, mouse: Mouse, at: (u16, u16), body: Rect) {
    let go = match mouse {
        Mouse::WheelUp => Go::Up,
        Mouse::WheelDown => Go::Down,
        Mouse::Press => {
            let mut turn = Turn::new(&state.data);
            let next = state.layers.last_mut().and_then(|layer| layer.press(at, &mut turn, body));
            state.asks.extend(turn.asks());
            if let Some(action) = next {
                in_layer(state, &action);
            }
            return;
        }
        _ => return,
    };
    let Some(action) = state.layers.last().map(|layer| layer.wheel(go, at, body)) else { return };
    (0..WHEEL).for_each(|_| in_layer(state, &action));
}
