//! Tracepoints of which only the firing matters, hung on the raw tracepoint.
//!
//! The kernel detaches perf tracepoints one at a time, waiting for a grace period each (about
//! 40 ms, `perf_trace_event_unreg`); a raw tracepoint's link closes at once. The firings are the
//! same; there is no record with fields.

use crate::kernel::target::TargetFacts;
use crate::lang::typed::{Builtin, ExprKind, Intrinsic, Probe, Program};
use crate::lang::types::Type;
use crate::model::target::Target;

/// Scripts with fewer tracepoints detach soon enough.
const FEWEST: usize = 5;
/// Events that are no tracepoints themselves (`events/CATEGORY` in tracefs).
const NOT_RAW: [&str; 5] = ["syscalls", "ftrace", "kprobes", "uprobes", "synthetic"];
/// `bpf_get_attach_cookie` in raw tracepoints.
const COOKIES: u32 = 6 << 16 | 10 << 8;

/// Whether a tracepoint has a raw one of its name.
pub fn has_raw(target: &Target) -> bool {
    matches!(target, Target::Tracepoint { category, .. } if !NOT_RAW.contains(&&**category))
}

/// Whether a script has so many tracepoints that raw ones, which detach at once, are taken for them.
pub fn is_profitable(program: &Program) -> bool {
    program.probes.iter().flat_map(|p| &p.targets).filter(|t| has_raw(t)).count() >= FEWEST
}

/// Whether one program can tell its targets apart there.
pub const fn has_cookies(facts: &TargetFacts) -> bool {
    facts.version >= COOKIES
}

/// Whether the probe takes nothing from the context; kernel stacks begin elsewhere, too, and not every function of the
/// kernel is to be had.
pub fn needs_no_record(probe: &Probe) -> bool {
    probe.all_exprs().all(|e| match &e.kind {
        ExprKind::Builtin(
            Builtin::Ctx
            | Builtin::CtxField(_)
            | Builtin::DataLoc(_)
            | Builtin::Register(_)
            | Builtin::UserMode
            | Builtin::Arg(_)
            | Builtin::StackArg(_)
            | Builtin::Retval,
        )
        | ExprKind::Call(Intrinsic::KStack | Intrinsic::StackFrame | Intrinsic::Override | Intrinsic::SkbBytes, _) => {
            false
        }
        // By its id a process is found by one of the kernel's functions, which programs attached without types may
        // not call.
        ExprKind::Call(Intrinsic::TaskComm, args) => args.iter().all(|task| matches!(task.ty, Type::Ptr { .. })),
        _ => true,
    })
}
