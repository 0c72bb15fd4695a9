//! What the verifier must not know of numbers that a loop changes, or that differ by path.
//!
//! It explores a loop until an iteration begins as one before did. A number that it knows, and that is counted up, is
//! another one in every iteration; so is one that an iteration found to be a constant by comparing it. An unknown number
//! is like any other, but not when one of them was made by adding a constant to another register and the other
//! was not: their iterations differ for ever ("bpf: Track delta between "linked" registers.", commit 98d7ca374ba4 of
//! 6.11; `regsafe`, kernel/bpf/verifier.c).
//!
//! Where paths join, each with another number that the verifier knows, it goes on with each of them, and they
//! multiply with each further branch. In a constant-trip loop, which it explores iteration by iteration, each iteration
//! begins from all that the one before may have made of a number that matters; and before 6.5 a callback began from all
//! that its program may have made of any number (`mark_all_scalars_precise`, until commit fde2a3882bd0).
//!
//! What a helper reads of the stack is bytes to the verifier from then on, also where it was a number before
//! (`check_stack_range_initialized`), and in an open loop it compares which of both (`stacksafe`).
//!
//! Until 6.7 a callback was looked at as if it ran once (commit ab5cfac139ab): what was known of the frame before the loop
//! was believed of every iteration, and code for others was dropped.
//!
//! The remedy is always the same: a zero that the verifier does not know is added.

use super::code::Code;
use super::open_loops::Open;
use crate::codegen::ir::{Alu, Inst, Isa, Mark, Operand, Place, Point, Size, Storage, Vreg, Width};

/// Whether numbers that vary are to be hidden at a point.
#[must_use]
pub fn is_needed(mark: &Mark, has_explored_loop: bool, open: &Open, isa: Isa) -> bool {
    match mark.point {
        Point::Join => has_explored_loop,
        Point::End => open.any(),
        Point::LoopStart | Point::IterationStart => true,
        Point::CallbackStart => !isa.callback_verified_once,
        Point::CallbackCall => isa.callback_verified_once,
    }
}

/// Makes unknown numbers of all words of some storage.
pub fn storage(code: &mut Code<'_>, storage: &[Storage]) {
    if storage.is_empty() {
        return;
    }
    let Some(zero) = unknown_zero(code) else { return };
    for Storage { place, bytes } in storage {
        if let Place::Register(vreg) = place {
            let sum = add(code, (*vreg).into(), zero.into());
            code.push(Inst::Copy { dst: *vreg, src: sum.into() });
            continue;
        }
        let (mut at, end) = (0, *bytes);
        while at < end {
            let size = [(8, Size::B8), (4, Size::B4), (2, Size::B2)].into_iter().find(|(size, _)| *size <= end - at);
            let (size, access) = size.unwrap_or((1, Size::B1));
            let value = load(code, *place, at, access);
            let sum = add(code, value.into(), zero.into());
            store(code, *place, at, access, sum.into());
            at += size;
        }
    }
}

/// `dst = src`, a number that the verifier does not know.
pub fn hide(code: &mut Code<'_>, dst: Vreg, src: Operand) {
    let Some(zero) = unknown_zero(code) else {
        code.push(Inst::Copy { dst, src });
        return;
    };
    if src == Operand::Imm(0) {
        code.push(Inst::Copy { dst, src: zero.into() });
        return;
    }
    let (a, b) = if matches!(src, Operand::Imm(_)) { (zero.into(), src) } else { (src, zero.into()) };
    code.push(Inst::Alu { op: Alu::Add, width: Width::W64, dst, a, b });
}

/// Zero, which the verifier takes for any number.
fn unknown_zero(code: &mut Code<'_>) -> Option<Vreg> {
    let (section, offset) = code.unknown_zero()?;
    let base = code.define(|dst| Inst::Address { dst, of: section.at(offset) });
    Some(code.define(|dst| Inst::Load { dst, base, offset: 0, size: Size::B8, signed: false }))
}

fn add(code: &mut Code<'_>, a: Operand, b: Operand) -> Vreg {
    code.define(|dst| Inst::Alu { op: Alu::Add, width: Width::W64, dst, a, b })
}

/// An address whose offset fits an instruction.
fn near(code: &mut Code<'_>, base: Vreg, offset: i32) -> (Vreg, i16) {
    match i16::try_from(offset) {
        Ok(offset) => (base, offset),
        Err(_) => (add(code, base.into(), i64::from(offset).into()), 0),
    }
}

fn load(code: &mut Code<'_>, place: Place, at: u32, size: Size) -> Vreg {
    let at = at as i32;
    match place {
        Place::Register(vreg) => vreg,
        Place::Stack(slot, offset) => {
            code.define(|dst| Inst::SlotLoad { dst, slot, offset: offset + at, size, signed: false })
        }
        Place::Memory(base, offset) => {
            let (base, offset) = near(code, base, offset + at);
            code.define(|dst| Inst::Load { dst, base, offset, size, signed: false })
        }
    }
}

/// Writes a register, or so many bytes of memory.
pub(super) fn store(code: &mut Code<'_>, place: Place, at: u32, size: Size, src: Operand) {
    let at = at as i32;
    match place {
        Place::Register(dst) => code.push(Inst::Copy { dst, src }),
        Place::Stack(slot, offset) => code.push(Inst::SlotStore { slot, offset: offset + at, size, src }),
        Place::Memory(base, offset) => {
            let (base, offset) = near(code, base, offset + at);
            code.push(Inst::Store { base, offset, size, src });
        }
    }
}
