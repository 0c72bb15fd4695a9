//! One link for the trampolines of many kernel functions.

use std::os::fd::OwnedFd;

use super::super::sys::bpf::{self, TrampolineEnd};
use super::{Attached, Held, Job, Refusal};
use crate::codegen::artifact::ProgramKind;
use crate::model::target::Target;

/// A function among the targets: its index there, its BTF id, its cookie.
type Function = (usize, u32, u64);

/// Attaches the program to all of its targets.
pub(super) fn attach(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let id = |target: &Target| match target {
        Target::Fentry { btf_id, .. } => *btf_id,
        _ => 0,
    };
    let mut functions: Vec<Function> = job.targets().map(|(i, target)| (i, id(target), job.cookie(i))).collect();
    functions.sort_unstable_by_key(|(_, id, _)| *id);
    let link = |functions: &[Function]| {
        one_link(job, functions).map(Held::Descriptor).map_err(|error| crate::engine::error::words(&error))
    };
    // One that returns a struct, for example, has no trampoline.
    let alone = |only: &Function, reason: String, _: &mut Vec<Attached>| {
        let (target, ..) = *only;
        job.forgive(Refusal { target, reason })
    };
    super::halves(job, &functions, links, &link, &alone)
}

fn one_link(job: &Job<'_>, functions: &[Function]) -> std::io::Result<OwnedFd> {
    let ids: Vec<u32> = functions.iter().map(|(_, id, _)| *id).collect();
    let cookies: Vec<u64> = functions.iter().map(|(.., cookie)| *cookie).collect();
    bpf::link_trampolines(job.loaded, end(job.spec.kind), &ids, job.spec.needs_cookie.then_some(&cookies))
}

/// Which end of functions a program of this kind is for.
pub(crate) const fn end(kind: ProgramKind) -> TrampolineEnd {
    if matches!(kind, ProgramKind::FexitMulti) { TrampolineEnd::Exit } else { TrampolineEnd::Entry }
}
