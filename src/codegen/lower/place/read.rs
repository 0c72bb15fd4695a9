//! Reads memory: directly, from the context, or by the helper of an address space. What can't be read is zero and counted.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::bitfield_shifts;
use crate::lang::types::{AddressSpace, Type};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::place::{Place, scalar_shape};
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{helpers as h, numbers};

/// Longest text of a record that is copied by words.
const WORDWISE: u32 = 32;
/// The lowest bit of every byte of a word.
const LOW_BITS: i64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte of a word.
const HIGH_BITS: i64 = 0x8080_8080_8080_8080_u64 as i64;

/// An array of characters may be full, without a zero at its end: then its last byte is part of
/// the text, and reading it as a string has put a zero there.
pub fn last_byte(
    l: &mut Lowerer<'_, '_>,
    place: Place,
    dst: Addr,
    size: u32,
    length: Vreg,
    span: Span,
) -> Result<(), CodegenError> {
    let Place::Remote { base, offset, space } = place else { return Ok(()) };
    let at = i64::from(size) - 1;
    l.when(Cond::Eq, length.into(), i64::from(size).into(), |l| {
        let last = Place::Remote { base, offset: offset + at, space };
        copy(l, last, dst.at(size - 1), 1, span)
    })
}

/// A place as something that helpers read: the context is kernel memory too.
pub fn as_remote(f: &mut FunctionState, place: Place) -> Place {
    match place {
        Place::Context(offset) => {
            let context = f.context();
            let base = f.builder.add(context, i64::from(offset));
            Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel }
        }
        Place::Memory(addr) => {
            Place::Remote { base: memory::pointer(&mut f.builder, addr).into(), offset: 0, space: AddressSpace::Kernel }
        }
        remote @ Place::Remote { .. } => remote,
    }
}

/// Reads a NUL-terminated string of at most `limit` bytes, terminator included, into `size`
/// bytes. The result is what the helper returns: length with the terminator, or an error.
#[allow(clippy::too_many_arguments, reason = "a string read has this many sides")]
pub fn string(
    l: &mut Lowerer<'_, '_>,
    place: Place,
    dst: Addr,
    size: u32,
    limit: Operand,
    tail: Tail,
    count_truncated: bool,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let place = as_remote(&mut l.function, place);
    let Place::Remote { base, offset, space } = place else {
        return l.internal(span, "a string without an address");
    };
    let b = &mut l.function.builder;
    if tail == Tail::Zeroed {
        memory::zero(b, dst, size);
    }
    let limit = numbers::bounded(b, limit, size);
    let from = if offset == 0 { base } else { b.add(base, offset).into() };
    let to = memory::pointer(b, dst);
    let helper = h::probe_read_str(space);
    let length = b.call(helper, &[to.into(), limit, from]);
    let result = b.copy(length);
    // Linux 5.10 believes in numbers that are at least the bound and at most the string's size at
    // once: constants keep it from following the script with those.
    if count_truncated {
        // One comparison finds both: errors are large when taken as unsigned.
        l.when(Cond::Ge, length.into(), limit, |l| {
            let b = &mut l.function.builder;
            let [failed, long, done] = b.new_blocks();
            b.branch(Cond::SLt, length, 0, failed, long);
            b.switch_to(failed);
            b.copy_into(result, -1);
            l.failed(LossCause::ReadFailed, Some((helper, length.into())), span);
            let b = &mut l.function.builder;
            b.jump(done);
            b.switch_to(long);
            b.copy_into(result, limit);
            l.count_loss(LossCause::Truncated, None, span);
            l.function.builder.jump(done);
            l.function.builder.switch_to(done);
            Ok(())
        })?;
    } else {
        l.when(Cond::SLt, length.into(), 0.into(), |l| {
            l.function.builder.copy_into(result, -1);
            l.failed(LossCause::ReadFailed, Some((helper, length.into())), span);
            Ok(())
        })?;
    }
    Ok(result)
}

/// Copies a string up to its terminator; its length with it.
pub fn copy_string(l: &mut Lowerer<'_, '_>, src: Addr, dst: Addr, size: u32, span: Span) -> Result<Vreg, CodegenError> {
    let from = Place::Memory(src);
    string(l, from, dst, size, i64::from(size).into(), Tail::Loose, false, span)
}

/// Where untyped addresses of this probe point.
pub fn untyped_space(l: &Lowerer<'_, '_>) -> AddressSpace {
    match l.kind {
        ProgramKind::Uprobe | ProgramKind::UprobeMulti => AddressSpace::User,
        _ => AddressSpace::Kernel,
    }
}

pub fn sized(l: &mut Lowerer<'_, '_>, place: Place, dst: Addr, size: Operand, span: Span) -> Result<(), CodegenError> {
    let Place::Remote { base, offset, space } = place else { return Ok(()) };
    let b = &mut l.function.builder;
    let from = if offset == 0 { base } else { b.add(base, offset).into() };
    let to = memory::pointer(b, dst);
    let helper = h::probe_read(space);
    let result = b.call(helper, &[to.into(), size, from]);
    l.when(Cond::Ne, result.into(), 0.into(), |l| {
        l.failed(LossCause::ReadFailed, Some((helper, result.into())), span);
        Ok(())
    })
}

/// Copies text of a record by words, with zeros behind its end; false when it is not of that kind.
pub fn copy_record_text(l: &mut Lowerer<'_, '_>, place: Place, dst: Addr, have: u32, want: u32) -> bool {
    let Place::Context(offset) = place else { return false };
    let words = have.is_multiple_of(8) && have <= WORDWISE && offset.is_multiple_of(8) && dst.offset % 8 == 0;
    if l.kind != ProgramKind::Tracepoint || !words || want < have {
        return false;
    }
    let context = l.function.context();
    let from = Addr::new(Base::Reg(context), offset as i32);
    let b = &mut l.function.builder;
    let done = b.new_block();
    for at in (0..have).step_by(8) {
        let word = memory::load(b, from.at(at), 8, false);
        if at + 8 == have {
            // A text without an end loses its last byte to one, as the helper does it.
            let word = b.and(word, i64::MAX >> 7);
            let (cut, whole) = first_end(b, word);
            b.switch_to(cut.0);
            memory::store(b, dst.at(at), 8, cut.1);
            b.jump(done);
            b.switch_to(whole);
            memory::store(b, dst.at(at), 8, word);
            b.jump(done);
            break;
        }
        let (cut, whole) = first_end(b, word);
        b.switch_to(cut.0);
        memory::store(b, dst.at(at), 8, cut.1);
        memory::zero(b, dst.at(at + 8), have - at - 8);
        b.jump(done);
        b.switch_to(whole);
        memory::store(b, dst.at(at), 8, word);
    }
    b.switch_to(done);
    if want > have {
        memory::zero(b, dst.at(have), want - have);
    }
    true
}

/// Two paths: the word holds a zero byte, with what is behind it cleared; or it holds none.
fn first_end(
    b: &mut FunctionBuilder,
    word: Vreg,
) -> ((crate::codegen::ir::BlockId, Vreg), crate::codegen::ir::BlockId) {
    let (low, high) = (b.copy(LOW_BITS), b.copy(HIGH_BITS));
    // The lowest bit that this leaves is the highest of the first byte that is zero.
    let less = b.sub(word, low);
    let inverse = b.alu(Alu::Xor, word, -1);
    let zeros = b.and(less, inverse);
    let zeros = b.and(zeros, high);
    let [ended, whole] = b.new_blocks();
    b.branch(Cond::Ne, zeros, 0, ended, whole);
    b.switch_to(ended);
    let negative = b.neg(zeros);
    let first = b.and(zeros, negative);
    let below = b.shr(first, 7);
    let below = b.sub(below, 1);
    let kept = b.and(word, below);
    ((b.current(), kept), whole)
}

/// Counts a helper that failed.
pub fn helper_failed(l: &mut Lowerer<'_, '_>, result: Vreg, span: Span) -> Result<(), CodegenError> {
    l.when(Cond::SLt, result.into(), 0.into(), |l| {
        l.count_loss(LossCause::HelperFailed, None, span);
        Ok(())
    })
}

/// Loads a scalar from a place, extended to 64 bits by its type.
pub fn load(
    l: &mut Lowerer<'_, '_>,
    place: Place,
    ty: &Type,
    bits: Option<(u8, u8)>,
    span: Span,
) -> Result<Operand, CodegenError> {
    let (size, signed) = scalar_shape(ty);
    let signed_load = signed && bits.is_none();
    let raw = match place {
        Place::Memory(addr) => memory::load(&mut l.function.builder, addr, size, signed_load),
        Place::Context(offset) => load_context(l, offset, size, signed_load, ty, span)?,
        Place::Remote { .. } => {
            let mark = l.mark();
            let slot = l.function.temp_slot(8);
            let addr = Addr::new(Base::Slot(slot), 0);
            remote(l, place, addr, size, span)?;
            let value = memory::load(&mut l.function.builder, addr, size, signed_load);
            l.release(mark);
            value
        }
    };
    let Some(bits) = bits else { return Ok(raw.into()) };
    let (left, right) = bitfield_shifts(bits);
    let high = l.function.builder.shl(raw, i64::from(left));
    let down = if signed { Alu::Sar } else { Alu::Shr };
    Ok(l.function.builder.alu(down, high, i64::from(right)).into())
}

fn load_context(
    l: &mut Lowerer<'_, '_>,
    offset: u32,
    size: u32,
    signed: bool,
    ty: &Type,
    span: Span,
) -> Result<Vreg, CodegenError> {
    if is_kept(l, ty) {
        return argument_by_helper(l, offset, span);
    }
    if matches!(l.kind, ProgramKind::FentryMulti | ProgramKind::FexitMulti) {
        // Such programs may read their context by the helper alone.
        let value = word_of_call(l, h::GET_FUNC_ARG, Some(offset / 8));
        return Ok(if size == 8 { value } else { l.function.builder.extend(value, (size * 8) as u8, signed) });
    }
    let context = l.function.context();
    let addr = Addr::new(Base::Reg(context), offset as i32);
    if !matches!(
        l.kind,
        ProgramKind::RawTracepoint
            | ProgramKind::Fentry
            | ProgramKind::Fexit
            | ProgramKind::Iter
            | ProgramKind::SyscallDispatch
    ) {
        return Ok(memory::load(&mut l.function.builder, addr, size, signed));
    }
    let b = &mut l.function.builder;
    // Trampoline slots are 8 bytes each and loaded whole (`btf_ctx_access`, kernel/bpf/btf.c).
    let value = memory::load(b, addr, 8, false);
    if matches!(ty, Type::Ptr { .. }) || size == 8 {
        return Ok(numbers::plain(b, value));
    }
    Ok(b.extend(value, (size * 8) as u8, signed))
}

/// A word of the traced function's call, as a helper hands it out: an argument by its number, or the result.
pub fn word_of_call(l: &mut Lowerer<'_, '_>, helper: u32, argument: Option<u32>) -> Vreg {
    let mark = l.mark();
    let slot = Addr::new(Base::Slot(l.function.temp_slot(8)), 0);
    memory::store(&mut l.function.builder, slot, 8, 0);
    let context = l.function.context();
    let b = &mut l.function.builder;
    let at = memory::pointer(b, slot);
    let number = argument.map(|n| Operand::from(i64::from(n)));
    let operands: Vec<Operand> = std::iter::once(context.into()).chain(number).chain([at.into()]).collect();
    b.call_void(helper, &operands);
    let value = memory::load(b, slot, 8, false);
    l.release(mark);
    value
}

/// Whether the verifier may keep an argument of this type from programs: of the words that are pointers it
/// lets only those be loaded that lead to structs, to characters and, since Linux 5.17, to other numbers
/// (`btf_ctx_access`, commit bb6728d75611). Addresses without a type may be of functions, which are none of these.
fn is_kept(l: &Lowerer<'_, '_>, ty: &Type) -> bool {
    if !matches!(l.kind, ProgramKind::Fentry | ProgramKind::Fexit | ProgramKind::RawTracepoint) {
        return false;
    }
    let Type::Ptr { to, .. } = ty else { return false };
    match **to {
        Type::Struct(_) | Type::Int { size: 1, .. } => false,
        Type::Int { .. } => !l.object.facts.features().func_arg,
        _ => true,
    }
}

/// A word of a typed context, read as any memory of the kernel.
fn argument_by_helper(l: &mut Lowerer<'_, '_>, offset: u32, span: Span) -> Result<Vreg, CodegenError> {
    let mark = l.mark();
    let slot = l.function.temp_slot(8);
    let addr = Addr::new(Base::Slot(slot), 0);
    let context = l.function.context();
    let base = if offset == 0 { context } else { l.function.builder.add(context, i64::from(offset)) };
    let place = Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel };
    remote(l, place, addr, 8, span)?;
    let value = memory::load(&mut l.function.builder, addr, 8, false);
    l.release(mark);
    Ok(value)
}

/// Copies `size` bytes from a place to memory.
pub fn copy(l: &mut Lowerer<'_, '_>, place: Place, dst: Addr, size: u32, span: Span) -> Result<(), CodegenError> {
    match place {
        Place::Memory(src) => {
            if src != dst {
                memory::copy(&mut l.function.builder, dst, src, size);
            }
            Ok(())
        }
        Place::Context(offset) => {
            let context = l.function.context();
            // Contexts only take loads of natural alignment; perf contexts only whole words.
            memory::copy(&mut l.function.builder, dst, Addr::new(Base::Reg(context), offset as i32), size);
            Ok(())
        }
        Place::Remote { .. } => remote(l, place, dst, size, span),
    }
}

/// Whether the first byte of a place can be read.
pub fn succeeds(l: &mut Lowerer<'_, '_>, place: Place) -> Operand {
    let Place::Remote { base, offset, space } = place else { return 1.into() };
    let mark = l.mark();
    let byte = l.temp(8);
    let b = &mut l.function.builder;
    let from = if offset == 0 { base } else { b.add(base, offset).into() };
    let to = memory::pointer(b, byte);
    let result = b.call(h::probe_read(space), &[to.into(), 1.into(), from]);
    let readable = flow::compare(b, Cond::Eq, result, 0);
    l.release(mark);
    readable.into()
}

/// Reads through a helper; what can't be read is zero and counted.
fn remote(l: &mut Lowerer<'_, '_>, place: Place, dst: Addr, size: u32, span: Span) -> Result<(), CodegenError> {
    let Place::Remote { base, offset, space } = place else { return Ok(()) };
    let b = &mut l.function.builder;
    let from = if offset == 0 { base } else { b.add(base, offset).into() };
    let to = memory::pointer(b, dst);
    let helper = h::probe_read(space);
    let result = b.call(helper, &[to.into(), i64::from(size).into(), from]);
    l.when(Cond::Ne, result.into(), 0.into(), |l| {
        l.failed(LossCause::ReadFailed, Some((helper, result.into())), span);
        Ok(())
    })
}
