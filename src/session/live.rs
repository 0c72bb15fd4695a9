//! A session with a face that stays: compiles what is submitted, runs a trace for each script, replaces it when a
//! newer one is attached, and tells the face what happens.
//!
//! Threads: the starter (compiles, loads and attaches, newest text of a script first, so that a bad script never
//! disturbs a running one; it tells the session only), the session (owns the running traces and alone tells the
//! face), one drain for each trace, one that reads what a trace's command writes, and one that detaches what is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::driver::{Mail, WAITING};
use super::update::{Revision, ScriptId, Update};
use crate::kernel::Kernel;
use crate::lang::source::SourceText;
use crate::model::budget::Budget;
use crate::model::latency::Thresholds;
use crate::thread::{self, Rights};
use crate::tracer::latency::meter::LatencyTracer;
use crate::tracer::script::compilation::{Compiler, Given};
use crate::tracer::task::{Target, TaskTracer};
use crate::tracer::{Control, TraceId, Tracer, latency, task};

mod command;
mod desk;
mod running;
mod starter;
#[cfg(test)]
mod tests;

use desk::{Desk, Order};
use starter::News;

/// Updates that may wait for the face.
const WAITING_UPDATES: usize = 256;
/// Waits of watched threads that are shorter are in the sums only.
const LEAST_WAIT_NS: u64 = 100_000;
/// Waits of watched threads that are kept.
const WORST_WAITS: usize = 20;

/// What a session is given.
#[derive(Clone)]
pub struct SessionOptions {
    /// The kernel to trace.
    pub kernel: Arc<Kernel>,
    /// The compiler (see `front::compiler`).
    pub compiler: Compiler,
    /// Only this process, where attach points can tell.
    pub pid: Option<u32>,
    /// Start this command when the script is attached (`-c`).
    pub command: Option<String>,
    /// Measure what the probes cost.
    pub measure: bool,
    /// What scripts may take of the CPUs' time, at first.
    pub budget: Option<Budget>,
    /// Before a script is attached its probes are counted for a second, and that is said.
    pub count_first: bool,
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionOptions").field("pid", &self.pid).field("command", &self.command).finish_non_exhaustive()
    }
}

impl SessionOptions {
    /// The process that a script is limited to: its own, else that of the session.
    fn limit(&self, given: Option<&Given>) -> Option<u32> {
        given.and_then(|given| given.pid).or(self.pid)
    }
}

/// A workbench session.
#[derive(Debug)]
pub struct Session;

impl Session {
    /// Starts a session's threads; nothing runs before the first [`SessionHandle::submit`].
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn spawn(options: SessionOptions) -> std::io::Result<(SessionHandle, Receiver<Update>)> {
        let (updates, to_face) = sync_channel(WAITING_UPDATES);
        let (mail, inbox) = sync_channel(WAITING);
        let (desk, kernel) = (Arc::new(Desk::default()), Arc::clone(&options.kernel));
        desk.set_budget(options.budget);
        let starter = {
            let (mail, desk) = (mail.clone(), Arc::clone(&desk));
            thread::spawn("psc-compiler", Rights::All, move || starter::run(&options, &desk, &mail))?
        };
        let detaching = Arc::new(AtomicU32::new(0));
        let points = Arc::clone(&detaching);
        let work = move || running::run(inbox, &updates, &points);
        let session = thread::spawn("psc-session", Rights::Statistics, work).inspect_err(|_| desk.put(Order::Quit))?;
        Ok((SessionHandle { kernel, desk, mail, detaching, threads: vec![starter, session] }, to_face))
    }
}

/// How a face talks to its session. Dropping it ends the session and waits until this process holds
/// nothing of it; the receiver of updates must have been dropped or still be read meanwhile.
///
/// The face numbers scripts and traces: each trace's number is new and not 0 ([`TraceId::SESSION`]). Orders about a
/// trace that does not run are forgotten, but for [`stop`](Self::stop).
pub struct SessionHandle {
    kernel: Arc<Kernel>,
    desk: Arc<Desk>,
    mail: SyncSender<Mail<News>>,
    /// Attach points that the kernel goes on detaching once the session has ended.
    detaching: Arc<AtomicU32>,
    threads: Vec<JoinHandle<()>>,
}

impl SessionHandle {
    /// Compiles a script's text in the language that its name tells, and runs it as `trace` in place of the script's trace that runs now, which goes on
    /// until this one is attached. Traces of other scripts are left alone. A newer text of the same script replaces
    /// one that still waits for the compiler.
    pub fn submit(&self, script: ScriptId, trace: TraceId, source: SourceText) {
        self.desk.put(Order::Run { script, trace, source });
    }

    /// From now on the script is given these parameters and options, in place of those of the session.
    pub fn give(&self, script: ScriptId, given: Given) {
        self.desk.give(script, given);
    }

    /// Starts another kind of tracer as `trace`, beside what runs.
    pub fn start(&self, trace: TraceId, tracer: Box<dyn Tracer>) {
        self.desk.put(Order::Start { trace, tracer });
    }

    /// Starts a latency meter as `trace`, beside what runs.
    pub fn measure(&self, trace: TraceId, options: latency::Options) {
        self.start(trace, Box::new(LatencyTracer::new(&self.kernel, options)));
    }

    /// Watches the process of a thread as `trace`, beside what runs.
    pub fn watch(&self, trace: TraceId, thread: u32) {
        let target = Target::process_of(&self.kernel, thread);
        let options = task::Options { target, keep_ns: LEAST_WAIT_NS, worst: WORST_WAITS };
        self.start(trace, Box::new(TaskTracer::new(&self.kernel, options)));
    }

    /// From now on these latencies of a meter make an episode.
    pub fn set_thresholds(&self, trace: TraceId, thresholds: Thresholds) {
        let _ = self.mail.send(Mail::Control(trace, Control::Thresholds(thresholds)));
    }

    /// What each script may take of the CPUs' time from now on: those that run (`traces`), and those to come.
    pub fn set_budget(&self, traces: &[TraceId], budget: Option<Budget>) {
        self.desk.set_budget(budget);
        for trace in traces {
            let _ = self.mail.send(Mail::Control(*trace, Control::Budget(budget)));
        }
    }

    /// What one script may take of it from now on, whatever the others may; `traces` of it run.
    pub fn limit(&self, script: ScriptId, traces: &[TraceId], budget: Option<Budget>) {
        self.desk.limit(script, budget);
        for trace in traces {
            let _ = self.mail.send(Mail::Control(*trace, Control::Budget(budget)));
        }
    }

    /// Compiles a script's text and tells its diagnostics ([`Update::Checked`]); nothing else changes.
    pub fn check(&self, script: ScriptId, revision: Revision, source: SourceText) {
        self.desk.put(Order::Check { script, revision, source });
    }

    /// Ends a trace as `exit()` does: end probes run, the last maps are sent. One that is still being started ends
    /// as soon as it is attached.
    pub fn stop(&self, trace: TraceId) {
        let _ = self.mail.send(Mail::Stop(trace));
    }

    /// Stops (or goes on) reading a trace's maps; the trace and its lines go on.
    pub fn pause(&self, trace: TraceId, paused: bool) {
        let _ = self.mail.send(Mail::Pause(trace, paused));
    }

    /// Removes every key of a trace's map by its name with `@`.
    pub fn clear_map(&self, trace: TraceId, name: &str) {
        let _ = self.mail.send(Mail::Control(trace, Control::Clear(name.into())));
    }

    /// Ends the session; how many attach points the kernel goes on detaching, at which nothing runs any more.
    #[must_use]
    pub fn leave(self) -> u32 {
        let detaching = Arc::clone(&self.detaching);
        drop(self);
        detaching.load(Ordering::Acquire)
    }

    /// Runs a trace's probes of a signal (`self:signal:...`).
    pub fn signal(&self, trace: TraceId, number: i32) {
        let _ = self.mail.send(Mail::Control(trace, Control::Signal(number)));
    }
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").field("desk", &self.desk).finish_non_exhaustive()
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.desk.put(Order::Quit);
        let _ = self.mail.send(Mail::Own(News::Quit));
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
