//! Pictures of flame graphs.

use super::super::panes::flame;
use super::super::panes::flame::keys;
use super::super::panes::heat;
use super::after;
use crate::tui::base::action::{Action, App, Go};
use crate::tui::base::theme::Theme;
use crate::tui::data::effect::Message;
use crate::tui::desk::state::State;
use crate::tui::desk::update;

/// Stacks as a flame graph, a frame chosen.
pub fn flame(state: State) -> State {
    let state = after(state, &[Action::App(App::Focus(flame::KIND)), Action::App(App::Zoom)]);
    after(state, &[Action::Go(Go::Down), Action::Go(Go::Right), Action::Go(Go::Down), Action::Go(Go::Down)])
}

/// The same from below, by what was searched, for bright rooms.
pub fn searched(state: State) -> State {
    let mut state =
        after(state, &[Action::App(App::Focus(flame::KIND)), Action::App(App::Zoom), keys::Intent::Turn.action()]);
    if let Some(light) = Theme::embedded().into_iter().find(|t| &*t.name == "light") {
        state.theme = light;
    }
    after(state, &[Action::Filter("read|wait".to_owned()), keys::Intent::Merge.action()])
}

/// A map over time.
pub fn heat(state: State, map: &str) -> State {
    let mut state = after(state, &[Action::App(App::Focus(heat::KIND)), Action::App(App::Zoom)]);
    for _ in 0..state.document.maps.views.len() {
        let shown = state.panes.view::<heat::HeatPane>().and_then(|pane| pane.feed.map.clone());
        if shown.as_deref() == Some(map) {
            break;
        }
        state = after(state, &[heat::keys::Intent::Map.action()]);
    }
    while update::is_busy(&state) {
        update::receive(&mut state, Message::GoOn);
    }
    after(state, &[Action::Go(Go::Left), Action::Go(Go::Down)])
}

/// Its keys as lines.
pub fn lines(state: State) -> State {
    after(heat(state, "@opens"), &[heat::keys::Intent::Lines.action()])
}
