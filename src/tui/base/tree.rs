//! The tree of splits that panes hang in: how it is built up and changed. It knows panes by their
//! ids only and nothing of the screen.

/// Names a pane for as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaneId(pub u32);

/// How the parts of a split lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Side by side.
    Across,
    /// One above the other.
    Down,
}

impl Axis {
    /// The other one.
    #[must_use]
    pub const fn turned(self) -> Self {
        match self {
            Self::Across => Self::Down,
            Self::Down => Self::Across,
        }
    }
}

/// A place for panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Panes that share a frame.
    Leaf(Leaf),
    /// Parts beside one another.
    Split(Split),
}

/// Panes that share a frame: one is shown, the titles of all stand on its edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The panes; never empty.
    pub tabs: Vec<PaneId>,
}

/// Parts beside one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// How they lie.
    pub axis: Axis,
    /// At least two.
    pub parts: Vec<Part>,
}

/// One part of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What is in it.
    pub node: Node,
    /// Its size in proportion to the others, once the user has chosen it. Without one it gets what its
    /// panes ask for, and nothing while they have nothing to show.
    pub share: Option<u16>,
}

impl Part {
    /// A part of a size that its panes ask for.
    #[must_use]
    pub const fn adaptive(node: Node) -> Self {
        Self { node, share: None }
    }
}

/// Where a split is in the tree: the part to take in each split from the root on.
pub type Path = Vec<usize>;

impl Node {
    /// A leaf with one pane.
    #[must_use]
    pub fn leaf(pane: PaneId) -> Self {
        Self::Leaf(Leaf { tabs: vec![pane] })
    }

    /// All panes, in order.
    #[must_use]
    pub fn panes(&self) -> Vec<PaneId> {
        match self {
            Self::Leaf(leaf) => leaf.tabs.clone(),
            Self::Split(split) => split.parts.iter().flat_map(|p| p.node.panes()).collect(),
        }
    }

    /// All leaves, in order.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Leaf> {
        match self {
            Self::Leaf(leaf) => vec![leaf],
            Self::Split(split) => split.parts.iter().flat_map(|p| p.node.leaves()).collect(),
        }
    }

    /// Whether a pane hangs here.
    #[must_use]
    pub fn holds(&self, pane: PaneId) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.tabs.contains(&pane),
            Self::Split(split) => split.parts.iter().any(|p| p.node.holds(pane)),
        }
    }

    /// The panes that share a frame with this one, itself among them.
    #[must_use]
    pub fn tabs(&self, pane: PaneId) -> Vec<PaneId> {
        self.leaves().into_iter().find(|l| l.tabs.contains(&pane)).map_or_else(Vec::new, |l| l.tabs.clone())
    }

    /// The split at a place of the tree.
    pub fn split_at(&mut self, path: &[usize]) -> Option<&mut Split> {
        let Self::Split(split) = self else { return None };
        match path.split_first() {
            None => Some(split),
            Some((first, rest)) => split.parts.get_mut(*first)?.node.split_at(rest),
        }
    }

    /// The innermost split that a pane is in.
    pub fn split_of(&mut self, pane: PaneId) -> Option<&mut Split> {
        let Self::Split(split) = self else { return None };
        let at = split.parts.iter().position(|p| p.node.holds(pane))?;
        match &split.parts[at].node {
            Self::Leaf(_) => Some(split),
            Self::Split(_) => split.parts[at].node.split_of(pane),
        }
    }

    /// Puts a pane into the frame of another one, behind it. False when that one is not here.
    pub fn add_tab(&mut self, beside: PaneId, new: PaneId) -> bool {
        match self {
            Self::Leaf(leaf) => {
                let Some(at) = leaf.tabs.iter().position(|t| *t == beside) else { return false };
                leaf.tabs.insert(at + 1, new);
                true
            }
            Self::Split(split) => split.parts.iter_mut().any(|p| p.node.add_tab(beside, new)),
        }
    }

    /// Splits the frame of a pane: the new one gets half of it, before or after. False when it is not here.
    pub fn split(&mut self, beside: PaneId, axis: Axis, new: PaneId, before: bool) -> bool {
        match self {
            Self::Leaf(leaf) if leaf.tabs.contains(&beside) => {
                self.divide(axis, Self::leaf(new), before);
                true
            }
            Self::Leaf(_) => false,
            Self::Split(split) => {
                let Some(at) = split.parts.iter().position(|p| p.node.holds(beside)) else { return false };
                let part = &mut split.parts[at];
                // In a split of the same axis, with sizes that were chosen, it becomes one more part.
                if let (Node::Leaf(_), Some(share), true) = (&part.node, part.share, split.axis == axis) {
                    let (kept, given) = (share.div_ceil(2), (share / 2).max(1));
                    part.share = Some(kept);
                    let new = Part { node: Self::leaf(new), share: Some(given) };
                    split.parts.insert(if before { at } else { at + 1 }, new);
                    return true;
                }
                part.node.split(beside, axis, new, before)
            }
        }
    }

    /// Puts a node at one side of this one.
    pub fn divide(&mut self, axis: Axis, new: Node, before: bool) {
        let old = std::mem::replace(self, Self::Leaf(Leaf { tabs: Vec::new() }));
        let part = |node| Part { node, share: Some(1) };
        let parts = if before { vec![part(new), part(old)] } else { vec![part(old), part(new)] };
        *self = Self::Split(Split { axis, parts });
    }

    /// Takes a pane out; what is left of its split closes the gap. False when it is not here or the
    /// last one.
    pub fn remove(&mut self, pane: PaneId) -> bool {
        match self {
            Self::Leaf(leaf) => {
                let found = leaf.tabs.len() > 1 && leaf.tabs.contains(&pane);
                leaf.tabs.retain(|t| !found || *t != pane);
                found
            }
            Self::Split(split) => {
                let Some(at) = split.parts.iter().position(|p| p.node.holds(pane)) else { return false };
                if split.parts[at].node.remove(pane) {
                    return true;
                }
                split.parts.remove(at);
                if split.parts.len() == 1 {
                    *self = split.parts.remove(0).node;
                }
                true
            }
        }
    }

    /// Moves a pane beside another one. The tree stays as it is when one of them is not here, or the
    /// only one of its frame is asked to go beside itself.
    pub fn move_beside(&mut self, pane: PaneId, other: PaneId, axis: Axis, before: bool) -> bool {
        if pane == other || !self.holds(other) {
            return false;
        }
        self.remove(pane) && self.split(other, axis, pane, before)
    }

    /// Moves a pane into the frame of another one.
    pub fn move_into(&mut self, pane: PaneId, other: PaneId) -> bool {
        if pane == other || !self.holds(other) {
            return false;
        }
        self.remove(pane) && self.add_tab(other, pane)
    }

    /// Moves a pane to an edge of the whole tree.
    pub fn move_to_edge(&mut self, pane: PaneId, axis: Axis, before: bool) -> bool {
        let moved = self.remove(pane);
        if moved {
            self.divide(axis, Self::leaf(pane), before);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> PaneId {
        PaneId(n)
    }

    /// `1|(2/3)`: two parts side by side, the second one of two above each other.
    fn shape(node: &Node) -> String {
        match node {
            Node::Leaf(leaf) => leaf.tabs.iter().map(|t| t.0.to_string()).collect::<Vec<_>>().join("+"),
            Node::Split(split) => {
                let sign = if split.axis == Axis::Across { "|" } else { "/" };
                format!("({})", split.parts.iter().map(|p| shape(&p.node)).collect::<Vec<_>>().join(sign))
            }
        }
    }

    #[test]
    fn splits_of_one_axis_grow_wider_and_not_deeper() {
        let mut tree = Node::leaf(id(1));
        assert!(tree.split(id(1), Axis::Across, id(2), false));
        assert!(tree.split(id(2), Axis::Across, id(3), true));
        assert!(tree.split(id(2), Axis::Down, id(4), false));
        assert!(tree.add_tab(id(3), id(5)));
        assert_eq!(shape(&tree), "(1|3+5|(2/4))");
        assert!(!tree.split(id(9), Axis::Down, id(6), false) && !tree.add_tab(id(9), id(6)));
    }

    #[test]
    fn a_closed_pane_leaves_no_hole() {
        let mut tree = Node::leaf(id(1));
        tree.split(id(1), Axis::Across, id(2), false);
        tree.split(id(2), Axis::Down, id(3), false);
        assert!(tree.remove(id(2)));
        assert_eq!(shape(&tree), "(1|3)");
        assert!(tree.remove(id(1)));
        assert_eq!(shape(&tree), "3");
        assert!(!tree.remove(id(3)), "the last one stays");
    }

    #[test]
    fn a_pane_moves_to_where_it_is_asked() {
        let mut tree = Node::leaf(id(1));
        tree.split(id(1), Axis::Across, id(2), false);
        tree.split(id(2), Axis::Across, id(3), false);
        assert!(tree.move_beside(id(1), id(3), Axis::Across, false));
        assert_eq!(shape(&tree), "(2|3|1)");
        assert!(tree.move_into(id(2), id(1)));
        assert_eq!(shape(&tree), "(3|1+2)");
        assert!(tree.move_to_edge(id(3), Axis::Down, true));
        assert_eq!(shape(&tree), "(3/1+2)");
        assert!(!tree.move_beside(id(1), id(9), Axis::Down, true) && tree.holds(id(1)));
    }
}
