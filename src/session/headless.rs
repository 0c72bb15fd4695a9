//! A trace without a screen: from attach to the last map, on the caller's thread.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::child::{ChildError, Held, Running};
use super::losses::LossTeller;
use super::report::{Face, Report};
use super::reporter::{ReportError, Reporter};
use crate::codegen::artifact::Artifact;
use crate::engine::decode::{Decoder, Names};
use crate::engine::drain::{self, Batch, Sink};
use crate::engine::{EngineError, Trace, TraceOptions};
use crate::lang::typed::{MissingProbes, Program};
use crate::model::target::Target;

/// Batches on their way to the face; what is more waits in the drain (see `engine::drain`).
const WAITING_BATCHES: usize = 8;
/// How often losses and the traced process are looked at while nothing happens.
const TICK: Duration = Duration::from_millis(250);
/// How long to wait for reports that are on their way.
const PATIENCE: Duration = Duration::from_millis(1);

/// What reaches a running trace.
#[derive(Debug)]
pub enum Message {
    /// Records.
    Batch(Batch),
    /// There will be no more records.
    Drained,
    /// End the trace as `exit()` does.
    Stop,
    /// A signal for `self:signal` probes.
    Signal(i32),
    /// The command of `-c` has ended.
    ChildEnded,
}

/// The two ends of a trace's mailbox.
#[must_use]
pub fn mailbox() -> (SyncSender<Message>, Receiver<Message>) {
    sync_channel(WAITING_BATCHES)
}

/// How a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Loading, attaching or reading maps.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The command of `-c`.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// Output could not be written.
    #[error("cannot write output: {0}")]
    Write(#[from] io::Error),
}

impl From<ReportError> for RunError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Write(e) => Self::Write(e),
            ReportError::Engine(e) => Self::Engine(e),
        }
    }
}

/// What to run.
#[derive(Debug)]
pub struct Job {
    /// The checked script.
    pub program: Arc<Program>,
    /// The compiled script.
    pub artifact: Arc<Artifact>,
    /// How to attach.
    pub options: TraceOptions,
    /// Where names come from.
    pub names: Names,
    /// The command of `-c`, held back.
    pub child: Option<Held>,
    /// End as soon as everything is attached (`--dry-run`).
    pub attach_only: bool,
    /// Set from outside once the user wants the end: commands of `system()` that still wait are left out then.
    pub stopping: Arc<AtomicBool>,
}

/// Runs a trace to its end and gives the script's exit code.
pub fn run(
    job: Job,
    face: &mut dyn Face,
    (sender, messages): (SyncSender<Message>, &Receiver<Message>),
) -> Result<i32, RunError> {
    let Job { program, artifact, options, names, child, attach_only, stopping } = job;
    let sink = sink(sender.clone());
    if attach_only {
        return dry_run(&program, &artifact, &options, sink, face);
    }
    let mut trace = Trace::start(Arc::clone(&program), Arc::clone(&artifact), &options, sink)?;
    let mut reporter = Reporter::new(Decoder::new(Arc::clone(&program), names)).stopped_by(Arc::clone(&stopping));
    if program.config.missing_probes == MissingProbes::Warn {
        for probe in trace.refused() {
            face.report(&Report::Unattached(probe))?;
        }
    }
    face.report(&Report::Attached(trace.attached()))?;
    face.flush()?;
    let mut losses = LossTeller::default();
    let mut running = match child {
        Some(held) => Some(watch(held, sender.clone())?),
        None => None,
    };
    drop(sender);
    if waits(&program) {
        let traced = options.place.pid.map(|pid| options.place.proc.join(pid.to_string()));
        let mut live =
            Live { trace: &trace, reporter: &mut reporter, face, losses: &mut losses, traced, stopping: &stopping };
        live.until_end(messages)?;
    }
    // What is printed of a map is read when the report arrives: end probes must not have changed it before.
    let silent = trace.exiting() || !waits(&program);
    if silent && !stopping.load(Ordering::Relaxed) {
        losses.tell(&trace, face)?;
        settle(&trace, &mut reporter, face, messages)?;
    }
    let detaching = trace.finish()?;
    losses.tell(&trace, face)?;
    if artifact.ring.is_some() {
        rest(&trace, &mut reporter, face, messages)?;
    }
    losses.tell(&trace, face)?;
    reporter.end(&trace, face)?;
    face.flush()?;
    if let Some(child) = &mut running {
        child.terminate();
    }
    drop(detaching);
    Ok(reporter.exit_code().unwrap_or(0))
}

/// Loads and attaches everything and runs nothing: neither begin nor end.
fn dry_run(
    program: &Arc<Program>,
    artifact: &Arc<Artifact>,
    options: &TraceOptions,
    sink: Sink,
    face: &mut dyn Face,
) -> Result<i32, RunError> {
    let mut trace = Trace::load(Arc::clone(program), Arc::clone(artifact), sink)?;
    trace.attach(&options.place)?;
    face.report(&Report::Attached(trace.attached()))?;
    face.flush()?;
    Ok(0)
}

/// Whether anything can happen between a script's begin and its end; where nothing can, the trace is
/// over once begin probes have run and iterators have been walked, as in bpftrace.
fn waits(program: &Program) -> bool {
    let done = |target: &Target| matches!(target, Target::Begin | Target::End | Target::Iter { .. });
    !program.probes.iter().flat_map(|probe| &probe.targets).all(done)
}

/// A sink that sends batches to a mailbox and says when there will be no more.
pub fn sink(sender: SyncSender<Message>) -> Sink {
    struct End(SyncSender<Message>);
    impl Drop for End {
        fn drop(&mut self) {
            let _ = self.0.send(Message::Drained);
        }
    }
    let end = End(sender);
    Box::new(move |batch, wait| {
        drain::send(&end.0, batch, wait, Message::Batch, |message| match message {
            Message::Batch(batch) => Some(batch),
            _ => None,
        })
    })
}

/// A child whose end is told to the mailbox.
struct Watched {
    pid: u32,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watched {
    fn terminate(&mut self) {
        let finished = self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished);
        if finished {
            return;
        }
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

fn watch(held: Held, sender: SyncSender<Message>) -> Result<Watched, RunError> {
    let pid = held.pid();
    let mut running: Running = held.release()?;
    let thread = std::thread::Builder::new()
        .name("child".to_owned())
        .spawn(move || {
            let _ = running.wait();
            let _ = sender.send(Message::ChildEnded);
        })
        .map_err(|e| RunError::Engine(EngineError::Thread(e)))?;
    Ok(Watched { pid, thread: Some(thread) })
}

struct Live<'a> {
    trace: &'a Trace,
    reporter: &'a mut Reporter,
    face: &'a mut dyn Face,
    losses: &'a mut LossTeller,
    traced: Option<PathBuf>,
    stopping: &'a AtomicBool,
}

impl Live<'_> {
    fn until_end(&mut self, messages: &Receiver<Message>) -> Result<(), RunError> {
        if self.trace.exiting() {
            return Ok(());
        }
        let mut ticked = Instant::now();
        loop {
            // Probes that report faster than is printed keep the mailbox full: a request to end waits
            // behind their reports there, and nothing is ever empty.
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(());
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                if self.tick()? {
                    return Ok(());
                }
            }
            let message = match messages.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Disconnected) => return Ok(()),
                Err(TryRecvError::Empty) => {
                    self.face.flush()?;
                    match messages.recv_timeout(TICK) {
                        Ok(message) => message,
                        Err(RecvTimeoutError::Disconnected) => return Ok(()),
                        Err(RecvTimeoutError::Timeout) => continue,
                    }
                }
            };
            match message {
                Message::Batch(batch) => {
                    self.reporter.batch(&batch, self.trace, self.face)?;
                    if self.reporter.exit_code().is_some() {
                        return Ok(());
                    }
                }
                Message::Signal(number) => {
                    self.trace.signal(number)?;
                }
                // A trace without reports has no ring, and nothing to drain from the start.
                Message::Drained if self.trace.artifact().ring.is_none() => {}
                Message::Stop | Message::ChildEnded | Message::Drained => return Ok(()),
            }
        }
    }

    /// True when the trace has to end: `exit()` was called and its report lost, or the process of
    /// `-p` is gone.
    fn tick(&mut self) -> Result<bool, RunError> {
        self.losses.tell(self.trace, self.face)?;
        Ok(self.trace.exiting() || self.traced.as_ref().is_some_and(|folder| !folder.exists()))
    }
}

/// Reports what was reported so far, where probes report nothing any more.
fn settle(
    trace: &Trace,
    reporter: &mut Reporter,
    face: &mut dyn Face,
    messages: &Receiver<Message>,
) -> Result<(), RunError> {
    let Some(request) = trace.ask_reports() else { return Ok(()) };
    loop {
        // Asked before looking: what was sent before the answer is then in the mailbox.
        let all = trace.reported(request);
        match messages.recv_timeout(if all { Duration::ZERO } else { PATIENCE }) {
            Ok(Message::Batch(batch)) => reporter.batch(&batch, trace, face)?,
            Ok(Message::Signal(_) | Message::ChildEnded) => {}
            Err(RecvTimeoutError::Timeout) if !all => {}
            Ok(Message::Stop | Message::Drained) | Err(_) => return Ok(()),
        }
    }
}

/// Reports what was still on its way when the trace ended.
fn rest(
    trace: &Trace,
    reporter: &mut Reporter,
    face: &mut dyn Face,
    messages: &Receiver<Message>,
) -> Result<(), RunError> {
    for message in messages {
        match message {
            Message::Batch(batch) => reporter.batch(&batch, trace, face)?,
            Message::Drained => break,
            _ => {}
        }
    }
    Ok(())
}
