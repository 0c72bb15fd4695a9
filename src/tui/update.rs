//! How the state changes: an action or a message in, effects out. Nothing here waits or does I/O.

pub(super) mod app;
pub mod given;
pub(super) mod guard;
mod layers;
pub(super) mod library;
mod mouse;
mod outside;
mod rerun;
mod session;
mod themes;
pub(crate) mod time;
pub mod windows;

use super::action::{Action, App};
use super::effect::{Effect, Message};
use super::layout;
use super::layout::tree::PaneId;
use super::panes::editor::{completing, documents};
use super::panes::{News, Pane, browser, editor, latency, system};
use super::state::{Layer, State};
use crate::session::update::{ScriptId, Update};

/// Applies an action.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    state.toast = None;
    let effects = if let Action::App(app) = action {
        state.document.assist.popup = None;
        windows::awaited(state, *app)
    } else if let Action::Mouse(mouse, at) = action {
        mouse::point(state, *mouse, *at)
    } else if state.layers.is_empty() {
        in_pane(state, state.panes.focus(), action)
    } else {
        layers::act(state, action)
    };
    settle(state);
    if state.toast.is_none() {
        state.toast = state.next_toast.take();
    }
    with_wanted(state, effects)
}

/// Takes a message in.
pub fn receive(state: &mut State, message: Message) -> Vec<Effect> {
    let effects = match message {
        Message::Session(update) => {
            tell(state, update);
            Vec::new()
        }
        Message::Found(found) => browser::update::found(state, found),
        Message::Described(detail) => browser::update::described(state, detail),
        Message::Xray { pattern, made } => super::panes::xray::open::run(state, &pattern, made),
        Message::Lens { probe, roots } => {
            super::panes::lens::update::opened(state, probe, roots);
            Vec::new()
        }
        Message::Inspected(answer) => {
            browser::heat::told(state, &answer);
            browser::scope::told(state, &answer);
            latency::update::told(state, &answer);
            state.loaded.take(answer);
            Vec::new()
        }
        Message::Saved { path, text, error } => app::saved(state, &path, &text, error),
        Message::Kept { because, kept } => {
            app::kept(state, because, kept);
            Vec::new()
        }
        Message::InTheWay { path } => app::in_the_way(state, path),
        Message::Completed { generation, items } => completing::completed(state, generation, items),
        Message::Hinted { offset, hint } => {
            completing::hinted(state, offset, hint);
            Vec::new()
        }
        Message::Tick => {
            let scripts: Vec<ScriptId> = state.documents().map(|d| d.id).collect();
            let mut effects: Vec<Effect> = scripts.into_iter().filter_map(|s| state.with(s, keep)).flatten().collect();
            effects.extend(completing::hint(state));
            effects
        }
        Message::Recording { on, told, failed } => {
            time::recording(state, on, told, failed);
            Vec::new()
        }
        Message::Elapsed(ns) => {
            time::elapsed(state, ns);
            Vec::new()
        }
        Message::GoOn => {
            state.hear(News::GoOn);
            Vec::new()
        }
        Message::Resize(width, height) => {
            state.size = (width, height);
            Vec::new()
        }
        Message::Opened(read) => documents::opened(state, read),
        Message::Touched(path) => outside::touched(state, &path),
        Message::Reread { path, text } => {
            outside::reread(state, &path, &text);
            Vec::new()
        }
        Message::Edited(text) => {
            outside::edited(state, text);
            Vec::new()
        }
        Message::Reran(answered) => {
            rerun::answered(state, *answered);
            Vec::new()
        }
        Message::PathCompleted { typed, completed, names } => {
            layers::path_completed(state, &typed, &completed, &names);
            Vec::new()
        }
        Message::Layouts(names) => windows::offer(state, names),
        Message::Layout { name, text } => windows::read(state, name, text),
        Message::Notice(text) => {
            state.tell(crate::lang::diagnostic::Severity::Info, text);
            Vec::new()
        }
    };
    settle(state);
    with_wanted(state, effects)
}

/// The effects of an intent, and those that panes want by themselves.
fn with_wanted(state: &mut State, mut effects: Vec<Effect>) -> Vec<Effect> {
    effects.append(&mut state.wanted);
    effects
}

/// What the session tells goes to the script that it is about.
fn tell(state: &mut State, update: Update) {
    if let Update::Attached { trace, .. }
    | Update::Failed { trace, .. }
    | Update::Ended { trace, .. }
    | Update::Notice { trace, .. } = &update
        && state.latency.owns(*trace)
    {
        return latency::hear(state, &update);
    }
    let script = match &update {
        Update::Checked { script, .. } => Some(*script),
        Update::Compiled { trace, .. }
        | Update::Attached { trace, .. }
        | Update::Failed { trace, .. }
        | Update::Ended { trace, .. }
        | Update::Command { trace, .. }
        | Update::Notice { trace, .. } => state.documents().find(|d| d.owns(*trace)).map(|d| d.id),
        // The history is of all traces.
        Update::Trace(_) | Update::Append(_) => None,
    };
    match script {
        Some(script) => {
            state.with(script, |state| session::receive(state, update));
            // Of a script that is not worked on now, the refusal is told and nothing asked.
            given::ask_leave(state);
        }
        None => session::receive(state, update),
    }
}

/// Pasted text goes where typed text goes.
pub fn paste(state: &mut State, text: String) -> Vec<Effect> {
    match state.layers.last() {
        None if !state.panes.get(state.panes.focus()).is_some_and(Pane::takes_text) => Vec::new(),
        Some(
            Layer::Help(_)
            | Layer::Reader(_)
            | Layer::ConfirmQuit
            | Layer::ConfirmOpen(_)
            | Layer::Window
            | Layer::Chooser(_)
            | Layer::Confirm(_),
        ) => Vec::new(),
        _ => act(state, &Action::Edit(super::action::Edit::Paste(text))),
    }
}

/// True while something takes its time, a little at each [`Message::GoOn`].
#[must_use]
pub fn is_busy(state: &State) -> bool {
    state.panes.iter().any(|(_, pane)| pane.is_busy(state))
}

/// True while unsaved text should be kept safe at the next tick.
#[must_use]
pub fn wants_tick(state: &State) -> bool {
    completing::wants_hint(state) || state.documents().any(|d| d.editor.differs_from(&d.kept))
}

fn keep(state: &mut State) -> Vec<Effect> {
    if !state.document.editor.differs_from(&state.document.kept) {
        return Vec::new();
    }
    state.document.editor.end_step();
    let text = state.document.editor.shared();
    state.document.kept = text.clone();
    let path = state.document.file.recovery.clone();
    let mut effects = if state.document.is_unsaved() {
        vec![Effect::Keep { path, text: text.clone(), because: None }]
    } else {
        vec![Effect::Discard(path)]
    };
    if state.disabled.is_none() && !state.document.editor.is_blank() {
        state.document.checked = (state.document.checked.0 + 1, text.clone());
        let (script, name) = (state.document.id, state.document.source_name());
        effects.push(Effect::Check { script, revision: state.document.checked.0, text, name });
    }
    effects
}

/// Applies an intent in a pane; one that is not shown acts as if it filled the body.
pub(crate) fn in_pane(state: &mut State, id: PaneId, action: &Action) -> Vec<Effect> {
    let layout = layout::of(state);
    let area = layout.panes.area(id).unwrap_or(layout.body);
    let Some(mut pane) = state.panes.take(id) else { return Vec::new() };
    let effects = pane.act(action, state, area);
    state.panes.put(id, pane);
    effects
}

/// Scrolls what must be in sight into sight, and brings the first pane that has something to show to
/// the front of those that nobody has chosen from.
fn settle(state: &mut State) {
    documents::follow_focus(state);
    let chosen = state.panes.recent().any(|id| state.panes.kind(id) != Some(editor::KIND));
    if !chosen {
        let filled = |id: &PaneId| {
            let pane = state.panes.get(*id);
            pane.is_some_and(|p| p.kind() != editor::KIND && p.is_filled(state))
        };
        if let Some(first) = state.panes.tree.panes().into_iter().find(filled) {
            state.panes.remember(first);
        }
    }
    for placed in layout::of(state).panes.placed {
        let Some(mut pane) = state.panes.take(placed.shown) else { continue };
        pane.settle(state, placed.area);
        state.panes.put(placed.shown, pane);
    }
    editor::follow(state);
    latency::follow(state);
    system::update::follow(state);
}

/// Runs an intent as if its key had been pressed, for the palette.
fn app_of(action: &Action) -> Option<App> {
    if let Action::App(app) = action { Some(*app) } else { None }
}
