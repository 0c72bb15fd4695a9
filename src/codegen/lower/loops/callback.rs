//! Loops whose body is a function that the kernel calls: `bpf_loop`, and `bpf_for_each_map_elem` for maps.

use super::strategy::MOST_ITERATIONS;
use super::{Over, test_condition};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, FuncId, Linkage, Point, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId, tuple_layout};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FRAME_RETURNED, FunctionState, LoopTargets, Lowerer, Role};
use crate::codegen::lower::layout::aggregation;
use crate::codegen::lower::maps::reduce;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::programs::{brake, inline};
use crate::codegen::lower::value::canonical::element_types;
use crate::codegen::lower::{helpers as h, marks};

/// `for $kv : @map`.
pub fn for_map<'a>(
    l: &mut Lowerer<'_, 'a>,
    local: LocalId,
    map: MapId,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    if !l.object.facts.features().for_each_map_elem {
        return Err(CodegenError::unsupported(span, "a loop over a map", "bpf_for_each_map_elem (Linux 5.13)"));
    }
    marks::mark_changed(l, body);
    callback_loop(l, &Over::Map { local, map }, body, span)
}

/// `while` in iterations of `bpf_loop`, which end at what the kernel allows.
pub fn while_callback<'a>(l: &mut Lowerer<'_, 'a>, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
    marks::mark_changed(l, body);
    callback_loop(l, &Over::While(c), body, c.span)
}

pub fn callback_loop<'a>(
    l: &mut Lowerer<'_, 'a>,
    over: &Over<'a>,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    let frame = l.variables.frame(&mut l.function, 0);
    // The callback takes the base of the working memory from the frame.
    if l.function.role == Role::Program {
        l.function.scratch();
    }
    let id = l.object.reserve_function();
    let frame_pointer = memory::pointer(&mut l.function.builder, frame);
    let function = l.function.builder.address(id);
    match over {
        Over::Range { local, start, iterations } => {
            // The first number travels in the loop variable itself.
            l.variables.write(&mut l.function, *local, *start);
            marks::mark_frame(l);
            l.function
                .builder
                .call_void(h::LOOP, &[(*iterations).into(), function.into(), frame_pointer.into(), 0.into()]);
        }
        Over::While(_) => {
            marks::mark_frame(l);
            let args = [MOST_ITERATIONS.into(), function.into(), frame_pointer.into(), 0.into()];
            l.function.builder.call_void(h::LOOP, &args);
        }
        Over::Map { map, .. } => {
            let Some(bpf) = l.object.keyed_map(*map) else {
                return l.internal(span, "a loop over a scalar map");
            };
            marks::mark_frame(l);
            let handle = l.function.builder.address(bpf);
            l.function
                .builder
                .call_void(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), frame_pointer.into(), 0.into()]);
        }
    }
    callback(l, id, over, body, span)?;
    if let Over::Range { local, .. } = over {
        marks::end_counter(l, *local);
    }
    inline::take_returned(l)?;
    // A `return` in the callback ends the probe, or the callback that this loop is in.
    let flag = l.variables.frame(&mut l.function, FRAME_RETURNED as u32);
    let returned = memory::load(&mut l.function.builder, flag, 8, false);
    l.when(Cond::Ne, returned.into(), 0.into(), |l| {
        l.leave();
        Ok(())
    })
}

fn callback<'a>(
    l: &mut Lowerer<'_, 'a>,
    id: FuncId,
    over: &Over<'a>,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    // bpf_loop: (index, frame); bpf_for_each_map_elem: (map, key, value, frame).
    let (parameters, frame) = match over {
        Over::Range { .. } | Over::While(_) => (2, Vreg(1)),
        Over::Map { .. } => (4, Vreg(3)),
    };
    let region = l.function.region;
    let name = format!("loop_{}", id.0);
    let state = FunctionState::new(id, &name, Linkage::Subprogram, parameters, Role::Callback(frame), region);
    let outer = std::mem::replace(&mut l.function, state);
    let outer_iterators = std::mem::take(&mut l.iterators);
    let outer_scratch = l.scratch_next;
    l.callbacks += 1;
    l.function.begin_body();
    l.function.builder.set_span(span);
    let [next, stop] = l.function.builder.new_blocks();
    l.function.loops.push(LoopTargets { on_break: stop, on_continue: next });
    l.function.builder.function_mut().is_loop_body = true;
    l.function.builder.function_mut().has_explored_loop = l.has_explored_loop;
    let condition = if let Over::While(c) = over { Some(*c) } else { None };
    let constants = marks::constants_by_iteration(l, condition, body);
    marks::mark_numbers(l, Point::CallbackStart, &constants);
    match over {
        Over::Map { local, map } => element_variable(l, *local, *map, span)?,
        Over::While(c) => {
            let inside = l.function.builder.new_block();
            test_condition(l, c, inside, stop)?;
        }
        Over::Range { .. } => {}
    }
    l.block(body)?;
    l.function.builder.jump(next);
    l.function.builder.switch_to(next);
    marks::end_left_locals(l, Point::Join, body);
    if let Over::Range { local, .. } = over {
        let number = l.variables.read(&mut l.function, *local);
        let number = l.function.builder.add(number, 1);
        l.variables.write(&mut l.function, *local, number.into());
    }
    brake::count_step(l, (condition, body), None, stop);
    l.function.builder.ret(0);
    l.function.builder.switch_to(stop);
    marks::end_left_locals(l, Point::Join, body);
    l.function.builder.ret(1);
    l.scratch_next = outer_scratch;
    l.callbacks -= 1;
    l.iterators = outer_iterators;
    let made = std::mem::replace(&mut l.function, outer);
    Lowerer::hand_over(l.object, made, l.probe_index, span);
    Ok(())
}

/// Fills the loop variable of a loop over a map: a tuple of key and value.
fn element_variable(l: &mut Lowerer<'_, '_>, local: LocalId, map: MapId, span: Span) -> Result<(), CodegenError> {
    let (key, value) = (Vreg(1), Vreg(2));
    let spec = &l.object.program.maps[map.0 as usize];
    let ty = l.variables.ty(local);
    let types: Vec<Type> = element_types(ty).into_iter().cloned().collect();
    let [key_type, value_type] = types.as_slice() else {
        return l.internal(span, "a loop variable that is not a pair");
    };
    let ((size, _), offsets) = tuple_layout([key_type, value_type].into_iter(), &l.object.program.structs);
    let Some(dst) = l.variables.memory(&mut l.function, local) else {
        return l.internal(span, "a loop variable without memory");
    };
    let key_size = l.object.size(key_type);
    memory::copy(&mut l.function.builder, dst, Addr::new(Base::Reg(key), 0), key_size);
    if offsets[1] > key_size {
        memory::zero(&mut l.function.builder, dst.at(key_size), offsets[1] - key_size);
    }
    let value_size = l.object.size(value_type);
    let to = dst.at(offsets[1]);
    if let Some(agg) = aggregation(spec) {
        let number = reduce::by_key(l, map, agg, Addr::new(Base::Reg(key), 0), span)?;
        memory::store(&mut l.function.builder, to, scalar_shape(value_type).0, number);
    } else {
        memory::copy(&mut l.function.builder, to, Addr::new(Base::Reg(value), 0), value_size);
    }
    let end = offsets[1] + value_size;
    if size > end {
        memory::zero(&mut l.function.builder, dst.at(end), size - end);
    }
    Ok(())
}
