//! Values that need memory: strings, tuples, structs, stacks. They are written where they are
//! wanted, in the canonical layout of their type.

pub mod canonical;

use crate::codegen::error::CodegenError;
use crate::codegen::ir::Operand;
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind, tuple_layout};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers::COMM_BYTES;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::{Place, read, scalar_shape};
use crate::codegen::lower::value::canonical::{Tail, element_types};
use crate::codegen::lower::{helpers as h, intrinsic, maps, numbers, trusted};

impl<'a> Lowerer<'_, 'a> {
    /// Memory that holds the value: where it is already, or temporary memory.
    pub fn memory(&mut self, e: &'a Expr) -> Result<Addr, CodegenError> {
        match &e.kind {
            ExprKind::Local(id) => {
                if let Some(addr) = self.variables.memory(&mut self.function, *id)
                    && !e.ty.fits_register()
                {
                    return Ok(addr);
                }
            }
            ExprKind::Str(text) => {
                return Ok(canonical::constant_string(
                    self.object,
                    &mut self.function.builder,
                    text,
                    self.object.size(&e.ty),
                ));
            }
            ExprKind::MapGet { map, key } if !e.ty.fits_register() => {
                return maps::in_memory(self, *map, key.as_deref(), e);
            }
            ExprKind::Block(block, value) => {
                self.block(block)?;
                return self.memory(value);
            }
            ExprKind::Deref(_) | ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::TupleField(..)
                if !e.ty.fits_register() =>
            {
                let place = self.place(e)?;
                if let Place::Memory(addr) = place {
                    return Ok(addr);
                }
                let size = self.object.size(&e.ty);
                let temp = self.temp(size);
                store_from_place(self, place, temp, &e.ty, &e.ty, Tail::Zeroed, e.span)?;
                return Ok(temp);
            }
            _ => {}
        }
        let size = self.object.size(&e.ty);
        let temp = self.temp(size);
        self.store_value(e, temp, &e.ty, Tail::Zeroed)?;
        Ok(temp)
    }

    /// Writes an expression's value at `dst` in the layout of `ty` (its own type, or a longer string).
    pub fn store_value(&mut self, e: &'a Expr, dst: Addr, ty: &Type, tail: Tail) -> Result<(), CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let result = store_kind(self, e, dst, ty, tail);
        self.function.builder.set_span(previous);
        result
    }

    /// Writes a tuple, and zeros behind it up to `room`.
    pub fn store_tuple(
        &mut self,
        items: &'a [Expr],
        dst: Addr,
        ty: &Type,
        tail: Tail,
        room: u32,
    ) -> Result<(), CodegenError> {
        let types = element_types(ty);
        if types.len() != items.len() {
            let span = items.first().map_or_else(Span::default, |i| i.span);
            return self.internal(span, "a tuple of another length than its type");
        }
        let structs = &self.object.program.structs;
        let (_, offsets) = tuple_layout(types.iter().copied(), structs);
        let mut end = 0;
        for (i, (item, ty)) in items.iter().zip(&types).enumerate() {
            let offset = offsets[i];
            if offset > end {
                memory::zero(&mut self.function.builder, dst.at(end), offset - end);
            }
            let next = offsets.get(i + 1).map_or(room, |next| *next);
            let mark = self.mark();
            end = if fills_word(self.object, item, ty, dst.at(offset), next - offset) {
                let previous = self.function.builder.set_span(item.span);
                let value = self.scalar(item);
                self.function.builder.set_span(previous);
                numbers::store_padded(&mut self.function.builder, dst.at(offset), value?, self.object.size(ty));
                offset + 8
            } else {
                self.store_value(item, dst.at(offset), ty, tail)?;
                offset + self.object.size(ty)
            };
            self.release(mark);
        }
        if room > end {
            memory::zero(&mut self.function.builder, dst.at(end), room - end);
        }
        Ok(())
    }
}

fn store_kind<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, dst: Addr, ty: &Type, tail: Tail) -> Result<(), CodegenError> {
    if ty.fits_register() && e.ty.fits_register() {
        let value = l.scalar(e)?;
        memory::store(&mut l.function.builder, dst, scalar_shape(ty).0, value);
        return Ok(());
    }
    match &e.kind {
        ExprKind::Str(text) => {
            canonical::write_string(&mut l.function.builder, dst, text, l.object.size(ty), tail);
            Ok(())
        }
        ExprKind::Tuple(items) => {
            let size = l.object.size(ty);
            l.store_tuple(items, dst, ty, tail, size)
        }
        ExprKind::Builtin(Builtin::Comm) => {
            store_comm(l, dst, ty, tail);
            Ok(())
        }
        ExprKind::Call(intrinsic, args) => intrinsic::store(l, intrinsic, args, e, dst, ty, tail),
        ExprKind::Conditional(c, a, b) => store_conditional(l, c, [a, b], dst, ty, tail),
        ExprKind::Cast(a) => store_cast(l, a, e, dst, ty, tail),
        ExprKind::Block(block, value) => {
            l.block(block)?;
            l.store_value(value, dst, ty, tail)
        }
        ExprKind::CallUser(id, args) => l.call_user_into(*id, args, e, dst, ty),
        ExprKind::MapGet { map, key } => {
            let src = maps::in_memory(l, *map, key.as_deref(), e)?;
            canonical::copy_value(l.object, &mut l.function.builder, src, dst, &e.ty, ty);
            Ok(())
        }
        ExprKind::Local(id) => {
            let Some(src) = l.variables.memory(&mut l.function, *id) else {
                return l.internal(e.span, "a variable without memory");
            };
            canonical::copy_value(l.object, &mut l.function.builder, src, dst, &e.ty, ty);
            Ok(())
        }
        _ => {
            let place = l.place(e)?;
            store_from_place(l, place, dst, &e.ty, ty, tail, e.span)
        }
    }
}

fn store_comm(l: &mut Lowerer<'_, '_>, dst: Addr, ty: &Type, tail: Tail) {
    let size = l.object.size(ty);
    if size >= COMM_BYTES
        && let Some(name) = trusted::task_name(l, tail == Tail::Zeroed)
    {
        memory::copy(&mut l.function.builder, dst, name, COMM_BYTES);
        if size > COMM_BYTES && tail == Tail::Zeroed {
            memory::zero(&mut l.function.builder, dst.at(COMM_BYTES), size - COMM_BYTES);
        }
        return;
    }
    // Kernels between 5.17 and 6.4 leave what stands behind the terminator as it was (`strscpy`
    // in `bpf_get_current_comm`, kernel/bpf/helpers.c); keys and comparisons take whole arrays.
    if tail == Tail::Zeroed && l.object.facts.version < 6 << 16 | 4 << 8 {
        memory::zero(&mut l.function.builder, dst, size.min(16));
    }
    let b = &mut l.function.builder;
    if size >= 16 {
        let to = memory::pointer(b, dst);
        b.call_void(h::GET_CURRENT_COMM, &[to.into(), 16.into()]);
        if size > 16 && tail == Tail::Zeroed {
            memory::zero(b, dst.at(16), size - 16);
        }
        return;
    }
    // The helper terminates what it cuts (`strscpy`, and an explicit zero before that).
    let to = memory::pointer(b, dst);
    b.call_void(h::GET_CURRENT_COMM, &[to.into(), i64::from(size).into()]);
}

/// Whether a number and the zeros behind it are a whole word: one store then, which the kernel's
/// loads of whole words need not wait for.
fn fills_word(object: &ObjectBuilder<'_>, item: &Expr, ty: &Type, dst: Addr, bytes: u32) -> bool {
    let number = ty.fits_register() && item.ty.fits_register();
    number && bytes == 8 && object.size(ty) < 8 && dst.offset % 8 == 0
}

fn store_conditional<'a>(
    l: &mut Lowerer<'_, 'a>,
    c: &'a Expr,
    arms: [&'a Expr; 2],
    dst: Addr,
    ty: &Type,
    tail: Tail,
) -> Result<(), CodegenError> {
    let [then, otherwise, done] = l.function.builder.new_blocks();
    l.condition(c, then, otherwise)?;
    for (block, arm) in [(then, arms[0]), (otherwise, arms[1])] {
        l.function.builder.switch_to(block);
        l.store_value(arm, dst, ty, tail)?;
        l.function.builder.jump(done);
    }
    l.function.builder.switch_to(done);
    Ok(())
}

fn store_cast<'a>(
    l: &mut Lowerer<'_, 'a>,
    a: &'a Expr,
    e: &'a Expr,
    dst: Addr,
    ty: &Type,
    tail: Tail,
) -> Result<(), CodegenError> {
    if !a.ty.fits_register() {
        // A string as a longer string, bytes as a string, a struct seen as another.
        let is_text = |t: &Type| matches!(t, Type::Str { .. });
        if is_text(&a.ty) && is_text(ty) {
            let cut = l.object.size(&e.ty);
            if cut >= l.object.size(&a.ty).min(l.object.size(ty)) {
                return l.store_value(a, dst, ty, tail);
            }
            // Shortened, then wanted as a longer one: what the cut leaves away must not come back.
            let temp = l.temp(cut);
            l.store_value(a, temp, &e.ty, Tail::Zeroed)?;
            return store_from_place(l, Place::Memory(temp), dst, &e.ty, ty, tail, e.span);
        }
        let place = l.place(a)?;
        if is_text(ty) {
            return store_from_place(l, place, dst, &a.ty, ty, tail, e.span);
        }
        let (have, want) = (l.object.size(&a.ty), l.object.size(ty));
        read::copy(l, place, dst, have.min(want), e.span)?;
        if want > have {
            memory::zero(&mut l.function.builder, dst.at(have), want - have);
        }
        return Ok(());
    }
    // A number as bytes, or as the number of a compound formatted value.
    let value = l.scalar(a)?;
    let want = l.object.size(ty);
    let size = want.min(8);
    numbers::store_bytes(&mut l.function.builder, dst, size, value);
    if want > size {
        memory::zero(&mut l.function.builder, dst.at(size), want - size);
    }
    Ok(())
}

/// Reads a place of type `from` into `dst` as a value of type `to`.
fn store_from_place(
    l: &mut Lowerer<'_, '_>,
    place: Place,
    dst: Addr,
    from: &Type,
    to: &Type,
    tail: Tail,
    span: Span,
) -> Result<(), CodegenError> {
    let (have, want) = (l.object.size(from), l.object.size(to));
    let text = matches!(to, Type::Str { .. });
    match place {
        _ if text && tail == Tail::Zeroed && read::copy_record_text(l, place, dst, have, want) => {}
        Place::Remote { .. } | Place::Context(_)
            if text && (tail == Tail::Zeroed || !matches!(place, Place::Context(_))) =>
        {
            let limit = have.min(want).max(1);
            let remote = read::as_remote(&mut l.function, place);
            let length = read::string(l, remote, dst, want, Operand::Imm(i64::from(limit)), tail, false, span)?;
            if matches!(from, Type::Str { .. }) && limit == have && have > 1 {
                read::last_byte(l, remote, dst, have, length, span)?;
            }
        }
        _ => {
            read::copy(l, place, dst, have.min(want), span)?;
            if want > have && tail == Tail::Zeroed {
                memory::zero(&mut l.function.builder, dst.at(have), want - have);
            } else if want > have {
                memory::store(&mut l.function.builder, dst.at(have), 1, 0);
            }
        }
    }
    Ok(())
}
