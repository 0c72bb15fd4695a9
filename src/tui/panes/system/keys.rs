//! The keys of the BPF programs and maps.

use super::KIND;
use crate::tui::action::{Action, Table};
use crate::tui::keys::build::{BACKSPACE, ENTER, bind, ch};
use crate::tui::keys::{Binding, Key, Scope};

/// All programs.
pub const PROGRAMS: Action = Action::Named("programs");
/// All maps.
pub const MAPS: Action = Action::Named("maps");
/// To where this view was opened from.
pub const BACK: Action = Action::Named("back");
/// Everything known of the object under the cursor.
pub const ABOUT: Action = Action::Named("about");
/// Copy the row.
pub const COPY: Action = Action::Named("copy");

/// A binding of this pane.
const fn key(keys: &'static [Key], action: Action, short: &'static str, about: &'static str) -> Binding {
    bind(Scope::Pane(KIND), keys, action, short, about, false)
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    key(&[ch('1')], PROGRAMS, "programs", "All BPF programs of the system, with what they cost"),
    key(&[ch('2')], MAPS, "maps", "All BPF maps of the system"),
    key(&[ENTER], Action::Accept, "open", "A program's instructions, a map's entries, an entry's members"),
    key(&[BACKSPACE], BACK, "back", "Go back to where this was opened from"),
    key(&[ch('i')], ABOUT, "about", "Everything known of the program or map under the cursor"),
    key(&[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column"),
    key(&[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round"),
    key(&[ch('y')], COPY, "", "Copy the row"),
];
