//! Writing values to maps: assignments, `++` and what becomes of a key that the kernel does not take.

use crate::codegen::builder::{FunctionBuilder, atomic, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BpfMapId, Cond, Operand, Size, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::Home;
use crate::codegen::lower::maps::{element, key, reduce};
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{helpers as h, numbers};

/// A value before it is written.
#[derive(Clone, Copy)]
enum Computed {
    Word(Vreg),
    Memory(Addr),
}

/// `@m[key] = value`.
pub fn set<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    value: &'a Expr,
    span: Span,
) -> Result<(), CodegenError> {
    let ty = &l.object.program.maps[map.0 as usize].value;
    if let Home::Shared { .. } = l.object.layout.homes[map.0 as usize] {
        return scalar_set(l, map, value, ty);
    }
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(span, "a value assigned to an aggregation") };
    if rewrites(l.object, map, ty, key) {
        return rewrite(l, map, bpf, key, value, span);
    }
    // bpftrace computes the value before the key; it matters when both have effects.
    let src = whole_value(l, value, ty)?;
    let key = key::in_memory(l, map, key, span)?;
    l.known.invalidate(map);
    update(l, bpf, key, src, span)
}

/// Whether assignments look for the element first and write to it in place, which costs half of
/// an update when it is there. Where the script deletes elements, it usually is not; nor may an
/// element become another key's between the lookup and the store. A value of several words must have
/// one writer at a time, lest it be mixed from two: its key names the thread or the CPU.
fn rewrites(object: &ObjectBuilder<'_>, map: MapId, ty: &Type, key: Option<&Expr>) -> bool {
    let shared = matches!(object.layout.homes[map.0 as usize], Home::Hash { per_cpu: false, .. });
    let whole = ty.fits_register() || key.is_some_and(crate::codegen::lower::maps::usage::one_writer);
    shared && whole && !object.deleted[map.0 as usize]
}

fn rewrite<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    bpf: BpfMapId,
    key: Option<&'a Expr>,
    value: &'a Expr,
    span: Span,
) -> Result<(), CodegenError> {
    let ty = &l.object.program.maps[map.0 as usize].value;
    let computed = if ty.fits_register() {
        let computed = l.scalar(value)?;
        Computed::Word(l.function.builder.copy(computed))
    } else {
        Computed::Memory(whole_value(l, value, ty)?)
    };
    let key = key::in_memory(l, map, key, span)?;
    l.known.invalidate(map);
    let b = &mut l.function.builder;
    let [there, absent, done] = b.new_blocks();
    let element = element::lookup(b, bpf, key);
    b.branch(Cond::Ne, element, 0, there, absent);
    b.switch_to(there);
    let at = Addr::new(Base::Reg(element), 0);
    match computed {
        Computed::Word(word) => memory::store(&mut l.function.builder, at, scalar_shape(ty).0, word),
        Computed::Memory(src) => canonical::copy_value(l.object, &mut l.function.builder, src, at, ty, ty),
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(absent);
    let src = match computed {
        Computed::Word(word) => {
            let src = l.temp(8);
            memory::store(&mut l.function.builder, src, 8, word);
            src
        }
        Computed::Memory(src) => src,
    };
    update(l, bpf, key, src, span)?;
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(())
}

/// A value in memory, in the form that the map holds.
fn whole_value<'a>(l: &mut Lowerer<'_, 'a>, value: &'a Expr, ty: &Type) -> Result<Addr, CodegenError> {
    if !value.ty.fits_register() && value.ty == *ty {
        return l.memory(value);
    }
    let temp = l.temp(l.object.size(ty).max(1));
    l.store_value(value, temp, ty, Tail::Zeroed)?;
    Ok(temp)
}

fn update(l: &mut Lowerer<'_, '_>, bpf: BpfMapId, key: Addr, src: Addr, span: Span) -> Result<(), CodegenError> {
    let b = &mut l.function.builder;
    let handle = b.address(bpf);
    let at = memory::pointer(b, key);
    let from = memory::pointer(b, src);
    let result = b.call(h::MAP_UPDATE_ELEM, &[handle.into(), at.into(), from.into(), h::BPF_ANY.into()]);
    l.when(Cond::Ne, result.into(), 0.into(), |l| element::not_inserted(l, result, span))
}

fn scalar_set<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, value: &'a Expr, ty: &Type) -> Result<(), CodegenError> {
    if ty.fits_register() {
        let computed = l.scalar(value)?;
        let Some(scalar) = element::scalar(l, map) else { return Ok(()) };
        memory::store(&mut l.function.builder, scalar.value, scalar_shape(ty).0, computed);
        memory::store(&mut l.function.builder, scalar.present, 1, 1);
        return Ok(());
    }
    let src = l.memory(value)?;
    let Some(scalar) = element::scalar(l, map) else { return Ok(()) };
    canonical::copy_value(l.object, &mut l.function.builder, src, scalar.value, &value.ty, ty);
    memory::store(&mut l.function.builder, scalar.present, 1, 1);
    Ok(())
}

/// `@m[key] += delta`; the value before or after it when `postfix` is given, else none is needed.
pub fn step<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    delta: &'a Expr,
    postfix: Option<bool>,
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    let ty = &l.object.program.maps[map.0 as usize].value;
    let delta = l.scalar(delta)?;
    if let Some(scalar) = element::scalar(l, map) {
        element::note_absent(l, scalar, e.span)?;
        // Ahead of the addition: behind a locked instruction the store waits for it.
        memory::store(&mut l.function.builder, scalar.present, 1, 1);
        return Ok(step_at(l.object, &mut l.function.builder, scalar.value, delta, ty, postfix, true));
    }
    l.known.invalidate(map);
    let mark = l.mark();
    let key = key::in_memory(l, map, key, e.span)?;
    let b = &mut l.function.builder;
    let result = b.new_vreg();
    b.copy_into(result, 0);
    let done = b.new_block();
    let element = element::lookup_or_insert(l, map, key, done, true, e.span)?;
    let per_cpu = matches!(l.object.layout.homes[map.0 as usize], Home::Hash { per_cpu: true, .. });
    let atomic = !per_cpu || l.object.contended[map.0 as usize];
    let value =
        step_at(l.object, &mut l.function.builder, Addr::new(Base::Reg(element), 0), delta, ty, postfix, atomic);
    let b = &mut l.function.builder;
    b.copy_into(result, value);
    b.jump(done);
    b.switch_to(done);
    l.release(mark);
    Ok(result.into())
}

fn step_at(
    object: &ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    at: Addr,
    delta: Operand,
    ty: &Type,
    postfix: Option<bool>,
    atomic: bool,
) -> Operand {
    let (size, signed) = scalar_shape(ty);
    if atomic && size >= 4 {
        let Some(postfix) = postfix else {
            memory::add_at(b, at, size, delta, true);
            return 0.into();
        };
        if object.facts.atomics {
            let pointer = memory::pointer(b, at);
            let width = if size == 4 { Size::B4 } else { Size::B8 };
            let old = atomic::fetch_add(b, pointer, 0, width, delta);
            let old = numbers::wrap(b, old, ty);
            if postfix {
                return old.into();
            }
            let new = b.add(old, delta);
            return numbers::wrap(b, new, ty).into();
        }
    }
    let old = memory::load(b, at, size, signed);
    let new = b.add(old, delta);
    memory::store(b, at, size, new);
    if postfix == Some(true) { old.into() } else { numbers::wrap(b, new, ty).into() }
}

pub fn delete<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    l.known.invalidate(map);
    match l.object.layout.homes[map.0 as usize] {
        Home::PerCpu { .. } => return reduce::delete_per_cpu(l, map, e),
        Home::Cells(_) => return l.internal(e.span, "an element deleted of a map that is only updated"),
        Home::Shared { .. } => {
            let Some(scalar) = element::scalar(l, map) else { return Ok(0.into()) };
            let present = memory::load(&mut l.function.builder, scalar.present, 1, false);
            memory::store(&mut l.function.builder, scalar.present, 1, 0);
            let size = l.object.size(&l.object.program.maps[map.0 as usize].value);
            memory::zero(&mut l.function.builder, scalar.value, size);
            return Ok(present.into());
        }
        Home::Hash { .. } => {}
    }
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(e.span, "a map without a home") };
    let mark = l.mark();
    let key = key::in_memory(l, map, key, e.span)?;
    let b = &mut l.function.builder;
    let handle = b.address(bpf);
    let at = memory::pointer(b, key);
    let result = b.call(h::MAP_DELETE_ELEM, &[handle.into(), at.into()]);
    l.release(mark);
    Ok(flow::compare(&mut l.function.builder, Cond::Eq, result, 0).into())
}
