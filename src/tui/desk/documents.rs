//! The open scripts, each in a tab of its own: opening, closing, leaving with several of them.

use std::path::PathBuf;

use crate::lang::diagnostic::Severity;
use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, App, Edit, Go};
use crate::tui::base::input::Input;
use crate::tui::base::kind::SCRIPT;
use crate::tui::base::tree::PaneId;
use crate::tui::data::document::{Document, File};
use crate::tui::data::effect::Effect;
use crate::tui::data::files::{Opened, typed_path};
use crate::tui::data::trace::Phase;
use crate::tui::desk::state::State;
use crate::tui::layers::line::Line;
use crate::tui::layers::reader::Confirm;
use crate::tui::pane::Ask;
use crate::tui::pane::ask::Listing;
use crate::tui::panes::editor::EditorPane;

/// Scripts that may be open at once.
const MOST: usize = 32;

/// Asks which file to open.
pub fn ask(state: &mut State) {
    let title = "Open a script in a tab; without a name a new one";
    let line = Line::new(title, Input::default(), |name| Ok(Ask::Take(Listing::Typed(name.to_owned()))));
    state.open(line.of_paths());
}

/// Opens the file of a name that was typed; without one a new script.
pub fn open_typed(state: &mut State, name: &str) -> Vec<Effect> {
    let path = typed_path(name, state.home.as_deref());
    let path = (!path.as_os_str().is_empty()).then_some(path);
    open_path(state, path)
}

/// Opens a file in a tab, or shows the one that has it; without a path a new script.
pub fn open_path(state: &mut State, path: Option<PathBuf>) -> Vec<Effect> {
    let same = |d: &&Document| path.is_some() && d.file.path == path;
    let known = state.documents().find(same).map(|d| d.id);
    if let Some(script) = known {
        show(state, script);
        return Vec::new();
    }
    vec![Effect::Open { path, number: next(state).0 }]
}

/// A file was read, or not: the reason in plain words.
pub fn opened(state: &mut State, read: Result<Opened, String>) -> Vec<Effect> {
    match read {
        Ok(Opened { text, file, kept }) => {
            let unnamed = state.document.file.unnamed.clone();
            let opened = open(state, &text, File { unnamed, ..file });
            if let Some(kept) = kept.filter(|_| opened) {
                state.document.editor.edit(&Edit::SelectAll);
                state.document.editor.edit(&Edit::Paste(kept));
                state.tell(Severity::Info, "Unsaved text of an earlier run is in the editor again; Ctrl-Z goes back");
            }
            Vec::new()
        }
        Err(why) => {
            state.tell(Severity::Error, why);
            Vec::new()
        }
    }
}

/// The id of the script that is opened next.
pub fn next(state: &State) -> ScriptId {
    ScriptId(state.documents().map(|d| d.id.0).max().unwrap_or(0) + 1)
}

/// Opens a script in a tab beside the one that is worked on; false, and told, where too many are open.
pub fn open(state: &mut State, text: &str, file: File) -> bool {
    if state.parked.len() + 1 >= MOST {
        state.tell(Severity::Warning, format!("{MOST} scripts are open: close one first"));
        return false;
    }
    let script = next(state);
    // It stands beside the script that was worked on, whatever has the keys.
    let beside = pane_of(state, state.document.id);
    let pane = state.panes.add(Box::new(EditorPane { script }));
    if !beside.is_some_and(|beside| state.panes.tree.add_tab(beside, pane)) {
        let focus = state.panes.focus();
        state.panes.tree.add_tab(focus, pane);
    }
    state.panes.settle();
    state.parked.push(Document::new(script, text, file));
    state.panes.focus_on(pane);
    state.bring(script);
    state.document.editor.go(Go::Top, false, 1);
    let name = state.name();
    state.tell(Severity::Info, format!("{name}: Ctrl-S saves and runs it beside the others, Alt-N and Alt-P switch"));
    true
}

/// The pane of an open script.
fn pane_of(state: &State, script: ScriptId) -> Option<PaneId> {
    state.panes.tree.panes().into_iter().find(|id| script_of(state, *id) == Some(script))
}

/// The script of a pane.
pub fn script_of(state: &State, pane: PaneId) -> Option<ScriptId> {
    state.panes.get(pane)?.edits()
}

/// Gives the keys to a script.
pub fn show(state: &mut State, script: ScriptId) {
    if let Some(pane) = pane_of(state, script) {
        state.panes.focus_on(pane);
    }
    state.bring(script);
}

/// Closes a script and ends its trace; asks first when there is unsaved text. The last one stays.
pub fn close(state: &mut State, pane: PaneId) -> Vec<Effect> {
    let Some(script) = script_of(state, pane) else { return Vec::new() };
    if state.parked.is_empty() {
        state.tell(Severity::Info, "The last script stays open; Ctrl-Q leaves");
        return Vec::new();
    }
    show(state, script);
    if state.document.is_unsaved() {
        state.open(Confirm {
            title: format!("Close {}?", state.name()),
            about: "Its unsaved changes would be lost. Its trace ends.".to_owned(),
            yes: Action::App(App::CloseAnyway),
        });
        return Vec::new();
    }
    close_anyway(state)
}

/// Closes the script that is worked on.
pub fn close_anyway(state: &mut State) -> Vec<Effect> {
    let script = state.document.id;
    let Some(pane) = pane_of(state, script).filter(|_| !state.parked.is_empty()) else { return Vec::new() };
    let mut effects = vec![Effect::Discard(state.document.file.recovery.clone())];
    if matches!(state.document.trace.phase, Phase::Running | Phase::Starting) {
        effects.push(Effect::Stop(state.document.trace.to_stop(state.document.submitted_as)));
    }
    state.panes.forget(pane);
    let next =
        state.panes.of_kind(SCRIPT).and_then(|p| script_of(state, p)).or_else(|| state.parked.first().map(|d| d.id));
    if let Some(next) = next {
        state.bring(next);
    }
    state.parked.retain(|d| d.id != script);
    effects
}

/// The script that has the keys is the one that is worked on.
pub fn follow_focus(state: &mut State) {
    let Some(script) = script_of(state, state.panes.focus()).filter(|s| *s != state.document.id) else { return };
    let asked = state.document.assist.asked;
    state.document.assist.popup = None;
    if state.bring(script) {
        // An answer for the script before is none for this one.
        let assist = &mut state.document.assist;
        assist.asked = assist.asked.max(asked) + 1;
    }
}

/// The next script with unsaved text, shown; for leaving.
pub fn next_unsaved(state: &mut State) -> bool {
    let unsaved = state.documents().find(|d| d.is_unsaved()).map(|d| d.id);
    if let Some(script) = unsaved {
        show(state, script);
    }
    unsaved.is_some()
}
