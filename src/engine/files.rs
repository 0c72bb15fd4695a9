//! Open files: a trace keeps one for each program, and one or two for each of its links.

use rustix::process::{Resource, getrlimit, setrlimit};

use super::error::EngineError;
use crate::codegen::artifact::{Artifact, ProgramKind, ProgramSpec};

/// What else this program may have open, and has at least.
const OTHERS: u64 = 256;
const FEWEST_OTHERS: u64 = 16;
/// Files of one perf event: the event's, and from Linux 5.15 on its link's.
const OF_EVENT: std::ops::RangeInclusive<u64> = 1..=2;

/// Raises the limit of open files as far as it may be where a trace needs more; refuses at once what can't fit.
pub(super) fn make_room(artifact: &Artifact, cpus: usize) -> Result<(), EngineError> {
    let files = |of_event: u64| {
        let links = artifact.programs.iter().map(|spec| 1 + links(spec, cpus as u64, of_event));
        links.fold(artifact.maps.len() as u64, u64::saturating_add)
    };
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| files(*OF_EVENT.end()) + OTHERS <= current) {
        return Ok(());
    }
    let needed = files(*OF_EVENT.start()) + FEWEST_OTHERS;
    if let Some(most) = limit.maximum.filter(|most| needed > *most) {
        return Err(EngineError::Files { programs: artifact.programs.len(), needed, most });
    }
    limit.current = limit.maximum;
    // Where it can't be raised, attaching tells which probe found no room.
    let _ = setrlimit(Resource::Nofile, limit);
    Ok(())
}

/// Files of a program's links.
fn links(spec: &ProgramSpec, cpus: u64, of_event: u64) -> u64 {
    let targets = spec.targets.len() as u64;
    match spec.kind {
        ProgramKind::TestRun => 0,
        ProgramKind::Tracepoint | ProgramKind::Kprobe | ProgramKind::Uprobe => of_event * targets,
        ProgramKind::PerfEvent => of_event * targets * cpus,
        ProgramKind::RawTracepoint
        | ProgramKind::SyscallDispatch
        | ProgramKind::Fentry
        | ProgramKind::Fexit
        | ProgramKind::FentryMulti
        | ProgramKind::FexitMulti
        | ProgramKind::KprobeMulti
        | ProgramKind::KprobeSession
        | ProgramKind::UprobeMulti
        | ProgramKind::Iter => 1,
    }
}
