//! `str()` and `buf()`: where they read, and how much.

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::lang::typed::{Expr, ExprKind, Intrinsic};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers;
use crate::codegen::lower::numbers::constant;
use crate::codegen::lower::place::{Place, read};
use crate::codegen::lower::value::canonical::Tail;

/// `str(pointer[, length])`. What the helper returns: bytes with the terminator, or an error.
pub fn str<'a>(
    l: &mut Lowerer<'_, 'a>,
    args: &'a [Expr],
    e: &'a Expr,
    dst: Addr,
    ty: &Type,
    tail: Tail,
) -> Result<Vreg, CodegenError> {
    let room = l.object.size(ty).min(l.object.size(&e.ty)).max(1);
    let (place, limit) = str_source(l, args, e, room)?;
    read::string(l, place, dst, l.object.size(ty), limit, tail, true, e.span)
}

/// The beginning of a `str()`: as much of it as a comparison of its first `bytes` bytes looks at. None where
/// that is no less than all, or the expression is another.
pub fn beginning<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, bytes: u32) -> Result<Option<Addr>, CodegenError> {
    let ExprKind::Call(Intrinsic::Str, args) = &e.kind else { return Ok(None) };
    // A helper that is told a length at run time wants all of its memory written before.
    let known = args.get(1).is_none_or(|length| constant(length).is_some());
    // The helper ends what it copies: with one byte more, the last of those compared is the string's own.
    let room = bytes + 1;
    if !known || room >= l.object.size(&e.ty) {
        return Ok(None);
    }
    let (place, limit) = str_source(l, args, e, room)?;
    let dst = l.temp(room);
    read::string(l, place, dst, room, limit, Tail::Loose, false, e.span)?;
    Ok(Some(dst))
}

/// Where a `str()` reads, and how many bytes with the terminator: at most `room`.
fn str_source<'a>(
    l: &mut Lowerer<'_, 'a>,
    args: &'a [Expr],
    e: &'a Expr,
    room: u32,
) -> Result<(Place, Operand), CodegenError> {
    let Some(source) = args.first() else { return l.internal(e.span, "str() without an argument") };
    let place = bytes_of(l, source)?;
    let bound = match &source.ty {
        Type::Array { .. } | Type::Str { .. } => room.min(l.object.size(&source.ty).max(1)),
        _ => room,
    };
    let limit = match args.get(1) {
        None => Operand::Imm(i64::from(bound)),
        Some(length) => string_limit(l, length, bound)?,
    };
    Ok((place, limit))
}

/// Where the bytes of an argument are: behind a pointer or an address, or in the value itself.
fn bytes_of<'a>(l: &mut Lowerer<'_, 'a>, source: &'a Expr) -> Result<Place, CodegenError> {
    match &source.ty {
        Type::Ptr { .. } => l.pointee(source),
        t if t.fits_register() => {
            let base = l.scalar(source)?;
            Ok(Place::Remote { base, offset: 0, space: read::untyped_space(l) })
        }
        _ => l.place(source),
    }
}

/// Length of a `str()` with the terminator, at most `bound`.
fn string_limit<'a>(l: &mut Lowerer<'_, 'a>, length: &'a Expr, bound: u32) -> Result<Operand, CodegenError> {
    if let Some(n) = constant(length) {
        return Ok(Operand::Imm(n.clamp(1, u64::from(bound)) as i64));
    }
    let value = l.scalar(length)?;
    let limit = numbers::copy_at_most(&mut l.function.builder, value, i64::from(bound));
    // The kernel's functions write no terminator where there is no room for it.
    flow::when(&mut l.function.builder, Cond::Eq, limit, 0, |b| {
        b.copy_into(limit, 1);
    });
    Ok(limit.into())
}

pub fn buffer<'a>(
    l: &mut Lowerer<'_, 'a>,
    args: &'a [Expr],
    e: &'a Expr,
    dst: Addr,
    ty: &Type,
) -> Result<(), CodegenError> {
    let Some(source) = args.first() else { return l.internal(e.span, "buf() without an argument") };
    let Type::Buf { size: capacity } = ty else { return l.internal(e.span, "a buffer of another type") };
    let place = bytes_of(l, source)?;
    let known = if matches!(source.ty, Type::Ptr { .. }) || source.ty.fits_register() {
        *capacity
    } else {
        l.object.size(&source.ty).min(*capacity)
    };
    let whole = l.object.size(ty);
    memory::zero(&mut l.function.builder, dst, whole);
    // Behind the end of a string are zeros, as many as are asked for.
    let longest = if matches!(source.ty, Type::Str { .. }) { *capacity } else { known };
    let (length, wanted) = match args.get(1) {
        None => (Operand::Imm(i64::from(longest)), Operand::Imm(i64::from(known))),
        Some(length) => {
            let value = l.scalar(length)?;
            let b = &mut l.function.builder;
            let length = numbers::copy_at_most(b, value, i64::from(longest));
            let wanted = numbers::copy_at_most(b, length, i64::from(known));
            (length.into(), wanted.into())
        }
    };
    memory::store(&mut l.function.builder, dst, 4, length);
    // A read of nothing at the end of the stack is one outside of it to the verifier.
    if *capacity == 0 {
        return Ok(());
    }
    let data = dst.at(4);
    match (place, wanted) {
        (Place::Memory(_) | Place::Context(_), Operand::Imm(n)) => read::copy(l, place, data, n as u32, e.span),
        (Place::Memory(addr), Operand::Reg(_)) => {
            let base = memory::pointer(&mut l.function.builder, addr).into();
            read::sized(l, Place::Remote { base, offset: 0, space: AddressSpace::Kernel }, data, wanted, e.span)
        }
        (Place::Context(offset), Operand::Reg(_)) => {
            let context = l.function.context();
            let place = Place::Remote { base: context.into(), offset: i64::from(offset), space: AddressSpace::Kernel };
            read::sized(l, place, data, wanted, e.span)
        }
        _ => read::sized(l, place, data, wanted, e.span),
    }
}
