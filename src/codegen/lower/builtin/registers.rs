//! Words of the program's context that are the traced registers.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::ir::Vreg;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer};

/// Byte offsets in `struct pt_regs` (`arch/*/include/asm/ptrace.h`): arguments in order, result,
/// stack pointer, instruction pointer.
pub struct Registers {
    pub arguments: &'static [u16],
    pub result: u16,
    pub stack: u16,
    /// What tells user mode: x86's `cs`, arm64's `pstate`.
    pub mode: u16,
}

/// This architecture's.
#[cfg(not(target_arch = "aarch64"))]
pub const REGISTERS: Registers =
    Registers { arguments: &[112, 104, 96, 88, 72, 64], result: 80, stack: 152, mode: 136 };
/// This architecture's.
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: Registers =
    Registers { arguments: &[0, 8, 16, 24, 32, 40, 48, 56], result: 0, stack: 248, mode: 264 };

/// A word of the context: `struct pt_regs`, which also begins `struct bpf_perf_event_data`.
pub fn context_word(f: &mut FunctionState, offset: u16) -> Vreg {
    let context = f.context();
    memory::load(&mut f.builder, Addr::new(Base::Reg(context), i32::from(offset)), 8, false)
}

pub fn has_registers(l: &Lowerer<'_, '_>) -> bool {
    matches!(
        l.kind,
        ProgramKind::Kprobe
            | ProgramKind::KprobeMulti
            | ProgramKind::KprobeSession
            | ProgramKind::Uprobe
            | ProgramKind::UprobeMulti
            | ProgramKind::PerfEvent
    )
}
