//! Parts of variables that are written by themselves, and places inside of arrays at offsets that are not known before.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, LocalId};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::maps::{element, key};
use crate::codegen::lower::numbers;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::canonical::Tail;

/// Writes a part of a variable.
pub fn store_part<'a>(l: &mut Lowerer<'_, 'a>, place: &'a Expr, value: &'a Expr) -> Result<(), CodegenError> {
    let size = l.object.size(&place.ty);
    let mark = l.mark();
    let done = l.function.builder.new_block();
    if place.ty.fits_register() {
        let scalar = l.scalar(value)?;
        let scalar = l.function.builder.copy(scalar);
        let at = own_part(l, place, done)?;
        let bytes = scalar_shape(&place.ty).0;
        memory::store(&mut l.function.builder, at, bytes, scalar);
    } else {
        let temp = l.temp(size);
        l.store_value(value, temp, &place.ty, Tail::Zeroed)?;
        let at = own_part(l, place, done)?;
        memory::copy(&mut l.function.builder, at, temp, size);
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    l.release(mark);
    Ok(())
}

/// Where a part of a variable lies. An element that a map does not have yet is inserted with zeros; control goes to `full` when
/// there is no room for it.
fn own_part<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, full: BlockId) -> Result<Addr, CodegenError> {
    match &e.kind {
        ExprKind::Local(id) => match l.variables.memory(&mut l.function, *id) {
            Some(at) => Ok(at),
            None => l.internal(e.span, "a part of a variable in a register"),
        },
        ExprKind::MapGet { map, key: None } => match element::scalar(l, *map) {
            Some(scalar) => {
                l.known.invalidate(*map);
                memory::store(&mut l.function.builder, scalar.present, 1, 1);
                Ok(scalar.value)
            }
            None => l.internal(e.span, "a part of a keyed variable"),
        },
        ExprKind::MapGet { map, key } => {
            l.known.invalidate(*map);
            let key = key::in_memory(l, *map, key.as_deref(), e.span)?;
            let element = element::lookup_or_insert(l, *map, key, full, false, e.span)?;
            Ok(Addr::new(Base::Reg(element), 0))
        }
        ExprKind::Field { base, offset, .. } => Ok(own_part(l, base, full)?.at(*offset)),
        ExprKind::Index { base, index } => {
            let Type::Array { len, .. } = base.ty else { return l.internal(e.span, "an element of no array") };
            let size = l.object.size(&e.ty);
            if let Some(i) = index.as_int() {
                let at = own_part(l, base, full)?;
                return Ok(at.at((i as u32).wrapping_mul(size)));
            }
            let index = l.scalar(index)?;
            let index = l.function.builder.copy(index);
            l.when(Cond::Ge, index.into(), i64::from(len).into(), |l| {
                l.failed(LossCause::OutOfBounds, None, e.span);
                l.function.builder.copy_into(index, 0);
                Ok(())
            })?;
            let base = own_part(l, base, full)?;
            let b = &mut l.function.builder;
            let start = memory::pointer(b, base);
            let mask = i64::from(len.max(1).next_power_of_two() - 1);
            let index = b.and(index, mask);
            numbers::at_most(b, index, i64::from(len.max(1)) - 1);
            let scaled = b.mul(index, i64::from(size));
            let at = b.add(start, scaled);
            Ok(Addr::new(Base::Reg(at), 0))
        }
        ExprKind::Within { local, offset } => within(l, *local, offset, l.object.size(&e.ty)),
        _ => l.internal(e.span, "a part of what is no variable"),
    }
}

/// The largest power of two that fits twice into a local that is an array of bytes.
pub fn half_of(l: &Lowerer<'_, '_>, id: LocalId, span: Span) -> Result<u32, CodegenError> {
    match *l.variables.ty(id) {
        Type::Array { len, .. } => Ok(1 << (len.max(2).ilog2() - 1)),
        _ => l.internal(span, "a place inside of what is no array"),
    }
}

/// A place of `size` bytes inside a local that is an array of bytes, at an offset that is not known before. The array
/// has room for two of the largest power of two in it: whatever begins in the first half ends within.
pub fn within<'a>(l: &mut Lowerer<'_, 'a>, id: LocalId, offset: &'a Expr, size: u32) -> Result<Addr, CodegenError> {
    let half = half_of(l, id, offset.span)?;
    if size > half {
        let (what, span) = ("a value in scratch memory".to_owned(), offset.span);
        let (size, limit) = (u64::from(size), u64::from(half));
        return Err(CodegenError::TooLarge { span, what, size, limit, hint: None });
    }
    if let Some(known) = offset.as_int().filter(|known| known.saturating_add(u64::from(size)) <= u64::from(half))
        && let Some(base) = l.variables.memory(&mut l.function, id)
    {
        return Ok(base.at(known as u32));
    }
    let offset_value = l.scalar(offset)?;
    let at = l.function.builder.copy(offset_value);
    l.when(Cond::Ge, at.into(), i64::from(half).into(), |l| {
        l.failed(LossCause::ReadFailed, None, offset.span);
        l.function.builder.copy_into(at, 0);
        Ok(())
    })?;
    let at = l.function.builder.and(at, i64::from(half - 1));
    let Some(base) = l.variables.memory(&mut l.function, id) else {
        return l.internal(offset.span, "a place inside of a variable without memory");
    };
    let start = memory::pointer(&mut l.function.builder, base);
    let at = l.function.builder.add(start, at);
    Ok(Addr::new(Base::Reg(at), 0))
}
