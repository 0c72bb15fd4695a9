//! Where names are defined, other names for them, and the layout of the script: what the language service
//! knows from the text alone.

use crate::lang::diagnostic::{Severity, has_errors};
use crate::lang::front_end;
use crate::lang::service::RenameError;
use crate::tui::base::input::Input;
use crate::tui::data::Data;
use crate::tui::layers::line::Line;
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Turn};

/// Jumps that are kept to go back.
const MOST_JUMPS: usize = 100;

/// Puts the cursor where the thing under it is defined.
pub fn definition(turn: &mut Turn<&mut Data>) {
    turn.focus_on(super::KIND);
    let (source, offset) = (turn.document.source(), turn.document.editor.offset());
    if let Some(path) = front_end(&source).imported(&source, offset) {
        turn.tell(Severity::Info, format!("{path} is a file of its own: open it with probescope {path}"));
        return;
    }
    let Some(span) = front_end(&source).definition(&source, offset) else {
        turn.tell(Severity::Info, "The script defines nothing by this name");
        return;
    };
    let document = &mut turn.document;
    let jumps = &mut document.assist.jumps;
    jumps.push(document.editor.cursor());
    if jumps.len() > MOST_JUMPS {
        jumps.remove(0);
    }
    document.editor.go_to_offset(span.start);
}

/// Puts the cursor back where the last jump began.
pub fn back(turn: &mut Turn<&mut Data>) {
    turn.focus_on(super::KIND);
    match turn.document.assist.jumps.pop() {
        Some(place) => turn.document.editor.go_to(place, false),
        None => turn.tell(Severity::Info, "There was no jump to go back from"),
    }
}

/// Asks for another name of the thing under the cursor.
pub fn ask_name(turn: &mut Turn<&mut Data>) {
    turn.focus_on(super::KIND);
    let source = turn.document.source();
    match front_end(&source).renamable(&source, turn.document.editor.offset()) {
        Some(span) => {
            let input = Input::proposing(source.slice(span));
            turn.open(Line::new("Another name, in the whole script", input, |name| {
                Ok(Ask::Script(None, Change::Rename(name.to_owned())))
            }));
        }
        None => turn.tell(Severity::Info, RenameError::NoName.to_string()),
    }
}

/// Gives it another name.
pub fn rename(turn: &mut Turn<&mut Data>, new: &str) {
    let source = turn.document.source();
    match front_end(&source).rename(&source, turn.document.editor.offset(), new) {
        Ok(edits) => {
            let count = edits.len();
            turn.document.editor.replace_all(&edits);
            let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
            turn.tell(Severity::Info, format!("Renamed in {places}"));
        }
        Err(error) => turn.tell(Severity::Warning, format!("Not renamed: {error}")),
    }
}

/// Lays the script out anew.
pub fn format(turn: &mut Turn<&mut Data>) {
    turn.focus_on(super::KIND);
    let source = turn.document.source();
    match front_end(&source).format(&source) {
        Some(text) if !turn.document.editor.differs_from(&text) => {
            turn.tell(Severity::Info, "The script is formatted already");
        }
        Some(text) => turn.document.editor.lay_out(&text),
        None if has_errors(&front_end(&source).syntax(&source)) => {
            turn.tell(Severity::Warning, "Not formatted: the script has errors, F4 goes to the next one");
        }
        None => {
            let text = format!("{} programs keep the layout that they were written in", front_end(&source).name());
            turn.tell(Severity::Info, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::base::action::{Action, App, Edit};
    use crate::tui::data::document::File;
    use crate::tui::desk::state::State;
    use crate::tui::desk::update::act;

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
