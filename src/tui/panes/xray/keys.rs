//! The keys of the X-ray.

use super::KIND;
use crate::tui::action::{Action, Table};
use crate::tui::keys::build::{bind, ch};
use crate::tui::keys::{Binding, Scope};

/// X-ray what is searched for in the browser.
pub const OPEN: Action = Action::Named("x-ray");
/// Copy the function's name.
pub const COPY: Action = Action::Named("copy function");

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(Scope::Pane(KIND), &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", false),
    bind(Scope::Pane(KIND), &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", false),
    bind(Scope::Pane(KIND), &[ch('y')], COPY, "", "Copy the function's name", false),
];
