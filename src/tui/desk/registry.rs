//! Every kind of pane. Nothing else knows which kinds there are.

use crate::tui::pane::Registered;
use crate::tui::panes::{command, editor, events, flame, heat, latency, log, maps, probes, system, xray};

/// Every kind of pane, in the order of the default layout.
pub static KINDS: &[Registered] = &[
    editor::PANE,
    events::PANE,
    maps::PANE,
    probes::PANE,
    flame::PANE,
    heat::PANE,
    latency::PANE,
    system::PANE,
    xray::PANE,
    command::PANE,
    log::PANE,
];

/// A kind of pane by its name.
#[must_use]
pub fn registered(name: &str) -> Option<&'static Registered> {
    KINDS.iter().find(|k| k.kind.0 == name)
}
