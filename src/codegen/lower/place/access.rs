//! How places are found, read and copied.

use super::{Place, scalar_shape};
use crate::codegen::artifact::ProgramKind;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind, size_align};
use crate::lang::types::{AddressSpace, Type};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;

impl<'a> Lowerer<'_, 'a> {
    /// The place that an expression names; values that are no place are written to temporary memory.
    pub fn place(&mut self, e: &'a Expr) -> Result<Place, CodegenError> {
        match &e.kind {
            ExprKind::Deref(pointer) => self.pointee(pointer),
            ExprKind::Field { base, offset, .. } => Ok(self.field_base(base)?.at(*offset)),
            ExprKind::Index { base, index } => self.element(base, index, e),
            ExprKind::Within { local, offset } => Ok(Place::Memory(self.within(*local, offset, self.size(&e.ty))?)),
            // A trampoline's slot holds a by-value struct or a pointer to it; the front end says which
            // by the type. Tracepoint records hold arrays and strings in place.
            ExprKind::Builtin(Builtin::CtxField(offset)) => Ok(Place::Context(*offset)),
            ExprKind::Builtin(Builtin::DataLoc(offset)) => Ok(self.data_loc(*offset)),
            ExprKind::TupleField(base, index) => {
                let at = self.tuple_offset(base, *index)?;
                Ok(self.place(base)?.at(at))
            }
            _ => Ok(Place::Memory(self.memory(e)?)),
        }
    }

    /// A struct-typed place, or a pointer that is followed.
    fn field_base(&mut self, base: &'a Expr) -> Result<Place, CodegenError> {
        if matches!(base.ty, Type::Ptr { .. }) { self.pointee(base) } else { self.place(base) }
    }

    /// What a pointer points to.
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

    /// A dynamic array of a tracepoint: the low 16 bits are its offset in the record.
    /// `include/trace/stages/stage5_get_offsets.h`.
    fn data_loc(&mut self, offset: u32) -> Place {
        let context = self.function.context();
        let location = self.load(Addr::new(Base::Reg(context), offset as i32), 4, false);
        let at = self.function.builder.and(location, 0xffff);
        // The context takes no variable offsets: the record is read as kernel memory.
        let base = self.function.builder.add(context, at);
        Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel }
    }

    fn element(&mut self, base: &'a Expr, index: &'a Expr, e: &'a Expr) -> Result<Place, CodegenError> {
        let (size, _) = size_align(&e.ty, &self.object.program.structs);
        let size = size.max(1);
        let (place, len) = match &base.ty {
            Type::Ptr { .. } => (self.pointee(base)?, None),
            // An array without a length at a struct's end goes on behind it: it has no bound to check.
            Type::Array { len: 0, .. } => match self.place(base)? {
                remote @ Place::Remote { .. } => (remote, None),
                own => (own, Some(0)),
            },
            Type::Array { len, .. } => (self.place(base)?, Some(*len)),
            Type::Str { size } | Type::Buf { size } => (self.place(base)?, Some(*size)),
            _ => (self.place(base)?, None),
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
        let index_value = self.scalar_register(index)?;
        self.dynamic_element(place, index_value, len, size, base, e.span)
    }

    fn dynamic_element(
        &mut self,
        place: Place,
        index: Vreg,
        len: Option<u32>,
        size: u32,
        base: &Expr,
        span: Span,
    ) -> Result<Place, CodegenError> {
        let index = match len {
            Some(len) => self.checked_index(index, len, span)?,
            None => index,
        };
        match place {
            Place::Remote { base, offset, space } => {
                let scaled = self.function.builder.mul(index, i64::from(size));
                let base = self.function.builder.add(base, scaled);
                Ok(Place::Remote { base: base.into(), offset, space })
            }
            Place::Memory(_) | Place::Context(_) => {
                // Variable offsets are only taken in map values: the array is moved there.
                let (bytes, _) = size_align(&base.ty, &self.object.program.structs);
                let most = len.unwrap_or(0).saturating_add(1).next_power_of_two();
                let copy = self.temp_scratch(bytes.saturating_add(size).max(most.saturating_mul(size)));
                self.read_place(place, copy, bytes, span)?;
                // What an index out of range reads.
                self.zero(copy.at(bytes), size);
                let start = self.pointer(copy);
                // The mask changes nothing; before 5.16 the verifier keeps no bound of what is spilled.
                let bounded = self.function.builder.and(index, i64::from(most - 1));
                let scaled = self.function.builder.mul(bounded, i64::from(size));
                let at = self.function.builder.add(start, scaled);
                Ok(Place::Memory(Addr::new(Base::Reg(at), 0)))
            }
        }
    }

    /// The index, or `len` (one past the end) when out of range, which is counted.
    fn checked_index(&mut self, index: Vreg, len: u32, span: Span) -> Result<Vreg, CodegenError> {
        let checked = self.function.builder.copy_to_bound(index);
        self.when(Cond::Ge, checked.into(), i64::from(len).into(), |l| {
            l.failed(LossCause::OutOfBounds, None, span);
            l.function.builder.copy_into(checked, i64::from(len));
            Ok(())
        })?;
        Ok(checked)
    }

    /// The address that a place stands for.
    pub fn address_of(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        if let ExprKind::Local(id) = &e.kind {
            let Some(addr) = self.local_memory(*id) else {
                return self.internal(e.span, "a variable without memory");
            };
            let pointer = self.pointer(addr);
            return Ok(self.plain(pointer).into());
        }
        Ok(match self.place(e)? {
            Place::Remote { base, offset: 0, .. } => base,
            Place::Remote { base, offset, .. } => self.function.builder.add(base, offset).into(),
            Place::Memory(addr) => self.pointer(addr).into(),
            Place::Context(offset) => {
                let context = self.function.context();
                self.function.builder.add(context, i64::from(offset)).into()
            }
        })
    }

    /// Loads a scalar from a place, extended to 64 bits by its type.
    pub fn load_place(
        &mut self,
        place: Place,
        ty: &Type,
        bits: Option<(u8, u8)>,
        span: Span,
    ) -> Result<Operand, CodegenError> {
        let (size, signed) = scalar_shape(ty);
        let signed_load = signed && bits.is_none();
        let raw = match place {
            Place::Memory(addr) => self.load(addr, size, signed_load),
            Place::Context(offset) => self.load_context(offset, size, signed_load, ty, span)?,
            Place::Remote { .. } => {
                let mark = self.mark();
                let slot = self.function.temp_slot(8);
                let addr = Addr::new(Base::Slot(slot), 0);
                self.read_remote(place, addr, size, span)?;
                let value = self.load(addr, size, signed_load);
                self.release(mark);
                value
            }
        };
        let Some((first, width)) = bits else { return Ok(raw.into()) };
        // Bitfields: to the top, then down. As in bpftrace they have no sign, whatever their type.
        let (first, width) = (i64::from(first), i64::from(width.clamp(1, 64)));
        let high = self.function.builder.shl(raw, (64 - first - width).max(0));
        Ok(self.function.builder.alu(Alu::Shr, high, 64 - width).into())
    }

    fn load_context(
        &mut self,
        offset: u32,
        size: u32,
        signed: bool,
        ty: &Type,
        span: Span,
    ) -> Result<Vreg, CodegenError> {
        if self.is_kept(ty) {
            return self.argument_by_helper(offset, span);
        }
        if matches!(self.kind, ProgramKind::FentryMulti | ProgramKind::FexitMulti) {
            // Such programs may read their context by the helper alone.
            let value = self.word_of_call(h::GET_FUNC_ARG, Some(offset / 8));
            return Ok(if size == 8 { value } else { self.function.builder.extend(value, (size * 8) as u8, signed) });
        }
        let context = self.function.context();
        let addr = Addr::new(Base::Reg(context), offset as i32);
        if !matches!(
            self.kind,
            ProgramKind::RawTracepoint
                | ProgramKind::Fentry
                | ProgramKind::Fexit
                | ProgramKind::Iter
                | ProgramKind::SyscallDispatch
        ) {
            return Ok(self.load(addr, size, signed));
        }
        // Trampoline slots are 8 bytes each and loaded whole (`btf_ctx_access`, kernel/bpf/btf.c).
        let value = self.load(addr, 8, false);
        if matches!(ty, Type::Ptr { .. }) || size == 8 {
            return Ok(self.plain(value));
        }
        Ok(self.function.builder.extend(value, (size * 8) as u8, signed))
    }

    /// A word of the traced function's call, as a helper hands it out: an argument by its number, or the result.
    pub(in crate::codegen::lower) fn word_of_call(&mut self, helper: u32, argument: Option<u32>) -> Vreg {
        let mark = self.mark();
        let slot = Addr::new(Base::Slot(self.function.temp_slot(8)), 0);
        self.store(slot, 8, 0);
        let context = self.function.context();
        let at = self.pointer(slot);
        let number = argument.map(|n| Operand::from(i64::from(n)));
        let operands: Vec<Operand> = std::iter::once(context.into()).chain(number).chain([at.into()]).collect();
        self.function.builder.call_void(helper, &operands);
        let value = self.load(slot, 8, false);
        self.release(mark);
        value
    }

    /// Whether the verifier may keep an argument of this type from programs: of the words that are pointers it
    /// lets only those be loaded that lead to structs, to characters and, since Linux 5.17, to other numbers
    /// (`btf_ctx_access`, commit bb6728d75611). Addresses without a type may be of functions, which are none of these.
    pub(in crate::codegen::lower) fn is_kept(&self, ty: &Type) -> bool {
        if !matches!(self.kind, ProgramKind::Fentry | ProgramKind::Fexit | ProgramKind::RawTracepoint) {
            return false;
        }
        let Type::Ptr { to, .. } = ty else { return false };
        match **to {
            Type::Struct(_) | Type::Int { size: 1, .. } => false,
            Type::Int { .. } => !self.object.facts.features().func_arg,
            _ => true,
        }
    }

    /// A word of a typed context, read as any memory of the kernel.
    pub(in crate::codegen::lower) fn argument_by_helper(
        &mut self,
        offset: u32,
        span: Span,
    ) -> Result<Vreg, CodegenError> {
        let mark = self.mark();
        let slot = self.function.temp_slot(8);
        let addr = Addr::new(Base::Slot(slot), 0);
        let context = self.function.context();
        let base = if offset == 0 { context } else { self.function.builder.add(context, i64::from(offset)) };
        let place = Place::Remote { base: base.into(), offset: 0, space: AddressSpace::Kernel };
        self.read_remote(place, addr, 8, span)?;
        let value = self.load(addr, 8, false);
        self.release(mark);
        Ok(value)
    }

    /// The same number without the verifier's knowledge that it is a pointer, so that the script
    /// may calculate with it: negation makes any register a plain number
    /// (`check_alu_op`, kernel/bpf/verifier.c).
    pub fn plain(&mut self, value: Vreg) -> Vreg {
        let negative = self.function.builder.neg(value);
        self.function.builder.neg(negative)
    }

    /// Copies `size` bytes from a place to memory.
    pub fn read_place(&mut self, place: Place, dst: Addr, size: u32, span: Span) -> Result<(), CodegenError> {
        match place {
            Place::Memory(src) => {
                if src != dst {
                    self.copy(dst, src, size);
                }
                Ok(())
            }
            Place::Context(offset) => {
                let context = self.function.context();
                // Contexts only take loads of natural alignment; perf contexts only whole words.
                self.copy(dst, Addr::new(Base::Reg(context), offset as i32), size);
                Ok(())
            }
            Place::Remote { .. } => self.read_remote(place, dst, size, span),
        }
    }

    /// Reads through a helper; what can't be read is zero and counted.
    pub fn read_remote(&mut self, place: Place, dst: Addr, size: u32, span: Span) -> Result<(), CodegenError> {
        let Place::Remote { base, offset, space } = place else { return Ok(()) };
        let from = if offset == 0 { base } else { self.function.builder.add(base, offset).into() };
        let to = self.pointer(dst);
        let helper = h::probe_read(space);
        let result = self.function.builder.call(helper, &[to.into(), i64::from(size).into(), from]);
        self.when(Cond::Ne, result.into(), 0.into(), |l| {
            l.failed(LossCause::ReadFailed, Some((helper, result.into())), span);
            Ok(())
        })
    }
}
