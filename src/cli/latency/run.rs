//! `latency osnoise|timerlat|hwnoise top|hist`.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::actions;
use super::arguments::{Backend, Json, Plan, View};
use super::extra::Beside;
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::model::latency::{Episode, LatencyStat, NoiseSample, Totals};
use crate::output::latency::{duration, report, shapes, tables, us};
use crate::session::recorded::{Recorded, Silent};
use crate::stdio;
use crate::tracer::latency::badges;
use crate::tracer::latency::bpf::BpfMeasurement;
use crate::tracer::latency::meter::{finding, info};
use crate::tracer::latency::tracefs::{self, TracefsMeasurement, Workload};
use crate::tracer::latency::{Item, LatencyError, Measurement, Mode};
use crate::tracer::report::{Face as _, Report};

/// How often a measurement is asked for what is new.
const POLL: Duration = Duration::from_millis(10);
/// rtla's exit code when a threshold was passed.
const FAILED: u8 = 2;
/// Episodes that are kept for the end.
const MOST_EPISODES: usize = 100;

/// A measurement by whichever backend.
pub struct Started {
    pub measurement: Box<dyn Measurement>,
    pub backend: &'static str,
}

/// Starts what a plan asks for.
pub fn start(plan: &Plan, kernel: &Arc<Kernel>) -> Result<Started, LatencyError> {
    let tracer = if plan.options.mode == Mode::Timerlat { "timerlat" } else { "osnoise" };
    let needs_tracer =
        plan.tool == "hwnoise" || plan.kernel_threads || plan.backend != Backend::Auto && plan.backend != Backend::Bpf;
    let has_tracer = tracefs::available(kernel, tracer);
    if plan.backend == Backend::Hwlat && plan.tool != "hwnoise" {
        return Err(LatencyError::Options("the hwlat tracer is for hwnoise".to_owned()));
    }
    let falls_back =
        plan.backend == Backend::Auto && has_tracer.is_err() && tracefs::available(kernel, "hwlat").is_ok();
    if plan.tool == "hwnoise" && (plan.backend == Backend::Hwlat || falls_back) {
        let measurement = TracefsMeasurement::start(kernel, plan.options.clone(), Workload::Hwlat)?;
        return Ok(Started { measurement: Box::new(measurement), backend: "hwlat" });
    }
    if let (true, Err(absence)) = (needs_tracer, &has_tracer) {
        let why = if plan.tool == "hwnoise" {
            "no program in user space can spin with interrupts off; use osnoise, whose HW column has the gaps in which \
             nothing was entered"
        } else if plan.kernel_threads {
            "threads of the kernel need its tracer; use -u: the BPF backend's threads are in user space"
        } else {
            "use --backend bpf"
        };
        return Err(LatencyError::Options(format!("{absence}; {why}")));
    }
    if plan.user && plan.backend == Backend::Tracefs {
        let why = "threads in user space are measured by the BPF backend; use --backend bpf, or -k";
        return Err(LatencyError::Options(why.to_owned()));
    }
    if needs_tracer {
        let workload = if plan.tool == "hwnoise" { Workload::InterruptsOff } else { Workload::Kernel };
        let measurement = TracefsMeasurement::start(kernel, plan.options.clone(), workload)?;
        return Ok(Started { measurement: Box::new(measurement), backend: "tracefs" });
    }
    let measurement = BpfMeasurement::start(kernel, plan.options.clone())?;
    Ok(Started { measurement: Box::new(measurement), backend: "bpf" })
}

/// Everything that a run has so far.
struct Run<'a> {
    plan: &'a Plan,
    totals: Totals,
    episodes: Vec<Episode>,
    hits: u64,
    began: Instant,
    colour: bool,
    clears: bool,
    bpf: bool,
    /// A threshold was passed and nothing said to go on.
    stopped: bool,
    /// Why an action failed.
    failed_action: Option<String>,
    beside: Beside,
    started: SystemTime,
    recorded: Option<Recorded<'a>>,
}

/// Runs a plan.
pub fn run(plan: &Plan, world: &World, stop: &Arc<AtomicBool>) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    keep_off(&plan.house_keeping)?;
    let beside = Beside::start(plan, &kernel)?;
    let Started { mut measurement, backend } = start(plan, &kernel)?;
    if plan.json.is_none() {
        plan.notes.iter().for_each(|text| note(text));
        measurement.describe().iter().for_each(|text| note(text));
    }
    let mut silent = Silent;
    let recorded = plan.record.as_ref().map(|path| {
        let shown = if backend == "bpf" { "BPF" } else { backend };
        let about = info(&kernel, &plan.options, shown, &measurement.describe());
        Recorded::new(&mut silent, path, about, |why| note(&format!("nothing more is recorded: {why}")))
    });
    let mut run = Run {
        plan,
        totals: Totals::default(),
        episodes: Vec::new(),
        hits: 0,
        began: Instant::now(),
        colour: world.stdout_is_terminal && world.variable("NO_COLOR").is_none_or(str::is_empty),
        clears: world.stdout_is_terminal,
        bpf: backend == "bpf",
        stopped: false,
        failed_action: None,
        beside,
        started: SystemTime::now(),
        recorded: recorded.transpose().map_err(|e| CliError::Refused(e.to_string()))?,
    };
    run.measure(measurement.as_mut(), stop)?;
    let items = measurement.finish()?;
    for item in items {
        run.take(item);
    }
    let text = match plan.json {
        None => run.last(measurement.as_ref()),
        Some(Json::Own) => run.json(backend, &kernel)?,
        Some(form) => run.shaped(form, measurement.as_ref(), &kernel)?,
    };
    if plan.extra.debug {
        measurement.costs().iter().for_each(|text| note(text));
    }
    stdio::out().styled().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    if plan.json.is_none() {
        run.tell_cost();
    }
    let at_end = actions::perform(&plan.on_end, &|| run.trace()).err();
    run.failed_action.iter().chain(&at_end).for_each(|why| note(why));
    let unrecorded = run.recorded.take().is_some_and(|recorded| recorded.finish(Some(0)).is_err());
    Ok(if run.stopped || unrecorded { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Moves this thread, and those that it starts later, to the CPUs that are named.
fn keep_off(cpus: &[u32]) -> Result<(), CliError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < 1024).for_each(|cpu| set.set(*cpu as usize));
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|e| CliError::Refused(format!("cannot move to the housekeeping CPUs: {e}")))
}

fn note(text: &str) {
    stdio::say(format_args!("probescope: {text}"));
}

impl Run<'_> {
    fn measure(&mut self, measurement: &mut dyn Measurement, stop: &AtomicBool) -> Result<(), CliError> {
        let mut next = Instant::now() + Duration::from_secs(1);
        let end = self.plan.duration.map(|d| self.began + self.plan.options.warm_up + d);
        while !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
            // All of them, also once it stops: the counts of the cycles before come with the one that stops it.
            for item in measurement.poll()? {
                if self.take(item) && !self.go_on()? {
                    self.stopped = true;
                }
            }
            if self.stopped {
                return Ok(());
            }
            let shows = self.plan.view == View::Top && !self.plan.quiet && self.plan.table;
            if shows && Instant::now() >= next {
                next += Duration::from_secs(1);
                let mut out = stdio::out().styled();
                if self.clears {
                    out.clear().map_err(CliError::stdout)?;
                }
                out.write_all(self.top().as_bytes()).map_err(CliError::stdout)?;
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Takes an item in; true when a threshold was passed.
    fn take(&mut self, item: Item) -> bool {
        if let Some(recorded) = &mut self.recorded {
            // What cannot be written is told by the recorder.
            let _ = recorded.report(&Report::Finding(&finding(item.clone()))).and_then(|()| recorded.flush());
        }
        match item {
            Item::Sample(sample) => self.totals.add(&sample),
            Item::Note(text) => note(&text),
            Item::Episode(episode) => {
                self.hits += 1;
                if self.stopped {
                    return false;
                }
                if self.episodes.len() >= MOST_EPISODES {
                    self.episodes.sort_by_key(|e| std::cmp::Reverse(e.late_ns()));
                    self.episodes.truncate(MOST_EPISODES / 2);
                }
                self.beside.act(&episode, self.hits);
                self.episodes.push(*episode);
                return true;
            }
        }
        false
    }

    fn go_on(&mut self) -> Result<bool, CliError> {
        stdio::out().flush().map_err(CliError::stdout)?;
        Ok(actions::perform(&self.plan.on_threshold, &|| self.trace()).unwrap_or_else(|why| {
            // Told below the results, which follow what the actions print.
            self.failed_action = Some(why);
            false
        }))
    }

    fn trace(&self) -> String {
        let header = format!("# tracer: {}\n#\n", self.plan.tool);
        let stacks = self.plan.sleepers.stacks();
        let own = self.episodes.last().map_or_else(
            || header.clone(),
            |e| format!("{header}{}{}", report::trace(e), comment(&report::report_with(e, stacks))),
        );
        self.beside.save_histograms();
        match self.beside.events() {
            Some(events) => format!("{own}#\n# events beside it\n{events}"),
            None => own,
        }
    }

    /// Results in the form of others.
    fn shaped(&self, form: Json, measurement: &dyn Measurement, kernel: &Kernel) -> Result<String, CliError> {
        let mhz = mhz(kernel);
        let places = badges::places(kernel);
        let node = |cpu: u32| places.iter().find(|place| place.cpu == cpu).map_or(0, |place| place.node);
        let seconds = self.began.elapsed().saturating_sub(self.plan.options.warm_up).as_secs_f64();
        let gaps: Vec<(u32, LatencyStat)> = self.totals.noise().into_iter().map(|(cpu, n)| (cpu, gaps(&n))).collect();
        let sleeps: Vec<(u32, LatencyStat)> = self.totals.timer().into_iter().map(|(cpu, t)| (cpu, t.user)).collect();
        let all = if form == Json::Oslat { &gaps } else { &sleeps };
        let threads: Vec<shapes::Measured<'_>> = all
            .iter()
            .filter_map(|(cpu, stat)| {
                let buckets = measurement.buckets().iter().find(|buckets| buckets.cpu == *cpu)?;
                let buckets = if form == Json::Oslat { &buckets.first } else { &buckets.user };
                let mhz = mhz.get(cpu).copied().unwrap_or(0);
                Some(shapes::Measured { cpu: *cpu, node: node(*cpu), mhz, seconds, stat, buckets })
            })
            .collect();
        let about = self.about(kernel);
        let told =
            if form == Json::Oslat { shapes::oslat(&about, &threads) } else { shapes::cyclictest(&about, &threads) };
        told.map(|text| text + "\n").map_err(|e| CliError::Refused(format!("cannot write JSON: {e}")))
    }

    fn about(&self, kernel: &Kernel) -> shapes::About {
        let told = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let time = |at: SystemTime| {
            let seconds = at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
            crate::output::latency::rfc2822(seconds)
        };
        shapes::About {
            command: words(std::env::args_os()),
            start_time: time(self.started),
            end_time: time(SystemTime::now()),
            return_code: if self.stopped { FAILED } else { 0 },
            system: shapes::System {
                sysname: text(told.sysname()),
                nodename: text(told.nodename()),
                release: text(told.release()),
                version: text(told.version()),
                machine: text(told.machine()),
                realtime: u8::from(kernel.is_realtime()),
            },
        }
    }

    fn elapsed(&self) -> String {
        duration(self.began.elapsed().saturating_sub(self.plan.options.warm_up).as_secs())
    }

    fn top(&self) -> String {
        let look = tables::Look { ns: self.plan.ns, user: self.plan.user, colour: self.colour, more: self.bpf };
        if self.plan.options.mode == Mode::Timerlat {
            return tables::timerlat_top(look, &self.elapsed(), &self.totals.timer());
        }
        let hwnoise = self.plan.tool == "hwnoise";
        let title = if hwnoise { "Hardware-related Noise" } else { "Operating System Noise" };
        tables::osnoise_top(look, title, &self.elapsed(), &self.totals.noise(), hwnoise)
    }

    fn hist(&self, measurement: &dyn Measurement) -> String {
        let mut columns = Vec::new();
        for buckets in measurement.buckets() {
            let Some(total) = self.totals.cpus.get(&buckets.cpu) else { continue };
            let cpu = buckets.cpu;
            if let Some(noise) = &total.noise {
                let stat = gaps(noise);
                columns.push(tables::Column { name: format!("CPU-{cpu:03}"), sum: "", buckets: &buckets.first, stat });
            }
            let Some(timer) = &total.timer else { continue };
            let mut column = |name: &str, sum, buckets, stat: &LatencyStat| {
                columns.push(tables::Column { name: format!("{name}-{cpu:03}"), sum, buckets, stat: stat.clone() });
            };
            if !self.plan.no_irq {
                column("IRQ", "IRQ", &buckets.first, &timer.irq);
            }
            if !self.plan.no_thread {
                column("Thr", "Thr", &buckets.thread, &timer.thread);
            }
            if self.plan.user {
                column("Usr", "Usr", &buckets.user, &timer.user);
            }
        }
        let title = if self.plan.options.mode == Mode::Timerlat { "timerlat" } else { "osnoise" };
        tables::hist(self.plan.look, title, &self.elapsed(), &columns)
    }

    /// What is printed at the end.
    fn last(&self, measurement: &dyn Measurement) -> String {
        let mut text = String::new();
        if self.plan.table {
            text = if self.plan.view == View::Hist { self.hist(measurement) } else { self.top() };
        }
        let tool = self.plan.tool;
        if self.stopped {
            if self.plan.table {
                text.push_str(&format!("probescope latency {tool} hit stop tracing\n"));
            }
            if let Some(episode) = self.episodes.last().filter(|_| self.plan.analyse) {
                text.push_str(&report::report_with(episode, self.plan.sleepers.stacks()));
                if self.plan.dump_tasks {
                    text.push_str(&report::tasks(episode));
                }
            }
        } else if !self.plan.table {
            let worst = self.totals.timer().iter().map(|(_, t)| t.thread.max_ns.max(t.irq.max_ns)).max().unwrap_or(0);
            text.push_str(&format!("  Max latency was {} us\n", us(worst)));
        }
        text
    }

    /// What the programs cost, below the results.
    fn tell_cost(&self) {
        let cost = self.totals.cost;
        if let (true, Some(mean)) = (self.bpf, cost.mean_ns()) {
            note(&format!(
                "own cost: {} runs of BPF programs, {mean} ns each, {} missed; {} thresholds passed",
                cost.runs, cost.misses, self.hits
            ));
        }
    }

    fn json(&self, backend: &str, kernel: &Kernel) -> Result<String, CliError> {
        #[derive(Serialize)]
        struct Output<'a> {
            tool: &'a str,
            backend: &'a str,
            kernel: String,
            duration_ns: u64,
            threshold_hit: bool,
            hits: u64,
            period_ns: u64,
            runtime_ns: Option<u64>,
            totals: &'a Totals,
            episodes: &'a [Episode],
        }
        let output = Output {
            tool: self.plan.tool,
            backend,
            kernel: kernel.version().to_string(),
            duration_ns: self.began.elapsed().as_nanos() as u64,
            threshold_hit: self.hits > 0,
            hits: self.hits,
            period_ns: self.plan.options.period_ns,
            runtime_ns: (self.plan.options.mode == Mode::Osnoise).then_some(self.plan.options.runtime_ns),
            totals: &self.totals,
            episodes: &self.episodes,
        };
        let text = serde_json::to_string(&output).map_err(|e| CliError::Refused(format!("cannot write JSON: {e}")))?;
        Ok(text + "\n")
    }
}

/// Gaps as latencies.
fn gaps(noise: &NoiseSample) -> LatencyStat {
    LatencyStat {
        count: noise.gaps,
        current_ns: 0,
        min_ns: noise.lengths.percentile_ns(0.0).unwrap_or(0),
        max_ns: noise.max_gap_ns,
        sum_ns: noise.noise_ns,
        lengths: noise.lengths.clone(),
    }
}

/// MHz by CPU, as the kernel tells now.
fn mhz(kernel: &Kernel) -> HashMap<u32, u64> {
    let text = kernel.proc_text("cpuinfo").unwrap_or_default();
    let mut found = HashMap::new();
    let mut cpu = None;
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match name.trim() {
            "processor" => cpu = value.trim().parse::<u32>().ok(),
            "cpu MHz" => {
                let mhz = value.trim().parse::<f64>().unwrap_or(0.0);
                cpu.map(|cpu| found.insert(cpu, mhz as u64));
            }
            _ => {}
        }
    }
    found
}

/// Words of a command as a line; what is no text in UTF-8 has a sign in its place.
fn words(command: impl Iterator<Item = std::ffi::OsString>) -> String {
    command.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn comment(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    #[test]
    fn a_command_that_is_no_text_is_told_all_the_same() {
        let command = [OsString::from("latency"), OsString::from_vec(vec![b'a', 0xff])];
        assert_eq!(super::words(command.into_iter()), "latency a\u{fffd}");
    }
}
