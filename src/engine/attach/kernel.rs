//! Tracepoints, kernel functions and everything whose section names the target.

use std::os::fd::AsRawFd as _;

use libbpf_rs::{KprobeMultiOpts, PerfEventOpts, RawTracepointOpts, TracepointCategory, TracepointOpts};

use super::{Attached, Held, Job, Refusal, steps};
use crate::codegen::artifact::ProgramKind;
use crate::engine::sys::{bpf, perf};
use crate::model::target::Target;

pub(super) fn tracepoints(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    for (i, target) in job.targets() {
        let Target::Tracepoint { category, event } = target else { continue };
        let category = TracepointCategory::Custom(category.to_string());
        let link = match job.cookie(i) {
            0 => job.loaded.attach_tracepoint(category, &**event),
            cookie => job.loaded.attach_tracepoint_with_opts(
                category,
                &**event,
                TracepointOpts { cookie, ..TracepointOpts::default() },
            ),
        };
        job.done(links, link.map_err(|e| Refusal::new(i, &e))?, 1);
    }
    Ok(())
}

/// Tracepoints by their raw ones, which have the same names.
pub(super) fn raw_tracepoints(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    for (i, target) in job.targets() {
        let Target::Tracepoint { event, .. } = target else { continue };
        let link = match job.cookie(i) {
            0 => job.loaded.attach_raw_tracepoint(event),
            cookie => job
                .loaded
                .attach_raw_tracepoint_with_opts(event, RawTracepointOpts { cookie, ..RawTracepointOpts::default() }),
        };
        job.done(links, link.map_err(|e| Refusal::new(i, &e))?, 1);
    }
    Ok(())
}

/// libbpf finds the target by the section's name or by what was set before the load.
pub(super) fn by_section(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let first = job.targets().next().map_or(0, |(i, _)| i);
    let link = job.loaded.attach().map_err(|e| Refusal::new(first, &e))?;
    job.done(links, link, job.spec.targets.len());
    Ok(())
}

/// One raw tracepoint program for many system call tracepoints.
pub(super) fn dispatch(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let link = if job.spec.section.contains('/') {
        job.loaded.attach()
    } else {
        job.loaded.attach_raw_tracepoint(dispatch_event(job))
    };
    job.done(links, link.map_err(|e| Refusal::new(0, &e))?, job.spec.targets.len());
    Ok(())
}

fn dispatch_event(job: &Job<'_>) -> &'static str {
    match job.first() {
        Some(Target::Tracepoint { event, .. }) if event.starts_with("sys_exit") => "sys_exit",
        _ => "sys_enter",
    }
}

const NOT_TRACEABLE: &str = "the kernel refuses it (EINVAL): functions that were compiled without tracing, as all of \
                             its lib/ is, can't be probed, nor can an offset inside an instruction";

pub(super) fn kprobes(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let pmu = pmu_type(job, "kprobe").map_err(|e| Refusal::io(0, &e))?;
    within_open_files(job.spec.targets.len())?;
    for (i, target) in job.targets() {
        kprobe(job, pmu, (i, target), links).or_else(|refusal| job.forgive(refusal))?;
    }
    Ok(())
}

/// Functions that are attached one by one need an open file each, and take the kernel some milliseconds each: told
/// beforehand when there can't be so many.
fn within_open_files(functions: usize) -> Result<(), Refusal> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    if functions as u64 <= limit {
        return Ok(());
    }
    let reason = format!(
        "each of its {functions} functions needs an open file on this kernel, and the limit is {limit}; raise it with \
         `ulimit -n`"
    );
    Err(Refusal { target: 0, reason })
}

fn kprobe(job: &Job<'_>, pmu: u32, (i, target): (usize, &Target), links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let Target::Kprobe { module, function, offset, ret } = target else { return Ok(()) };
    // The kernel takes MODULE:FUNCTION (kallsyms_lookup_name and its module form).
    let name = match &**module {
        "" | "vmlinux" => function.to_string(),
        module => format!("{module}:{function}"),
    };
    let opened = perf::open_kprobe(pmu, &name, *offset, *ret);
    if opened.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EADDRNOTAVAIL)) {
        let addresses = namesakes(job, function);
        if !addresses.is_empty() {
            return each_address(job, pmu, (i, *ret), addresses.iter().map(|a| a + offset), links);
        }
    }
    let event = opened.map_err(|e| refused(i, &e))?;
    let link = hang(job, i, event).map_err(not_injectable)?;
    job.done(links, link, 1);
    Ok(())
}

const NOT_INJECTABLE: &str = "override() works only at the entry of functions that allow error injection, which \
                              /sys/kernel/debug/error_injection/list names";

/// A kprobe that is there takes every program but one that overrides what may not be overridden
/// (`perf_event_attach_bpf_prog` in kernel/trace/bpf_trace.c).
fn not_injectable(refusal: Refusal) -> Refusal {
    if super::last_number() != Some(libc::EINVAL) {
        return refusal;
    }
    Refusal { reason: NOT_INJECTABLE.to_owned(), ..refusal }
}

/// Since Linux 6.6 the kernel takes no name that several functions have, as static ones may, and says
/// so by EADDRNOTAVAIL (`validate_probe_symbol` in kernel/trace/trace_kprobe.c). The script means each.
fn namesakes(job: &Job<'_>, function: &str) -> Vec<u64> {
    let Ok(text) = std::fs::read_to_string(job.place.proc.join("kallsyms")) else { return Vec::new() };
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let is_it = name == function && matches!(kind, "t" | "T" | "w" | "W");
        u64::from_str_radix(address, 16).ok().filter(|a| is_it && *a != 0)
    };
    text.lines().filter_map(address).collect()
}

fn each_address(
    job: &Job<'_>,
    pmu: u32,
    (i, ret): (usize, bool),
    addresses: impl Iterator<Item = u64>,
    links: &mut Vec<Attached>,
) -> Result<(), Refusal> {
    for (n, address) in addresses.enumerate() {
        let event = perf::open_kprobe(pmu, "", address, ret).map_err(|e| refused(i, &e))?;
        let link = hang(job, i, event).map_err(not_injectable)?;
        job.done(links, link, usize::from(n == 0));
    }
    Ok(())
}

fn refused(i: usize, e: &std::io::Error) -> Refusal {
    match e.raw_os_error() {
        // `within_notrace_func` (kernel/trace/trace_kprobe.c) and the list of functions that kprobes
        // themselves use: both are refused in this way.
        Some(libc::EINVAL) => Refusal { target: i, reason: NOT_TRACEABLE.to_owned() },
        Some(libc::EILSEQ) => Refusal { target: i, reason: super::INSIDE_AN_INSTRUCTION.to_owned() },
        _ => Refusal::io(i, e),
    }
}

/// Hangs the program on a perf event; libbpf closes the event with the link.
pub(super) fn hang(job: &Job<'_>, i: usize, event: std::os::fd::OwnedFd) -> Result<libbpf_rs::Link, Refusal> {
    let options = PerfEventOpts { cookie: job.cookie(i), ..PerfEventOpts::default() };
    let link = job.loaded.attach_perf_event_with_opts(event.as_raw_fd(), options).map_err(|e| Refusal::new(i, &e))?;
    // From here on the link owns the descriptor (bpf_link_perf_detach closes it).
    std::mem::forget(event);
    Ok(link)
}

/// One link for all functions; one each where the kernel has no multi links (before 5.18).
pub(super) fn kprobe_multi(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let plain = |target: &Target| matches!(target, Target::Kprobe { offset: 0, .. });
    let all: Vec<(usize, &Target)> = job.targets().collect();
    if all.iter().all(|(_, target)| plain(target)) { linked(job, &all, links) } else { kprobes(job, links) }
}

/// One link for the entries and returns of all functions.
pub(super) fn kprobe_session(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let all: Vec<(usize, &Target)> = job.targets().collect();
    linked(job, &all, links)
}

/// One link for these functions; those that are refused alone may still be reached by a kprobe.
fn linked(job: &Job<'_>, targets: &[(usize, &Target)], links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let link = |targets: &[(usize, &Target)]| {
        one_link(job, targets).map(Held::from).map_err(|error| super::reason(&error, super::last_number()))
    };
    let alone = |only: &(usize, &Target), refused: String, links: &mut Vec<Attached>| {
        if job.spec.kind == ProgramKind::KprobeSession {
            return job.forgive(Refusal { target: only.0, reason: refused });
        }
        let pmu = pmu_type(job, "kprobe").map_err(|e| Refusal::io(only.0, &e))?;
        kprobe(job, pmu, *only, links).or_else(|single| {
            job.forgive(match single.reason.as_str() {
                NOT_INJECTABLE => single,
                reason => Refusal { reason: format!("{reason}; as one link: {refused}"), ..single },
            })
        })
    };
    match &job.place.steps {
        Some(steps) if targets.len() > steps::FEW => steps::attach(job, steps, targets, links, (&link, &alone)),
        _ => super::halves(job, targets, links, &link, &alone),
    }
}

fn one_link(job: &Job<'_>, targets: &[(usize, &Target)]) -> libbpf_rs::Result<libbpf_rs::Link> {
    let name = |target: &Target| match target {
        Target::Kprobe { function, .. } => function.to_string(),
        _ => String::new(),
    };
    let symbols = targets.iter().map(|(_, target)| name(target)).collect();
    let cookies =
        if job.spec.needs_cookie { targets.iter().map(|(i, _)| job.cookie(*i)).collect() } else { Vec::new() };
    if job.spec.kind == ProgramKind::KprobeSession {
        return bpf::attach_session(job.loaded, symbols, &cookies);
    }
    let options = KprobeMultiOpts {
        symbols,
        cookies,
        retprobe: matches!(job.first(), Some(Target::Kprobe { ret: true, .. })),
        ..KprobeMultiOpts::default()
    };
    job.loaded.attach_kprobe_multi_with_opts(options)
}

/// The number of a dynamic PMU, from `/sys/bus/event_source/devices/NAME/type`.
pub(super) fn pmu_type(job: &Job<'_>, name: &str) -> std::io::Result<u32> {
    let path = job.place.sys.join("bus/event_source/devices").join(name).join("type");
    let text = std::fs::read_to_string(path)?;
    text.trim().parse().map_err(|_| std::io::Error::from_raw_os_error(libc::EINVAL))
}
