//! From a frozen flight recorder to an episode.

use crate::engine::latency::Memory;
use crate::engine::latency::layout::{Cycle, HIT_IRQ, Record, Ring, Sent, irq_name, is_sent, slot, softirq_name};
use crate::engine::symbols::{Of, UserSymbols};
use crate::kernel::Kernel;
use crate::model::latency::{
    Blocker, CpuTask, Episode, EpisodeKind, IdleExit, Interval, IpiSender, LatencyParts, NoiseClass,
};
use crate::model::value::Frame;
use crate::tracer::latency::Thresholds;
use crate::tracer::latency::analysis::Facts;
use crate::tracer::latency::sources::{function_name, thread_name};
use crate::tracer::latency::threads::{HIT_PERIOD, HIT_USER, Hit, Shared};

/// Longest time between sending an interrupt to a CPU and its beginning there that is believed, ns.
const SENT_WITHIN: u64 = 10_000_000;

/// One CPU's recorder.
pub struct Recorded<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a Memory,
    pub cpu: u32,
    pub thresholds: &'a Thresholds,
}

/// What was seen, before it is taken apart.
struct Seen {
    kind: EpisodeKind,
    threshold_ns: u64,
    began_ns: u64,
    ended_ns: u64,
    cycle: Option<Cycle>,
    /// The parts where the measuring thread counted them itself.
    counted: Option<LatencyParts>,
}

impl Recorded<'_> {
    /// The episode that froze the recorder, which then goes on.
    pub fn take(&self, shared: Option<&Shared>, symbols: &mut UserSymbols) -> Option<Episode> {
        let slot = self.memory.slot(self.cpu);
        let (irq, thr, user) = (slot.get(slot::FROZEN_IRQ), slot.get(slot::FROZEN_THR), slot.get(slot::FROZEN_USER));
        if irq | thr | user == 0 {
            return None;
        }
        let seen = if thr != 0 {
            Some(self.late_thread(slot.cycle(slot::HIT)))
        } else if irq != 0 {
            Some(self.late_timer(slot.cycle(slot::LATE)))
        } else {
            shared.and_then(|shared| self.of_thread(shared, slot.cycle(slot::HIT)))
        };
        let episode = seen.map(|seen| self.describe(&seen, symbols));
        for member in [slot::FROZEN_IRQ, slot::FROZEN_THR, slot::FROZEN_USER] {
            slot.set(member, 0);
        }
        episode
    }

    fn late_thread(&self, cycle: Cycle) -> Seen {
        let irq = cycle.kind == HIT_IRQ;
        Seen {
            kind: if irq { EpisodeKind::Irq } else { EpisodeKind::Thread },
            threshold_ns: if irq { self.thresholds.irq_ns } else { self.thresholds.thread_ns },
            began_ns: cycle.expected,
            ended_ns: cycle.switched,
            cycle: Some(cycle),
            counted: None,
        }
    }

    fn late_timer(&self, cycle: Cycle) -> Seen {
        Seen {
            kind: EpisodeKind::Passive,
            threshold_ns: self.thresholds.irq_ns,
            began_ns: cycle.expected,
            ended_ns: cycle.expired,
            cycle: Some(cycle),
            counted: None,
        }
    }

    fn of_thread(&self, shared: &Shared, cycle: Cycle) -> Option<Seen> {
        let Hit { kind, began_ns, ended_ns, parts } = shared.hit();
        if ended_ns <= began_ns {
            return None;
        }
        Some(if kind == HIT_USER {
            let cycle = Some(cycle).filter(|cycle| cycle.expected == began_ns);
            let threshold_ns = self.thresholds.thread_ns;
            Seen { kind: EpisodeKind::User, threshold_ns, began_ns, ended_ns, cycle, counted: None }
        } else {
            let threshold_ns = if kind == HIT_PERIOD { self.thresholds.noise_ns } else { self.thresholds.gap_ns };
            Seen { kind: EpisodeKind::Noise, threshold_ns, began_ns, ended_ns, cycle: None, counted: Some(parts) }
        })
    }

    fn describe(&self, seen: &Seen, symbols: &mut UserSymbols) -> Episode {
        let slot = self.memory.slot(self.cpu);
        let cycle = seen.cycle.as_ref();
        let blocker = cycle.filter(|c| c.pid != 0 && Some(u64::from(c.pid)) != Some(slot.get(slot::ME)));
        let (records, recorded_from_ns) = self.intervals();
        let facts = Facts {
            began_ns: seen.began_ns,
            ended_ns: seen.ended_ns,
            irq: cycle.map(|c| (if c.irq_start == 0 { c.expired } else { c.irq_start }, c.expired)),
            blocker: blocker.map(|c| format!("{}:{}", c.comm, c.pid)),
            intervals: records.iter().map(|(interval, _)| interval.clone()).collect(),
            recorded_from_ns,
        };
        Episode {
            cpu: self.cpu,
            kind: seen.kind,
            began_ns: seen.began_ns,
            ended_ns: seen.ended_ns,
            threshold_ns: seen.threshold_ns,
            parts: seen.counted.unwrap_or_else(|| facts.parts()),
            intervals: facts.inside(),
            previous_irqs: facts.previous_irqs(),
            blocker: blocker.map(|c| self.blocker(c, symbols)),
            idle: cycle.and_then(|c| self.idle(c)),
            ipis: self.senders(&records, seen),
            others: self.others(seen.ended_ns),
            truncated: facts.is_truncated(),
        }
    }

    /// All that the recorder holds, with the interrupts' numbers, and from when on it holds everything.
    fn intervals(&self) -> (Vec<(Interval, u64)>, u64) {
        let mut all = Vec::new();
        let mut recorded_from_ns = 0;
        for ring in [Ring::Nmi, Ring::Irq, Ring::Softirq, Ring::Thread] {
            let records = self.memory.records(self.cpu, ring);
            if records.len() == ring.entries() {
                // What has lost its place ended before the oldest that is left began.
                recorded_from_ns = records.first().map_or(0, |oldest| oldest.start).max(recorded_from_ns);
            }
            all.extend(records.into_iter().filter(|r| r.end >= r.start).map(|r| (self.interval(ring, &r), r.id)));
        }
        (all, recorded_from_ns)
    }

    fn interval(&self, ring: Ring, record: &Record) -> Interval {
        let (class, name) = match ring {
            Ring::Nmi => (NoiseClass::Nmi, function_name(self.kernel, record.id)),
            Ring::Irq => (NoiseClass::Irq, irq_name(record.id, |line| line_name(self.kernel, line))),
            Ring::Softirq => (NoiseClass::Softirq, softirq_name(record.id)),
            // The name is that of the blocker, so the kworker's function is left to the sources.
            Ring::Thread => (NoiseClass::Thread, thread_name(self.kernel, &record.name, record.id, 0)),
        };
        let duration_ns = record.end - record.start;
        Interval { class, name, start_ns: record.start, duration_ns, net_ns: record.net }
    }

    fn blocker(&self, cycle: &Cycle, symbols: &mut UserSymbols) -> Blocker {
        let slot = self.memory.slot(self.cpu);
        let kernel: Vec<Frame> = slot
            .stack(slot::KERNEL_FRAMES, slot::KERNEL_STACK)
            .into_iter()
            .map(|address| kernel_frame(self.kernel, address))
            .collect();
        let user = slot.stack(slot::USER_FRAMES, slot::USER_STACK);
        Blocker {
            comm: cycle.comm.clone(),
            pid: cycle.pid,
            kernel_stack: without_interrupt(kernel),
            user_stack: user
                .into_iter()
                .flat_map(|address| symbols.frames(cycle.pid, address, Of::Stack).to_vec())
                .collect(),
        }
    }

    fn idle(&self, cycle: &Cycle) -> Option<IdleExit> {
        let state = cycle.idle_state?;
        let path = format!("devices/system/cpu/cpu{}/cpuidle/state{state}/name", self.cpu);
        let name = self.kernel.sys_text(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        Some(IdleExit { state, name, entered_ns: cycle.idle_entered })
    }

    /// Who sent each interrupt of another CPU in the episode.
    fn senders(&self, records: &[(Interval, u64)], seen: &Seen) -> Vec<IpiSender> {
        let inside = |i: &Interval| i.end_ns() > seen.began_ns && i.start_ns < seen.ended_ns;
        let received: Vec<&(Interval, u64)> = records
            .iter()
            .filter(|(interval, id)| interval.class == NoiseClass::Irq && is_sent(*id) && inside(interval))
            .collect();
        if received.is_empty() {
            return Vec::new();
        }
        let sent: Vec<(u32, Sent)> = (0..self.memory.cpus() as u32)
            .flat_map(|cpu| self.memory.sent(cpu).into_iter().map(move |sent| (cpu, sent)))
            .filter(|(_, sent)| sent.goes_to(self.cpu))
            .collect();
        let sender = |(interval, _): &&(Interval, u64)| {
            let reschedule = interval.name.starts_with("reschedule");
            let (cpu, sent) = sent
                .iter()
                .filter(|(_, s)| s.at <= interval.start_ns && interval.start_ns - s.at < SENT_WITHIN)
                .filter(|(_, s)| (s.callback == 0) == reschedule)
                .max_by_key(|(_, s)| s.at)?;
            Some(IpiSender {
                cpu: *cpu,
                sent_ns: sent.at,
                comm: sent.comm.clone(),
                pid: sent.pid,
                callback: if sent.callback == 0 { String::new() } else { function_name(self.kernel, sent.callback) },
                stack: sent.stack.iter().map(|address| kernel_frame(self.kernel, *address)).collect(),
            })
        };
        received.iter().filter_map(sender).collect()
    }

    /// What ran elsewhere at a moment, as far as the recorders of the other CPUs reach.
    fn others(&self, at: u64) -> Vec<CpuTask> {
        let task = |cpu: &u32| {
            let records = self.memory.records(*cpu, Ring::Thread);
            let then = records.iter().find(|r| r.start <= at && at <= r.end);
            let (comm, pid, work) = match then {
                Some(r) => (r.name.clone(), r.id as u32, r.aux),
                // Whoever has the CPU since before that moment has no record yet.
                None if records.last().is_none_or(|r| r.end <= at) => {
                    let pid = self.memory.slot(*cpu).get(slot::RUNNING) as u32;
                    (self.comm(*cpu, pid), pid, 0)
                }
                None => return None,
            };
            let work = if work == 0 { String::new() } else { function_name(self.kernel, work) };
            Some(CpuTask { cpu: *cpu, comm, pid, work })
        };
        self.kernel.online_cpus().as_slice().iter().filter(|cpu| **cpu != self.cpu).filter_map(task).collect()
    }

    fn comm(&self, cpu: u32, pid: u32) -> String {
        if pid == 0 {
            return format!("swapper/{cpu}");
        }
        let path = self.kernel.roots().proc.join(pid.to_string()).join("comm");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
    }
}

/// The name of an interrupt line (`/sys/kernel/irq/N/actions`).
pub(crate) fn line_name(kernel: &Kernel, line: u64) -> Option<String> {
    let text = kernel.sys_text(format!("kernel/irq/{line}/actions"))?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

pub(crate) fn kernel_frame(kernel: &Kernel, address: u64) -> Frame {
    let (symbol, offset, object) = match kernel.symbolize(address) {
        Some((name, offset, module)) => (Some(name), offset, module),
        None => (None, 0, None),
    };
    Frame { address, symbol, offset, object, inlined: false }
}

/// The frames of whoever was interrupted: those of the interrupt itself come first and are left out.
fn without_interrupt(frames: Vec<Frame>) -> Vec<Frame> {
    const ENTRIES: [&str; 5] = ["asm_sysvec_", "asm_common_interrupt", "ret_from_intr", "el1h_64_irq", "el0t_64_irq"];
    let enters = |frame: &Frame| {
        frame.symbol.as_ref().is_some_and(|symbol| ENTRIES.iter().any(|entry| symbol.starts_with(entry)))
    };
    match frames.iter().rposition(enters) {
        Some(last) => frames.into_iter().skip(last + 1).collect(),
        None => frames,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blockers_stack_begins_where_it_was_interrupted() {
        let frame =
            |symbol: &str| Frame { address: 1, symbol: Some(symbol.into()), offset: 0, object: None, inlined: false };
        let names = ["bpf_prog", "__hrtimer_run_queues", "asm_sysvec_apic_timer_interrupt", "vfs_read", "ksys_read"];
        let kept = without_interrupt(names.map(frame).to_vec());
        assert_eq!(kept.iter().map(|f| f.symbol.as_deref().unwrap()).collect::<Vec<_>>(), ["vfs_read", "ksys_read"]);
        assert_eq!(without_interrupt(vec![frame("vfs_read")]).len(), 1);
    }

    /// A recorder on a machine that only files describe.
    fn recorded<T>(test: impl FnOnce(&Memory, &Recorded<'_>) -> T) -> T {
        let root = std::env::temp_dir().join(format!("probescope-episode-{}", std::process::id()));
        let state = root.join("sys/devices/system/cpu/cpu1/cpuidle/state3");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join("name"), "C6\n").unwrap();
        std::fs::write(root.join("sys/devices/system/cpu/online"), "0-1\n").unwrap();
        let kernel = Kernel::new(crate::kernel::Roots::fixture(&root));
        let memory = Memory::simulated(2).unwrap();
        let thresholds = Thresholds { irq_ns: 50_000, ..Thresholds::default() };
        let result = test(&memory, &Recorded { kernel: &kernel, memory: &memory, cpu: 1, thresholds: &thresholds });
        std::fs::remove_dir_all(root).unwrap();
        result
    }

    #[test]
    fn a_timer_that_was_late_for_a_deep_sleep_names_the_state() {
        let episode = recorded(|memory, recorded| {
            let slot = memory.slot(1);
            // struct cycle: expected, irq_start, expired, switched, function, pid, comm (2), idle_state, idle_entered.
            for (word, value) in [1_000_000, 1_180_000, 1_200_000, 0, 0, 0, 0, 0, 4, 400_000].into_iter().enumerate() {
                slot.set(slot::LATE + word * 8, value);
            }
            slot.set(slot::FROZEN_IRQ, 1);
            let mut symbols = UserSymbols::new(std::path::PathBuf::from("/nonexistent"), false);
            let episode = recorded.take(None, &mut symbols).unwrap();
            assert!(recorded.take(None, &mut symbols).is_none(), "the recorder goes on");
            episode
        });
        assert_eq!((episode.kind, episode.latency_ns()), (EpisodeKind::Passive, 200_000));
        let idle = episode.idle.unwrap();
        assert_eq!((idle.state, idle.name.as_str(), idle.entered_ns), (3, "C6", 400_000));
        assert!(episode.blocker.is_none(), "nobody had the CPU");
    }
}
