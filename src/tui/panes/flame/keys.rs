//! The keys of the flame graph.

use super::KIND;
use crate::tui::base::action::{Action, Events, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{BACKSPACE, Binding, ENTER, Key, LEFT, RIGHT, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "flame";
    /// Go out of the zoomed frame.
    Out = "out",
    /// The next frame that was looked for.
    Next = "next",
    /// The one before.
    Previous = "previous",
    /// Root above or below.
    Turn = "turn",
    /// Callers instead of what is called.
    Invert = "invert",
    /// Leave out frames of this name.
    Hide = "hide",
    /// Only stacks with this frame.
    Only = "only",
    /// All stacks and frames again.
    All = "all",
    /// Leave out the parts of the key.
    Merge = "merge",
    /// Keep a baseline.
    Baseline = "baseline",
    /// Order of what is called.
    Order = "order",
    /// The next map.
    Map = "map",
    /// Copy the chosen path.
    Copy = "copy",
    /// Copy all as folded stacks.
    Folded = "folded",
}

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
    key(&[BACKSPACE, ch('u')], Intent::Out.action(), "out", "Out of the frame that fills the width"),
    key(
        &[ch('f')],
        Action::Events(Events::Filter),
        "search",
        "Search the frames by a regular expression; tells the share of stacks with one",
    ),
    key(&[ch('n')], Intent::Next.action(), "", "Go to the next frame that was searched"),
    key(&[ch('N')], Intent::Previous.action(), "", "Go to the frame before that was searched"),
    key(
        &[ch('i')],
        Intent::Invert.action(),
        "callers",
        "Turn the stacks over: from the innermost frame to its callers",
    ),
    key(
        &[ch('b')],
        Intent::Baseline.action(),
        "baseline",
        "Keep what is shown to compare with: what comes since, and what grew; or forget it",
    ),
    key(
        &[ch('h')],
        Intent::Hide.action(),
        "hide",
        "Leave out frames of this name; what they call goes to their callers",
    ),
    key(&[ch('o')], Intent::Only.action(), "only", "Only stacks with a frame of this name"),
    key(&[ch('a')], Intent::All.action(), "", "All stacks and frames again"),
    key(
        &[ch('c')],
        Intent::Merge.action(),
        "",
        "Leave out the key's other parts (command, process), or show them as the first frames",
    ),
    key(&[ch('v')], Intent::Turn.action(), "", "The root at the top (icicle) or at the bottom (flame)"),
    key(&[ch('s')], Intent::Order.action(), "", "Frames by their value or by their name"),
    key(&[ch(']')], Intent::Map.action(), "", "The next map with stacks"),
    key(&[ch('y')], Intent::Copy.action(), "", "Copy the calls down to the chosen frame"),
    key(&[ch('Y')], Intent::Folded.action(), "", "Copy all as folded stacks, as flamegraph.pl reads them"),
    go(&[LEFT], Go::Left, "The frame at the left"),
    go(&[RIGHT], Go::Right, "The frame at the right"),
];
