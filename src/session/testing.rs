//! Running a script's own tests and benchmarks: each `test:` or `bench:` probe by itself, between
//! the script's begin and end probes.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::headless::{self, Job, Message, RunError};
use super::report::{Face, Report};
use super::reporter::Reporter;
use crate::engine::Trace;
use crate::engine::decode::Decoder;
use crate::engine::trace::Trial;
use crate::lang::front::Purpose;

/// Runs of a benchmark between two looks at the clock.
const ROUND: u64 = 1000;
/// A benchmark ends after so many runs, or when it has taken this long.
const MOST_RUNS: u64 = 100_000;
const LONGEST: Duration = Duration::from_millis(500);
/// How long to wait for reports between two looks at whether they are all there.
const PATIENCE: Duration = Duration::from_millis(1);

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// Its name.
    pub name: &'a str,
    /// It returned 0.
    pub passed: bool,
    /// Time from its start to its end, in ns.
    pub duration_ns: u64,
}

/// What a benchmark measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured<'a> {
    /// Its name.
    pub name: &'a str,
    /// Mean time of a run in ns, by the kernel's own statistics.
    pub average_ns: u64,
    /// Runs.
    pub runs: u64,
}

/// Whoever shows tests and benchmarks.
pub trait TestFace {
    /// Takes what the script reports meanwhile.
    fn reports(&mut self) -> &mut dyn Face;
    /// So many tests or benchmarks are about to run.
    fn starting(&mut self, count: usize) -> io::Result<()>;
    /// A test is about to run.
    fn test(&mut self, name: &str) -> io::Result<()>;
    /// A test has ended and everything it reported was taken.
    fn outcome(&mut self, outcome: Outcome<'_>) -> io::Result<()>;
    /// A benchmark has ended.
    fn measured(&mut self, measured: Measured<'_>) -> io::Result<()>;
    /// All have run; end probes report after this.
    fn done(&mut self) -> io::Result<()>;
}

/// Runs a script's tests or benchmarks. Gives 1 when a test failed, 0 otherwise.
///
/// # Errors
/// When the script can't be loaded or run, or the face can't write.
pub fn run(job: Job, purpose: Purpose, face: &mut dyn TestFace) -> Result<i32, RunError> {
    let Job { program, artifact, mut options, names, .. } = job;
    let (sender, messages) = headless::mailbox();
    options.measure = purpose == Purpose::Bench;
    let mut trace = Trace::start(Arc::clone(&program), artifact, &options, headless::sink(sender))?;
    let reporter = Reporter::new(Decoder::new(program, names));
    let trials = trace.trials();
    let mut bench = Bench { trace: &mut trace, reporter, face, messages: &messages };
    if !trials.is_empty() {
        bench.face.starting(trials.len())?;
    }
    let mut failed = false;
    for (name, trial) in &trials {
        match purpose {
            Purpose::Bench => bench.measure(name, *trial)?,
            _ => failed |= !bench.test(name, *trial)?,
        }
    }
    bench.finish(!trials.is_empty())?;
    Ok(i32::from(failed))
}

struct Bench<'a> {
    trace: &'a mut Trace,
    reporter: Reporter,
    face: &'a mut dyn TestFace,
    messages: &'a Receiver<Message>,
}

impl Bench<'_> {
    fn test(&mut self, name: &str, trial: Trial) -> Result<bool, RunError> {
        self.face.test(name)?;
        let began = Instant::now();
        let passed = self.trace.run_test(trial)? == 0;
        let duration_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.settle()?;
        self.face.outcome(Outcome { name, passed, duration_ns })?;
        Ok(passed)
    }

    fn measure(&mut self, name: &str, trial: Trial) -> Result<(), RunError> {
        self.trace.run_test(trial)?;
        let (runs_before, time_before) = self.trace.figures(trial);
        let began = Instant::now();
        let mut runs = 0;
        while runs < MOST_RUNS && began.elapsed() < LONGEST {
            for _ in 0..ROUND {
                self.trace.run_test(trial)?;
            }
            runs += ROUND;
        }
        let (runs_after, time_after) = self.trace.figures(trial);
        let runs = runs_after.saturating_sub(runs_before);
        let average_ns = time_after.saturating_sub(time_before).checked_div(runs).unwrap_or(0);
        self.settle()?;
        self.face.measured(Measured { name, average_ns, runs })?;
        Ok(())
    }

    /// Takes all reports so far.
    fn settle(&mut self) -> Result<(), RunError> {
        let Some(request) = self.trace.ask_reports() else { return Ok(()) };
        loop {
            // Asked before looking: what was sent before the answer is then in the mailbox.
            let all = self.trace.reported(request);
            match self.messages.recv_timeout(if all { Duration::ZERO } else { PATIENCE }) {
                Ok(Message::Batch(batch)) => self.reporter.batch(&batch, self.trace, self.face.reports())?,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if !all => {}
                Err(_) => break,
            }
        }
        self.face.reports().flush()?;
        Ok(())
    }

    fn finish(mut self, any: bool) -> Result<(), RunError> {
        self.settle()?;
        if any {
            self.face.done()?;
        }
        drop(self.trace.finish()?);
        self.settle()?;
        let end = Report::End { maps: &[], options: crate::model::render::MapOptions::default() };
        self.face.reports().report(&end)?;
        self.face.reports().flush()?;
        Ok(())
    }
}
