//! Perf events: timers, software and hardware counters, breakpoints.

use std::path::Path;

use super::kernel::hang;
use super::{Attached, Job, Refusal};
use crate::engine::sys::perf::{self, Event, Rate};
use crate::model::target::{self, Target};

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK` (include/uapi/linux/perf_event.h).
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;

pub(super) fn events(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    events_of(job, &job.place.online_cpus, true, links)
}

/// What is to be on these CPUs, and what is on one CPU alone (`timers`).
pub(super) fn events_of(job: &Job<'_>, cpus: &[u32], timers: bool, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    for (i, target) in job.targets() {
        match target {
            Target::Interval { .. } if !timers => {}
            Target::Interval { period_ns } => {
                let first = job.place.online_cpus.first().copied().unwrap_or(0);
                timer(job, i, Rate::Period(*period_ns), &[first], links)?;
            }
            Target::Profile { rate } => {
                let rate = match rate {
                    target::Rate::Hertz(n) => Rate::Frequency(*n),
                    target::Rate::PeriodNs(n) => Rate::Period(*n),
                };
                timer(job, i, rate, cpus, links)?;
            }
            Target::PerfEvent { kind, config, period } => {
                let event = (*kind, *config, Rate::Period(*period));
                on_cpus(job, i, event, cpus, links)?;
            }
            Target::Watchpoint { address, length, mode, pid } => {
                watchpoint(job, i, (*address, *length, *mode), pid.or(job.place.pid), cpus, links)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn timer(job: &Job<'_>, i: usize, rate: Rate, cpus: &[u32], links: &mut Vec<Attached>) -> Result<(), Refusal> {
    on_cpus(job, i, (SOFTWARE, CPU_CLOCK, rate), cpus, links)
}

/// On all of these CPUs, for whatever runs: an event of a process would be one of its first thread, and the program asks
/// whose firing it is.
fn on_cpus(
    job: &Job<'_>,
    i: usize,
    (kind, config, rate): (u32, u64, Rate),
    cpus: &[u32],
    links: &mut Vec<Attached>,
) -> Result<(), Refusal> {
    for (n, cpu) in cpus.iter().enumerate() {
        let event = Event { kind, config, rate, pid: -1, cpu: *cpu as i32 };
        let fd = perf::open(&event).map_err(|e| Refusal::io(i, &e))?;
        let link = hang(job, i, fd)?;
        job.done_on(*cpu, links, link, usize::from(n == 0));
    }
    Ok(())
}

fn watchpoint(
    job: &Job<'_>,
    i: usize,
    (address, length, mode): (u64, u8, u8),
    pid: Option<u32>,
    cpus: &[u32],
    links: &mut Vec<Attached>,
) -> Result<(), Refusal> {
    let places: Vec<(i32, i32)> = match pid {
        Some(pid) => threads(&job.place.proc, pid).into_iter().map(|thread| (thread, -1)).collect(),
        None => cpus.iter().map(|cpu| (-1, *cpu as i32)).collect(),
    };
    let (several, mut first) = (places.len() > 1, true);
    for (pid, cpu) in places {
        let fd = match perf::open_breakpoint(address, length, mode, pid, cpu) {
            // A thread that ended meanwhile, or the first one of a process that goes on without it.
            Err(e) if several && e.raw_os_error() == Some(libc::ESRCH) => continue,
            opened => opened.map_err(|e| Refusal::io(i, &e))?,
        };
        let link = hang(job, i, fd)?;
        let counted = usize::from(std::mem::take(&mut first));
        match u32::try_from(cpu) {
            Ok(cpu) => job.done_on(cpu, links, link, counted),
            Err(_) => job.done(links, link, counted),
        }
    }
    Ok(())
}

/// The threads of a process, itself first. A breakpoint is a thread's; those that it starts later inherit it.
fn threads(proc: &Path, pid: u32) -> Vec<i32> {
    let first = pid as i32;
    let mut list = vec![first];
    if let Ok(tasks) = std::fs::read_dir(proc.join(format!("{pid}/task"))) {
        let ids = tasks.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        list.extend(ids.filter(|id| *id != first));
    }
    list
}
