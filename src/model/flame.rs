//! Stacks of a map as one tree of frames: what flame graphs, folded stacks and profiles are made of.
//!
//! A tree takes any number of readings in, a slice at a time; nodes stay what they are from one reading to the next,
//! so that a chosen frame stays chosen while a trace runs.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
// One that moves its entries a few at a time when it grows: a key is not to wait until millions have moved.
use griddle::HashMap;

use super::snapshot::{MapKind, MapRow, MapSnapshot};
use super::value::{Frame, Value};

mod keys;
mod sums;
#[cfg(test)]
mod tests;

use keys::{frames_of, hash, is_kernel, kept, part_text, split};
use sums::{Adding, Sums, of_node};

/// Nodes of a tree; stacks that would need more end where it has some.
const MOST_NODES: usize = 4_000_000;

/// What a frame is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// The root, and parts of the key beside the stacks: a command's name, a process.
    Key,
    /// A function of the kernel or of a module.
    Kernel,
    /// A function of a program or a library.
    User,
    /// A function that was inlined into the one below it.
    Inlined,
}

/// A frame's name; frames of one name and kind are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As the symbol table has it; untrusted.
    pub text: Arc<str>,
    /// What it is.
    pub kind: FrameKind,
    /// Module or object file, where it is known.
    pub object: Option<Arc<str>>,
}

/// Names a node of a tree; the root is 0, and parents have smaller numbers than their children.
pub type NodeId = u32;
/// The root of every tree.
pub const ROOT: NodeId = 0;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    name: u32,
    parent: NodeId,
    first_child: NodeId,
    next_sibling: NodeId,
    depth: u32,
}

/// How stacks become paths.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Shape {
    /// From the innermost frame outwards: who calls what takes the time.
    pub inverted: bool,
    /// The parts of the key beside the stacks are left out.
    pub merged: bool,
    /// Frames of these names are left out, with what they call kept.
    pub hidden: Vec<Arc<str>>,
    /// Only stacks with a frame of this name.
    pub only: Option<Arc<str>>,
}

/// What a baseline is to the values that are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compare {
    /// There is none.
    #[default]
    Nothing,
    /// An earlier reading of values that only grow: what is shown is what came since.
    Growth,
    /// Something else, by its shares.
    Shares,
}

/// All stacks of a map.
#[derive(Clone, Debug)]
pub struct FlameTree {
    shape: Shape,
    names: Vec<Name>,
    by_name: HashMap<(FrameKind, Arc<str>), u32, FixedState>,
    nodes: Vec<Node>,
    /// Of the last reading that is complete.
    shown: Sums,
    /// Of the one that is taken in.
    next: Sums,
    adding: Adding,
    /// Nodes of the complete reading that stacks end at.
    live: usize,
    children: HashMap<(NodeId, u32), NodeId, FixedState>,
    /// Where the stacks of a key end; `NONE` for keys that are left out.
    ends: HashMap<u64, NodeId, FixedState>,
    deepest: u32,
    /// Stacks that end above their innermost frame, for there are too many nodes.
    cut: u64,
    path: Vec<u32>,
}

/// Whether a map has stacks to draw.
#[must_use]
pub fn has_stacks(map: &MapSnapshot) -> bool {
    let is_stack = |v: &Value| matches!(v, Value::Stack(_));
    let in_tuple = |v: &Value| matches!(v, Value::Tuple(items) if items.iter().any(is_stack));
    map.rows.iter().take(64).any(|row| row.key.iter().any(|v| is_stack(v) || in_tuple(v)))
}

/// What a value adds to the frames of its stack: sums of averages and statistics, counts of histograms.
#[must_use]
pub fn weight(value: &Value) -> u64 {
    let weight = match value {
        Value::Avg(s) | Value::Stats(s) if s.signed => i128::from(s.total),
        Value::Avg(s) | Value::Stats(s) => i128::from(s.total as u64),
        Value::Pointer(_) | Value::Text(..) => 0,
        other => other.as_number().unwrap_or(0),
    };
    u64::try_from(weight.max(0)).unwrap_or(u64::MAX)
}

/// Whether values of this kind only grow, until they are cleared.
#[must_use]
pub const fn only_grows(kind: MapKind) -> bool {
    matches!(kind, MapKind::Count | MapKind::Sum | MapKind::Avg | MapKind::Stats | MapKind::Hist | MapKind::LHist)
}

/// A frame's name as it is shown: its symbol, else its object, else nothing known.
fn frame_text(frame: &Frame) -> Arc<str> {
    match (&frame.symbol, &frame.object) {
        (Some(symbol), _) => kept(symbol),
        (None, Some(object)) => kept(&format!("[{}]", object.rsplit('/').next().unwrap_or(object)).into()),
        (None, None) => "[unknown]".into(),
    }
}

fn frame_kind(frame: &Frame) -> FrameKind {
    match (frame.inlined, is_kernel(frame.address)) {
        (true, _) => FrameKind::Inlined,
        (_, true) => FrameKind::Kernel,
        _ => FrameKind::User,
    }
}

impl FlameTree {
    /// An empty one.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let root = Name { text: "all".into(), kind: FrameKind::Key, object: None };
        Self {
            shape,
            names: vec![root],
            by_name: HashMap::default(),
            nodes: vec![Node { name: 0, parent: NONE, first_child: NONE, next_sibling: NONE, depth: 0 }],
            shown: Sums::default(),
            next: Sums::of(1),
            adding: Adding::Own(0),
            live: 0,
            children: HashMap::default(),
            ends: HashMap::default(),
            deepest: 0,
            cut: 0,
            path: Vec::new(),
        }
    }

    /// How its paths are made.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Begins a reading: values so far count no more, and what is shown stays until [`Self::finish`].
    pub fn begin(&mut self) {
        self.next = Sums::of(self.nodes.len());
        self.adding = Adding::Own(0);
    }

    /// Adds rows of a reading until so many frames were looked at, one row at least; tells how many rows.
    pub fn take(&mut self, rows: &[MapRow], frames: usize) -> usize {
        self.take_some(rows, frames, |sums| &mut sums.own)
    }

    /// Adds rows of the baseline, as [`Self::take`] does.
    pub fn take_baseline(&mut self, rows: &[MapRow], frames: usize) -> usize {
        self.take_some(rows, frames, |sums| &mut sums.base)
    }

    fn take_some(&mut self, rows: &[MapRow], frames: usize, field: impl Fn(&mut Sums) -> &mut [u64]) -> usize {
        let mut looked_at = 0;
        for (at, row) in rows.iter().enumerate() {
            if looked_at >= frames {
                return at;
            }
            looked_at += 1 + row.key.iter().map(frames_of).sum::<usize>();
            if let Some(end) = self.end_of(&row.key) {
                let sum = &mut field(&mut self.next)[end as usize];
                *sum = sum.saturating_add(weight(&row.value));
            }
        }
        rows.len()
    }

    /// Shows what was taken in since [`Self::begin`].
    pub fn finish(&mut self, compare: Compare) {
        while !self.finish_some(compare, usize::MAX) {}
    }

    /// A part of [`Self::finish`]: adds up so many nodes; true when all are shown.
    pub fn finish_some(&mut self, compare: Compare, mut nodes: usize) -> bool {
        if let Adding::Own(from) = self.adding {
            let to = from.saturating_add(nodes).min(self.next.len());
            for node in from..to {
                self.next.begin_total(node, compare);
            }
            let ends = self.next.own[from..to].iter().filter(|own| **own > 0).count();
            self.live = ends + if from == 0 { 0 } else { self.live };
            nodes -= to - from;
            self.adding = if to == self.next.len() { Adding::Up(to) } else { Adding::Own(to) };
        }
        let Adding::Up(to) = self.adding else { return false };
        let from = to.saturating_sub(nodes).max(1);
        for node in (from..to).rev() {
            self.next.pass_up(node, self.nodes[node].parent as usize, compare);
        }
        self.adding = Adding::Up(from);
        if from == 1 {
            self.shown = std::mem::take(&mut self.next);
        }
        from == 1
    }

    /// The node at which the stacks of a key end.
    fn end_of(&mut self, key: &[Value]) -> Option<NodeId> {
        let mut hasher = FixedState::default().build_hasher();
        key.iter().for_each(|part| hash(part, &mut hasher));
        let hash = hasher.finish();
        if let Some(end) = self.ends.get(&hash) {
            return Some(*end).filter(|end| *end != NONE);
        }
        let end = self.insert(key);
        self.ends.insert(hash, end.unwrap_or(NONE));
        end
    }

    fn insert(&mut self, key: &[Value]) -> Option<NodeId> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let (mut stacks, mut parts) = (Vec::new(), Vec::new());
        split(key, &mut stacks, &mut parts);
        // What the kernel does for a program lies over the program's own frames.
        stacks.sort_by_key(|s| s.frames.first().is_some_and(|f| is_kernel(f.address)));
        if !self.shape.merged {
            for part in parts {
                path.push(self.name(FrameKind::Key, &part_text(part), None));
            }
        }
        let roots = path.len();
        for stack in stacks {
            for frame in stack.frames.iter().rev() {
                let text = frame_text(frame);
                if !self.shape.hidden.contains(&text) {
                    path.push(self.name(frame_kind(frame), &text, frame.object.as_ref()));
                }
            }
        }
        let only = self.shape.only.clone();
        let is_left_out = only.is_some_and(|only| !path.iter().any(|n| self.names[*n as usize].text == only));
        if self.shape.inverted {
            path[roots..].reverse();
        }
        if is_left_out {
            self.path = path;
            return None;
        }
        let (mut end, mut whole) = (ROOT, true);
        for name in &path {
            let Some(child) = self.child(end, *name) else {
                whole = false;
                break;
            };
            end = child;
        }
        self.cut += u64::from(!whole);
        self.path = path;
        Some(end)
    }

    fn name(&mut self, kind: FrameKind, text: &Arc<str>, object: Option<&Arc<str>>) -> u32 {
        let key = (kind, Arc::clone(text));
        if let Some(name) = self.by_name.get(&key) {
            return *name;
        }
        let number = self.names.len() as u32;
        self.names.push(Name { text: Arc::clone(text), kind, object: object.map(Arc::clone) });
        self.by_name.insert(key, number);
        number
    }

    /// The node of a name below another one; none where there are too many.
    fn child(&mut self, parent: NodeId, name: u32) -> Option<NodeId> {
        if let Some(child) = self.children.get(&(parent, name)) {
            return Some(*child);
        }
        if self.nodes.len() >= MOST_NODES {
            return None;
        }
        let id = self.nodes.len() as NodeId;
        let above = &mut self.nodes[parent as usize];
        let (next_sibling, depth) = (above.first_child, above.depth + 1);
        above.first_child = id;
        self.deepest = self.deepest.max(depth);
        sums::make_room(&mut self.nodes);
        self.nodes.push(Node { name, parent, first_child: NONE, next_sibling, depth });
        self.next.push();
        self.children.insert((parent, name), id);
        Some(id)
    }

    /// Stacks whose innermost frames are not shown, for there are too many frames.
    #[must_use]
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was taken in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total(ROOT) == 0
    }

    /// All names, the root's first.
    #[must_use]
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// A node's name.
    #[must_use]
    pub fn name_of(&self, node: NodeId) -> &Name {
        &self.names[self.name_id(node) as usize]
    }

    /// A node's name, by its place in [`Self::names`].
    #[must_use]
    pub fn name_id(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].name
    }

    /// Steps from the root.
    #[must_use]
    pub fn depth(&self, node: NodeId) -> usize {
        self.nodes[node as usize].depth as usize
    }

    /// Steps from the root to the deepest node.
    #[must_use]
    pub const fn deepest(&self) -> usize {
        self.deepest as usize
    }

    /// The node above; none for the root.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        Some(self.nodes[node as usize].parent).filter(|p| *p != NONE)
    }

    /// The nodes below, in no order.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let some = |id: NodeId| Some(id).filter(|id| *id != NONE);
        let first = some(self.nodes[node as usize].first_child);
        std::iter::successors(first, move |id| some(self.nodes[*id as usize].next_sibling))
    }

    /// The value of a frame and all that it calls.
    #[must_use]
    pub fn total(&self, node: NodeId) -> u64 {
        of_node(&self.shown.total, node)
    }

    /// The value of a frame without what it calls.
    #[must_use]
    pub fn own(&self, node: NodeId) -> u64 {
        of_node(&self.shown.own, node)
    }

    /// The value of a frame and all that it calls in the baseline.
    #[must_use]
    pub fn base(&self, node: NodeId) -> u64 {
        of_node(&self.shown.base, node)
    }

    /// By how much the share of a frame differs from the baseline's, -1 to 1; 0 without a baseline.
    #[must_use]
    pub fn change(&self, node: NodeId) -> f64 {
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        if self.base(ROOT) == 0 {
            return 0.0;
        }
        share(self.total(node), self.total(ROOT)) - share(self.base(node), self.base(ROOT))
    }

    /// The names from the root's child to a node.
    #[must_use]
    pub fn path(&self, node: NodeId) -> Vec<&Name> {
        let up = std::iter::successors(Some(node), |n| self.parent(*n));
        let mut path: Vec<&Name> = up.take_while(|n| *n != ROOT).map(|n| self.name_of(n)).collect();
        path.reverse();
        path
    }

    /// The value of all stacks with a frame whose name is marked; `marked` is by [`Self::names`].
    #[must_use]
    pub fn share_of(&self, marked: &[bool]) -> u64 {
        let mut inside = vec![false; self.nodes.len()];
        let mut sum = 0_u64;
        for (at, node) in self.nodes.iter().enumerate() {
            let above = inside.get(node.parent as usize).copied().unwrap_or(false);
            inside[at] = above || marked.get(node.name as usize).copied().unwrap_or(false);
            if inside[at] {
                sum = sum.saturating_add(self.own(at as NodeId));
            }
        }
        sum
    }

    /// Every node that stacks end at, with their value.
    pub fn ends(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.shown.own.iter().enumerate().filter(|(_, own)| **own > 0).map(|(at, own)| (at as NodeId, *own))
    }

    /// How many nodes stacks end at.
    #[must_use]
    pub const fn live(&self) -> usize {
        self.live
    }
}
