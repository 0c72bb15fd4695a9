//! rtla's options.

use std::time::Duration;

use super::actions::{self, Action};
use super::extra::{Extra, Sleepers};
use super::values::{cpus, refuse};
pub use super::values::{duration, policy};
use crate::cli::CliError;
use crate::kernel::Kernel;
use crate::tracer::latency::{Mode, Options, Policy, Thresholds};

/// How results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum View {
    /// A table, new every second.
    #[default]
    Top,
    /// Histograms, once at the end.
    Hist,
}

/// What measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Backend {
    /// BPF, and the kernel's tracer for what only it can do: hwnoise, threads of the kernel.
    #[default]
    Auto,
    /// BPF programs and threads of our own.
    Bpf,
    /// The kernel's tracer.
    Tracefs,
    /// The kernel's hwlat tracer, for hwnoise: older kernels have it, too.
    Hwlat,
}

/// Forms of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Json {
    /// All that was measured.
    Own,
    /// As `cyclictest --json` writes it.
    Cyclictest,
    /// As `oslat --json` writes it.
    Oslat,
}

/// Longest warm-up, s, and longest time of an option, us: a month.
const MOST_SECONDS: u64 = 2_592_000;

/// Reads a time in us.
pub fn times() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(..=MOST_SECONDS * 1_000_000)
}

/// Options that osnoise and timerlat share.
#[derive(Clone, Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "rtla's options")]
pub struct Common {
    /// How results are shown.
    #[arg(value_enum, default_value = "top")]
    view: View,
    /// CPUs to measure: a list such as 0-3,8, or `all`.
    #[arg(short, long, value_name = "LIST")]
    cpus: Option<String>,
    /// Run everything but the measuring threads on these CPUs.
    #[arg(short = 'H', long, value_name = "LIST")]
    house_keeping: Option<String>,
    /// Scheduling of the measuring threads: o:0, r:PRIO, f:PRIO, d:RUNTIME:PERIOD (us, or with ms, s).
    #[arg(short = 'P', long, value_name = "POLICY")]
    priority: Option<String>,
    /// How long to measure: a number with s, m, h or d.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// Print once, at the end.
    #[arg(short, long)]
    quiet: bool,
    /// Leave out what comes in this many seconds at the beginning.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=MOST_SECONDS))]
    warm_up: u64,
    /// Print one JSON object at the end: our own, or one in the form of cyclictest (timerlat) or oslat (osnoise).
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "own")]
    json: Option<Json>,
    #[command(flatten)]
    extra: Extra,
    /// What measures.
    #[arg(long, value_enum, default_value = "auto")]
    backend: Backend,
    /// Save what was recorded when a threshold is passed.
    #[arg(short, long, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    trace: Option<String>,
    /// Done when a threshold is passed: trace[,file=F], signal,num=N,pid=PID|parent, shell,command=CMD, continue.
    #[arg(long, value_name = "ACTION")]
    on_threshold: Vec<String>,
    /// Done at the end, in the same form.
    #[arg(long, value_name = "ACTION")]
    on_end: Vec<String>,
    /// Also record all that is measured to a file, for `probescope replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<std::path::PathBuf>,
    /// Histograms: width of a bucket.
    #[arg(short = 'b', long, value_name = "N", default_value_t = 1)]
    bucket_size: u64,
    /// Histograms: number of buckets.
    #[arg(short = 'E', long, value_name = "N", default_value_t = 256)]
    entries: u64,
    /// Histograms: leave out the title.
    #[arg(long)]
    no_header: bool,
    /// Histograms: leave out the lines below.
    #[arg(long)]
    no_summary: bool,
    /// Histograms: leave out the first column.
    #[arg(long)]
    no_index: bool,
    /// Histograms: show rows of zeros.
    #[arg(long)]
    with_zeros: bool,
}

/// osnoise's options.
#[derive(Clone, Debug, clap::Args)]
pub struct Osnoise {
    #[command(flatten)]
    common: Common,
    /// Stop at a gap over this many us and save the trace: -s US -T 1 -t.
    #[arg(short, long, value_name = "US", value_parser = times())]
    auto: Option<u64>,
    /// Period in us.
    #[arg(short, long, value_name = "US", value_parser = times(), default_value_t = 1_000_000)]
    period: u64,
    /// Run time in each period in us.
    #[arg(short, long, value_name = "US", value_parser = times())]
    runtime: Option<u64>,
    /// Stop when one gap is longer, us.
    #[arg(short, long, value_name = "US", value_parser = times(), default_value_t = 0)]
    stop: u64,
    /// Stop when the noise of a period is more, us.
    #[arg(short = 'S', long, value_name = "US", value_parser = times(), default_value_t = 0)]
    stop_total: u64,
    /// Gaps shorter than this are no noise, us.
    #[arg(short = 'T', long, value_name = "US", value_parser = times(), default_value_t = 5)]
    threshold: u64,
}

/// timerlat's options.
#[derive(Clone, Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "rtla's options")]
pub struct Timerlat {
    #[command(flatten)]
    common: Common,
    /// Stop at this latency in us, analyse it and save the trace: -T US -i US -s US -t.
    #[arg(short, long, value_name = "US", value_parser = times())]
    auto: Option<u64>,
    /// Analyse only: no table.
    #[arg(long, value_name = "US", value_parser = times())]
    aa_only: Option<u64>,
    /// Period in us.
    #[arg(short, long, value_name = "US", value_parser = times(), default_value_t = 1000)]
    period: u64,
    /// Stop when the timer's interrupt is so late, us.
    #[arg(short, long, value_name = "US", value_parser = times(), default_value_t = 0)]
    irq: u64,
    /// Stop when the thread is so late, us.
    #[arg(short = 'T', long, value_name = "US", value_parser = times(), default_value_t = 0)]
    thread: u64,
    /// Keep stacks of blocking threads.
    #[arg(short, long, value_name = "US", value_parser = times())]
    stack: Option<u64>,
    /// Nanoseconds.
    #[arg(short, long)]
    nano: bool,
    /// Threads in user space, with the latency back there.
    #[arg(short, long, conflicts_with = "kernel_threads")]
    user_threads: bool,
    /// The kernel's own threads.
    #[arg(short, long)]
    kernel_threads: bool,
    /// Hold CPUs from idle states that take longer to leave, us.
    #[arg(long, value_name = "US")]
    dma_latency: Option<u32>,
    /// No analysis when a threshold is passed.
    #[arg(long)]
    no_aa: bool,
    /// Print what ran on the other CPUs.
    #[arg(long)]
    dump_tasks: bool,
    #[command(flatten)]
    sleepers: Sleepers,
    /// Histograms: no columns for interrupts.
    #[arg(long)]
    no_irq: bool,
    /// Histograms: no columns for threads.
    #[arg(long)]
    no_thread: bool,
}

/// A run, with everything checked.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "rtla's options")]
pub struct Plan {
    /// How to measure.
    pub options: Options,
    /// `osnoise`, `timerlat`, `hwnoise`.
    pub tool: &'static str,
    pub view: View,
    pub backend: Backend,
    /// The kernel's threads, and no others.
    pub kernel_threads: bool,
    pub duration: Option<Duration>,
    pub quiet: bool,
    pub json: Option<Json>,
    pub ns: bool,
    pub user: bool,
    pub analyse: bool,
    pub table: bool,
    pub dump_tasks: bool,
    pub on_threshold: Vec<Action>,
    pub on_end: Vec<Action>,
    pub look: crate::output::latency::tables::HistLook,
    pub no_irq: bool,
    pub no_thread: bool,
    /// What the user should know before it starts.
    pub notes: Vec<String>,
    pub house_keeping: Vec<u32>,
    /// Where all is recorded.
    pub record: Option<std::path::PathBuf>,
    /// Events and settings beside the measurement.
    pub extra: Extra,
    /// The same of timerlat.
    pub sleepers: Sleepers,
}

/// Buckets of a microsecond in the forms of others.
const SHAPED: usize = 10_000;

fn range(name: &str, value: u64, least: u64, most: u64) -> Result<u64, CliError> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    refuse(format!("{name} must be >= {least} us and <= {most} us"))
}

/// CPUs to measure: those asked for, else all but the first, which is left for everything else.
fn places(common: &Common, kernel: &Kernel, spins: bool, notes: &mut Vec<String>) -> Result<Vec<u32>, CliError> {
    if let Some(text) = &common.cpus {
        return cpus(text, kernel);
    }
    let online = kernel.online_cpus().as_slice().to_vec();
    if !spins || online.len() == 1 {
        return Ok(online);
    }
    notes.push(format!("CPU {} is left free; -c all measures it, too", online[0]));
    Ok(online[1..].to_vec())
}

/// What to say of threads that spin on every CPU there is. Of the only one nothing is left to anybody without being told
/// so, by its number.
fn on_all_cpus(
    common: &Common,
    kernel: &Kernel,
    measured: &[u32],
    policy: Policy,
    tool: &str,
) -> Result<Option<String>, CliError> {
    let online = kernel.online_cpus();
    if online.as_slice().iter().any(|cpu| !measured.contains(cpu)) {
        return Ok(None);
    }
    let ordinary = policy == Policy::Other && tool != "hwnoise";
    Ok(Some(match (online.len(), ordinary) {
        (1, true) => {
            "this machine has one CPU: the measuring thread shares it with everything else, which is noise".to_owned()
        }
        (1, false) if common.cpus.is_none() => {
            let what = if tool == "hwnoise" { "hwnoise spins with interrupts off" } else { "a real-time thread spins" };
            return refuse(format!("{what} on the only CPU of this machine, and nothing is left free: say so by -c 0"));
        }
        (_, true) => return Ok(None),
        (_, false) => "measuring threads spin on all CPUs: everything else waits for what they leave".to_owned(),
    }))
}

fn plan(common: &Common, kernel: &Kernel, tool: &'static str, mode: Mode) -> Result<Plan, CliError> {
    let mut notes = Vec::new();
    let measured = places(common, kernel, mode == Mode::Osnoise, &mut notes)?;
    let policy = match &common.priority {
        Some(text) => policy(text)?,
        None if mode == Mode::Timerlat => Policy::Fifo(95),
        None => Policy::Other,
    };
    if mode == Mode::Osnoise {
        notes.extend(on_all_cpus(common, kernel, &measured, policy, tool)?);
    }
    if !(1..1_000_000).contains(&common.bucket_size) {
        return refuse("Bucket size needs to be > 0 and <= 1000000");
    }
    if !(10..=9_999_999).contains(&common.entries) {
        return refuse("Entries must be > 10 and < 10000000");
    }
    let mut on_threshold = parse_actions(&common.on_threshold, tool)?;
    if let Some(file) = &common.trace {
        let file = if file.is_empty() { actions::trace_file(tool) } else { file.clone() };
        on_threshold.insert(0, Action::Trace { file });
    }
    let hist = common.view == View::Hist;
    let buckets = match common.json {
        Some(Json::Cyclictest | Json::Oslat) => Some((1000, SHAPED)),
        _ => hist.then_some((common.bucket_size * 1000, common.entries as usize)),
    };
    match (common.json, tool) {
        (Some(Json::Cyclictest), "timerlat")
        | (Some(Json::Oslat), "osnoise" | "hwnoise")
        | (None | Some(Json::Own), _) => {}
        (Some(Json::Cyclictest), _) => return refuse("--json=cyclictest tells how late threads are: use timerlat"),
        (Some(Json::Oslat), _) => return refuse("--json=oslat tells gaps of spinning threads: use osnoise"),
    }
    let house_keeping = common.house_keeping.as_deref().map(|text| cpus(text, kernel)).transpose()?.unwrap_or_default();
    let long = common.duration.as_deref().map(duration).transpose()?;
    let warm_up = Duration::from_secs(common.warm_up);
    Ok(Plan {
        options: Options {
            mode,
            cpus: measured,
            policy,
            warm_up,
            // Who reads ends them sooner, where it gets a CPU.
            at_most: long.map(|long| warm_up.saturating_add(long).saturating_add(Duration::from_secs(1))),
            join_cgroup: common.extra.cgroup.is_some(),
            buckets,
            ..Options::default()
        },
        tool,
        view: common.view,
        backend: common.backend,
        kernel_threads: false,
        duration: long,
        quiet: common.quiet || common.json.is_some(),
        json: common.json,
        ns: false,
        user: false,
        analyse: false,
        table: true,
        dump_tasks: false,
        on_threshold,
        on_end: parse_actions(&common.on_end, tool)?,
        look: crate::output::latency::tables::HistLook {
            ns: false,
            no_header: common.no_header,
            no_summary: common.no_summary,
            no_index: common.no_index,
            with_zeros: common.with_zeros,
        },
        no_irq: false,
        no_thread: false,
        notes,
        house_keeping,
        record: common.record.clone(),
        extra: common.extra.clone(),
        sleepers: Sleepers::default(),
    })
}

fn parse_actions(texts: &[String], tool: &str) -> Result<Vec<Action>, CliError> {
    texts.iter().map(|text| actions::parse(text, tool).map_err(CliError::Refused)).collect()
}

/// A run of osnoise, or of hwnoise.
pub fn osnoise(args: &Osnoise, hwnoise: bool, kernel: &Kernel) -> Result<Plan, CliError> {
    let mut plan = plan(&args.common, kernel, if hwnoise { "hwnoise" } else { "osnoise" }, Mode::Osnoise)?;
    let period = range("Period", args.period, 1, 10_000_000)?;
    let share = if hwnoise { period * 3 / 4 } else { period * 9 / 10 };
    let runtime = args.runtime.unwrap_or(share.max(1));
    if args.runtime.is_some_and(|runtime| runtime < 100) {
        return refuse("Runtime must be >= 100 us");
    }
    if runtime > period {
        return refuse(format!("the runtime of {runtime} us is longer than the period of {period} us"));
    }
    let stop = args.auto.unwrap_or(args.stop);
    plan.options.period_ns = period * 1000;
    plan.options.runtime_ns = runtime * 1000;
    plan.options.gap_ns = if args.auto.is_some() { 1000 } else { (args.threshold * 1000).max(1) };
    plan.options.thresholds =
        Thresholds { gap_ns: stop * 1000, noise_ns: args.stop_total * 1000, ..Thresholds::default() };
    plan.analyse = true;
    plan.options.stacks = true;
    if args.auto.is_some() && args.common.trace.is_none() {
        plan.on_threshold.insert(0, Action::Trace { file: actions::trace_file(plan.tool) });
    }
    if plan.options.policy != Policy::Other {
        let share = runtime * 100 / period;
        plan.notes.push(format!(
            "measuring threads take {} CPUs, {share} % each; from Linux 6.12 on the fair server takes 50 ms of each second \
             back for ordinary threads (RT throttling before): that is no noise of the system",
            plan.options.cpus.len(),
        ));
    }
    Ok(plan)
}

/// A run of timerlat.
pub fn timerlat(args: &Timerlat, kernel: &Kernel) -> Result<Plan, CliError> {
    let mut plan = plan(&args.common, kernel, "timerlat", Mode::Timerlat)?;
    let period = range("Period", args.period, 100, 1_000_000)?;
    let auto = args.auto.or(args.aa_only);
    if args.no_irq && args.no_thread && !args.user_threads {
        return refuse("--no-irq and --no-thread leave no column: there is nothing to print; give one of them");
    }
    if let Some(us) = args.dma_latency
        && us > 10_000
    {
        return refuse("--dma-latency needs to be >= 0 and <= 10000");
    }
    plan.options.period_ns = period * 1000;
    plan.options.thresholds = Thresholds {
        irq_ns: auto.unwrap_or(args.irq) * 1000,
        thread_ns: auto.unwrap_or(args.thread) * 1000,
        ..Thresholds::default()
    };
    plan.options.stacks = auto.is_some() || args.stack.is_some();
    plan.options.stack_ns = args.stack.unwrap_or(0) * 1000;
    plan.options.dma_latency_us = args.dma_latency;
    plan.kernel_threads = args.kernel_threads;
    plan.ns = args.nano;
    plan.look.ns = args.nano;
    plan.user = args.user_threads;
    plan.analyse = !args.no_aa;
    plan.table = args.aa_only.is_none();
    plan.dump_tasks = args.dump_tasks;
    plan.no_irq = args.no_irq;
    plan.no_thread = args.no_thread;
    plan.options.align_ns = args.sleepers.aligned.map(|us| us * 1000);
    plan.sleepers = args.sleepers.clone();
    if let Some((width, _)) = &mut plan.options.buckets
        && args.nano
    {
        *width = args.common.bucket_size;
    }
    if args.auto.is_some() && args.common.trace.is_none() {
        plan.on_threshold.insert(0, Action::Trace { file: actions::trace_file(plan.tool) });
    }
    Ok(plan)
}
