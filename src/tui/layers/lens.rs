//! The struct lens: members of an argument's type, or of a struct that was captured, as a tree.

pub mod draw;
pub(crate) mod keys;
mod types;
pub(crate) mod update;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::value::Value;
use crate::probe::lens::{Composite, Plain};
use crate::tui::base::input::Input;

/// Rows that are shown at most.
const MOST_ROWS: usize = 20_000;

/// What is looked into.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Types: the members of a probe's arguments.
    Types {
        /// The arguments that have members.
        roots: Vec<Composite>,
        /// The other arguments.
        plain: Vec<Plain>,
        /// A clause of this probe is made where the cursor is in none.
        probe: Arc<str>,
        /// A path is inserted at the cursor, which stands in a clause of the probe.
        in_clause: bool,
    },
    /// A struct that was captured, and an earlier one that it is compared to.
    Values {
        /// The one that is shown.
        now: Value,
        /// The one that was marked.
        before: Option<Value>,
    },
}

/// The tree and its view.
#[derive(Clone, Debug, PartialEq)]
pub struct Lens {
    /// Title of the frame.
    pub title: String,
    /// What names are searched for.
    pub input: Input,
    /// What is looked into.
    pub source: Source,
    /// What is open, by the key of its row.
    open: BTreeSet<String>,
    /// Only members that differ.
    pub only_differences: bool,
    /// What is shown.
    pub rows: Vec<Row>,
    /// The row under the cursor.
    pub selected: usize,
}

/// A member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What tells it apart: how a script reaches it.
    pub key: String,
    /// How deep it lies.
    pub depth: usize,
    /// Whether it is open; `None` where there is nothing in it.
    pub opens: Option<bool>,
    /// Its name.
    pub name: String,
    /// Its type, or its value.
    pub what: String,
    /// Its value in the earlier struct, where that differs.
    pub before: Option<String>,
    /// Its place: bytes, or bits for a bitfield.
    pub place: String,
}

impl Lens {
    /// With the only root open.
    #[must_use]
    pub fn new(title: String, source: Source) -> Self {
        let mut lens = Self {
            title,
            input: Input::default(),
            source,
            open: BTreeSet::new(),
            only_differences: false,
            rows: Vec::new(),
            selected: 0,
        };
        if let Source::Types { roots, .. } = &lens.source
            && let [only] = roots.as_slice()
        {
            lens.open.insert(only.access().to_owned());
        }
        lens.list();
        lens
    }

    /// Whether it is compared to an earlier one.
    #[must_use]
    pub const fn compares(&self) -> bool {
        matches!(self.source, Source::Values { before: Some(_), .. })
    }

    /// Lists the rows anew; the cursor stays on its row where that is still there.
    fn list(&mut self) {
        let at = self.rows.get(self.selected).map(|row| row.key.clone());
        let filter = self.input.text().trim().to_lowercase();
        self.rows = match &self.source {
            Source::Types { roots, plain, .. } => types::rows(roots, plain, &self.open, &filter),
            Source::Values { now, before } => {
                values::rows(now, before.as_ref(), &self.open, &filter, self.only_differences)
            }
        };
        self.selected = at.and_then(|key| self.rows.iter().position(|row| row.key == key)).unwrap_or(0);
    }

    /// Opens the row under the cursor, or closes it.
    fn turn(&mut self, open: bool) {
        let Some(row) = self.rows.get(self.selected) else { return };
        match (row.opens, open) {
            (Some(false), true) => {
                self.open.insert(row.key.clone());
            }
            (Some(true), false) => {
                self.open.remove(&row.key);
            }
            // From within, to what it lies in.
            (_, false) => {
                let depth = row.depth;
                let above = self.rows.iter().take(self.selected).rposition(|r| r.depth < depth && r.opens.is_some());
                self.selected = above.unwrap_or(self.selected);
                return;
            }
            _ => return,
        }
        self.list();
    }
}

/// Whether a name has what was typed.
fn matches(name: &str, filter: &str) -> bool {
    filter.is_empty() || name.to_lowercase().contains(filter)
}
