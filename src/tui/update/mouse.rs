//! What the mouse does: it takes the pane, row or key under it, and the wheel scrolls what is there.

use ratatui::layout::{Position, Rect};

use super::super::action::{Action, Go, Mouse, Pick, Picked};
use super::super::effect::Effect;
use super::super::layout::arrange::{Arranged, Placed};
use super::super::layout::tree::{Axis, PaneId};
use super::super::state::{Layer, State};
use super::windows::{self, Grab};
use super::{act, in_pane, layers, layout, time};
use crate::tui::panes::{Context, bars, browser, lens, palette, timeline};

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
        return key.map_or_else(Vec::new, |binding| act(state, &binding.action));
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
    if !state.layers.is_empty() && !matches!(state.layers.last(), Some(Layer::Filter(_) | Layer::Find(_))) {
        return overlay(state, mouse, at, places.body);
    }
    let Some(placed) = places.panes.at(position).cloned() else { return Vec::new() };
    match mouse {
        Mouse::WheelUp => wheel(state, placed.shown, Go::Up),
        Mouse::WheelDown => wheel(state, placed.shown, Go::Down),
        Mouse::Press => press(state, &places.panes, &placed, position),
        Mouse::Middle if at.1 == placed.area.y => {
            let title = bars::tab_at(state, &placed, at.0);
            title.map_or_else(Vec::new, |pane| windows::close(state, pane))
        }
        Mouse::Drag if state.panes.focus() == placed.shown => match hit(state, &placed, position) {
            Some(pick) => in_pane(state, placed.shown, &Action::Pick(pick, Picked::Dragged)),
            None => Vec::new(),
        },
        Mouse::Drag | Mouse::Release | Mouse::Middle => Vec::new(),
    }
}

/// Scrolls a pane without taking the keys there.
fn wheel(state: &mut State, pane: PaneId, go: Go) -> Vec<Effect> {
    let script = state.document.id;
    let effects = (0..WHEEL).flat_map(|_| in_pane(state, pane, &Action::Go(go))).collect();
    state.bring(script);
    effects
}

fn hit(state: &State, placed: &Placed, at: Position) -> Option<Pick> {
    let ctx = Context::new(state, placed.shown, &placed.tabs);
    state.panes.get(placed.shown)?.hit(&ctx, placed.area, at)
}

fn press(state: &mut State, panes: &Arranged, placed: &Placed, at: Position) -> Vec<Effect> {
    state.document.assist.popup = None;
    if at.y == placed.area.y
        && let Some(pane) = bars::tab_at(state, placed, at.x)
    {
        let had_keys = state.panes.focus() == pane;
        state.grab = Some(Grab::Title { pane, from: at, had_keys });
        state.panes.focus_on(pane);
        return Vec::new();
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
    pick.map_or_else(Vec::new, |pick| in_pane(state, placed.shown, &Action::Pick(pick, how)))
}

/// In an overlay: a click on a row selects it, on the selected one takes it, outside closes.
fn overlay(state: &mut State, mouse: Mouse, at: (u16, u16), body: Rect) -> Vec<Effect> {
    let go = match mouse {
        Mouse::WheelUp => Some(Go::Up),
        Mouse::WheelDown => Some(Go::Down),
        _ => None,
    };
    let details = |l: &Layer| matches!(l, Layer::Browser(b) if browser::draw::spot_at(b, body, at) == Some(browser::draw::Spot::Details));
    if let Some(go) = go {
        let action = if state.layers.last().is_some_and(details) { Action::Extend(go) } else { Action::Go(go) };
        return (0..WHEEL).flat_map(|_| layers::act(state, &action)).collect();
    }
    if mouse != Mouse::Press {
        return Vec::new();
    }
    match state.layers.last_mut() {
        Some(Layer::Browser(open)) => match browser::draw::spot_at(open, body, at) {
            None => layers::act(state, &Action::Cancel),
            Some(browser::draw::Spot::Result(index)) if index == open.selected => layers::act(state, &Action::Accept),
            Some(browser::draw::Spot::Result(index)) => {
                open.selected = index;
                open.chosen = true;
                open.describe()
            }
            Some(_) => Vec::new(),
        },
        Some(Layer::Lens(open)) => match lens::draw::row_at(open, body, at) {
            None => layers::act(state, &Action::Cancel),
            Some(Some(index)) if index == open.selected => layers::act(state, &Action::Go(Go::Right)),
            Some(index) => {
                open.selected = index.unwrap_or(open.selected);
                Vec::new()
            }
        },
        Some(Layer::Chooser(open)) => match open.at(body, at) {
            None => layers::act(state, &Action::Cancel),
            Some(Some(index)) if index == open.selected => layers::act(state, &Action::Accept),
            Some(index) => {
                open.selected = index.unwrap_or(open.selected);
                super::themes::preview(state);
                Vec::new()
            }
        },
        Some(Layer::Window) => layers::act(state, &Action::Cancel),
        Some(Layer::Palette(open)) => match palette::entry_at(open, body, at) {
            None => layers::act(state, &Action::Cancel),
            Some(Some(index)) if index == open.selected => layers::act(state, &Action::Accept),
            Some(index) => {
                open.selected = index.unwrap_or(open.selected);
                Vec::new()
            }
        },
        _ => Vec::new(),
    }
}
