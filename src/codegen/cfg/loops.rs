//! How blocks follow each other: predecessors, joins and loops.

use std::collections::HashSet;

use crate::codegen::ir::{BlockId, Function};

/// The flow between the blocks of a function that can be reached.
#[derive(Clone, Debug)]
pub struct Flow {
    order: Vec<usize>,
    /// Place of each block in the order; `usize::MAX` for those that are not reached.
    places: Vec<usize>,
    predecessors: Vec<Vec<usize>>,
}

impl Flow {
    /// That of the blocks in `order`.
    #[must_use]
    pub fn of(function: &Function, order: &[BlockId]) -> Self {
        let order: Vec<usize> = order.iter().map(|block| block.0 as usize).collect();
        let mut places = vec![usize::MAX; function.blocks.len()];
        let mut predecessors = vec![Vec::new(); function.blocks.len()];
        for (place, block) in order.iter().enumerate() {
            places[*block] = place;
            for next in function.blocks[*block].terminator.successors().into_iter().flatten() {
                predecessors[next.0 as usize].push(*block);
            }
        }
        Self { order, places, predecessors }
    }

    /// All blocks, in order.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The blocks where paths join.
    pub fn joins(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied().filter(|block| self.predecessors[*block].len() > 1)
    }

    /// The blocks of the loop with this head.
    #[must_use]
    pub fn loop_of(&self, head: usize) -> HashSet<usize> {
        let later = |block: &usize| self.places[*block] >= self.places[head];
        let mut seen: HashSet<usize> = [head].into();
        let mut open: Vec<usize> = self.predecessors[head].iter().copied().filter(later).collect();
        while let Some(block) = open.pop() {
            if seen.insert(block) {
                open.extend(&self.predecessors[block]);
            }
        }
        seen
    }
}
