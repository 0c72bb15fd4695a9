//! Pairs of a kprobe and a kretprobe that make one session.
//!
//! Where the kernel has kprobe sessions (Linux 6.10), bpftrace attaches a function's entry and its return
//! by one link, when each stands alone in its probe, names no module and does not ask for `probe`,
//! and the function has no other kretprobe. A return that asks for what the entry of its call kept is in a session with
//! the entry that keeps it.

use std::collections::BTreeMap;

use super::{Builtin, ExprKind, Intrinsic, Probe, Program};

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
        let mut entries: BTreeMap<Vec<&str>, Vec<u32>> = BTreeMap::new();
        let mut returns: BTreeMap<Vec<&str>, Vec<u32>> = BTreeMap::new();
        for (index, probe) in (0..).zip(&self.probes).filter(|(_, p)| p.alone) {
            if let Some(functions) = self.functions_on(probe, "kprobe:") {
                entries.entry(functions).or_default().push(index);
            } else if let Some(functions) = self.functions_on(probe, "kretprobe:") {
                returns.entry(functions).or_default().push(index);
            }
        }
        let session = |(functions, entries): (Vec<&str>, Vec<u32>)| {
            let [on_return] = *returns.get(&functions)?.as_slice() else { return None };
            let asks = self.probes[on_return as usize].asks_for_cookie();
            let fits = |entry: &&u32| !asks || self.probes[**entry as usize].keeps_in_session();
            entries.iter().find(fits).map(|entry| Session { entry: *entry, on_return })
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

impl Probe {
    /// Whether it keeps something for the return of the call.
    #[must_use]
    pub fn keeps_in_session(&self) -> bool {
        self.all_exprs().any(|e| matches!(e.kind, ExprKind::Call(Intrinsic::KeepInSession, _)))
    }

    fn asks_for_cookie(&self) -> bool {
        self.all_exprs().any(|e| matches!(e.kind, ExprKind::Builtin(Builtin::SessionCookie)))
    }
}
