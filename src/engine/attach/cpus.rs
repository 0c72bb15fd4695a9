//! CPUs that come while a trace runs. A perf event is on one CPU: it is dead once that CPU went offline, also when the
//! CPU comes back, and a CPU that comes later has none.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{Attached, Job, Links, by_name, perf};
use crate::codegen::artifact::{Artifact, ProgramKind};
use crate::engine::attach::Place;
use crate::kernel::cpus::CpuSet;
use crate::lang::typed::Program;

/// The CPUs that run, each with the number of its folder `topology` in sysfs: the kernel makes that anew each time that
/// the CPU comes, also after the machine slept (`topology_add_dev` in drivers/base/topology.c).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running(Vec<(u32, u64)>);

impl Running {
    /// As it is now.
    #[must_use]
    pub fn now(sys: &Path) -> Self {
        let cpus = sys.join("devices/system/cpu");
        let online = CpuSet::parse(&std::fs::read_to_string(cpus.join("online")).unwrap_or_default());
        let folder = |cpu: u32| std::fs::metadata(cpus.join(format!("cpu{cpu}/topology"))).map_or(0, |m| m.ino());
        Self(online.as_slice().iter().map(|cpu| (*cpu, folder(*cpu))).collect())
    }

    /// The CPUs of this that are not in another: they came, or came back.
    #[must_use]
    pub fn without(&self, other: &Self) -> Vec<u32> {
        self.0.iter().filter(|one| !other.0.contains(one)).map(|(cpu, _)| *cpu).collect()
    }

    fn numbers(&self) -> Vec<u32> {
        self.0.iter().map(|(cpu, _)| *cpu).collect()
    }
}

/// What became of a trace's perf events when CPUs came or went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuChange {
    /// CPUs that came, or came back.
    pub came: Vec<u32>,
    /// CPUs that went, and did not come back.
    pub went: Vec<u32>,
    /// Why nothing could be had on a CPU that came.
    pub refused: Option<String>,
}

/// Whether a script has events that are on CPUs, and not on processes.
pub fn has_events(artifact: &Artifact) -> bool {
    artifact.programs.iter().any(|spec| spec.kind == ProgramKind::PerfEvent)
}

/// Lets go of events on CPUs that went, and opens those of CPUs that came.
pub fn follow(
    (program, artifact, object): (&Program, &Artifact, &libbpf_rs::Object),
    place: &mut Place,
    (before, now): (&Running, &Running),
    links: &mut Vec<Attached>,
) -> CpuChange {
    let (came, left) = (now.without(before), before.without(now));
    let numbers = now.numbers();
    if !numbers.is_empty() {
        place.online_cpus.clone_from(&numbers);
    }
    let on_cpus: HashSet<usize> = links.iter().filter(|link| link.cpu.is_some()).map(|link| link.program).collect();
    let is_dead = |link: &Attached| link.cpu.is_some_and(|cpu| left.contains(&cpu));
    let (dead, alive): (Vec<_>, Vec<_>) = std::mem::take(links).into_iter().partition(is_dead);
    *links = alive;
    let loaded = by_name(object);
    let mut refused = None;
    for (index, spec) in artifact.programs.iter().enumerate() {
        // What was detached meanwhile stays so.
        if spec.kind != ProgramKind::PerfEvent || !on_cpus.contains(&index) {
            continue;
        }
        let (Some(probe), Some(loaded)) = (program.probes.get(spec.probe as usize), loaded.get(&*spec.name)) else {
            continue;
        };
        let mut all = Links::default();
        let (forgiving, own, left_out) = (false, std::cell::RefCell::default(), std::cell::RefCell::default());
        let job = Job { loaded, spec, probe, place, index, forgiving, refused: own, left_out };
        let timers = dead.iter().any(|link| link.program == index);
        if let Err(refusal) = perf::events_of(&job, &came, timers, &mut all.attached) {
            refused = Some(refusal.reason);
        }
        // The attach points are the same as before.
        let targets: u32 = dead.iter().filter(|link| link.program == index).map(|link| link.targets).sum();
        for link in &mut all.attached {
            link.targets = 0;
        }
        links.append(&mut all.attached);
        if let Some(first) = links.iter_mut().find(|link| link.program == index) {
            first.targets += targets;
        }
    }
    let went = left.into_iter().filter(|cpu| !came.contains(cpu)).collect();
    CpuChange { came, went, refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_went_and_came_back_is_another() {
        let sys = std::env::temp_dir().join(format!("probescope-cpus-{}", std::process::id()));
        let cpus = sys.join("devices/system/cpu");
        for cpu in 0..3 {
            std::fs::create_dir_all(cpus.join(format!("cpu{cpu}/topology"))).unwrap();
        }
        let online = |text: &str| std::fs::write(cpus.join("online"), text).unwrap();
        online("0-1\n");
        let first = Running::now(&sys);
        assert_eq!(Running::now(&sys), first);
        online("0,2\n");
        let second = Running::now(&sys);
        assert_eq!((second.without(&first), first.without(&second)), (vec![2], vec![1]));
        // Made before the old one is removed, it has another number.
        std::fs::create_dir(cpus.join("new")).unwrap();
        std::fs::rename(cpus.join("new"), cpus.join("cpu2/topology")).unwrap();
        let third = Running::now(&sys);
        assert_eq!((third.without(&second), second.without(&third)), (vec![2], vec![2]));
        std::fs::remove_dir_all(sys).unwrap();
    }
}
