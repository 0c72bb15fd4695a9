//! Entries and prologues: what a function computes before its body runs.
//!
//! They are written when the body is there, and hold what it asked for: the results of helpers that are the
//! same all through a firing, the addresses of the CPU's memory, a working memory that nobody else uses.

use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Size, Vreg, Width};
use crate::lang::source::Span;
use crate::model::stats::LossCause;

use super::func::{Cached, Draft, FRAME_CONTEXT, FRAME_LOCALS, FRAME_RETURNED, FRAME_SCRATCH, FnState, Role};
use super::helpers as h;
use super::layout::{self, LOSSES, PER_CPU, SCRATCH};
use super::unit::{CLAIM_SLOTS, CLAIMED, Guard, Unit};

/// Writes entries and prologues of all functions.
pub fn finish(unit: &mut Unit<'_>) {
    for draft in std::mem::take(&mut unit.drafts) {
        let Draft { mut state, probe, span } = draft;
        let previous = state.b.set_span(Span::default());
        write_entry(unit, &mut state, probe, span);
        state.b.set_span(previous);
        unit.functions[state.id.0 as usize] = Some(state.b.finish());
    }
}

fn write_entry(unit: &mut Unit<'_>, f: &mut FnState, probe: u32, span: Span) {
    let all_early = f.scratch.early || f.percpu.early || f.cpu.early;
    let guarded = f.role == Role::Program && f.scratch.vreg.is_some() && unit.regions[f.region].guard != Guard::None;
    // The first block of code follows the three made by `FnState::new`.
    let first = BlockId(3);
    f.b.switch_to(BlockId(0));
    load_values(f, true);
    if all_early {
        bases(unit, f, probe, span);
    }
    f.b.jump(first);
    f.b.switch_to(f.prologue);
    load_values(f, false);
    if !all_early {
        bases(unit, f, probe, span);
    }
    // The body follows; `begin_body` left a jump target behind.
    if let Some(body) = f.body {
        f.b.jump(body);
    }
    if let Some(refused) = f.refused {
        f.b.switch_to(refused);
        if all_early && guarded {
            let exit = f.exit;
            f.b.jump(exit);
        } else {
            f.b.ret(0);
        }
    }
    f.b.switch_to(f.exit);
    if guarded && let Some(base) = f.scratch.vreg {
        f.b.store(base, 0, Size::B8, 0);
    }
    f.b.ret(0);
}

fn load_context(f: &mut FnState) {
    if let (Some(dst), Role::Callback(frame)) = (f.context.vreg, f.role) {
        let value = f.b.load(frame, FRAME_CONTEXT as i16, Size::B8);
        f.b.copy_into(dst, value);
    }
}

/// Computes the values that are wanted before the predicate, or those wanted after it only and not computed
/// where they were first asked for.
fn load_values(f: &mut FnState, early: bool) {
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

/// `bpf_get_current_pid_tgid()`, if the function asks for it.
pub fn load_pid_tgid(f: &mut FnState) {
    load(f, f.pid_tgid, h::GET_CURRENT_PID_TGID);
}

/// `bpf_get_current_uid_gid()`, if the function asks for it.
pub fn load_uid_gid(f: &mut FnState) {
    load(f, f.uid_gid, h::GET_CURRENT_UID_GID);
}

/// `bpf_get_current_task_btf()`, if the function asks for it.
pub fn load_task(f: &mut FnState) {
    load(f, f.task, h::GET_CURRENT_TASK_BTF);
}

fn load(f: &mut FnState, cached: Cached, helper: u32) {
    if let Some(dst) = cached.vreg {
        let value = f.b.call(helper, &[]);
        f.b.copy_into(dst, value);
    }
}

/// Computes the CPU's number and the addresses of its memory.
fn bases(unit: &mut Unit<'_>, f: &mut FnState, probe: u32, span: Span) {
    let slots = layout::cpu_slots(unit.facts);
    if let Some(cpu) = f.cpu.vreg {
        let value = f.b.call(h::GET_SMP_PROCESSOR_ID, &[]);
        f.b.copy_into(cpu, value);
    }
    if let (Some(dst), Some(cpu)) = (f.percpu.vreg, f.cpu.vreg) {
        let section = unit.section(PER_CPU);
        let stride = unit.layout.percpu_stride;
        let base = per_cpu_address(f, cpu, slots, |f| f.b.global_addr(section, 0), stride);
        f.b.copy_into(dst, base);
    }
    match (f.scratch.vreg, f.role) {
        (Some(dst), Role::Program) => scratch_base(unit, f, dst, probe, span),
        (Some(dst), Role::Callback(frame)) => {
            let value = f.b.load(frame, FRAME_SCRATCH as i16, Size::B8);
            f.b.copy_into(dst, value);
        }
        (None, _) => {}
    }
    if let Some(frame) = f.frame {
        f.b.slot_store(frame, FRAME_CONTEXT, Size::B8, Vreg(0));
        let scratch = f.scratch.vreg.map_or(Operand::Imm(0), Operand::Reg);
        f.b.slot_store(frame, FRAME_SCRATCH, Size::B8, scratch);
        f.b.slot_store(frame, FRAME_RETURNED, Size::B8, 0);
        if unit.facts.believes_one_round() {
            // Read before every loop, see `hide_numbers`.
            for at in (FRAME_LOCALS..f.b.slot_size(frame)).step_by(8) {
                f.b.slot_store(frame, at as i32, Size::B8, 0);
            }
        }
    }
}

fn per_cpu_address(
    f: &mut FnState,
    cpu: Vreg,
    slots: u32,
    base: impl FnOnce(&mut FnState) -> Vreg,
    stride: u32,
) -> Vreg {
    if slots == 1 {
        return base(f);
    }
    // The mask is no change (the number is below the count of possible CPUs); the verifier needs it.
    let index = f.b.and(cpu, i64::from(slots - 1));
    let offset = f.b.mul(index, i64::from(stride));
    let base = base(f);
    f.b.add(base, offset)
}

fn scratch_base(unit: &mut Unit<'_>, f: &mut FnState, dst: Vreg, probe: u32, span: Span) {
    let section = unit.section(SCRATCH);
    let slots = layout::cpu_slots(unit.facts);
    let region = unit.regions[f.region];
    let at = unit.region_offset(f.region);
    let Some(cpu) = f.cpu.vreg else { return };
    let base = per_cpu_address(f, cpu, slots, |f| f.b.global_addr(section, at), region.cpu_stride());
    f.b.copy_into(dst, base);
    match region.guard {
        Guard::None => {}
        Guard::Word => {
            let lost = f.b.new_block();
            let taken = f.b.load(dst, 0, Size::B8);
            f.b.require(Cond::Eq, taken, 0, lost);
            f.b.store(dst, 0, Size::B8, 1);
            nested(unit, f, lost, probe, span);
        }
        Guard::Claim => claimed_slot(unit, f, dst, probe, span),
    }
}

/// Moves the base of a CPU's slots to the first one that is free, and claims that.
fn claimed_slot(unit: &mut Unit<'_>, f: &mut FnState, dst: Vreg, probe: u32, span: Span) {
    let stride = i64::from(unit.regions[f.region].slot_stride());
    let (lost, mine) = (f.b.new_block(), f.b.new_block());
    let (first, number) = (f.b.copy(dst), f.b.new_vreg());
    for slot in 0..CLAIM_SLOTS {
        if slot > 0 {
            f.b.alu_into(dst, Alu::Add, Width::W64, dst, stride);
        }
        let word = f.b.atomic_xchg(dst, 0, Size::B8, CLAIMED);
        let (next, free) = (if slot + 1 == CLAIM_SLOTS { lost } else { f.b.new_block() }, f.b.new_block());
        f.b.branch(Cond::Set, word, CLAIMED, next, free);
        f.b.switch_to(free);
        // The word is zero here, of which the verifier knows one bit: so it does not know which slot it is,
        // and need not look at all that follows once for each.
        let sum = f.b.add(word, i64::from(slot));
        let below = f.b.and(sum, i64::from(CLAIM_SLOTS - 1));
        f.b.copy_into(number, below);
        f.b.jump(mine);
        f.b.switch_to(next);
    }
    nested(unit, f, lost, probe, span);
    f.b.switch_to(mine);
    let offset = f.b.mul(number, stride);
    f.b.alu_into(dst, Alu::Add, Width::W64, first, offset);
}

/// Fills the block of a firing that found no working memory.
fn nested(unit: &mut Unit<'_>, f: &mut FnState, lost: BlockId, probe: u32, span: Span) {
    let here = f.b.current();
    f.b.switch_to(lost);
    let site = unit.site(LossCause::Nested, None, probe, span);
    let section = unit.section(LOSSES);
    let address = f.b.global_addr(section, site * 8);
    f.b.atomic_add(address, 0, Size::B8, 1);
    f.b.ret(0);
    f.b.switch_to(here);
}
