//! Intents in the script.

use super::keys::Intent;
use super::{completing, history, vi};
use crate::lang::diagnostic::Severity;
use crate::tui::action::{Action, Edit, Pick, Picked};
use crate::tui::effect::Effect;
use crate::tui::panes::browser::update as browser;
use crate::tui::panes::lens;
use crate::tui::panes::rows::page;
use crate::tui::state::State;
use ratatui::layout::Rect;

/// Applies an intent in the script.
pub fn act(state: &mut State, action: &Action, area: Rect) -> Vec<Effect> {
    match action {
        Action::Edit(Edit::Insert('/'))
            if state.document.editor.at_clause_start() && state.document.editor.marked().is_none() =>
        {
            browser::open(state, true)
        }
        Action::Edit(Edit::Tab) if completing::tab_completes(state) => completing::ask(state, true),
        Action::Edit(edit) => {
            state.document.editor.edit(edit);
            match edit {
                Edit::Copy | Edit::Cut => vec![Effect::Copy(state.document.editor.copied())],
                _ => completing::typed(state, edit),
            }
        }
        Action::Go(go) => {
            state.document.assist.popup = None;
            let page = page(area);
            state.document.editor.go(*go, false, page);
            Vec::new()
        }
        Action::Extend(go) => {
            let page = page(area);
            state.document.editor.go(*go, true, page);
            Vec::new()
        }
        Action::Vi(key) => vi::press(state, *key, area),
        Action::Pick(Pick::Text { line, column }, how) => {
            state.document.assist.popup = None;
            state.document.editor.go_to((*line, *column), *how == Picked::Dragged);
            Vec::new()
        }
        _ => Intent::of(action).map_or_else(Vec::new, |intent| own(state, intent)),
    }
}

fn own(state: &mut State, intent: Intent) -> Vec<Effect> {
    match intent {
        Intent::ViKeys => {
            vi::turn(state);
            let how = if state.vi.is_some() { "The script is edited by vi's keys" } else { "Letters are text again" };
            state.tell(Severity::Info, how);
            Vec::new()
        }
        Intent::History => {
            history::open(state);
            Vec::new()
        }
        Intent::Lens => lens::update::of_script(state),
    }
}
