//! What the stacks of a tree add up to, node by node.

use super::{Compare, MOST_NODES, NodeId};

/// From so many nodes on, there is room for all that there may be: a column that grows by doubling is copied while keys wait.
/// Memory that is not written to is none.
const MANY: usize = 1 << 16;

/// Makes room in a column of nodes before one is added.
pub(super) fn make_room<T>(column: &mut Vec<T>) {
    if column.len() == column.capacity() && column.len() >= MANY {
        column.reserve_exact(MOST_NODES.saturating_sub(column.len()).max(1));
    }
}

/// What the stacks of each node add up to. Pages of zeros cost nothing until they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Of stacks that end here.
    pub own: Vec<u64>,
    /// With those that end below.
    pub total: Vec<u64>,
    /// The baseline's, with those that end below.
    pub base: Vec<u64>,
}

impl Sums {
    pub fn of(nodes: usize) -> Self {
        let zeros = || {
            let mut sums = vec![0; if nodes < MANY { nodes } else { MOST_NODES }];
            sums.truncate(nodes);
            sums
        };
        Self { own: zeros(), total: zeros(), base: zeros() }
    }

    pub const fn len(&self) -> usize {
        self.own.len()
    }

    pub fn push(&mut self) {
        for sums in [&mut self.own, &mut self.total, &mut self.base] {
            make_room(sums);
            sums.push(0);
        }
    }

    /// A node's own value becomes its total, and what it grew by where that is asked for.
    pub fn begin_total(&mut self, node: usize, compare: Compare) {
        let (own, base) = (&mut self.own[node], self.base[node]);
        // A map that was cleared in between begins anew.
        if compare == Compare::Growth && *own >= base {
            *own -= base;
        }
        self.total[node] = *own;
    }

    pub fn pass_up(&mut self, node: usize, parent: usize, compare: Compare) {
        self.total[parent] = self.total[parent].saturating_add(self.total[node]);
        if compare != Compare::Nothing {
            self.base[parent] = self.base[parent].saturating_add(self.base[node]);
        }
    }
}

/// A node's value; nodes that are younger than the reading have none.
pub(super) fn of_node(sums: &[u64], node: NodeId) -> u64 {
    sums.get(node as usize).copied().unwrap_or(0)
}

/// How far a reading is added up: its own values come first, then what is passed on to the nodes above.
#[derive(Clone, Copy, Debug)]
pub(super) enum Adding {
    Own(usize),
    Up(usize),
}
