//! Where frames are on the screen: only those that are wide enough to be seen are looked at.

use ratatui::layout::{Position, Rect};

use super::FlamePane;
use crate::model::flame::{FlameTree, NodeId, ROOT};

/// A frame on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which.
    pub node: NodeId,
    /// Its level, the root's being 0.
    pub depth: usize,
    /// First column.
    pub x: u16,
    /// Columns.
    pub width: u16,
}

/// The frames of some levels in so many columns: the frames above the zoomed one in full width, then what it calls.
#[must_use]
pub fn cells(tree: &FlameTree, zoom: NodeId, by_name: bool, columns: u16, levels: std::ops::Range<usize>) -> Vec<Cell> {
    let mut out = Vec::new();
    let mut above = Some(zoom);
    let is_in = |cell: &Cell| levels.contains(&cell.depth);
    while let Some(node) = above {
        out.push(Cell { node, depth: tree.depth(node), x: 0, width: columns });
        above = tree.parent(node);
    }
    out.retain(is_in);
    out.reverse();
    let mut level = vec![Cell { node: zoom, depth: tree.depth(zoom), x: 0, width: columns }];
    let mut next = Vec::new();
    while !level.is_empty() && level[0].depth + 1 < levels.end {
        for cell in &level {
            called(tree, cell, by_name, &mut next);
        }
        level.clear();
        level.append(&mut next);
        out.extend(level.iter().filter(|cell| is_in(cell)));
    }
    out
}

/// What a frame calls, as far as it can be seen.
fn called(tree: &FlameTree, of: &Cell, by_name: bool, out: &mut Vec<Cell>) {
    let total = tree.total(of.node);
    if total == 0 {
        return;
    }
    let columns = f64::from(of.width);
    let wide = |value: u64| value as f64 / total as f64 * columns;
    // Frames of less than half a column are left out: their room stays empty at the right.
    let mut seen: Vec<(NodeId, u64)> =
        tree.children(of.node).map(|n| (n, tree.total(n))).filter(|(_, value)| wide(*value) >= 0.5).collect();
    if by_name {
        seen.sort_by(|a, b| tree.name_of(a.0).text.cmp(&tree.name_of(b.0).text).then(a.0.cmp(&b.0)));
    } else {
        seen.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| tree.name_of(a.0).text.cmp(&tree.name_of(b.0).text)));
    }
    let mut before = 0_u64;
    for (node, value) in seen {
        let start = wide(before).round() as u16;
        before = before.saturating_add(value);
        let end = (wide(before).round() as u16).min(of.width);
        if end > start {
            out.push(Cell { node, depth: of.depth + 1, x: of.x + start, width: end - start });
        }
    }
}

/// The levels that fit on the screen.
pub(super) fn levels(pane: &FlamePane, body: Rect) -> std::ops::Range<usize> {
    pane.top..pane.top + usize::from(body.height)
}

/// The frames in sight.
#[must_use]
pub fn in_sight(pane: &FlamePane, body: Rect) -> Vec<Cell> {
    pane.feed.tree().map_or_else(Vec::new, |tree| cells(tree, pane.zoom, pane.by_name, body.width, levels(pane, body)))
}

/// The row of a level on the screen.
#[must_use]
pub fn row(pane: &FlamePane, body: Rect, depth: usize) -> u16 {
    let from_root = depth.saturating_sub(pane.top) as u16;
    if pane.upright { body.bottom().saturating_sub(1 + from_root) } else { body.y + from_root }
}

/// The frame at a place of the screen.
#[must_use]
pub fn at(pane: &FlamePane, body: Rect, at: Position) -> Option<Cell> {
    if !body.contains(at) {
        return None;
    }
    let x = at.x - body.x;
    in_sight(pane, body).into_iter().find(|c| row(pane, body, c.depth) == at.y && (c.x..c.x + c.width).contains(&x))
}

/// The frame beside one, of those on its level.
#[must_use]
pub fn beside(pane: &FlamePane, body: Rect, node: NodeId, right: bool) -> Option<NodeId> {
    let tree = pane.feed.tree()?;
    let depth = tree.depth(node);
    let level = cells(tree, pane.zoom, pane.by_name, body.width, depth..depth + 1);
    let at = level.iter().position(|c| c.node == node)?;
    let beside = if right { at.checked_add(1) } else { at.checked_sub(1) };
    Some(level.get(beside?)?.node)
}

/// The widest frame that a frame calls.
#[must_use]
pub fn widest(tree: &FlameTree, node: NodeId) -> Option<NodeId> {
    tree.children(node).filter(|n| tree.total(*n) > 0).max_by_key(|n| (tree.total(*n), std::cmp::Reverse(*n)))
}

/// Keeps the chosen frame in sight and in the frame that is zoomed.
pub fn into_sight(pane: &mut FlamePane, body: Rect) {
    let Some(tree) = pane.feed.tree() else { return };
    if pane.zoom as usize >= tree.len() || tree.total(pane.zoom) == 0 {
        pane.zoom = ROOT;
    }
    if pane.selected as usize >= tree.len() {
        pane.selected = pane.zoom;
    }
    let depth = tree.depth(pane.selected);
    let rows = usize::from(body.height).max(1);
    if depth < pane.top {
        pane.top = depth;
    } else if depth >= pane.top + rows {
        pane.top = depth + 1 - rows;
    }
    pane.top = pane.top.min(tree.deepest());
}
