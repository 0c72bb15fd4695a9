//! From where to where each register holds a needed value.
//!
//! Instructions and terminators are counted from 1 in the order of emission (0 is the entry). Each
//! has four points: operands are read until 4i, calls clobber at 4i+1, results appear at 4i+2.

use crate::codegen::ir::{BlockId, Function, Inst, Operand, Vreg};

use super::super::insn::Reg;
use super::super::legal::commutes;
use super::{for_each_end_hint, for_each_hint, read_late};
use crate::codegen::cfg::{BitSet, Liveness};

/// A register that would save a move.
#[derive(Clone, Copy, Debug)]
pub enum Hint {
    /// This machine register.
    Fixed(Reg),
    /// The one that this virtual register gets.
    Same(Vreg),
}

/// The lives of all registers of a function.
#[derive(Debug)]
pub struct Lives {
    /// Number of positions.
    pub positions: u32,
    /// Positions of calls.
    pub calls: Vec<u32>,
    /// Parameters whose value is needed.
    pub arriving: Vec<bool>,
    /// Positions of instructions that compute what nobody reads.
    pub dead: BitSet,
    ranges: Vec<Vec<(u32, u32)>>,
    weights: Vec<u32>,
    hints: Vec<Vec<(Hint, u32)>>,
    /// The register that stands for each after coalescing.
    leaders: Vec<u32>,
}

const NOT_LIVE: u32 = u32::MAX;

impl Lives {
    /// Goes through all blocks backwards.
    #[must_use]
    pub fn build(function: &Function, order: &[BlockId], live: &Liveness) -> Self {
        let count = |b: &BlockId| function.blocks[b.0 as usize].instructions.len() as u32 + 1;
        let positions = 1 + order.iter().map(count).sum::<u32>();
        let vregs = function.vregs as usize;
        let mut this = Self {
            positions,
            calls: Vec::new(),
            arriving: vec![false; function.parameters as usize],
            dead: BitSet::new(positions as usize),
            ranges: vec![Vec::new(); vregs],
            weights: vec![0; vregs],
            hints: vec![Vec::new(); vregs],
            leaders: (0..function.vregs).collect(),
        };
        let depths = loop_depths(function, order);
        let mut ends = vec![NOT_LIVE; vregs];
        let mut next = positions;
        for (index, block) in order.iter().enumerate().rev() {
            let first = next - count(block);
            for v in live.live_out(*block) {
                ends[v.0 as usize] = next * 4;
            }
            this.block(function, *block, first, 1 << (3 * depths[index].min(5)), &mut ends);
            for v in live.live_in(*block) {
                this.close(v, first * 4, &mut ends);
            }
            next = first;
        }
        this.parameters(function);
        this
    }

    fn block(&mut self, function: &Function, block: BlockId, first: u32, weight: u32, ends: &mut [u32]) {
        let body = &function.blocks[block.0 as usize];
        let mut position = first + body.instructions.len() as u32;
        body.terminator.for_each_use(|&v| self.read(v, position * 4 + 1, weight, ends));
        for_each_end_hint(&body.terminator, |v, hint| self.hints[v.0 as usize].push((hint, weight)));
        for (inst, _) in body.instructions.iter().rev() {
            position -= 1;
            if let Some(dst) = inst.dst() {
                if ends[dst.0 as usize] == NOT_LIVE {
                    if inst.is_pure() {
                        self.dead.insert(position);
                        continue;
                    }
                    ends[dst.0 as usize] = position * 4 + 3;
                }
                self.weights[dst.0 as usize] += weight;
                self.close(dst, position * 4 + 2, ends);
            }
            if inst.is_call() {
                self.calls.push(position);
            }
            if let Some(v) = read_late(inst) {
                self.read(v, position * 4 + 3, 0, ends);
            }
            inst.for_each_use(|&v| self.read(v, position * 4 + 1, weight, ends));
            for_each_hint(inst, |v, hint| self.hints[v.0 as usize].push((hint, weight)));
        }
    }

    fn read(&mut self, v: Vreg, until: u32, weight: u32, ends: &mut [u32]) {
        self.weights[v.0 as usize] += weight;
        if ends[v.0 as usize] == NOT_LIVE {
            ends[v.0 as usize] = until;
        }
    }

    fn close(&mut self, v: Vreg, start: u32, ends: &mut [u32]) {
        let end = std::mem::replace(&mut ends[v.0 as usize], NOT_LIVE);
        if end != NOT_LIVE {
            let ranges = &mut self.ranges[v.0 as usize];
            match ranges.last_mut() {
                Some((later, _)) if *later == end => *later = start,
                _ => ranges.push((start, end)),
            }
        }
    }

    /// Parameters arrive at position 0.
    fn parameters(&mut self, function: &Function) {
        for i in 0..function.parameters {
            if let Some((start, _)) = self.ranges[i as usize].last_mut()
                && *start == 4
            {
                *start = 2;
                self.arriving[i as usize] = true;
                self.weights[i as usize] += 1;
                self.hints[i as usize].push((Hint::Fixed(Reg(i as u8 + 1)), 1));
            }
        }
    }

    /// Joins the two sides of every copy whose lives do not overlap, except those in `apart`.
    pub fn coalesce(&mut self, function: &Function, order: &[BlockId], apart: &BitSet) {
        let apart = |v: &Vreg| v.0 < apart.capacity() && apart.contains(v.0);
        let mut position = 0;
        for block in order {
            for (inst, _) in &function.blocks[block.0 as usize].instructions {
                position += 1;
                if let Inst::Copy { dst, src: Operand::Reg(src) } = inst
                    && !self.dead.contains(position)
                    && !apart(dst)
                    && !apart(src)
                {
                    self.join(self.leader(*dst), self.leader(*src));
                }
            }
            position += 1;
        }
    }

    /// Joins each result with the operand that its instruction overwrites, when that one is not
    /// needed any more.
    pub fn coalesce_results(&mut self, function: &Function, order: &[BlockId], apart: &BitSet) {
        let apart = |v: Vreg| v.0 < apart.capacity() && apart.contains(v.0);
        let mut position = 0;
        for block in order {
            for (inst, _) in &function.blocks[block.0 as usize].instructions {
                position += 1;
                if self.dead.contains(position) {
                    continue;
                }
                let (dst, sources) = overwritten(inst);
                for src in sources.into_iter().flatten() {
                    if !apart(dst) && !apart(src) && self.join(self.leader(dst), self.leader(src)) {
                        break;
                    }
                }
            }
            position += 1;
        }
    }

    /// Makes one life of two that do not overlap; false when they do.
    fn join(&mut self, a: Vreg, b: Vreg) -> bool {
        if a == b {
            return true;
        }
        if overlap(&self.ranges[a.0 as usize], &self.ranges[b.0 as usize]) {
            return false;
        }
        let moved = std::mem::take(&mut self.ranges[b.0 as usize]);
        let all = &mut self.ranges[a.0 as usize];
        all.extend(moved);
        all.sort_unstable_by_key(|(start, _)| std::cmp::Reverse(*start));
        self.weights[a.0 as usize] += self.weights[b.0 as usize];
        let hints = std::mem::take(&mut self.hints[b.0 as usize]);
        self.hints[a.0 as usize].extend(hints);
        self.leaders[b.0 as usize] = a.0;
        true
    }

    /// The register that stands for `v`.
    #[must_use]
    pub fn leader(&self, v: Vreg) -> Vreg {
        let mut at = v.0;
        while self.leaders[at as usize] != at {
            at = self.leaders[at as usize];
        }
        Vreg(at)
    }

    /// Whether two leaders' values are needed at the same time.
    #[must_use]
    pub fn overlap(&self, a: Vreg, b: Vreg) -> bool {
        overlap(&self.ranges[a.0 as usize], &self.ranges[b.0 as usize])
    }

    /// The ranges of a leader's life, last first.
    #[must_use]
    pub fn ranges(&self, leader: Vreg) -> &[(u32, u32)] {
        &self.ranges[leader.0 as usize]
    }

    /// Whether the register itself is read or written by code that runs.
    #[must_use]
    pub fn occurs(&self, v: Vreg) -> bool {
        self.weights[v.0 as usize] > 0
    }

    /// What would save moves of a leader.
    pub fn hints(&self, leader: Vreg) -> impl Iterator<Item = (Hint, u32)> + '_ {
        self.hints[leader.0 as usize].iter().copied()
    }

    /// Leaders that are ever live: those for which `first` holds, then by uses per length.
    #[must_use]
    pub fn by_priority(&self, first: impl Fn(Vreg) -> bool) -> Vec<Vreg> {
        let mut keyed: Vec<(u64, u32)> = Vec::new();
        for (v, ranges) in self.ranges.iter().enumerate() {
            if !ranges.is_empty() {
                let length: u64 = ranges.iter().map(|(start, end)| u64::from(end - start)).sum();
                let density = (u64::from(self.weights[v]) << 20) / length.max(1);
                let key = if first(Vreg(v as u32)) { 0 } else { u64::MAX - density };
                keyed.push((key, v as u32));
            }
        }
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, v)| Vreg(v)).collect()
    }
}

/// The result of an instruction and the operands of which it may overwrite one.
fn overwritten(inst: &Inst) -> (Vreg, [Option<Vreg>; 2]) {
    match *inst {
        Inst::Unlinked { dst, src }
        | Inst::Neg { dst, src }
        | Inst::Extend { dst, src, .. }
        | Inst::Bswap { dst, src, .. }
        | Inst::AtomicFetch { dst, src, .. } => (dst, [Some(src), None]),
        Inst::Alu { op, dst, a: Operand::Reg(a), b: Operand::Reg(b), .. } if commutes(op) => (dst, [Some(a), Some(b)]),
        Inst::Alu { dst, a: Operand::Reg(a), .. } => (dst, [Some(a), None]),
        _ => (Vreg(0), [None, None]),
    }
}

/// Whether two lists of ranges, last first, share a point.
fn overlap(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.0 < y.1 && y.0 < x.1 {
            return true;
        }
        if x.0 >= y.1 { i += 1 } else { j += 1 }
    }
    false
}

/// How many loops each block of `order` is in, by the jumps that go back.
fn loop_depths(function: &Function, order: &[BlockId]) -> Vec<u32> {
    let mut place = vec![u32::MAX; function.blocks.len()];
    for (i, block) in order.iter().enumerate() {
        place[block.0 as usize] = i as u32;
    }
    let mut starts = vec![0i32; order.len() + 1];
    for (i, block) in order.iter().enumerate() {
        for next in function.blocks[block.0 as usize].terminator.successors().into_iter().flatten() {
            let head = place[next.0 as usize] as usize;
            if head <= i {
                starts[head] += 1;
                starts[i + 1] -= 1;
            }
        }
    }
    let mut depth = 0;
    starts[..order.len()]
        .iter()
        .map(|change| {
            depth += change;
            depth as u32
        })
        .collect()
}
