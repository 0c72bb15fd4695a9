//! Themes, seen before they are taken.

use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::tui::desk::state::State;
use crate::tui::layers::chooser::{Choice, Chooser, Taken};

/// Lists the themes, the one in use selected.
pub fn choose(state: &mut State) {
    let choice =
        |name: &str| Choice { title: name.to_owned(), about: String::new(), taken: Taken::Theme(name.to_owned()) };
    let mut chooser = Chooser::new("Themes", state.themes.iter().map(|t| choice(&t.name)).collect());
    chooser.selected = state.themes.iter().position(|t| t.name == state.theme.name).unwrap_or(0);
    chooser.before = Some(state.theme.name.to_string());
    state.open(chooser);
}

/// Uses a theme from now on, or shows it only.
pub fn take(state: &mut State, name: &str, is_taken: bool) {
    if let Some(theme) = state.themes.iter().find(|t| &*t.name == name) {
        state.data.theme = Arc::clone(theme);
    }
    if is_taken {
        state.tell(Severity::Info, format!("Theme: {name}"));
    }
}

/// Uses the next one.
pub fn next(state: &mut State) {
    let at = state.themes.iter().position(|t| t.name == state.theme.name).map_or(0, |i| i + 1);
    let Some(next) = state.themes.get(at % state.themes.len().max(1)) else { return };
    let name = next.name.to_string();
    take(state, &name, true);
}
