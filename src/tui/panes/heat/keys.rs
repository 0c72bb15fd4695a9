//! The keys of maps over time.

use super::KIND;
use crate::tui::base::action::{Action, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, ENTER, Key, LEFT, RIGHT, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "heat";
    /// Show less time.
    Nearer = "nearer",
    /// Show more time.
    Farther = "farther",
    /// The next map.
    Map = "map",
    /// Histograms of the next key.
    Next = "next",
    /// Histograms of the key before.
    Previous = "previous",
    /// Keep the distribution to compare with.
    Baseline = "baseline",
    /// Lines or heat.
    Lines = "lines",
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
    bind(
        Scope::Pane(KIND),
        &[ENTER],
        Action::Accept,
        "events",
        "Hold all views at this time, and show its events",
        false,
    ),
    key(
        &[ch('b')],
        Intent::Baseline.action(),
        "compare",
        "Keep this time's distribution to lay it over others, or forget it",
    ),
    key(&[ch('n')], Intent::Next.action(), "key", "Histograms: only those of the next key; all after the last"),
    key(&[ch('N')], Intent::Previous.action(), "", "Histograms: only those of the key before"),
    key(&[ch(']')], Intent::Map.action(), "map", "The next map"),
    key(&[ch('v')], Intent::Lines.action(), "lines", "Keys as lines, or as rows of heat"),
    key(&[ch('+')], Intent::Nearer.action(), "nearer", "Show half of the time"),
    key(&[ch('-')], Intent::Farther.action(), "", "Show twice the time"),
    go(&[LEFT, ch('h')], Go::Left, "A column back in time"),
    go(&[RIGHT], Go::Right, "A column on; the newest one moves on with the trace"),
];
