//! Which registers are live where.

use super::bits::SparseSet;
use crate::codegen::ir::{BlockId, Function, Vreg};

/// Registers that are live across blocks, at each block's start and end.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Number of each register in the sets; `u32::MAX` for those that live in one block only.
    numbers: Vec<u32>,
    vregs: Vec<Vreg>,
    live_in: Vec<SparseSet>,
    live_out: Vec<SparseSet>,
}

impl Liveness {
    /// Live registers of every block in `order`.
    #[must_use]
    pub fn compute(function: &Function, order: &[BlockId]) -> Self {
        let (numbers, vregs) = number_globals(function, order);
        let blocks = function.blocks.len();
        let mut this = Self {
            live_in: vec![SparseSet::default(); blocks],
            live_out: vec![SparseSet::default(); blocks],
            numbers,
            vregs,
        };
        let mut defined = vec![SparseSet::default(); blocks];
        for block in order {
            let (gen_set, kill) = this.block_effects(function, *block);
            this.live_in[block.0 as usize] = gen_set;
            defined[block.0 as usize] = kill;
        }
        this.solve(function, order, &defined);
        this
    }

    fn block_effects(&self, function: &Function, block: BlockId) -> (SparseSet, SparseSet) {
        let (mut used, mut defined) = (SparseSet::default(), SparseSet::default());
        let block = &function.blocks[block.0 as usize];
        let mut use_one = |v: Vreg, defined: &SparseSet| {
            let n = self.numbers[v.0 as usize];
            if n != u32::MAX && !defined.contains(n) {
                used.insert(n);
            }
        };
        for (inst, _) in &block.instructions {
            inst.for_each_use(|&v| use_one(v, &defined));
            if let Some(n) = inst.dst().map(|v| self.numbers[v.0 as usize]).filter(|n| *n != u32::MAX) {
                defined.insert(n);
            }
        }
        block.terminator.for_each_use(|&v| use_one(v, &defined));
        (used, defined)
    }

    fn solve(&mut self, function: &Function, order: &[BlockId], defined: &[SparseSet]) {
        let none = SparseSet::default();
        let mut changed = true;
        while changed {
            changed = false;
            for block in order.iter().rev() {
                let at = block.0 as usize;
                let mut grew = false;
                for next in function.blocks[at].terminator.successors().into_iter().flatten() {
                    grew |= self.live_out[at].union(&self.live_in[next.0 as usize], &none);
                }
                if grew {
                    changed |= self.live_in[at].union(&self.live_out[at], &defined[at]);
                }
            }
        }
    }

    /// Registers that hold a needed value when `block` ends.
    pub fn live_out(&self, block: BlockId) -> impl Iterator<Item = Vreg> + '_ {
        self.live_out[block.0 as usize].iter().map(|n| self.vregs[n as usize])
    }

    /// Registers that hold a needed value when `block` starts.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Vreg> + '_ {
        self.live_in[block.0 as usize].iter().map(|n| self.vregs[n as usize])
    }
}

/// Numbers the registers that are read in a block before that block writes them.
fn number_globals(function: &Function, order: &[BlockId]) -> (Vec<u32>, Vec<Vreg>) {
    let mut numbers = vec![u32::MAX; function.vregs as usize];
    let mut vregs = Vec::new();
    let mut defined_in = vec![u32::MAX; function.vregs as usize];
    for block in order {
        let mut see = |v: Vreg, defined_in: &[u32]| {
            if defined_in[v.0 as usize] != block.0 && numbers[v.0 as usize] == u32::MAX {
                numbers[v.0 as usize] = vregs.len() as u32;
                vregs.push(v);
            }
        };
        let body = &function.blocks[block.0 as usize];
        for (inst, _) in &body.instructions {
            inst.for_each_use(|&v| see(v, &defined_in));
            if let Some(dst) = inst.dst() {
                defined_in[dst.0 as usize] = block.0;
            }
        }
        body.terminator.for_each_use(|&v| see(v, &defined_in));
    }
    (numbers, vregs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::cfg::reverse_postorder;
    use crate::codegen::ir::{Cond, Linkage};

    #[test]
    fn a_loop_variable_is_live_around_the_loop() {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
        let i = b.copy(0);
        let [head, body, done] = b.new_blocks();
        b.jump(head);
        b.switch_to(head);
        b.branch(Cond::Lt, i, Vreg::parameter(0), body, done);
        b.switch_to(body);
        let next = b.add(i, 1);
        b.copy_into(i, next);
        b.jump(head);
        b.switch_to(done);
        b.ret(i);
        let f = b.finish();
        let order = reverse_postorder(&f);
        assert_eq!(order, [BlockId(0), head, body, done]);
        let live = Liveness::compute(&f, &order);
        assert_eq!(live.live_out(body).collect::<Vec<_>>(), [i, Vreg(0)]);
        assert_eq!(live.live_in(BlockId(0)).collect::<Vec<_>>(), [Vreg(0)]);
    }
}
