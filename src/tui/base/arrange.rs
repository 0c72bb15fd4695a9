//! From the tree to the screen: every cell of the body goes to one frame, whatever the size.
//!
//! A split whose parts find the room that they need lies as it is. Otherwise it is turned, when they
//! fit the other way round; otherwise all of its panes become tabs of one frame.

use ratatui::layout::{Position, Rect};

use super::tree::{Axis, Node, PaneId, Part, Path, Split};

/// The least sizes of a pane, frame included: (columns, rows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinSize {
    /// What a pane needs where the user has chosen the sizes.
    pub least: (u16, u16),
    /// What it should have where the program chooses them.
    pub good: (u16, u16),
}

/// What the panes say about themselves.
pub trait Measure {
    /// Least sizes of a pane.
    fn min_size(&self, pane: PaneId) -> MinSize;
    /// What a pane would like of so many cells; `None` takes the rest.
    fn wanted(&self, pane: PaneId, axis: Axis, of: u16) -> Option<u16>;
    /// Whether it has something to show.
    fn is_filled(&self, pane: PaneId) -> bool;
    /// The pane of these that is shown where one can be: the one with the keys, or that had them last.
    fn foremost(&self, panes: &[PaneId]) -> PaneId;
    /// The pane with the keys.
    fn focus(&self) -> PaneId;
}

/// A frame on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its cells.
    pub area: Rect,
    /// The panes in it.
    pub tabs: Vec<PaneId>,
    /// The one that is shown.
    pub shown: PaneId,
}

/// What lies between two parts of a split; the mouse moves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// The split.
    pub path: Path,
    /// The parts at its two sides.
    pub between: (usize, usize),
    /// How the parts lie on this screen.
    pub axis: Axis,
    /// The cells of both edges.
    pub area: Rect,
}

/// All of a tree on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arranged {
    /// The frames; together they cover the body.
    pub placed: Vec<Placed>,
    /// What lies between them.
    pub borders: Vec<Border>,
}

impl Arranged {
    /// The frame of a pane, when it is shown.
    #[must_use]
    pub fn area(&self, pane: PaneId) -> Option<Rect> {
        self.placed.iter().find(|p| p.shown == pane).map(|p| p.area)
    }

    /// The frame at a place of the screen.
    #[must_use]
    pub fn at(&self, position: Position) -> Option<&Placed> {
        self.placed.iter().find(|p| p.area.contains(position))
    }

    /// The border at a place of the screen.
    #[must_use]
    pub fn border(&self, position: Position) -> Option<&Border> {
        self.borders.iter().find(|b| b.area.contains(position))
    }

    /// The pane shown next to another one in a direction: the nearest, of several the one that shares the most edge.
    #[must_use]
    pub fn neighbour(&self, pane: PaneId, axis: Axis, before: bool) -> Option<PaneId> {
        let from = self.placed.iter().find(|p| p.tabs.contains(&pane))?.area;
        let touching = self.placed.iter().filter(|p| {
            let a = p.area;
            match (axis, before) {
                (Axis::Across, true) => a.right() == from.x,
                (Axis::Across, false) => a.x == from.right(),
                (Axis::Down, true) => a.bottom() == from.y,
                (Axis::Down, false) => a.y == from.bottom(),
            }
        });
        let shared = |a: Rect| match axis {
            Axis::Across => a.bottom().min(from.bottom()).saturating_sub(a.y.max(from.y)),
            Axis::Down => a.right().min(from.right()).saturating_sub(a.x.max(from.x)),
        };
        let best = touching.filter(|p| shared(p.area) > 0).max_by_key(|p| shared(p.area))?;
        Some(best.shown)
    }
}

/// Arranges a tree in an area.
#[must_use]
pub fn arrange(tree: &Node, area: Rect, measure: &dyn Measure) -> Arranged {
    let mut out = Arranged::default();
    place(tree, area, &mut Vec::new(), measure, &mut out);
    out
}

fn place(node: &Node, area: Rect, path: &mut Path, measure: &dyn Measure, out: &mut Arranged) {
    let Node::Split(split) = node else { return together(node, area, measure, out) };
    let shown = visible(split, measure);
    if let [only] = shown[..] {
        path.push(only);
        place(&split.parts[only].node, area, path, measure, out);
        path.pop();
        return;
    }
    let Some(axis) = [split.axis, split.axis.turned()].into_iter().find(|a| fits(split, &shown, *a, area, measure))
    else {
        return together(node, area, measure, out);
    };
    let mut from = start(area, axis);
    for (nth, (index, length)) in shown.iter().zip(divide(split, &shown, axis, area, measure)).enumerate() {
        if nth > 0 {
            let edge = part_of(area, axis, from - 1, 2);
            out.borders.push(Border { path: path.clone(), between: (shown[nth - 1], *index), axis, area: edge });
        }
        path.push(*index);
        place(&split.parts[*index].node, part_of(area, axis, from, length), path, measure, out);
        path.pop();
        from += length;
    }
}

/// All panes of a node as tabs of one frame.
fn together(node: &Node, area: Rect, measure: &dyn Measure, out: &mut Arranged) {
    let tabs = node.panes();
    let shown = measure.foremost(&tabs);
    out.placed.push(Placed { area, tabs, shown });
}

/// The parts that get room: those of a chosen size, splits, frames with something to show, and the one
/// with the keys; the first one when there is none of these.
#[must_use]
pub fn visible(split: &Split, measure: &dyn Measure) -> Vec<usize> {
    let wants = |part: &Part| {
        let shows = |pane: &PaneId| measure.is_filled(*pane) || *pane == measure.focus();
        match &part.node {
            Node::Leaf(leaf) => part.share.is_some() || leaf.tabs.iter().any(shows),
            Node::Split(_) => true,
        }
    };
    let shown: Vec<usize> = (0..split.parts.len()).filter(|i| wants(&split.parts[*i])).collect();
    if shown.is_empty() { vec![0] } else { shown }
}

fn fits(split: &Split, shown: &[usize], axis: Axis, area: Rect, measure: &dyn Measure) -> bool {
    let needs = |i: &usize| needed(&split.parts[*i], axis, measure);
    let along: u32 = shown.iter().map(|i| u32::from(needs(i).0)).sum();
    let beside = shown.iter().map(|i| needs(i).1).max().unwrap_or(0);
    along <= u32::from(length(area, axis)) && beside <= length(area, axis.turned())
}

/// What a part needs along an axis, and beside it: as one frame, which it can always become.
fn needed(part: &Part, axis: Axis, measure: &dyn Measure) -> (u16, u16) {
    let sizes = part.node.panes().into_iter().map(|p| measure.min_size(p));
    let each = sizes.map(|size| {
        let along = if part.share.is_some() { size.least } else { size.good };
        (of(along, axis), of(size.least, axis.turned()))
    });
    each.fold((1, 1), |(a, b), (c, d)| (a.max(c), b.max(d)))
}

/// The length of each part that is shown; together they are as long as the area.
fn divide(split: &Split, shown: &[usize], axis: Axis, area: Rect, measure: &dyn Measure) -> Vec<u16> {
    let parts: Vec<&Part> = shown.iter().map(|i| &split.parts[*i]).collect();
    let least: Vec<u16> = parts.iter().map(|p| hard(p, axis, measure)).collect();
    let mut lengths: Vec<Option<u16>> = vec![None; parts.len()];
    let mut rest = length(area, axis);
    let chosen = parts.iter().any(|p| p.share.is_some());
    let wish = |part: &Part, of: u16| match &part.node {
        Node::Leaf(leaf) => measure.wanted(measure.foremost(&leaf.tabs), axis, of),
        Node::Split(_) => None,
    };
    // Without chosen sizes one part takes what the others leave: the first that wishes for nothing.
    let filler = parts.iter().position(|p| wish(p, rest).is_none()).unwrap_or(0);
    for nth in (0..parts.len()).rev() {
        if parts[nth].share.is_some() || (!chosen && nth == filler) {
            continue;
        }
        let Some(wanted) = wish(parts[nth], rest) else { continue };
        let others: u16 = (0..parts.len()).filter(|i| *i != nth && lengths[*i].is_none()).map(|i| least[i]).sum();
        let given = wanted.min(rest.saturating_sub(others)).max(least[nth].min(rest));
        lengths[nth] = Some(given);
        rest -= given;
    }
    let open: Vec<usize> = (0..parts.len()).filter(|i| lengths[*i].is_none()).collect();
    let known: Vec<u16> = open.iter().filter_map(|i| parts[*i].share).collect();
    let usual = known.iter().map(|s| u32::from(*s)).sum::<u32>().checked_div(known.len() as u32).unwrap_or(1).max(1);
    let weights: Vec<u32> = open.iter().map(|i| parts[*i].share.map_or(usual, |s| u32::from(s).max(1))).collect();
    let needs: Vec<u16> = open.iter().map(|i| least[*i]).collect();
    for (i, given) in open.into_iter().zip(proportional(rest, &weights, &needs)) {
        lengths[i] = Some(given);
    }
    lengths.into_iter().flatten().collect()
}

fn hard(part: &Part, axis: Axis, measure: &dyn Measure) -> u16 {
    part.node.panes().into_iter().map(|p| of(measure.min_size(p).least, axis)).max().unwrap_or(1)
}

/// `total` cells by weights, nobody below what is needed while there is as much.
fn proportional(total: u16, weights: &[u32], needs: &[u16]) -> Vec<u16> {
    let sum: u32 = weights.iter().sum::<u32>().max(1);
    let mut out: Vec<u16> =
        weights.iter().map(|w| (u64::from(total) * u64::from(*w) / u64::from(sum)) as u16).collect();
    let mut left = total - out.iter().sum::<u16>();
    for length in out.iter_mut().rev() {
        if left > 0 {
            *length += 1;
            left -= 1;
        }
    }
    while let Some(short) = (0..out.len()).find(|i| out[*i] < needs[*i]) {
        let spare = |i: &usize| out[*i].saturating_sub(needs[*i]);
        let Some(rich) = (0..out.len()).max_by_key(spare).filter(|i| spare(i) > 0) else { break };
        let moved = (needs[short] - out[short]).min(spare(&rich));
        out[rich] -= moved;
        out[short] += moved;
    }
    out
}

/// Moves the border between two parts by so many cells; the sizes that are on the screen become
/// chosen ones.
pub fn resize(
    tree: &mut Node,
    path: &[usize],
    (first, second): (usize, usize),
    by: i16,
    (axis, area): (Axis, Rect),
    measure: &dyn Measure,
) {
    let Some(split) = tree.split_at(path) else { return };
    let shown = visible(split, measure);
    let (Some(a), Some(b)) = (shown.iter().position(|i| *i == first), shown.iter().position(|i| *i == second)) else {
        return;
    };
    let mut lengths = divide(split, &shown, axis, area, measure);
    let least = |nth: usize| i32::from(hard(&split.parts[shown[nth]], axis, measure));
    let (old, other) = (i32::from(lengths[a]), i32::from(lengths[b]));
    let most = (old + other - least(b)).max(least(a));
    let new = (old + i32::from(by)).clamp(least(a), most).clamp(1, (old + other - 1).max(1));
    lengths[a] = new as u16;
    lengths[b] = (old + other - new) as u16;
    for (index, length) in shown.iter().zip(lengths) {
        split.parts[*index].share = Some(length.max(1));
    }
}

/// The area of a split on the screen: all that its panes cover.
#[must_use]
pub fn extent(tree: &Node, path: &[usize], arranged: &Arranged) -> Option<Rect> {
    let mut node = tree;
    for index in path {
        let Node::Split(split) = node else { return None };
        node = &split.parts.get(*index)?.node;
    }
    let areas = arranged.placed.iter().filter(|p| p.tabs.iter().any(|t| node.holds(*t))).map(|p| p.area);
    areas.reduce(Rect::union)
}

const fn of(size: (u16, u16), axis: Axis) -> u16 {
    match axis {
        Axis::Across => size.0,
        Axis::Down => size.1,
    }
}

const fn length(area: Rect, axis: Axis) -> u16 {
    of((area.width, area.height), axis)
}

const fn start(area: Rect, axis: Axis) -> u16 {
    of((area.x, area.y), axis)
}

const fn part_of(area: Rect, axis: Axis, from: u16, length: u16) -> Rect {
    match axis {
        Axis::Across => Rect { x: from, width: length, ..area },
        Axis::Down => Rect { y: from, height: length, ..area },
    }
}
