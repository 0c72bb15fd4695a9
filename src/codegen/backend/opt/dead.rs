//! Code whose result nobody reads, and 64-bit operations of which only 32 bits are read.

use crate::codegen::ir::{Address, Alu, Function, Inst, Operand, Width};

/// Removes pure instructions whose results are never read, copies of a register to itself, and
/// stores to stack slots that nothing reads; true when something changed.
pub fn remove(function: &mut Function) -> bool {
    let mut uses = count_uses(function);
    let read = read_slots(function);
    let mut changed = false;
    loop {
        let mut again = false;
        for block in function.blocks.iter_mut().rev() {
            let before = block.instructions.len();
            let mut keep = vec![true; before];
            for (i, (inst, _)) in block.instructions.iter().enumerate().rev() {
                if is_dead(inst, &uses, &read) {
                    keep[i] = false;
                    inst.for_each_use(|&v| uses[v.0 as usize] -= 1);
                }
            }
            let mut keep = keep.into_iter();
            block.instructions.retain(|_| keep.next().unwrap_or(true));
            again |= block.instructions.len() != before;
        }
        if !again {
            break;
        }
        changed = true;
    }
    for (slot, read) in function.slots.iter_mut().zip(read) {
        if !read {
            *slot = 0;
        }
    }
    changed
}

fn is_dead(inst: &Inst, uses: &[u32], read: &[bool]) -> bool {
    match inst {
        Inst::Copy { dst, src: Operand::Reg(src) } if dst == src => true,
        Inst::SlotStore { slot, .. } => !read[slot.0 as usize],
        _ => inst.is_pure() && inst.dst().is_some_and(|dst| uses[dst.0 as usize] == 0),
    }
}

fn count_uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.vregs as usize];
    for block in &function.blocks {
        for (inst, _) in &block.instructions {
            inst.for_each_use(|&v| uses[v.0 as usize] += 1);
        }
        block.terminator.for_each_use(|&v| uses[v.0 as usize] += 1);
    }
    uses
}

fn read_slots(function: &Function) -> Vec<bool> {
    let mut read = vec![false; function.slots.len()];
    for (inst, _) in function.blocks.iter().flat_map(|b| &b.instructions) {
        if let Inst::Address { of: Address::Slot(slot, _), .. } | Inst::SlotLoad { slot, .. } = inst {
            read[slot.0 as usize] = true;
        }
    }
    read
}

/// Where only the low 32 bits of an operation are used, extended with zeros, the 32-bit operation
/// gives the same: `(a + b) & 0xffffffff` is one instruction.
pub fn narrow(function: &mut Function) -> bool {
    let uses = count_uses(function);
    let mut changed = false;
    for block in &mut function.blocks {
        for i in 1..block.instructions.len() {
            let Inst::Extend { dst, src, bits: 32, signed: false } = block.instructions[i].0 else { continue };
            let previous = &mut block.instructions[i - 1].0;
            if uses[src.0 as usize] == 1 && previous.dst() == Some(src) && narrows(previous) {
                if let Inst::Alu { width, .. } = previous {
                    *width = Width::W32;
                }
                block.instructions[i].0 = Inst::Copy { dst, src: Operand::Reg(src) };
                changed = true;
            }
        }
    }
    changed
}

/// Whether the low half of the result depends on the low halves of the operands only.
fn narrows(inst: &Inst) -> bool {
    match inst {
        Inst::Alu { op, width: Width::W64, b, .. } => match op {
            Alu::Add | Alu::Sub | Alu::Mul | Alu::And | Alu::Or | Alu::Xor => true,
            Alu::Shl => matches!(b, Operand::Imm(0..=31)),
            _ => false,
        },
        _ => false,
    }
}
