//! Where orders lie until the starter takes them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::session::update::{Revision, ScriptId};
use crate::tracer::{TraceId, Tracer};

/// What the starter is asked to do; a newer order of the same kind replaces an older one of the same script.
pub(super) enum Order {
    /// Run a script's text.
    Run { script: ScriptId, trace: TraceId, text: Arc<str> },
    /// Start a tracer.
    Start { trace: TraceId, tracer: Box<dyn Tracer> },
    /// Check a script's text.
    Check { script: ScriptId, revision: Revision, text: Arc<str> },
    /// End.
    Quit,
}

#[derive(Default)]
struct Pending {
    runs: BTreeMap<ScriptId, (TraceId, Arc<str>)>,
    starts: VecDeque<(TraceId, Box<dyn Tracer>)>,
    checks: BTreeMap<ScriptId, (Revision, Arc<str>)>,
    quit: bool,
}

/// The orders that wait.
#[derive(Default)]
pub(super) struct Desk {
    pending: Mutex<Pending>,
    arrived: Condvar,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, order: Order) {
        let mut pending = self.lock();
        match order {
            Order::Run { script, trace, text } => drop(pending.runs.insert(script, (trace, text))),
            Order::Start { trace, tracer } => pending.starts.push_back((trace, tracer)),
            Order::Check { script, revision, text } => drop(pending.checks.insert(script, (revision, text))),
            Order::Quit => pending.quit = true,
        }
        self.arrived.notify_one();
    }

    /// Waits for the next order; what runs goes before what is only checked.
    pub(super) fn take(&self) -> Order {
        let mut pending = self.lock();
        loop {
            if pending.quit {
                return Order::Quit;
            }
            if let Some((script, (trace, text))) = pending.runs.pop_first() {
                return Order::Run { script, trace, text };
            }
            if let Some((trace, tracer)) = pending.starts.pop_front() {
                return Order::Start { trace, tracer };
            }
            if let Some((script, (revision, text))) = pending.checks.pop_first() {
                return Order::Check { script, revision, text };
            }
            pending = self.arrived.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_text_of_each_script_wins_and_runs_go_first() {
        let desk = Desk::default();
        let (first, second) = (ScriptId(1), ScriptId(2));
        desk.put(Order::Check { script: first, revision: 1, text: "c".into() });
        desk.put(Order::Run { script: first, trace: TraceId(2), text: "old".into() });
        desk.put(Order::Run { script: second, trace: TraceId(3), text: "other".into() });
        desk.put(Order::Run { script: first, trace: TraceId(4), text: "new".into() });
        let run = |desk: &Desk| match desk.take() {
            Order::Run { trace, text, .. } => (trace.0, text.to_string()),
            _ => panic!("runs go first"),
        };
        assert_eq!(run(&desk), (4, "new".to_owned()));
        assert_eq!(run(&desk), (3, "other".to_owned()));
        assert!(matches!(desk.take(), Order::Check { revision: 1, .. }));
        desk.put(Order::Run { script: first, trace: TraceId(5), text: "late".into() });
        desk.put(Order::Quit);
        assert!(matches!(desk.take(), Order::Quit));
    }
}
