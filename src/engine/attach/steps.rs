//! Many functions of the kernel under a budget, attached in steps: behind each it is measured what their firings cost
//! while nothing runs at them. Functions that cost more than the budget even so are let go at once, and left out.

use std::collections::HashSet;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Attached, Detaching, Held, Job, Refusal, halves};
use crate::engine::dispatch::Cost;
use crate::engine::sys::bpf;
use crate::model::budget::Budget;
use crate::model::target::Target;
use crate::model::words;

/// Fewer functions are attached at once.
pub(super) const FEW: usize = 1024;
/// The first step, the smallest and the largest, functions.
const FIRST: usize = 128;
const SMALLEST: usize = 32;
const LARGEST: usize = 4096;
/// How long the cost of a step is measured.
const LOOK: Duration = Duration::from_millis(60);
/// Attaching takes no longer than this: what is left then is left out.
const MOST: Duration = Duration::from_secs(45);
/// The part of a budget that firings of probes that are turned off may take: the rest is for those that run.
const FLOOR_PART: f64 = 0.75;

/// How attaching in steps is bounded.
#[derive(Clone, Debug)]
pub struct Steps {
    /// What the CPUs may give.
    pub budget: Budget,
    /// Set once the user wants the end.
    pub stopping: Arc<AtomicBool>,
}

/// What was left out, by name: a function's return is left out where its entry was, and the other way round.
pub(super) type LeftOut = HashSet<Arc<str>>;

type Link<'l> = &'l dyn Fn(&[(usize, &Target)]) -> Result<Held, String>;
type Alone<'l> = &'l dyn Fn(&(usize, &Target), String, &mut Vec<Attached>) -> Result<(), Refusal>;

/// Attaches a program to its functions, as far as they keep the budget while they are turned off.
pub(super) fn attach(
    job: &Job<'_>,
    steps: &Steps,
    targets: &[(usize, &Target)],
    links: &mut Vec<Attached>,
    (link, alone): (Link<'_>, Alone<'_>),
) -> Result<(), Refusal> {
    let _statistics = bpf::enable_run_statistics().ok();
    let began = Instant::now();
    let allowed = steps.budget.percent() * FLOOR_PART;
    let known = |target: &Target| name(target).is_some_and(|name| job.left_out.borrow().contains(&name));
    let (known, wanted): (Vec<_>, Vec<_>) = targets.iter().copied().partition(|(_, target)| known(target));
    let mut left: Vec<(usize, &Target)> = known;
    let (mut rest, mut size) = (&wanted[..], FIRST);
    let mut why = "they fire too often, and what firings take while nothing runs at them has to stay within the budget";
    while !rest.is_empty() {
        let stopped = steps.stopping.load(Ordering::Relaxed);
        if stopped || began.elapsed() > MOST {
            why = if stopped { "the end was wanted" } else { "attaching within the budget took too long here" };
            left.extend_from_slice(rest);
            break;
        }
        let (step, behind) = rest.split_at(size.min(rest.len()));
        let mut new = Vec::new();
        halves(job, step, &mut new, link, alone)?;
        let share = measured(job);
        if share <= allowed {
            links.append(&mut new);
            rest = behind;
            size = if share < allowed / 2.0 { (size * 2).min(LARGEST) } else { size };
            continue;
        }
        let _ = Detaching::of(new).release();
        if step.len() <= SMALLEST {
            left.extend_from_slice(step);
            rest = behind;
        }
        size = (step.len() / 4).max(SMALLEST);
    }
    tell(job, &left, (targets.len(), why, steps.budget));
    Ok(())
}

/// What the program's firings take of all CPUs' time now, percent.
fn measured(job: &Job<'_>) -> f64 {
    let read = || bpf::program_info(job.loaded.as_fd()).unwrap_or_default();
    let (before, began) = (read(), Instant::now());
    std::thread::sleep(LOOK);
    let (after, elapsed) = (read(), began.elapsed());
    let cost = Cost::of(
        job.spec.kind,
        after.runs.saturating_sub(before.runs),
        after.run_time_ns.saturating_sub(before.run_time_ns),
        after.recursion_misses.saturating_sub(before.recursion_misses),
    );
    let all = elapsed.as_nanos() as f64 * job.place.online_cpus.len().max(1) as f64;
    cost.ns(cost.slowness()) / all * 100.0
}

/// One refusal stands for all that were left out.
fn tell(job: &Job<'_>, left: &[(usize, &Target)], (all, why, budget): (usize, &str, Budget)) {
    let Some((first, _)) = left.first() else { return };
    job.left_out.borrow_mut().extend(left.iter().filter_map(|(_, target)| name(target)));
    let (count, all) = (words::grouped(left.len() as u64), words::grouped(all as u64));
    let reason = format!("{count} of {all} functions are left out, this one first: {why} ({budget})");
    job.refused.borrow_mut().push(Refusal { target: *first, reason });
}

fn name(target: &Target) -> Option<Arc<str>> {
    match target {
        Target::Kprobe { function, .. } => Some(Arc::clone(function)),
        _ => None,
    }
}
