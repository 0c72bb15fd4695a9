//! The keys of the maps.

use super::KIND;
use crate::tui::base::action::{Action, Events, Table};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, ENTER, LEFT, RIGHT, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "maps";
    /// Hide the selected map.
    Hide = "hide",
    /// Show every map.
    ShowAll = "show-all",
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(Scope::Pane(KIND), &[RIGHT, ch(']')], Action::Table(Table::NextMap), "map", "Next map", false),
    bind(Scope::Pane(KIND), &[LEFT, ch('[')], Action::Table(Table::PreviousMap), "", "Previous map", false),
    bind(Scope::Pane(KIND), &[ENTER], Action::Accept, "open", "Open a row: its stack or histogram in full", false),
    bind(Scope::Pane(KIND), &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", true),
    bind(Scope::Pane(KIND), &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", true),
    bind(Scope::Pane(KIND), &[ch('c')], Action::Table(Table::Clear), "", "Empty the selected map in the kernel", true),
    bind(
        Scope::Pane(KIND),
        &[ch('f')],
        Action::Events(Events::Filter),
        "filter",
        "Show only keys that contain all of these words",
        true,
    ),
    bind(Scope::Pane(KIND), &[ch('h')], Intent::Hide.action(), "", "Hide the selected map", true),
    bind(
        Scope::Pane(KIND),
        &[ch('H')],
        Intent::ShowAll.action(),
        "",
        "Show every map; again: hide those that the script clears at its end",
        true,
    ),
    bind(Scope::Pane(KIND), &[ch('y')], Action::Table(Table::Copy), "", "Copy the selected map as text", true),
];
