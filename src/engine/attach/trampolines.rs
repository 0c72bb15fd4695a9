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
    halves(job, &functions, links)
}

/// One link for these functions. The kernel refuses it for a single one that has no trampoline, for example because it
/// returns a struct: then each half gets one, down to the functions that are refused alone.
fn halves(job: &Job<'_>, functions: &[Function], links: &mut Vec<Attached>) -> Result<(), Refusal> {
    match (one_link(job, functions), functions) {
        (Ok(link), _) => {
            job.done(links, Held::Descriptor(link), functions.len());
            Ok(())
        }
        (Err(error), [(target, ..)]) => job.forgive(Refusal::io(*target, &error)),
        (Err(_), _) => {
            let (first, second) = functions.split_at(functions.len() / 2);
            halves(job, first, links)?;
            halves(job, second, links)
        }
    }
}

fn one_link(job: &Job<'_>, functions: &[Function]) -> std::io::Result<OwnedFd> {
    let ids: Vec<u32> = functions.iter().map(|(_, id, _)| *id).collect();
    let cookies: Vec<u64> = functions.iter().map(|(.., cookie)| *cookie).collect();
    bpf::link_trampolines(job.loaded, end(job.spec.kind), &ids, job.spec.needs_cookie.then_some(&cookies))
}

/// Which end of functions a program of this kind is for.
pub(in crate::engine) const fn end(kind: ProgramKind) -> TrampolineEnd {
    if matches!(kind, ProgramKind::FexitMulti) { TrampolineEnd::Exit } else { TrampolineEnd::Entry }
}
