//! Everything that is shown: plain data, sendable, the same on every run.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::layout;
use super::workspace::Workspace;
use crate::session::update::ScriptId;
use crate::tui::base::arrange::Border;
use crate::tui::base::kind::{self, Kind};
use crate::tui::base::theme::Theme;
use crate::tui::base::tree::{Node, PaneId};
use crate::tui::data::Data;
pub use crate::tui::data::document::{Document, File};
use crate::tui::pane::{Ask, Layer, News, Pane, Turn};
use crate::tui::panes::editor::EditorPane;
use ratatui::layout::Position;

/// What the mouse holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grab {
    /// What lies between two panes: how the layout was before, and which of its two cells was taken.
    Border(Border, Node, u16),
    /// A pane by its title: where it was taken, and whether it had the keys before.
    Title {
        /// Which.
        pane: PaneId,
        /// Where.
        from: Position,
        /// Whether it had the keys.
        had_keys: bool,
    },
}

/// All of it: what panes read, the panes themselves, and what is open in front of them.
#[derive(Debug)]
pub struct State {
    /// What panes and layers read.
    pub data: Data,
    /// The open panes.
    pub panes: Workspace,
    /// In front of the panes.
    pub layers: Vec<Box<dyn Layer>>,
    /// What the mouse holds.
    pub grab: Option<Grab>,
    /// Name under which the layout was saved or restored last.
    pub layout_name: Option<String>,
    /// What is asked for and not carried out yet.
    pub asks: Vec<Ask>,
}

impl Deref for State {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Data {
        &mut self.data
    }
}

impl State {
    /// A workbench on this script, nothing running.
    #[must_use]
    pub fn new(text: &str, file: File, themes: Vec<Arc<Theme>>, size: (u16, u16)) -> Self {
        let data = Data::new(text, file, themes, size);
        let panes = Workspace::new(Box::new(EditorPane { script: data.document.id }));
        let mut state = Self { data, panes, layers: Vec::new(), grab: None, layout_name: None, asks: Vec::new() };
        layout::set_default(&mut state);
        state
    }

    /// Opens a layer in front of all.
    pub fn open(&mut self, layer: impl Layer) {
        self.layers.push(Box::new(layer));
    }

    /// The first layer, if it is of a type.
    #[must_use]
    pub fn layer<T: Layer>(&self) -> Option<&T> {
        let layer: &dyn std::any::Any = &**self.layers.last()?;
        layer.downcast_ref()
    }

    /// Lets something read all, change what panes read, and ask for the rest.
    pub fn turn<T>(&mut self, work: impl FnOnce(&mut Turn<&mut Data>) -> T) -> T {
        let mut turn = Turn::new(&mut self.data);
        let done = work(&mut turn);
        self.asks.extend(turn.asks());
        done
    }

    /// Tells every pane what has changed in the history.
    pub fn hear(&mut self, news: News) {
        for id in self.panes.ids() {
            if let Some(pane) = self.panes.get_mut(id) {
                pane.hear(news, &self.data);
            }
        }
    }

    /// Does something with another open script in place of the one that is worked on.
    pub fn with<T>(&mut self, script: ScriptId, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let before = self.document.id;
        if !self.bring(script) {
            return None;
        }
        let done = work(self);
        self.bring(before);
        Some(done)
    }

    /// The pane whose filter is typed: the one that has the keys, else the events.
    #[must_use]
    pub fn filtered(&self) -> Option<PaneId> {
        let focus = self.panes.focus();
        let takes = self.panes.get(focus).is_none_or(Pane::takes_filter);
        if takes { Some(focus) } else { self.panes.of_kind(kind::EVENTS) }
    }

    /// Whether a pane of a kind has the keys.
    #[must_use]
    pub fn on(&self, kind: Kind) -> bool {
        self.panes.kind(self.panes.focus()) == Some(kind)
    }

    /// Puts the keys on the pane of a kind that had them last; opens one where there is none.
    pub fn focus_on(&mut self, kind: Kind) {
        let pane = self.panes.of_kind(kind).or_else(|| {
            let new = layout::open(self, kind)?;
            self.panes.tree.add_tab(self.panes.focus(), new);
            Some(new)
        });
        if let Some(pane) = pane {
            self.panes.focus_on(pane);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn state_can_be_sent() {
        fn sendable<T: Send>() {}
        sendable::<super::State>();
    }
}
