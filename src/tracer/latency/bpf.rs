//! Measuring by our BPF programs and threads of our own: every kernel with BTF, none of the kernel's tracers.

pub(crate) mod episode;
pub mod simulated;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::smi::{self, Smis};
use super::sources::Known;
use super::tally::Taken;
use super::threads::{self, Thread, word};
use super::watch::Watch;
use super::{CpuBuckets, Item, LatencyError, Measurement, Mode, Options, Thresholds, badges, places};
use crate::engine::latency::layout::{RECORD, SENDERS, STACKS, slot};
use crate::engine::latency::{Memory, Meter, NetUntil};
use crate::engine::monotonic_ns;
use crate::engine::symbols::UserSymbols;
use crate::kernel::Kernel;
use crate::model::latency::{Buckets, ByClass, CpuSample, NoiseSample, OwnCost, TimerSample};

/// One measured CPU.
struct Cpu {
    cpu: u32,
    /// Index of its thread.
    thread: Option<usize>,
    entries: ByClass,
    net: ByClass,
    known: Known,
    began_ns: u64,
}

/// A measurement by BPF.
pub struct BpfMeasurement {
    options: Options,
    kernel: Arc<Kernel>,
    symbols: UserSymbols,
    // The threads end before the programs are detached.
    threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    buckets: Vec<CpuBuckets>,
    next_ns: u64,
    /// When the threads were asked to write to their other side, which they have not all done yet.
    asked_ns: Option<u64>,
    warm: bool,
    watch: Watch,
    cost: OwnCost,
    stolen: HashMap<u32, u64>,
    smis: Smis,
    meter: Meter,
    _dma_latency: Option<File>,
}

impl BpfMeasurement {
    /// Loads the programs and starts the threads.
    ///
    /// # Errors
    /// When the kernel lacks what is needed or refuses it, or a thread cannot be set up.
    pub fn start(kernel: &Arc<Kernel>, options: Options) -> Result<Self, LatencyError> {
        places::check(&options, kernel)?;
        let dma_latency = options.dma_latency_us.map(places::hold_dma_latency).transpose()?;
        let meter = Meter::start(kernel)?;
        let measured =
            if options.mode == Mode::Passive { kernel.online_cpus().as_slice().to_vec() } else { options.cpus.clone() };
        prepare(meter.memory(), &options, &measured);
        // Before the threads start: the first look at sources reads the kernel's symbols, which takes a while.
        let cpus = at_first(kernel, meter.memory(), &measured);
        let threads =
            if options.mode == Mode::Passive { Vec::new() } else { threads::start(meter.memory(), &options)? };
        Ok(Self::begin(kernel, options, (meter, threads), cpus, dma_latency))
    }

    /// With everything running.
    fn begin(
        kernel: &Arc<Kernel>,
        options: Options,
        (meter, threads): (Meter, Vec<Thread>),
        mut cpus: Vec<Cpu>,
        dma_latency: Option<File>,
    ) -> Self {
        let now = monotonic_ns();
        for (n, cpu) in cpus.iter_mut().enumerate() {
            cpu.thread = (options.mode != Mode::Passive).then_some(n);
            // Threads may have taken their time to start: what ran until now is in no period.
            cpu.look(kernel, meter.memory());
        }
        let empty =
            || options.buckets.map_or_else(|| Buckets::new(1, 0), |(width, entries)| Buckets::new(width, entries));
        let buckets = cpus
            .iter()
            .map(|cpu| CpuBuckets { cpu: cpu.cpu, first: empty(), thread: empty(), user: empty() })
            .collect();
        let smis = Smis::start(Path::new(smi::REGISTERS), &cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>());
        let wait = if options.warm_up.is_zero() { options.interval } else { options.warm_up };
        Self {
            next_ns: now + wait.as_nanos() as u64,
            asked_ns: None,
            warm: options.warm_up.is_zero(),
            watch: Watch::new(&cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), threads.is_empty()),
            cost: meter.cost(),
            stolen: badges::stolen(kernel),
            symbols: UserSymbols::new(kernel.roots().proc.clone(), true),
            kernel: Arc::clone(kernel),
            options,
            threads,
            cpus,
            buckets,
            smis,
            meter,
            _dma_latency: dma_latency,
        }
    }

    /// The programs, for their costs.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    fn due(&mut self, items: &mut Vec<Item>) {
        let now = monotonic_ns();
        if self.asked_ns.is_none() && now < self.next_ns {
            return;
        }
        let asked_ns = *self.asked_ns.get_or_insert_with(|| {
            self.threads.iter().for_each(|t| t.shared.pair.change_over());
            now
        });
        // Threads that sleep for long, or have ended, come later: nobody waits for them.
        let patience = now > asked_ns + self.options.period_ns * 2 + 1_000_000_000;
        if !patience && !self.threads.iter().all(|t| t.shared.pair.changed_over() || t.shared.left_cpu()) {
            return;
        }
        self.asked_ns = None;
        self.next_ns = (self.next_ns + self.options.interval.as_nanos() as u64).max(now);
        self.tell(items, false);
    }

    fn tell(&mut self, items: &mut Vec<Item>, ended: bool) {
        let cost = self.meter.cost();
        let spent = OwnCost {
            runs: cost.runs - self.cost.runs,
            run_time_ns: cost.run_time_ns - self.cost.run_time_ns,
            misses: cost.misses - self.cost.misses,
        };
        self.cost = cost;
        let stolen = badges::stolen(&self.kernel);
        let before = std::mem::replace(&mut self.stolen, stolen);
        for index in 0..self.cpus.len() {
            let mut sample = self.sample(index, spent, ended);
            let of = |all: &HashMap<u32, u64>| all.get(&sample.cpu).copied().unwrap_or(0);
            sample.steal_ns = of(&self.stolen).saturating_sub(of(&before));
            if self.warm {
                items.push(Item::Sample(Box::new(sample)));
            } else {
                self.buckets[index].reset();
            }
        }
        self.warm = true;
    }

    fn sample(&mut self, index: usize, cost: OwnCost, ended: bool) -> CpuSample {
        let cpu = &mut self.cpus[index];
        let slot = self.meter.memory().slot(cpu.cpu);
        let entries = slot.entries();
        let NetUntil { now_ns: now, net, running } = slot.net_until(monotonic_ns);
        let (sources, passive) = cpu.known.changes(&self.kernel, self.meter.memory(), cpu.cpu, running);
        let mut sample = CpuSample {
            cpu: cpu.cpu,
            began_ns: cpu.began_ns,
            period_ns: now - cpu.began_ns,
            entries: entries.since(&cpu.entries),
            net_ns: net.since(&cpu.net),
            passive: (passive.count > 0).then_some(passive),
            sources,
            cost,
            ..CpuSample::default()
        };
        (cpu.entries, cpu.net, cpu.began_ns) = (entries, net, now);
        if let Some(thread) = cpu.thread.and_then(|n| self.threads.get(n)) {
            let CpuBuckets { first, thread: second, user, .. } = &mut self.buckets[index];
            let pair = &thread.shared.pair;
            let taken =
                if ended { pair.take_active([first, second, user]) } else { pair.take_idle([first, second, user]) };
            match self.options.mode {
                Mode::Osnoise => sample.noise = Some(noise(taken)),
                Mode::Timerlat => sample.timer = Some(timer(taken)),
                Mode::Passive => {}
            }
        }
        sample
    }

    fn look(&mut self, items: &mut Vec<Item>) {
        for thread in self.threads.iter().filter(|thread| thread.shared.left_cpu()) {
            self.watch.left(thread.shared.cpu, items);
        }
        self.watch.look(&self.kernel, items);
    }

    fn episodes(&mut self, items: &mut Vec<Item>) {
        for index in 0..self.cpus.len() {
            let cpu = self.cpus[index].cpu;
            let shared = self.cpus[index].thread.and_then(|n| self.threads.get(n)).map(|t| Arc::clone(&t.shared));
            let source = episode::Recorded {
                kernel: &self.kernel,
                memory: self.meter.memory(),
                cpu,
                thresholds: &self.options.thresholds,
            };
            if let Some(episode) = source.take(shared.as_deref(), &mut self.symbols) {
                items.push(Item::Episode(Box::new(episode)));
            }
        }
    }
}

/// The CPUs with what was counted of each until now.
fn at_first(kernel: &Kernel, memory: &Memory, measured: &[u32]) -> Vec<Cpu> {
    let cpu = |cpu: &u32| {
        let (entries, net) = (ByClass::default(), ByClass::default());
        let mut of = Cpu { cpu: *cpu, thread: None, entries, net, known: Known::default(), began_ns: 0 };
        of.look(kernel, memory);
        of
    };
    measured.iter().map(cpu).collect()
}

impl Cpu {
    /// A period begins: what was counted until now is in none.
    fn look(&mut self, kernel: &Kernel, memory: &Memory) {
        let slot = memory.slot(self.cpu);
        self.entries = slot.entries();
        let NetUntil { now_ns, net, running } = slot.net_until(monotonic_ns);
        self.known.changes(kernel, memory, self.cpu, running);
        (self.net, self.began_ns) = (net, now_ns);
    }
}

impl CpuBuckets {
    fn reset(&mut self) {
        for buckets in [&mut self.first, &mut self.thread, &mut self.user] {
            *buckets = Buckets::new(buckets.width_ns, buckets.counts.len());
        }
    }
}

impl Measurement for BpfMeasurement {
    fn poll(&mut self) -> Result<Vec<Item>, LatencyError> {
        let mut items = Vec::new();
        self.episodes(&mut items);
        self.due(&mut items);
        self.look(&mut items);
        Ok(items)
    }

    fn finish(&mut self) -> Result<Vec<Item>, LatencyError> {
        let mut items = Vec::new();
        self.threads.iter_mut().for_each(Thread::stop);
        self.episodes(&mut items);
        // What a thread had left behind when it was asked to change over, and what it wrote since.
        if self.threads.is_empty() {
            self.tell(&mut items, true);
        } else {
            self.tell(&mut items, false);
            self.tell(&mut items, true);
        }
        items.extend(self.smis.since().map(Item::Note));
        Ok(items)
    }

    fn buckets(&self) -> &[CpuBuckets] {
        &self.buckets
    }

    fn set_thresholds(&mut self, thresholds: &Thresholds) -> bool {
        self.options.thresholds = *thresholds;
        let measured: Vec<u32> = self.cpus.iter().map(|cpu| cpu.cpu).collect();
        prepare(self.meter.memory(), &self.options, &measured);
        self.threads.iter().for_each(|thread| thread.shared.set_thresholds(thresholds));
        true
    }

    fn costs(&self) -> Vec<String> {
        let mut all = self.meter.program_costs();
        all.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.run_time_ns));
        let text = |(name, cost): &(String, OwnCost)| {
            let mean = cost.mean_ns().unwrap_or(0);
            format!("{name}: {} runs, {mean} ns each, {} missed", cost.runs, cost.misses)
        };
        all.iter().filter(|(_, cost)| cost.runs > 0).map(text).collect()
    }

    fn describe(&self) -> Vec<String> {
        let missing = match self.meter.left_out() {
            [] => "all tracepoints are here".to_owned(),
            names => format!("tracepoints that are not here: {}", names.join(" ")),
        };
        let mut lines = vec![format!("BPF, kernel {}; handler bodies only, {missing}", self.kernel.version())];
        if self.smis.is_counted() {
            lines.push("interrupts of the firmware (SMI) are counted; the end tells which CPUs had some".to_owned());
        }
        if self.kernel.is_realtime() {
            lines.push("PREEMPT_RT: softirqs are counted as threads".to_owned());
        }
        lines
    }
}

/// What the programs keep. Interrupts are sent so often that to unwind each sender's stack is a quarter of what passive
/// measuring costs: there the call site has to do.
fn flags(options: &Options) -> u64 {
    if options.thresholds == Thresholds::default() {
        return 0;
    }
    match (options.stacks, options.mode) {
        (false, _) => RECORD,
        (true, Mode::Passive) => RECORD | STACKS,
        (true, _) => RECORD | STACKS | SENDERS,
    }
}

/// Tells the programs what to look for.
fn prepare(memory: &Memory, options: &Options, cpus: &[u32]) {
    let wanted = &options.thresholds;
    let flags = flags(options);
    for cpu in 0..memory.cpus() as u32 {
        let slot = memory.slot(cpu);
        let measured = cpus.contains(&cpu);
        slot.set(slot::FLAGS, flags);
        if !measured {
            continue;
        }
        if options.mode == Mode::Passive {
            slot.set(slot::PASSIVE_THRESHOLD, wanted.irq_ns);
        } else {
            slot.set(slot::IRQ_THRESHOLD, wanted.irq_ns);
            slot.set(slot::THREAD_THRESHOLD, wanted.thread_ns);
        }
    }
}

fn classes(words: &[u64], from: usize) -> ByClass {
    ByClass { nmi: words[from], irq: words[from + 1], softirq: words[from + 2], thread: words[from + 3] }
}

fn noise(taken: Taken) -> NoiseSample {
    let words = &taken.words;
    NoiseSample {
        periods: words[word::PERIODS],
        runtime_ns: words[word::RUNTIME],
        noise_ns: words[word::NOISE],
        max_noise_ns: words[word::MAX_NOISE],
        max_gap_ns: taken.first.max_ns,
        gaps: taken.first.count,
        hardware: words[word::HARDWARE],
        hardware_ns: words[word::HARDWARE_NS],
        entries: classes(words, word::ENTRIES),
        net_ns: classes(words, word::NET),
        residual_ns: words[word::RESIDUAL].cast_signed(),
        negative_residuals: words[word::NEGATIVE],
        lengths: taken.first.lengths,
    }
}

fn timer(taken: Taken) -> TimerSample {
    TimerSample {
        irq: taken.first,
        thread: taken.thread,
        user: taken.user,
        skipped: taken.words[word::SKIPPED],
        unseen: taken.words[word::UNSEEN],
    }
}
