//! The keys of the probes.

use super::KIND;
use crate::tui::base::action::{Action, Table};
use crate::tui::base::key::{Binding, Scope, bind, ch};

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(Scope::Pane(KIND), &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", false),
    bind(Scope::Pane(KIND), &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", false),
];
