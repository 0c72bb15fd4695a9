//! The keys of the flame graph.

use super::KIND;
use crate::tui::action::{Action, Events, Go};
use crate::tui::keys::build::{BACKSPACE, ENTER, LEFT, RIGHT, bind, ch};
use crate::tui::keys::{Binding, Key, Scope};

/// Go out of the zoomed frame.
pub const OUT: Action = Action::Named("out");
/// The next frame that was looked for.
pub const NEXT: Action = Action::Named("next");
/// The one before.
pub const PREVIOUS: Action = Action::Named("previous");
/// Root above or below.
pub const TURN: Action = Action::Named("turn");
/// Callers instead of what is called.
pub const INVERT: Action = Action::Named("invert");
/// Leave out frames of this name.
pub const HIDE: Action = Action::Named("hide");
/// Only stacks with this frame.
pub const ONLY: Action = Action::Named("only");
/// All stacks and frames again.
pub const ALL: Action = Action::Named("all");
/// Leave out the parts of the key.
pub const MERGE: Action = Action::Named("merge");
/// Keep a baseline.
pub const BASELINE: Action = Action::Named("baseline");
/// Order of what is called.
pub const ORDER: Action = Action::Named("order");
/// The next map.
pub const MAP: Action = Action::Named("map");
/// Copy the chosen path.
pub const COPY: Action = Action::Named("copy");
/// Copy all as folded stacks.
pub const FOLDED: Action = Action::Named("folded");

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
    bind(Scope::Pane(KIND), &[ENTER], Action::Accept, "zoom in", "The chosen frame fills the width", false),
    key(&[BACKSPACE, ch('u')], OUT, "out", "Out of the frame that fills the width"),
    key(
        &[ch('f')],
        Action::Events(Events::Filter),
        "search",
        "Search the frames by a regular expression; tells the share of stacks with one",
    ),
    key(&[ch('n')], NEXT, "", "Go to the next frame that was searched"),
    key(&[ch('N')], PREVIOUS, "", "Go to the frame before that was searched"),
    key(&[ch('i')], INVERT, "callers", "Turn the stacks over: from the innermost frame to its callers"),
    key(
        &[ch('b')],
        BASELINE,
        "baseline",
        "Keep what is shown to compare with: what comes since, and what grew; or forget it",
    ),
    key(&[ch('h')], HIDE, "hide", "Leave out frames of this name; what they call goes to their callers"),
    key(&[ch('o')], ONLY, "only", "Only stacks with a frame of this name"),
    key(&[ch('a')], ALL, "", "All stacks and frames again"),
    key(&[ch('c')], MERGE, "", "Leave out the key's other parts (command, process), or show them as the first frames"),
    key(&[ch('v')], TURN, "", "The root at the top (icicle) or at the bottom (flame)"),
    key(&[ch('s')], ORDER, "", "Frames by their value or by their name"),
    key(&[ch(']')], MAP, "", "The next map with stacks"),
    key(&[ch('y')], COPY, "", "Copy the calls down to the chosen frame"),
    key(&[ch('Y')], FOLDED, "", "Copy all as folded stacks, as flamegraph.pl reads them"),
    go(&[LEFT], Go::Left, "The frame at the left"),
    go(&[RIGHT], Go::Right, "The frame at the right"),
];
