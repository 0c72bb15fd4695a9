//! The flow of a function: the order of its blocks, where paths join, its loops, and which registers and stack words are
//! live where.

mod bits;
mod liveness;
mod loops;
mod stack;

use crate::codegen::ir::{BlockId, Function};

pub use bits::BitSet;
pub use liveness::Liveness;
pub use loops::Flow;
pub use stack::StackLiveness;

/// Blocks that can be reached, each before those that follow it (reverse postorder), so that a
/// branch's first target comes next.
#[must_use]
pub fn reverse_postorder(function: &Function) -> Vec<BlockId> {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::with_capacity(function.blocks.len());
    // Each entry: a block and how many of its paths were followed.
    let mut stack = vec![(BlockId(0), 0u8)];
    seen[0] = true;
    while let Some((block, followed)) = stack.last_mut() {
        let successors = function.blocks[block.0 as usize].terminator.successors();
        // The second path first: what is left last comes right after the block.
        let next = match *followed {
            0 => successors[1],
            1 => successors[0],
            _ => {
                order.push(*block);
                stack.pop();
                continue;
            }
        };
        *followed += 1;
        if let Some(next) = next.filter(|next| !seen[next.0 as usize]) {
            seen[next.0 as usize] = true;
            stack.push((next, 0));
        }
    }
    order.reverse();
    order
}

/// How many paths lead to each block; unreachable blocks lead nowhere.
#[must_use]
pub fn predecessor_counts(function: &Function, order: &[BlockId]) -> Vec<u32> {
    let mut counts = vec![0; function.blocks.len()];
    counts[0] = 1;
    for block in order {
        for next in function.blocks[block.0 as usize].terminator.successors().into_iter().flatten() {
            counts[next.0 as usize] += 1;
        }
    }
    counts
}
