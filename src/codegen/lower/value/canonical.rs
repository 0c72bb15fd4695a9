//! Values in the canonical layout of their types: constants, copies, and where the parts of a tuple lie.

use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::lang::typed::{Expr, tuple_layout};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::CONSTANTS;
use crate::codegen::lower::object::ObjectBuilder;

/// What may stand after a string's terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Zeros up to the type's size: keys, compared values.
    Zeroed,
    /// Anything: records, which are decoded up to the terminator.
    Loose,
}

/// Zeros to read from.
pub fn zeros(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, size: u32) -> Addr {
    let at = object.constant(&vec![0; size.next_multiple_of(8) as usize]);
    let section = object.section(CONSTANTS);
    Addr::new(Base::Reg(b.address(section.at(at))), 0)
}

/// Address of a constant string, padded to `size`.
pub fn constant_string(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, text: &str, size: u32) -> Addr {
    let mut bytes = bytes_of(text).into_owned();
    bytes.truncate(size.saturating_sub(1) as usize);
    bytes.resize(size.max(1) as usize, 0);
    let at = object.constant(&bytes);
    let section = object.section(CONSTANTS);
    Addr::new(Base::Reg(b.address(section.at(at))), 0)
}

/// Copies a value that is in canonical layout already.
pub fn copy_value(object: &ObjectBuilder<'_>, b: &mut FunctionBuilder, src: Addr, dst: Addr, from: &Type, to: &Type) {
    let (have, want) = (object.size(from), object.size(to));
    if src != dst {
        memory::copy(b, dst, src, have.min(want));
    }
    if want > have {
        memory::zero(b, dst.at(have), want - have);
    } else if have > want && want > 0 && matches!(to, Type::Str { .. }) {
        memory::store(b, dst.at(want - 1), 1, 0);
    }
}

/// Writes a constant string.
pub fn write_string(b: &mut FunctionBuilder, dst: Addr, text: &str, size: u32, tail: Tail) {
    let mut bytes = bytes_of(text).into_owned();
    bytes.truncate(size.saturating_sub(1) as usize);
    bytes.push(0);
    let total = if tail == Tail::Zeroed { size } else { (bytes.len() as u32).min(size) };
    memory::write_bytes(b, dst, &bytes, total);
}

/// Byte offset of a tuple's or record's element.
pub fn tuple_offset(l: &Lowerer<'_, '_>, base: &Expr, index: u32) -> Result<u32, CodegenError> {
    let types = element_types(&base.ty);
    let (_, offsets) = tuple_layout(types.into_iter(), &l.object.program.structs);
    match offsets.get(index as usize) {
        Some(offset) => Ok(*offset),
        None => l.internal(base.span, "an element that the tuple does not have"),
    }
}

/// Types of a tuple's or record's elements.
pub fn element_types(ty: &Type) -> Vec<&Type> {
    match ty {
        Type::Tuple(items) => items.iter().collect(),
        Type::Record(items) => items.iter().map(|(_, t)| t).collect(),
        // An array written element by element, as `pton` gives it.
        Type::Array { of, len } => std::iter::repeat_n(&**of, *len as usize).collect(),
        _ => Vec::new(),
    }
}
