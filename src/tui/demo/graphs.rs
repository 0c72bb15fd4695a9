//! Pictures of flame graphs.

use super::super::action::{Action, App, Go};
use super::super::effect::Message;
use super::super::panes::flame::{self, keys};
use super::super::panes::heat;
use super::super::state::State;
use super::super::theme::Theme;
use super::super::update;
use super::after;

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
