//! The program's own threads: what each may do, and how soon it gets a CPU.
//!
//! Every thread is started here, with the rights that its work needs; it gives up all others before it does anything
//! (`clippy.toml` refuses other ways). A thread can't get back what it has given up, and those that it starts begin with
//! what it has.

#![allow(clippy::disallowed_methods, reason = "this is the one place")]

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Nice value of the thread that takes reports: under load it gets nine times the share of an ordinary one, and it is
/// woken at once. It runs for a few percent of a CPU even at a million reports a second; left waiting for 20 ms behind
/// busy programs it would lose what the ring has no room for.
const NICE: i32 = -10;

/// To look at processes and at what may not be read by everybody: `/proc`, tracefs, kernel symbols.
const READS: CapabilitySet =
    CapabilitySet::DAC_READ_SEARCH.union(CapabilitySet::SYS_PTRACE).union(CapabilitySet::SYSLOG);

/// To write the user's files where the user is another (`sudo`), and to leave them theirs.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// What a trace that is attached still needs: programs and maps are read by `bpf(2)`, names come from `/proc`, and the
/// command of `-c` is ended.
const TRACE: CapabilitySet = READS.union(CapabilitySet::BPF).union(CapabilitySet::PERFMON).union(CapabilitySet::KILL);

/// What a thread may do, at most: nobody gets more than the process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Computes, waits, closes files, sends what is open already.
    Nothing,
    /// Looks at processes, their files, and what the kernel offers.
    Reads,
    /// Looks at processes and the files that they have mapped, and changes maps.
    Processes,
    /// Writes the user's files.
    Files,
    /// Shows, reads and writes files, and ends processes: what the user works with.
    Interface,
    /// Goes on with a trace that is attached.
    Trace,
    /// That, and turns on the kernel's statistics of programs, or opens events on CPUs that come later where
    /// `kernel.perf_event_paranoid` is over 2.
    Statistics,
    /// Loads, attaches, changes settings of the kernel, runs commands.
    All,
}

impl Rights {
    const fn capabilities(self) -> CapabilitySet {
        match self {
            Self::Nothing => CapabilitySet::empty(),
            Self::Reads => READS,
            Self::Files => FILES,
            Self::Interface => FILES.union(READS).union(CapabilitySet::KILL),
            Self::Processes | Self::Trace => TRACE,
            Self::Statistics => TRACE.union(CapabilitySet::SYS_ADMIN),
            Self::All => CapabilitySet::all(),
        }
    }

    /// Takes from the calling thread every other right. It fails for nobody: less is always allowed.
    pub fn keep(self) {
        if self == Self::All {
            return;
        }
        let (Ok(had), wanted) = (rustix::thread::capabilities(None), self.capabilities()) else { return };
        let left = CapabilitySets {
            effective: had.effective.intersection(wanted),
            permitted: had.permitted.intersection(wanted),
            inheritable: CapabilitySet::empty(),
        };
        let _ = set_capabilities(None, left);
    }
}

/// Starts a thread. Names are cut at 15 bytes by the kernel; an empty one leaves the process's.
///
/// # Errors
/// When the system gives no thread; what it was to do is dropped.
pub fn spawn<T: Send + 'static>(
    name: &str,
    rights: Rights,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    named(name).spawn(move || {
        rights.keep();
        work()
    })
}

/// Starts one of many threads that do little, with a stack of so many bytes.
///
/// # Errors
/// As [`spawn`].
pub fn scoped<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    (name, rights): (&str, Rights),
    stack: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    named(name).stack_size(stack).spawn_scoped(scope, move || {
        rights.keep();
        work()
    })
}

fn named(name: &str) -> Builder {
    if name.is_empty() { Builder::new() } else { Builder::new().name(name.to_owned()) }
}

/// Lets the calling thread get a CPU soon. Without the right to it it stays as it is.
pub fn hurry() {
    let _ = rustix::process::setpriority_process(None, NICE);
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
        for rights in [Rights::Nothing, Rights::Reads, Rights::Files, Rights::Interface, Rights::Trace] {
            let thread = spawn("psc-test", rights, || rustix::thread::capabilities(None).unwrap()).unwrap();
            let left = thread.join().unwrap();
            let wanted = rights.capabilities();
            assert!(wanted.contains(left.effective) && wanted.contains(left.permitted), "{rights:?}: {left:?}");
            assert!(left.inheritable.is_empty());
        }
    }
}
