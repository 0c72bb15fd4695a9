//! Ends of blocks: jumps, branches and returns.

use super::{Emitter, Jumps, invert};
use crate::codegen::backend::insn::{Insn, OP_JA_FAR, Reg};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Operand, Terminator};

impl Emitter<'_> {
    pub(super) fn terminator(&mut self, terminator: &Terminator, next: Option<BlockId>) -> Result<(), CodegenError> {
        match terminator {
            Terminator::Jump(to) => self.jump(*to, next),
            Terminator::Branch { cond, width, a, b, then, otherwise } => {
                let (cond, taken, falls) = match invert(*cond) {
                    Some(inverse) if Some(*then) == next => (inverse, *otherwise, *then),
                    _ => (*cond, *then, *otherwise),
                };
                let insn = match b {
                    Operand::Reg(b) => Insn::jump_reg(cond, *width, self.reg(*a), self.reg(*b)),
                    Operand::Imm(n) => Insn::jump_imm(cond, *width, self.reg(*a), *n as i32),
                };
                self.branch(insn, taken);
                self.jump(falls, next);
            }
            Terminator::Return(value) => {
                match value {
                    Operand::Reg(v) => self.copy(Reg(0), self.reg(*v)),
                    Operand::Imm(n) => self.constant(Reg(0), *n),
                }
                self.push(Insn::exit());
            }
            Terminator::Unset => return Err(self.bug("a block without an end")),
        }
        Ok(())
    }

    fn jump(&mut self, to: BlockId, next: Option<BlockId>) {
        if Some(to) != next {
            self.jumps.push((self.at(), to, self.span));
            self.push(if self.reach == Jumps::Far { Insn::ja_far(0) } else { Insn::ja(0) });
        }
    }

    /// A conditional jump; there is no far one, so it leads to a jump that is, over one that leads past it.
    fn branch(&mut self, mut insn: Insn, taken: BlockId) {
        if self.reach == Jumps::Far {
            insn.off = 1;
            self.push(insn);
            self.push(Insn::ja(1));
            self.jump(taken, None);
            return;
        }
        self.jumps.push((self.at(), taken, self.span));
        self.push(insn);
    }

    pub(super) fn patch_jumps(&mut self) -> Result<(), CodegenError> {
        for (at, block, span) in &self.jumps {
            let distance = i64::from(self.starts[block.0 as usize]) - i64::from(*at) - 1;
            let insn = &mut self.code.insns[*at as usize];
            let too_far = || CodegenError::JumpTooFar { span: *span, distance };
            if insn.code == OP_JA_FAR {
                insn.imm = i32::try_from(distance).map_err(|_| too_far())?;
            } else {
                insn.off = i16::try_from(distance).map_err(|_| too_far())?;
            }
        }
        Ok(())
    }
}
