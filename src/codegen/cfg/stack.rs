//! Which words of the stack are live where.

use super::BitSet;
use crate::codegen::ir::{BlockId, Function, Inst, Size, Slot};

/// The slots of one word that some path reads before it writes them, at the start of each block. What has an address
/// counts as any other slot: nobody asks for it.
#[derive(Clone, Debug)]
pub struct StackLiveness<'a> {
    function: &'a Function,
    live_in: Vec<BitSet>,
}

impl<'a> StackLiveness<'a> {
    /// Live slots of every block in `order`.
    #[must_use]
    pub fn compute(function: &'a Function, order: &[BlockId]) -> Self {
        let live_in = vec![BitSet::new(function.slots.len()); function.blocks.len()];
        let mut this = Self { function, live_in };
        let mut changed = true;
        while changed {
            changed = false;
            for block in order.iter().rev() {
                let at = block.0 as usize;
                let live = this.live_before(at, 0);
                if live != this.live_in[at] {
                    this.live_in[at] = live;
                    changed = true;
                }
            }
        }
        this
    }

    /// Live slots before the instruction `index` of a block.
    #[must_use]
    pub fn live_before(&self, block: usize, index: usize) -> BitSet {
        let body = &self.function.blocks[block];
        let mut live = BitSet::new(self.function.slots.len());
        for next in body.terminator.successors().into_iter().flatten() {
            live.union(&self.live_in[next.0 as usize]);
        }
        for (inst, _) in body.instructions[index..].iter().rev() {
            match inst {
                Inst::SlotLoad { slot, .. } => live.insert(slot.0),
                Inst::SlotStore { slot, offset: 0, size: Size::B8, .. } if self.is_word(*slot) => live.remove(slot.0),
                _ => {}
            }
        }
        live
    }

    fn is_word(&self, slot: Slot) -> bool {
        self.function.slots[slot.0 as usize] <= 8
    }
}
