//! Pairs of a kprobe and a kretprobe that bpftrace counts as one attach point.
//!
//! Where the kernel has kprobe sessions (Linux 6.10), bpftrace attaches a function's entry and its return
//! by one link, when each stands alone in its probe, names no module and does not ask for `probe`,
//! and the function has no other kretprobe.

use std::collections::{BTreeMap, BTreeSet};

use crate::lang::typed::{Probe, Program};

/// How many attach points are counted with another one.
pub(super) fn counted_with_others(program: &Program) -> u32 {
    let mut entries: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    let mut returns: BTreeMap<BTreeSet<&str>, u32> = BTreeMap::new();
    for probe in program.probes.iter().filter(|p| p.alone) {
        if let Some(functions) = functions(program, probe, "kprobe:") {
            entries.insert(functions);
        } else if let Some(functions) = functions(program, probe, "kretprobe:") {
            *returns.entry(functions).or_default() += 1;
        }
    }
    let paired = returns.iter().filter(|(functions, probes)| **probes == 1 && entries.contains(*functions));
    paired.map(|(functions, _)| functions.len() as u32).sum()
}

/// The functions that a probe of one provider is on, when all are named without a module.
fn functions<'p>(program: &'p Program, probe: &Probe, provider: &str) -> Option<BTreeSet<&'p str>> {
    let function = |name: &u32| program.probe_names.get(*name as usize)?.strip_prefix(provider);
    probe.names.iter().map(|name| function(name).filter(|f| !f.contains(':'))).collect()
}
