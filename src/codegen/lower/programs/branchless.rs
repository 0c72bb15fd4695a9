//! Choices without branches: each branch would be one more path that the verifier follows through all that comes after.

use crate::codegen::builder::FunctionBuilder;
use crate::codegen::ir::{Alu, Operand, Vreg};

/// 1 where `a` is at least `c`, otherwise 0; neither reaches 2^63.
pub fn at_least(b: &mut FunctionBuilder, a: impl Into<Operand>, c: impl Into<Operand>) -> Vreg {
    let difference = b.sub(a, c);
    let less = b.alu(Alu::Shr, difference, 63);
    b.alu(Alu::Xor, less, 1)
}

/// All bits where `a` is 0, otherwise none; it does not reach 2^63.
pub fn all_if_zero(b: &mut FunctionBuilder, a: Vreg) -> Vreg {
    let below = b.sub(a, 1);
    b.alu(Alu::Sar, below, 63)
}

/// `a` where all bits of `mask` are set, `c` where none is.
pub fn choose(b: &mut FunctionBuilder, mask: Vreg, a: impl Into<Operand>, c: impl Into<Operand> + Copy) -> Vreg {
    let difference = b.sub(a, c);
    let difference = b.and(difference, mask);
    b.add(difference, c)
}
