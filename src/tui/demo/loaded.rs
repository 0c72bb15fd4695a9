//! BPF programs and maps: two readings of a machine that ran a few scripts.

use std::sync::Arc;

use super::super::panes::system;
use super::super::panes::system::keys;
use super::{after, sized, start};
use crate::model::bpf::Inventory;
use crate::tui::base::action::{Action, App};
use crate::tui::data::effect::Message;
use crate::tui::data::inspect::Inspected;
use crate::tui::desk::state::State;
use crate::tui::desk::update;

/// `probescope programs --json` and `probescope maps --json`, a second apart.
const READINGS: &str = include_str!("loaded.json");

/// All programs.
pub fn programs() -> State {
    let mut state = after(sized(start(), (138, 24)), &[Action::App(App::Focus(system::KIND)), Action::App(App::Zoom)]);
    let readings: Vec<Inventory> = serde_json::from_str(READINGS).unwrap_or_default();
    for reading in readings {
        update::receive(&mut state, Message::Inspected(Inspected::Inventory(Ok(Arc::new(reading)))));
    }
    state
}

/// All maps.
pub fn maps() -> State {
    after(programs(), &[keys::Intent::Maps.action()])
}
