//! The kernel's numeric iterator (`bpf_iter_num_new`, `_next`, `_destroy`, kernel/bpf/bpf_iter.c), callbacks
//! of `bpf_loop`: loops that the verifier need not follow iteration by iteration.

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::ir::{BlockId, Cond, Linkage, Operand, Slot, Vreg};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer, Role};
use crate::codegen::lower::{helpers as h, marks};

/// Runs `body` so many times as a callback of `bpf_loop`, until it returns 1. It gets the iteration's number,
/// which the verifier knows to be below `iterations`, the pointers as they are there, and the place of the
/// result; ends each of its paths with a return. The result is `first` when no iteration writes it.
pub fn iterations_of_callback(
    l: &mut Lowerer<'_, '_>,
    iterations: u32,
    first: i64,
    pointers: &[Vreg],
    body: impl FnOnce(&mut Lowerer<'_, '_>, Vreg, &[Vreg], Addr),
) -> Vreg {
    let slot = l.function.temp_slot(8 + pointers.len() as u32 * 8);
    // The verifier takes what it knows of the result before the iterations for what it is after them.
    let first = marks::hidden(l.object, &mut l.function.builder, first);
    let result = Addr::new(Base::Slot(slot), 0);
    memory::store(&mut l.function.builder, result, 8, first);
    for (i, pointer) in pointers.iter().enumerate() {
        memory::store(&mut l.function.builder, result.at(8 + i as u32 * 8), 8, *pointer);
    }
    let id = l.object.reserve_function();
    let b = &mut l.function.builder;
    let (function, frame) = (b.address(id), b.address(slot.at(0)));
    b.call_void(h::LOOP, &[i64::from(iterations).into(), function.into(), frame.into(), 0.into()]);
    let (index, frame, span) = (Vreg(0), Vreg(1), b.span());
    let state = FunctionState::new(
        id,
        &format!("walk_{}", id.0),
        Linkage::Subprogram,
        2,
        Role::Callback(frame),
        l.function.region,
    );
    let outer = std::mem::replace(&mut l.function, state);
    l.function.begin_body();
    l.function.builder.function_mut().has_explored_loop = l.has_explored_loop;
    let b = &mut l.function.builder;
    b.set_span(span);
    let out = b.new_block();
    flow::require(b, Cond::Lt, index, i64::from(iterations), out);
    let there = |i: u32| Addr::new(Base::Reg(frame), 8 + i as i32 * 8);
    let loaded: Vec<Vreg> = (0..pointers.len() as u32).map(|i| memory::load(b, there(i), 8, false)).collect();
    body(l, index, &loaded, Addr::new(Base::Reg(frame), 0));
    l.function.builder.switch_to(out);
    l.function.builder.ret(1);
    let made = std::mem::replace(&mut l.function, outer);
    Lowerer::hand_over(l.object, made, l.probe_index, span);
    memory::load(&mut l.function.builder, result, 8, false)
}

/// Begins the numbers from `first` up to, without, `end`.
pub fn open_numbers(f: &mut FunctionState, first: Operand, end: Operand) -> Slot {
    let slot = f.iterator_slot();
    let iterator = f.builder.address(slot.at(0));
    f.builder.call_void("bpf_iter_num_new", &[iterator.into(), first, end]);
    slot
}

/// Address of the next number, 4 bytes; 0 after the last.
pub fn next_number(b: &mut FunctionBuilder, slot: Slot) -> Vreg {
    let iterator = b.address(slot.at(0));
    b.call("bpf_iter_num_next", &[iterator.into()])
}

/// The next number, which the verifier knows to be below `bound`; jumps to `out` after the last.
pub fn next_below(b: &mut FunctionBuilder, slot: Slot, bound: u32, out: BlockId) -> Vreg {
    let number = next_number(b, slot);
    flow::require(b, Cond::Ne, number, 0, out);
    let index = memory::load(b, Addr::new(Base::Reg(number), 0), 4, false);
    // Never beyond, but the verifier does not know.
    flow::require(b, Cond::Lt, index, i64::from(bound), out);
    index
}

/// Ends the numbers: on every path out of the loop, as the verifier demands.
pub fn close_numbers(b: &mut FunctionBuilder, slot: Slot) {
    let iterator = b.address(slot.at(0));
    b.call_void("bpf_iter_num_destroy", &[iterator.into()]);
}

/// Ends the numbers on the last path out of the loop that code is written for.
pub fn end_numbers(f: &mut FunctionState, slot: Slot) {
    close_numbers(&mut f.builder, slot);
    f.release_iterator_slot(slot);
}
