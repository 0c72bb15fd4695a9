//! Copies from which the verifier learns nothing of the original.
//!
//! It gives a number and its copies one id, and what it learns of one by a comparison it believes of all
//! (`sync_linked_regs`, kernel/bpf/verifier.c; "bpf: Propagate scalar ranges through register assignments.", commit
//! 75748837b7e5 of 5.11; registers that are a constant away since commit 98d7ca374ba4 of 6.11). That is an advantage in
//! code without loops. In a loop it explores the body anew for every path that leaves a variable with other bounds, and
//! they multiply with each further branch: while iterations are open, it takes a state for one that it has seen only if all
//! bounds are within those (`RANGE_WITHIN`), those of no consequence, too.

use super::code::Code;
use super::widen;
use crate::codegen::ir::{Function, Inst, Operand, Purpose, Vreg};

/// Writes a copy as its purpose wants it.
pub fn copy(code: &mut Code<'_>, dst: Vreg, src: Operand, purpose: Purpose, has_explored_loop: bool) {
    match (purpose, src) {
        (Purpose::Joined | Purpose::Hidden, _) => widen::hide(code, dst, src),
        (Purpose::Compared | Purpose::Bounded, Operand::Reg(src)) if has_explored_loop => {
            code.push(Inst::Unlinked { dst, src });
        }
        _ => code.push(Inst::Copy { dst, src }),
    }
}

/// Reads the originals of copies that are needed only where a loop is explored.
pub fn forward_copies(function: &mut Function) {
    let mut original: Vec<Option<Vreg>> = vec![None; function.vregs as usize];
    for block in &mut function.blocks {
        block.instructions.retain(|(inst, _)| match inst {
            Inst::CopyFor { dst, src: Operand::Reg(src), purpose: Purpose::Joined | Purpose::Compared } => {
                original[dst.0 as usize] = Some(*src);
                false
            }
            _ => true,
        });
    }
    let forward = |v: &mut Vreg| {
        while let Some(src) = original[v.0 as usize] {
            *v = src;
        }
    };
    for block in &mut function.blocks {
        for (inst, _) in &mut block.instructions {
            if let Some(dst) = inst.dst_mut() {
                forward(dst);
            }
            inst.for_each_use_mut(forward);
        }
        block.terminator.for_each_use_mut(forward);
    }
}
