//! The keys of the lens, and what panes ask of it.

use crate::tui::base::action::{Action, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{
    BACK_TAB, Binding, DOWN, ENTER, ESC, LEFT, PAGE_DOWN, PAGE_UP, RIGHT, Scope, TAB, UP, bind, ctrl,
};

intents! {
    /// What the lens alone can be asked for.
    in "lens";
    /// Show only what differs, or all.
    Differences = "differences",
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(
        Scope::Lens,
        &[ENTER],
        Action::Accept,
        "take",
        "Insert the path into the script; open a captured member",
        false,
    ),
    bind(Scope::Lens, &[RIGHT], Action::Go(Go::Right), "open", "Open what is under the cursor", false),
    bind(Scope::Lens, &[LEFT], Action::Go(Go::Left), "close", "Close it, or go to what it lies in", false),
    bind(Scope::Lens, &[UP, ctrl('p')], Action::Go(Go::Up), "", "Previous member", false),
    bind(Scope::Lens, &[DOWN, ctrl('n')], Action::Go(Go::Down), "", "Next member", false),
    bind(Scope::Lens, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Lens, &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(
        Scope::Lens,
        &[TAB, BACK_TAB],
        Intent::Differences.action(),
        "differences",
        "Only what differs from the marked struct",
        false,
    ),
    bind(Scope::Lens, &[ESC, ctrl('c')], Action::Cancel, "back", "Close", false),
];
