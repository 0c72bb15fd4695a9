//! Text that comes from outside: another program wrote the script's file, or the user edited it elsewhere.

use std::path::Path;
use std::sync::Arc;

use super::super::state::State;
use crate::lang::diagnostic::Severity;
use crate::lang::source::Span;
use crate::tui::data::effect::Effect;

/// A file was written by some program: ourselves, or another one.
pub fn touched(state: &State, path: &Path) -> Vec<Effect> {
    let is_open = state.documents().any(|d| d.file.path.as_deref() == Some(path));
    if is_open { vec![Effect::Reread(path.to_owned())] } else { Vec::new() }
}

/// What is in the file now. A script without changes takes it; otherwise it is said, and nothing
/// comes between what is typed.
pub fn reread(state: &mut State, path: &Path, text: &Arc<str>) {
    let Some(script) = state.documents().find(|d| d.file.path.as_deref() == Some(path)).map(|d| d.id) else { return };
    state.with(script, |state| {
        let document = &mut state.document;
        if document.file.saved == *text {
            return;
        }
        if !document.editor.differs_from(text) {
            document.file.saved = Arc::clone(text);
            return;
        }
        let name = document.name();
        if !document.dirty() {
            take(state, text);
            state.mention(
                Severity::Info,
                format!("{name} was changed by another program: read again; undo brings the old text back"),
            );
            return;
        }
        document.file.outside = Some(Arc::clone(text));
        state.mention(
            Severity::Warning,
            format!(
                "{name} was changed by another program, and here too. Ctrl-K, \"reload\" takes its text; a save asks"
            ),
        );
    });
}

/// Takes the text that another program wrote.
pub fn reload(state: &mut State) {
    match state.document.file.outside.take() {
        Some(text) => take(state, &text),
        None => state.tell(Severity::Info, "The file has nothing that is not here"),
    }
}

/// The text of the file becomes the script's, as one step that can be taken back.
fn take(state: &mut State, text: &Arc<str>) {
    let document = &mut state.document;
    let place = document.editor.cursor();
    document.editor.replace(Span::new(0, document.editor.length() as u32), text);
    document.editor.jump(place.0, place.1);
    document.file.saved = Arc::clone(text);
    document.file.outside = None;
    document.file.told = None;
}

/// What another editor made of the text, or why there is nothing.
pub fn edited(state: &mut State, text: Result<String, String>) {
    match text {
        Ok(text) if state.document.editor.differs_from(&text) => {
            let place = state.document.editor.cursor();
            let all = Span::new(0, state.document.editor.length() as u32);
            state.document.editor.replace(all, &text);
            state.document.editor.jump(place.0, place.1);
            state.tell(Severity::Info, "The text is as you edited it; undo takes that back");
        }
        Ok(_) => state.tell(Severity::Info, "The text was not changed"),
        Err(why) => state.tell(Severity::Warning, why),
    }
}
