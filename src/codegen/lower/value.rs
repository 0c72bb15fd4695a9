//! Values that need memory: strings, tuples, structs, stacks. They are written where they are
//! wanted, in the canonical layout of their type.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind, size_align, tuple_layout};
use crate::lang::types::{AddressSpace, Type};
use crate::model::bytes::bytes_of;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::CONSTANTS;
use crate::codegen::lower::place::{Place, scalar_shape};
use crate::codegen::lower::trusted::COMM_BYTES;

/// What may stand after a string's terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Zeros up to the type's size: keys, compared values.
    Zeroed,
    /// Anything: records, which are decoded up to the terminator.
    Loose,
}

impl<'a> Lowerer<'_, 'a> {
    /// Size in bytes of a value of this type.
    pub fn size(&self, ty: &Type) -> u32 {
        size_align(ty, &self.object.program.structs).0
    }

    /// Memory that holds the value: where it is already, or temporary memory.
    pub fn memory(&mut self, e: &'a Expr) -> Result<Addr, CodegenError> {
        match &e.kind {
            ExprKind::Local(id) => {
                if let Some(addr) = self.local_memory(*id)
                    && !e.ty.fits_register()
                {
                    return Ok(addr);
                }
            }
            ExprKind::Str(text) => return Ok(self.constant_string(text, self.size(&e.ty))),
            ExprKind::MapGet { map, key } if !e.ty.fits_register() => {
                return self.map_memory(*map, key.as_deref(), e);
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
                let size = self.size(&e.ty);
                let temp = self.temp(size);
                self.store_from_place(place, temp, &e.ty, &e.ty, Tail::Zeroed, e.span)?;
                return Ok(temp);
            }
            _ => {}
        }
        let size = self.size(&e.ty);
        let temp = self.temp(size);
        self.store_value(e, temp, &e.ty, Tail::Zeroed)?;
        Ok(temp)
    }

    /// Address of a constant string, padded to `size`.
    pub fn constant_string(&mut self, text: &str, size: u32) -> Addr {
        let mut bytes = bytes_of(text).into_owned();
        bytes.truncate(size.saturating_sub(1) as usize);
        bytes.resize(size.max(1) as usize, 0);
        let at = self.object.constant(&bytes);
        let section = self.object.section(CONSTANTS);
        Addr::new(Base::Reg(self.function.builder.global_addr(section, at)), 0)
    }

    /// Writes an expression's value at `dst` in the layout of `ty` (its own type, or a longer string).
    pub fn store_value(&mut self, e: &'a Expr, dst: Addr, ty: &Type, tail: Tail) -> Result<(), CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let result = self.store_kind(e, dst, ty, tail);
        self.function.builder.set_span(previous);
        result
    }

    fn store_kind(&mut self, e: &'a Expr, dst: Addr, ty: &Type, tail: Tail) -> Result<(), CodegenError> {
        if ty.fits_register() && e.ty.fits_register() {
            let value = self.scalar(e)?;
            self.store(dst, scalar_shape(ty).0, value);
            return Ok(());
        }
        match &e.kind {
            ExprKind::Str(text) => {
                self.write_string(dst, text, self.size(ty), tail);
                Ok(())
            }
            ExprKind::Tuple(items) => {
                let size = self.size(ty);
                self.store_tuple(items, dst, ty, tail, size)
            }
            ExprKind::Builtin(Builtin::Comm) => {
                self.store_comm(dst, ty, tail);
                Ok(())
            }
            ExprKind::Call(intrinsic, args) => self.intrinsic_store(intrinsic, args, e, dst, ty, tail),
            ExprKind::Conditional(c, a, b) => self.store_conditional(c, [a, b], dst, ty, tail),
            ExprKind::Cast(a) => self.store_cast(a, e, dst, ty, tail),
            ExprKind::Block(block, value) => {
                self.block(block)?;
                self.store_value(value, dst, ty, tail)
            }
            ExprKind::CallUser(id, args) => self.call_user_into(*id, args, e, dst, ty),
            ExprKind::MapGet { map, key } => {
                let src = self.map_memory(*map, key.as_deref(), e)?;
                self.copy_value(src, dst, &e.ty, ty);
                Ok(())
            }
            ExprKind::Local(id) => {
                let Some(src) = self.local_memory(*id) else {
                    return self.internal(e.span, "a variable without memory");
                };
                self.copy_value(src, dst, &e.ty, ty);
                Ok(())
            }
            _ => {
                let place = self.place(e)?;
                self.store_from_place(place, dst, &e.ty, ty, tail, e.span)
            }
        }
    }

    /// Copies a value that is in canonical layout already.
    pub fn copy_value(&mut self, src: Addr, dst: Addr, from: &Type, to: &Type) {
        let (have, want) = (self.size(from), self.size(to));
        if src != dst {
            self.copy(dst, src, have.min(want));
        }
        if want > have {
            self.zero(dst.at(have), want - have);
        } else if have > want && want > 0 && matches!(to, Type::Str { .. }) {
            self.store(dst.at(want - 1), 1, 0);
        }
    }

    /// Writes a constant string.
    pub fn write_string(&mut self, dst: Addr, text: &str, size: u32, tail: Tail) {
        let mut bytes = bytes_of(text).into_owned();
        bytes.truncate(size.saturating_sub(1) as usize);
        bytes.push(0);
        let total = if tail == Tail::Zeroed { size } else { (bytes.len() as u32).min(size) };
        self.write_bytes(dst, &bytes, total);
    }

    fn store_comm(&mut self, dst: Addr, ty: &Type, tail: Tail) {
        let size = self.size(ty);
        if size >= COMM_BYTES
            && let Some(name) = self.task_name(tail == Tail::Zeroed)
        {
            self.copy(dst, name, COMM_BYTES);
            if size > COMM_BYTES && tail == Tail::Zeroed {
                self.zero(dst.at(COMM_BYTES), size - COMM_BYTES);
            }
            return;
        }
        // Kernels between 5.17 and 6.4 leave what stands behind the terminator as it was (`strscpy`
        // in `bpf_get_current_comm`, kernel/bpf/helpers.c); keys and comparisons take whole arrays.
        if tail == Tail::Zeroed && self.object.facts.version < 6 << 16 | 4 << 8 {
            self.zero(dst, size.min(16));
        }
        if size >= 16 {
            let to = self.pointer(dst);
            self.function.builder.call_void(h::GET_CURRENT_COMM, &[to.into(), 16.into()]);
            if size > 16 && tail == Tail::Zeroed {
                self.zero(dst.at(16), size - 16);
            }
            return;
        }
        // The helper terminates what it cuts (`strscpy`, and an explicit zero before that).
        let to = self.pointer(dst);
        self.function.builder.call_void(h::GET_CURRENT_COMM, &[to.into(), i64::from(size).into()]);
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
                self.zero(dst.at(end), offset - end);
            }
            let next = offsets.get(i + 1).map_or(room, |next| *next);
            let mark = self.mark();
            end = if self.fills_word(item, ty, dst.at(offset), next - offset) {
                let previous = self.function.builder.set_span(item.span);
                let value = self.scalar(item);
                self.function.builder.set_span(previous);
                self.store_padded(dst.at(offset), value?, self.size(ty));
                offset + 8
            } else {
                self.store_value(item, dst.at(offset), ty, tail)?;
                offset + self.size(ty)
            };
            self.release(mark);
        }
        if room > end {
            self.zero(dst.at(end), room - end);
        }
        Ok(())
    }

    /// Whether a number and the zeros behind it are a whole word: one store then, which the kernel's
    /// loads of whole words need not wait for.
    fn fills_word(&self, item: &Expr, ty: &Type, dst: Addr, bytes: u32) -> bool {
        let number = ty.fits_register() && item.ty.fits_register();
        number && bytes == 8 && self.size(ty) < 8 && dst.offset % 8 == 0
    }

    /// Byte offset of a tuple's or record's element.
    pub fn tuple_offset(&self, base: &Expr, index: u32) -> Result<u32, CodegenError> {
        let types = element_types(&base.ty);
        let (_, offsets) = tuple_layout(types.into_iter(), &self.object.program.structs);
        match offsets.get(index as usize) {
            Some(offset) => Ok(*offset),
            None => self.internal(base.span, "an element that the tuple does not have"),
        }
    }

    fn store_conditional(
        &mut self,
        c: &'a Expr,
        arms: [&'a Expr; 2],
        dst: Addr,
        ty: &Type,
        tail: Tail,
    ) -> Result<(), CodegenError> {
        let (then, otherwise, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.condition(c, then, otherwise)?;
        for (block, arm) in [(then, arms[0]), (otherwise, arms[1])] {
            self.function.builder.switch_to(block);
            self.store_value(arm, dst, ty, tail)?;
            self.function.builder.jump(done);
        }
        self.function.builder.switch_to(done);
        Ok(())
    }

    fn store_cast(&mut self, a: &'a Expr, e: &'a Expr, dst: Addr, ty: &Type, tail: Tail) -> Result<(), CodegenError> {
        if !a.ty.fits_register() {
            // A string as a longer string, bytes as a string, a struct seen as another.
            let is_text = |t: &Type| matches!(t, Type::Str { .. });
            if is_text(&a.ty) && is_text(ty) {
                let cut = self.size(&e.ty);
                if cut >= self.size(&a.ty).min(self.size(ty)) {
                    return self.store_value(a, dst, ty, tail);
                }
                // Shortened, then wanted as a longer one: what the cut leaves away must not come back.
                let temp = self.temp(cut);
                self.store_value(a, temp, &e.ty, Tail::Zeroed)?;
                return self.store_from_place(Place::Memory(temp), dst, &e.ty, ty, tail, e.span);
            }
            let place = self.place(a)?;
            if is_text(ty) {
                return self.store_from_place(place, dst, &a.ty, ty, tail, e.span);
            }
            let (have, want) = (self.size(&a.ty), self.size(ty));
            self.read_place(place, dst, have.min(want), e.span)?;
            if want > have {
                self.zero(dst.at(have), want - have);
            }
            return Ok(());
        }
        // A number as bytes, or as the number of a compound formatted value.
        let value = self.scalar(a)?;
        let want = self.size(ty);
        let size = want.min(8);
        self.store_bytes(dst, size, value);
        if want > size {
            self.zero(dst.at(size), want - size);
        }
        Ok(())
    }

    /// Stores the lower bytes of a number, up to eight.
    fn store_bytes(&mut self, dst: Addr, size: u32, value: Operand) {
        let mut stored = 0;
        while stored < size {
            let piece = 1 << (size - stored).ilog2();
            let part = if stored == 0 { value } else { self.function.builder.shr(value, i64::from(stored * 8)).into() };
            self.store(dst.at(stored), piece, part);
            stored += piece;
        }
    }

    /// Reads a place of type `from` into `dst` as a value of type `to`.
    pub fn store_from_place(
        &mut self,
        place: Place,
        dst: Addr,
        from: &Type,
        to: &Type,
        tail: Tail,
        span: Span,
    ) -> Result<(), CodegenError> {
        let (have, want) = (self.size(from), self.size(to));
        let text = matches!(to, Type::Str { .. });
        match place {
            _ if text && tail == Tail::Zeroed && self.copy_record_text(place, dst, have, want) => {}
            Place::Remote { .. } | Place::Context(_) if text && (tail == Tail::Zeroed || !self.is_context(place)) => {
                let limit = have.min(want).max(1);
                let remote = self.as_remote(place);
                let length = self.read_string(remote, dst, want, Operand::Imm(i64::from(limit)), tail, false, span)?;
                if matches!(from, Type::Str { .. }) && limit == have && have > 1 {
                    self.last_byte(remote, dst, have, length, span)?;
                }
            }
            _ => {
                self.read_place(place, dst, have.min(want), span)?;
                if want > have && tail == Tail::Zeroed {
                    self.zero(dst.at(have), want - have);
                } else if want > have {
                    self.store(dst.at(have), 1, 0);
                }
            }
        }
        Ok(())
    }

    /// An array of characters may be full, without a zero at its end: then its last byte is part of
    /// the text, and reading it as a string has put a zero there.
    fn last_byte(&mut self, place: Place, dst: Addr, size: u32, length: Vreg, span: Span) -> Result<(), CodegenError> {
        let Place::Remote { base, offset, space } = place else { return Ok(()) };
        let at = i64::from(size) - 1;
        self.when(Cond::Eq, length.into(), i64::from(size).into(), |l| {
            let last = Place::Remote { base, offset: offset + at, space };
            l.read_place(last, dst.at(size - 1), 1, span)
        })
    }

    const fn is_context(&self, place: Place) -> bool {
        let _ = self;
        matches!(place, Place::Context(_))
    }

    /// A place as something that helpers read: the context is kernel memory too.
    fn as_remote(&mut self, place: Place) -> Place {
        match place {
            Place::Context(offset) => {
                let context = self.function.context();
                let base = self.function.builder.add(context, i64::from(offset));
                Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel }
            }
            Place::Memory(addr) => {
                Place::Remote { base: self.pointer(addr).into(), offset: 0, space: AddressSpace::Kernel }
            }
            remote @ Place::Remote { .. } => remote,
        }
    }

    /// Reads a NUL-terminated string of at most `limit` bytes, terminator included, into `size`
    /// bytes. The result is what the helper returns: length with the terminator, or an error.
    #[allow(clippy::too_many_arguments, reason = "a string read has this many sides")]
    pub fn read_string(
        &mut self,
        place: Place,
        dst: Addr,
        size: u32,
        limit: Operand,
        tail: Tail,
        count_truncated: bool,
        span: Span,
    ) -> Result<Vreg, CodegenError> {
        let place = self.as_remote(place);
        let Place::Remote { base, offset, space } = place else {
            return self.internal(span, "a string without an address");
        };
        if tail == Tail::Zeroed {
            self.zero(dst, size);
        }
        let limit = self.bounded(limit, size)?;
        let from = if offset == 0 { base } else { self.function.builder.add(base, offset).into() };
        let to = self.pointer(dst);
        let helper = h::probe_read_str(space);
        let length = self.function.builder.call(helper, &[to.into(), limit, from]);
        let result = self.function.builder.copy(length);
        // Linux 5.10 believes in numbers that are at least the bound and at most the string's size at
        // once: constants keep it from following the script with those.
        if count_truncated {
            // One comparison finds both: errors are large when taken as unsigned.
            self.when(Cond::Ge, length.into(), limit, |l| {
                let (failed, long, done) =
                    (l.function.builder.new_block(), l.function.builder.new_block(), l.function.builder.new_block());
                l.function.builder.branch(Cond::SLt, length, 0, failed, long);
                l.function.builder.switch_to(failed);
                l.function.builder.copy_into(result, -1);
                l.failed(LossCause::ReadFailed, Some((helper, length.into())), span);
                l.function.builder.jump(done);
                l.function.builder.switch_to(long);
                l.function.builder.copy_into(result, limit);
                l.count_loss(LossCause::Truncated, None, span);
                l.function.builder.jump(done);
                l.function.builder.switch_to(done);
                Ok(())
            })?;
        } else {
            self.when(Cond::SLt, length.into(), 0.into(), |l| {
                l.function.builder.copy_into(result, -1);
                l.failed(LossCause::ReadFailed, Some((helper, length.into())), span);
                Ok(())
            })?;
        }
        Ok(result)
    }
}

impl Lowerer<'_, '_> {
    /// Makes an unsigned number at most `most`, in a path that the verifier sees.
    pub fn at_most(&mut self, number: Vreg, most: i64) -> Result<(), CodegenError> {
        self.when(Cond::Gt, number.into(), most.into(), |l| {
            l.function.builder.copy_into(number, most);
            Ok(())
        })
    }

    /// A length that is at most `most`: it is so before, but a verifier that keeps no bounds of spilled numbers must
    /// see it right before the call.
    fn bounded(&mut self, length: Operand, most: u32) -> Result<Operand, CodegenError> {
        let Operand::Reg(register) = length else { return Ok(length) };
        let bounded = self.function.builder.copy_to_bound(register);
        self.at_most(bounded, i64::from(most))?;
        Ok(bounded.into())
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
