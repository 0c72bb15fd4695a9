//! Reading and writing maps.

pub mod aggregate;
pub mod element;
pub mod key;
pub mod map_value_cache;
pub mod per_cpu_key_cache;
pub mod reduce;
pub mod usage;
pub mod write;

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, FuncId, Linkage, Operand, Vreg};
use crate::lang::typed::{Expr, ExprKind, LocalId, MapId};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::aggregation;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::{helpers as h, numbers};

/// A map's value that does not fit a register; zeros when absent.
pub fn in_memory<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    e: &'a Expr,
) -> Result<Addr, CodegenError> {
    if let Some(scalar) = element::scalar(l, map) {
        element::note_absent(l, scalar, e.span)?;
        return Ok(scalar.value);
    }
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(e.span, "a map without a home") };
    if let Some(element) = known_read(l, map, key) {
        return Ok(Addr::new(Base::Reg(element), 0));
    }
    let size = l.object.size(&e.ty).max(l.object.size(&l.object.program.maps[map.0 as usize].value));
    let at = key::in_memory(l, map, key, e.span)?;
    let b = &mut l.function.builder;
    let element = b.new_vreg();
    let found = element::lookup(b, bpf, at);
    b.copy_into(element, found);
    l.when(Cond::Eq, element.into(), 0.into(), |l| {
        element::count_absent(l, e.span);
        let zeros = canonical::zeros(l.object, &mut l.function.builder, size);
        let from = memory::pointer(&mut l.function.builder, zeros);
        l.function.builder.copy_into(element, from);
        Ok(())
    })?;
    if let Some(key) = key {
        l.known.note_read(map, e, key, element);
    }
    Ok(Addr::new(Base::Reg(element), 0))
}

/// Map expressions whose value fits a register.
pub fn scalar<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Operand, CodegenError> {
    match &e.kind {
        ExprKind::MapGet { map, key } => get(l, *map, key.as_deref(), e),
        ExprKind::MapHas { map, key } => has(l, *map, key.as_deref(), e),
        ExprKind::MapDelete { map, key } => write::delete(l, *map, key.as_deref(), e),
        ExprKind::MapFind { map, key, local } => find(l, *map, key, *local, e),
        ExprKind::MapLen(map) => len(l, *map, e),
        ExprKind::MapAddress(map) => Ok(address(l, *map)),
        ExprKind::MapStep { map, key, delta, postfix } => {
            write::step(l, *map, key.as_deref(), delta, Some(*postfix), e)
        }
        _ => l.internal(e.span, "not a map expression"),
    }
}

fn address(l: &mut Lowerer<'_, '_>, map: MapId) -> Operand {
    let address = match (l.object.keyed_map(map), element::scalar(l, map)) {
        (Some(bpf), _) => l.function.builder.address(bpf),
        (None, Some(scalar)) => memory::pointer(&mut l.function.builder, scalar.value),
        (None, None) => return 0.into(),
    };
    numbers::plain(&mut l.function.builder, address).into()
}

fn get<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Operand, CodegenError> {
    let spec = &l.object.program.maps[map.0 as usize];
    if let Some(agg) = aggregation(spec) {
        return reduce::value(l, map, agg, key, e);
    }
    let (size, signed) = scalar_shape(&spec.value);
    if let Some(scalar) = element::scalar(l, map) {
        element::note_absent(l, scalar, e.span)?;
        return Ok(memory::load(&mut l.function.builder, scalar.value, size, signed).into());
    }
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(e.span, "a map without a home") };
    if let Some(value) = known_read(l, map, key) {
        return Ok(value.into());
    }
    let mark = l.mark();
    let at = key::in_memory(l, map, key, e.span)?;
    let b = &mut l.function.builder;
    let result = b.new_vreg();
    let element = element::lookup(b, bpf, at);
    b.copy_into(result, 0);
    flow::when(&mut l.function.builder, Cond::Ne, element, 0, |b| {
        let value = memory::load(b, Addr::new(Base::Reg(element), 0), size, signed);
        b.copy_into(result, value);
    });
    if l.object.facts.absent_keys {
        l.when(Cond::Eq, element.into(), 0.into(), |l| {
            element::count_absent(l, e.span);
            Ok(())
        })?;
    }
    l.release(mark);
    if let Some(key) = key {
        l.known.note_read(map, e, key, result);
    }
    Ok(result.into())
}

/// What an earlier read gave, unless each read of an absent key is to be counted.
fn known_read(l: &Lowerer<'_, '_>, map: MapId, key: Option<&Expr>) -> Option<Vreg> {
    key.filter(|_| !l.object.facts.absent_keys).and_then(|key| l.known.value(map, key))
}

fn has<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Operand, CodegenError> {
    if let Some(scalar) = element::scalar(l, map) {
        let present = memory::load(&mut l.function.builder, scalar.present, 1, false);
        return Ok(flow::compare(&mut l.function.builder, Cond::Ne, present, 0).into());
    }
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(e.span, "a map without a home") };
    let mark = l.mark();
    let key = key::in_memory(l, map, key, e.span)?;
    let element = element::lookup(&mut l.function.builder, bpf, key);
    l.release(mark);
    Ok(flow::compare(&mut l.function.builder, Cond::Ne, element, 0).into())
}

fn find<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: &'a Expr,
    local: LocalId,
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(e.span, "find() on a scalar map") };
    let value_type = &l.object.program.maps[map.0 as usize].value;
    let local_type = l.variables.ty(local);
    let aggregation = aggregation(&l.object.program.maps[map.0 as usize]);
    let mark = l.mark();
    let key = key::in_memory(l, map, Some(key), e.span)?;
    let b = &mut l.function.builder;
    let element = element::lookup(b, bpf, key);
    let result = b.new_vreg();
    b.copy_into(result, 0);
    l.when(Cond::Ne, element.into(), 0.into(), |l| {
        let src = Addr::new(Base::Reg(element), 0);
        if let Some(agg) = aggregation {
            let value = reduce::by_key(l, map, agg, key, e.span)?;
            l.variables.write(&mut l.function, local, value);
        } else if value_type.fits_register() {
            let (size, signed) = scalar_shape(value_type);
            let value = memory::load(&mut l.function.builder, src, size, signed);
            l.variables.write(&mut l.function, local, value.into());
        } else if let Some(dst) = l.variables.memory(&mut l.function, local) {
            canonical::copy_value(l.object, &mut l.function.builder, src, dst, value_type, local_type);
        }
        l.function.builder.copy_into(result, 1);
        Ok(())
    })?;
    l.release(mark);
    Ok(result.into())
}

/// How many keys: `bpf_for_each_map_elem` returns the number of elements it visited.
fn len<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, e: &'a Expr) -> Result<Operand, CodegenError> {
    let Some(bpf) = l.object.keyed_map(map) else {
        let Some(scalar) = element::scalar(l, map) else { return Ok(0.into()) };
        let present = memory::load(&mut l.function.builder, scalar.present, 1, false);
        return Ok(flow::compare(&mut l.function.builder, Cond::Ne, present, 0).into());
    };
    if !l.object.facts.features().for_each_map_elem {
        return Err(CodegenError::unsupported(e.span, "len() of a map", "bpf_for_each_map_elem (Linux 5.13)"));
    }
    let callback = nothing_callback(l.object);
    let b = &mut l.function.builder;
    let handle = b.address(bpf);
    let function = b.address(callback);
    let count = b.call(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), 0.into(), 0.into()]);
    Ok(count.into())
}

/// A callback that goes on.
fn nothing_callback(object: &mut ObjectBuilder<'_>) -> FuncId {
    let id = object.reserve_function();
    let name = format!("count_{}", id.0);
    let mut b = crate::codegen::builder::FunctionBuilder::new(name, Linkage::Subprogram, 4);
    b.ret(0);
    object.functions[id.0 as usize] = Some(b.finish());
    id
}
