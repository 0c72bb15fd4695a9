//! Intents and answers given to panes and layers; what they ask for is kept until they have acted.

use crate::tui::base::action::{Action, App};
use crate::tui::base::tree::PaneId;
use crate::tui::data::effect::Message;
use crate::tui::desk::layout;
use crate::tui::desk::state::State;
use crate::tui::pane::Turn;

/// Applies an intent in a pane; one that is not shown acts as if it filled the body.
pub fn in_pane(state: &mut State, id: PaneId, action: &Action) {
    let layout = layout::of(state);
    let area = layout.panes.area(id).unwrap_or(layout.body);
    let Some(pane) = state.panes.get_mut(id) else { return };
    let mut turn = Turn::new(&state.data);
    pane.act(action, &mut turn, area);
    state.asks.extend(turn.asks());
}

/// Applies an intent in the layer that has the keys.
pub fn in_layer(state: &mut State, action: &Action) {
    let body = layout::of(state).body;
    let mut turn = Turn::new(&state.data);
    if *action == Action::Cancel {
        if let Some(mut layer) = state.layers.pop() {
            layer.cancel(&mut turn);
        }
    } else if let Some(layer) = state.layers.last_mut() {
        layer.act(action, &mut turn, body);
    }
    state.asks.extend(turn.asks());
}

/// Gives an intent for the whole program to the layer that has the keys; true when it means something there.
pub fn to_layer(state: &mut State, app: App) -> bool {
    let mut turn = Turn::new(&state.data);
    let is_taken = state.layers.last_mut().is_some_and(|layer| layer.app(app, &mut turn));
    state.asks.extend(turn.asks());
    is_taken
}

/// Lets layers and panes hear an answer from outside.
pub fn answer(state: &mut State, message: &Message) {
    let mut turn = Turn::new(&state.data);
    let layers = state.layers.len();
    for (at, layer) in state.layers.iter_mut().enumerate() {
        layer.answered(message, &mut turn, at + 1 == layers);
    }
    for id in state.panes.ids() {
        if let Some(pane) = state.panes.get_mut(id) {
            pane.answered(message, &mut turn);
        }
    }
    state.asks.extend(turn.asks());
}
