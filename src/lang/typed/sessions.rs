//! Pairs of a kprobe and a kretprobe that make one session.
//!
//! Where the kernel has kprobe sessions (Linux 6.10), bpftrace attaches a function's entry and its return
//! by one link, when each stands alone in its probe, names no module and does not ask for `probe`,
//! and the function has no other kretprobe.

use std::collections::BTreeMap;

use super::{Probe, Program};

/// A kprobe and the kretprobe on the same functions, as indices of the program's probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The kprobe.
    pub entry: u32,
    /// The kretprobe.
    pub on_return: u32,
}

impl Program {
    /// The pairs, each probe in one at most; in the order of the kprobes' functions.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        let mut entries = BTreeMap::new();
        let mut returns: BTreeMap<Vec<&str>, Vec<u32>> = BTreeMap::new();
        for (index, probe) in (0..).zip(&self.probes).filter(|(_, p)| p.alone) {
            if let Some(functions) = self.functions_on(probe, "kprobe:") {
                entries.entry(functions).or_insert(index);
            } else if let Some(functions) = self.functions_on(probe, "kretprobe:") {
                returns.entry(functions).or_default().push(index);
            }
        }
        let session = |(functions, entry)| match returns.get(&functions)?.as_slice() {
            [on_return] => Some(Session { entry, on_return: *on_return }),
            _ => None,
        };
        entries.into_iter().filter_map(session).collect()
    }

    /// The functions that a probe of one provider is on, in order, when all are named without a module.
    fn functions_on(&self, probe: &Probe, provider: &str) -> Option<Vec<&str>> {
        let function = |name: &u32| self.probe_names.get(*name as usize)?.strip_prefix(provider);
        let names = probe.names.iter().map(|name| function(name).filter(|f| !f.contains(':')));
        let mut functions = names.collect::<Option<Vec<_>>>()?;
        functions.sort_unstable();
        functions.dedup();
        Some(functions)
    }
}
