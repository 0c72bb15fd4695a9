//! Where the verifier compares states exactly, because a loop is open.
//!
//! A state is like one that was seen when what it knows is within what was known then, and registers and stack words that
//! nothing reads any more do not count. In a loop that is not so: an iteration that only seems to be like another could
//! hide that the loop has no end, or that a later iteration does harm. From the first `bpf_iter_num_next` to
//! `bpf_iter_num_destroy`, and in a callback that a helper calls again and again, the verifier compares everything,
//! what is dead, too ("bpf: exact states comparison for iterator convergence checks", commit 2793a8b015f7 of 6.7, for
//! callbacks ab5cfac139ab of 6.7; `states_equal` with `RANGE_WITHIN` since 4f81c16f50ba; kernel/bpf/verifier.c).
//!
//! Iterators that may be open are found by the flow of the code: a path that `break` takes out of an iteration still has
//! it open up to its end.

use std::collections::HashMap;

use crate::codegen::cfg::{BitSet, reverse_postorder};
use crate::codegen::ir::{Address, Callee, Function, Inst, Isa, Operand, Slot, Vreg};

/// The kernel function at the head of an iterator's loop.
pub const NEXT: &str = "bpf_iter_num_next";
/// The kernel function behind it.
pub const DESTROY: &str = "bpf_iter_num_destroy";

/// The loops that are open at the start of each block.
#[derive(Debug)]
pub struct OpenLoops {
    /// Iterators, by their slots; empty when the function has none.
    iterators: Vec<BitSet>,
    in_callback: bool,
}

/// The loops that are open at a point.
#[derive(Clone, Debug)]
pub struct Open {
    /// By their slots; `None` in functions without any.
    iterators: Option<BitSet>,
    in_callback: bool,
    /// Which slot's address a register of this block holds.
    addresses: HashMap<Vreg, Slot>,
}

/// Whether the verifier explores a function again for each state that an iteration of a loop may begin with, because it is
/// the loop's body. Before 6.7 it looked at it once.
#[must_use]
pub const fn is_explored_body(function: &Function, isa: Isa) -> bool {
    function.is_loop_body && !isa.callback_verified_once
}

impl OpenLoops {
    /// Looks through all of a function.
    #[must_use]
    pub fn of(function: &Function, isa: Isa) -> Self {
        let in_callback = is_explored_body(function, isa);
        let iterates = |inst: &Inst| matches!(inst, Inst::Call { callee: Callee::Kfunc(NEXT), .. });
        if !function.blocks.iter().flat_map(|b| &b.instructions).any(|(inst, _)| iterates(inst)) {
            return Self { iterators: Vec::new(), in_callback };
        }
        let mut this = Self { iterators: vec![BitSet::new(function.slots.len()); function.blocks.len()], in_callback };
        let order = reverse_postorder(function);
        let mut changed = true;
        while changed {
            changed = false;
            for block in &order {
                let body = &function.blocks[block.0 as usize];
                let mut open = this.at_start(block.0 as usize);
                body.instructions.iter().for_each(|(inst, _)| open.pass(inst));
                let Some(open) = open.iterators else { continue };
                for next in body.terminator.successors().into_iter().flatten() {
                    let before = this.iterators[next.0 as usize].clone();
                    this.iterators[next.0 as usize].union(&open);
                    changed |= before != this.iterators[next.0 as usize];
                }
            }
        }
        this
    }

    /// What is open at the start of a block.
    #[must_use]
    pub fn at_start(&self, block: usize) -> Open {
        let iterators = self.iterators.get(block).cloned();
        Open { iterators, in_callback: self.in_callback, addresses: HashMap::new() }
    }
}

impl Open {
    /// Goes on behind an instruction.
    pub fn pass(&mut self, inst: &Inst) {
        let Some(iterators) = &mut self.iterators else { return };
        match inst {
            Inst::Address { dst, of: Address::Slot(slot, 0) } => {
                self.addresses.insert(*dst, *slot);
            }
            Inst::Call { callee: Callee::Kfunc(name), args, .. } => {
                let Some(Operand::Reg(address)) = args.first() else { return };
                let Some(slot) = self.addresses.get(address) else { return };
                match *name {
                    NEXT => iterators.insert(slot.0),
                    DESTROY => iterators.remove(slot.0),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Whether an iterator of this function is open.
    #[must_use]
    pub fn iterates(&self) -> bool {
        self.iterators.as_ref().is_some_and(|open| open.iter().next().is_some())
    }

    /// Whether states are compared exactly here.
    #[must_use]
    pub fn any(&self) -> bool {
        self.in_callback || self.iterates()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::ir::{Cond, Linkage};

    /// A loop that one of its paths leaves by `break`; what is open at the starts of its blocks.
    #[test]
    fn an_iterator_is_open_up_to_its_end_on_all_paths() {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
        let slot = b.new_slot(8);
        let [head, body, leaves, goes_on, done] = [(); 5].map(|()| b.new_block());
        b.jump(head);
        b.switch_to(head);
        let at = b.address(slot.at(0));
        let number = b.call(NEXT, &[at.into()]);
        b.branch(Cond::Ne, number, 0, body, done);
        b.switch_to(body);
        b.branch(Cond::Ne, Vreg::parameter(0), 0, leaves, goes_on);
        b.switch_to(leaves);
        b.jump(done);
        b.switch_to(goes_on);
        b.jump(head);
        b.switch_to(done);
        let at = b.address(slot.at(0));
        b.call_void(DESTROY, &[at.into()]);
        b.ret(0);
        let f = b.finish();
        let open = OpenLoops::of(&f, Isa::default());
        let open_at = |block: crate::codegen::ir::BlockId| open.at_start(block.0 as usize).any();
        assert_eq!([head, body, leaves, goes_on, done].map(open_at), [true; 5]);
        assert!(!open.at_start(0).any());
        let mut at_end = open.at_start(done.0 as usize);
        f.blocks[done.0 as usize].instructions.iter().for_each(|(inst, _)| at_end.pass(inst));
        assert!(!at_end.any());
    }
}
