//! Loads, stores, copies and fills.

use super::{Addr, Base, chunks, size_of};
use crate::codegen::builder::{FunctionBuilder, atomic, stack};
use crate::codegen::ir::{Inst, Operand, Vreg};

use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;

/// Copies and fills over this many bytes go through a helper, which moves words faster than single
/// instructions and keeps programs short.
const INLINE_BYTES: u32 = 256;

/// The address in a register, for helpers.
pub fn pointer(b: &mut FunctionBuilder, addr: Addr) -> Vreg {
    match addr.base {
        Base::Slot(slot) => b.address(slot.at(addr.offset)),
        Base::Reg(base) if addr.offset == 0 => base,
        Base::Reg(base) => b.add(base, i64::from(addr.offset)),
    }
}

/// The address with an offset that fits an instruction.
fn near(b: &mut FunctionBuilder, addr: Addr) -> (Base, i32) {
    match addr.base {
        Base::Reg(base) if i16::try_from(addr.offset).is_err() => (Base::Reg(b.add(base, i64::from(addr.offset))), 0),
        base => (base, addr.offset),
    }
}

/// Loads 1, 2, 4 or 8 bytes.
pub fn load(b: &mut FunctionBuilder, addr: Addr, bytes: u32, signed: bool) -> Vreg {
    let signed = signed && bytes < 8;
    let size = size_of(bytes);
    match near(b, addr) {
        (Base::Slot(slot), offset) => stack::load(b, slot, offset, size, signed),
        (Base::Reg(base), offset) => {
            let dst = b.new_vreg();
            b.push(Inst::Load { dst, base, offset: offset as i16, size, signed });
            dst
        }
    }
}

/// Stores 1, 2, 4 or 8 bytes.
pub fn store(b: &mut FunctionBuilder, addr: Addr, bytes: u32, value: impl Into<Operand>) {
    match near(b, addr) {
        (Base::Slot(slot), offset) => stack::store(b, slot, offset, size_of(bytes), value),
        (Base::Reg(base), offset) => b.store(base, offset as i16, size_of(bytes), value),
    }
}

/// Adds to 4 or 8 bytes: atomically when asked.
pub fn add_at(b: &mut FunctionBuilder, addr: Addr, bytes: u32, value: Operand, atomic: bool) {
    if atomic && bytes >= 4 {
        let (base, offset) = match near(b, addr) {
            (Base::Reg(base), offset) => (base, offset),
            (Base::Slot(slot), offset) => (b.address(slot.at(offset)), 0),
        };
        atomic::add(b, base, offset as i16, size_of(bytes), value);
        return;
    }
    let old = load(b, addr, bytes, false);
    let new = b.add(old, value);
    store(b, addr, bytes, new);
}

/// Copies `bytes` between places that don't overlap.
pub fn copy(b: &mut FunctionBuilder, dst: Addr, src: Addr, bytes: u32) {
    if bytes > INLINE_BYTES {
        let (to, from) = (pointer(b, dst), pointer(b, src));
        b.call_void(h::PROBE_READ_KERNEL, &[to.into(), i64::from(bytes).into(), from.into()]);
        return;
    }
    for (at, size) in chunks(bytes, [dst.offset, src.offset]) {
        let word = load(b, src.at(at), size, false);
        store(b, dst.at(at), size, word);
    }
}

/// These bytes where they can be read word by word: inside a tuple, a text begins anywhere, and the
/// verifier refuses words across the stack's own.
pub fn aligned(l: &mut Lowerer<'_, '_>, addr: Addr, bytes: u32) -> Addr {
    if addr.offset % 8 == 0 {
        return addr;
    }
    let temp = l.temp(bytes);
    copy(&mut l.function.builder, temp, addr, bytes);
    temp
}

/// Fills with zeros.
pub fn zero(b: &mut FunctionBuilder, dst: Addr, bytes: u32) {
    if bytes > INLINE_BYTES {
        // A read that fails zeroes its destination (`bpf_probe_read_kernel_common`,
        // kernel/trace/bpf_trace.c): address 0 is refused before any access.
        let to = pointer(b, dst);
        b.call_void(h::PROBE_READ_KERNEL, &[to.into(), i64::from(bytes).into(), 0.into()]);
        return;
    }
    for (at, size) in chunks(bytes, [dst.offset, 0]) {
        store(b, dst.at(at), size, 0);
    }
}

/// Writes constant bytes, and zeros up to `total`.
pub fn write_bytes(b: &mut FunctionBuilder, dst: Addr, bytes: &[u8], total: u32) {
    let len = (bytes.len() as u32).min(total);
    let whole = len.next_multiple_of(8).min(total);
    let mut padded = bytes[..len as usize].to_vec();
    padded.resize(whole as usize, 0);
    for (at, size) in chunks(whole, [dst.offset, 0]) {
        let mut word = [0_u8; 8];
        let (at_, size_) = (at as usize, size as usize);
        word[..size_].copy_from_slice(&padded[at_..at_ + size_]);
        let value = u64::from_le_bytes(word) as i64;
        store_constant(b, dst.at(at), size, value);
    }
    if total > whole {
        zero(b, dst.at(whole), total - whole);
    }
}

fn store_constant(b: &mut FunctionBuilder, dst: Addr, size: u32, value: i64) {
    // An 8-byte store takes a sign-extended 32-bit constant; larger ones go through a register.
    if size == 8 && i32::try_from(value).is_err() {
        let register = b.copy(value);
        store(b, dst, size, register);
    } else {
        let value = if size == 4 { i64::from(value as i32) } else { value };
        store(b, dst, size, value);
    }
}
