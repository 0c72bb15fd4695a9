//! BPF programs and maps of the whole system, as the kernel tells of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A process that holds a program, one of its links, or a map by a descriptor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub comm: Arc<str>,
}

/// A loaded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfProgram {
    /// Kernel id.
    pub id: u32,
    /// Its name, 15 bytes at most.
    pub name: Arc<str>,
    /// Its type, as libbpf writes it: `kprobe`, `tracing`, `sched_cls`.
    pub kind: Arc<str>,
    /// What it is attached to: one text a link or event.
    pub attached: Vec<String>,
    /// Runs since the statistics were first on.
    pub runs: u64,
    /// Their time, ns.
    pub run_time_ns: u64,
    /// Runs skipped because it already ran on that CPU.
    pub recursion_misses: u64,
    /// Instructions after the verifier; 0 where the kernel does not show them.
    pub instructions: u32,
    /// Instructions that the verifier followed; 0 before Linux 5.16.
    pub verified_instructions: u32,
    /// Machine code, bytes.
    pub machine_bytes: u32,
    /// Memory that it takes, bytes.
    pub memory_bytes: Option<u64>,
    /// The maps that it uses.
    pub maps: Vec<u32>,
    /// When it was loaded, ns since boot.
    pub loaded_boot_ns: u64,
    /// Who loaded it.
    pub uid: u32,
    /// A hash of its instructions.
    pub tag: String,
    /// Who holds it.
    pub holders: Vec<Holder>,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfMap {
    /// Kernel id.
    pub id: u32,
    /// Its name, 15 bytes at most.
    pub name: Arc<str>,
    /// Its type, as libbpf writes it: `hash`, `ringbuf`.
    pub kind: Arc<str>,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value (of one CPU's, for maps by CPU).
    pub value_bytes: u32,
    /// Entries that it may have.
    pub max_entries: u32,
    /// Memory that it takes, bytes.
    pub memory_bytes: Option<u64>,
    /// Type of its keys, where its program tells.
    pub key_type: Option<String>,
    /// Type of its values, where its program tells.
    pub value_type: Option<String>,
    /// Who holds it.
    pub holders: Vec<Holder>,
}

/// All that is loaded at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// When it was read, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Why runs are not counted, where they are not.
    pub uncounted: Option<String>,
    /// By id.
    pub programs: Vec<BpfProgram>,
    /// By id.
    pub maps: Vec<BpfMap>,
}

/// What a program does between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProgramRate {
    /// Runs a second.
    pub events_per_second: f64,
    /// Mean time of a run, ns; 0 without a run.
    pub ns_per_event: f64,
    /// Share of one CPU, percent.
    pub cpu_percent: f64,
}

impl Inventory {
    /// What a program has done since an earlier reading; `None` where it was not there then.
    #[must_use]
    pub fn rate(&self, earlier: &Self, id: u32) -> Option<ProgramRate> {
        let of = |inventory: &Self| {
            let at = inventory.programs.binary_search_by_key(&id, |p| p.id).ok()?;
            inventory.programs.get(at).map(|p| (p.runs, p.run_time_ns))
        };
        let ((runs, time_ns), (runs_before, time_before_ns)) = (of(self)?, of(earlier)?);
        let span_ns = self.at_ns.checked_sub(earlier.at_ns).filter(|ns| *ns > 0)? as f64;
        let runs = runs.saturating_sub(runs_before) as f64;
        let time_ns = time_ns.saturating_sub(time_before_ns) as f64;
        Some(ProgramRate {
            events_per_second: runs * 1e9 / span_ns,
            ns_per_event: if runs > 0.0 { time_ns / runs } else { 0.0 },
            cpu_percent: time_ns * 100.0 / span_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ns: u64, runs: u64, run_time_ns: u64) -> Inventory {
        let program = BpfProgram { id: 7, runs, run_time_ns, ..BpfProgram::default() };
        Inventory { at_ns, programs: vec![program], ..Inventory::default() }
    }

    #[test]
    fn a_rate_is_of_the_time_between() {
        let (before, now) = (at(1_000_000_000, 10, 1_000), at(3_000_000_000, 110, 21_000_000));
        let rate = now.rate(&before, 7).unwrap();
        assert!((rate.events_per_second - 50.0).abs() < 1e-9);
        assert!((rate.ns_per_event - 209_990.0).abs() < 1e-6);
        assert!((rate.cpu_percent - 1.049_95).abs() < 1e-9);
        assert_eq!(now.rate(&before, 8), None);
        assert_eq!(now.rate(&now, 7), None, "no time has passed");
        // Another program that has got the id of one that is gone.
        assert!(before.rate(&at(500_000_000, 50, 50), 7).unwrap().events_per_second.abs() < 1e-9);
    }
}
