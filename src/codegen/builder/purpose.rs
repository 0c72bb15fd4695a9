//! What the code does not say, for [`crate::codegen::verifier`]: what a copy is for, and what is known of a point.

use super::FunctionBuilder;
use crate::codegen::ir::{Inst, Mark, Operand, Purpose, Vreg};

/// `src`, with what the copy is for.
pub fn copy_for(b: &mut FunctionBuilder, purpose: Purpose, src: impl Into<Operand>) -> Vreg {
    let src = src.into();
    b.define(|dst| Inst::CopyFor { dst, src, purpose })
}

/// Notes what the code does not say.
pub fn mark(b: &mut FunctionBuilder, mark: Mark) {
    b.push(Inst::Mark(Box::new(mark)));
}

/// A copy to bound or to change.
pub fn copy_to_bound(b: &mut FunctionBuilder, src: impl Into<Operand>) -> Vreg {
    match src.into() {
        Operand::Reg(v) => copy_for(b, Purpose::Bounded, v),
        number @ Operand::Imm(_) => b.copy(number),
    }
}
