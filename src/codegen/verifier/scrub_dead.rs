//! What an iteration of a numeric iterator leaves behind in registers and in the slots of spilled values.
//!
//! The verifier tells iterations of such a loop apart by all that they leave, whether or not anything reads it again
//! (`states_equal` with `RANGE_WITHIN`, kernel/bpf/verifier.c; measured on Linux 6.12 and 6.18): each path through
//! the body that leaves other values behind is one more start of an iteration, from which all paths through the body
//! are followed again. Where these are many it never comes to an end. So whatever nobody needs at the head of
//! the loop is made 0 there, and the iterations are alike.
//!
//! The same holds for all places inside of a loop: paths that join are followed as one only where they
//! left nothing different. So whatever nobody needs is made 0 wherever paths join: the branches in a loop then add
//! up, and do not multiply. The end of a loop inside of another, to which its iterations lead on many paths, is such a
//! place, and so is all of a callback that the verifier follows iteration by iteration.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::codegen::ir::{Address, Callee, Function, Inst, Slot, Vreg};

use super::open_loops::{DESTROY, NEXT};
use crate::codegen::backend::insn::Reg;
use crate::codegen::backend::regs::Allocation;
use crate::codegen::cfg::{Flow, Liveness, StackLiveness};

/// The registers that calls leave alone.
const KEPT: std::ops::RangeInclusive<u8> = 6..=9;
/// The register of results: a number, an address or nothing, as the last call of an iteration left it. The other
/// registers that calls clobber hold nothing at the first head, right behind `bpf_iter_num_new`, and what holds
/// nothing there is like anything that an iteration leaves.
const RESULT: Reg = Reg(0);

/// A place with a value that nobody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadPlace {
    /// A register.
    Register(Reg),
    /// A slot of one word.
    Slot(Slot),
}

/// A call's block and its place in it.
type Place = (usize, usize);

/// For each head of a loop, for each end of one inside of another, and for each place where paths join: what is
/// left behind there.
#[derive(Clone, Debug, Default)]
pub struct DeadPlaces(HashMap<Place, BTreeSet<DeadPlace>>);

impl DeadPlaces {
    /// Looks through all of a function whose registers have their places, and which the verifier may explore as the body
    /// of a loop.
    #[must_use]
    pub fn of(function: &Function, allocation: &Allocation, is_explored_body: bool) -> Self {
        let of = |name| -> Vec<Place> {
            allocation.order.iter().flat_map(|block| calls(function, block.0 as usize, name)).collect()
        };
        let heads = of(NEXT);
        if heads.is_empty() && !is_explored_body {
            return Self::default();
        }
        let context = Context::of(function, allocation);
        let mut bodies: Vec<HashSet<usize>> = heads.iter().map(|head| context.flow.loop_of(head.0)).collect();
        let mut found = Self::default();
        for (head, body) in heads.iter().zip(&bodies) {
            found.add(*head, context.at_head(*head, body));
        }
        if is_explored_body {
            bodies.push(context.flow.order().iter().copied().collect());
        }
        for end in of(DESTROY) {
            let around = blocks_around(end.0, &bodies);
            found.add(end, context.not_needed(end, &context.written(&around)).0);
        }
        for join in context.flow.joins() {
            let around = blocks_around(join, &bodies);
            if !around.is_empty() && !heads.iter().any(|head| head.0 == join) {
                found.add((join, 0), context.at_join(join, &around));
            }
        }
        found
    }

    fn add(&mut self, place: Place, left: BTreeSet<DeadPlace>) {
        self.0.entry(place).or_default().extend(left);
    }

    /// What to make 0 before the instruction `index` of a block, or before its end.
    pub fn before(&self, block: usize, index: usize) -> impl Iterator<Item = DeadPlace> + '_ {
        self.0.get(&(block, index)).into_iter().flatten().copied()
    }
}

/// The blocks of all loops that a block is in.
fn blocks_around(block: usize, bodies: &[HashSet<usize>]) -> HashSet<usize> {
    bodies.iter().filter(|body| body.contains(&block)).flatten().copied().collect()
}

fn calls<'a>(function: &'a Function, block: usize, of: &'static str) -> impl Iterator<Item = Place> + 'a {
    let instructions = function.blocks[block].instructions.iter().enumerate();
    let called = move |inst: &Inst| matches!(inst, Inst::Call { callee: Callee::Kfunc(name), .. } if *name == of);
    instructions.filter(move |(_, (inst, _))| called(inst)).map(move |(index, _)| (block, index))
}

struct Context<'a> {
    function: &'a Function,
    allocation: &'a Allocation,
    flow: Flow,
    live: Liveness,
    live_slots: StackLiveness<'a>,
    /// Slots of one word that no instruction takes the address of.
    words: Vec<bool>,
}

impl<'a> Context<'a> {
    fn of(function: &'a Function, allocation: &'a Allocation) -> Self {
        let mut words: Vec<bool> = function.slots.iter().map(|size| *size <= 8).collect();
        for (inst, _) in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Inst::Address { of: Address::Slot(slot, _), .. } = inst {
                words[slot.0 as usize] = false;
            }
        }
        Self {
            function,
            allocation,
            flow: Flow::of(function, &allocation.order),
            live: Liveness::compute(function, &allocation.order),
            live_slots: StackLiveness::compute(function, &allocation.order),
            words,
        }
    }

    fn at_head(&self, head: Place, body: &HashSet<usize>) -> BTreeSet<DeadPlace> {
        let written = self.written(body);
        let (mut places, kept) = self.not_needed(head, &written);
        // Iterations that hand nothing on are alike soon enough.
        if places.len() < written.len() && !kept.contains(&RESULT) {
            places.insert(DeadPlace::Register(RESULT));
        }
        places
    }

    /// Where paths join; `around` are the blocks of the loops that it is in. The registers that calls clobber are
    /// the same behind the next one, so that they matter only where the block has none.
    fn at_join(&self, block: usize, around: &HashSet<usize>) -> BTreeSet<DeadPlace> {
        let mut written = self.written(around);
        if !self.function.blocks[block].instructions.iter().any(|(inst, _)| inst.is_call()) {
            written.extend(self.defined(around).map(DeadPlace::Register));
        }
        self.not_needed((block, 0), &written).0
    }

    /// The registers that these blocks write.
    fn defined(&self, blocks: &HashSet<usize>) -> impl Iterator<Item = Reg> {
        let written = blocks.iter().flat_map(|b| &self.function.blocks[*b].instructions);
        let dst = written.filter_map(|(inst, _)| inst.dst()).filter(|dst| self.allocation.is_live(*dst));
        dst.map(|dst| self.allocation.register(dst))
    }

    /// Which of these places nobody needs before a call, with the registers that somebody does.
    fn not_needed(&self, call: Place, written: &BTreeSet<DeadPlace>) -> (BTreeSet<DeadPlace>, HashSet<Reg>) {
        let block = &self.function.blocks[call.0];
        let mut live: HashSet<Vreg> = self.live.live_out(crate::codegen::ir::BlockId(call.0 as u32)).collect();
        let slots = self.live_slots.live_before(call.0, call.1);
        block.terminator.for_each_use(|&v| {
            live.insert(v);
        });
        for (inst, _) in block.instructions[call.1..].iter().rev() {
            if let Some(dst) = inst.dst() {
                live.remove(&dst);
            }
            inst.for_each_use(|&v| {
                live.insert(v);
            });
        }
        let kept: HashSet<Reg> = live.into_iter().map(|v| self.allocation.register(v)).collect();
        let needless = |place: &&DeadPlace| match place {
            DeadPlace::Register(reg) => !kept.contains(reg),
            DeadPlace::Slot(slot) => !slots.contains(slot.0),
        };
        (written.iter().filter(needless).copied().collect(), kept)
    }

    /// The places that these blocks write and that keep what they hold over calls.
    fn written(&self, blocks: &HashSet<usize>) -> BTreeSet<DeadPlace> {
        let kept = self.defined(blocks).filter(|reg| KEPT.contains(&reg.0));
        let mut found: BTreeSet<DeadPlace> = kept.map(DeadPlace::Register).collect();
        for (inst, _) in blocks.iter().flat_map(|b| &self.function.blocks[*b].instructions) {
            match inst {
                Inst::SlotStore { slot, .. } if self.words[slot.0 as usize] => {
                    found.insert(DeadPlace::Slot(*slot));
                }
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::backend::{legal, regs};
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::ir::{Cond, Linkage};

    const RANDOM: u32 = 7;

    /// A loop whose body keeps `calls` numbers over a call, beside one that is kept over all iterations. The last
    /// call's result is one too.
    fn scrub_dead(calls: u32) -> Vec<DeadPlace> {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 0);
        let iterator = b.new_slot(8);
        let kept = b.call(RANDOM, &[]);
        let [head, body, done] = b.new_blocks();
        b.jump(head);
        b.switch_to(head);
        let at = b.address(iterator.at(0));
        let number = b.call(NEXT, &[at.into()]);
        b.branch(Cond::Ne, number, 0, body, done);
        b.switch_to(body);
        let numbers: Vec<Vreg> = (0..calls).map(|_| b.call(RANDOM, &[])).collect();
        for n in numbers {
            b.alu_into(kept, crate::codegen::ir::Alu::Xor, crate::codegen::ir::Width::W64, kept, n);
        }
        b.jump(head);
        b.switch_to(done);
        b.ret(kept);
        before_first(b.finish(), NEXT)
    }

    /// What is made 0 before the first call of a kernel function.
    fn before_first(mut function: Function, name: &'static str) -> Vec<DeadPlace> {
        legal::initialise(&mut function);
        legal::legalise(&mut function);
        let allocation = regs::allocate(&mut function).unwrap();
        let (block, index) = (0..function.blocks.len()).flat_map(|at| calls(&function, at, name)).next().unwrap();
        DeadPlaces::of(&function, &allocation, false).before(block, index).collect()
    }

    #[test]
    fn what_an_iteration_keeps_for_itself_is_dead_at_the_head() {
        let found = scrub_dead(3);
        let registers = found.iter().filter(|place| matches!(place, DeadPlace::Register(_))).count();
        assert_eq!((registers, found.len()), (3, 3), "two numbers live across a call, the sum is kept: {found:?}");
        let found = scrub_dead(12);
        let slots = found.iter().filter(|place| matches!(place, DeadPlace::Slot(_))).count();
        assert!(slots > 0 && slots < 12, "{found:?}");
    }

    #[test]
    fn what_all_iterations_need_is_not() {
        assert_eq!(scrub_dead(0), []);
        let found = scrub_dead(1);
        assert_eq!(found, [DeadPlace::Register(RESULT)], "one number lives across no call, and the sum is handed on");
    }

    /// A loop, in another or alone, whose body keeps two numbers over a call and leaves on a path of its own.
    fn left_at_the_end(nested: bool) -> Vec<DeadPlace> {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 0);
        let (outer, inner) = (b.new_slot(8), b.new_slot(8));
        let [head, body, again, iteration, done, out] = [(); 6].map(|()| b.new_block());
        b.jump(head);
        b.switch_to(head);
        let at = b.address(outer.at(0));
        let number = if nested { b.call(NEXT, &[at.into()]) } else { b.call(RANDOM, &[]) };
        b.branch(Cond::Ne, number, 0, body, out);
        b.switch_to(body);
        b.jump(again);
        b.switch_to(again);
        let at = b.address(inner.at(0));
        let number = b.call(NEXT, &[at.into()]);
        b.branch(Cond::Ne, number, 0, iteration, done);
        b.switch_to(iteration);
        let (x, y) = (b.call(RANDOM, &[]), b.call(RANDOM, &[]));
        let z = b.call(RANDOM, &[]);
        let sum = b.add(x, y);
        b.branch(Cond::Eq, sum, z, again, done);
        b.switch_to(done);
        let at = b.address(inner.at(0));
        b.call_void(DESTROY, &[at.into()]);
        b.jump(if nested { head } else { out });
        b.switch_to(out);
        b.ret(0);
        before_first(b.finish(), DESTROY)
    }

    #[test]
    fn a_loop_in_a_loop_leaves_nothing_at_its_end() {
        let found = left_at_the_end(true);
        assert!(found.len() >= 2 && found.iter().all(|p| matches!(p, DeadPlace::Register(_))), "{found:?}");
        assert_eq!(left_at_the_end(false), [], "what comes behind a loop of the program is followed to its end");
    }
}
