//! The probe browser: what was typed, what was found, what is known of the selected probe.

use std::sync::Arc;

use crate::tui::base::input::Input;
use crate::tui::data::effect::{Detail, Effect, Found, Hit};

/// State of the browser.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Browser {
    /// What is typed.
    pub input: Input,
    /// Latest results.
    pub found: Found,
    /// Selected result.
    pub selected: usize,
    /// What is known of the selected one; stale until it arrives.
    pub detail: Option<Detail>,
    /// Number of the search that is awaited.
    pub awaited: u64,
    /// The user has moved the selection: it stays on its probe while more results come.
    pub chosen: bool,
    /// First line of the details shown.
    pub detail_top: usize,
    /// A clause is inserted as soon as the selected probe is described.
    pub accept_next: bool,
    /// Probes that are taken together, in the order in which they were chosen.
    pub marked: Vec<Detail>,
    /// Opened by a `/` in the script: a second one, or `*`, starts a comment after all.
    pub by_slash: bool,
    /// An X-ray was asked for, and probes that are no functions are left out of it.
    pub not_xrayed: bool,
}

impl Browser {
    /// The selected result.
    #[must_use]
    pub fn hit(&self) -> Option<&Hit> {
        self.found.hits.get(self.selected)
    }

    /// What is known of the selected result, if it is about it.
    #[must_use]
    pub fn detail(&self) -> Option<&Detail> {
        let name = &self.hit()?.name;
        self.detail.as_ref().filter(|d| d.name == *name)
    }

    /// Whether the results are those of an older query.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        self.found.generation < self.awaited
    }

    /// Takes results in, unless a newer search runs; asks for details of the selected one.
    pub fn take(&mut self, found: Found) -> Vec<Effect> {
        if found.generation < self.awaited {
            return Vec::new();
        }
        self.chosen &= found.generation == self.found.generation;
        let keep = self.hit().map(|h| Arc::clone(&h.name)).filter(|_| self.chosen);
        self.found = found;
        self.selected = keep.and_then(|name| self.found.hits.iter().position(|h| h.name == name)).unwrap_or(0);
        self.describe()
    }

    /// Asks for the details of the selected probe.
    pub fn describe(&mut self) -> Vec<Effect> {
        self.detail_top = 0;
        match self.hit() {
            Some(hit) if self.detail().is_none() => vec![Effect::Describe(Arc::clone(&hit.name))],
            _ => Vec::new(),
        }
    }

    /// Moves the selection.
    pub fn go(&mut self, by: isize) -> Vec<Effect> {
        let last = self.found.hits.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.chosen = true;
        self.describe()
    }
}
