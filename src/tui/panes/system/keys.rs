//! The keys of the BPF programs and maps.

use super::KIND;
use crate::tui::base::action::{Action, Table};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{BACKSPACE, Binding, ENTER, Key, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "system";
    /// All programs.
    Programs = "programs",
    /// All maps.
    Maps = "maps",
    /// To where this view was opened from.
    Back = "back",
    /// Everything known of the object under the cursor.
    About = "about",
    /// Copy the row.
    Copy = "copy",
}

/// A binding of this pane.
const fn key(keys: &'static [Key], action: Action, short: &'static str, about: &'static str) -> Binding {
    bind(Scope::Pane(KIND), keys, action, short, about, false)
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    key(&[ch('1')], Intent::Programs.action(), "programs", "All BPF programs of the system, with what they cost"),
    key(&[ch('2')], Intent::Maps.action(), "maps", "All BPF maps of the system"),
    key(&[ENTER], Action::Accept, "open", "A program's instructions, a map's entries, an entry's members"),
    key(&[BACKSPACE], Intent::Back.action(), "back", "Go back to where this was opened from"),
    key(&[ch('i')], Intent::About.action(), "about", "Everything known of the program or map under the cursor"),
    key(&[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column"),
    key(&[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round"),
    key(&[ch('y')], Intent::Copy.action(), "", "Copy the row"),
];
