//! One program and one link for the trampolines of many kernel functions (`BPF_TRACE_FENTRY_MULTI`, Linux 7.2).
//!
//! Such a program is loaded once, for no function in particular: the verifier lets it read nothing of its context, and
//! `bpf_get_func_arg` and `bpf_get_func_ret` hand out plain words. So it follows pointers as a kprobe's program does.
//! Where the kernel has no such links, each function's program is loaded by itself, which takes tens of milliseconds each.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::lower::programs::multi::{MULTI_FROM, Plan};
use crate::kernel::target::TargetFacts;
use crate::lang::typed::{Builtin, ExprKind, Intrinsic, Probe};
use crate::model::target::Target;

/// The targets of a probe that share a program and a link; none where that is not possible or does not pay.
pub fn shared(probe: &Probe, facts: &TargetFacts) -> Vec<u32> {
    // Ids of the functions of modules belong to the module's own type information, which these links don't take.
    let is_kernels =
        |t: &Target| matches!(t, Target::Fentry { module, btf_id, .. } if &**module == "vmlinux" && *btf_id != 0);
    let targets: Vec<u32> =
        probe.targets.iter().enumerate().filter(|(_, t)| is_kernels(t)).map(|(i, _)| i as u32).collect();
    // What the kernel has is asked last: the answer takes its whole type information to be read.
    let is_profitable = targets.len() >= MULTI_FROM && !facts.for_other_loaders && reads_plain_words(probe);
    if is_profitable && facts.features().fentry_multi { targets } else { Vec::new() }
}

/// The program of such targets.
pub fn plan(probe: &Probe, shared: &[u32]) -> Option<Plan> {
    let exit = matches!(probe.targets.get(*shared.first()? as usize)?, Target::Fentry { exit: true, .. });
    // libbpf knows neither name, so the engine says what these programs are.
    let (kind, section) =
        if exit { (ProgramKind::FexitMulti, "fexit.multi") } else { (ProgramKind::FentryMulti, "fentry.multi") };
    Some(Plan { kind, section: section.to_owned(), targets: shared.to_vec() })
}

/// Whether the probe does with words what it does with its arguments: structs by value take several, and some helpers
/// want a pointer that the verifier knows.
fn reads_plain_words(probe: &Probe) -> bool {
    probe.all_exprs().all(|e| match &e.kind {
        ExprKind::Builtin(Builtin::CtxField(_)) => e.ty.fits_register(),
        ExprKind::Builtin(Builtin::Ctx)
        | ExprKind::Call(Intrinsic::Path | Intrinsic::SocketCookie, _)
        | ExprKind::CallUser(..) => false,
        _ => true,
    })
}
