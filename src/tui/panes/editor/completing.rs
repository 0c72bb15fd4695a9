//! Completions, hints and finding in the script.

use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::lang::service::Completion;
use crate::tui::action::{Action, Edit, Go};
use crate::tui::effect::Effect;
use crate::tui::input::Input;
use crate::tui::panes::editor::assist::Popup;
use crate::tui::state::{Layer, State};

/// Asks for completions at the cursor.
pub fn ask(state: &mut State, take_single: bool) -> Vec<Effect> {
    state.document.assist.asked += 1;
    state.document.assist.take_single = take_single;
    let (text, offset) = (state.document.editor.shared(), state.document.editor.offset());
    let (name, generation) = (state.document.source_name(), state.document.assist.asked);
    vec![Effect::Complete { text, name, offset, generation }]
}

/// Takes completions in; those for an older text are not shown.
pub fn completed(state: &mut State, generation: u64, items: Vec<Completion>) -> Vec<Effect> {
    if generation != state.document.assist.asked || !state.on(super::KIND) || !state.layers.is_empty() {
        return Vec::new();
    }
    let single = std::mem::take(&mut state.document.assist.take_single);
    let was_open = state.document.assist.popup.is_some();
    state.document.assist.popup = Popup::new(&items, &state.document.editor.text(), state.document.editor.offset());
    match &state.document.assist.popup {
        Some(popup) if single && popup.items.len() == 1 => accept(state),
        None if single && !was_open => state.tell(Severity::Info, "Nothing to complete here"),
        _ => {}
    }
    Vec::new()
}

fn accept(state: &mut State) {
    let Some(popup) = state.document.assist.popup.take() else { return };
    if let Some(item) = popup.current() {
        state.document.editor.replace(item.replace, &item.insert);
    }
}

/// Applies an intent while the popup is open; absent when it belongs to the script.
pub fn popup(state: &mut State, action: &Action) -> Option<Vec<Effect>> {
    let open = state.document.assist.popup.as_mut()?;
    let last = open.items.len().saturating_sub(1);
    match action {
        Action::Go(Go::Up) => open.selected = open.selected.checked_sub(1).unwrap_or(last),
        Action::Go(Go::Down) => open.selected = if open.selected == last { 0 } else { open.selected + 1 },
        Action::Go(Go::PageUp) => open.selected = open.selected.saturating_sub(8),
        Action::Go(Go::PageDown) => open.selected = (open.selected + 8).min(last),
        Action::Accept => accept(state),
        Action::Cancel => state.document.assist.popup = None,
        _ => return None,
    }
    Some(Vec::new())
}

/// After a change of the script: the popup follows what is typed, or opens after a dot.
pub fn typed(state: &mut State, edit: &Edit) -> Vec<Effect> {
    let open = state.document.assist.popup.is_some();
    let follow = match edit {
        Edit::Insert('.') => state.document.editor.before_cursor().ends_with("args."),
        Edit::Insert(c) => open && (c.is_alphanumeric() || matches!(c, '_' | ':' | '@' | '$' | '>')),
        Edit::Backspace => open,
        _ => false,
    };
    if follow {
        let by = match edit {
            Edit::Insert(c) => c.len_utf8() as i32,
            _ => -1,
        };
        let (text, offset) = (state.document.editor.text(), state.document.editor.offset());
        state.document.assist.popup = state.document.assist.popup.take().and_then(|p| p.shifted(by, &text, offset));
        return ask(state, false);
    }
    state.document.assist.popup = None;
    // An answer on its way is no longer wanted.
    state.document.assist.asked += 1;
    Vec::new()
}

/// True where the Tab key completes a word rather than indents.
pub fn tab_completes(state: &State) -> bool {
    let before = state.document.editor.before_cursor();
    state.document.editor.marked().is_none()
        && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '>' | '@' | '$' | ':'))
}

/// Whether the line of hints is about another place than the cursor's.
pub fn wants_hint(state: &State) -> bool {
    state.on(super::KIND)
        && state.document.assist.hinted != (state.document.editor.offset(), state.document.editor.length())
}

/// Asks what is known of the word under the cursor.
pub fn hint(state: &mut State) -> Vec<Effect> {
    if !wants_hint(state) {
        return Vec::new();
    }
    let (text, offset): (Arc<str>, u32) = (state.document.editor.shared(), state.document.editor.offset());
    state.document.assist.hinted = (offset, state.document.editor.length());
    vec![Effect::Hint { text, name: state.document.source_name(), offset }]
}

/// Takes a hint in, unless the cursor has gone on.
pub fn hinted(state: &mut State, offset: u32, hint: String) {
    if offset == state.document.editor.offset() {
        state.document.assist.hint = hint;
    }
}

/// Opens the search in the script, with what is marked in one line.
pub fn find(state: &mut State) {
    let marked = state.document.editor.marked_text().unwrap_or_default();
    state.focus_on(super::KIND);
    state.layers.push(Layer::Find(Input::new(&marked)));
}

/// Applies an intent in the search's line.
pub fn finding(state: &mut State, action: &Action) -> Vec<Effect> {
    let Some(Layer::Find(input)) = state.layers.last_mut() else { return Vec::new() };
    let step = match action {
        Action::Edit(edit) => input.edit(edit).then_some(Go::Right),
        Action::Accept | Action::Go(Go::Down) => Some(Go::Down),
        Action::Go(Go::Up) => Some(Go::Up),
        Action::Go(go) => {
            input.go(*go);
            None
        }
        _ => None,
    };
    let query = input.text().to_owned();
    if let Some(vi) = &mut state.vi {
        vi.searched(&query);
        // There is a key of its own for the next place.
        if *action == Action::Accept {
            state.layers.pop();
            return Vec::new();
        }
    }
    if let Some(step) = step
        && !query.is_empty()
        && !state.document.editor.find(&query, step)
    {
        state.tell(Severity::Info, format!("{query} is not in the script"));
    }
    Vec::new()
}
