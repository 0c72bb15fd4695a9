//! The order of blocks, and which registers are live where.

use crate::codegen::ir::{BlockId, Function, Vreg};

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

/// Blocks that would run on into the one behind them where that closes a loop: an optimised loop may be entered
/// in its middle. Before Linux 6.8 the verifier takes an edge back from a jump alone (`push_insn` in `check_cfg`,
/// kernel/bpf/verifier.c, whose walk this is).
#[must_use]
pub fn runs_on_backwards(function: &Function, order: &[BlockId]) -> Vec<BlockId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Entered,
        Left,
    }
    let mut behind = vec![None; function.blocks.len()];
    for pair in order.windows(2) {
        behind[pair[0].0 as usize] = Some(pair[1]);
    }
    let mut seen = vec![Seen::Never; function.blocks.len()];
    let mut found = Vec::new();
    let mut stack = vec![(BlockId(0), 0_usize)];
    seen[0] = Seen::Entered;
    while let Some((block, followed)) = stack.last_mut() {
        let block = *block;
        let terminator = &function.blocks[block.0 as usize].terminator;
        let mut targets: Vec<BlockId> = terminator.successors().into_iter().flatten().collect();
        let next = behind[block.0 as usize];
        // The path that no jump takes comes first.
        if targets.first().copied() != next {
            targets.reverse();
        }
        let Some(target) = targets.get(*followed).copied() else {
            seen[block.0 as usize] = Seen::Left;
            stack.pop();
            continue;
        };
        *followed += 1;
        match seen[target.0 as usize] {
            Seen::Never => {
                seen[target.0 as usize] = Seen::Entered;
                stack.push((target, 0));
            }
            Seen::Entered if targets.len() == 1 && Some(target) == next => found.push(block),
            Seen::Entered | Seen::Left => {}
        }
    }
    found
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

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set for numbers below `size`.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    /// One more than the largest number that it can hold.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.0.len() as u32 * 64
    }

    /// Adds a number.
    pub fn insert(&mut self, i: u32) {
        self.0[i as usize / 64] |= 1 << (i % 64);
    }

    /// Takes a number out.
    pub fn remove(&mut self, i: u32) {
        self.0[i as usize / 64] &= !(1 << (i % 64));
    }

    /// Whether it holds a number.
    #[must_use]
    pub fn contains(&self, i: u32) -> bool {
        self.0[i as usize / 64] & (1 << (i % 64)) != 0
    }

    /// Adds all of `other`, which holds no larger numbers.
    pub fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// All numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| numbers_of(word as u32, *bits))
    }

    /// Any number in `start..end`.
    #[must_use]
    pub fn any_in(&self, start: u32, end: u32) -> bool {
        masks(start, end).any(|(word, mask)| self.0[word] & mask != 0)
    }

    /// Adds `start..end`.
    pub fn insert_range(&mut self, start: u32, end: u32) {
        let mut word = start as usize / 64;
        let mut at = start;
        while at < end {
            let stop = end.min((word as u32 + 1) * 64);
            self.0[word] |= mask(at, stop);
            at = stop;
            word += 1;
        }
    }
}

/// The numbers that one word of a set stands for, ascending.
fn numbers_of(word: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            word * 64 + bit
        })
    })
}

/// A set of few numbers out of many, ascending: those of its words that are not zero. Long programs
/// have as many blocks as registers, and each block knows a few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SparseSet(Vec<(u32, u64)>);

impl SparseSet {
    fn place(&self, i: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(i / 64), |(word, _)| *word)
    }

    fn insert(&mut self, i: u32) {
        let bit = 1 << (i % 64);
        match self.place(i) {
            Ok(at) => self.0[at].1 |= bit,
            Err(at) => self.0.insert(at, (i / 64, bit)),
        }
    }

    fn contains(&self, i: u32) -> bool {
        self.place(i).is_ok_and(|at| self.0[at].1 & (1 << (i % 64)) != 0)
    }

    /// Adds all of `other` that is not in `without`; true when that changed something.
    fn union(&mut self, other: &Self, without: &Self) -> bool {
        let (mut changed, mut at, mut skipped) = (false, 0, 0);
        for (word, bits) in &other.0 {
            skipped += without.0[skipped..].iter().take_while(|(w, _)| w < word).count();
            let barred = without.0.get(skipped).filter(|(w, _)| w == word).map_or(0, |(_, bits)| *bits);
            let add = bits & !barred;
            if add == 0 {
                continue;
            }
            at += self.0[at..].iter().take_while(|(w, _)| w < word).count();
            match self.0.get_mut(at) {
                Some((w, own)) if w == word => {
                    changed |= add & !*own != 0;
                    *own |= add;
                }
                _ => {
                    self.0.insert(at, (*word, add));
                    changed = true;
                }
            }
        }
        changed
    }

    /// All numbers, ascending.
    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(word, bits)| numbers_of(*word, *bits))
    }
}

/// The words that hold `start..end`, each with the bits of it.
fn masks(start: u32, end: u32) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (start / 64, end.div_ceil(64));
    (first..last).map(move |word| (word as usize, mask(start.max(word * 64), end.min((word + 1) * 64))))
}

/// Bits `start..end` of the word that holds `start`.
const fn mask(start: u32, end: u32) -> u64 {
    let length = end - start;
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    ones << (start % 64)
}

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
            inst.for_each_use(|v| use_one(v, &defined));
            if let Some(n) = inst.dst().map(|v| self.numbers[v.0 as usize]).filter(|n| *n != u32::MAX) {
                defined.insert(n);
            }
        }
        block.terminator.for_each_use(|v| use_one(v, &defined));
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
            inst.for_each_use(|v| see(v, &defined_in));
            if let Some(dst) = inst.dst() {
                defined_in[dst.0 as usize] = block.0;
            }
        }
        body.terminator.for_each_use(|v| see(v, &defined_in));
    }
    (numbers, vregs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::ir::{Cond, Linkage};

    #[test]
    fn ranges_cross_words() {
        let mut set = BitSet::new(256);
        set.insert_range(60, 200);
        assert!(!set.any_in(0, 60) && set.any_in(0, 61) && set.any_in(199, 256) && !set.any_in(200, 256));
        assert_eq!(set.iter().count(), 140);
    }

    #[test]
    fn a_loop_variable_is_live_around_the_loop() {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
        let i = b.imm(0);
        let (head, body, done) = (b.new_block(), b.new_block(), b.new_block());
        b.jump(head);
        b.switch_to(head);
        b.branch(Cond::Lt, i, b.parameter(0), body, done);
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

    #[test]
    fn a_loop_entered_in_its_middle_is_closed_by_a_jump() {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
        let (other, head, middle, done) = (b.new_block(), b.new_block(), b.new_block(), b.new_block());
        b.branch(Cond::Lt, b.parameter(0), 1, other, head);
        b.switch_to(other);
        b.jump(middle);
        b.switch_to(head);
        b.jump(middle);
        b.switch_to(middle);
        b.branch(Cond::Lt, b.parameter(0), 5, head, done);
        b.switch_to(done);
        b.ret(0);
        let f = b.finish();
        let order = reverse_postorder(&f);
        assert_eq!(order, [BlockId(0), other, head, middle, done]);
        assert_eq!(runs_on_backwards(&f, &order), [head]);
    }
}
