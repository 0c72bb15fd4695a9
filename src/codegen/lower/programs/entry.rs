//! Entries and prologues: what a function computes before its body runs.
//!
//! They are written when the body is there, and hold what it asked for: the results of helpers that are the
//! same all through a firing, the addresses of the CPU's memory, a working memory that nobody else uses.

use crate::codegen::builder::{atomic, flow, stack};
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Size, Vreg, Width};
use crate::lang::source::Span;
use crate::model::stats::LossCause;

use crate::codegen::lower::function::state::{load_pid_tgid, load_task, load_uid_gid};
use crate::codegen::lower::function::{
    Cached, Draft, FRAME_CONTEXT, FRAME_LOCALS, FRAME_RETURNED, FRAME_SCRATCH, FunctionState, Role,
};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{self, LOSSES, PER_CPU, SCRATCH};
use crate::codegen::lower::object::{CLAIM_SLOTS, CLAIMED, Guard, ObjectBuilder};
use crate::codegen::lower::programs::{brake, budget};

/// Writes entries and prologues of all functions.
pub fn finish(object: &mut ObjectBuilder<'_>) {
    for draft in std::mem::take(&mut object.drafts) {
        let Draft { mut state, probe, span } = draft;
        let previous = state.builder.set_span(Span::default());
        write_entry(object, &mut state, probe, span);
        state.builder.set_span(previous);
        object.functions[state.id.0 as usize] = Some(state.builder.finish());
    }
}

fn write_entry(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, probe: u32, span: Span) {
    let all_early = f.scratch.early || f.percpu.early || f.cpu.early;
    let guarded = f.role == Role::Program && f.scratch.vreg.is_some() && object.regions[f.region].guard != Guard::None;
    // The first block of code follows the three made by `FnState::new`.
    let first = BlockId(3);
    f.builder.switch_to(BlockId(0));
    load_values(f, true);
    if all_early {
        bases(object, f, probe, span);
    }
    f.builder.jump(first);
    f.builder.switch_to(f.prologue);
    load_values(f, false);
    if !all_early {
        bases(object, f, probe, span);
    }
    // The body follows; `begin_body` left a jump target behind.
    if let Some(body) = f.body {
        f.builder.jump(body);
    }
    f.builder.switch_to(f.exit);
    brake::finish_firing(object, f);
    // Refused firings are timed where the budget was asked before the predicate.
    let timed = f.budget.filter(|budget| budget.is_early()).map(|_| {
        let timed = f.builder.new_block();
        f.builder.jump(timed);
        f.builder.switch_to(timed);
        timed
    });
    budget::finish_firing(object, f);
    let release = f.builder.current();
    if let Some(refused) = f.refused {
        f.builder.switch_to(refused);
        if let Some(timed) = timed {
            f.builder.jump(timed);
        } else if all_early && guarded {
            f.builder.jump(release);
        } else {
            f.builder.ret(0);
        }
    }
    f.builder.switch_to(release);
    if guarded && let Some(base) = f.scratch.vreg {
        f.builder.store(base, 0, Size::B8, 0);
    }
    f.builder.ret(0);
}

fn load_context(f: &mut FunctionState) {
    if let (Some(dst), Role::Callback(frame)) = (f.context.vreg, f.role) {
        let value = f.builder.load(frame, FRAME_CONTEXT as i16, Size::B8);
        f.builder.copy_into(dst, value);
    }
}

/// Computes the values that are wanted before the predicate, or those wanted after it only and not computed
/// where they were first asked for.
fn load_values(f: &mut FunctionState, early: bool) {
    let wanted = |cached: Cached| if early { cached.early } else { !cached.early && !cached.placed };
    if wanted(f.context) {
        load_context(f);
    }
    if wanted(f.pid_tgid) {
        load_pid_tgid(f);
    }
    if wanted(f.uid_gid) {
        load_uid_gid(f);
    }
    if wanted(f.task) {
        load_task(f);
    }
}

/// Computes the CPU's number and the addresses of its memory.
fn bases(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, probe: u32, span: Span) {
    let slots = layout::cpu_slots(object.facts);
    if let Some(cpu) = f.cpu.vreg {
        let value = f.builder.call(h::GET_SMP_PROCESSOR_ID, &[]);
        f.builder.copy_into(cpu, value);
    }
    if let (Some(dst), Some(cpu)) = (f.percpu.vreg, f.cpu.vreg) {
        let section = object.section(PER_CPU);
        let stride = object.layout.percpu_stride;
        let base = per_cpu_address(f, cpu, slots, |f| f.builder.address(section.at(0)), stride);
        f.builder.copy_into(dst, base);
    }
    match (f.scratch.vreg, f.role) {
        (Some(dst), Role::Program) => scratch_base(object, f, dst, probe, span),
        (Some(dst), Role::Callback(frame)) => {
            let value = f.builder.load(frame, FRAME_SCRATCH as i16, Size::B8);
            f.builder.copy_into(dst, value);
        }
        (None, _) => {}
    }
    if let Some(frame) = f.frame {
        stack::store(&mut f.builder, frame, FRAME_CONTEXT, Size::B8, Vreg(0));
        let scratch = f.scratch.vreg.map_or(Operand::Imm(0), Operand::Reg);
        stack::store(&mut f.builder, frame, FRAME_SCRATCH, Size::B8, scratch);
        stack::store(&mut f.builder, frame, FRAME_RETURNED, Size::B8, 0);
        if object.facts.callback_verified_once() {
            // Read before every loop, see `hide_numbers`.
            for at in (FRAME_LOCALS..f.builder.function().slot_size(frame)).step_by(8) {
                stack::store(&mut f.builder, frame, at as i32, Size::B8, 0);
            }
        }
    }
}

fn per_cpu_address(
    f: &mut FunctionState,
    cpu: Vreg,
    slots: u32,
    base: impl FnOnce(&mut FunctionState) -> Vreg,
    stride: u32,
) -> Vreg {
    if slots == 1 {
        return base(f);
    }
    // The mask is no change (the number is below the count of possible CPUs); the verifier needs it.
    let index = f.builder.and(cpu, i64::from(slots - 1));
    let offset = f.builder.mul(index, i64::from(stride));
    let base = base(f);
    f.builder.add(base, offset)
}

fn scratch_base(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, dst: Vreg, probe: u32, span: Span) {
    let section = object.section(SCRATCH);
    let slots = layout::cpu_slots(object.facts);
    let region = object.regions[f.region];
    let at = object.region_offset(f.region);
    let Some(cpu) = f.cpu.vreg else { return };
    let base = per_cpu_address(f, cpu, slots, |f| f.builder.address(section.at(at)), region.cpu_stride());
    f.builder.copy_into(dst, base);
    match region.guard {
        Guard::None => {}
        Guard::Word => {
            let lost = f.builder.new_block();
            let taken = f.builder.load(dst, 0, Size::B8);
            flow::require(&mut f.builder, Cond::Eq, taken, 0, lost);
            f.builder.store(dst, 0, Size::B8, 1);
            nested(object, f, lost, probe, span);
        }
        Guard::Claim => claimed_slot(object, f, dst, probe, span),
    }
}

/// Moves the base of a CPU's slots to the first one that is free, and claims that.
fn claimed_slot(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, dst: Vreg, probe: u32, span: Span) {
    let stride = i64::from(object.regions[f.region].slot_stride());
    let [lost, mine] = f.builder.new_blocks();
    let (first, number) = (f.builder.copy(dst), f.builder.new_vreg());
    for slot in 0..CLAIM_SLOTS {
        if slot > 0 {
            f.builder.alu_into(dst, Alu::Add, Width::W64, dst, stride);
        }
        let word = atomic::exchange(&mut f.builder, dst, 0, Size::B8, CLAIMED);
        let (next, free) = (if slot + 1 == CLAIM_SLOTS { lost } else { f.builder.new_block() }, f.builder.new_block());
        f.builder.branch(Cond::Set, word, CLAIMED, next, free);
        f.builder.switch_to(free);
        // The word is zero here, of which the verifier knows one bit: so it does not know which slot it is,
        // and need not look at all that follows once for each.
        let sum = f.builder.add(word, i64::from(slot));
        let below = f.builder.and(sum, i64::from(CLAIM_SLOTS - 1));
        f.builder.copy_into(number, below);
        f.builder.jump(mine);
        f.builder.switch_to(next);
    }
    nested(object, f, lost, probe, span);
    f.builder.switch_to(mine);
    let offset = f.builder.mul(number, stride);
    f.builder.alu_into(dst, Alu::Add, Width::W64, first, offset);
}

/// Fills the block of a firing that found no working memory.
fn nested(object: &mut ObjectBuilder<'_>, f: &mut FunctionState, lost: BlockId, probe: u32, span: Span) {
    let here = f.builder.current();
    f.builder.switch_to(lost);
    let site = object.site(LossCause::Nested, None, probe, span);
    let section = object.section(LOSSES);
    let address = f.builder.address(section.at(site * 8));
    atomic::add(&mut f.builder, address, 0, Size::B8, 1);
    f.builder.ret(0);
    f.builder.switch_to(here);
}
