//! A script's programs as a tracer: loads and attaches them, turns their records into reports, reads their maps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::report::{Face, Report};
use super::{Begun, Control, Left, Outlet, Refusal, Running, Sample, Started, TraceInfo, Tracer, TracerError, Wait};
use crate::engine::attach::Steps;
use crate::engine::decode::Decoder;
use crate::engine::detach::Detaching;
use crate::engine::drain::{Batch, Sink};
use crate::engine::{EngineError, Trace, TraceOptions};
use crate::lang::typed::{MapId, MissingProbes, Program};
use crate::model::target::Target;
use crate::thread::{self, Rights};

pub mod budget;
pub mod child;
pub mod compilation;
mod cpus;
pub mod failure;
pub mod info;
pub mod losses;
pub mod names;
pub mod partial;
mod records;
pub mod reporter;
mod watched;

use budget::BudgetKeeper;
use child::{ChildError, Held};
use compilation::Compiled;
use cpus::CpuKeeper;
use losses::LossTeller;
use names::Sources;
use partial::{PARTIAL_EXIT, PartialTeller};
use reporter::Reporter;
use watched::Watched;

/// How a compiled script is run.
#[derive(Debug)]
pub struct ScriptRun {
    /// What it is (see `info::of`); the number is filled in later.
    pub info: TraceInfo,
    /// How it is attached.
    pub options: TraceOptions,
    /// Where names come from.
    pub names: Sources,
    /// A command that goes on once everything is attached, and whose end is the trace's.
    pub child: Option<Held>,
    /// Nothing runs, neither begin nor end (`--dry-run`): it is over as soon as it is attached.
    pub attach_only: bool,
    /// Its last report has the maps, unless the script wants none printed.
    pub reports_maps: bool,
    /// Set from outside once its user wants the end: commands of `system()` that still wait are left out then.
    pub stopping: Arc<AtomicBool>,
    /// A process whose end ends the trace, although others are traced, too.
    pub ends_with: Option<u32>,
    /// Run under bpftrace's or DTrace's name: what these lose, too, leaves the exit code as it is there.
    pub as_peer: bool,
}

/// A compiled script.
#[derive(Debug)]
pub struct ScriptTracer {
    compiled: Compiled,
    run: ScriptRun,
}

impl ScriptTracer {
    /// Of a compiled script; nothing is loaded yet.
    #[must_use]
    pub const fn new(compiled: Compiled, run: ScriptRun) -> Self {
        Self { compiled, run }
    }

    /// Loads and attaches.
    ///
    /// # Errors
    /// When the kernel refuses it; nothing stays attached then.
    pub fn attach(self, outlet: Outlet) -> Result<(Started, AttachedScript), Box<Refusal>> {
        let sink = sink(self.compiled.artifact.ring.is_some(), outlet.clone());
        let trace = self.load(sink).map_err(|error| {
            let error = TracerError::Engine(error);
            let (diagnostic, raw_log) = failure::explain(&error, &self.compiled);
            Box::new(Refusal { error, diagnostic, raw_log })
        })?;
        // What was left out of a pattern is told also where a probe that can't be attached is an error.
        let told = !self.run.attach_only && self.compiled.program.config.missing_probes != MissingProbes::Ignore;
        let unattached = if told { trace.refused().to_vec() } else { Vec::new() };
        let started = Started { probes: trace.attached(), unattached };
        let left_out = self.compiled.figures.left_out;
        Ok((started, AttachedScript { trace, left_out, run: self.run, outlet }))
    }

    fn load(&self, sink: Sink) -> Result<Trace, EngineError> {
        let (program, artifact) = (Arc::clone(&self.compiled.program), Arc::clone(&self.compiled.artifact));
        if !self.run.attach_only {
            let mut options = self.run.options.clone();
            let stopping = Arc::clone(&self.run.stopping);
            let keeps_budget = artifact.budget.is_some();
            options.place.steps = options.budget.filter(|_| keeps_budget).map(|budget| Steps { budget, stopping });
            return Trace::start(program, artifact, &options, sink);
        }
        let mut trace = Trace::load(program, artifact, sink)?;
        trace.attach(&self.run.options.place)?;
        Ok(trace)
    }
}

impl Tracer for ScriptTracer {
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>> {
        let mut script = self;
        let info = std::mem::take(&mut script.run.info);
        let (started, attached) = script.attach(outlet)?;
        Ok(Begun { started, info, running: Box::new(move || Box::new(attached.run())) })
    }
}

/// An attached script on its way to the thread that it runs on.
#[derive(Debug)]
pub struct AttachedScript {
    trace: Trace,
    left_out: bool,
    run: ScriptRun,
    outlet: Outlet,
}

impl AttachedScript {
    /// On the thread that takes its records.
    #[must_use]
    pub fn run(self) -> RunningScript {
        let ScriptRun { options, names, child, attach_only, reports_maps, stopping, ends_with, as_peer, .. } = self.run;
        let decoder = Decoder::new(Arc::clone(self.trace.program()), names.names());
        RunningScript {
            watched: Watched::new(&options.place, ends_with),
            reporter: Reporter::new(decoder).stopped_by(stopping),
            attach_only,
            reports_maps,
            as_peer,
            left_out: self.left_out,
            losses: LossTeller::default(),
            partial: PartialTeller::default(),
            budget: BudgetKeeper::new(options.budget),
            cpus: CpuKeeper::default(),
            detaching: Detaching::default(),
            trace: self.trace,
            child: child.map_or(Child::None, Child::Held),
            outlet: self.outlet,
        }
    }
}

/// What the engine hands its batches to; says that it is drained when the engine drops it. A script without reports has
/// nothing to drain, and its sink is dropped at once.
fn sink(drains: bool, outlet: Outlet) -> Sink {
    struct End(Outlet);
    impl Drop for End {
        fn drop(&mut self) {
            self.0.drained();
        }
    }
    let end = drains.then(|| End(outlet.clone()));
    Box::new(move |batch, wait: Wait| {
        let _ = &end;
        outlet.records(batch, wait)
    })
}

/// A script that runs.
#[derive(Debug)]
pub struct RunningScript {
    attach_only: bool,
    reports_maps: bool,
    as_peer: bool,
    /// Something was left out of what a pattern matches.
    left_out: bool,
    /// The one process that is traced, or that the trace ends with.
    watched: Option<Watched>,
    reporter: Reporter,
    losses: LossTeller,
    partial: PartialTeller,
    budget: BudgetKeeper,
    cpus: CpuKeeper,
    /// Before the trace: links are detached first.
    detaching: Detaching,
    trace: Trace,
    child: Child,
    outlet: Outlet,
}

/// The command of `-c`.
#[derive(Debug)]
enum Child {
    None,
    Held(Held),
    Running { pid: u32, ended: Arc<AtomicBool> },
}

impl RunningScript {
    /// What runs.
    #[must_use]
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Whether results lack something, which is all that the exit code is decided by: a probe was turned off or detached,
    /// something was lost, a process was followed with a gap, or a pattern's places were left out.
    fn is_partial(&self) -> bool {
        let asked_for_all = self.trace.program().config.missing_probes == MissingProbes::Error;
        self.partial.is_partial()
            || self.budget.is_partial()
            || self.losses.is_partial(self.as_peer)
            || self.watched.as_ref().is_some_and(Watched::is_partial)
            || (self.left_out && asked_for_all && !self.as_peer)
    }

    /// Counters of now, and what is lost since the last time.
    fn count(&mut self, ended: bool, face: &mut dyn Face) -> Result<(), TracerError> {
        if self.attach_only {
            return Ok(());
        }
        let stats = Arc::new(self.trace.stats());
        self.partial.tell(&self.trace, face)?;
        if !ended {
            self.budget.look(&mut self.trace, &stats, face)?;
            self.cpus.look(&mut self.trace, face)?;
            self.trace.follow_clock();
        }
        self.losses.tell(&stats, ended, face)?;
        face.report(&Report::Stats(&stats))?;
        Ok(())
    }
}

/// Whether anything can happen between a script's begin and its end; where nothing can, the trace is
/// over once begin probes have run and iterators have been walked, as in bpftrace. One with a command is over when that ends.
fn waits(program: &Program) -> bool {
    let done = |target: &Target| matches!(target, Target::Begin | Target::End | Target::Iter { .. });
    // A D program goes on until it calls exit(), or is told to end.
    program.style.records || !program.probes.iter().flat_map(|probe| &probe.targets).all(done)
}

impl Running for RunningScript {
    fn announced(&mut self) -> Result<(), TracerError> {
        let child = std::mem::replace(&mut self.child, Child::None);
        // A begin probe's `exit()` ends the trace before its command: that never runs, as in bpftrace.
        if let Child::Held(held) = child
            && !self.trace.exiting()
            && !self.attach_only
        {
            self.child = release(held, self.outlet.clone())?;
        }
        Ok(())
    }

    fn take(&mut self, batch: &Batch, face: &mut dyn Face) -> Result<(), TracerError> {
        self.reporter.batch(batch, &self.trace, face)
    }

    fn sample(&mut self, what: Sample, face: &mut dyn Face) -> Result<(), TracerError> {
        if what == Sample::Counters {
            if let Some(watched) = &mut self.watched {
                watched.look(&mut self.trace, face)?;
            }
            return self.count(false, face);
        }
        if !self.trace.program().maps.is_empty() {
            let maps = self.trace.read_maps(self.reporter.decoder())?.into();
            face.report(&Report::Maps(&maps))?;
        }
        Ok(())
    }

    fn control(&mut self, control: &Control) -> Result<(), TracerError> {
        match control {
            Control::Clear(name) => {
                if let Some(index) = self.trace.program().maps.iter().position(|m| m.name == *name) {
                    self.trace.clear_map(MapId(index as u32))?;
                }
            }
            Control::Signal(number) => {
                self.trace.signal(*number)?;
            }
            Control::Budget(budget) => self.budget.set(*budget, &self.trace),
            // A script has none.
            Control::Thresholds(_) => {}
        }
        Ok(())
    }

    fn wants_end(&self) -> bool {
        self.reporter.exit_code().is_some()
    }

    fn is_over(&self) -> bool {
        self.wants_end() || self.is_quiet() || self.watched.as_ref().is_some_and(Watched::is_gone)
    }

    fn is_quiet(&self) -> bool {
        self.attach_only || self.trace.exiting() || !(waits(self.trace.program()) || self.child.runs())
    }

    fn ask(&self) -> Option<u64> {
        if self.attach_only { None } else { self.trace.ask_reports() }
    }

    fn answered(&self, request: u64) -> bool {
        self.trace.reported(request)
    }

    fn halt(&mut self) {
        self.trace.hold();
    }

    fn stop(&mut self, face: &mut dyn Face) -> Result<(), TracerError> {
        if !self.attach_only {
            self.detaching = self.trace.finish()?;
        }
        self.count(false, face)
    }

    fn drains(&self) -> bool {
        self.trace.artifact().ring.is_some() && !self.attach_only
    }

    fn finish(&mut self, face: &mut dyn Face) -> Result<i32, TracerError> {
        self.count(true, face)?;
        if !self.attach_only {
            self.reporter.end(&self.trace, self.reports_maps, face)?;
            self.losses.tell_cuts(self.reporter.cuts(), face)?;
            if self.trace.program().config.missing_probes == MissingProbes::Error {
                self.losses.tell_left_out(self.trace.refused(), face)?;
            }
            self.budget.end(&self.trace, face)?;
        }
        face.flush()?;
        self.child.terminate();
        let code = self.reporter.exit_code().unwrap_or(0);
        Ok(if code == 0 && self.is_partial() { PARTIAL_EXIT } else { code })
    }

    fn leave(self: Box<Self>) -> Left {
        let Self { mut detaching, mut trace, budget, .. } = *self;
        detaching.join(trace.let_go());
        Left { links: detaching, released: budget.leave(), rest: Some(Box::new(trace)) }
    }
}

/// Lets a command go; a thread waits for its end and says so.
fn release(held: Held, outlet: Outlet) -> Result<Child, TracerError> {
    let pid = held.pid();
    let mut running = held.release()?;
    let ended = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&ended);
    let wait = move || {
        let _ = running.wait();
        over.store(true, Ordering::Release);
        outlet.over();
    };
    let failed = |source| ChildError::Run { command: format!("process {pid}"), source };
    thread::spawn("psc-child", Rights::Nothing, wait).map_err(failed)?;
    Ok(Child::Running { pid, ended })
}

impl Child {
    /// Whether it was let go and has not ended.
    fn runs(&self) -> bool {
        matches!(self, Self::Running { ended, .. } if !ended.load(Ordering::Acquire))
    }

    /// Ends it (`SIGTERM`) unless it has ended.
    fn terminate(&self) {
        if let Self::Running { pid, .. } = self
            && self.runs()
            && let Some(pid) = rustix::process::Pid::from_raw(*pid as i32)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}
