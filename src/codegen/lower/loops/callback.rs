//! Loops whose body is a function that the kernel calls: `bpf_loop`, and `bpf_for_each_map_elem` for maps.

use super::rounds::{CallbackRounds, can_nest};
use super::strategy::{MOST_IN_ROUNDS, MOST_ITERATIONS};
use super::{Over, test_condition};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, FuncId, Linkage, Operand, Point, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId, tuple_layout};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

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
    callback_loop(l, &Over::Map { local, map }, false, body, span)
}

/// `while` in iterations of `bpf_loop`; `most` is how many it has, where that is known.
pub fn while_callback<'a>(
    l: &mut Lowerer<'_, 'a>,
    most: Option<u64>,
    c: &'a Expr,
    body: &'a Block,
) -> Result<(), CodegenError> {
    marks::mark_changed(l, body);
    let exceeds = most.is_none_or(|most| most > MOST_ITERATIONS as u64);
    let goes_on = exceeds && can_nest(l, Some(c), body);
    callback_loop(l, &Over::While { condition: c, is_cut: exceeds && !goes_on }, goes_on, body, c.span)
}

/// A loop by callbacks; in rounds, where it goes on beyond what the kernel allows of one.
pub fn callback_loop<'a>(
    l: &mut Lowerer<'_, 'a>,
    over: &Over<'a>,
    goes_on: bool,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    let rounds = goes_on.then(|| CallbackRounds::reserve(l));
    let frame = l.variables.frame(&mut l.function, 0);
    // The callback takes the base of the working memory from the frame.
    if l.function.role == Role::Program {
        l.function.scratch();
    }
    let id = l.object.reserve_function();
    match over {
        Over::Range { local, start, iterations } => {
            // The first number travels in the loop variable itself.
            l.variables.write(&mut l.function, *local, *start);
            marks::mark_frame(l);
            call_loop(l, (*iterations).into(), (id, rounds), span);
        }
        Over::While { .. } => {
            marks::mark_frame(l);
            let most = if goes_on { MOST_IN_ROUNDS } else { MOST_ITERATIONS };
            call_loop(l, most.into(), (id, rounds), span);
        }
        Over::Map { map, .. } => {
            let Some(bpf) = l.object.keyed_map(*map) else {
                return l.internal(span, "a loop over a scalar map");
            };
            marks::mark_frame(l);
            let b = &mut l.function.builder;
            let (frame, function, handle) = (memory::pointer(b, frame), b.address(id), b.address(bpf));
            b.call_void(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), frame.into(), 0.into()]);
        }
    }
    callback(l, (id, rounds), over, body, span)?;
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

/// Calls a loop's body so many times.
fn call_loop(l: &mut Lowerer<'_, '_>, iterations: Operand, (id, rounds): (FuncId, Option<CallbackRounds>), span: Span) {
    if let Some(rounds) = rounds {
        return rounds.call(l, iterations, id, span);
    }
    let frame = l.variables.frame(&mut l.function, 0);
    let b = &mut l.function.builder;
    let (frame, function) = (memory::pointer(b, frame), b.address(id));
    b.call_void(h::LOOP, &[iterations, function.into(), frame.into(), 0.into()]);
}

fn callback<'a>(
    l: &mut Lowerer<'_, 'a>,
    (id, rounds): (FuncId, Option<CallbackRounds>),
    over: &Over<'a>,
    body: &'a Block,
    span: Span,
) -> Result<(), CodegenError> {
    // bpf_loop: (index, frame); bpf_for_each_map_elem: (map, key, value, frame).
    let (parameters, frame) = match over {
        Over::Range { .. } | Over::While { .. } => (2, Vreg(1)),
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
    let condition = if let Over::While { condition, .. } = over { Some(*condition) } else { None };
    let constants = marks::constants_by_iteration(l, condition, body);
    marks::mark_numbers(l, Point::CallbackStart, &constants);
    match over {
        Over::Map { local, map } => element_variable(l, *local, *map, span)?,
        Over::While { condition, is_cut } => {
            let inside = l.function.builder.new_block();
            test_condition(l, condition, inside, stop)?;
            if *is_cut {
                cut_last(l, stop, span);
            }
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
    if let Some(rounds) = rounds {
        rounds.note_end(&mut l.function.builder, frame);
    }
    l.function.builder.ret(1);
    l.scratch_next = outer_scratch;
    l.callbacks -= 1;
    l.iterators = outer_iterators;
    let made = std::mem::replace(&mut l.function, outer);
    Lowerer::hand_over(l.object, made, l.probe_index, span);
    Ok(())
}

/// Ends a loop whose condition still holds in the last iteration that the kernel allows: a loss.
fn cut_last(l: &mut Lowerer<'_, '_>, stop: BlockId, span: Span) {
    let b = &mut l.function.builder;
    let [cut, go_on] = b.new_blocks();
    b.branch(Cond::Eq, Vreg(0), MOST_ITERATIONS - 1, cut, go_on);
    b.switch_to(cut);
    l.count_loss(LossCause::LoopCut, None, span);
    l.function.builder.jump(stop);
    l.function.builder.switch_to(go_on);
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
