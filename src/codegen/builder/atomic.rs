//! Atomic operations on memory.

use super::FunctionBuilder;
use crate::codegen::ir::{AtomicOp, Inst, Operand, Size, Vreg};

/// `lock *(base + offset) += src`.
pub fn add(b: &mut FunctionBuilder, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) {
    let src = b.in_register(src);
    b.push(Inst::AtomicAdd { base, offset, size, src });
}

/// `xchg(*(base + offset), src)`; needs kernel 5.12.
pub fn exchange(b: &mut FunctionBuilder, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) -> Vreg {
    let src = b.in_register(src);
    b.define(|dst| Inst::AtomicFetch { op: AtomicOp::Xchg, dst, base, offset, size, src })
}

/// `fetch_add(*(base + offset), src)`; needs kernel 5.12.
pub fn fetch_add(b: &mut FunctionBuilder, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) -> Vreg {
    let src = b.in_register(src);
    b.define(|dst| Inst::AtomicFetch { op: AtomicOp::FetchAdd, dst, base, offset, size, src })
}
