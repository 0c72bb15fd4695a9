//! Running a script's own tests and benchmarks: each `test:` or `bench:` probe by itself, between
//! the script's begin and end probes.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use super::driver::{Driver, Policy, WAITING, outlet};
use super::update::Ending;
use crate::engine::trace::Trial;
use crate::lang::front::Purpose;
use crate::tracer::report::Face;
use crate::tracer::script::{RunningScript, ScriptTracer};
use crate::tracer::{Started, TraceId, TracerError};

/// Runs of a benchmark between two looks at the clock.
const ROUND: u64 = 1000;
/// A benchmark ends after so many runs, or when it has taken this long.
const MOST_RUNS: u64 = 100_000;
const LONGEST: Duration = Duration::from_millis(500);
/// The only trace of such a run.
const TRACE: TraceId = TraceId(1);

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
pub fn run(tracer: ScriptTracer, purpose: Purpose, face: &mut dyn TestFace) -> Result<i32, TracerError> {
    let (mail, inbox) = sync_channel(WAITING);
    let (started, script) = tracer.attach(outlet(TRACE, mail)).map_err(|refusal| refusal.error)?;
    let script = script.run();
    let trials = script.trace().trials();
    let mut driver = Driver::<_, _, Infallible>::new(Bench { face }, inbox);
    driver.begin(TRACE, script, &started)?;
    let mut bench = Run { driver };
    if !trials.is_empty() {
        bench.face().starting(trials.len())?;
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

/// Reports go to the face of the tests; whatever fails ends them.
struct Bench<'a> {
    face: &'a mut dyn TestFace,
}

impl Policy for Bench<'_> {
    fn reads_maps(&self) -> bool {
        false
    }

    fn face(&mut self, _: TraceId) -> &mut dyn Face {
        self.face.reports()
    }

    fn started(&mut self, _: TraceId, _: &Started) -> Result<(), TracerError> {
        Ok(())
    }

    fn ended(&mut self, _: TraceId, _: Ending) -> Result<(), TracerError> {
        Ok(())
    }

    fn failed(&mut self, _: TraceId, error: TracerError) -> Result<(), TracerError> {
        Err(error)
    }
}

struct Run<'a> {
    driver: Driver<RunningScript, Bench<'a>, Infallible>,
}

impl Run<'_> {
    fn face(&mut self) -> &mut dyn TestFace {
        self.driver.policy.face
    }

    fn run_test(&self, trial: Trial) -> Result<u64, TracerError> {
        Ok(self.driver.tracer(TRACE).map_or(Ok(0), |script| script.trace().run_test(trial))?)
    }

    fn figures(&self, trial: Trial) -> (u64, u64) {
        self.driver.tracer(TRACE).map_or((0, 0), |script| script.trace().figures(trial))
    }

    fn test(&mut self, name: &str, trial: Trial) -> Result<bool, TracerError> {
        self.face().test(name)?;
        let began = Instant::now();
        let passed = self.run_test(trial)? == 0;
        let duration_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.settle()?;
        self.face().outcome(Outcome { name, passed, duration_ns })?;
        Ok(passed)
    }

    fn measure(&mut self, name: &str, trial: Trial) -> Result<(), TracerError> {
        self.run_test(trial)?;
        let (runs_before, time_before) = self.figures(trial);
        let began = Instant::now();
        let mut runs = 0;
        while runs < MOST_RUNS && began.elapsed() < LONGEST {
            for _ in 0..ROUND {
                self.run_test(trial)?;
            }
            runs += ROUND;
        }
        let (runs_after, time_after) = self.figures(trial);
        let runs = runs_after.saturating_sub(runs_before);
        let average_ns = time_after.saturating_sub(time_before).checked_div(runs).unwrap_or(0);
        self.settle()?;
        self.face().measured(Measured { name, average_ns, runs })?;
        Ok(())
    }

    /// Takes all reports so far.
    fn settle(&mut self) -> Result<(), TracerError> {
        self.driver.settle(TRACE)?;
        Ok(self.face().reports().flush()?)
    }

    fn finish(mut self, any: bool) -> Result<(), TracerError> {
        self.settle()?;
        if any {
            self.face().done()?;
        }
        self.driver.stop(TRACE)?;
        while self.driver.is_running() {
            self.driver.turn()?;
        }
        let _ = self.driver.leave();
        Ok(())
    }
}
