//! Keys as the kernel's maps take them.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::Operand;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, MapId};

use crate::codegen::lower::addr::{Addr, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::padded;
use crate::codegen::lower::numbers;
use crate::codegen::lower::value::canonical::Tail;

/// Writes a key into memory; keys that are in memory already stay there, unless they need zeros
/// behind them.
pub fn in_memory<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    span: Span,
) -> Result<Addr, CodegenError> {
    let Some(key) = key else { return l.internal(span, "a keyed map without a key") };
    let want = &l.object.program.maps[map.0 as usize].key;
    let size = l.object.size(want);
    let room = match l.object.cells(map) {
        Some(cells) => cells.key.words * 8,
        None => padded(want, size),
    };
    if !key.ty.fits_register() && key.ty == *want && room == size {
        return l.memory(key);
    }
    let temp = l.temp(room);
    write(l, map, key, temp, room)?;
    Ok(temp)
}

/// Writes a key, and zeros behind it up to `room` bytes.
pub fn write<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, key: &'a Expr, dst: Addr, room: u32) -> Result<(), CodegenError> {
    let want = &l.object.program.maps[map.0 as usize].key;
    let size = l.object.size(want);
    match &key.kind {
        _ if want.fits_register() && key.ty.fits_register() => {
            let value = l.scalar(key)?;
            numbers::store_padded(&mut l.function.builder, dst, value, size);
        }
        ExprKind::Tuple(items) if key.ty == *want => {
            l.store_tuple(items, dst, want, Tail::Zeroed, room)?;
        }
        _ => {
            l.store_value(key, dst, want, Tail::Zeroed)?;
            memory::zero(&mut l.function.builder, dst.at(size), room - size);
        }
    }
    Ok(())
}

/// A key of one word.
pub fn word<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, key: &'a Expr) -> Result<Operand, CodegenError> {
    let bytes = l.object.size(&l.object.program.maps[map.0 as usize].key);
    let value = l.scalar(key)?;
    Ok(numbers::padded_word(&mut l.function.builder, value, bytes))
}
