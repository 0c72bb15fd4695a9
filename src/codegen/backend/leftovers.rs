//! What a round of a numeric iterator leaves behind in registers and in the slots of spilled values.
//!
//! The verifier tells rounds of such a loop apart by all that they leave, whether or not anything reads it again
//! (`states_equal` with `RANGE_WITHIN`, kernel/bpf/verifier.c; measured on Linux 6.12 and 6.18): each way through
//! the body that leaves other values behind is one more start of a round, from which all ways through the body
//! are followed again. Where these are many it never comes to an end. So whatever nobody needs at the head of
//! the loop is made 0 there, and the rounds are alike.

use std::collections::{BTreeSet, HashSet};

use crate::codegen::ir::{Function, Inst, Size, Slot, Vreg};

use super::flow::{BitSet, Liveness};
use super::insn::Reg;
use super::regs::Allocation;

/// The kernel function at the head of an iterator's loop.
const NEXT: &str = "bpf_iter_num_next";
/// The registers that calls leave alone.
const KEPT: std::ops::RangeInclusive<u8> = 6..=9;
/// The register of results: a number, an address or nothing, as the last call of a round left it. The other
/// registers that calls clobber hold nothing at the first head, right behind `bpf_iter_num_new`, and what holds
/// nothing there is like anything that a round leaves.
const RESULT: Reg = Reg(0);

/// A place with a value that nobody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// A register.
    Register(Reg),
    /// A slot of one word.
    Slot(Slot),
}

/// For each head of a loop, its block and the place of the call in it: what rounds leave behind there.
#[derive(Clone, Debug, Default)]
pub struct Leftovers(Vec<((usize, usize), Vec<Leftover>)>);

impl Leftovers {
    /// Looks through all of a function whose registers have their places.
    #[must_use]
    pub fn of(function: &Function, allocation: &Allocation) -> Self {
        let heads: Vec<(usize, usize)> =
            allocation.order.iter().map(|b| b.0 as usize).flat_map(|b| calls(function, b)).collect();
        if heads.is_empty() {
            return Self::default();
        }
        let context = Context::of(function, allocation);
        Self(heads.into_iter().map(|head| (head, context.at(head))).collect())
    }

    /// What to make 0 before the instruction `index` of a block.
    #[must_use]
    pub fn before(&self, block: usize, index: usize) -> &[Leftover] {
        self.0.iter().find(|(at, _)| *at == (block, index)).map_or(&[], |(_, places)| places)
    }
}

fn calls(function: &Function, block: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let instructions = function.blocks[block].instructions.iter().enumerate();
    let next = |inst: &Inst| matches!(inst, Inst::CallKfunc { name, .. } if *name == NEXT);
    instructions.filter(move |(_, (inst, _))| next(inst)).map(move |(index, _)| (block, index))
}

struct Context<'a> {
    function: &'a Function,
    allocation: &'a Allocation,
    live: Liveness,
    /// Slots of one word that no instruction takes the address of.
    words: Vec<bool>,
    /// Such slots that are needed at the start of each block.
    needed: Vec<BitSet>,
    /// Place of each block in the order; `usize::MAX` for those that are not reached.
    places: Vec<usize>,
    before: Vec<Vec<usize>>,
}

impl<'a> Context<'a> {
    fn of(function: &'a Function, allocation: &'a Allocation) -> Self {
        let mut words: Vec<bool> = function.slots.iter().map(|size| *size <= 8).collect();
        for (inst, _) in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Inst::SlotAddr { slot, .. } = inst {
                words[slot.0 as usize] = false;
            }
        }
        let mut places = vec![usize::MAX; function.blocks.len()];
        let mut before = vec![Vec::new(); function.blocks.len()];
        for (place, block) in allocation.order.iter().enumerate() {
            places[block.0 as usize] = place;
            for next in function.blocks[block.0 as usize].terminator.successors().into_iter().flatten() {
                before[next.0 as usize].push(block.0 as usize);
            }
        }
        let live = Liveness::compute(function, &allocation.order);
        let needed = needed_slots(function, allocation);
        Self { function, allocation, live, words, needed, places, before }
    }

    fn at(&self, head: (usize, usize)) -> Vec<Leftover> {
        let mut places = self.written(&self.body(head.0));
        if places.is_empty() {
            return Vec::new();
        }
        let block = &self.function.blocks[head.0];
        let mut live: HashSet<Vreg> = self.live.live_out(crate::codegen::ir::BlockId(head.0 as u32)).collect();
        let mut slots = self.needed_after(head.0);
        block.terminator.for_each_use(|v| {
            live.insert(v);
        });
        for (inst, _) in block.instructions[head.1..].iter().rev() {
            if let Some(dst) = inst.dst() {
                live.remove(&dst);
            }
            inst.for_each_use(|v| {
                live.insert(v);
            });
            follow_slot(inst, &self.function.slots, &mut slots);
        }
        let kept: HashSet<Reg> = live.into_iter().map(|v| self.allocation.register(v)).collect();
        let written = places.len();
        places.retain(|place| match place {
            Leftover::Register(reg) => !kept.contains(reg),
            Leftover::Slot(slot) => !slots.contains(slot.0),
        });
        // Rounds that hand nothing on are alike soon enough.
        if places.len() < written && !kept.contains(&RESULT) {
            places.insert(Leftover::Register(RESULT));
        }
        places.into_iter().collect()
    }

    /// The blocks of the loop with this head.
    fn body(&self, head: usize) -> Vec<usize> {
        let later = |block: &usize| self.places[*block] >= self.places[head];
        let mut found = vec![head];
        let mut seen: HashSet<usize> = [head].into();
        let mut open: Vec<usize> = self.before[head].iter().copied().filter(later).collect();
        while let Some(block) = open.pop() {
            if seen.insert(block) {
                found.push(block);
                open.extend(&self.before[block]);
            }
        }
        found
    }

    /// The places that these blocks write.
    fn written(&self, blocks: &[usize]) -> BTreeSet<Leftover> {
        let mut found = BTreeSet::new();
        for (inst, _) in blocks.iter().flat_map(|b| &self.function.blocks[*b].instructions) {
            match inst {
                Inst::SlotStore { slot, .. } if self.words[slot.0 as usize] => {
                    found.insert(Leftover::Slot(*slot));
                }
                _ => {}
            }
            if let Some(dst) = inst.dst().filter(|dst| self.allocation.is_live(*dst)) {
                let reg = self.allocation.register(dst);
                if KEPT.contains(&reg.0) {
                    found.insert(Leftover::Register(reg));
                }
            }
        }
        found
    }

    fn needed_after(&self, block: usize) -> BitSet {
        let mut all = BitSet::new(self.function.slots.len());
        for next in self.function.blocks[block].terminator.successors().into_iter().flatten() {
            all.union(&self.needed[next.0 as usize]);
        }
        all
    }
}

/// The slots that some way reads, as they are at the start of each block. What has an address counts as
/// any other: nobody asks for it.
fn needed_slots(function: &Function, allocation: &Allocation) -> Vec<BitSet> {
    let mut needed = vec![BitSet::new(function.slots.len()); function.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in allocation.order.iter().rev() {
            let body = &function.blocks[block.0 as usize];
            let mut slots = BitSet::new(function.slots.len());
            for next in body.terminator.successors().into_iter().flatten() {
                slots.union(&needed[next.0 as usize]);
            }
            for (inst, _) in body.instructions.iter().rev() {
                follow_slot(inst, &function.slots, &mut slots);
            }
            if slots != needed[block.0 as usize] {
                needed[block.0 as usize] = slots;
                changed = true;
            }
        }
    }
    needed
}

/// Which slots are needed before an instruction, from those that are after it.
fn follow_slot(inst: &Inst, sizes: &[u32], needed: &mut BitSet) {
    match inst {
        Inst::SlotLoad { slot, .. } => needed.insert(slot.0),
        Inst::SlotStore { slot, offset: 0, size: Size::B8, .. } if sizes[slot.0 as usize] <= 8 => {
            needed.remove(slot.0);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::backend::{legal, regs};
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::ir::{Cond, Linkage};

    const RANDOM: u32 = 7;

    /// A loop whose body keeps `calls` numbers over a call, beside one that is kept over all rounds. The last
    /// call's result is one too.
    fn leftovers(calls: u32) -> Vec<Leftover> {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 0);
        let iterator = b.new_slot(8);
        let kept = b.call(RANDOM, &[]);
        let (head, body, done) = (b.new_block(), b.new_block(), b.new_block());
        b.jump(head);
        b.switch_to(head);
        let at = b.slot_addr(iterator, 0);
        let number = b.call_kfunc(NEXT, &[at.into()]);
        b.branch(Cond::Ne, number, 0, body, done);
        b.switch_to(body);
        let numbers: Vec<Vreg> = (0..calls).map(|_| b.call(RANDOM, &[])).collect();
        for n in numbers {
            b.alu_into(kept, crate::codegen::ir::Alu::Xor, crate::codegen::ir::Width::W64, kept, n);
        }
        b.jump(head);
        b.switch_to(done);
        b.ret(kept);
        let mut function = b.finish();
        legal::initialise(&mut function);
        legal::legalise(&mut function);
        let allocation = regs::allocate(&mut function).unwrap();
        let (block, index) = calls_of(&function);
        Leftovers::of(&function, &allocation).before(block, index).to_vec()
    }

    fn calls_of(function: &Function) -> (usize, usize) {
        (0..function.blocks.len()).flat_map(|block| calls(function, block)).next().unwrap()
    }

    #[test]
    fn what_a_round_keeps_for_itself_is_left_over() {
        let found = leftovers(3);
        let registers = found.iter().filter(|place| matches!(place, Leftover::Register(_))).count();
        assert_eq!((registers, found.len()), (3, 3), "two numbers live across a call, the sum is kept: {found:?}");
        let found = leftovers(12);
        let slots = found.iter().filter(|place| matches!(place, Leftover::Slot(_))).count();
        assert!(slots > 0 && slots < 12, "{found:?}");
    }

    #[test]
    fn what_all_rounds_need_is_not() {
        assert_eq!(leftovers(0), []);
        let found = leftovers(1);
        assert_eq!(found, [Leftover::Register(RESULT)], "one number lives across no call, and the sum is handed on");
    }
}
