//! BPF programs and maps: two readings of a machine that ran a few scripts.

use std::sync::Arc;

use super::super::action::{Action, App};
use super::super::effect::Message;
use super::super::inspector::Inspected;
use super::super::panes::system::{self, keys};
use super::super::state::State;
use super::super::update;
use super::{after, sized, start};
use crate::model::bpf::Inventory;

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
