//! Which programs the kernel keeps from running on a CPU at once.

use crate::codegen::artifact::ProgramKind;
use crate::kernel::target::TargetFacts;

/// Which programs exclude each other on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// Run by us alone, before or after all others.
    Alone,
    /// Tracepoint, kprobe and perf programs: the kernel runs at most one of them on a CPU at a time
    /// (`bpf_prog_active` in `trace_call_bpf`, kernel/trace/bpf_trace.c, and in
    /// `bpf_overflow_handler`, kernel/events/core.c) and counts the others as `recursion_misses`.
    Shared,
    /// Excluded from itself only: `prog->active` in `__bpf_prog_enter_recur` (trampolines, 5.12) and
    /// in `__bpf_trace_run` (raw tracepoints, 6.1).
    Own,
    /// Not excluded: raw tracepoints and trampolines of older kernels, nested by interrupts only.
    Nests,
    /// May be preempted: `bpf_prog_run_array_uprobe` (include/linux/bpf.h, 6.0) only forbids migration.
    Preempted,
}

/// How the kernel keeps programs of a kind from running at once.
pub fn exclusion(kind: ProgramKind, facts: &TargetFacts) -> Exclusion {
    let since = |major: u32, minor: u32| facts.version >= major << 16 | minor << 8;
    match kind {
        ProgramKind::TestRun | ProgramKind::Iter => Exclusion::Alone,
        ProgramKind::Tracepoint | ProgramKind::Kprobe | ProgramKind::PerfEvent => Exclusion::Shared,
        // kprobe.multi takes the same counter (`kprobe_multi_link_prog_run`).
        ProgramKind::KprobeMulti | ProgramKind::KprobeSession => Exclusion::Shared,
        ProgramKind::RawTracepoint | ProgramKind::SyscallDispatch if since(6, 1) => Exclusion::Own,
        ProgramKind::Fentry | ProgramKind::Fexit if since(5, 12) => Exclusion::Own,
        ProgramKind::FentryMulti | ProgramKind::FexitMulti => Exclusion::Own,
        ProgramKind::RawTracepoint | ProgramKind::SyscallDispatch | ProgramKind::Fentry | ProgramKind::Fexit => {
            Exclusion::Nests
        }
        ProgramKind::Uprobe | ProgramKind::UprobeMulti if facts.uprobe_preemptible => Exclusion::Preempted,
        ProgramKind::Uprobe | ProgramKind::UprobeMulti => Exclusion::Shared,
    }
}
