//! How the state changes: an action or a message in, effects out. Nothing here waits or does I/O.

pub(super) mod app;
mod layers;
pub(super) mod library;
mod mouse;
mod session;

use super::action::{Action, App};
use super::effect::{CHECK, Effect, Message};
use super::layout;
use super::panes::editor::{completing, update as editor};
use super::panes::{browser, events, maps, probes};
use super::state::{Layer, Pane, State};

/// Applies an action.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    state.toast = None;
    let effects = if let Action::App(app) = action {
        state.assist.popup = None;
        app::act(state, *app)
    } else if let Action::Mouse(mouse, at) = action {
        mouse::point(state, *mouse, *at)
    } else if state.layers.is_empty() {
        match state.focus {
            Pane::Editor => completing::popup(state, action).unwrap_or_else(|| editor::act(state, action)),
            Pane::Events => events::update::act(state, action),
            Pane::Maps => maps::update::act(state, action),
            Pane::Probes => probes::update::act(state, action),
        }
    } else {
        layers::act(state, action)
    };
    settle(state);
    effects
}

/// Takes a message in.
pub fn receive(state: &mut State, message: Message) -> Vec<Effect> {
    let effects = match message {
        Message::Session(update) => {
            session::receive(state, update);
            Vec::new()
        }
        Message::Found(found) => browser::update::found(state, found),
        Message::Described(detail) => browser::update::described(state, detail),
        Message::Saved { path, text, error } => app::saved(state, &path, &text, error),
        Message::InTheWay { path } => app::in_the_way(state, path),
        Message::Completed { generation, items } => completing::completed(state, generation, items),
        Message::Hinted { offset, hint } => {
            completing::hinted(state, offset, hint);
            Vec::new()
        }
        Message::Tick => {
            let mut effects = keep(state);
            effects.extend(completing::hint(state));
            effects
        }
        Message::Resize(width, height) => {
            state.size = (width, height);
            Vec::new()
        }
        Message::Notice(text) => {
            state.tell(crate::lang::diagnostic::Severity::Info, text);
            Vec::new()
        }
    };
    settle(state);
    effects
}

/// Pasted text goes where typed text goes.
pub fn paste(state: &mut State, text: String) -> Vec<Effect> {
    match state.layers.last() {
        None if state.focus != Pane::Editor => Vec::new(),
        Some(Layer::Help(_) | Layer::Reader(_) | Layer::ConfirmQuit | Layer::ConfirmOpen(_)) => Vec::new(),
        _ => act(state, &Action::Edit(super::action::Edit::Paste(text))),
    }
}

/// True while unsaved text should be kept safe at the next tick.
#[must_use]
pub fn wants_tick(state: &State) -> bool {
    completing::wants_hint(state) || state.editor.differs_from(&state.kept)
}

fn keep(state: &mut State) -> Vec<Effect> {
    if !state.editor.differs_from(&state.kept) {
        return Vec::new();
    }
    let text = state.editor.shared();
    state.kept = text.clone();
    let mut effects = if state.dirty() { vec![Effect::Keep { text: text.clone() }] } else { vec![Effect::Discard] };
    if state.disabled.is_none() && !state.editor.is_blank() {
        state.checked = (state.checked.0 + 1, text.clone());
        effects.push(Effect::Check { text, generation: CHECK | state.checked.0 });
    }
    effects
}

/// Scrolls what must be in sight into sight.
fn settle(state: &mut State) {
    if let Some(area) = layout::of(state).pane(Pane::Editor) {
        let (height, width) = crate::tui::panes::editor::draw::text_size(state, area);
        state.editor.reveal(height, width);
    }
}

/// Rows that a page key moves by in a pane.
pub(super) fn page(state: &State, pane: Pane) -> usize {
    layout::of(state).pane(pane).map_or(10, |a| usize::from(a.height.saturating_sub(3)).max(1))
}

/// Runs an intent as if its key had been pressed, for the palette.
fn app_of(action: &Action) -> Option<App> {
    if let Action::App(app) = action { Some(*app) } else { None }
}
