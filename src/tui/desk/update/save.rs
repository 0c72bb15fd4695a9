//! Text that goes to files: when, over what, and what became of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{Action, App};
use crate::tui::base::input::Input;
use crate::tui::data::document::Document;
use crate::tui::data::effect::Effect;
use crate::tui::data::files::typed_path;
use crate::tui::desk::state::State;
use crate::tui::layers::line::Line;
use crate::tui::pane::Ask;
use crate::tui::pane::ask::{Listing, Opening};

/// Asks for the name to save the script under.
pub(super) fn ask_name(state: &mut State) {
    let path = state.document.file.path.as_ref().map_or_else(String::new, |p| p.to_string_lossy().into_owned());
    let line = Line::new("Save the script as", Input::proposing(&path), |name| {
        Ok(Ask::Take(Listing::SaveAs(name.to_owned())))
    });
    state.open(line.of_paths());
}

/// Saves the script under a name that was typed.
pub(super) fn save_as(state: &mut State, name: &str) -> Vec<Effect> {
    let path = typed_path(name, state.home.as_deref());
    if path.as_os_str().is_empty() {
        state.tell(Severity::Info, "Not saved: no name given");
        return Vec::new();
    }
    // The file gets its new name when it has been written.
    state.document.save_as = Some(path.clone());
    let over = expected(state, &path);
    vec![Effect::Save { path, text: state.document.editor.shared(), fresh: false, over }]
}

/// Writes the text to its file, or to a new one where scripts without a name go.
pub(super) fn save(state: &State) -> Vec<Effect> {
    let fresh = state.document.file.path.is_none();
    let path = state.document.file.path.as_ref().or(state.document.file.unnamed.as_ref());
    // Root may write over a read-only file; that it is read-only was meant.
    path.filter(|_| state.document.file.read_only.is_none())
        .filter(|_| {
            state.dirty() || state.document.file.path.as_ref().is_some_and(|_| state.document.file.saved.is_empty())
        })
        .map(|path| {
            let over = expected(state, path).filter(|_| !fresh);
            Effect::Save { path: path.clone(), text: state.document.editor.shared(), fresh, over }
        })
        .into_iter()
        .collect()
}

/// What a file should hold before it is written over; `None` once the user was told of other text.
pub(super) fn expected(state: &State, path: &Path) -> Option<Arc<str>> {
    let own = state.document.file.path.as_deref() == Some(path);
    let told = state.document.file.told.as_deref() == Some(path);
    (!told).then(|| if own { Arc::clone(&state.document.file.saved) } else { "".into() })
}

/// Keeps the text of a script for emergencies.
pub(super) fn keep(document: &Document) -> Effect {
    Effect::Keep { path: document.file.recovery.clone(), text: document.editor.shared(), because: None }
}

/// What became of unsaved text that should be kept. A failure is told once, unless a save has failed as well.
pub fn kept(state: &mut State, because: Option<String>, kept: Result<PathBuf, String>) {
    match (because, kept) {
        (Some(why), Ok(path)) => state.tell(Severity::Error, format!("{why}; a copy is kept in {}", path.display())),
        (Some(why), Err(reason)) => {
            state.tell(Severity::Error, format!("{why}; and no copy can be kept: {reason}"));
            state.unkept = true;
        }
        (None, Ok(_)) => state.unkept = false,
        (None, Err(reason)) => {
            if !std::mem::replace(&mut state.unkept, true) {
                state.tell_next(Severity::Warning, format!("Unsaved text would be lost in a crash: {reason}"));
            }
        }
    }
}

/// Another program wrote the file, or there is one already under a new name: it is written over only
/// when that is asked for once more.
pub fn in_the_way(state: &mut State, path: PathBuf) -> Vec<Effect> {
    state.document.quit_after_save = false;
    state.document.open_after_save = None;
    state.document.save_as = None;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let (why, again) = if state.document.file.path.as_deref() == Some(&*path) {
        ("was changed by another program", "Ctrl-S")
    } else {
        ("is there already", "F12")
    };
    state
        .tell(Severity::Warning, format!("Not saved: {name} {why}. {again} again writes over it, F12 saves elsewhere"));
    state.document.file.told = Some(path);
    vec![keep(&state.document)]
}

/// The answer to a save.
pub fn saved(state: &mut State, path: &Path, text: &Arc<str>, error: Option<String>) -> Vec<Effect> {
    let leaving = std::mem::take(&mut state.document.quit_after_save);
    let next = state.document.open_after_save.take();
    let renamed = state.document.save_as.take().is_some_and(|name| name == path);
    if let Some(error) = error {
        state.document.kept = "".into();
        state.tell(Severity::Error, error.clone());
        let path = state.document.file.recovery.clone();
        return vec![Effect::Keep { path, text: Arc::clone(text), because: Some(error) }];
    }
    let named = renamed || state.document.file.path.as_deref() == Some(path);
    if named || state.document.file.path.is_none() {
        state.document.file.path = Some(path.to_owned());
        state.document.file.saved = Arc::clone(text);
        state.document.file.read_only = None;
        state.document.take_language();
    }
    state.document.file.told = None;
    let unnamed = state.document.file.unnamed.as_deref().and_then(Path::parent);
    if path.parent() == unnamed && unnamed.is_some() && !state.saved.iter().any(|known| known == path) {
        state.saved = std::iter::once(path.to_owned()).chain(state.saved.iter().cloned()).collect();
    }
    state.document.editor.end_step();
    state.document.kept = Arc::clone(text);
    let effects = vec![Effect::Discard(state.document.file.recovery.clone())];
    if leaving && !state.dirty() {
        state.asks.push(Ask::Act(Action::App(App::Quit)));
    }
    if let Some(name) = next {
        state.asks.push(Ask::Take(Listing::Script(name, Opening::Over)));
    }
    effects
}
