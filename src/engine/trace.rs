//! A running trace: loaded programs, their links, the drain, the maps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use libbpf_rs::{MapCore as _, Object};

use super::attach::cpus::{self, Running};
use super::attach::{self, Attached, Place, Unattached};
use super::budget::Gone;
use super::cost;
use super::detach::Detaching;
use super::drain::{Drain, Sink, WakeUps};
use super::error::EngineError;
use super::files;
use super::load;
use super::reports::{Reports, SlotReports};
use super::sys::bpf;
use super::sys::memory::{Area, Ring, SlotRings};
use super::unwind::{Tables, Unwinder};
use crate::codegen::artifact::{Artifact, GlobalKind, ProgramKind, RingSpec, Storage};
use crate::lang::typed::Program;
use crate::model::budget::Budget;
use crate::model::stats::TraceStats;
use crate::model::target::Target;

mod count;
mod follow;

/// How to start a trace.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Where and to what programs are attached.
    pub place: Place,
    /// Measure the programs' own cost by the kernel's run-time statistics.
    pub measure: bool,
    /// What programs may take of all CPUs' time, where they were compiled to keep a budget.
    pub budget: Option<Budget>,
}

/// A `test:` or `bench:` probe of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial(usize);

/// A trace that runs until it is dropped.
#[derive(Debug)]
pub struct Trace {
    pub(super) program: Arc<Program>,
    pub(super) artifact: Arc<Artifact>,
    // Dropped in this order: detached first, then draining stops, then the object is unloaded.
    pub(super) links: Vec<Attached>,
    refused: Vec<Unattached>,
    drain: Option<Drain>,
    unwinder: Option<Unwinder>,
    areas: HashMap<Arc<str>, Arc<Area>>,
    cpus: usize,
    /// CPUs that ran when it began.
    online_cpus: u32,
    /// Where events are on CPUs: where they were attached, and the CPUs of then.
    followed: Option<(Place, Running)>,
    statistics: Option<OwnedFd>,
    /// Stacks by the hash of their frames: what was read once need not be read again, for a table of
    /// stacks is read several times a second.
    known_stacks: RefCell<HashMap<u64, Box<[u64]>>>,
    /// Attach points that nothing was attached to, because a begin probe ended the trace.
    spared: u32,
    /// Attach points that are not counted.
    shared: u32,
    pub(super) gone: Gone,
    pub(super) object: Object,
}

impl Trace {
    /// Loads, drains, runs the begin probes and attaches everything. Reports arrive at `sink`, those
    /// of begin probes included. On failure nothing stays attached or loaded.
    pub fn start(
        program: Arc<Program>,
        artifact: Arc<Artifact>,
        options: &TraceOptions,
        sink: Sink,
    ) -> Result<Self, EngineError> {
        let mut trace = Self::load(program, artifact, sink)?;
        if options.measure {
            trace.statistics = bpf::enable_run_statistics().ok();
        }
        trace.online_cpus = options.place.online_cpus.len().max(1) as u32;
        trace.set_budget(options.budget);
        trace.unwind(&options.place)?;
        trace.begin()?;
        if trace.exiting() {
            trace.spared = trace.attachable();
        } else {
            // What fires while it is still being attached in steps is counted, and does nothing else.
            if options.place.steps.is_some() {
                trace.turn_all_off();
            }
            trace.attach(&options.place)?;
            trace.set_budget(options.budget);
        }
        if trace.refused.is_empty() {
            trace.shared = options.place.shared;
        }
        if trace.attached() == 0 {
            return Err(EngineError::NoProbes);
        }
        Ok(trace)
    }

    /// Loads and drains; nothing runs yet.
    pub fn load(program: Arc<Program>, artifact: Arc<Artifact>, sink: Sink) -> Result<Self, EngineError> {
        if artifact.programs.is_empty() {
            // libbpf opens no object that holds maps and no program.
            return Err(EngineError::NoProbes);
        }
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        files::make_room(&artifact, cpus)?;
        let object = load::load(&program, &artifact)?;
        let areas = map_areas(&artifact, &object)?;
        let drain = match &artifact.ring {
            Some(spec) => {
                let reports = map_reports(&object, spec)?;
                Some(Drain::start(reports, wake_ups(&artifact, &areas), sink).map_err(EngineError::Thread)?)
            }
            None => None,
        };
        let trace = Self {
            program,
            artifact,
            links: Vec::new(),
            refused: Vec::new(),
            drain,
            unwinder: None,
            areas,
            cpus,
            online_cpus: cpus as u32,
            followed: None,
            statistics: None,
            known_stacks: RefCell::default(),
            spared: 0,
            shared: 0,
            gone: Gone::of_now(),
            object,
        };
        trace.set_budget(None);
        trace.set_global(GlobalKind::StartBootNs, super::boot_ns());
        trace.follow_clock();
        Ok(trace)
    }

    /// Begins to fill the tables of a script that unwinds user stacks by them; those of the traced process are there first.
    fn unwind(&mut self, place: &Place) -> Result<(), EngineError> {
        let Some(spec) = &self.artifact.unwind else { return Ok(()) };
        let missing = || EngineError::Missing { what: format!("map {}", spec.rows) };
        let rows = self.areas.get(&spec.rows).cloned().ok_or_else(missing)?;
        let map = |name: &str| {
            let descriptor = self.with_map(name, |fd, _| fd.try_clone_to_owned());
            let missing = || EngineError::Missing { what: format!("map {name}") };
            descriptor.ok_or_else(missing)?.map_err(|source| EngineError::Memory { map: name.to_owned(), source })
        };
        let tables = Tables::new(rows, map(&spec.processes)?, map(&spec.wanted)?, place.proc.clone());
        self.unwinder = Some(Unwinder::start(tables, place.pid).map_err(EngineError::Thread)?);
        Ok(())
    }

    /// Runs the begin probes in script order, up to one that calls `exit()`.
    pub fn begin(&self) -> Result<(), EngineError> {
        self.run_matching(|t| matches!(t, Target::Begin) && !self.exiting()).map(|_| ())
    }

    /// Attaches every program; all or nothing. Those of D fire once all of them are there.
    pub fn attach(&mut self, place: &Place) -> Result<(), EngineError> {
        let held = self.program.style.records && !self.exiting() && self.set_global(GlobalKind::Exiting, 1);
        // A CPU that comes meanwhile is another one at the first look.
        let running = Running::now(&place.sys);
        let links = attach::attach(&self.program, &self.artifact, &self.object, place);
        if held {
            self.set_global(GlobalKind::Exiting, 0);
        }
        let links = links?;
        self.followed = cpus::has_events(&self.artifact).then(|| (place.clone(), running));
        self.links = links.attached;
        self.refused = links.refused;
        Ok(())
    }

    /// Stops new events, runs the end probes, lets the drain hand over the rest and drop its sink, and gives what still has
    /// to be detached.
    pub fn finish(&mut self) -> Result<Detaching, EngineError> {
        let detaching = self.quiet();
        let ended = self.run_matching(|t| matches!(t, Target::End));
        if let Some(drain) = &self.drain {
            drain.stop();
        }
        ended.map(|_| detaching)
    }

    /// Waits until the drain has handed over everything, after [`Trace::finish`]. The sink must not
    /// depend on the caller.
    pub fn settle(&mut self) {
        if let Some(drain) = &mut self.drain {
            drain.join();
        }
    }

    /// Makes programs return at once, where they look at the exit flag; otherwise detaches now. What samples
    /// is detached in any case, which takes no time: interrupts a few microseconds apart would leave the CPUs
    /// none to print the rest in.
    fn quiet(&mut self) -> Detaching {
        let told = self.set_global(GlobalKind::Exiting, 1);
        let samples = |link: &Attached| {
            self.artifact.programs.get(link.program).is_some_and(|spec| spec.kind == ProgramKind::PerfEvent)
        };
        let (sampling, links): (Vec<_>, Vec<_>) = std::mem::take(&mut self.links).into_iter().partition(samples);
        drop(sampling);
        if told { Detaching::of(links) } else { Detaching::default() }
    }

    /// Makes programs return at once, where they look at the exit flag.
    pub fn hold(&self) {
        self.set_global(GlobalKind::Exiting, 1);
    }

    /// Makes programs return at once, where they look at the exit flag, and gives all that is attached.
    pub fn let_go(&mut self) -> Detaching {
        self.hold();
        Detaching::of(std::mem::take(&mut self.links))
    }

    /// Runs the probe of a signal; how many there were.
    pub fn signal(&self, signal: i32) -> Result<usize, EngineError> {
        self.run_matching(|t| *t == Target::SelfSignal(signal))
    }

    /// The script's `test:` or `bench:` probes in its order: their names, and what runs them.
    #[must_use]
    pub fn trials(&self) -> Vec<(Arc<str>, Trial)> {
        let name = |target: &Target| match target {
            Target::Test(name) | Target::Bench(name) => Some(Arc::clone(name)),
            _ => None,
        };
        self.runnable().filter_map(|(target, index)| Some((name(target)?, Trial(index)))).collect()
    }

    /// Runs a test once and gives what it returned. `exit()` ends the test and nothing else.
    pub fn run_test(&self, trial: Trial) -> Result<u64, EngineError> {
        self.set_global(GlobalKind::Result, 0);
        self.run(trial.0)?;
        self.set_global(GlobalKind::Exiting, 0);
        Ok(self.global(GlobalKind::Result).unwrap_or(0))
    }

    /// Asks for all reports so far, see [`Trace::reported`]; `None` for a script that reports nothing.
    #[must_use]
    pub fn ask_reports(&self) -> Option<u64> {
        self.drain.as_ref().map(Drain::ask)
    }

    /// Whether all reports up to a request have reached the sink.
    #[must_use]
    pub fn reported(&self, request: u64) -> bool {
        self.drain.as_ref().is_none_or(|d| d.answered() >= request)
    }

    /// Runs and time of a benchmark so far, as the kernel counts them while statistics are on.
    #[must_use]
    pub fn figures(&self, trial: Trial) -> (u64, u64) {
        self.program_info(trial.0).map_or((0, 0), |info| (info.runs, info.run_time_ns))
    }

    fn run_matching(&self, wanted: impl Fn(&Target) -> bool) -> Result<usize, EngineError> {
        let mut count = 0;
        let mut parted = None;
        for (target, index) in self.runnable() {
            if wanted(target) {
                parted = parted.or_else(|| self.drain.as_ref()?.elsewhere());
                self.run(index)?;
                count += 1;
            }
        }
        if count > 0 {
            self.nudge();
        }
        Ok(count)
    }

    fn runnable(&self) -> impl Iterator<Item = (&Target, usize)> {
        self.artifact.programs.iter().enumerate().filter(|(_, s)| s.kind == ProgramKind::TestRun).flat_map(
            |(index, spec)| {
                let probe = self.program.probes.get(spec.probe as usize);
                let targets = spec.targets.iter().filter_map(move |i| probe?.targets.get(*i as usize));
                targets.map(move |t| (t, index))
            },
        )
    }

    fn run(&self, index: usize) -> Result<u32, EngineError> {
        let spec = &self.artifact.programs[index];
        let loaded = attach::find(&self.object, &spec.name)?;
        bpf::test_run(loaded.as_fd()).map_err(|source| EngineError::Run {
            probe: self
                .program
                .probes
                .get(spec.probe as usize)
                .map_or_else(|| spec.name.to_string(), |p| attach::target_name(&self.program, p, 0)),
            source,
        })
    }

    /// Makes the drain look at the ring now.
    pub fn nudge(&self) {
        if let Some(drain) = &self.drain {
            drain.nudge();
        }
    }

    pub(super) fn known_stacks(&self) -> &RefCell<HashMap<u64, Box<[u64]>>> {
        &self.known_stacks
    }

    /// Probes that the kernel would not take, in a script that goes on without them.
    #[must_use]
    pub fn refused(&self) -> &[Unattached] {
        &self.refused
    }

    /// True once the script called `exit()`.
    #[must_use]
    pub fn exiting(&self) -> bool {
        self.global(GlobalKind::Exiting).is_some_and(|v| v != 0)
    }

    /// The typed program that runs.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The compiled object that runs.
    #[must_use]
    pub fn artifact(&self) -> &Arc<Artifact> {
        &self.artifact
    }

    /// Counters of now: delivered, lost, cost by probe.
    #[must_use]
    pub fn stats(&self) -> TraceStats {
        cost::stats(self)
    }

    /// Takes out the links of programs.
    pub(super) fn take_links_of(&mut self, wanted: impl Fn(usize) -> bool) -> Detaching {
        let (links, rest) = std::mem::take(&mut self.links).into_iter().partition(|link| wanted(link.program));
        self.links = rest;
        Detaching::of(links)
    }

    pub(super) fn set_statistics(&mut self, statistics: Option<OwnedFd>) {
        self.statistics = statistics;
    }

    pub(super) fn links(&self) -> &[Attached] {
        &self.links
    }

    pub(super) fn delivered(&self) -> u64 {
        self.drain.as_ref().map_or(0, Drain::delivered)
    }

    /// Possible CPUs: how many values a per-CPU map has for each key.
    pub(super) fn cpus(&self) -> usize {
        self.cpus
    }

    /// CPUs that ran when it began: a budget is of all of them.
    #[must_use]
    pub const fn online_cpus(&self) -> u32 {
        self.online_cpus
    }

    pub(super) fn measured(&self) -> bool {
        self.statistics.is_some()
    }

    pub(super) fn area(&self, name: &str) -> Option<&Area> {
        self.areas.get(name).map(Arc::as_ref)
    }

    pub(super) fn with_map<T>(
        &self,
        name: &str,
        f: impl FnOnce(BorrowedFd<'_>, &libbpf_rs::Map<'_>) -> T,
    ) -> Option<T> {
        let map = self.object.maps().find(|m| m.name().to_str() == Some(name))?;
        Some(f(map.as_fd(), &map))
    }

    fn program_info(&self, index: usize) -> Option<bpf::ProgramInfo> {
        let loaded = attach::find(&self.object, &self.artifact.programs.get(index)?.name).ok()?;
        bpf::program_info(loaded.as_fd()).ok()
    }

    /// Figures of all programs, in the artifact's order.
    pub(super) fn program_infos(&self) -> Vec<bpf::ProgramInfo> {
        let loaded = attach::by_name(&self.object);
        let info = |name: &str| bpf::program_info(loaded.get(name)?.as_fd()).ok();
        self.artifact.programs.iter().map(|spec| info(&spec.name).unwrap_or_default()).collect()
    }

    fn global(&self, kind: GlobalKind) -> Option<u64> {
        let spec = self.artifact.globals.iter().find(|g| g.kind == kind)?;
        Some(self.areas.get(&spec.area)?.read_u64(spec.offset as usize))
    }

    fn set_global(&self, kind: GlobalKind, value: u64) -> bool {
        let Some(spec) = self.artifact.globals.iter().find(|g| g.kind == kind) else { return false };
        let Some(area) = self.areas.get(&spec.area) else { return false };
        area.write_u64(spec.offset as usize, value);
        true
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        drop(self.let_go());
    }
}

/// Maps all global-data maps that the artifact speaks of.
fn map_areas(artifact: &Artifact, object: &Object) -> Result<HashMap<Arc<str>, Arc<Area>>, EngineError> {
    let mut areas = HashMap::new();
    for name in area_names(artifact) {
        if areas.contains_key(name) {
            continue;
        }
        let Some(map) = object.maps().find(|m| m.name().to_str() == Some(name)) else {
            return Err(EngineError::Missing { what: format!("map {name}") });
        };
        let area = Area::map(map.as_fd(), map.value_size() as usize)
            .map_err(|source| EngineError::Memory { map: name.to_string(), source })?;
        areas.insert(Arc::clone(name), Arc::new(area));
    }
    Ok(areas)
}

fn area_names(artifact: &Artifact) -> impl Iterator<Item = &Arc<str>> {
    let maps = artifact.maps.iter().flat_map(|m| match &m.storage {
        Storage::Global { area, .. } | Storage::GlobalPerCpu { area, .. } => [Some(area), None],
        Storage::Cells(spec) => [Some(&spec.area), Some(&spec.words_area)],
        Storage::Hash { .. } => [None, None],
    });
    let brakes = artifact.brakes.iter().map(|b| &b.area);
    let budget = artifact.budget.iter().map(|b| &b.area);
    maps.flatten()
        .chain(artifact.unwind.iter().map(|u| &u.rows))
        .chain(brakes)
        .chain(budget)
        .chain(artifact.sites.iter().map(|s| &s.area))
        .chain(artifact.globals.iter().map(|g| &g.area))
}

/// Where programs look whether to wake the drain.
fn wake_ups(artifact: &Artifact, areas: &HashMap<Arc<str>, Arc<Area>>) -> Option<WakeUps> {
    let spec = artifact.globals.iter().find(|g| g.kind == GlobalKind::WakeUps)?;
    Some(WakeUps { area: Arc::clone(areas.get(&spec.area)?), offset: spec.offset as usize })
}

fn map_reports(object: &Object, spec: &RingSpec) -> Result<Reports, EngineError> {
    let map = |name: &str| {
        let map = object.maps().find(|m| m.name().to_str() == Some(name));
        map.ok_or_else(|| EngineError::Missing { what: format!("map {name}") })
    };
    let refused = |name: &str, source| EngineError::Memory { map: name.to_owned(), source };
    let name = spec.kernel_map();
    let ring = map(name)?;
    let ring = Ring::map(ring.as_fd(), ring.max_entries() as usize).map_err(|e| refused(name, e))?;
    let RingSpec::Slots(slots) = spec else { return Ok(Reports::Ring(ring)) };
    let rings = SlotRings::map(map(&slots.map)?.as_fd(), slots.clone()).map_err(|e| refused(&slots.map, e))?;
    Ok(Reports::Slots(Box::new(SlotReports::new(rings, ring))))
}
