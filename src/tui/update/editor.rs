//! Intents in the script.

use super::super::action::{Action, Edit};
use super::super::effect::Effect;
use super::super::state::{Pane, State};
use super::{assist, browser, page};

/// Applies an intent in the script.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    match action {
        Action::Edit(Edit::Insert('/')) if state.editor.at_clause_start() && state.editor.marked().is_none() => {
            browser::open(state, true)
        }
        Action::Edit(Edit::Tab) if assist::tab_completes(state) => assist::ask(state, true),
        Action::Edit(edit) => {
            state.editor.edit(edit);
            match edit {
                Edit::Copy | Edit::Cut => vec![Effect::Copy(state.editor.copied())],
                _ => assist::typed(state, edit),
            }
        }
        Action::Go(go) => {
            state.assist.popup = None;
            let page = page(state, Pane::Editor);
            state.editor.go(*go, false, page);
            Vec::new()
        }
        Action::Extend(go) => {
            let page = page(state, Pane::Editor);
            state.editor.go(*go, true, page);
            Vec::new()
        }
        _ => Vec::new(),
    }
}
