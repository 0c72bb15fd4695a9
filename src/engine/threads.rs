//! What this program's own threads may do, and how soon they get a CPU.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Nice value of the thread that takes reports: under load it gets nine times the share of an ordinary one, and it is
/// woken at once. It runs for a few percent of a CPU even at a million reports a second; left waiting for 20 ms behind
/// busy programs it would lose what the ring has no room for.
const NICE: i32 = -10;

/// What a trace that is attached still needs: programs and maps are read by `bpf(2)`, names come from `/proc` (files that
/// were replaced under a running process by its `map_files`, which takes `CAP_CHECKPOINT_RESTORE`), and the command of
/// `-c` is ended.
const NEEDED: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::KILL);

/// Makes the calling thread one that takes reports: it gets the CPU soon, and may do nothing else. Without the right to
/// either it stays as it is.
pub fn drains() {
    let _ = rustix::process::setpriority_process(None, NICE);
    keep(CapabilitySet::empty());
}

/// Takes from the calling thread every right that a trace has no use for once it is attached. One with a budget may
/// still turn on the kernel's statistics, which takes `CAP_SYS_ADMIN`, as opening events on CPUs that come later does
/// where `kernel.perf_event_paranoid` is over 2.
pub fn keep_needed(to_administer: bool) {
    let statistics = if to_administer { CapabilitySet::SYS_ADMIN } else { CapabilitySet::empty() };
    keep(NEEDED.union(statistics));
}

/// Takes from the calling thread every right but those to look at processes and the files that they have mapped, and to
/// change maps.
pub fn reads_processes() {
    keep(NEEDED);
}

/// Keeps what the thread has of `wanted`. It fails for nobody: less is always allowed.
fn keep(wanted: CapabilitySet) {
    let Ok(had) = rustix::thread::capabilities(None) else { return };
    let left = CapabilitySets {
        effective: had.effective.intersection(wanted),
        permitted: had.permitted.intersection(wanted),
        inheritable: CapabilitySet::empty(),
    };
    let _ = set_capabilities(None, left);
}

/// Keeps in memory what of the program is there and is touched from now on, so that it can go on where others have
/// filled the memory. What it allocates later is not kept. Without the right to it nothing changes.
pub fn stay_in_memory() {
    use rustix::mm::{MlockAllFlags, mlockall};
    let _ = mlockall(MlockAllFlags::CURRENT.union(MlockAllFlags::ONFAULT));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_up_what_it_does_not_need() {
        let of_thread = std::thread::spawn(|| {
            keep_needed(false);
            rustix::thread::capabilities(None).map(|left| (left.effective, left.permitted))
        });
        let (effective, permitted) = of_thread.join().unwrap().unwrap();
        assert!(NEEDED.contains(effective) && NEEDED.contains(permitted));
        let drain = std::thread::spawn(|| {
            drains();
            rustix::thread::capabilities(None).map(|left| left.permitted)
        });
        assert!(drain.join().unwrap().unwrap().is_empty());
    }
}
