//! Opening a bundled script as an unsaved copy.

use super::super::action::{App, Edit, Go};
use super::super::effect::Effect;
use super::super::state::{File, Layer, State};
use crate::lang::diagnostic::Severity;
use crate::library::{self, Script};

/// Opens it, or asks first what to do with unsaved text.
pub fn ask(state: &mut State, script: &Script) -> Vec<Effect> {
    if state.dirty() && !state.editor.is_blank() {
        state.layers.push(Layer::ConfirmOpen(script.name));
        return Vec::new();
    }
    open(state, script.name)
}

/// The answer to the question.
pub fn answer(state: &mut State, app: App) -> Vec<Effect> {
    let Some(Layer::ConfirmOpen(name)) = state.layers.pop() else { return Vec::new() };
    if app == App::OpenAnyway {
        return open(state, name);
    }
    let effects = super::app::save(state);
    state.open_after_save = Some(name);
    if effects.is_empty() {
        return super::app::act(state, App::SaveAs);
    }
    effects
}

/// Puts the script into the editor; undo brings the text before it back.
pub fn open(state: &mut State, name: &str) -> Vec<Effect> {
    let Some(script) = library::script(name) else { return Vec::new() };
    state.editor.edit(&Edit::SelectAll);
    state.editor.edit(&Edit::Paste(script.text.to_owned()));
    state.editor.diagnose(Vec::new(), script.text);
    state.editor.go(Go::Top, false, 1);
    let folder = state.file.unnamed.as_deref().and_then(std::path::Path::parent);
    let unnamed = folder.map(|f| f.join(format!("{name}.bt")));
    state.file = File { unnamed, ..File::default() };
    // Who has zoomed another pane wants to look at that one.
    if !state.panes.is_zoomed() {
        state.focus_on(crate::tui::panes::editor::KIND);
    }
    state.tell(Severity::Info, format!("A copy of {name}: it needs {} Ctrl-S saves and runs it", script.needs));
    Vec::new()
}
