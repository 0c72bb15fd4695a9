//! Completions, hints and finding in the script.

use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::lang::service::Completion;
use crate::tui::base::action::{Action, Edit, Go};
use crate::tui::base::input::Input;
use crate::tui::data::Data;
use crate::tui::data::assist::Popup;
use crate::tui::data::document::Document;
use crate::tui::data::effect::Effect;
use crate::tui::layers::line::FindLine;
use crate::tui::pane::Turn;

/// Asks for completions at the cursor.
pub fn ask(turn: &mut Turn<&mut Data>, take_single: bool) {
    turn.document.assist.asked += 1;
    turn.document.assist.take_single = take_single;
    let (text, offset) = (turn.document.editor.shared(), turn.document.editor.offset());
    let (name, generation) = (turn.document.source_name(), turn.document.assist.asked);
    turn.out(Effect::Complete { text, name, offset, generation });
}

/// Takes completions in; those for an older text are not shown.
pub fn completed(turn: &mut Turn<&mut Data>, generation: u64, items: &[Completion]) {
    if generation != turn.document.assist.asked {
        return;
    }
    let single = std::mem::take(&mut turn.document.assist.take_single);
    let was_open = turn.document.assist.popup.is_some();
    turn.document.assist.popup = Popup::new(items, &turn.document.editor.text(), turn.document.editor.offset());
    match &turn.document.assist.popup {
        Some(popup) if single && popup.items.len() == 1 => accept(turn),
        None if single && !was_open => turn.tell(Severity::Info, "Nothing to complete here"),
        _ => {}
    }
}

fn accept(turn: &mut Turn<&mut Data>) {
    let Some(popup) = turn.document.assist.popup.take() else { return };
    if let Some(item) = popup.current() {
        turn.document.editor.replace(item.replace, &item.insert);
    }
}

/// Applies an intent while the popup is open; false when it belongs to the script.
pub fn popup(turn: &mut Turn<&mut Data>, action: &Action) -> bool {
    let Some(open) = turn.document.assist.popup.as_mut() else { return false };
    let last = open.items.len().saturating_sub(1);
    match action {
        Action::Go(Go::Up) => open.selected = open.selected.checked_sub(1).unwrap_or(last),
        Action::Go(Go::Down) => open.selected = if open.selected == last { 0 } else { open.selected + 1 },
        Action::Go(Go::PageUp) => open.selected = open.selected.saturating_sub(8),
        Action::Go(Go::PageDown) => open.selected = (open.selected + 8).min(last),
        Action::Accept => accept(turn),
        Action::Cancel => turn.document.assist.popup = None,
        _ => return false,
    }
    true
}

/// After a change of the script: the popup follows what is typed, or opens after a dot.
pub fn typed(turn: &mut Turn<&mut Data>, edit: &Edit) {
    let open = turn.document.assist.popup.is_some();
    let follow = match edit {
        Edit::Insert('.') => turn.document.editor.before_cursor().ends_with("args."),
        Edit::Insert(c) => open && (c.is_alphanumeric() || matches!(c, '_' | ':' | '@' | '$' | '>')),
        Edit::Backspace => open,
        _ => false,
    };
    if follow {
        let by = match edit {
            Edit::Insert(c) => c.len_utf8() as i32,
            _ => -1,
        };
        let (text, offset) = (turn.document.editor.text(), turn.document.editor.offset());
        turn.document.assist.popup = turn.document.assist.popup.take().and_then(|p| p.shifted(by, &text, offset));
        return ask(turn, false);
    }
    turn.document.assist.popup = None;
    // An answer on its way is no longer wanted.
    turn.document.assist.asked += 1;
}

/// True where the Tab key completes a word rather than indents.
pub fn tab_completes(data: &Data) -> bool {
    let before = data.document.editor.before_cursor();
    data.document.editor.marked().is_none()
        && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '>' | '@' | '$' | ':'))
}

/// Whether the line of hints is about another place than the cursor's.
pub fn wants_hint(data: &Data) -> bool {
    data.document.assist.hinted != (data.document.editor.offset(), data.document.editor.length())
}

/// Asks what is known of the word under the cursor.
pub fn hint(turn: &mut Turn<&mut Data>) {
    if !wants_hint(turn) {
        return;
    }
    let (text, offset): (Arc<str>, u32) = (turn.document.editor.shared(), turn.document.editor.offset());
    turn.document.assist.hinted = (offset, turn.document.editor.length());
    let name = turn.document.source_name();
    turn.out(Effect::Hint { text, name, offset });
}

/// Takes a hint in, unless the cursor has gone on.
pub fn hinted(document: &mut Document, offset: u32, hint: String) {
    if offset == document.editor.offset() {
        document.assist.hint = hint;
    }
}

/// Opens the search in the script, with what is marked in one line.
pub fn find(turn: &mut Turn<&mut Data>) {
    let marked = turn.document.editor.marked_text().unwrap_or_default();
    turn.focus_on(super::KIND);
    turn.open(FindLine(Input::new(&marked)));
}

/// Goes to a place of a text that is searched.
pub fn find_next(turn: &mut Turn<&mut Data>, query: &str, step: Option<Go>) {
    if let Some(vi) = &mut turn.vi {
        vi.searched(query);
    }
    if let Some(step) = step
        && !query.is_empty()
        && !turn.document.editor.find(query, step)
    {
        turn.tell(Severity::Info, format!("{query} is not in the script"));
    }
}
