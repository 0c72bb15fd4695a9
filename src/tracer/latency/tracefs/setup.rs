//! Settings of the tracers, in the order that the kernel takes them, each restored at the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk;
use crate::engine::latency::set_policy_of;
use crate::kernel::guard::{Guard, JOURNALS};
use crate::kernel::{Absence, Kernel};
use crate::tracer::latency::places::own_cgroup_file;
use crate::tracer::latency::{LatencyError, Mode, Options, Policy};

/// Which threads do the work of the tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The kernel's own.
    Kernel,
    /// The kernel's own, with interrupts off while they spin: what is left is the hardware's noise.
    InterruptsOff,
    /// The hwlat tracer's thread, which does the same and tells gaps only.
    Hwlat,
}

impl Workload {
    /// Which tracer it is of.
    pub(super) const fn tracer(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::Hwlat, _) => "hwlat",
            (_, Mode::Timerlat) => "timerlat",
            _ => "osnoise",
        }
    }
}

/// Whether the kernel has a tracer.
///
/// # Errors
/// With what is missing.
pub fn available(kernel: &Kernel, tracer: &str) -> Result<PathBuf, Absence> {
    let tracefs = kernel.tracefs()?;
    let text = std::fs::read_to_string(tracefs.join("available_tracers")).unwrap_or_default();
    if text.split_whitespace().any(|name| name == tracer) {
        return Ok(tracefs);
    }
    let option = if tracer == "hwlat" {
        "HWLAT"
    } else if tracer == "osnoise" {
        "OSNOISE"
    } else {
        "TIMERLAT"
    };
    Err(Absence::new(
        &format!("the {tracer} tracer"),
        &format!("this kernel was built without CONFIG_{option}_TRACER"),
        "the BPF backend measures the same without it",
    ))
}

/// A tracer that runs.
pub(super) struct Started {
    pub guard: Guard,
    pub instance: PathBuf,
    pub pipe: File,
}

fn failed(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> LatencyError + use<> {
    let path = path.display().to_string();
    move |source| LatencyError::File { operation, path: path.clone(), source }
}

/// Sets everything and starts the tracer.
pub(super) fn start(kernel: &Kernel, options: &Options, workload: Workload) -> Result<Started, LatencyError> {
    let tracer = workload.tracer(options.mode);
    let tracefs = available(kernel, tracer)?;
    let journals = Path::new(JOURNALS);
    let mut guard = Guard::new(journals).map_err(failed("keep a journal of settings in", journals))?;
    // What an ended process of ours has left is removed by now; whoever is there still lives.
    if let Some((other, place)) = in_use(&tracefs, tracer) {
        let or = if workload == Workload::Kernel { ", or use --backend bpf, which needs no tracer" } else { "" };
        return Err(LatencyError::Options(format!(
            "the {tracer} tracer cannot run: {other} is in use {place}, and its settings are those of the whole system; \
             end it there{or}"
        )));
    }
    let instance = tracefs.join("instances").join(format!("probescope_{tracer}_{}", std::process::id()));
    if workload == Workload::Hwlat {
        hwlat_settings(&tracefs, &mut guard, options)?;
    } else {
        settings(&tracefs, &mut guard, options, workload)?;
    }
    guard.make_folder(&instance).map_err(failed("make", &instance))?;
    if workload == Workload::Hwlat {
        let path = instance.join("tracing_cpumask");
        disk::set(&path, mask(&options.cpus)).map_err(failed("write", &path))?;
    } else {
        events(&instance, options)?;
    }
    let path = instance.join("current_tracer");
    disk::set(&path, tracer).map_err(|source| {
        if source.raw_os_error() == Some(libc::EBUSY) {
            let other = if tracer == "timerlat" { "osnoise" } else { "timerlat" };
            let other = if tracer == "hwlat" { "hwlat" } else { other };
            return LatencyError::Options(format!(
                "the {tracer} tracer cannot run: {other} is busy in another instance"
            ));
        }
        failed("start the tracer by", &path)(source)
    })?;
    // Once the pipe is open the tracer can be changed no more (EBUSY).
    let path = instance.join("trace_pipe");
    let pipe = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).map_err(failed("open", &path))?;
    place(kernel, tracer, options)?;
    Ok(Started { guard, instance, pipe })
}

/// A tracer that shares settings with this one and is in use, and where. osnoise and timerlat exclude each other; of two
/// users of one tracer the second would change what the first one measures.
fn in_use(tracefs: &Path, tracer: &str) -> Option<(String, String)> {
    let sharing: &[&str] = if tracer == "hwlat" { &["hwlat"] } else { &["osnoise", "timerlat"] };
    let of = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join("current_tracer")).ok()?;
        sharing.contains(&text.trim()).then(|| text.trim().to_owned())
    };
    let instances = std::fs::read_dir(tracefs.join("instances")).into_iter().flatten().flatten();
    let inside = |entry: std::fs::DirEntry| {
        Some((of(&entry.path())?, format!("by the instance {}", entry.file_name().to_string_lossy())))
    };
    let whole = of(tracefs).map(|other| (other, "as the tracer of the whole system".to_owned()));
    whole.or_else(|| instances.into_iter().find_map(inside))
}

/// Gives the tracer's threads the policy and the control group that are asked for, where those are not what they have.
fn place(kernel: &Kernel, tracer: &str, options: &Options) -> Result<(), LatencyError> {
    let own = if tracer == "timerlat" { Policy::Fifo(95) } else { Policy::Other };
    if options.policy == own && !options.join_cgroup {
        return Ok(());
    }
    let threads = await_threads(kernel, tracer, options.cpus.len());
    let failed = |operation, cpu| move |source| LatencyError::Thread { operation, cpu, source, hint: "" };
    for (cpu, pid) in threads {
        if options.policy != own {
            let operation = "give the tracer's thread its scheduling policy";
            set_policy_of(pid, options.policy).map_err(failed(operation, cpu))?;
        }
        if options.join_cgroup {
            let operation = "move the tracer's thread to the control group of this process";
            let file = own_cgroup_file(kernel)?;
            disk::set(file, pid.to_string()).map_err(failed(operation, cpu))?;
        }
    }
    Ok(())
}

/// The tracer's threads once all are there: they start one after the other.
fn await_threads(kernel: &Kernel, tracer: &str, wanted: usize) -> Vec<(u32, u32)> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        let threads = threads(&kernel.roots().proc, tracer);
        if threads.len() >= wanted || Instant::now() > end {
            return threads;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The tracer's threads, with their CPUs: those of the kernel, which have no command line.
fn threads(proc: &Path, tracer: &str) -> Vec<(u32, u32)> {
    let of = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let comm = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let cpu = comm.trim_end().strip_prefix(tracer)?.strip_prefix('/')?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        command.is_empty().then_some((cpu, pid))
    };
    std::fs::read_dir(proc).into_iter().flatten().flatten().filter_map(of).collect()
}

/// hwlat's settings: a window begins so often, and each CPU spins for `width` of it.
fn hwlat_settings(tracefs: &Path, guard: &mut Guard, options: &Options) -> Result<(), LatencyError> {
    let folder = tracefs.join("hwlat_detector");
    let mut set = |path: PathBuf, value: &str| guard.set(&path, value).map_err(failed("write", &path));
    set(tracefs.join("tracing_thresh"), &(options.gap_ns / 1000).max(1).to_string())?;
    let (width, window) = ((options.runtime_ns / 1000).to_string(), (options.period_ns / 1000).to_string());
    let width_now: u64 =
        std::fs::read_to_string(folder.join("width")).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(u64::MAX);
    // The width may not be longer than the window, at no moment.
    if options.period_ns / 1000 <= width_now {
        set(folder.join("width"), &width)?;
        set(folder.join("window"), &window)?;
    } else {
        set(folder.join("window"), &window)?;
        set(folder.join("width"), &width)?;
    }
    // Before 5.14 one thread goes round.
    let mode = folder.join("mode");
    if mode.exists() { set(mode, "per-cpu") } else { Ok(()) }
}

/// CPUs as a mask of the kernel's: groups of 32 bits, the highest first.
fn mask(cpus: &[u32]) -> String {
    let last = cpus.iter().max().map_or(0, |cpu| *cpu as usize / 32);
    let mut words = vec![0_u32; last + 1];
    cpus.iter().for_each(|cpu| words[*cpu as usize / 32] |= 1 << (cpu % 32));
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

/// Global settings, those of the last user included: a run does not depend on what was left there.
fn settings(tracefs: &Path, guard: &mut Guard, options: &Options, workload: Workload) -> Result<(), LatencyError> {
    let folder = tracefs.join("osnoise");
    let mut set = |path: PathBuf, value: &str| guard.set(&path, value).map_err(failed("write", &path));
    let us = |ns: u64| (ns / 1000).to_string();
    let thresholds = &options.thresholds;
    set(folder.join("cpus"), &list(&options.cpus))?;
    set(folder.join("stop_tracing_us"), "0")?;
    set(folder.join("stop_tracing_total_us"), "0")?;
    if options.mode == Mode::Timerlat {
        set(folder.join("timerlat_period_us"), &us(options.period_ns))?;
        let print = match (options.stacks, options.stack_ns) {
            (false, _) => 0,
            (true, 0) => thresholds.thread_ns.max(thresholds.irq_ns),
            (true, from_ns) => from_ns,
        };
        set(folder.join("print_stack"), &us(print))?;
        // A stop would lose the rest of the cycle: thresholds are watched here.
        return flags(guard, &folder, Workload::Kernel);
    }
    set(tracefs.join("tracing_thresh"), &us(options.gap_ns))?;
    // The run time may never be longer than the period, at no moment.
    let runtime = folder.join("runtime_us");
    let period = folder.join("period_us");
    let now: u64 = std::fs::read_to_string(&runtime).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(u64::MAX);
    let (wanted_runtime, wanted_period) = (us(options.runtime_ns), us(options.period_ns));
    if options.period_ns / 1000 < now {
        set(runtime, &wanted_runtime)?;
        set(period, &wanted_period)?;
    } else {
        set(period, &wanted_period)?;
        set(runtime, &wanted_runtime)?;
    }
    flags(guard, &folder, workload)
}

/// `osnoise/options`, which kernels before 6.2 lack.
fn flags(guard: &mut Guard, folder: &Path, workload: Workload) -> Result<(), LatencyError> {
    let path = folder.join("options");
    if !path.exists() {
        return match workload {
            Workload::Kernel | Workload::Hwlat => Ok(()),
            Workload::InterruptsOff => Err(Absence::new(
                "hwnoise",
                "this kernel's osnoise tracer cannot spin with interrupts off (osnoise/options, Linux 6.2)",
                "use osnoise: its HW column has the gaps in which nothing was entered",
            )
            .into()),
        };
    }
    let flags: &[&str] = match workload {
        Workload::Kernel | Workload::Hwlat => &["DEFAULTS"],
        Workload::InterruptsOff => &["DEFAULTS", "OSNOISE_IRQ_DISABLE"],
    };
    guard.set_flags(&path, flags).map_err(failed("write", &path))
}

/// Events that the analysis needs, in the instance alone.
fn events(instance: &Path, options: &Options) -> Result<(), LatencyError> {
    let enable = |event: &str| {
        let path = instance.join(format!("events/osnoise/{event}/enable"));
        disk::set(&path, "1").map_err(failed("write", &path))
    };
    if options.mode == Mode::Osnoise {
        enable("sample_threshold")?;
    }
    if options.thresholds != crate::tracer::latency::Thresholds::default() {
        ["nmi_noise", "irq_noise", "softirq_noise", "thread_noise"].into_iter().try_for_each(enable)?;
    }
    Ok(())
}

/// A list of CPUs in the kernel's form, short: before 6.16 it may have 256 bytes.
fn list(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let text = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_written_as_ranges() {
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(list(&[3]), "3");
        assert_eq!(mask(&[0, 1, 3]), "0000000b");
        assert_eq!(mask(&[0, 33]), "00000002,00000001");
    }

    #[test]
    fn a_tracer_that_others_use_is_found_where_it_is() {
        let root = std::env::temp_dir().join(format!("probescope-in-use-{}", std::process::id()));
        let set = |folder: &str, tracer: &str| {
            std::fs::create_dir_all(root.join(folder)).unwrap();
            std::fs::write(root.join(folder).join("current_tracer"), format!("{tracer}\n")).unwrap();
        };
        set("", "nop");
        set("instances/other", "function");
        assert_eq!(in_use(&root, "osnoise"), None);
        set("instances/timerlat_top", "timerlat");
        let found = in_use(&root, "osnoise").unwrap();
        assert_eq!((found.0.as_str(), found.1.as_str()), ("timerlat", "by the instance timerlat_top"));
        assert_eq!(in_use(&root, "hwlat"), None);
        set("", "hwlat");
        assert!(in_use(&root, "hwlat").unwrap().1.contains("whole system"));
        std::fs::remove_dir_all(root).unwrap();
    }
}
