//! Kernel and user stacks: captured once, stored under the hash of their content.

pub mod unwind;

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BpfMapId, Cond, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::Intrinsic;
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::builtin::task;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{KNOWN_STACK_IDS, KNOWN_STACKS, MOST_FRAMES};
use crate::codegen::lower::maps::element;
use crate::codegen::lower::object::ObjectBuilder;

/// Multiplier of the hash: the golden ratio in 64 bits.
const MIX: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// Deeper stacks are hashed in pieces of so many frames, as far as they go.
const PIECE: u32 = 8;
/// Stacks up to this depth are hashed in one piece.
const ONE_PIECE: u32 = 16;

/// Captures a stack and writes its value: `u64` id, `u32` process, `u32` frames.
pub fn capture(
    l: &mut Lowerer<'_, '_>,
    intrinsic: &Intrinsic,
    ty: &Type,
    dst: Addr,
    span: Span,
) -> Result<(), CodegenError> {
    let (depth, user) = match ty {
        Type::UStack { depth, .. } => (u32::from(*depth), true),
        Type::KStack { depth, .. } => (u32::from(*depth), false),
        _ => return l.internal(span, "a stack of another type"),
    };
    if depth == 0 {
        memory::store(&mut l.function.builder, dst, 8, 0);
        memory::store(&mut l.function.builder, dst.at(8), 8, 0);
        return Ok(());
    }
    let depth = depth.min(MOST_FRAMES);
    let bytes = depth * 8;
    let mark = l.mark();
    let process = if user { task::pid(l, true) } else { l.function.builder.copy(0) };
    // The map's values have the depth of the script's deepest stack; shorter ones end in zeros.
    let stacks = l.object.stacks(depth);
    let widest = deepest(l.object);
    let frames = l.temp_scratch(widest * 8 + 8);
    let key = frames;
    let frames = frames.at(8);
    // The helper fills the rest of what it is given with zeros (`__bpf_get_stack`,
    // kernel/bpf/stackmap.c).
    memory::zero(&mut l.function.builder, frames.at(bytes), (widest - depth) * 8);
    let got = if user && unwind::is_used(l, intrinsic, span)? {
        unwind::walk(l, frames, depth, process)
    } else {
        by_frame_pointers(l, frames, bytes, user)
    };
    let b = &mut l.function.builder;
    let (id, count) = (b.copy(0), b.copy(0));
    let [store, lost, done] = b.new_blocks();
    b.branch(Cond::SGt, got, 0, store, lost);
    b.switch_to(lost);
    none_captured(l, user, got, span)?;
    let b = &mut l.function.builder;
    b.jump(done);
    b.switch_to(store);
    let frames_got = b.shr(got, 3);
    b.copy_into(count, frames_got);
    hash_frames(b, frames, depth, id);
    keep_stack(l, stacks, id, key, frames, span)?;
    let b = &mut l.function.builder;
    b.jump(done);
    b.switch_to(done);
    memory::store(b, dst, 8, id);
    memory::store(b, dst.at(8), 4, process);
    memory::store(b, dst.at(12), 4, count);
    l.release(mark);
    Ok(())
}

/// The kernel follows frame pointers (and its own tables for its own stack): bytes, or an error.
fn by_frame_pointers(l: &mut Lowerer<'_, '_>, frames: Addr, bytes: u32, user: bool) -> Vreg {
    let context = l.function.context();
    let b = &mut l.function.builder;
    let to = memory::pointer(b, frames);
    let flags = if user { h::BPF_F_USER_STACK } else { 0 };
    b.call(h::GET_STACK, &[context.into(), to.into(), i64::from(bytes).into(), flags.into()])
}

/// The address of the frame behind some that are left out; 0 where there is none.
pub fn frame(l: &mut Lowerer<'_, '_>, user: bool, skipped: i64) -> Vreg {
    let mark = l.mark();
    let frame = Addr::new(Base::Slot(l.function.temp_slot(8)), 0);
    let context = l.function.context();
    let flags = skipped | if user { h::BPF_F_USER_STACK } else { 0 };
    let b = &mut l.function.builder;
    memory::store(b, frame, 8, 0);
    let to = memory::pointer(b, frame);
    b.call(h::GET_STACK, &[context.into(), to.into(), 8.into(), flags.into()]);
    let address = memory::load(b, frame, 8, false);
    l.release(mark);
    address
}

/// No frames came. Kernel threads have no user stack, and a sample that hits user code no kernel stack:
/// that is no loss. Before Linux 5.18 the helper fails with `-EFAULT` then, later it returns 0
/// (`__bpf_get_stack`, kernel/bpf/stackmap.c).
fn none_captured(l: &mut Lowerer<'_, '_>, user: bool, got: Vreg, span: Span) -> Result<(), CodegenError> {
    const EFAULT: i64 = 14;
    if !user && l.kind != ProgramKind::PerfEvent {
        l.count_loss(LossCause::Stack, None, span);
        return Ok(());
    }
    l.when(Cond::Ne, got.into(), 0.into(), |l| {
        l.when(Cond::Ne, got.into(), (-EFAULT).into(), |l| {
            l.count_loss(LossCause::Stack, None, span);
            Ok(())
        })
    })
}

/// Puts a stack into the map of stacks, unless it is there; `id` becomes 0 when there is no room.
///
/// Stacks stay in the map as long as it lives, so an id that was seen in it needs no second look: a
/// table of ids, shared by all CPUs and overwritten as they come, saves the lookup of frequent ones.
fn keep_stack(
    l: &mut Lowerer<'_, '_>,
    stacks: BpfMapId,
    id: Vreg,
    key: Addr,
    frames: Addr,
    span: Span,
) -> Result<(), CodegenError> {
    let section = l.object.section(KNOWN_STACKS);
    let b = &mut l.function.builder;
    // The id's highest bits are its best mixed ones.
    let place = b.shr(id, i64::from(64 - 3 - KNOWN_STACK_IDS.trailing_zeros()));
    let place = b.and(place, i64::from(KNOWN_STACK_IDS - 1) * 8);
    let table = b.address(section.at(0));
    let entry = Addr::new(Base::Reg(b.add(table, place)), 0);
    let known = memory::load(b, entry, 8, false);
    l.when(Cond::Ne, known.into(), id.into(), |l| {
        memory::store(&mut l.function.builder, key, 8, id);
        let element = element::lookup(&mut l.function.builder, stacks, key);
        l.when(Cond::Eq, element.into(), 0.into(), |l| {
            let b = &mut l.function.builder;
            let handle = b.address(stacks);
            let at = memory::pointer(b, key);
            let value = memory::pointer(b, frames);
            let args = [handle.into(), at.into(), value.into(), h::BPF_ANY.into()];
            let result = b.call(h::MAP_UPDATE_ELEM, &args);
            l.when(Cond::Ne, result.into(), 0.into(), |l| {
                l.count_loss(LossCause::Stack, None, span);
                l.function.builder.copy_into(id, 0);
                Ok(())
            })
        })?;
        memory::store(&mut l.function.builder, entry, 8, id);
        Ok(())
    })
}

/// Frames of the script's deepest stack: the stack map's value.
fn deepest(object: &ObjectBuilder<'_>) -> u32 {
    object.deepest_stack.max(object.stack_depth)
}

/// A hash over the frames, in two lanes, so that multiplications overlap. A deep stack's ends with the
/// first piece that ends with a zero. There is no loop: the verifier would follow one frame by frame,
/// and come out of it on as many paths.
fn hash_frames(b: &mut FunctionBuilder, frames: Addr, depth: u32, hash: Vreg) {
    let mix = b.copy(MIX);
    let lanes = [b.copy(mix), b.copy(0)];
    let done = b.new_block();
    for frame in 0..depth {
        let lane = lanes[frame as usize % 2];
        let value = memory::load(b, frames.at(frame * 8), 8, false);
        b.alu_into(lane, Alu::Xor, Width::W64, lane, value);
        b.alu_into(lane, Alu::Mul, Width::W64, lane, mix);
        if depth > ONE_PIECE && frame % PIECE == PIECE - 1 {
            flow::require(b, Cond::Ne, value, 0, done);
        }
    }
    b.jump(done);
    b.switch_to(done);
    let high = b.shr(lanes[0], 29);
    b.alu_into(lanes[0], Alu::Xor, Width::W64, lanes[0], high);
    let folded = b.mul(lanes[0], mix);
    let sum = b.add(folded, lanes[1]);
    b.copy_into(hash, sum);
    never_zero(b, hash);
}

/// 0 says "no stack".
fn never_zero(b: &mut FunctionBuilder, hash: Vreg) {
    flow::when(b, Cond::Eq, hash, 0, |b| {
        b.copy_into(hash, 1);
    });
}
