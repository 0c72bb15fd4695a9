//! User stacks without frame pointers: programs search the rows of the process's binaries
//! ([`crate::binary::unwind`]), which the engine puts there when it first hears of a process. Until then, and where the
//! tables say nothing (code that a process made itself), frame pointers are followed.

pub mod maps;

use crate::binary::unwind::{End, SAVED_IN_PLACE};
use crate::codegen::artifact::{
    UNWIND_FIRST_MAPPING, UNWIND_MAPPING, UNWIND_MAPPINGS, UNWIND_MM, UNWIND_PROCESS, UNWIND_PROCESSES, UNWIND_ROW,
    UNWIND_ROWS,
};
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, BpfMap, BpfMapId, Cond, Size, Vreg, Width};
use crate::lang::codes::run::NOT_UNWOUND;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::Intrinsic;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::helpers::map_type;
use crate::codegen::lower::layout::UNWIND;
use crate::codegen::lower::loops::iterator;
use crate::codegen::lower::maps::element;
use crate::codegen::lower::numbers;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::branchless::{all_if_zero, at_least, choose};
use crate::codegen::lower::stack::unwind::maps::UnwindMaps;

/// Bytes of `struct pt_regs` (x86-64) up to the stack segment, which the walk begins with. Registers that it does not need
/// hold its other words.
const REGISTERS: u32 = 168;
/// Frames so far.
const COUNT: i16 = 0;
/// 1 where the address is a return address: the call is before it, maybe the last instruction of its function.
const BACK: i16 = 8;
/// Not 0 once an address was in none of the process's mappings.
const STALE: i16 = 16;
/// A word that the walk reads.
const WORD: i16 = 24;
/// 1 where the address was found by the frame pointer in code that no row tells of: it may be no return address at all.
const GUESSED: i16 = 40;
/// The frame pointer.
const FRAME: i16 = 32;
/// The instruction pointer.
const CODE: i16 = 128;
/// The code segment.
const SEGMENT: i16 = 136;
/// The stack pointer.
const STACK: i16 = 152;
/// The code segment of 64-bit programs (`__USER_CS`, arch/x86/include/asm/segment.h).
const USER_CS: i64 = 0x33;
/// Processes' addresses are below.
const HIGHEST: i64 = 1 << 56;
/// Where the registers are from the stack pointer on when a signal's handler returns (`struct ucontext`): the frame
/// pointer, the stack pointer, the instruction pointer.
const OF_SIGNAL: [(i16, i64); 3] = [(FRAME, 120), (STACK, 160), (CODE, 168)];

/// Whether a stack is unwound by tables. Where that is not possible `dw_ustack()` is refused, and the setting is warned of.
pub fn is_used(l: &mut Lowerer<'_, '_>, intrinsic: &Intrinsic, span: Span) -> Result<bool, CodegenError> {
    let asked = *intrinsic == Intrinsic::UStackByTables;
    if !asked && !l.object.program.config.unwind_tables {
        return Ok(false);
    }
    let Some(missing) = missing(l.object) else { return Ok(true) };
    if asked {
        let hint = "`ustack` follows frame pointers: programs compiled with -fno-omit-frame-pointer have them";
        return Err(CodegenError::Refused {
            span,
            what: format!("dw_ustack() needs {missing}"),
            hint: hint.to_owned(),
        });
    }
    let message = format!("user stacks are followed by frame pointers: unwinding tables need {missing}");
    l.object.warn(Diagnostic::warning(NOT_UNWOUND, span, message));
    Ok(false)
}

/// What tables need and this object or kernel lacks.
fn missing(object: &ObjectBuilder<'_>) -> Option<&'static str> {
    let features = object.facts.features();
    if cfg!(not(target_arch = "x86_64")) {
        return Some("an x86-64 machine");
    }
    if object.facts.for_other_loaders {
        return Some("probescope, which fills the tables while it runs");
    }
    if !features.bpf_loop {
        return Some("bpf_loop (Linux 5.17)");
    }
    features.task_offsets.is_none().then_some("the kernel's BTF")
}

/// Fills `frames` as far as the stack goes, at most `depth`; gives the bytes, or an error.
pub fn walk(l: &mut Lowerer<'_, '_>, frames: Addr, depth: u32, process: Vreg) -> Vreg {
    let maps = maps(l.object);
    let mm_at = l.object.facts.features().task_offsets.map_or(0, |offsets| offsets.mm);
    memory::zero(&mut l.function.builder, frames, depth * 8);
    let state = l.temp_scratch(REGISTERS);
    let key = Addr::new(Base::Slot(l.function.temp_slot(16)), 0);
    let task = l.function.task();
    let b = &mut l.function.builder;
    let mm = memory::load(b, Addr::new(Base::Reg(task), mm_at as i32), 8, false);
    let mm = numbers::plain(b, mm);
    memory::store(b, key, 8, process);
    memory::store(b, key.at(8), 8, mm);
    let got = b.copy(0);
    let [ask, pointers, done] = b.new_blocks();
    // Threads of the kernel have no memory.
    flow::require(b, Cond::Ne, mm, 0, pointers);
    let table = element::lookup(b, maps.processes, key);
    flow::require(b, Cond::Ne, table, 0, ask);
    same_memory(b, table, mm, ask);
    let to = begin(b, state, task, pointers);
    let start = memory::pointer(b, frames);
    iterator::iterations_of_callback(l, depth, 0, &[to, table, start], |l, index, pointers, _| {
        frame(l, index, [pointers[0], pointers[1], pointers[2]]);
    });
    let b = &mut l.function.builder;
    let count = memory::load(b, state.at(COUNT as u32), 8, false);
    let bytes = b.shl(count, 3);
    b.copy_into(got, bytes);
    let stale = memory::load(b, state.at(STALE as u32), 8, false);
    flow::when(b, Cond::Ne, stale, 0, |b| want(b, maps.wanted, key));
    b.jump(done);
    b.switch_to(ask);
    want(b, maps.wanted, key);
    b.jump(pointers);
    b.switch_to(pointers);
    let followed = super::by_frame_pointers(l, frames, depth * 8, true);
    let b = &mut l.function.builder;
    b.copy_into(got, followed);
    b.jump(done);
    b.switch_to(done);
    got
}

/// Begins with the registers that the process had when it entered the kernel; gives where they are kept.
fn begin(b: &mut FunctionBuilder, state: Addr, task: Vreg, other_code: BlockId) -> Vreg {
    let to = memory::pointer(b, state);
    let registers = b.call(h::TASK_PT_REGS, &[task.into()]);
    b.call_void(h::PROBE_READ_KERNEL, &[to.into(), i64::from(REGISTERS).into(), registers.into()]);
    let segment = memory::load(b, state.at(SEGMENT as u32), 8, false);
    flow::require(b, Cond::Eq, segment, USER_CS, other_code);
    for word in [COUNT, BACK, STALE, GUESSED] {
        memory::store(b, state.at(word as u32), 8, 0);
    }
    to
}

fn maps(object: &mut ObjectBuilder<'_>) -> UnwindMaps {
    if let Some(maps) = object.unwind {
        return maps;
    }
    let mut map = |name: &str, value_size| {
        object.maps.push(BpfMap {
            name: name.into(),
            kind: map_type::HASH,
            key_size: 8,
            value_size,
            max_entries: UNWIND_PROCESSES,
            flags: 0,
        });
        BpfMapId(object.maps.len() as u32 - 1)
    };
    let maps = UnwindMaps { processes: map("unwind_maps", UNWIND_PROCESS), wanted: map("unwind_wanted", 8) };
    object.unwind = Some(maps);
    maps
}

/// Asks the engine for a process's mappings.
fn want(b: &mut FunctionBuilder, wanted: BpfMapId, key: Addr) {
    let (map, at, value) = (b.address(wanted), memory::pointer(b, key), memory::pointer(b, key.at(8)));
    b.call_void(h::MAP_UPDATE_ELEM, &[map.into(), at.into(), value.into(), h::BPF_ANY.into()]);
}

/// Goes on where the table is of this memory: a program that was started in the process since has another.
fn same_memory(b: &mut FunctionBuilder, table: Vreg, mm: Vreg, other: BlockId) {
    let [unset, known, same] = b.new_blocks();
    let of = b.load(table, UNWIND_MM as i16, Size::B8);
    b.branch(Cond::Eq, of, 0, unset, known);
    b.switch_to(unset);
    b.store(table, UNWIND_MM as i16, Size::B8, mm);
    b.jump(same);
    b.switch_to(known);
    b.branch(Cond::Eq, of, mm, same, other);
    b.switch_to(same);
}

/// One frame: keeps its address, and leaves the caller's registers. Ends with 0 where there is one.
fn frame(l: &mut Lowerer<'_, '_>, index: Vreg, [state, table, frames]: [Vreg; 3]) {
    let rows = l.object.section(UNWIND);
    let b = &mut l.function.builder;
    let [stop, unsaid, unmapped] = b.new_blocks();
    let code = b.load(state, CODE, Size::B8);
    flow::require(b, Cond::Ne, code, 0, stop);
    flow::require(b, Cond::Lt, code, HIGHEST, stop);
    let back = b.load(state, BACK, Size::B8);
    let at = b.sub(code, back);
    let mapping = mapping(b, table, at);
    let end = b.load(mapping, 8, Size::B8);
    flow::require(b, Cond::Lt, at, end, unmapped);
    keep(b, index, code, (state, frames));
    let bias = b.load(mapping, 16, Size::B8);
    let address = b.add(at, bias);
    let (first, number) = (b.load(mapping, 24, Size::B4), b.load(mapping, 28, Size::B4));
    flow::require(b, Cond::Ne, number, 0, unsaid);
    let all = b.address(rows.at(0));
    let row = row(b, all, address, (first, number));
    let low = b.extend(row, 32, false);
    flow::require(b, Cond::Le, low, address, unsaid);
    rule(b, state, row, code, (stop, unsaid));
    b.switch_to(unmapped);
    b.store(state, STALE, Size::B8, 1);
    let guessed = b.load(state, GUESSED, Size::B8);
    flow::require(b, Cond::Eq, guessed, 0, stop);
    keep(b, index, code, (state, frames));
    b.jump(unsaid);
    b.switch_to(unsaid);
    guess(b, state, stop);
    b.switch_to(stop);
    b.ret(1);
}

/// Keeps a frame's address; the one before it is a return address from now on.
fn keep(b: &mut FunctionBuilder, index: Vreg, code: Vreg, (state, frames): (Vreg, Vreg)) {
    let offset = b.mul(index, 8);
    let to = b.add(frames, offset);
    b.store(to, 0, Size::B8, code);
    let count = b.add(index, 1);
    b.store(state, COUNT, Size::B8, count);
    b.store(state, BACK, Size::B8, 1);
    b.store(state, GUESSED, Size::B8, 0);
}

/// Where no row tells how the frame ends, it may be one with a frame pointer.
fn guess(b: &mut FunctionBuilder, state: Vreg, stop: BlockId) {
    b.store(state, GUESSED, Size::B8, 1);
    let frame = b.load(state, FRAME, Size::B8);
    let end = b.add(frame, 16);
    let saved = b.copy(-2);
    to_caller(b, state, end, saved, stop);
}

/// The last mapping that begins at an address or before it.
fn mapping(b: &mut FunctionBuilder, table: Vreg, at: Vreg) -> Vreg {
    let found = b.copy(0);
    let mut half = UNWIND_MAPPINGS / 2;
    while half > 0 {
        let candidate = b.add(found, i64::from(half));
        let candidate = b.and(candidate, i64::from(UNWIND_MAPPINGS - 1));
        let offset = b.mul(candidate, i64::from(UNWIND_MAPPING));
        let candidate = b.add(table, offset);
        let start = b.load(candidate, UNWIND_FIRST_MAPPING as i16, Size::B8);
        let reached = at_least(b, at, start);
        let more = b.mul(reached, i64::from(half));
        b.alu_into(found, Alu::Add, Width::W64, found, more);
        half /= 2;
    }
    let found = b.and(found, i64::from(UNWIND_MAPPINGS - 1));
    let offset = b.mul(found, i64::from(UNWIND_MAPPING));
    let mapping = b.add(table, offset);
    b.add(mapping, i64::from(UNWIND_FIRST_MAPPING))
}

/// The last row of a binary's that begins at an address or before it, else the first. Steps that are wider than the table
/// are passed over; there is no other branch, for the verifier would follow each choice.
fn row(b: &mut FunctionBuilder, all: Vreg, address: Vreg, (first, number): (Vreg, Vreg)) -> Vreg {
    let last = b.add(first, number);
    let found = b.copy(first);
    let place = |b: &mut FunctionBuilder, index: Vreg| {
        let index = b.and(index, i64::from(UNWIND_ROWS - 1));
        let offset = b.mul(index, i64::from(UNWIND_ROW));
        b.add(all, offset)
    };
    let mut half = UNWIND_ROWS / 2;
    while half > 0 {
        let [step, next] = b.new_blocks();
        b.branch(Cond::Gt, number, i64::from(half), step, next);
        b.switch_to(step);
        let candidate = b.add(found, i64::from(half));
        let at = place(b, candidate);
        let start = b.load(at, 0, Size::B4);
        let reached = at_least(b, address, start);
        let behind = at_least(b, candidate, last);
        let inside = b.alu(Alu::Xor, behind, 1);
        let taken = b.and(reached, inside);
        let more = b.mul(taken, i64::from(half));
        b.alu_into(found, Alu::Add, Width::W64, found, more);
        b.jump(next);
        b.switch_to(next);
        half /= 2;
    }
    let at = place(b, found);
    b.load(at, 0, Size::B8)
}

/// Goes by a row to the caller.
fn rule(b: &mut FunctionBuilder, state: Vreg, row: Vreg, code: Vreg, (stop, unsaid): (BlockId, BlockId)) {
    let is = |end: End| i64::from(end as u8);
    let kind = b.shr(row, 32);
    let kind = b.and(kind, 0xff);
    let saved = b.shr(row, 40);
    let saved = b.extend(saved, 8, true);
    let distance = b.alu(Alu::Sar, row, 48);
    flow::require(b, Cond::Ne, kind, is(End::Unsaid), unsaid);
    flow::require(b, Cond::Lt, kind, is(End::First), stop);
    let [signal, pointed, known] = b.new_blocks();
    flow::require(b, Cond::Ne, kind, is(End::Signal), signal);
    // The numbers of those that begin at the frame pointer have the second bit, that of linkage stubs the third.
    let by_frame = b.shr(kind, 1);
    let by_frame = b.and(by_frame, 1);
    let by_frame = b.neg(by_frame);
    let (frame, stack) = (b.load(state, FRAME, Size::B8), b.load(state, STACK, Size::B8));
    let base = choose(b, by_frame, frame, stack);
    // Such a stub has pushed a word from some of its 16 bytes on.
    let low = b.and(code, 15);
    let pushed = at_least(b, low, distance);
    let of_stub = b.add(pushed, 1);
    let is_linkage = b.shr(kind, 2);
    let is_linkage = b.and(is_linkage, 1);
    let is_linkage = b.neg(is_linkage);
    let words = choose(b, is_linkage, of_stub, distance);
    let bytes = b.mul(words, 8);
    let end = b.add(base, bytes);
    b.branch(Cond::Eq, kind, is(End::FramePointed), pointed, known);
    b.switch_to(pointed);
    read(b, state, WORD, end, stop);
    let there = b.load(state, WORD, Size::B8);
    b.copy_into(end, there);
    b.jump(known);
    b.switch_to(known);
    to_caller(b, state, end, saved, stop);
    b.switch_to(signal);
    of_signal(b, state, stop);
}

/// Reads a word of the process into the state.
fn read(b: &mut FunctionBuilder, state: Vreg, into: i16, from: Vreg, failed: BlockId) {
    let to = b.add(state, i64::from(into));
    let result = b.call(h::PROBE_READ_USER, &[to.into(), 8.into(), from.into()]);
    flow::require(b, Cond::Eq, result, 0, failed);
}

/// The caller's registers, by the frame's end and where the frame pointer was saved; ends the iteration.
fn to_caller(b: &mut FunctionBuilder, state: Vreg, end: Vreg, saved: Vreg, stop: BlockId) {
    let stack = b.load(state, STACK, Size::B8);
    flow::require(b, Cond::Gt, end, stack, stop);
    let address = b.sub(end, 8);
    read(b, state, CODE, address, stop);
    b.store(state, STACK, Size::B8, end);
    let [restore, same] = b.new_blocks();
    b.branch(Cond::Ne, saved, 0, restore, same);
    b.switch_to(restore);
    let bytes = b.mul(saved, 8);
    let from_end = b.add(end, bytes);
    let frame = b.load(state, FRAME, Size::B8);
    let other = b.sub(saved, i64::from(SAVED_IN_PLACE));
    let in_place = all_if_zero(b, other);
    let address = choose(b, in_place, frame, from_end);
    read(b, state, FRAME, address, stop);
    b.jump(same);
    b.switch_to(same);
    b.ret(0);
}

/// The registers that a signal interrupted.
fn of_signal(b: &mut FunctionBuilder, state: Vreg, stop: BlockId) {
    let stack = b.load(state, STACK, Size::B8);
    b.store(state, BACK, Size::B8, 0);
    for (word, distance) in OF_SIGNAL {
        let address = b.add(stack, distance);
        read(b, state, word, address, stop);
    }
    b.ret(0);
}
