//! Loads and stores of stack slots.

use super::FunctionBuilder;
use crate::codegen::ir::{Inst, Operand, Size, Slot, Vreg};

/// A value, extended to 64 bits by its sign when `signed`.
pub fn load(b: &mut FunctionBuilder, slot: Slot, offset: i32, size: Size, signed: bool) -> Vreg {
    b.define(|dst| Inst::SlotLoad { dst, slot, offset, size, signed })
}

/// Stores a value.
pub fn store(b: &mut FunctionBuilder, slot: Slot, offset: i32, size: Size, src: impl Into<Operand>) {
    b.push(Inst::SlotStore { slot, offset, size, src: src.into() });
}
