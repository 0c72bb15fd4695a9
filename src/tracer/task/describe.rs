//! Names for what the programs tell by numbers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::latency::layout::{irq_name, softirq_name};
use crate::engine::names::Cgroups;
use crate::engine::symbols::{Of, UserSymbols};
use crate::engine::task::layout::{Context, Ran, Wait, Waker};
use crate::engine::task::{Behind, Place, TaskMeter};
use crate::kernel::Kernel;
use crate::model::task::{BehindWhom, LongWait, Part, Reason, Relation, Turn, WaitPlace, reason};
use crate::model::value::Frame;
use crate::tracer::latency::bpf::episode::{kernel_frame, line_name};
use crate::tracer::latency::sources::function_name;

/// Functions on top of a stack that are the scheduler's, or tracing's own.
const OWN: [&str; 12] = [
    "bpf_",
    "__bpf_",
    "__traceiter",
    "trace_",
    "__schedule",
    "schedule",
    "preempt_schedule",
    "__cond_resched",
    "try_to_wake_up",
    "wake_up_process",
    "default_wake_function",
    "ttwu_",
];

/// How far down they are looked for.
const MOST_OWN: usize = 10;

/// Names, and those that were found already.
#[derive(Debug)]
pub struct Describer {
    kernel: Arc<Kernel>,
    symbols: UserSymbols,
    cgroups: Cgroups,
    paths: HashMap<u64, String>,
    reasons: HashMap<(Part, Option<u32>), (Reason, String)>,
}

impl Describer {
    pub fn new(kernel: &Arc<Kernel>) -> Self {
        Self {
            symbols: UserSymbols::new(kernel.roots().proc.clone(), true),
            cgroups: Cgroups::new(kernel.roots().proc.join("self/mounts")),
            kernel: Arc::clone(kernel),
            paths: HashMap::new(),
            reasons: HashMap::new(),
        }
    }

    /// A control group's path.
    fn path(&mut self, id: u64) -> String {
        if let Some(known) = self.paths.get(&id) {
            return known.clone();
        }
        let found = self.cgroups.paths(id, |hierarchy| hierarchy == "unified");
        let path = found.strip_prefix("unified:").unwrap_or(&found).to_owned();
        self.paths.insert(id, path.clone());
        path
    }

    fn kernel_stack(&self, meter: &TaskMeter, number: Option<u32>) -> Vec<Frame> {
        let addresses = number.map(|number| meter.stack(number)).unwrap_or_default();
        let frames: Vec<Frame> = addresses.into_iter().map(|address| kernel_frame(&self.kernel, address)).collect();
        without_own(frames)
    }

    fn user_stack(&mut self, meter: &TaskMeter, tgid: u32, number: Option<u32>) -> Vec<Frame> {
        let addresses = number.map(|number| meter.stack(number)).unwrap_or_default();
        addresses.into_iter().flat_map(|address| self.symbols.frames(tgid, address, Of::Stack).to_vec()).collect()
    }

    fn reason(&mut self, meter: &TaskMeter, part: Part, stack: Option<u32>) -> (Reason, String) {
        if matches!(part, Part::Preempted | Part::Throttled | Part::Stopped) {
            return Default::default();
        }
        if let Some(known) = self.reasons.get(&(part, stack)) {
            return known.clone();
        }
        let frames = self.kernel_stack(meter, stack);
        let (reason, function) = reason(part, frames.iter().filter_map(|frame| frame.symbol.as_deref()));
        let first = frames.first().and_then(|frame| frame.symbol.as_deref());
        let told = (reason, function.or(first).unwrap_or_default().to_owned());
        self.reasons.insert((part, stack), told.clone());
        told
    }

    /// A wait without its stacks and names.
    pub fn outline(&mut self, meter: &TaskMeter, wait: &Wait) -> LongWait {
        let woken = wait.waker.as_ref().map(|waker| waker.at_ns).filter(|at| (wait.off_ns..=wait.on_ns).contains(at));
        let could_run = matches!(wait.why, Part::Preempted | Part::Throttled);
        let woken = woken.filter(|_| !could_run);
        let ready = wait.ready_ns.clamp(woken.unwrap_or(wait.off_ns), wait.on_ns);
        LongWait {
            name: format!("{}:{}", wait.comm, wait.pid),
            began_ns: wait.off_ns,
            why: wait.why,
            reason: self.reason(meter, wait.why, wait.kernel_stack).0,
            blocked_ns: woken.map_or(if could_run { 0 } else { ready - wait.off_ns }, |at| at - wait.off_ns),
            waking_ns: woken.map_or(0, |at| ready - at),
            delay_ns: if could_run { wait.on_ns - wait.off_ns } else { wait.on_ns - ready },
            irq_ns: wait.irq_ns,
            cpu: wait.cpu,
            moved: wait.moved,
            waker: String::new(),
            waker_stack: Vec::new(),
            taken_by: String::new(),
            behind: Vec::new(),
            kernel_stack: Vec::new(),
            user_stack: Vec::new(),
            blocker_kernel: Vec::new(),
            blocker_user: Vec::new(),
        }
    }

    /// Adds stacks and names.
    pub fn complete(&mut self, meter: &TaskMeter, wait: &Wait, long: &mut LongWait) {
        if long.blocked_ns > 0
            && let Some(waker) = &wait.waker
        {
            long.waker = self.waker(waker);
            long.waker_stack = self.kernel_stack(meter, waker.stack);
        }
        long.taken_by = who(&wait.taken_by.comm, wait.taken_by.pid);
        let turns: Vec<Turn> = wait.behind.iter().rev().map(|ran| self.turn(ran, wait)).collect();
        // Whoever ran while it had no quota did not keep it.
        long.behind = turns.into_iter().filter(|turn| turn.ns > 0 && wait.why != Part::Throttled).collect();
        long.kernel_stack = self.kernel_stack(meter, wait.kernel_stack);
        long.user_stack = self.user_stack(meter, wait.tgid, wait.user_stack);
        if let Some(last) = wait.behind.first().filter(|last| last.pid != 0) {
            long.blocker_kernel = self.kernel_stack(meter, wait.blocker_kernel);
            long.blocker_user = self.user_stack(meter, last.pid, wait.blocker_user);
        }
    }

    fn turn(&mut self, ran: &Ran, wait: &Wait) -> Turn {
        let from_ns = ran.start_ns.max(wait.ready_ns);
        Turn {
            name: who(&ran.comm, ran.pid),
            cgroup: if ran.pid == 0 { String::new() } else { self.path(ran.cgroup) },
            from_ns: from_ns.saturating_sub(wait.off_ns),
            ns: ran.end_ns.saturating_sub(from_ns),
        }
    }

    fn waker(&self, waker: &Waker) -> String {
        let timer = |text: &mut String| {
            if let Some(function) = waker.timer {
                text.push_str(&format!(", timer {}", function_name(&self.kernel, function)));
            }
        };
        let mut text = match waker.context {
            Context::Thread => who(&waker.comm, waker.pid),
            Context::Irq(id) => format!("IRQ {}", irq_name(id, |line| line_name(&self.kernel, line))),
            Context::Softirq(vector) => format!("softirq {}", softirq_name(vector)),
        };
        if waker.context != Context::Thread {
            timer(&mut text);
        }
        text.push_str(&format!(" on CPU {}", waker.cpu));
        text
    }

    /// Somebody who had the CPU.
    pub fn behind(&mut self, behind: &Behind, own: &[(u32, u32)], groups: &[String]) -> BehindWhom {
        let cgroup = if behind.pid == 0 { String::new() } else { self.path(behind.cgroup) };
        let relation = if behind.pid == 0 {
            Relation::Idle
        } else if own.iter().any(|(pid, tgid)| [*pid, *tgid].contains(&behind.pid)) {
            Relation::Itself
        } else if groups.contains(&cgroup) {
            Relation::Sibling
        } else {
            Relation::Neighbour
        };
        BehindWhom {
            name: who(&behind.comm, behind.pid),
            cgroup,
            relation,
            ns: behind.ns,
            count: behind.count,
            max_ns: behind.max_ns,
        }
    }

    /// A place where threads waited.
    pub fn place(&mut self, meter: &TaskMeter, place: &Place) -> WaitPlace {
        let (reason, function) = self.reason(meter, place.part, place.stack);
        WaitPlace {
            part: place.part,
            reason,
            function,
            ns: place.ns,
            count: place.count,
            max_ns: place.max_ns,
            stack: self.kernel_stack(meter, place.stack),
        }
    }
}

/// A stack from where the scheduler was called: what is above it is the scheduler's, and our program's, whose address
/// may be taken for any name.
fn without_own(frames: Vec<Frame>) -> Vec<Frame> {
    let is_own =
        |frame: &Frame| frame.symbol.as_ref().is_some_and(|symbol| OWN.iter().any(|begin| symbol.starts_with(begin)));
    let top = frames.len().min(MOST_OWN);
    let last = frames[..top].iter().rposition(is_own).map_or(0, |at| at + 1);
    frames.into_iter().skip(last).collect()
}

/// A thread as it is named.
fn who(comm: &str, pid: u32) -> String {
    if pid == 0 { "the idle thread".to_owned() } else { format!("{comm}:{pid}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_begins_where_the_scheduler_was_called() {
        let frame =
            |name: &str| Frame { address: 1, symbol: Some(name.into()), offset: 0, object: None, inlined: false };
        let names = ["__stop_runtime_ptr", "bpf_trace_run4", "__schedule", "schedule", "futex_do_wait", "do_futex"];
        let kept = without_own(names.map(frame).to_vec());
        assert_eq!(
            kept.iter().map(|f| f.symbol.as_deref().unwrap()).collect::<Vec<_>>(),
            ["futex_do_wait", "do_futex"]
        );
        assert_eq!(without_own(vec![frame("do_wait")]).len(), 1);
        assert!(without_own(Vec::new()).is_empty());
    }
}
