//! How the state changes: an action or a message in, effects out. Nothing here waits or does I/O.

pub(super) mod app;
mod asks;
mod give;
pub mod given;
pub(super) mod guard;
pub(super) mod library;
mod mouse;
mod outside;
mod rerun;
mod save;
mod session;
mod themes;
pub(crate) mod time;
pub mod windows;

use super::registry::KINDS;
use super::state::State;
use super::{documents, layout};
use crate::lang::diagnostic::Severity;
use crate::session::update::{ScriptId, Update};
use crate::tui::base::action::{Action, Edit};
use crate::tui::base::kind::SCRIPT;
use crate::tui::base::tree::PaneId;
use crate::tui::data::effect::{Effect, Message};
use crate::tui::data::inspect::Inspected;
use crate::tui::layers::lens::Lens;
use crate::tui::pane::{News, Pane, Seen};
use crate::tui::panes::editor::completing;
use crate::tui::panes::latency;
use asks::{carry_out_all, dispatch};

/// Applies an action.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    state.toast = None;
    let mut effects = dispatch(state, action);
    settle(state, &mut effects);
    if state.toast.is_none() {
        state.data.toast = state.data.next_toast.take();
    }
    effects
}

/// Takes a message in.
pub fn receive(state: &mut State, message: Message) -> Vec<Effect> {
    if is_heard(&message) {
        give::answer(state, &message);
    }
    let mut effects = match message {
        Message::Session(update) => {
            tell(state, update);
            Vec::new()
        }
        // Who asked has heard it.
        Message::Found(_) | Message::Described(_) | Message::PathCompleted { .. } => Vec::new(),
        Message::Xray { pattern, made } => super::xray::run(state, &pattern, made),
        Message::Lens { probe, roots } => {
            match roots {
                Ok(arguments) => state.open(Lens::of_types(probe, arguments, &state.data.document)),
                Err(why) => state.tell(Severity::Warning, why),
            }
            Vec::new()
        }
        Message::Inspected(answer) => {
            tell_hits(state, &answer);
            state.loaded.take(answer);
            Vec::new()
        }
        Message::Saved { path, text, error } => save::saved(state, &path, &text, error),
        Message::Kept { because, kept } => {
            save::kept(state, because, kept);
            Vec::new()
        }
        Message::InTheWay { path } => save::in_the_way(state, path),
        Message::Completed { generation, items } => {
            if state.on(SCRIPT) && state.layers.is_empty() {
                state.turn(|turn| completing::completed(turn, generation, &items));
            }
            Vec::new()
        }
        Message::Hinted { offset, hint } => {
            completing::hinted(&mut state.document, offset, hint);
            Vec::new()
        }
        Message::Tick => {
            let scripts: Vec<ScriptId> = state.documents().map(|d| d.id).collect();
            let effects = scripts.into_iter().filter_map(|s| state.with(s, keep)).flatten().collect();
            if state.on(SCRIPT) {
                state.turn(completing::hint);
            }
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
        Message::Layouts(names) => {
            windows::offer(state, names);
            Vec::new()
        }
        Message::Layout { name, text } => windows::read(state, name, text),
        Message::Notice(text) => {
            state.tell(Severity::Info, text);
            Vec::new()
        }
    };
    settle(state, &mut effects);
    effects
}

/// Whether panes and layers hear a message: what answers them, and not what comes all the time.
const fn is_heard(message: &Message) -> bool {
    !matches!(message, Message::Session(_) | Message::Tick | Message::Elapsed(_) | Message::GoOn | Message::Resize(..))
}

/// Tells what became of a count of hits.
fn tell_hits(state: &mut State, answer: &Inspected) {
    match answer {
        Inspected::Hits(Ok(counts)) => {
            let fired = counts.iter().filter(|(_, hits)| *hits > 0).count();
            state.tell(Severity::Info, format!("{fired} of {} probes fired within the second", counts.len()));
        }
        Inspected::Hits(Err(why)) => state.tell(Severity::Warning, why.clone()),
        _ => {}
    }
}

/// What the session tells goes to the script that it is about.
fn tell(state: &mut State, update: Update) {
    if let Update::Attached { trace, .. }
    | Update::Failed { trace, .. }
    | Update::Ended { trace, .. }
    | Update::Notice { trace, .. } = &update
        && state.latency.owns(*trace)
    {
        return state.turn(|turn| latency::meter::hear(turn, &update));
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
    let takes_text = match state.layers.last() {
        Some(layer) => layer.takes_text(),
        None => state.panes.get(state.panes.focus()).is_some_and(Pane::takes_text),
    };
    if takes_text { act(state, &Action::Edit(Edit::Paste(text))) } else { Vec::new() }
}

/// True while something takes its time, a little at each [`Message::GoOn`].
#[must_use]
pub fn is_busy(state: &State) -> bool {
    state.panes.iter().any(|(_, pane)| pane.is_busy(state))
}

/// True while unsaved text should be kept safe at the next tick.
#[must_use]
pub fn wants_tick(state: &State) -> bool {
    state.on(SCRIPT) && completing::wants_hint(state) || state.documents().any(|d| d.editor.differs_from(&d.kept))
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

/// Carries out what is asked for, scrolls what must be in sight into sight, and brings the first pane that has something to
/// show to the front of those that nobody has chosen from.
fn settle(state: &mut State, effects: &mut Vec<Effect>) {
    effects.extend(carry_out_all(state));
    documents::follow_focus(state);
    let is_output = |id: &PaneId| state.panes.get(*id).is_some_and(|pane| pane.edits().is_none());
    if !state.panes.recent().any(|id| is_output(&id)) {
        let filled = |id: &PaneId| is_output(id) && state.panes.get(*id).is_some_and(|pane| pane.is_filled(state));
        if let Some(first) = state.panes.tree.panes().into_iter().find(filled) {
            state.panes.remember(first);
        }
    }
    let placed = layout::of(state).panes.placed;
    for placed in &placed {
        let Some(pane) = state.panes.get_mut(placed.shown) else { continue };
        pane.settle(&state.data, placed.area);
        let room = pane.text_room(&state.data, placed.area);
        if let Some((script, (height, width))) = pane.edits().zip(room) {
            let script = state.data.documents_mut().find(|document| document.id == script);
            script.into_iter().for_each(|document| document.editor.reveal(height, width));
        }
    }
    let open = state.panes.tree.panes();
    for registered in KINDS {
        let Some(follow) = registered.follow else { continue };
        let is_of = |id: PaneId| state.panes.kind(id) == Some(registered.kind);
        let is_open = open.iter().any(|id| is_of(*id));
        let seen = Seen { is_open, is_shown: placed.iter().any(|placed| is_of(placed.shown)) };
        state.turn(|turn| follow(turn, seen));
    }
    effects.extend(carry_out_all(state));
}
