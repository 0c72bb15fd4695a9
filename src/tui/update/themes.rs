//! Themes, seen before they are taken.

use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::tui::effect::Effect;
use crate::tui::panes::chooser::{Choice, Chooser, Taken};
use crate::tui::state::{Layer, State};

/// Lists the themes, the one in use selected.
pub fn choose(state: &mut State) -> Vec<Effect> {
    let choice = |name: &str| Choice {
        title: name.to_owned(),
        about: String::new(),
        name: name.to_owned(),
        taken: Taken::Theme,
    };
    let mut chooser = Chooser::new("Themes", state.themes.iter().map(|t| choice(&t.name)).collect());
    chooser.selected = state.themes.iter().position(|t| t.name == state.theme.name).unwrap_or(0);
    chooser.before = Some(state.theme.name.to_string());
    state.layers.push(Layer::Chooser(chooser));
    Vec::new()
}

fn show(state: &mut State, name: &str) {
    if let Some(theme) = state.themes.iter().find(|t| &*t.name == name) {
        state.theme = Arc::clone(theme);
    }
}

/// Shows the theme that is selected in the list.
pub fn preview(state: &mut State) {
    let Some(Layer::Chooser(chooser)) = state.layers.last() else { return };
    let selected = chooser.choices.get(chooser.selected).filter(|c| c.taken == Taken::Theme);
    if let Some(name) = selected.map(|c| c.name.clone()) {
        show(state, &name);
    }
}

/// Uses a theme from now on.
pub fn take(state: &mut State, name: &str) -> Vec<Effect> {
    show(state, name);
    state.tell(Severity::Info, format!("Theme: {name}"));
    Vec::new()
}

/// Nothing was chosen: the theme is the one from before.
pub fn give_back(state: &mut State, chooser: &Chooser) -> Vec<Effect> {
    if let Some(name) = &chooser.before {
        show(state, name);
    }
    Vec::new()
}
