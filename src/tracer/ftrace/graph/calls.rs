//! Putting entries and returns together.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::session::Event;
use crate::kernel::record::{Raw, RecordShape};

/// Calls below one root that are kept; more are counted in their function and in the time of who called them.
const MOST_CALLS: usize = 100_000;
/// Different stacks of functions that are kept.
const MOST_STACKS: usize = 200_000;
/// Arguments that a record has, at most.
const MOST_ARGUMENTS: usize = 16;

/// One call of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Its address.
    pub function: u64,
    /// When it was entered, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// How long it took; `None` where its return was not seen.
    pub total_ns: Option<u64>,
    /// The same without what it called.
    pub self_ns: u64,
    /// The first arguments as registers have them, where the kernel records them.
    pub arguments: Vec<u64>,
    /// What it returned, where the kernel records it.
    pub returned: Option<u64>,
    /// What it called, in order.
    pub calls: Vec<Call>,
    /// Calls below it that were not kept.
    pub left_out: u64,
    /// Its entry was not seen: it had begun before, or the entry was lost.
    pub begun_before: bool,
    depth: u32,
    below_ns: u64,
}

impl Call {
    /// The same with those calls only that took as long, and what they are in. `None` where nothing of it did.
    #[must_use]
    pub fn at_least(mut self, least_ns: u64) -> Option<Self> {
        let calls = std::mem::take(&mut self.calls);
        self.calls = calls.into_iter().filter_map(|call| call.at_least(least_ns)).collect();
        let long = self.total_ns.is_none_or(|total| total >= least_ns);
        (long || !self.calls.is_empty()).then_some(self)
    }
}

/// A call that nobody traced made, with all that it called.
#[derive(Clone, Debug)]
pub struct Root {
    /// Where it ended.
    pub cpu: u16,
    /// The thread.
    pub pid: i32,
    /// Its name.
    pub comm: Arc<str>,
    /// The call.
    pub call: Call,
}

/// What is known of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Calls whose return was seen.
    pub calls: u64,
    /// Their time, ns. Calls of itself count in full.
    pub total_ns: u64,
    /// The same without what it called.
    pub self_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// The shortest, ns.
    pub min_ns: u64,
}

impl Function {
    fn add(&mut self, total_ns: u64, self_ns: u64) {
        self.min_ns = if self.calls == 0 { total_ns } else { self.min_ns.min(total_ns) };
        self.calls += 1;
        self.total_ns = self.total_ns.saturating_add(total_ns);
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.max_ns = self.max_ns.max(total_ns);
    }
}

/// What was put together, and what could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counted {
    /// Entries.
    pub entries: u64,
    /// Returns.
    pub returns: u64,
    /// Entries whose return was not seen.
    pub unfinished: u64,
    /// Returns whose entry was not seen.
    pub begun_before: u64,
    /// Stacks that found no room.
    pub stacks_left_out: u64,
}

/// A thread's open calls.
#[derive(Debug, Default)]
struct Thread {
    open: Vec<Call>,
    kept: usize,
    comm: Option<Arc<str>>,
    cpu: u16,
}

/// All threads' calls.
#[derive(Debug, Default)]
pub struct Trees {
    /// Threads by number; idle threads share one, and are told apart by their CPU.
    threads: HashMap<(i32, u16), Thread>,
    functions: HashMap<u64, Function>,
    /// Time of stacks without what they called, outermost first.
    stacks: HashMap<Vec<u64>, u64>,
    counted: Counted,
}

/// Where records of calls have what.
enum Kind {
    Entry,
    Return,
}

fn kind(shape: &RecordShape) -> Option<Kind> {
    match (&*shape.system, &*shape.name) {
        ("ftrace", "funcgraph_entry" | "fgraph_retaddr_entry") => Some(Kind::Entry),
        ("ftrace", "funcgraph_exit") => Some(Kind::Return),
        _ => None,
    }
}

impl Trees {
    /// Takes an event. Gives a root once it has returned.
    pub fn event(&mut self, event: &Event<'_>) -> Option<Root> {
        let shape = event.shape;
        let kind = kind(shape)?;
        let number = |name: &str| shape.number(name, event.abi, event.record);
        let (function, depth) = (number("func")?, number("depth").unwrap_or(0) as u32);
        let key = (event.pid, if event.pid == 0 { event.cpu } else { u16::MAX });
        let thread = self.threads.entry(key).or_default();
        thread.cpu = event.cpu;
        if thread.comm.as_ref().is_none_or(|comm| !Arc::ptr_eq(comm, event.comm)) {
            thread.comm = Some(Arc::clone(event.comm));
        }
        match kind {
            Kind::Entry => {
                self.counted.entries += 1;
                let arguments = arguments(event);
                let call = Call { function, at_ns: event.at_ns, arguments, depth, ..Call::default() };
                self.entered(key, call);
                None
            }
            Kind::Return => {
                self.counted.returns += 1;
                let took = match (number("calltime"), number("rettime")) {
                    (Some(begun), Some(ended)) if ended >= begun && begun > 0 => Some((begun, ended - begun)),
                    _ => None,
                };
                let call = self.returned(key, function, depth, event.at_ns, took, number("retval"))?;
                Some(Root { cpu: event.cpu, pid: event.pid, comm: Arc::clone(event.comm), call })
            }
        }
    }

    fn entered(&mut self, key: (i32, u16), call: Call) {
        let thread = self.threads.entry(key).or_default();
        // Whose return was lost.
        while thread.open.last().is_some_and(|top| top.depth >= call.depth) {
            self.counted.unfinished += 1;
            close_unfinished(thread);
        }
        thread.open.push(call);
    }

    fn returned(
        &mut self,
        key: (i32, u16),
        function: u64,
        depth: u32,
        at_ns: u64,
        took: Option<(u64, u64)>,
        returned: Option<u64>,
    ) -> Option<Call> {
        let thread = self.threads.entry(key).or_default();
        while thread.open.last().is_some_and(|top| top.depth > depth) {
            self.counted.unfinished += 1;
            close_unfinished(thread);
        }
        let entered = thread.open.last().is_some_and(|top| top.depth == depth && top.function == function);
        let mut call = if entered {
            thread.open.pop()?
        } else {
            self.counted.begun_before += 1;
            let at_ns = took.map_or(at_ns, |(begun, _)| begun);
            Call { function, at_ns, depth, begun_before: true, ..Call::default() }
        };
        let total_ns = took.map_or_else(|| at_ns.saturating_sub(call.at_ns), |(_, took)| took);
        // Of one that had begun before not all that it called is known.
        call.self_ns = if call.begun_before { 0 } else { total_ns.saturating_sub(call.below_ns) };
        call.total_ns = Some(total_ns);
        call.returned = returned;
        self.functions.entry(function).or_default().add(total_ns, call.self_ns);
        let mut stack: Vec<u64> = thread.open.iter().map(|call| call.function).collect();
        stack.push(function);
        if self.stacks.len() < MOST_STACKS || self.stacks.contains_key(&stack) {
            *self.stacks.entry(stack).or_insert(0) += call.self_ns;
        } else {
            self.counted.stacks_left_out += 1;
        }
        hang(thread, call)
    }

    /// Nothing more comes: what is open ends without a return. Gives the roots.
    pub fn finish(&mut self) -> Vec<Root> {
        let mut roots = Vec::new();
        let unknown: Arc<str> = "<...>".into();
        for ((pid, _), thread) in &mut self.threads {
            while let Some(call) = thread.open.pop() {
                self.counted.unfinished += 1;
                if let Some(call) = hang(thread, call) {
                    let comm = Arc::clone(thread.comm.as_ref().unwrap_or(&unknown));
                    roots.push(Root { cpu: thread.cpu, pid: *pid, comm, call });
                }
            }
        }
        roots.sort_by_key(|root| root.call.at_ns);
        roots
    }

    /// Calls that are still open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.threads.values().map(|thread| thread.open.len()).sum()
    }

    /// What is known of each function.
    #[must_use]
    pub const fn functions(&self) -> &HashMap<u64, Function> {
        &self.functions
    }

    /// Time of each stack of functions, the outermost first, without what it called.
    #[must_use]
    pub const fn stacks(&self) -> &HashMap<Vec<u64>, u64> {
        &self.stacks
    }

    /// What was put together.
    #[must_use]
    pub const fn counted(&self) -> Counted {
        self.counted
    }
}

/// Ends the innermost open call of which nothing more will be known.
fn close_unfinished(thread: &mut Thread) {
    if let Some(call) = thread.open.pop() {
        hang(thread, call);
    }
}

/// Puts a call below the one that made it, or gives it as a root.
fn hang(thread: &mut Thread, call: Call) -> Option<Call> {
    let Some(parent) = thread.open.last_mut() else {
        thread.kept = 0;
        return Some(call);
    };
    parent.below_ns = parent.below_ns.saturating_add(call.total_ns.unwrap_or(0));
    if thread.kept < MOST_CALLS {
        thread.kept += 1;
        parent.calls.push(call);
    } else {
        parent.left_out += 1 + call.left_out;
    }
    None
}

fn arguments(event: &Event<'_>) -> Vec<u64> {
    let Some(field) = event.shape.field("args") else { return Vec::new() };
    let Raw::Elements(bytes) = field.read(event.abi, event.record) else { return Vec::new() };
    let long = usize::from(event.abi.long).max(1);
    let count = (bytes.len() / long).min(MOST_ARGUMENTS);
    (0..count).filter_map(|at| event.abi.uint(bytes, at * long, long)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: (i32, u16) = (7, u16::MAX);

    fn enter(trees: &mut Trees, function: u64, depth: u32, at_ns: u64) {
        trees.entered(KEY, Call { function, at_ns, depth, ..Call::default() });
    }

    fn leave(trees: &mut Trees, function: u64, depth: u32, begun: u64, ended: u64) -> Option<Call> {
        trees.returned(KEY, function, depth, ended, Some((begun, ended - begun)), None)
    }

    #[test]
    fn calls_hang_below_who_made_them_with_their_own_time() {
        let mut trees = Trees::default();
        enter(&mut trees, 1, 0, 100);
        enter(&mut trees, 2, 1, 110);
        enter(&mut trees, 3, 2, 120);
        assert_eq!(leave(&mut trees, 3, 2, 120, 130), None);
        assert_eq!(leave(&mut trees, 2, 1, 110, 150), None);
        enter(&mut trees, 3, 1, 160);
        assert_eq!(leave(&mut trees, 3, 1, 160, 165), None);
        let root = leave(&mut trees, 1, 0, 100, 200).unwrap();
        assert_eq!((root.total_ns, root.self_ns, root.calls.len()), (Some(100), 55, 2));
        assert_eq!((root.calls[0].self_ns, root.calls[0].calls[0].self_ns), (30, 10));
        let three = trees.functions()[&3];
        assert_eq!((three.calls, three.total_ns, three.min_ns, three.max_ns), (2, 15, 5, 10));
        assert_eq!(trees.stacks()[&vec![1, 2, 3]], 10);
        assert_eq!(trees.stacks().values().sum::<u64>(), 100, "all time of the root is somebody's own");
        let long = root.clone().at_least(20).unwrap();
        assert_eq!((long.calls.len(), long.calls[0].calls.len()), (1, 0));
        assert_eq!(root.at_least(1000), None);
    }

    #[test]
    fn what_was_not_seen_is_counted_and_nothing_is_made_up() {
        let mut trees = Trees::default();
        // A return of a call that had begun before.
        let before = leave(&mut trees, 9, 0, 50, 90).unwrap();
        assert!(before.begun_before && before.self_ns == 0);
        // A lost return.
        enter(&mut trees, 1, 0, 100);
        enter(&mut trees, 2, 1, 110);
        enter(&mut trees, 3, 1, 120);
        leave(&mut trees, 3, 1, 120, 130);
        let root = leave(&mut trees, 1, 0, 100, 200).unwrap();
        assert_eq!(root.calls.iter().map(|c| c.total_ns).collect::<Vec<_>>(), [None, Some(10)]);
        assert_eq!((trees.counted().unfinished, trees.counted().begun_before, trees.open()), (1, 1, 0));
        // The trace ends within calls.
        enter(&mut trees, 1, 0, 300);
        enter(&mut trees, 2, 1, 310);
        let roots = trees.finish();
        assert_eq!((roots.len(), roots[0].pid, roots[0].call.total_ns, roots[0].call.calls.len()), (1, 7, None, 1));
        assert_eq!((trees.counted().unfinished, trees.open()), (3, 0));
    }
}
