//! Control flow made of blocks and branches: what runs when a comparison holds.

use super::FunctionBuilder;
use crate::codegen::ir::{BlockId, Cond, Operand, Vreg};

/// 1 when the comparison holds, else 0 (in 64 bits); continues in a new block.
pub fn compare(b: &mut FunctionBuilder, cond: Cond, x: impl Into<Operand>, y: impl Into<Operand>) -> Vreg {
    let dst = b.new_vreg();
    b.copy_into(dst, 1);
    let [otherwise, done] = b.new_blocks();
    b.branch(cond, x, y, done, otherwise);
    b.switch_to(otherwise);
    b.copy_into(dst, 0);
    b.jump(done);
    b.switch_to(done);
    dst
}

/// Branches to two new blocks `(then, otherwise)` and makes `then` the current one.
pub fn branch_new(
    b: &mut FunctionBuilder,
    cond: Cond,
    x: impl Into<Operand>,
    y: impl Into<Operand>,
) -> (BlockId, BlockId) {
    let [then, otherwise] = b.new_blocks();
    b.branch(cond, x, y, then, otherwise);
    b.switch_to(then);
    (then, otherwise)
}

/// Goes on in a new block only when the comparison holds, else jumps to `otherwise`.
pub fn require(b: &mut FunctionBuilder, cond: Cond, x: impl Into<Operand>, y: impl Into<Operand>, otherwise: BlockId) {
    let then = b.new_block();
    b.branch(cond, x, y, then, otherwise);
    b.switch_to(then);
}

/// Runs `body` only when the comparison holds, then goes on.
pub fn when(
    b: &mut FunctionBuilder,
    cond: Cond,
    x: impl Into<Operand>,
    y: impl Into<Operand>,
    body: impl FnOnce(&mut FunctionBuilder),
) {
    let (_, done) = branch_new(b, cond, x, y);
    body(b);
    b.jump(done);
    b.switch_to(done);
}
