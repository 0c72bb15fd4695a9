//! The open panes: where they hang, which one has the keys, which one fills the screen.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use crate::tui::base::kind::Kind;
use crate::tui::base::tree::{Node, PaneId};
use crate::tui::pane::Pane;

/// Panes that had the keys and are remembered.
const MOST_RECENT: usize = 64;

/// The open panes.
#[derive(Debug)]
pub struct Workspace {
    /// How they lie.
    pub tree: Node,
    open: BTreeMap<PaneId, Box<dyn Pane>>,
    focus: PaneId,
    /// The panes that had the keys, the latest last.
    recent: Vec<PaneId>,
    zoom: Option<PaneId>,
    /// The panes that have ever had the keys; others are only remembered because they have something to show.
    had_keys: BTreeSet<PaneId>,
    /// The tree before its last change.
    before: Option<Node>,
    next: u32,
}

impl Workspace {
    /// Nothing but one pane.
    #[must_use]
    pub fn new(first: Box<dyn Pane>) -> Self {
        let focus = PaneId(0);
        let open = BTreeMap::from([(focus, first)]);
        let had_keys = BTreeSet::from([focus]);
        Self { tree: Node::leaf(focus), open, focus, recent: vec![focus], zoom: None, had_keys, before: None, next: 1 }
    }

    /// Takes a pane in; it hangs nowhere yet.
    pub fn add(&mut self, pane: Box<dyn Pane>) -> PaneId {
        let id = PaneId(self.next);
        self.next += 1;
        self.open.insert(id, pane);
        id
    }

    /// A pane; absent once it is closed.
    #[must_use]
    pub fn get(&self, id: PaneId) -> Option<&dyn Pane> {
        self.open.get(&id).map(|pane| &**pane)
    }

    /// A pane, to change.
    pub fn get_mut(&mut self, id: PaneId) -> Option<&mut (dyn Pane + 'static)> {
        self.open.get_mut(&id).map(|pane| &mut **pane)
    }

    /// The pane with the keys.
    #[must_use]
    pub const fn focus(&self) -> PaneId {
        self.focus
    }

    /// The kind of a pane.
    #[must_use]
    pub fn kind(&self, id: PaneId) -> Option<Kind> {
        self.open.get(&id).map(|pane| pane.kind())
    }

    /// Panes that have had the keys, the latest first.
    pub fn recent(&self) -> impl Iterator<Item = PaneId> {
        self.recent.iter().rev().copied()
    }

    /// Whether a pane has ever had the keys.
    #[must_use]
    pub fn has_had_keys(&self, id: PaneId) -> bool {
        self.had_keys.contains(&id)
    }

    /// The pane of a kind that had the keys last, else the first one.
    #[must_use]
    pub fn of_kind(&self, kind: Kind) -> Option<PaneId> {
        let is = |id: &PaneId| self.kind(*id) == Some(kind);
        self.recent().find(is).or_else(|| self.tree.panes().into_iter().find(is))
    }

    /// Gives the keys to a pane.
    pub fn focus_on(&mut self, id: PaneId) {
        if self.open.contains_key(&id) {
            self.focus = id;
            self.had_keys.insert(id);
            self.remember(id);
        }
    }

    /// A pane comes to the front among those in its frame, without taking the keys.
    pub fn remember(&mut self, id: PaneId) {
        self.recent.retain(|r| *r != id);
        self.recent.push(id);
        if self.recent.len() > MOST_RECENT {
            self.recent.remove(0);
        }
        let focus = self.focus;
        if id != focus {
            self.recent.retain(|r| *r != focus);
            self.recent.push(focus);
        }
    }

    /// Of these panes the one to show: the one with the keys, or that had them last, or the first.
    #[must_use]
    pub fn foremost(&self, panes: &[PaneId]) -> PaneId {
        let known = self.recent().find(|r| panes.contains(r));
        known.or_else(|| panes.first().copied()).unwrap_or(self.focus)
    }

    /// Whether the pane with the keys fills the screen.
    #[must_use]
    pub fn is_zoomed(&self) -> bool {
        self.zoom == Some(self.focus)
    }

    /// Lets the pane with the keys fill the screen, or not any more. It stays so until it is asked
    /// for again, also while another pane has the keys.
    pub fn toggle_zoom(&mut self) {
        self.zoom = if self.is_zoomed() { None } else { Some(self.focus) };
    }

    /// Closes a pane, which comes back when that is taken back; false when it is the last one.
    pub fn close(&mut self, id: PaneId) -> bool {
        let tabs = self.tree.tabs(id);
        if !self.tree.remove(id) {
            return false;
        }
        self.recent.retain(|r| *r != id);
        self.zoom = self.zoom.filter(|z| *z != id);
        if self.focus == id {
            let beside = tabs.iter().rev().find(|t| **t != id).copied();
            let left = self.tree.panes();
            let next = beside.unwrap_or_else(|| self.foremost(&left));
            self.focus_on(next);
        }
        true
    }

    /// The leaf that comes after, or before, the one with the keys; of its panes the one to show.
    #[must_use]
    pub fn next(&self, forward: bool) -> PaneId {
        let leaves = self.tree.leaves();
        let at = leaves.iter().position(|l| l.tabs.contains(&self.focus)).unwrap_or(0);
        let step = if forward { 1 } else { leaves.len() - 1 };
        leaves.get((at + step) % leaves.len()).map_or(self.focus, |l| self.foremost(&l.tabs))
    }

    /// The pane to show of the next leaf that has one of a kind; the one with the keys where there is no other.
    #[must_use]
    pub fn next_where(&self, wanted: impl Fn(Kind) -> bool) -> PaneId {
        let leaves = self.tree.leaves();
        let at = leaves.iter().position(|l| l.tabs.contains(&self.focus)).unwrap_or(0);
        let fits = |id: &PaneId| self.kind(*id).is_some_and(&wanted);
        let shown = |step: usize| {
            let tabs = &leaves.get((at + step) % leaves.len())?.tabs;
            let fitting: Vec<PaneId> = tabs.iter().copied().filter(fits).collect();
            (!fitting.is_empty()).then(|| self.foremost(&fitting))
        };
        (1..leaves.len()).find_map(shown).unwrap_or(self.focus)
    }

    /// The tab after, or before, the pane with the keys in its frame.
    #[must_use]
    pub fn next_tab(&self, forward: bool) -> PaneId {
        let tabs = self.tree.tabs(self.focus);
        let at = tabs.iter().position(|t| *t == self.focus).unwrap_or(0);
        let step = if forward { 1 } else { tabs.len().saturating_sub(1) };
        tabs.get((at + step) % tabs.len().max(1)).copied().unwrap_or(self.focus)
    }

    /// The tree is another one now. What neither it nor the one before has is closed for good.
    pub fn changed(&mut self, before: Node) {
        self.open.retain(|id, _| self.tree.holds(*id) || before.holds(*id));
        self.before = Some(before);
    }

    /// Takes the last change of the tree back, or makes it again; false when there was none.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.before.take() else { return false };
        let now = self.tree.clone();
        self.hang(before);
        self.before = Some(now);
        true
    }

    /// What was changed so far stays: the tree before lacks a pane that must be seen.
    pub fn settle(&mut self) {
        self.before = None;
    }

    /// Closes a pane for good.
    pub fn forget(&mut self, id: PaneId) -> bool {
        let closed = self.close(id);
        if closed {
            self.before = self.before.take().filter(|b| !b.holds(id));
            self.open.remove(&id);
        }
        closed
    }

    /// Hangs the panes up anew.
    pub fn hang(&mut self, tree: Node) {
        let kept = tree.panes();
        self.recent.retain(|id| kept.contains(id));
        self.zoom = self.zoom.filter(|z| kept.contains(z));
        self.tree = tree;
        if !kept.contains(&self.focus) {
            let next = self.foremost(&kept);
            self.focus_on(next);
        }
    }

    /// Every pane that may be seen again.
    #[must_use]
    pub fn ids(&self) -> Vec<PaneId> {
        self.open.keys().copied().collect()
    }

    /// The view of a type that had the keys last, else the first one.
    #[must_use]
    pub fn view<T: Pane>(&self) -> Option<&T> {
        let as_view = |id: PaneId| {
            let pane: &dyn Any = self.get(id)?;
            pane.downcast_ref::<T>()
        };
        self.recent().find_map(as_view).or_else(|| self.tree.panes().into_iter().find_map(as_view))
    }

    /// All panes with what they are.
    pub fn iter(&self) -> impl Iterator<Item = (PaneId, &dyn Pane)> {
        self.tree.panes().into_iter().filter_map(|id| Some((id, self.get(id)?)))
    }
}
