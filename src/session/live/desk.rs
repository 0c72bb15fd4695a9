//! Where orders lie until the starter takes them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::lang::source::SourceText;
use crate::model::budget::Budget;
use crate::session::update::{Revision, ScriptId};
use crate::tracer::script::compilation::Given;
use crate::tracer::{TraceId, Tracer};

/// What the starter is asked to do; a newer order of the same kind replaces an older one of the same script.
pub(super) enum Order {
    /// Run a script's text.
    Run { script: ScriptId, trace: TraceId, source: SourceText },
    /// Start a tracer.
    Start { trace: TraceId, tracer: Box<dyn Tracer> },
    /// Check a script's text.
    Check { script: ScriptId, revision: Revision, source: SourceText },
    /// End.
    Quit,
}

#[derive(Default)]
struct Pending {
    runs: BTreeMap<ScriptId, (TraceId, SourceText)>,
    starts: VecDeque<(TraceId, Box<dyn Tracer>)>,
    checks: BTreeMap<ScriptId, (Revision, SourceText)>,
    budget: Option<Budget>,
    /// Of scripts that have one of their own.
    budgets: BTreeMap<ScriptId, Option<Budget>>,
    quit: bool,
    given: BTreeMap<ScriptId, Arc<Given>>,
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

    /// What scripts that are started from now on may take of the CPUs' time.
    pub(super) fn set_budget(&self, budget: Option<Budget>) {
        self.lock().budget = budget;
    }

    /// What one script may take of it from now on, whatever the others may.
    pub(super) fn limit(&self, script: ScriptId, budget: Option<Budget>) {
        self.lock().budgets.insert(script, budget);
    }

    pub(super) fn budget(&self, script: ScriptId) -> Option<Budget> {
        let pending = self.lock();
        pending.budgets.get(&script).copied().unwrap_or(pending.budget)
    }

    /// What a script is given besides its text from now on.
    pub(super) fn give(&self, script: ScriptId, given: Given) {
        self.lock().given.insert(script, Arc::new(given));
    }

    /// The same, when it was said.
    pub(super) fn given(&self, script: ScriptId) -> Option<Arc<Given>> {
        self.lock().given.get(&script).cloned()
    }

    pub(super) fn put(&self, order: Order) {
        let mut pending = self.lock();
        match order {
            Order::Run { script, trace, source } => drop(pending.runs.insert(script, (trace, source))),
            Order::Start { trace, tracer } => pending.starts.push_back((trace, tracer)),
            Order::Check { script, revision, source } => drop(pending.checks.insert(script, (revision, source))),
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
            if let Some((script, (trace, source))) = pending.runs.pop_first() {
                return Order::Run { script, trace, source };
            }
            if let Some((trace, tracer)) = pending.starts.pop_front() {
                return Order::Start { trace, tracer };
            }
            if let Some((script, (revision, source))) = pending.checks.pop_first() {
                return Order::Check { script, revision, source };
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
        let source = |text: &str| SourceText::new("a.bt", text);
        let (first, second) = (ScriptId(1), ScriptId(2));
        desk.put(Order::Check { script: first, revision: 1, source: source("c") });
        desk.put(Order::Run { script: first, trace: TraceId(2), source: source("old") });
        desk.put(Order::Run { script: second, trace: TraceId(3), source: source("other") });
        desk.put(Order::Run { script: first, trace: TraceId(4), source: source("new") });
        let run = |desk: &Desk| match desk.take() {
            Order::Run { trace, source, .. } => (trace.0, source.text.to_string()),
            _ => panic!("runs go first"),
        };
        assert_eq!(run(&desk), (4, "new".to_owned()));
        assert_eq!(run(&desk), (3, "other".to_owned()));
        assert!(matches!(desk.take(), Order::Check { revision: 1, .. }));
        desk.put(Order::Run { script: first, trace: TraceId(5), source: source("late") });
        desk.put(Order::Quit);
        assert!(matches!(desk.take(), Order::Quit));
    }
}
