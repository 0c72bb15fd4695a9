//! What the mouse does: it takes the pane, row or key under it, and the wheel scrolls what is there.

use ratatui::layout::{Position, Rect};

use super::super::action::{Action, Go, Mouse};
use super::super::effect::Effect;
use super::super::state::{Layer, Pane, State};
use super::{act, layers, layout};
use crate::tui::panes::{bars, browser, editor, events, maps, palette, probes};

/// Lines of one turn of the wheel.
const WHEEL: usize = 3;

/// Applies what the mouse does at a column and row of the screen.
pub fn point(state: &mut State, mouse: Mouse, at: (u16, u16)) -> Vec<Effect> {
    let places = layout::of(state);
    if mouse == Mouse::Press
        && let Some(footer) = places.footer.filter(|f| f.y == at.1)
    {
        let key = bars::key_at(state, usize::from(at.0), usize::from(footer.width));
        return key.map_or_else(Vec::new, |binding| act(state, &binding.action));
    }
    if !state.layers.is_empty() && !matches!(state.layers.last(), Some(Layer::Filter(_) | Layer::Find(_))) {
        return overlay(state, mouse, at, places.body);
    }
    let position = Position::new(at.0, at.1);
    let under = Pane::ALL.into_iter().find(|p| places.pane(*p).is_some_and(|a| a.contains(position)));
    let Some((pane, area)) = under.and_then(|p| Some((p, places.pane(p)?))) else { return Vec::new() };
    match mouse {
        Mouse::WheelUp => wheel(state, pane, Go::Up),
        Mouse::WheelDown => wheel(state, pane, Go::Down),
        Mouse::Press => press(state, pane, area, at, places.tabs),
        Mouse::Drag if pane == Pane::Editor && state.focus == pane => {
            if let Some(place) = editor::draw::place_at(state, area, at) {
                state.editor.go_to(place, true);
            }
            Vec::new()
        }
        Mouse::Drag => Vec::new(),
    }
}

/// Scrolls a pane without taking the keys there.
fn wheel(state: &mut State, pane: Pane, go: Go) -> Vec<Effect> {
    let action = Action::Go(go);
    let mut effects = Vec::new();
    for _ in 0..WHEEL {
        effects.extend(match pane {
            Pane::Editor => editor::update::act(state, &action),
            Pane::Events => events::update::act(state, &action),
            Pane::Maps => maps::update::act(state, &action),
            Pane::Probes => probes::update::act(state, &action),
        });
    }
    effects
}

fn press(state: &mut State, pane: Pane, area: Rect, at: (u16, u16), tabs: bool) -> Vec<Effect> {
    state.assist.popup = None;
    if tabs && pane != Pane::Editor && at.1 == area.y {
        if let Some(tab) = bars::tab_at(state, usize::from(at.0 - area.x), usize::from(area.width)) {
            state.focus_on(tab);
        }
        return Vec::new();
    }
    let had_keys = state.focus == pane;
    // A row is looked up before the pane takes the keys, which may change what is shown where.
    match pane {
        Pane::Editor => {
            if let Some(place) = editor::draw::place_at(state, area, at) {
                state.editor.go_to(place, false);
            }
        }
        Pane::Events => {
            if let Some(index) = events::draw::line_at(state, area, at.1) {
                state.events.select(index);
            }
        }
        Pane::Maps => press_map(state, area, at, had_keys),
        Pane::Probes => match probes::draw::spot_at(state, area, at) {
            Some(probes::draw::Spot::Probe(place)) => state.probes.selected = place,
            Some(probes::draw::Spot::Heading(column)) => {
                let same = state.probes.sort == column;
                state.probes.descending = if same { !state.probes.descending } else { column != 0 };
                state.probes.sort = column;
            }
            None => {}
        },
    }
    state.focus_on(pane);
    Vec::new()
}

/// A first click selects a row, a second one opens it.
fn press_map(state: &mut State, area: Rect, at: (u16, u16), had_keys: bool) {
    let Some((index, spot)) = maps::draw::spot_at(state, area, at) else { return };
    let again = had_keys && state.maps.selected == index;
    state.maps.selected = index;
    let Some(view) = state.maps.current_mut() else { return };
    match spot {
        maps::draw::Spot::Row(place) if again && view.row == place => view.toggle(),
        maps::draw::Spot::Row(place) => view.row = place,
        maps::draw::Spot::Heading(column) if column < 2 || view.has_rate() => {
            view.descending = if view.sort == column { !view.descending } else { column != 0 };
            view.sort = column;
            view.arrange();
        }
        maps::draw::Spot::Heading(_) | maps::draw::Spot::Elsewhere => {}
    }
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
