//! How many attach points a trace has.

use std::collections::HashSet;

use super::Trace;
use crate::codegen::artifact::ProgramKind;
use crate::lang::typed::Probe;
use crate::model::target::Target;

impl Trace {
    /// How many attach points are attached; begin, end and signal probes count as one each, and so
    /// does a USDT probe with several sites. Those that a begin probe's `exit()` spares count, too: bpftrace
    /// attaches them all the same.
    #[must_use]
    pub fn attached(&self) -> u32 {
        let linked: u32 = self.links.iter().map(|l| l.targets).sum();
        (linked + self.spared).saturating_sub(self.further_sites() + self.shared) + self.runnable().count() as u32
    }

    /// How many targets there are to attach to.
    pub(super) fn attachable(&self) -> u32 {
        let attached = self.artifact.programs.iter().filter(|s| s.kind != ProgramKind::TestRun);
        attached.map(|s| s.targets.len() as u32).sum()
    }

    /// Sites of USDT probes beyond each probe's first.
    fn further_sites(&self) -> u32 {
        let further = |probe: &Probe| {
            let mut names = HashSet::new();
            let mut sites = 0;
            for target in &probe.targets {
                if let Target::Usdt { path, provider, name, .. } = target {
                    names.insert((path, provider, name));
                    sites += 1;
                }
            }
            sites - names.len()
        };
        self.program.probes.iter().map(further).sum::<usize>() as u32
    }
}
