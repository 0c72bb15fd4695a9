//! Opening a bundled script as an unsaved copy.

use crate::lang::FRONT_ENDS;
use crate::lang::diagnostic::Severity;
use crate::library;
use crate::tui::base::action::{Action, App, Edit, Go};
use crate::tui::base::kind::{EVENTS, Kind, SCRIPT};
use crate::tui::data::document::File;
use crate::tui::data::effect::Effect;
use crate::tui::data::trace::Phase;
use crate::tui::desk::documents;
use crate::tui::desk::state::State;
use crate::tui::layers::palette::{Listed, Palette};
use crate::tui::layers::reader::Unsaved;
use crate::tui::pane::Ask;
use crate::tui::pane::ask::Opening;

/// Opens a bundled script, or asks first what to do with unsaved text.
pub fn ask(state: &mut State, name: &'static str, how: Opening) -> Vec<Effect> {
    match how {
        Opening::Asked if state.document.is_unsaved() => state.open(Unsaved::Opening(name)),
        Opening::Asked | Opening::Over => open(state, name),
        Opening::Tab => open_in_tab(state, name),
        Opening::Saved => {
            let effects = super::save::save(state);
            state.document.open_after_save = Some(name);
            if effects.is_empty() {
                state.asks.push(Ask::Act(Action::App(App::SaveAs)));
            }
            return effects;
        }
    }
    Vec::new()
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
        state.open(Palette { listed: Listed::Clauses, ..Palette::default() });
    } else {
        state.tell(Severity::Info, format!("The bundled scripts are {theirs}, and this one is {own}"));
    }
}

/// Runs the script that answers a question, in a tab of its own beside other work, and shows its pane.
pub fn answer_preset(state: &mut State, script: &str, text: &'static str, pane: Kind) {
    if state.document.editor.is_blank() && state.document.trace.phase == Phase::Idle {
        put(state, script, text);
    } else if !new_tab(state, script, text) {
        return;
    }
    state.toast = None;
    state.asks.push(Ask::Act(Action::App(App::Run)));
    if state.panes.of_kind(pane).is_none() {
        state.focus_on(EVENTS);
    }
    state.focus_on(pane);
}

/// Puts the script into the editor; undo brings the text before it back.
pub fn open(state: &mut State, name: &str) {
    let Some(script) = library::script(name) else { return };
    put(state, name, script.text);
    state.tell(Severity::Info, library::copied(&script));
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
        state.focus_on(SCRIPT);
    }
}
