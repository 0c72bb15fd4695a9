//! Pictures of flame graphs.

use super::super::action::{Action, App, Go};
use super::super::panes::flame::{self, keys};
use super::super::state::State;
use super::super::theme::Theme;
use super::after;

/// Stacks as a flame graph, a frame chosen.
pub fn flame(state: State) -> State {
    let state = after(state, &[Action::App(App::Focus(flame::KIND)), Action::App(App::Zoom)]);
    after(state, &[Action::Go(Go::Down), Action::Go(Go::Right), Action::Go(Go::Down), Action::Go(Go::Down)])
}

/// The same from below, by what was searched, for bright rooms.
pub fn searched(state: State) -> State {
    let mut state = after(state, &[Action::App(App::Focus(flame::KIND)), Action::App(App::Zoom), keys::TURN]);
    if let Some(light) = Theme::embedded().into_iter().find(|t| &*t.name == "light") {
        state.theme = light;
    }
    after(state, &[Action::Filter("read|wait".to_owned()), keys::MERGE])
}
