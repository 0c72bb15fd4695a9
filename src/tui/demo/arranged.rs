//! Pictures of panes that the user has arranged.

use super::super::panes::{events, probes};
use super::{STACKS, after};
use crate::tui::base::action::{Action, App, Go, Side, Window};
use crate::tui::base::tree::Axis;
use crate::tui::data::document::File;
use crate::tui::data::effect::Message;
use crate::tui::data::files::Opened;
use crate::tui::desk::state::State;
use crate::tui::desk::update;

fn window(window: Window) -> Action {
    Action::App(App::Window(window))
}

/// Maps beside the events, the probes as a tab of the script.
pub fn split(state: State) -> State {
    let state = after(state, &[Action::App(App::Focus(events::KIND)), window(Window::Split(Axis::Across))]);
    let state = after(state, &[Action::Go(Go::Down), Action::Accept, window(Window::Resize(Side::Right))]);
    after(state, &[Action::App(App::Focus(probes::KIND)), window(Window::Join)])
}

/// The keys while the next one is awaited.
pub fn keys(state: State) -> State {
    after(state, &[window(Window::Keys)])
}

/// A second script in a tab of its own.
pub fn scripts(mut state: State) -> State {
    let file = File { path: Some("stacks.bt".into()), saved: STACKS.into(), ..File::default() };
    let opened = Opened { text: STACKS.to_owned(), file, kept: None };
    update::receive(&mut state, Message::Opened(Ok(opened)));
    state.toast = None;
    state
}
