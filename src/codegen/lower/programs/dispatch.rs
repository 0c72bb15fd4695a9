//! Many system call tracepoints as one program on the raw tracepoint that all of them hang on.
//!
//! Each perf tracepoint takes the kernel a grace period or two to detach (about 80 ms), so that a
//! wildcard over all calls takes half a minute. `perf_syscall_enter` and `perf_syscall_exit`
//! (kernel/trace/trace_syscalls.c) are probes of the tracepoints `sys_enter(regs, id)` and
//! `sys_exit(regs, ret)` themselves: a program there sees the same firings, told apart by the
//! call's number, and what the record would hold is in the registers.

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Size, Vreg};
use crate::kernel::syscalls;
use crate::kernel::syscalls::Machine;
use crate::lang::source::Span;
use crate::lang::typed::walk::{self, Node};
use crate::lang::typed::{Block, Builtin, Expr, ExprKind, Intrinsic, Probe, StatementKind};
use crate::lang::types::Type;
use crate::model::target::Target;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::builtin::registers;
use crate::codegen::lower::builtin::registers::REGISTERS;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::CONSTANTS;
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::numbers;
use crate::codegen::lower::programs::firing::Firing;
use crate::codegen::lower::programs::refusal;

/// Fewer tracepoints than this are cheaper one by one: the raw tracepoint fires for every call.
const FEWEST: usize = 5;
/// Numbers in the table; both machines' calls are below (`NR_syscalls`).
const NUMBERS: usize = 512;
/// Where the record has the call's number (`struct syscall_trace_enter` and `syscall_trace_exit`,
/// kernel/trace/trace.h).
const NUMBER_AT: u32 = 8;
/// Where it has the arguments, or the result.
const VALUES_AT: u32 = 16;

/// Where `struct pt_regs` holds what a system call was given.
struct CallRegisters {
    arguments: [u16; 6],
    number: u16,
    /// Tells 64-bit callers: `mode & mask == wide`.
    mode_mask: i64,
    wide: i64,
}

/// di, si, dx, r10, r8, r9; `orig_ax`; `cs` is `__USER_CS`.
#[cfg(not(target_arch = "aarch64"))]
const CALL: CallRegisters =
    CallRegisters { arguments: [112, 104, 96, 56, 72, 64], number: 120, mode_mask: 0xffff, wide: 0x33 };
/// `regs[0..6]`; `syscallno`; no `PSR_MODE32_BIT`. The first argument is in `orig_x0` by the time of
/// the exit, but entries see it in `regs[0]`.
#[cfg(target_arch = "aarch64")]
const CALL: CallRegisters = CallRegisters { arguments: [0, 8, 16, 24, 32, 40], number: 280, mode_mask: 0x10, wide: 0 };

/// Index of the event and number of the call, for targets that can be dispatched.
fn call_of(target: &Target) -> Option<(bool, u16)> {
    let Target::Tracepoint { category, event } = target else { return None };
    if &**category != "syscalls" {
        return None;
    }
    let number = syscalls::number_of_event(Machine::HOST, event).filter(|n| usize::from(*n) < NUMBERS)?;
    Some((event.starts_with("sys_exit_"), number))
}

/// The targets of a probe that one program serves: those at entries and those at exits, each group large enough to
/// gain by it, or absent.
pub fn groups(probe: &Probe, context: CostContext<'_>) -> Vec<Vec<u32>> {
    let mut groups = [Vec::new(), Vec::new()];
    let named = probe.names.iter().all(|n| *n < u32::from(u16::MAX));
    if probe.targets.len() < FEWEST || !named || !context.facts.features().btf {
        return Vec::new();
    }
    let mut taken = std::collections::HashSet::new();
    for (index, target) in probe.targets.iter().enumerate() {
        // A tracepoint named twice fires twice: the second time on its own.
        if let Some((exit, number)) = call_of(target).filter(|call| taken.insert(*call)) {
            groups[usize::from(exit)].push((index as u32, number));
        }
    }
    let indices = |group: Vec<(u32, u16)>| group.into_iter().map(|(index, _)| index).collect::<Vec<_>>();
    groups.into_iter().map(indices).filter(|g| g.len() >= FEWEST && translatable(probe, context, g)).collect()
}

/// Whether everything that the probe takes from its context is in the registers, too.
fn translatable(probe: &Probe, context: CostContext<'_>, group: &[u32]) -> bool {
    let exit = group.first().and_then(|i| call_of(&probe.targets[*i as usize])).is_some_and(|(exit, _)| exit);
    let is_translatable = |e: &Expr| match &e.kind {
        ExprKind::Builtin(Builtin::CtxField(offset)) => e.ty.fits_register() && field_of(*offset, exit).is_some(),
        ExprKind::AddressOf(place) => is_of_a_local(place),
        // Stacks begin elsewhere in a raw tracepoint: with the program itself.
        ExprKind::Builtin(Builtin::Ctx | Builtin::DataLoc(_) | Builtin::Register(_) | Builtin::UserMode)
        | ExprKind::Call(Intrinsic::KStack | Intrinsic::StackFrame | Intrinsic::Override | Intrinsic::SkbBytes, _) => {
            false
        }
        _ => true,
    };
    let mut callbacks_ask = false;
    walk::each_placed(&probe.body, &mut |before, s| {
        callbacks_ask |=
            is_callback(context, before, s) && s.loop_body().is_some_and(|body| asks_of_firing(body, probe));
    });
    probe.all_exprs().all(is_translatable) && !callbacks_ask
}

/// Whether statements want the record or the name of the firing probe. Callbacks know nothing of the firing.
fn asks_of_firing(body: &Block, probe: &Probe) -> bool {
    body.nodes().any(|node| match node {
        Node::Statement(s) => probe.needs_probe_id && matches!(s.kind, StatementKind::Report { .. }),
        Node::Expr(e) => {
            matches!(e.kind, ExprKind::Builtin(Builtin::CtxField(_) | Builtin::ProbeId | Builtin::FuncId))
        }
    })
}

/// Whether a place is a variable of the program or a part of one: what it lies in is no record of the tracepoint.
fn is_of_a_local(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Local(_) => true,
        ExprKind::Field { base, .. } => is_of_a_local(base),
        _ => false,
    }
}

/// What a field of the record is.
enum Field {
    Number,
    Argument(u16),
    Result,
}

fn field_of(offset: u32, exit: bool) -> Option<Field> {
    match offset {
        NUMBER_AT => Some(Field::Number),
        VALUES_AT if exit => Some(Field::Result),
        _ if exit || offset < VALUES_AT || !offset.is_multiple_of(8) => None,
        _ => CALL.arguments.get((offset - VALUES_AT) as usize / 8).copied().map(Field::Argument),
    }
}

/// ELF section of a group's program.
pub fn section(target: &Target) -> String {
    let exit = call_of(target).is_some_and(|(exit, _)| exit);
    if exit { "tp_btf/sys_exit" } else { "tp_btf/sys_enter" }.to_owned()
}

/// Goes on for calls in the table only, as the kernel does: not for other numbers, nor for calls
/// of 32-bit programs, whose numbers mean other calls (`trace_get_syscall_nr`).
pub fn begin(l: &mut Lowerer<'_, '_>, targets: &[u32]) {
    let mut table = vec![0_u8; NUMBERS * 2];
    for index in targets {
        let Some((_, number)) = call_of(&l.probe.targets[*index as usize]) else { continue };
        let name = l.probe.names.get(*index as usize).copied().unwrap_or(0) as u16 + 1;
        table[usize::from(number) * 2..][..2].copy_from_slice(&name.to_le_bytes());
    }
    let exit = call_of(&l.probe.targets[l.target]).is_some_and(|(exit, _)| exit);
    let registers = registers::context_word(&mut l.function, 0);
    let number = if exit {
        // An `int` on ARM; -1 for "no call" is beyond the table.
        l.function.builder.load(registers, CALL.number as i16, Size::B4)
    } else {
        registers::context_word(&mut l.function, 8)
    };
    let refused = refusal::refused(&mut l.function);
    flow::require(&mut l.function.builder, Cond::Lt, number, NUMBERS as i64, refused);
    let at = l.object.constant(&table);
    let section = l.object.section(CONSTANTS);
    let b = &mut l.function.builder;
    let start = b.address(section.at(at));
    let offset = b.shl(number, 1);
    let entry = b.add(start, offset);
    let name = b.load(entry, 0, Size::B2);
    flow::require(b, Cond::Ne, name, 0, refused);
    let mode = b.load(registers, REGISTERS.mode as i16, Size::B8);
    let mode = b.and(mode, CALL.mode_mask);
    flow::require(b, Cond::Eq, mode, CALL.wide, refused);
    l.firing = Some(Firing { number, name, exit });
}

/// Index of the firing target's name.
pub fn name(l: &mut Lowerer<'_, '_>) -> Option<Vreg> {
    let firing = l.firing?;
    Some(l.function.builder.sub(firing.name, 1))
}

/// A field of the record that the tracepoint would have written.
pub fn field(l: &mut Lowerer<'_, '_>, offset: u32, ty: &Type, span: Span) -> Result<Vreg, CodegenError> {
    let Some(firing) = l.firing else { return l.internal(span, "a field without a firing") };
    let value = match field_of(offset, firing.exit) {
        Some(Field::Number) => firing.number,
        Some(Field::Argument(register)) => {
            let context = l.function.context();
            let registers = memory::load(&mut l.function.builder, Addr::new(Base::Reg(context), 0), 8, false);
            l.function.builder.load(registers, register as i16, Size::B8)
        }
        Some(Field::Result) => registers::context_word(&mut l.function, 8),
        None => return l.internal(span, "a field that no register holds"),
    };
    Ok(numbers::wrap(&mut l.function.builder, value, ty))
}
