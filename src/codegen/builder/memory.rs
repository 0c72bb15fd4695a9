//! Loads, stores and addresses.

use super::FunctionBuilder;
use crate::codegen::ir::{BpfMapId, FuncId, Inst, Operand, SectionId, Size, Slot, Vreg};

/// Memory.
impl FunctionBuilder {
    /// `*(base + offset)`, extended with zeros.
    pub fn load(&mut self, base: Vreg, offset: i16, size: Size) -> Vreg {
        self.define(|dst| Inst::Load { dst, base, offset, size, signed: false })
    }

    /// `*(base + offset)`, extended with its sign.
    pub fn load_signed(&mut self, base: Vreg, offset: i16, size: Size) -> Vreg {
        self.define(|dst| Inst::Load { dst, base, offset, size, signed: true })
    }

    /// `*(base + offset) = src`.
    pub fn store(&mut self, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) {
        self.push(Inst::Store { base, offset, size, src: src.into() });
    }

    /// `lock *(base + offset) += src`.
    pub fn atomic_add(&mut self, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) {
        let src = self.in_register(src);
        self.push(Inst::AtomicAdd { base, offset, size, src });
    }

    /// `xchg(*(base + offset), src)`; needs kernel 5.12.
    pub fn atomic_xchg(&mut self, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) -> Vreg {
        let src = self.in_register(src);
        self.define(|dst| Inst::AtomicXchg { dst, base, offset, size, src })
    }

    /// `fetch_add(*(base + offset), src)`; needs kernel 5.12.
    pub fn atomic_fetch_add(&mut self, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) -> Vreg {
        let src = self.in_register(src);
        self.define(|dst| Inst::AtomicFetchAdd { dst, base, offset, size, src })
    }

    /// The address of a stack slot plus `offset`.
    pub fn slot_addr(&mut self, slot: Slot, offset: i32) -> Vreg {
        self.define(|dst| Inst::SlotAddr { dst, slot, offset })
    }

    /// A value from a stack slot, extended with zeros.
    pub fn slot_load(&mut self, slot: Slot, offset: i32, size: Size) -> Vreg {
        self.define(|dst| Inst::SlotLoad { dst, slot, offset, size, signed: false })
    }

    /// A value from a stack slot, extended with its sign.
    pub fn slot_load_signed(&mut self, slot: Slot, offset: i32, size: Size) -> Vreg {
        self.define(|dst| Inst::SlotLoad { dst, slot, offset, size, signed: true })
    }

    /// Stores to a stack slot.
    pub fn slot_store(&mut self, slot: Slot, offset: i32, size: Size, src: impl Into<Operand>) {
        self.push(Inst::SlotStore { slot, offset, size, src: src.into() });
    }

    /// The address of global data.
    pub fn global_addr(&mut self, section: SectionId, offset: u32) -> Vreg {
        self.define(|dst| Inst::GlobalAddr { dst, section, offset })
    }

    /// A map, as helpers take it.
    pub fn map_addr(&mut self, map: BpfMapId) -> Vreg {
        self.define(|dst| Inst::MapAddr { dst, map })
    }

    /// The address of a subprogram, as `bpf_loop` and `bpf_for_each_map_elem` take it.
    pub fn func_addr(&mut self, func: FuncId) -> Vreg {
        self.define(|dst| Inst::FuncAddr { dst, func })
    }
}
