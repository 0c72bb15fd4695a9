//! Measuring by the kernel's own tracers: osnoise, timerlat and hwlat, each in a tracefs instance of ours.
//!
//! Rows are read from `trace_pipe` as text, in the form that kernels from 5.14 on print. Settings are shared by the
//! whole system: each is recorded before it is changed, and restored at the end, by [`Guard`].

pub mod parse;
mod recent;
mod setup;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::analysis::Facts;
use super::watch::Watch;
use super::{CpuBuckets, Item, LatencyError, Measurement, Mode, Options, places};
use crate::disk;
use crate::engine::monotonic_ns;
use crate::kernel::Kernel;
use crate::kernel::guard::Guard;
use crate::model::latency::{
    Blocker, Buckets, CpuSample, Episode, EpisodeKind, LatencyStat, NoiseClass, NoiseSample, TimerSample,
};
use crate::model::value::Frame;
use parse::{Context, Row};
use recent::Recent;

pub use setup::{Workload, available};

/// The pipe is read so long without a look at anything else.
const LONGEST_READ: Duration = Duration::from_millis(50);

/// One CPU as its rows tell.
#[derive(Default)]
struct Cpu {
    noise: NoiseSample,
    timer: TimerSample,
    recent: Recent,
    cycle: Option<Cycle>,
    stack: Vec<Frame>,
}

/// A cycle whose interrupt has been served.
#[derive(Clone, Default)]
struct Cycle {
    expected_ns: u64,
    irq_ns: u64,
    irq_latency_ns: u64,
    comm: String,
    pid: u32,
    thread_ns: Option<u64>,
}

/// A measurement by a tracer of the kernel.
pub struct TracefsMeasurement {
    options: Options,
    kernel: Arc<Kernel>,
    // Closed before the guard removes the instance, which it keeps busy.
    pipe: Option<File>,
    guard: Guard,
    instance: PathBuf,
    partial: Vec<u8>,
    cpus: BTreeMap<u32, Cpu>,
    workload: Workload,
    buckets: Vec<CpuBuckets>,
    began: Instant,
    next_ns: u64,
    last_ns: u64,
    stopped: bool,
    lost: u64,
    watch: Watch,
    _dma_latency: Option<File>,
}

impl TracefsMeasurement {
    /// Starts the tracer.
    ///
    /// # Errors
    /// When the kernel has none, another one is busy, or a setting is refused.
    pub fn start(kernel: &Arc<Kernel>, options: Options, workload: Workload) -> Result<Self, LatencyError> {
        places::check(&options, kernel)?;
        let dma_latency = options.dma_latency_us.map(places::hold_dma_latency).transpose()?;
        let started = setup::start(kernel, &options, workload)?;
        let now = monotonic_ns();
        // hwlat says nothing of CPUs without gaps.
        let known = if workload == Workload::Hwlat { options.cpus.as_slice() } else { &[] };
        let cpus = known.iter().map(|cpu| (*cpu, Cpu::default())).collect();
        Ok(Self {
            kernel: Arc::clone(kernel),
            guard: started.guard,
            instance: started.instance,
            pipe: Some(started.pipe),
            partial: Vec::new(),
            cpus,
            workload,
            buckets: Vec::new(),
            began: Instant::now(),
            next_ns: now + options.interval.as_nanos() as u64,
            last_ns: now,
            stopped: false,
            lost: 0,
            watch: Watch::new(&options.cpus, true),
            options,
            _dma_latency: dma_latency,
        })
    }

    /// What the instance has recorded, as the kernel prints it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn trace(&self) -> io::Result<String> {
        std::fs::read_to_string(self.instance.join("trace"))
    }

    /// Takes what the tracer wrote, for a while at most: one that writes faster than this reads would keep duration and
    /// thresholds from being looked at.
    fn read(&mut self, items: &mut Vec<Item>) -> Result<(), LatencyError> {
        let mut buffer = vec![0_u8; 64 << 10];
        let began = Instant::now();
        while began.elapsed() < LONGEST_READ {
            let Some(pipe) = &mut self.pipe else { return Ok(()) };
            match pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => self.take(&buffer[..n], items),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(()),
                Err(source) => {
                    let path = self.instance.join("trace_pipe").display().to_string();
                    return Err(LatencyError::File { operation: "read", path, source });
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], items: &mut Vec<Item>) {
        self.partial.extend_from_slice(bytes);
        let partial = std::mem::take(&mut self.partial);
        let end = memchr::memrchr(b'\n', &partial).map_or(0, |n| n + 1);
        for line in String::from_utf8_lossy(&partial[..end]).lines() {
            if let Some(row) = parse::row(line) {
                self.row(row, items);
            }
        }
        // A line is never that long: what has no end is none.
        self.partial = if partial.len() - end > 64 << 10 { Vec::new() } else { partial[end..].to_vec() };
    }

    fn row(&mut self, row: Row, items: &mut Vec<Item>) {
        match row {
            Row::Noise { cpu, mut sample } => {
                sample.periods = 1;
                let noise = &mut self.cpus.entry(cpu).or_default().noise;
                sample.max_noise_ns = sample.noise_ns;
                // Gaps come by an event of their own; the row has the longest.
                sample.lengths = crate::model::latency::Distribution::default();
                noise.add(&sample);
            }
            Row::Hardware { cpu, start_ns, duration_ns, nmis } => {
                let noise = &mut self.cpus.entry(cpu).or_default().noise;
                noise.hardware += 1;
                noise.hardware_ns += duration_ns;
                noise.noise_ns += duration_ns;
                noise.max_noise_ns = noise.max_noise_ns.max(duration_ns);
                noise.max_gap_ns = noise.max_gap_ns.max(duration_ns);
                noise.entries.nmi += nmis;
                self.row(Row::Gap { cpu, start_ns, duration_ns, interference: nmis }, items);
            }
            Row::Gap { cpu, start_ns, duration_ns, .. } => {
                if let Some(width) = self.width() {
                    self.buckets_of(cpu, width).first.record(duration_ns);
                }
                let entry = self.cpus.entry(cpu).or_default();
                entry.noise.gaps += 1;
                entry.noise.lengths.record(duration_ns, 1);
                let over = self.options.thresholds.gap_ns;
                if over > 0 && duration_ns > over {
                    items.push(Item::Episode(Box::new(self.gap(cpu, start_ns, duration_ns))));
                }
            }
            Row::Interval { cpu, interval } => {
                self.cpus.entry(cpu).or_default().recent.push(interval);
            }
            Row::Timer { cpu, at_ns, context, latency_ns, comm, pid } => {
                self.timer(cpu, at_ns, context, latency_ns, (comm, pid), items);
            }
            Row::Stopped => self.stopped = true,
            Row::Lost(count) => {
                self.lost += count;
                self.cpus.values_mut().for_each(|cpu| cpu.recent.lost());
            }
            Row::StackBegins { cpu } => self.cpus.entry(cpu).or_default().stack.clear(),
            Row::StackFrame { symbol } => {
                let frame = Frame { address: 0, symbol: Some(symbol.into()), offset: 0, object: None, inlined: false };
                if let Some(cpu) = self.cpus.values_mut().rev().find(|c| c.cycle.is_some() && c.stack.len() < 64) {
                    cpu.stack.push(frame);
                }
            }
        }
    }

    fn width(&self) -> Option<(u64, usize)> {
        self.options.buckets
    }

    fn buckets_of(&mut self, cpu: u32, (width, entries): (u64, usize)) -> &mut CpuBuckets {
        let index = self.buckets.iter().position(|b| b.cpu == cpu).unwrap_or_else(|| {
            let empty = || Buckets::new(width, entries);
            self.buckets.push(CpuBuckets { cpu, first: empty(), thread: empty(), user: empty() });
            self.buckets.len() - 1
        });
        &mut self.buckets[index]
    }

    fn timer(
        &mut self,
        cpu: u32,
        at_ns: u64,
        context: Context,
        latency_ns: u64,
        (comm, pid): (String, u32),
        items: &mut Vec<Item>,
    ) {
        if let Some(width) = self.width() {
            let buckets = self.buckets_of(cpu, width);
            match context {
                Context::Irq => buckets.first.record(latency_ns),
                Context::Thread => buckets.thread.record(latency_ns),
                Context::User => buckets.user.record(latency_ns),
            }
        }
        let thresholds = self.options.thresholds;
        let entry = self.cpus.entry(cpu).or_default();
        let stat: &mut LatencyStat = match context {
            Context::Irq => &mut entry.timer.irq,
            Context::Thread => &mut entry.timer.thread,
            Context::User => &mut entry.timer.user,
        };
        stat.record(latency_ns);
        if context == Context::Irq {
            entry.cycle = Some(Cycle {
                expected_ns: at_ns.saturating_sub(latency_ns),
                irq_ns: at_ns,
                irq_latency_ns: latency_ns,
                comm,
                pid,
                thread_ns: None,
            });
            return;
        }
        let Some(mut cycle) = entry.cycle.take() else { return };
        cycle.thread_ns = Some(at_ns);
        let late = thresholds.thread_ns > 0 && latency_ns >= thresholds.thread_ns;
        let late_irq = thresholds.irq_ns > 0 && cycle.irq_latency_ns >= thresholds.irq_ns;
        if late || late_irq {
            let kind = match (late, context) {
                (false, _) => EpisodeKind::Irq,
                (true, Context::User) => EpisodeKind::User,
                (true, _) => EpisodeKind::Thread,
            };
            items.push(Item::Episode(Box::new(self.late(cpu, &cycle, kind, latency_ns))));
        }
        let keep_from = at_ns.saturating_sub(10_000_000);
        if let Some(entry) = self.cpus.get_mut(&cpu) {
            entry.recent.intervals.retain(|i| i.end_ns() >= keep_from);
        }
    }

    fn late(&self, cpu: u32, cycle: &Cycle, kind: EpisodeKind, latency_ns: u64) -> Episode {
        let entry = self.cpus.get(&cpu);
        let (intervals, recorded_from_ns) = entry.map(|e| e.recent.known()).unwrap_or_default();
        // The first interrupt that was open when the sample was taken is the timer's own.
        let start = intervals
            .iter()
            .filter(|i| i.class == NoiseClass::Irq && i.start_ns <= cycle.irq_ns && i.end_ns() >= cycle.irq_ns)
            .map(|i| i.start_ns)
            .next_back();
        let facts = Facts {
            began_ns: cycle.expected_ns,
            ended_ns: cycle.expected_ns + latency_ns,
            irq: Some((start.unwrap_or(cycle.irq_ns), cycle.irq_ns)),
            blocker: (cycle.pid != 0).then(|| format!("{}:{}", cycle.comm, cycle.pid)),
            intervals,
            recorded_from_ns,
        };
        let thresholds = &self.options.thresholds;
        let blocker = Blocker {
            comm: cycle.comm.clone(),
            pid: cycle.pid,
            kernel_stack: entry.map(|e| e.stack.clone()).unwrap_or_default(),
            user_stack: Vec::new(),
        };
        Episode {
            cpu,
            kind,
            began_ns: facts.began_ns,
            ended_ns: facts.ended_ns,
            threshold_ns: if kind == EpisodeKind::Irq { thresholds.irq_ns } else { thresholds.thread_ns },
            parts: facts.parts(),
            intervals: facts.inside(),
            previous_irqs: facts.previous_irqs(),
            blocker: (cycle.pid != 0).then_some(blocker),
            idle: None,
            ipis: Vec::new(),
            others: Vec::new(),
            truncated: facts.is_truncated(),
        }
    }

    fn gap(&self, cpu: u32, start_ns: u64, duration_ns: u64) -> Episode {
        let (intervals, recorded_from_ns) = self.cpus.get(&cpu).map(|e| e.recent.known()).unwrap_or_default();
        let ended_ns = start_ns + duration_ns;
        let facts = Facts { began_ns: start_ns, ended_ns, intervals, recorded_from_ns, ..Facts::default() };
        Episode {
            cpu,
            kind: EpisodeKind::Noise,
            began_ns: facts.began_ns,
            ended_ns: facts.ended_ns,
            threshold_ns: self.options.thresholds.gap_ns,
            parts: facts.parts(),
            intervals: facts.inside(),
            previous_irqs: Vec::new(),
            blocker: None,
            idle: None,
            ipis: Vec::new(),
            others: Vec::new(),
            truncated: facts.is_truncated(),
        }
    }

    fn tell(&mut self, items: &mut Vec<Item>) {
        let now = monotonic_ns();
        let warm = self.began.elapsed() >= self.options.warm_up;
        if !warm {
            self.buckets.clear();
        }
        let spun = self.options.runtime_ns as f64 / self.options.period_ns.max(1) as f64;
        for (cpu, entry) in &mut self.cpus {
            if self.workload == Workload::Hwlat {
                // It has no rows of its own for a window: the share of the time that it spins.
                entry.noise.periods += ((now - self.last_ns) / self.options.period_ns.max(1)).max(1);
                entry.noise.runtime_ns += ((now - self.last_ns) as f64 * spun) as u64;
            }
            let sample = CpuSample {
                cpu: *cpu,
                began_ns: self.last_ns,
                period_ns: now - self.last_ns,
                noise: (self.options.mode == Mode::Osnoise).then(|| std::mem::take(&mut entry.noise)),
                timer: (self.options.mode == Mode::Timerlat).then(|| std::mem::take(&mut entry.timer)),
                ..CpuSample::default()
            };
            if warm {
                items.push(Item::Sample(Box::new(sample)));
            }
        }
        if self.lost > 0 {
            items.push(Item::Note(format!("{} records of the tracer were lost: its buffer was full", self.lost)));
            self.lost = 0;
        }
        self.last_ns = now;
        self.next_ns = now + self.options.interval.as_nanos() as u64;
    }
}

impl Measurement for TracefsMeasurement {
    fn poll(&mut self) -> Result<Vec<Item>, LatencyError> {
        let mut items = Vec::new();
        self.read(&mut items)?;
        if monotonic_ns() >= self.next_ns {
            self.tell(&mut items);
        }
        self.watch.look(&self.kernel, &mut items);
        if self.stopped {
            // The tracer stops recording when its threshold is passed; the next period goes on.
            self.stopped = false;
            let path = self.instance.join("tracing_on");
            disk::set(&path, "1").map_err(|source| LatencyError::File {
                operation: "write",
                path: path.display().to_string(),
                source,
            })?;
        }
        Ok(items)
    }

    fn finish(&mut self) -> Result<Vec<Item>, LatencyError> {
        let mut items = Vec::new();
        self.read(&mut items)?;
        self.tell(&mut items);
        self.pipe = None;
        items.extend(self.guard.restore().into_iter().map(Item::Note));
        Ok(items)
    }

    fn buckets(&self) -> &[CpuBuckets] {
        &self.buckets
    }

    fn describe(&self) -> Vec<String> {
        vec![format!("the kernel's own tracer, kernel {}, in {}", self.kernel.version(), self.instance.display())]
    }
}
