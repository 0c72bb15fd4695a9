//! The latency meter's BPF programs (`bpf/latency.bpf.c`): loaded, attached, and what they share, mapped.
//!
//! They are the same in every run, so they are compiled by `make bpf` and the object is part of this binary. The
//! layouts that both sides use are written down in [`layout`] and compared with the object's BTF by a test: a
//! generated skeleton would give the same, at the price of libbpf compiled a second time for the build script and of
//! generated `unsafe` outside of `engine::sys`.

pub mod action;
pub mod layout;
pub mod simulated;

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use libbpf_rs::{Link, MapCore as _, Object, ObjectBuilder};

use super::error::EngineError;
use super::load;
use super::rights::denied;
use super::sys::bpf::{self, LogLevel};
use super::sys::memory::Area;
pub use super::sys::sched::{Policy, interrupt_own_threads, set_policy, set_policy_of, without_timer_slack};
use crate::kernel::{Absence, Kernel};
use crate::model::latency::{ByClass, OwnCost};
use layout::{Cycle, Record, Ring, Sent, Source, Table, rings, slot};

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!("../../bpf/latency.bpf.o");

/// Room for the verifier's complaint about one program.
const LOG_BYTES: usize = 16 << 10;

/// The running programs. Dropping it detaches them; nothing else is left in the kernel.
pub struct Meter {
    // Detached before the object closes.
    links: Vec<Link>,
    // None where nobody but a bench writes the memory.
    object: Option<Object>,
    memory: Arc<Memory>,
    left_out: Vec<String>,
    _statistics: Option<OwnedFd>,
}

/// What the programs share with user space, mapped. Outlives them.
#[derive(Debug)]
pub struct Memory {
    slots: Area,
    rings: Area,
    sources: Area,
    cpus: usize,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("memory", &self.memory).field("links", &self.links.len()).finish_non_exhaustive()
    }
}

/// Programs without which nothing can be measured, and the tracepoints that they are on.
const NEEDED: [&str; 4] = ["sched_switch", "softirq_entry", "irq_handler_entry", "hrtimer_expire_entry"];

/// Whether the kernel has what the meter needs.
///
/// # Errors
/// With what is missing.
pub fn check(kernel: &Kernel) -> Result<(), Absence> {
    let btf = kernel.btf()?;
    match NEEDED.iter().find(|name| btf.raw_tracepoint(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(Absence::new(
            "the latency meter",
            &format!("the kernel's BTF has no tracepoint {name} (`btf_trace_{name}`)"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF and these tracepoints, or the tracefs backend",
        )),
    }
}

impl Meter {
    /// Loads and attaches all programs whose tracepoint the kernel has.
    ///
    /// # Errors
    /// When something needed is missing, or the kernel refuses the programs.
    pub fn start(kernel: &Kernel) -> Result<Self, EngineError> {
        check(kernel).map_err(|absence| EngineError::Load { reason: absence.to_string(), log: "".into() })?;
        load::listen();
        let failed = |e: libbpf_rs::Error| EngineError::Open { reason: format!("{e:#} {}", load::talk().trim()) };
        let mut open = ObjectBuilder::default()
            .name("probescope_lat")
            .and_then(|builder| builder.open_memory(OBJECT))
            .map_err(failed)?;
        let cpus = kernel.possible_cpus().as_slice().last().map_or(1, |last| *last as usize + 1);
        for mut map in open.maps_mut() {
            map.set_max_entries(cpus as u32).map_err(failed)?;
        }
        let left_out = leave_out(kernel, &mut open);
        let object = bpf::load_with_logs(open, LogLevel::Complaint, LOG_BYTES).map_err(refused)?;
        let area = |name: &str, bytes: usize| -> Result<Area, EngineError> {
            let missing = || EngineError::Missing { what: format!("map {name}") };
            let map = object.maps().find(|m| m.name() == name).ok_or_else(missing)?;
            let mapped = Area::map(map.as_fd(), bytes * cpus);
            mapped.map_err(|e| EngineError::Open { reason: format!("mapping {name}: {e}") })
        };
        let memory = Memory {
            slots: area("slots", slot::BYTES)?,
            rings: area("rings", rings::BYTES)?,
            sources: area("sources", layout::SOURCES_BYTES)?,
            cpus,
        };
        let statistics = bpf::enable_run_statistics().ok();
        let memory = Arc::new(memory);
        let mut meter = Self { links: Vec::new(), object: Some(object), memory, left_out, _statistics: statistics };
        meter.attach()?;
        Ok(meter)
    }

    fn attach(&mut self) -> Result<(), EngineError> {
        for program in self.object.iter().flat_map(Object::progs_mut) {
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

    /// What the programs share.
    #[must_use]
    pub const fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Tracepoints that this kernel lacks, so that nothing is told of them.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Runs, time and misses of all programs so far.
    #[must_use]
    pub fn cost(&self) -> OwnCost {
        let mut cost = OwnCost::default();
        for (_, info) in self.program_costs() {
            cost.runs += info.runs;
            cost.run_time_ns += info.run_time_ns;
            cost.misses += info.misses;
        }
        cost
    }

    /// The same, program by program.
    pub fn program_costs(&self) -> Vec<(String, OwnCost)> {
        let of = |program: libbpf_rs::Program<'_>| {
            let info = bpf::program_info(program.as_fd()).ok()?;
            let cost = OwnCost { runs: info.runs, run_time_ns: info.run_time_ns, misses: info.recursion_misses };
            Some((program.name().to_string_lossy().into_owned(), cost))
        };
        let loaded =
            |program: &libbpf_rs::Program<'_>| !self.left_out.iter().any(|name| program.name() == name.as_str());
        self.object.iter().flat_map(Object::progs).filter(loaded).filter_map(of).collect()
    }
}

impl Memory {
    /// Slots there are: the highest possible CPU and one.
    #[must_use]
    pub const fn cpus(&self) -> usize {
        self.cpus
    }

    /// One CPU's slot.
    #[must_use]
    pub fn slot(&self, cpu: u32) -> Slot<'_> {
        Slot { area: &self.slots, base: cpu as usize * slot::BYTES }
    }

    /// The flight recorder's records of one context, oldest first.
    #[must_use]
    pub fn records(&self, cpu: u32, ring: Ring) -> Vec<Record> {
        let base = cpu as usize * rings::BYTES;
        let head = self.rings.read_u64(base + ring.head());
        let kept = head.min(ring.entries() as u64);
        let read = |number: u64| {
            let at = base + ring.start() + (number as usize % ring.entries()) * layout::RECORD_BYTES;
            Record::read(&mut |word| self.rings.read_u64(at + word * 8))
        };
        (head - kept..head).map(read).collect()
    }

    /// The interrupts that a CPU has sent, oldest first. They are not frozen: one may be half written.
    #[must_use]
    pub fn sent(&self, cpu: u32) -> Vec<Sent> {
        let base = cpu as usize * rings::BYTES;
        let head = self.rings.read_u64(base + rings::SENT_HEAD);
        let kept = head.min(rings::SENT_RECORDS as u64);
        let read = |number: u64| {
            let at = base + rings::SENT + (number as usize % rings::SENT_RECORDS) * layout::SENT_BYTES;
            Sent::read(&mut |word| self.rings.read_u64(at + word * 8))
        };
        (head - kept..head).map(read).collect()
    }

    /// Forgets the sources of one table of a CPU, which then count from zero. What runs meanwhile may be lost once.
    pub fn forget_sources(&self, cpu: u32, table: Table) {
        let base = cpu as usize * layout::SOURCES_BYTES + table.start();
        // Word by word: of a number that was half of it zeroed a program would make another one.
        let words = table.entries() * layout::SOURCE_BYTES / 8;
        (0..words).for_each(|word| self.sources.write_u64(base + word * 8, 0));
    }

    /// The sources seen on a CPU since the start, in one table.
    #[must_use]
    pub fn sources(&self, cpu: u32, table: Table) -> Vec<Source> {
        let base = cpu as usize * layout::SOURCES_BYTES + table.start();
        let read = |index: usize| {
            let at = base + index * layout::SOURCE_BYTES;
            // Most are free: one word tells. Only the first entry of a table is for those without a name: another one
            // without was being forgotten while a run of it ended.
            let (id, count) = (self.sources.read_u64(at), self.sources.read_u64(at + 8));
            (id != 0 || index == 0 && count != 0)
                .then(|| Source::read(&mut |word| self.sources.read_u64(at + word * 8)))
        };
        (0..table.entries()).filter_map(read).collect()
    }
}

pub(super) fn leave_out(kernel: &Kernel, open: &mut libbpf_rs::OpenObject) -> Vec<String> {
    let Ok(btf) = kernel.btf() else { return Vec::new() };
    // With PREEMPT_RT softirqs are preempted like threads, which is what they are accounted as then.
    let preempted = kernel.is_realtime();
    let mut left_out = Vec::new();
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let name = section.trim_start_matches("tp_btf/");
        if btf.raw_tracepoint(name).is_none() || (preempted && name.starts_with("softirq")) {
            program.set_autoload(false);
            left_out.push(name.to_owned());
        }
    }
    left_out
}

pub(super) fn refused((error, logs): (libbpf_rs::Error, Vec<(String, String)>)) -> EngineError {
    if let Some((name, log)) = logs.into_iter().rfind(|(_, log)| !log.trim().is_empty()) {
        let reason = format!("{error}");
        return EngineError::Rejected { program: name.into(), index: 0, reason, log: log.into() };
    }
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return EngineError::Permission { operation: "load BPF programs".to_owned(), reason: denied() };
    }
    EngineError::Load { reason: format!("{error:#}"), log: load::talk().into() }
}

/// One CPU's slot: each read is a load from shared memory, each write a store.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    area: &'a Area,
    base: usize,
}

/// What ran on a CPU until a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetUntil {
    /// The moment, ns.
    pub now_ns: u64,
    /// Net time of each class since the programs were attached.
    pub net: ByClass,
    /// The thread whose run is not over, and how long it has run, ns.
    pub running: Option<(u64, u64)>,
}

impl Slot<'_> {
    /// One member.
    #[inline]
    #[must_use]
    pub fn get(&self, member: usize) -> u64 {
        self.area.read_u64(self.base + member)
    }

    /// Sets a member that user space owns.
    #[inline]
    pub fn set(&self, member: usize, value: u64) {
        self.area.write_u64(self.base + member, value);
    }

    /// All entries so far: changes whenever anything but the measuring thread ran.
    #[inline]
    #[must_use]
    pub fn interference(&self) -> u64 {
        self.entries().total()
    }

    /// Entries of each class.
    #[inline]
    #[must_use]
    pub fn entries(&self) -> ByClass {
        ByClass {
            nmi: self.get(slot::N_NMI),
            irq: self.get(slot::N_IRQ),
            softirq: self.get(slot::N_SOFT),
            thread: self.get(slot::N_THR),
        }
    }

    /// Net time of each class.
    #[inline]
    #[must_use]
    pub fn net_ns(&self) -> ByClass {
        ByClass {
            nmi: self.get(slot::T_NMI),
            irq: self.get(slot::T_IRQ),
            softirq: self.get(slot::T_SOFT),
            thread: self.get(slot::T_THR),
        }
    }

    /// Net time of each class until now, and the run that is not over yet, whose time until now is in the threads' time:
    /// a program adds a run when it ends, and one of seconds would be in the wrong period.
    #[must_use]
    pub fn net_until(&self, now: impl Fn() -> u64) -> NetUntil {
        /// The switch that a look may fall into takes some ten stores.
        const TRIES: usize = 64;
        let state = || [slot::THR_START, slot::T_THR, slot::RUNNING, slot::N_THR].map(|member| self.get(member));
        let mut until = NetUntil::default();
        for _ in 0..TRIES {
            let before = state();
            let began = [slot::THR_NMI, slot::THR_IRQ, slot::THR_SOFT].map(|member| self.get(member));
            let now_ns = now();
            let net = self.net_ns();
            let [start, _, pid, _] = before;
            let interrupted = [net.nmi, net.irq, net.softirq].iter().zip(began).map(|(n, b)| n.wrapping_sub(b)).sum();
            // The idle thread takes the CPU from nobody, unless a measuring thread was kept from running.
            let runs = start != 0 && (pid != 0 || self.get(slot::ME) != 0);
            let ns = if runs { now_ns.saturating_sub(start).saturating_sub(interrupted) } else { 0 };
            until = NetUntil { now_ns, net, running: runs.then_some((pid, ns)) };
            until.net.thread = until.net.thread.wrapping_add(ns);
            if state() == before {
                break;
            }
        }
        until
    }

    /// A cycle: [`slot::NOW`], [`slot::HIT`] or [`slot::LATE`].
    #[must_use]
    pub fn cycle(&self, member: usize) -> Cycle {
        Cycle::read(&mut |word| self.get(member + word * 8))
    }

    /// The addresses of a stack, innermost first.
    #[must_use]
    pub fn stack(&self, bytes: usize, frames: usize) -> Vec<u64> {
        let count = (self.get(bytes) as i64).clamp(0, layout::FRAMES as i64 * 8) as usize / 8;
        (0..count).map(|n| self.get(frames + n * 8)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// POSIX `cksum` of the sources, as `make bpf` puts it into the object.
    pub fn cksum(bytes: &[u8]) -> u32 {
        let mut crc = 0_u32;
        let mut feed = |byte: u8| {
            crc ^= u32::from(byte) << 24;
            for _ in 0..8 {
                crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { (crc << 1) ^ 0x04c1_1db7 };
            }
        };
        bytes.iter().for_each(|b| feed(*b));
        let mut length = bytes.len();
        while length > 0 {
            feed(length as u8);
            length >>= 8;
        }
        !crc
    }

    /// The checksum that an object has of its sources.
    pub fn told_checksum(object: &[u8]) -> String {
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(object).unwrap();
        let section = file.section_by_name("checksum").unwrap();
        String::from_utf8_lossy(section.data().unwrap()).trim_end_matches('\0').to_owned()
    }

    #[test]
    fn a_run_that_is_not_over_counts_until_now() {
        let memory = Memory::simulated(1).unwrap();
        let slot = memory.slot(0);
        // Thread 7 runs since 1,000, and 20 ns of interrupts came in between; 500 ns of threads are over.
        for (member, value) in
            [(slot::T_THR, 500), (slot::T_IRQ, 120), (slot::THR_IRQ, 100), (slot::THR_START, 1_000), (slot::RUNNING, 7)]
        {
            slot.set(member, value);
        }
        let until = slot.net_until(|| 1_300);
        assert_eq!((until.running, until.net.thread, until.net.irq), (Some((7, 280)), 780, 120));
        slot.set(slot::RUNNING, 0);
        assert_eq!(slot.net_until(|| 1_300).net.thread, 500, "the idle thread takes it from nobody");
        slot.set(slot::ME, 9);
        assert_eq!(slot.net_until(|| 1_300).net.thread, 780, "unless one was kept from running");
    }

    #[test]
    fn only_the_first_entry_has_no_name() {
        let memory = Memory::simulated(1).unwrap();
        memory.simulate_run(0, Table::Thread, 0, 100);
        memory.simulate_run(0, Table::Thread, 7, 100);
        assert_eq!(memory.sources(0, Table::Thread).len(), 2);
        // As if a run of it had ended while the table was forgotten.
        memory.sources.write_u64(Table::Thread.start() + 7 * layout::SOURCE_BYTES, 0);
        memory.sources.write_u64(Table::Thread.start(), 0);
        let left: Vec<_> = memory.sources(0, Table::Thread).iter().map(|s| (s.id, s.count)).collect();
        assert_eq!(left, [(None, 1)]);
    }

    #[test]
    fn the_committed_object_is_of_these_sources() {
        let sources = [
            include_bytes!("../../bpf/kernel.h").as_slice(),
            include_bytes!("../../bpf/latency.h"),
            include_bytes!("../../bpf/latency.bpf.c"),
        ]
        .concat();
        assert_eq!(told_checksum(OBJECT), cksum(&sources).to_string(), "run `make bpf` and commit bpf/latency.bpf.o");
    }
}
