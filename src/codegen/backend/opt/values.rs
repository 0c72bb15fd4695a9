//! Constant folding, copy propagation and value numbering by block, and constants added to addresses taken into the
//! accesses, in one pass over all blocks.
//!
//! A register with a single assignment means the same everywhere (its assignment dominates its
//! uses, see [`crate::codegen::backend::legal::initialise`]); what is known of the others holds
//! from one assignment to the next within a block.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::codegen::ir::{Address, Alu, Function, Inst, Operand, Size, Terminator, Vreg, Width};

use super::fold;
use crate::codegen::cfg::reverse_postorder;

/// Replaces what is known; true when something changed.
pub fn propagate(function: &mut Function) -> bool {
    let mut values = Values::new(function);
    let mut changed = false;
    for block in reverse_postorder(function) {
        values.enter();
        let body = &mut function.blocks[block.0 as usize];
        for (inst, _) in &mut body.instructions {
            changed |= values.instruction(inst);
        }
        changed |= values.terminator(&mut body.terminator);
    }
    changed
}

/// The key of value numbering: an instruction without its result, with the versions of the registers it reads and of memory.
#[derive(PartialEq, Eq, Hash)]
struct Expression {
    inst: Inst,
    versions: [u32; 2],
    memory: u32,
}

/// What is known of registers at a point of the pass.
struct Values {
    /// How often each register is assigned in the whole function.
    assignments: Vec<u32>,
    /// Registers that a branch compares, and those that they are copies of.
    compared: Vec<bool>,
    /// What registers with a single assignment are.
    single: Vec<Option<Inst>>,
    /// What other registers are at this point: when it was learnt, and of which version of the source.
    local: Vec<Option<(u32, Operand, u32)>>,
    /// Changes at each assignment.
    versions: Vec<u32>,
    /// Values of this block, by what computed them: the register that has each, and its version then.
    available: HashMap<Expression, (Vreg, u32), FixedState>,
    /// Number of the block at hand.
    epoch: u32,
    /// Changes at each write to memory.
    memory: u32,
    /// Changes at each call.
    calls: u32,
}

impl Values {
    fn new(function: &Function) -> Self {
        let vregs = function.vregs as usize;
        let mut assignments = vec![0; vregs];
        assignments[..function.parameters as usize].fill(1);
        for (inst, _) in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Some(dst) = inst.dst() {
                assignments[dst.0 as usize] += 1;
            }
        }
        Self {
            assignments,
            compared: compared(function),
            single: vec![None; vregs],
            local: vec![None; vregs],
            versions: vec![0; vregs],
            available: HashMap::default(),
            epoch: 0,
            memory: 0,
            calls: 0,
        }
    }

    fn enter(&mut self) {
        self.epoch += 1;
        self.available.clear();
    }

    fn is_single(&self, v: Vreg) -> bool {
        self.assignments[v.0 as usize] == 1
    }

    /// The simplest operand that has the register's value here.
    fn resolve(&self, v: Vreg) -> Operand {
        if let Some(Inst::Copy { src, .. }) = &self.single[v.0 as usize] {
            return *src;
        }
        match self.local[v.0 as usize] {
            Some((epoch, Operand::Reg(src), version))
                if epoch == self.epoch && self.versions[src.0 as usize] == version =>
            {
                Operand::Reg(src)
            }
            Some((epoch, imm @ Operand::Imm(_), _)) if epoch == self.epoch => imm,
            _ => Operand::Reg(v),
        }
    }

    fn instruction(&mut self, inst: &mut Inst) -> bool {
        let mut changed = self.operands(inst);
        changed |= self.address(inst);
        if let Some(simpler) = self.simpler(inst) {
            *inst = simpler;
            changed = true;
        }
        if let Some(common) = self.common(inst) {
            *inst = common;
            changed = true;
        }
        self.learn(inst);
        changed
    }

    fn operands(&self, inst: &mut Inst) -> bool {
        let mut changed = false;
        inst.for_each_operand_mut(|operand| {
            if let Operand::Reg(v) = *operand {
                let known = self.resolve(v);
                changed |= known != *operand;
                *operand = known;
            }
        });
        inst.for_each_use_mut(|v| {
            if let Operand::Reg(known) = self.resolve(*v) {
                changed |= known != *v;
                *v = known;
            }
        });
        changed
    }

    /// Takes constants added to an address into the access's offset.
    fn address(&self, inst: &mut Inst) -> bool {
        let base = match inst {
            Inst::Load { base, .. }
            | Inst::Store { base, .. }
            | Inst::AtomicAdd { base, .. }
            | Inst::AtomicFetch { base, .. } => *base,
            _ => return false,
        };
        match self.single[base.0 as usize] {
            Some(Inst::Alu {
                op: Alu::Add, width: Width::W64, a: Operand::Reg(from), b: Operand::Imm(add), ..
            }) if self.is_single(from) => offset_base(inst, from, add),
            Some(Inst::Address { of: Address::Slot(slot, start), .. }) => {
                let direct = match *inst {
                    Inst::Load { dst, offset, size, signed, .. } => {
                        Inst::SlotLoad { dst, slot, offset: start + i32::from(offset), size, signed }
                    }
                    Inst::Store { offset, size, src, .. } => {
                        Inst::SlotStore { slot, offset: start + i32::from(offset), size, src }
                    }
                    _ => return false,
                };
                *inst = direct;
                true
            }
            _ => false,
        }
    }

    fn simpler(&self, inst: &Inst) -> Option<Inst> {
        match *inst {
            Inst::Alu { op, width, dst, a: Operand::Imm(a), b: Operand::Imm(b) } => {
                Some(Inst::Copy { dst, src: Operand::Imm(fold::alu(op, width, a, b)) })
            }
            Inst::Alu { op, width, dst, a, b } => {
                fold::simplify(op, width, dst, a, b).or_else(|| self.sum(op, width, dst, a, b))
            }
            Inst::Unlinked { dst, src } => self.constant(src).map(|n| copy_imm(dst, n)),
            Inst::Neg { dst, src } => self.constant(src).map(|n| copy_imm(dst, n.wrapping_neg())),
            Inst::Bswap { dst, src, bits } => self.constant(src).map(|n| copy_imm(dst, fold::bswap(n, bits))),
            Inst::Extend { dst, src, bits, signed } => match (self.constant(src), &self.single[src.0 as usize]) {
                (Some(n), _) => Some(copy_imm(dst, fold::extend(n, bits, signed))),
                (None, Some(made)) if extended_already(made, bits, signed) => {
                    Some(Inst::Copy { dst, src: Operand::Reg(src) })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `(x + 1) + 2` is `x + 3`, unless `x + 1` was compared with something: the verifier knows the bounds of
    /// what it saw compared, and of nothing else that is made of `x`.
    fn sum(&self, op: Alu, width: Width, dst: Vreg, a: Operand, b: Operand) -> Option<Inst> {
        let (Alu::Add, Width::W64, Operand::Reg(a), Operand::Imm(second)) = (op, width, a, b) else { return None };
        match self.single[a.0 as usize] {
            Some(Inst::Alu {
                op: Alu::Add, width: Width::W64, a: Operand::Reg(from), b: Operand::Imm(first), ..
            }) if self.is_single(from) && !self.compared[a.0 as usize] => {
                let b = Operand::Imm(first.wrapping_add(second));
                Some(Inst::Alu { op, width, dst, a: Operand::Reg(from), b })
            }
            Some(Inst::Address { of: Address::Slot(slot, offset), .. }) => {
                let offset = i32::try_from(second).ok()?.checked_add(offset)?;
                (offset >= 0).then_some(Inst::Address { dst, of: slot.at(offset) })
            }
            _ => None,
        }
    }

    fn constant(&self, v: Vreg) -> Option<i64> {
        match self.resolve(v) {
            Operand::Imm(n) => Some(n),
            Operand::Reg(_) => None,
        }
    }

    /// A copy of the register that has the same value already.
    fn common(&mut self, inst: &Inst) -> Option<Inst> {
        let dst = inst.dst()?;
        let memory = match inst {
            Inst::Alu { .. } | Inst::Neg { .. } | Inst::Extend { .. } | Inst::Bswap { .. } => 0,
            Inst::Load { .. } | Inst::SlotLoad { .. } => self.memory,
            // Cheap to make again: no reason to keep a register over calls.
            Inst::Address { of: Address::Slot(..) | Address::Global(..) | Address::Map(_), .. } => self.calls,
            _ => return None,
        };
        let mut versions = [0; 2];
        let mut reads_itself = false;
        let mut at = 0;
        inst.for_each_use(|&v| {
            versions[at] = self.versions[v.0 as usize];
            reads_itself |= v == dst;
            at += 1;
        });
        let mut key = inst.clone();
        if let Some(d) = key.dst_mut() {
            *d = Vreg(u32::MAX);
        }
        let key = Expression { inst: key, versions, memory };
        if let Some((same, version)) = self.available.get(&key)
            && self.versions[same.0 as usize] == *version
            && *same != dst
        {
            return Some(Inst::Copy { dst, src: Operand::Reg(*same) });
        }
        if !reads_itself {
            self.available.insert(key, (dst, self.versions[dst.0 as usize] + 1));
        }
        None
    }

    fn learn(&mut self, inst: &Inst) {
        if inst.is_call() {
            self.calls += 1;
        }
        if inst.is_call() || !inst.is_pure() {
            self.memory += 1;
        }
        let Some(dst) = inst.dst() else { return };
        self.versions[dst.0 as usize] += 1;
        self.local[dst.0 as usize] = None;
        let stable = |operand: &Operand| match operand {
            Operand::Reg(v) => self.is_single(*v),
            Operand::Imm(_) => true,
        };
        match inst {
            Inst::Copy { src, .. } if self.is_single(dst) && stable(src) => {
                self.single[dst.0 as usize] = Some(inst.clone());
            }
            Inst::Copy { src, .. } => {
                let version = match src {
                    Operand::Reg(v) => self.versions[v.0 as usize],
                    Operand::Imm(_) => 0,
                };
                if *src != Operand::Reg(dst) {
                    self.local[dst.0 as usize] = Some((self.epoch, *src, version));
                }
            }
            _ if self.is_single(dst) && inst.is_pure() => self.single[dst.0 as usize] = Some(inst.clone()),
            _ => {}
        }
    }

    fn terminator(&self, terminator: &mut Terminator) -> bool {
        let before = terminator.clone();
        match terminator {
            Terminator::Return(Operand::Reg(v)) => *terminator = Terminator::Return(self.resolve(*v)),
            Terminator::Branch { cond, width, a, b, then, otherwise } => {
                if let Operand::Reg(v) = *b {
                    *b = self.resolve(v);
                }
                match (self.resolve(*a), *b) {
                    (Operand::Imm(x), Operand::Imm(y)) => {
                        let to = if fold::holds(*cond, *width, x, y) { *then } else { *otherwise };
                        *terminator = Terminator::Jump(to);
                    }
                    (imm @ Operand::Imm(_), Operand::Reg(right)) => {
                        *cond = cond.swapped();
                        *a = right;
                        *b = imm;
                    }
                    (Operand::Reg(v), _) => *a = v,
                }
            }
            _ => {}
        }
        *terminator != before
    }
}

/// See [`Values::compared`].
fn compared(function: &Function) -> Vec<bool> {
    let mut compared = vec![false; function.vregs as usize];
    for block in &function.blocks {
        block.terminator.for_each_use(|&v| compared[v.0 as usize] = true);
    }
    let copies = || function.blocks.iter().rev().flat_map(|b| b.instructions.iter().rev());
    let mut found = true;
    while std::mem::take(&mut found) {
        for (inst, _) in copies() {
            if let Inst::Copy { dst, src: Operand::Reg(src) } = inst
                && compared[dst.0 as usize]
                && !std::mem::replace(&mut compared[src.0 as usize], true)
            {
                found = true;
            }
        }
    }
    compared
}

const fn copy_imm(dst: Vreg, n: i64) -> Inst {
    Inst::Copy { dst, src: Operand::Imm(n) }
}

/// Moves the base of an access back by `add`, when the offset has room for it.
fn offset_base(inst: &mut Inst, from: Vreg, add: i64) -> bool {
    match inst {
        Inst::Load { base, offset, .. }
        | Inst::Store { base, offset, .. }
        | Inst::AtomicAdd { base, offset, .. }
        | Inst::AtomicFetch { base, offset, .. } => {
            let Some(sum) = add.checked_add(i64::from(*offset)).and_then(|sum| i16::try_from(sum).ok()) else {
                return false;
            };
            *offset = sum;
            *base = from;
            true
        }
        _ => false,
    }
}

/// Whether a register made by `made` holds no more than its low `bits`, extended so.
fn extended_already(made: &Inst, bits: u8, signed: bool) -> bool {
    match made {
        Inst::Load { size, signed: s, .. } | Inst::SlotLoad { size, signed: s, .. } => {
            let loaded = match size {
                Size::B1 => 8,
                Size::B2 => 16,
                Size::B4 => 32,
                Size::B8 => 64,
            };
            (loaded == bits && *s == signed) || (loaded < bits && !*s)
        }
        Inst::Extend { bits: b, signed: s, .. } => (*b == bits && *s == signed) || (*b < bits && !*s),
        Inst::Alu { width: Width::W32, .. } => bits == 32 && !signed,
        _ => false,
    }
}
