//! Attach points that bpftrace counts as one and that are attached apart here.

use std::collections::BTreeSet;

use crate::codegen::artifact::Artifact;
use crate::lang::typed::Program;

/// How many attach points are counted with another one, beside those that share its link.
pub(super) fn counted_with_others(program: &Program, artifact: &Artifact) -> u32 {
    let one_link = |entry| artifact.programs.iter().any(|spec| spec.probe == entry && spec.on_return.is_some());
    let apart = program.sessions().into_iter().filter(|session| !one_link(session.entry));
    let functions =
        |probe: u32| program.probes.get(probe as usize).map_or_else(BTreeSet::new, |p| p.names.iter().collect());
    apart.map(|session| functions(session.entry).len() as u32).sum()
}
