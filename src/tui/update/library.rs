//! Opening a bundled script as an unsaved copy.

use super::super::action::{App, Edit, Go};
use super::super::effect::Effect;
use super::super::palette::{Clauses, Listed, Palette};
use super::super::presets::Preset;
use super::super::state::{File, Layer, State};
use super::super::trace::Phase;
use crate::lang::FRONT_ENDS;
use crate::lang::diagnostic::Severity;
use crate::library::{self, Script};
use crate::tui::panes::editor::documents;
use crate::tui::panes::events;

/// Opens it, or asks first what to do with unsaved text.
pub fn ask(state: &mut State, script: &Script) -> Vec<Effect> {
    if state.document.is_unsaved() {
        state.layers.push(Layer::ConfirmOpen(script.name));
        return Vec::new();
    }
    open(state, script.name)
}

/// The answer to the question.
pub fn answer(state: &mut State, app: App) -> Vec<Effect> {
    let Some(Layer::ConfirmOpen(name)) = state.layers.pop() else { return Vec::new() };
    if app == App::OpenInTab {
        open_in_tab(state, name);
        return Vec::new();
    }
    if app == App::OpenAnyway {
        return open(state, name);
    }
    let effects = super::app::save(state);
    state.document.open_after_save = Some(name);
    if effects.is_empty() {
        return super::app::act(state, App::SaveAs);
    }
    effects
}

fn open_in_tab(state: &mut State, name: &str) {
    if let Some(script) = library::script(name) {
        new_tab(state, name, script.text);
    }
}

/// Opens a text without a file in a tab of its own, to be saved under this name; false, and told, where it can't be.
pub fn new_tab(state: &mut State, name: &str, text: &str) -> bool {
    let folder = state.document.file.unnamed.as_deref().and_then(std::path::Path::parent);
    let unnamed = folder.map(|f| f.join(format!("{name}.bt")));
    let kept = format!("untitled-{}.bt", documents::next(state).0);
    let recovery = state.document.file.recovery.as_ref().map(|p| p.with_file_name(kept));
    documents::open(state, text, File { unnamed, recovery, given: text.into(), ..File::default() })
}

/// Lists the clauses of the bundled scripts, where the script at hand is in their language.
pub fn ask_clauses(state: &mut State) {
    let (own, theirs) = (state.document.language().name(), FRONT_ENDS[0].name());
    if own == theirs {
        state.layers.push(Layer::Palette(Palette { listed: Listed::Clauses, ..Palette::default() }));
    } else {
        state.tell(Severity::Info, format!("The bundled scripts are {theirs}, and this one is {own}"));
    }
}

/// Puts clauses into the script; undo takes them out again.
pub fn insert_clauses(state: &mut State, clauses: &Clauses) -> Vec<Effect> {
    state.focus_on(crate::tui::panes::editor::KIND);
    state.document.editor.insert_clause(&clauses.group.text);
    Vec::new()
}

/// Runs the script that answers a question, in a tab of its own beside other work, and shows its pane.
pub fn answer_preset(state: &mut State, preset: &Preset) -> Vec<Effect> {
    if state.document.editor.is_blank() && state.document.trace.phase == Phase::Idle {
        put(state, preset.script, preset.text().unwrap_or_default());
    } else if !new_tab(state, preset.script, preset.text().unwrap_or_default()) {
        return Vec::new();
    }
    state.toast = None;
    let effects = super::app::act(state, App::Run);
    if state.panes.of_kind(preset.pane).is_none() {
        state.focus_on(events::KIND);
    }
    state.focus_on(preset.pane);
    effects
}

/// Puts the script into the editor; undo brings the text before it back.
pub fn open(state: &mut State, name: &str) -> Vec<Effect> {
    let Some(script) = library::script(name) else { return Vec::new() };
    put(state, name, script.text);
    state.tell(Severity::Info, library::copied(&script));
    Vec::new()
}

/// Puts a text of the program's own into the editor, to be saved under this name.
fn put(state: &mut State, name: &str, text: &'static str) {
    state.document.editor.edit(&Edit::SelectAll);
    state.document.editor.edit(&Edit::Paste(text.to_owned()));
    state.document.editor.diagnose(Vec::new(), text);
    state.document.editor.go(Go::Top, false, 1);
    let folder = state.document.file.unnamed.as_deref().and_then(std::path::Path::parent);
    let unnamed = folder.map(|f| f.join(format!("{name}.bt")));
    let recovery = state.document.file.recovery.take();
    state.document.file = File { unnamed, recovery, given: text.into(), ..File::default() };
    state.document.take_language();
    // Who has zoomed another pane wants to look at that one.
    if !state.panes.is_zoomed() {
        state.focus_on(crate::tui::panes::editor::KIND);
    }
}
