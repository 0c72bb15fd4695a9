//! Where names are defined, other names for them, and the layout of the script: what the language service
//! knows from the text alone.

use crate::lang::diagnostic::{Severity, has_errors};
use crate::lang::front_end;
use crate::lang::service::RenameError;
use crate::tui::action::Action;
use crate::tui::effect::Effect;
use crate::tui::input::Input;
use crate::tui::state::{Layer, State};

/// Jumps that are kept to go back.
const MOST_JUMPS: usize = 100;

/// Puts the cursor where the thing under it is defined.
pub fn definition(state: &mut State) {
    state.focus_on(super::KIND);
    let (source, offset) = (state.document.source(), state.document.editor.offset());
    if let Some(path) = front_end(&source).imported(&source, offset) {
        state.tell(Severity::Info, format!("{path} is a file of its own: open it with probescope {path}"));
        return;
    }
    let Some(span) = front_end(&source).definition(&source, offset) else {
        state.tell(Severity::Info, "The script defines nothing by this name");
        return;
    };
    let jumps = &mut state.document.assist.jumps;
    jumps.push(state.document.editor.cursor());
    if jumps.len() > MOST_JUMPS {
        jumps.remove(0);
    }
    state.document.editor.go_to_offset(span.start);
}

/// Puts the cursor back where the last jump began.
pub fn back(state: &mut State) {
    state.focus_on(super::KIND);
    match state.document.assist.jumps.pop() {
        Some(place) => state.document.editor.go_to(place, false),
        None => state.tell(Severity::Info, "There was no jump to go back from"),
    }
}

/// Asks for another name of the thing under the cursor.
pub fn ask_name(state: &mut State) {
    state.focus_on(super::KIND);
    let source = state.document.source();
    match front_end(&source).renamable(&source, state.document.editor.offset()) {
        Some(span) => state.layers.push(Layer::Rename(Input::proposing(source.slice(span)))),
        None => state.tell(Severity::Info, RenameError::NoName.to_string()),
    }
}

/// Applies an intent in the line with the new name.
pub fn renaming(state: &mut State, action: &Action) -> Vec<Effect> {
    let Some(Layer::Rename(input)) = state.layers.last_mut() else { return Vec::new() };
    if let Some(new) = input.answer(action) {
        state.layers.pop();
        rename(state, &new);
    }
    Vec::new()
}

fn rename(state: &mut State, new: &str) {
    let source = state.document.source();
    match front_end(&source).rename(&source, state.document.editor.offset(), new) {
        Ok(edits) => {
            let count = edits.len();
            state.document.editor.replace_all(&edits);
            let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
            state.tell(Severity::Info, format!("Renamed in {places}"));
        }
        Err(error) => state.tell(Severity::Warning, format!("Not renamed: {error}")),
    }
}

/// Lays the script out anew.
pub fn format(state: &mut State) {
    state.focus_on(super::KIND);
    let source = state.document.source();
    match front_end(&source).format(&source) {
        Some(text) if !state.document.editor.differs_from(&text) => {
            state.tell(Severity::Info, "The script is formatted already");
        }
        Some(text) => state.document.editor.lay_out(&text),
        None if has_errors(&front_end(&source).syntax(&source)) => {
            state.tell(Severity::Warning, "Not formatted: the script has errors, F4 goes to the next one");
        }
        None => {
            let text = format!("{} programs keep the layout that they were written in", front_end(&source).name());
            state.tell(Severity::Info, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::action::{Action, App, Edit};
    use crate::tui::state::{File, State};
    use crate::tui::update::act;

    /// A workbench with the cursor where `|` is.
    fn workbench(text: &str) -> State {
        let at = text.find('|').unwrap();
        let mut state = State::new(&text.replacen('|', "", 1), File::default(), Vec::new(), (100, 30));
        state.document.editor.go_to_offset(at as u32);
        state
    }

    fn press(state: &mut State, app: App) {
        act(state, &Action::App(app));
    }

    fn cursor(state: &State) -> &str {
        state.document.editor.before_cursor()
    }

    #[test]
    fn a_jump_to_a_definition_leads_back() {
        let mut state = workbench("macro half(x) { x / 2 }\nBEGIN { $n = 1; print(\"é\", half($n|)); }");
        press(&mut state, App::Definition);
        assert_eq!(cursor(&state), "BEGIN { ");
        state.document.editor.go_to((1, 29), false);
        press(&mut state, App::Definition);
        assert_eq!((state.document.editor.cursor(), cursor(&state)), ((0, 6), "macro "));
        press(&mut state, App::JumpBack);
        assert_eq!(state.document.editor.cursor(), (1, 29));
        press(&mut state, App::JumpBack);
        assert_eq!(cursor(&state), "BEGIN { $n = 1; print(\"é\", half($n");
        press(&mut state, App::JumpBack);
        assert!(state.toast.is_some(), "there is no jump left");
    }

    #[test]
    fn a_new_name_is_typed_and_undone_at_once() {
        let mut state = workbench("BEGIN { @a = 1; }\nEND { print(@a|); clear(@a); }");
        press(&mut state, App::Rename);
        act(&mut state, &Action::Edit(Edit::Paste("@total".to_owned())));
        act(&mut state, &Action::Accept);
        assert_eq!(state.document.editor.text(), "BEGIN { @total = 1; }\nEND { print(@total); clear(@total); }");
        assert_eq!(cursor(&state), "END { print(@total");
        act(&mut state, &Action::Edit(Edit::Undo));
        assert_eq!(state.document.editor.text(), "BEGIN { @a = 1; }\nEND { print(@a); clear(@a); }");
    }

    #[test]
    fn formatting_keeps_the_cursor_at_its_word() {
        let mut state = workbench("BEGIN{@a=1;print(@|a);}");
        press(&mut state, App::Format);
        assert_eq!(state.document.editor.text(), "BEGIN { @a = 1; print(@a); }\n");
        assert_eq!(cursor(&state), "BEGIN { @a = 1; print(@");
        press(&mut state, App::Format);
        assert!(state.toast.take().is_some_and(|t| t.text.contains("already")));
        let mut state = workbench("BEGIN { print(|; }");
        press(&mut state, App::Format);
        assert_eq!(state.document.editor.text(), "BEGIN { print(; }");
    }
}
