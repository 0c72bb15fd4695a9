//! How places are found, read and copied.

use super::Place;
use crate::codegen::builder::purpose;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind, size_align};
use crate::lang::types::{AddressSpace, Type};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::numbers;
use crate::codegen::lower::place::{part, read};
use crate::codegen::lower::value::canonical;

impl<'a> Lowerer<'_, 'a> {
    /// The place that an expression names; values that are no place are written to temporary memory.
    pub fn place(&mut self, e: &'a Expr) -> Result<Place, CodegenError> {
        match &e.kind {
            ExprKind::Deref(pointer) => self.pointee(pointer),
            ExprKind::Field { base, offset, .. } => Ok(field_base(self, base)?.at(*offset)),
            ExprKind::Index { base, index } => element(self, base, index, e),
            ExprKind::Within { local, offset } => {
                Ok(Place::Memory(part::within(self, *local, offset, self.object.size(&e.ty))?))
            }
            // A trampoline's slot holds a by-value struct or a pointer to it; the front end says which
            // by the type. Tracepoint records hold arrays and strings in place.
            ExprKind::Builtin(Builtin::CtxField(offset)) => Ok(Place::Context(*offset)),
            ExprKind::Builtin(Builtin::DataLoc(offset)) => Ok(data_loc(&mut self.function, *offset)),
            ExprKind::TupleField(base, index) => {
                let at = canonical::tuple_offset(self, base, *index)?;
                Ok(self.place(base)?.at(at))
            }
            _ => Ok(Place::Memory(self.memory(e)?)),
        }
    }

    pub fn pointee(&mut self, pointer: &'a Expr) -> Result<Place, CodegenError> {
        let space = match &pointer.ty {
            Type::Ptr { space, .. } => *space,
            _ => AddressSpace::Kernel,
        };
        if space == AddressSpace::Context {
            if matches!(pointer.kind, ExprKind::Builtin(Builtin::Ctx)) {
                return Ok(Place::Context(0));
            }
            if matches!(pointer.kind, ExprKind::Cast(_)) {
                // As another type than the kernel's own, whose offsets the verifier would refuse: the
                // context is kernel memory, too.
                return Ok(Place::Remote { base: self.scalar(pointer)?, offset: 0, space: AddressSpace::Kernel });
            }
            let base = self.scalar_register(pointer)?;
            return Ok(Place::Memory(Addr::new(Base::Reg(base), 0)));
        }
        let base = self.scalar(pointer)?;
        Ok(Place::Remote { base, offset: 0, space })
    }
}

/// A struct-typed place, or a pointer that is followed.
fn field_base<'a>(l: &mut Lowerer<'_, 'a>, base: &'a Expr) -> Result<Place, CodegenError> {
    if matches!(base.ty, Type::Ptr { .. }) { l.pointee(base) } else { l.place(base) }
}

/// A dynamic array of a tracepoint: the low 16 bits are its offset in the record.
/// `include/trace/stages/stage5_get_offsets.h`.
fn data_loc(f: &mut FunctionState, offset: u32) -> Place {
    let context = f.context();
    let location = memory::load(&mut f.builder, Addr::new(Base::Reg(context), offset as i32), 4, false);
    let at = f.builder.and(location, 0xffff);
    // The context takes no variable offsets: the record is read as kernel memory.
    let base = f.builder.add(context, at);
    Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel }
}

fn element<'a>(l: &mut Lowerer<'_, 'a>, base: &'a Expr, index: &'a Expr, e: &'a Expr) -> Result<Place, CodegenError> {
    let (size, _) = size_align(&e.ty, &l.object.program.structs);
    let size = size.max(1);
    let (place, len) = match &base.ty {
        Type::Ptr { .. } => (l.pointee(base)?, None),
        // An array without a length at a struct's end goes on behind it: it has no bound to check.
        Type::Array { len: 0, .. } => match l.place(base)? {
            remote @ Place::Remote { .. } => (remote, None),
            own => (own, Some(0)),
        },
        Type::Array { len, .. } => (l.place(base)?, Some(*len)),
        Type::Str { size } | Type::Buf { size } => (l.place(base)?, Some(*size)),
        _ => (l.place(base)?, None),
    };
    if let Some(i) = index.as_int()
        && len.is_none_or(|len| i < u64::from(len))
    {
        if let Place::Remote { base, offset, space } = place {
            let offset = offset.wrapping_add((i as i64).wrapping_mul(i64::from(size)));
            return Ok(Place::Remote { base, offset, space });
        }
        return Ok(place.at((i as u32).wrapping_mul(size)));
    }
    let index_value = l.scalar_register(index)?;
    dynamic_element(l, place, index_value, len, size, base, e.span)
}

fn dynamic_element(
    l: &mut Lowerer<'_, '_>,
    place: Place,
    index: Vreg,
    len: Option<u32>,
    size: u32,
    base: &Expr,
    span: Span,
) -> Result<Place, CodegenError> {
    let index = match len {
        Some(len) => checked_index(l, index, len, span)?,
        None => index,
    };
    match place {
        Place::Remote { base, offset, space } => {
            let scaled = l.function.builder.mul(index, i64::from(size));
            let base = l.function.builder.add(base, scaled);
            Ok(Place::Remote { base: base.into(), offset, space })
        }
        Place::Memory(_) | Place::Context(_) => {
            // Variable offsets are only taken in map values: the array is moved there.
            let (bytes, _) = size_align(&base.ty, &l.object.program.structs);
            let most = len.unwrap_or(0).saturating_add(1).next_power_of_two();
            let copy = l.temp_scratch(bytes.saturating_add(size).max(most.saturating_mul(size)));
            read::copy(l, place, copy, bytes, span)?;
            let b = &mut l.function.builder;
            // What an index out of range reads.
            memory::zero(b, copy.at(bytes), size);
            let start = memory::pointer(b, copy);
            // The mask changes nothing; before 5.16 the verifier keeps no bound of what is spilled.
            let bounded = b.and(index, i64::from(most - 1));
            let scaled = b.mul(bounded, i64::from(size));
            let at = b.add(start, scaled);
            Ok(Place::Memory(Addr::new(Base::Reg(at), 0)))
        }
    }
}

/// The index, or `len` (one past the end) when out of range, which is counted.
fn checked_index(l: &mut Lowerer<'_, '_>, index: Vreg, len: u32, span: Span) -> Result<Vreg, CodegenError> {
    let checked = purpose::copy_to_bound(&mut l.function.builder, index);
    l.when(Cond::Ge, checked.into(), i64::from(len).into(), |l| {
        l.failed(LossCause::OutOfBounds, None, span);
        l.function.builder.copy_into(checked, i64::from(len));
        Ok(())
    })?;
    Ok(checked)
}

/// The address that a place stands for.
pub fn address_of<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Operand, CodegenError> {
    if let ExprKind::Local(id) = &e.kind {
        let Some(addr) = l.variables.memory(&mut l.function, *id) else {
            return l.internal(e.span, "a variable without memory");
        };
        let pointer = memory::pointer(&mut l.function.builder, addr);
        return Ok(numbers::plain(&mut l.function.builder, pointer).into());
    }
    Ok(match l.place(e)? {
        Place::Remote { base, offset: 0, .. } => base,
        Place::Remote { base, offset, .. } => l.function.builder.add(base, offset).into(),
        Place::Memory(addr) => memory::pointer(&mut l.function.builder, addr).into(),
        Place::Context(offset) => {
            let context = l.function.context();
            l.function.builder.add(context, i64::from(offset)).into()
        }
    })
}
