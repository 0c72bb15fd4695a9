//! The keys of maps over time.

use super::KIND;
use crate::tui::action::{Action, Go};
use crate::tui::keys::build::{ENTER, LEFT, RIGHT, bind, ch};
use crate::tui::keys::{Binding, Key, Scope};

/// Show less time.
pub const NEARER: Action = Action::Named("nearer");
/// Show more time.
pub const FARTHER: Action = Action::Named("farther");
/// The next map.
pub const MAP: Action = Action::Named("map");
/// Histograms of the next key.
pub const NEXT: Action = Action::Named("next");
/// Histograms of the key before.
pub const PREVIOUS: Action = Action::Named("previous");
/// Keep the distribution to compare with.
pub const BASELINE: Action = Action::Named("baseline");
/// Lines or heat.
pub const LINES: Action = Action::Named("lines");

/// A binding of this pane.
const fn key(keys: &'static [Key], action: Action, short: &'static str, about: &'static str) -> Binding {
    bind(Scope::Pane(KIND), keys, action, short, about, true)
}

/// A movement.
const fn go(keys: &'static [Key], go: Go, about: &'static str) -> Binding {
    bind(Scope::Pane(KIND), keys, Action::Go(go), "", about, false)
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(
        Scope::Pane(KIND),
        &[ENTER],
        Action::Accept,
        "events",
        "Hold all views at this time, and show its events",
        false,
    ),
    key(&[ch('b')], BASELINE, "compare", "Keep this time's distribution to lay it over others, or forget it"),
    key(&[ch('n')], NEXT, "key", "Histograms: only those of the next key; all after the last"),
    key(&[ch('N')], PREVIOUS, "", "Histograms: only those of the key before"),
    key(&[ch(']')], MAP, "map", "The next map"),
    key(&[ch('v')], LINES, "lines", "Keys as lines, or as rows of heat"),
    key(&[ch('+')], NEARER, "nearer", "Show half of the time"),
    key(&[ch('-')], FARTHER, "", "Show twice the time"),
    go(&[LEFT, ch('h')], Go::Left, "A column back in time"),
    go(&[RIGHT], Go::Right, "A column on; the newest one moves on with the trace"),
];
