//! The keys of the X-ray.

use super::KIND;
use crate::tui::base::action::{Action, Table};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "xray";
    /// Copy the function's name.
    CopyFunction = "copy function",
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(Scope::Pane(KIND), &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", false),
    bind(Scope::Pane(KIND), &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", false),
    bind(Scope::Pane(KIND), &[ch('y')], Intent::CopyFunction.action(), "", "Copy the function's name", false),
];
