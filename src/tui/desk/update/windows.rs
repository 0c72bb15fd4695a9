//! The panes arranged by the user: split, closed, moved, resized, put into one frame.

use ratatui::layout::Position;

use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{Action, App, Side, Window};
use crate::tui::base::arrange::{Arranged, Border, extent, resize};
use crate::tui::base::input::Input;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::{Kind, SCRIPT};
use crate::tui::base::tree::{Axis, PaneId};
use crate::tui::data::effect::Effect;
use crate::tui::desk::layout::{self, Measured};
use crate::tui::desk::layouts::is_name;
use crate::tui::desk::registry::KINDS;
use crate::tui::desk::state::{Grab, State};
use crate::tui::desk::{documents, keys};
use crate::tui::layers::chooser::{Choice, Chooser, Taken};
use crate::tui::layers::line::Line;
use crate::tui::layers::window::Windows;
use crate::tui::pane::Ask;
use crate::tui::pane::ask::Listing;

/// Cells that a key moves a border by.
const STEP: i16 = 2;

/// Applies an intent for the arrangement of panes.
pub fn act(state: &mut State, window: Window) -> Vec<Effect> {
    let focus = state.panes.focus();
    match window {
        Window::Keys => {
            let keys = keys::all().filter(|binding| binding.scope == Scope::Window).collect();
            state.open(Windows { keys });
        }
        Window::Go(side) => go(state, side),
        Window::NextTab => state.panes.focus_on(state.panes.next_tab(true)),
        Window::PreviousTab => state.panes.focus_on(state.panes.next_tab(false)),
        Window::Open(kind, axis) => return open(state, kind, axis),
        Window::Split(axis) => choose(state, Some(axis)),
        Window::NewTab => choose(state, None),
        Window::SaveLayout => {
            let name = state.layout_name.clone().unwrap_or_default();
            state.open(Line::new("Save the layout as", Input::proposing(&name), named));
        }
        Window::OpenLayout => return vec![Effect::ListLayouts],
        Window::Close => return close(state, focus),
        Window::Move(side) => return change(state, |state| shift(state, side)),
        Window::Join => return change(state, |state| state.panes.tree.move_into(focus, state.panes.next(true))),
        Window::Resize(side) => return change(state, |state| grow(state, side)),
        Window::Even => return change(state, even),
        Window::Default => {
            state.layout_name = None;
            return change(state, |state| {
                layout::set_default(state);
                true
            });
        }
        Window::Undo => {
            if state.panes.undo() {
                return vec![Effect::KeepLayout(layout::file::text(state))];
            }
            state.tell(Severity::Info, "There is no change of the layout to take back");
        }
    }
    Vec::new()
}

/// Lists the saved layouts.
pub fn offer(state: &mut State, names: Vec<String>) {
    if names.is_empty() {
        return state.tell(Severity::Info, "No layout is saved yet: Alt-W W saves this one");
    }
    let choice = |name: String| Choice { title: name.clone(), about: String::new(), taken: Taken::Layout(name) };
    state.open(Chooser::new("Layouts", names.into_iter().map(choice).collect()));
}

/// Restores a layout that was read; when it can't be used, that is said and nothing changes.
pub fn read(state: &mut State, name: String, text: Result<String, String>) -> Vec<Effect> {
    let plan = text.and_then(|t| layout::file::parse(&t).map_err(|e| e.to_string()));
    match plan {
        Ok(plan) => {
            state.tell(Severity::Info, format!("Layout {name}"));
            state.layout_name = Some(name);
            change(state, |state| {
                layout::file::restore(state, &plan);
                true
            })
        }
        Err(why) => {
            state.tell(Severity::Warning, format!("The layout {name} can't be used: {why}"));
            Vec::new()
        }
    }
}

/// What is done with a name that was typed for the layout.
fn named(name: &str) -> Result<Ask, String> {
    let name = name.trim();
    if is_name(name) {
        Ok(Ask::Take(Listing::SaveLayout(name.to_owned())))
    } else {
        Err("A layout's name has letters, digits, blanks, - and _, at most 64".to_owned())
    }
}

/// Saves the layout under a name.
pub fn save(state: &mut State, name: String) -> Vec<Effect> {
    state.layout_name = Some(name.clone());
    let text = layout::file::text(state);
    vec![Effect::KeepLayout(text.clone()), Effect::SaveLayout { name, text }]
}

/// Changes the tree; one such change can be taken back. What is on the screen is kept for the next start.
pub fn change(state: &mut State, by: impl FnOnce(&mut State) -> bool) -> Vec<Effect> {
    let before = state.panes.tree.clone();
    if !by(state) {
        state.tell(Severity::Info, "Nothing to change there");
        return Vec::new();
    }
    state.panes.changed(before);
    vec![Effect::KeepLayout(layout::file::text(state))]
}

fn go(state: &mut State, side: Side) {
    let panes = layout::of(state).panes;
    match panes.neighbour(state.panes.focus(), side.axis(), side.is_before()) {
        Some(next) => state.panes.focus_on(next),
        // Among tabs, left and right go on to the next one.
        None if side.axis() == Axis::Across => state.panes.focus_on(state.panes.next_tab(!side.is_before())),
        None => {}
    }
}

/// Lets the user choose what the new pane shows.
fn choose(state: &mut State, axis: Option<Axis>) {
    let kinds = KINDS.iter().filter(|k| k.kind != SCRIPT);
    let choices = kinds.map(|k| Choice {
        title: k.title.to_owned(),
        about: k.about.to_owned(),
        taken: Taken::Act(Action::App(App::Window(Window::Open(k.kind, axis)))),
    });
    state.open(Chooser::new("New pane", choices.collect()));
}

/// Opens a pane of a kind beside the one with the keys, or in its frame.
fn open(state: &mut State, kind: Kind, axis: Option<Axis>) -> Vec<Effect> {
    change(state, |state| {
        let beside = state.panes.focus();
        let Some(new) = layout::open(state, kind) else { return false };
        let hung = match axis {
            Some(axis) => state.panes.tree.split(beside, axis, new, false),
            None => state.panes.tree.add_tab(beside, new),
        };
        state.panes.focus_on(new);
        hung
    })
}

/// Closes a pane; the last one, and the last one with a script, stay.
pub fn close(state: &mut State, pane: PaneId) -> Vec<Effect> {
    if state.panes.get(pane).is_some_and(|pane| pane.edits().is_some()) {
        return documents::close(state, pane);
    }
    change(state, |state| state.panes.close(pane))
}

fn shift(state: &mut State, side: Side) -> bool {
    let pane = state.panes.focus();
    let (axis, before) = (side.axis(), side.is_before());
    let neighbour = layout::of(state).panes.neighbour(pane, axis, before);
    let tree = &mut state.panes.tree;
    match neighbour {
        Some(other) => tree.move_beside(pane, other, axis, before),
        None => tree.move_to_edge(pane, axis, before),
    }
}

/// Makes the pane with the keys larger to a side, or smaller: the border after it moves, or else the
/// one before it.
fn grow(state: &mut State, side: Side) -> bool {
    let panes = layout::of(state).panes;
    let Some(frame) = panes.area(state.panes.focus()) else { return false };
    let (axis, step) = (side.axis(), if side.is_before() { -STEP } else { STEP });
    let crosses = |b: &&Border| b.axis == axis && !b.area.intersection(frame).is_empty();
    let after = |b: &&Border| match axis {
        Axis::Across => b.area.x + 1 == frame.right(),
        Axis::Down => b.area.y + 1 == frame.bottom(),
    };
    let found = panes.borders.iter().filter(crosses).max_by_key(|b| after(b));
    let Some(border) = found else { return false };
    let by = if after(&border) { step } else { -step };
    move_border(state, &panes, border, by);
    true
}

/// Moves a border by so many cells.
pub fn move_border(state: &mut State, panes: &Arranged, border: &Border, by: i16) {
    let Some(area) = extent(&state.panes.tree, &border.path, panes) else { return };
    let mut tree = state.panes.tree.clone();
    resize(&mut tree, &border.path, border.between, by, (border.axis, area), &Measured(state));
    state.panes.tree = tree;
}

/// Gives all frames of the split that the pane with the keys is in the same room.
fn even(state: &mut State) -> bool {
    let focus = state.panes.focus();
    let Some(split) = state.panes.tree.split_of(focus) else { return false };
    split.parts.iter_mut().for_each(|part| part.share = Some(1));
    true
}

/// The mouse moves with what it holds.
pub fn drag(state: &mut State, grab: &Grab, at: Position) {
    let Grab::Border(held, _, cell) = grab else {
        state.tell(Severity::Info, "Drop the pane on another one: at an edge beside it, in its middle as a tab");
        return;
    };
    let panes = layout::of(state).panes;
    let same = |b: &&Border| b.path == held.path && b.between == held.between;
    let Some(now) = panes.borders.iter().find(same) else { return };
    let (to, from) = match now.axis {
        Axis::Across => (at.x, now.area.x),
        Axis::Down => (at.y, now.area.y),
    };
    let by = i32::from(to) - i32::from(from) - i32::from(*cell);
    if by != 0 {
        move_border(state, &panes, now, by as i16);
    }
}

/// The mouse lets go.
pub fn drop(state: &mut State, grab: Grab, at: Position) -> Vec<Effect> {
    let (pane, from, had_keys) = match grab {
        Grab::Title { pane, from, had_keys } => (pane, from, had_keys),
        Grab::Border(_, before, _) if before == state.panes.tree => return Vec::new(),
        Grab::Border(_, before, _) => {
            state.panes.changed(before);
            return vec![Effect::KeepLayout(layout::file::text(state))];
        }
    };
    if from == at {
        if had_keys {
            state.asks.push(Ask::Act(Action::App(App::Zoom)));
        }
        return Vec::new();
    }
    let panes = layout::of(state).panes;
    let Some(target) = panes.at(at).filter(|p| p.area.y != at.y || !p.tabs.contains(&pane)).cloned() else {
        return Vec::new();
    };
    let (area, shown) = (target.area, target.shown);
    // The quarters at the edges split the frame, the middle takes the pane in.
    let across = (at.x - area.x) * 4 / area.width.max(1);
    let down = (at.y - area.y) * 4 / area.height.max(1);
    let beside = match (across, down) {
        (0, _) => Some((Axis::Across, true)),
        (3, _) => Some((Axis::Across, false)),
        (_, 3) => Some((Axis::Down, false)),
        (_, 0) if at.y != area.y => Some((Axis::Down, true)),
        _ => None,
    };
    // Dropped on its own frame, a pane can only part from those that share it.
    let other = if shown == pane { target.tabs.iter().copied().find(|t| *t != pane) } else { Some(shown) };
    let Some(other) = other.filter(|_| shown != pane || beside.is_some()) else { return Vec::new() };
    change(state, |state| {
        let tree = &mut state.panes.tree;
        let moved = match beside {
            Some((axis, before)) => tree.move_beside(pane, other, axis, before),
            None => tree.move_into(pane, other),
        };
        state.panes.focus_on(pane);
        moved
    })
}
