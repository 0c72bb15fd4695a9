//! Writing values to maps: assignments, `++` and what becomes of a key that the kernel does not take.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BpfMapId, Cond, Operand, Size, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::Home;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::Tail;

/// A value before it is written.
#[derive(Clone, Copy)]
enum Computed {
    Word(Vreg),
    Memory(Addr),
}

impl<'a> Lowerer<'_, 'a> {
    /// `@m[key] = value`.
    pub fn map_set(
        &mut self,
        map: MapId,
        key: Option<&'a Expr>,
        value: &'a Expr,
        span: Span,
    ) -> Result<(), CodegenError> {
        let ty = &self.object.program.maps[map.0 as usize].value;
        if let Home::Shared { .. } = self.object.layout.homes[map.0 as usize] {
            return self.scalar_set(map, value, ty);
        }
        let Some(bpf) = self.keyed_map(map) else { return self.internal(span, "a value assigned to an aggregation") };
        if self.rewrites(map, ty, key) {
            return self.rewrite(map, bpf, key, value, span);
        }
        // bpftrace computes the value before the key; it matters when both have effects.
        let src = self.whole_value(value, ty)?;
        let key = self.key(map, key, span)?;
        self.known.invalidate(map);
        self.update(bpf, key, src, span)
    }

    /// Whether assignments look for the element first and write to it in place, which costs half of
    /// an update when it is there. Where the script deletes elements, it usually is not; nor may an
    /// element become another key's between the lookup and the store. A value of several words must have
    /// one writer at a time, lest it be mixed from two: its key names the thread or the CPU.
    fn rewrites(&self, map: MapId, ty: &Type, key: Option<&Expr>) -> bool {
        let shared = matches!(self.object.layout.homes[map.0 as usize], Home::Hash { per_cpu: false, .. });
        let whole = ty.fits_register() || key.is_some_and(super::keys::one_writer);
        shared && whole && !self.object.deleted[map.0 as usize]
    }

    fn rewrite(
        &mut self,
        map: MapId,
        bpf: BpfMapId,
        key: Option<&'a Expr>,
        value: &'a Expr,
        span: Span,
    ) -> Result<(), CodegenError> {
        let ty = &self.object.program.maps[map.0 as usize].value;
        let computed = if ty.fits_register() {
            let computed = self.scalar(value)?;
            Computed::Word(self.function.builder.copy(computed))
        } else {
            Computed::Memory(self.whole_value(value, ty)?)
        };
        let key = self.key(map, key, span)?;
        self.known.invalidate(map);
        let (there, absent, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let element = self.lookup(bpf, key);
        self.function.builder.branch(Cond::Ne, element, 0, there, absent);
        self.function.builder.switch_to(there);
        let at = Addr::new(Base::Reg(element), 0);
        match computed {
            Computed::Word(word) => self.store(at, scalar_shape(ty).0, word),
            Computed::Memory(src) => self.copy_value(src, at, ty, ty),
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(absent);
        let src = match computed {
            Computed::Word(word) => {
                let src = self.temp(8);
                self.store(src, 8, word);
                src
            }
            Computed::Memory(src) => src,
        };
        self.update(bpf, key, src, span)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// A value in memory, in the form that the map holds.
    fn whole_value(&mut self, value: &'a Expr, ty: &Type) -> Result<Addr, CodegenError> {
        if !value.ty.fits_register() && value.ty == *ty {
            return self.memory(value);
        }
        let temp = self.temp(self.size(ty).max(1));
        self.store_value(value, temp, ty, Tail::Zeroed)?;
        Ok(temp)
    }

    fn update(&mut self, bpf: BpfMapId, key: Addr, src: Addr, span: Span) -> Result<(), CodegenError> {
        let handle = self.function.builder.map_addr(bpf);
        let at = self.pointer(key);
        let from = self.pointer(src);
        let result =
            self.function.builder.call(h::MAP_UPDATE_ELEM, &[handle.into(), at.into(), from.into(), h::BPF_ANY.into()]);
        self.when(Cond::Ne, result.into(), 0.into(), |l| l.not_inserted(result, span))
    }

    /// Counts a key that the kernel did not take, and why.
    pub fn not_inserted(&mut self, result: Vreg, span: Span) -> Result<(), CodegenError> {
        let (full, done) = (self.function.builder.new_block(), self.function.builder.new_block());
        // Before Linux 6.4 a map's update is called in place of the helper and returns an `int`: its upper half is unset.
        let result = self.function.builder.extend(result, 32, true);
        self.function.builder.require(Cond::Ne, result, h::E2BIG, full);
        self.failed(LossCause::KeyRefused, Some((h::MAP_UPDATE_ELEM, result.into())), span);
        self.function.builder.jump(done);
        self.function.builder.switch_to(full);
        self.failed(LossCause::MapFull, Some((h::MAP_UPDATE_ELEM, h::E2BIG.into())), span);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    fn scalar_set(&mut self, map: MapId, value: &'a Expr, ty: &Type) -> Result<(), CodegenError> {
        if ty.fits_register() {
            let computed = self.scalar(value)?;
            let Some(scalar) = self.scalar_map(map) else { return Ok(()) };
            self.store(scalar.value, scalar_shape(ty).0, computed);
            self.store(scalar.present, 1, 1);
            return Ok(());
        }
        let src = self.memory(value)?;
        let Some(scalar) = self.scalar_map(map) else { return Ok(()) };
        self.copy_value(src, scalar.value, &value.ty, ty);
        self.store(scalar.present, 1, 1);
        Ok(())
    }

    /// `@m[key] += delta`; the value before or after it when `postfix` is given, else none is needed.
    pub fn map_step(
        &mut self,
        map: MapId,
        key: Option<&'a Expr>,
        delta: &'a Expr,
        postfix: Option<bool>,
        e: &'a Expr,
    ) -> Result<Operand, CodegenError> {
        let ty = &self.object.program.maps[map.0 as usize].value;
        let delta = self.scalar(delta)?;
        if let Some(scalar) = self.scalar_map(map) {
            self.note_absent(scalar, e.span)?;
            // Ahead of the addition: behind a locked instruction the store waits for it.
            self.store(scalar.present, 1, 1);
            return Ok(self.step_at(scalar.value, delta, ty, postfix, true));
        }
        self.known.invalidate(map);
        let mark = self.mark();
        let key = self.key(map, key, e.span)?;
        let result = self.function.builder.new_vreg();
        self.function.builder.copy_into(result, 0);
        let done = self.function.builder.new_block();
        let element = self.lookup_or_insert(map, key, done, true, e.span)?;
        let per_cpu = matches!(self.object.layout.homes[map.0 as usize], Home::Hash { per_cpu: true, .. });
        let atomic = !per_cpu || self.object.contended[map.0 as usize];
        let value = self.step_at(Addr::new(Base::Reg(element), 0), delta, ty, postfix, atomic);
        self.function.builder.copy_into(result, value);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.release(mark);
        Ok(result.into())
    }

    fn step_at(&mut self, at: Addr, delta: Operand, ty: &Type, postfix: Option<bool>, atomic: bool) -> Operand {
        let (size, signed) = scalar_shape(ty);
        if atomic && size >= 4 {
            let Some(postfix) = postfix else {
                self.add_at(at, size, delta, true);
                return 0.into();
            };
            if self.object.facts.atomics {
                let pointer = self.pointer(at);
                let width = if size == 4 { Size::B4 } else { Size::B8 };
                let old = self.function.builder.atomic_fetch_add(pointer, 0, width, delta);
                let old = self.wrap(old, ty);
                if postfix {
                    return old.into();
                }
                let new = self.function.builder.add(old, delta);
                return self.wrap(new, ty).into();
            }
        }
        let old = self.load(at, size, signed);
        let new = self.function.builder.add(old, delta);
        self.store(at, size, new);
        if postfix == Some(true) { old.into() } else { self.wrap(new, ty).into() }
    }
}
