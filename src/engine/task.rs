//! The task tracer's BPF programs (`bpf/task.bpf.c`): where the time of chosen threads goes.

pub mod layout;

use std::os::fd::{AsFd as _, OwnedFd};

use libbpf_rs::{Link, Map, MapCore as _, MapFlags, Object, ObjectBuilder};

use super::error::EngineError;
use super::latency::{leave_out, refused};
use super::load;
use super::sys::bpf::{self, LogLevel};
use super::sys::memory::Ring;
use crate::kernel::{Absence, Kernel};
use crate::model::latency::OwnCost;
use crate::model::task::Part;
use layout::{Thread, WAIT_WORDS, Wait, Words};

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!("../../bpf/task.bpf.o");

/// Room for the verifier's complaint about one program.
const LOG_BYTES: usize = 16 << 10;

/// Tracepoints without which nothing can be told.
const NEEDED: [&str; 3] = ["sched_switch", "sched_waking", "sched_wakeup"];

/// Whose time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// One thread, by its number.
    Thread(u32),
    /// All threads of a process.
    Process(u32),
    /// All threads in a control group and in those below it, by its id.
    Cgroup(u64),
}

/// Who had the CPU while chosen threads could run, all added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The thread; 0 for the idle thread.
    pub pid: u32,
    /// Its control group.
    pub cgroup: u64,
    /// What the chosen threads were then.
    pub part: Part,
    /// How long.
    pub ns: u64,
    /// How often.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// Its name.
    pub comm: String,
}

/// Where chosen threads waited, all added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// How they waited.
    pub part: Part,
    /// The number of their stack.
    pub stack: Option<u32>,
    /// How long.
    pub ns: u64,
    /// How often.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What found no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Threads.
    pub tasks: u64,
    /// Long waits.
    pub waits: u64,
    /// Stacks, or places.
    pub stacks: u64,
    /// Others who had the CPU.
    pub behind: u64,
}

/// The running programs. Dropping it detaches them; nothing else is left in the kernel.
pub struct TaskMeter {
    // Detached before the object closes.
    links: Vec<Link>,
    object: Object,
    ring: Ring,
    left_out: Vec<String>,
    _statistics: Option<OwnedFd>,
}

impl std::fmt::Debug for TaskMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskMeter").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

/// Whether the kernel has what is needed.
///
/// # Errors
/// With what is missing.
pub fn check(kernel: &Kernel) -> Result<(), Absence> {
    let btf = kernel.btf()?;
    match NEEDED.iter().find(|name| btf.raw_tracepoint(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(Absence::new(
            "the task tracer",
            &format!("the kernel's BTF has no tracepoint {name} (`btf_trace_{name}`)"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF and these tracepoints",
        )),
    }
}

impl TaskMeter {
    /// Loads and attaches all programs whose tracepoint the kernel has. Waits of `keep_ns` and longer are told one by
    /// one.
    ///
    /// # Errors
    /// When something needed is missing, or the kernel refuses the programs.
    pub fn start(kernel: &Kernel, chosen: Chosen, keep_ns: u64) -> Result<Self, EngineError> {
        check(kernel).map_err(|absence| EngineError::Load { reason: absence.to_string(), log: "".into() })?;
        load::listen();
        let failed = |e: libbpf_rs::Error| EngineError::Open { reason: format!("{e:#} {}", load::talk().trim()) };
        let mut open = ObjectBuilder::default()
            .name("probescope_task")
            .and_then(|builder| builder.open_memory(OBJECT))
            .map_err(failed)?;
        let cpus = kernel.possible_cpus().as_slice().last().map_or(1, |last| *last + 1);
        for mut map in open.maps_mut().filter(|map| map.name() == "cpus") {
            map.set_max_entries(cpus).map_err(failed)?;
        }
        let left_out = leave_out(kernel, &mut open);
        let object = bpf::load_with_logs(open, LogLevel::Complaint, LOG_BYTES).map_err(refused)?;
        let waits = find(&object, "waits")?;
        let ring = Ring::map(waits.as_fd(), waits.max_entries() as usize)
            .map_err(|e| EngineError::Open { reason: format!("mapping waits: {e}") })?;
        let (what, id) = match chosen {
            Chosen::Thread(pid) => (1_u64, u64::from(pid)),
            Chosen::Process(pid) => (2, u64::from(pid)),
            Chosen::Cgroup(id) => (3, id),
        };
        let config: Vec<u8> = [what, id, keep_ns].iter().flat_map(|word| word.to_ne_bytes()).collect();
        find(&object, "config")?.update(&0_u32.to_ne_bytes(), &config, MapFlags::ANY).map_err(failed)?;
        let statistics = bpf::enable_run_statistics().ok();
        let mut meter = Self { links: Vec::new(), object, ring, left_out, _statistics: statistics };
        meter.attach()?;
        Ok(meter)
    }

    fn attach(&mut self) -> Result<(), EngineError> {
        for program in self.object.progs_mut() {
            // Programs are named after their tracepoints.
            if self.left_out.iter().any(|name| program.name() == name.as_str()) {
                continue;
            }
            let link = program.attach_trace().map_err(|e| EngineError::Load {
                reason: format!("attaching {}: {e:#}", program.name().to_string_lossy()),
                log: load::talk().into(),
            })?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Tells the programs of a thread that is there already: where it sits, as far as is known. What they know
    /// themselves by now stands.
    pub fn seed(&self, pid: u32, tgid: u32, comm: &str, part: Part, now_ns: u64) {
        if let Ok(tasks) = find(&self.object, "tasks") {
            let bytes = Thread::seed(pid, tgid, comm, part, now_ns);
            let _ = tasks.update(&pid.to_ne_bytes(), &bytes, MapFlags::NO_EXIST);
        }
    }

    /// Forgets a thread that has ended, to make room.
    pub fn forget(&self, pid: u32) {
        if let Ok(tasks) = find(&self.object, "tasks") {
            let _ = tasks.delete(&pid.to_ne_bytes());
        }
    }

    /// The long waits since the last call.
    pub fn take_waits(&mut self) -> Vec<Wait> {
        let mut waits = Vec::new();
        self.ring.consume(|bytes| {
            debug_assert_eq!(bytes.len(), WAIT_WORDS * 8, "struct wait");
            waits.push(Wait::read(bytes));
            true
        });
        waits
    }

    /// All chosen threads that were seen.
    #[must_use]
    pub fn threads(&self) -> Vec<Thread> {
        self.entries("tasks").into_iter().map(|(_, value)| Thread::read(&value)).collect()
    }

    /// Who had the CPU while they could run.
    #[must_use]
    pub fn behind(&self) -> Vec<Behind> {
        let of = |(key, value): (Vec<u8>, Vec<u8>)| {
            let (key, value) = (Words(&key), Words(&value));
            Behind {
                pid: key.get(0) as u32,
                cgroup: key.get(1),
                part: Part::of(key.get(2)),
                ns: value.get(0),
                count: value.get(1),
                max_ns: value.get(2),
                comm: super::latency::layout::text([value.get(3), value.get(4)]),
            }
        };
        self.entries("behind").into_iter().map(of).collect()
    }

    /// Where they waited.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let of = |(key, value): (Vec<u8>, Vec<u8>)| {
            let (key, value) = (Words(&key), Words(&value));
            Place {
                part: Part::of(key.get(0)),
                stack: u32::try_from(key.get(1).cast_signed()).ok(),
                ns: value.get(0),
                count: value.get(1),
                max_ns: value.get(2),
            }
        };
        self.entries("places").into_iter().map(of).collect()
    }

    /// The addresses of a stack, innermost first.
    #[must_use]
    pub fn stack(&self, number: u32) -> Vec<u64> {
        let map = find(&self.object, "stacks").ok();
        let bytes = map.and_then(|map| map.lookup(&number.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        let bytes = bytes.unwrap_or_default();
        (0..bytes.len() / 8).map(|word| Words(&bytes).get(word)).take_while(|address| *address != 0).collect()
    }

    /// What found no room so far.
    #[must_use]
    pub fn lost(&self) -> Lost {
        let map = find(&self.object, "lost").ok();
        let bytes = map.and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        let bytes = bytes.unwrap_or_default();
        let words = Words(&bytes);
        Lost { tasks: words.get(0), waits: words.get(1), stacks: words.get(2), behind: words.get(3) }
    }

    /// Runs, time and misses of all programs so far.
    #[must_use]
    pub fn cost(&self) -> OwnCost {
        let mut cost = OwnCost::default();
        for program in self.object.progs() {
            if self.left_out.iter().any(|name| program.name() == name.as_str()) {
                continue;
            }
            if let Ok(info) = bpf::program_info(program.as_fd()) {
                cost.runs += info.runs;
                cost.run_time_ns += info.run_time_ns;
                cost.misses += info.recursion_misses;
            }
        }
        cost
    }

    fn entries(&self, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Ok(map) = find(&self.object, name) else { return Vec::new() };
        let value = |key: Vec<u8>| map.lookup(&key, MapFlags::ANY).ok().flatten().map(|value| (key, value));
        // Whatever is added meanwhile may send the kernel back to the begin.
        map.keys().take(map.max_entries() as usize * 2).filter_map(value).collect()
    }
}

fn find<'o>(object: &'o Object, name: &str) -> Result<Map<'o>, EngineError> {
    let missing = || EngineError::Missing { what: format!("map {name}") };
    object.maps().find(|map| map.name() == name).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::latency::tests::{cksum, told_checksum};

    #[test]
    fn a_thread_that_sleeps_is_seen_to() {
        let kernel = Kernel::new(crate::kernel::Roots::running());
        let me = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        // Without the privilege, or on a kernel without its BTF, there is nothing to see.
        if !rustix::process::geteuid().is_root() || check(&kernel).is_err() {
            return;
        }
        let mut meter = TaskMeter::start(&kernel, Chosen::Thread(me), 1_000_000).unwrap_or_else(|e| panic!("{e:?}"));
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let threads = meter.threads();
        let seen = threads.iter().find(|thread| thread.pid == me).unwrap_or_else(|| panic!("{threads:?}"));
        let asleep = seen.sums.get(Part::Sleeping);
        assert!(asleep >= 10_000_000 && seen.counts.get(Part::Running) >= 2, "{seen:?}");
        let waits = meter.take_waits();
        assert!(waits.iter().any(|wait| wait.why == Part::Sleeping && wait.waker.is_some()), "{waits:?}");
        assert_eq!((threads.len(), meter.lost().tasks), (1, 0), "and nobody else: {threads:?}");
    }

    #[test]
    fn the_committed_object_is_of_these_sources() {
        let sources = [
            include_bytes!("../../bpf/kernel.h").as_slice(),
            include_bytes!("../../bpf/task.h"),
            include_bytes!("../../bpf/task.bpf.c"),
        ]
        .concat();
        assert_eq!(told_checksum(OBJECT), cksum(&sources).to_string(), "run `make bpf` and commit bpf/task.bpf.o");
    }
}
