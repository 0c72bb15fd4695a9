//! Hanging loaded programs on their targets, all or nothing.
//!
//! Order, so that script order is firing order (facts of bpftrace's attach points): forward what the kernel runs in
//! the order of its attaching, as kretprobes, tracepoints and perf events; then what it runs the other way round in
//! reverse, as kprobes, uprobes and trampolines (`ProgramSpec::newest_first`). Timers come last: their time runs from
//! their own attaching, and thousands of functions take seconds.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use libbpf_rs::{Object, ProgramMut};

use super::detach::Detaching;
use super::error::EngineError;
use super::load::listen;
use crate::codegen::artifact::{Artifact, ProgramKind, ProgramSpec};
use crate::kernel::features::Feature;
use crate::kernel::process::{self, Left};
use crate::kernel::{Kernel, Roots};
use crate::lang::source::Span;
use crate::lang::typed::{MissingProbes, Probe, Program};
use crate::model::target::Target;

pub mod cpus;
mod iter;
mod kernel;
mod leader;
mod perf;
mod steps;
mod trampolines;
mod user;

use steps::LeftOut;
pub use steps::Steps;
pub(super) use trampolines::end as trampoline_end;

/// What attaching needs to know of the machine and the command line.
#[derive(Clone, Debug)]
pub struct Place {
    /// Mount point of sysfs.
    pub sys: PathBuf,
    /// Mount point of procfs.
    pub proc: PathBuf,
    /// Online CPUs, never empty.
    pub online_cpus: Vec<u32>,
    /// Only this process, where the attach point can tell.
    pub pid: Option<u32>,
    /// User probes are attached to all processes, and their programs ask whose call it is.
    pub everybody: bool,
    /// Attach points that are not counted, as bpftrace attaches them by another one's link.
    pub shared: u32,
    /// Many functions of the kernel are attached in steps, within a budget.
    pub steps: Option<Steps>,
}

impl Place {
    /// This kernel, or one process on it.
    #[must_use]
    pub fn new(kernel: &Kernel, pid: Option<u32>) -> Self {
        let Roots { sys, proc, .. } = kernel.roots().clone();
        let everybody = pid.is_some_and(|pid| matches!(process::left(&proc, pid), Left::Others(_)));
        Self {
            sys,
            proc,
            online_cpus: kernel.online_cpus().as_slice().to_vec(),
            pid,
            everybody,
            shared: 0,
            steps: None,
        }
    }

    /// Counts a program's attach points as bpftrace does on this kernel.
    #[must_use]
    pub fn counting_as_bpftrace(mut self, kernel: &Kernel, program: &Program, artifact: &Artifact) -> Self {
        let shared = super::sessions::counted_with_others(program, artifact);
        // The features are read only for scripts that have such pairs.
        self.shared = if shared > 0 && kernel.features().has(Feature::KprobeSession) { shared } else { 0 };
        self
    }
}

/// A link and the program that it runs.
#[derive(Debug)]
pub struct Attached {
    /// Index in `Artifact::programs`.
    pub program: usize,
    /// That program's kind.
    pub kind: ProgramKind,
    /// How many attach points it stands for.
    pub targets: u32,
    /// The CPU that it is on, where it is on one.
    pub cpu: Option<u32>,
    /// The kernel's link; dropping it detaches.
    pub link: Held,
}

/// A link of the kernel, as whoever made it holds it.
#[derive(Debug)]
pub enum Held {
    /// By libbpf.
    Libbpf(libbpf_rs::Link),
    /// By its descriptor alone.
    Descriptor(OwnedFd),
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Libbpf(link) => link.as_fd(),
            Self::Descriptor(fd) => fd.as_fd(),
        }
    }
}

impl From<libbpf_rs::Link> for Held {
    fn from(link: libbpf_rs::Link) -> Self {
        Self::Libbpf(link)
    }
}

/// Why one target could not be attached; becomes [`EngineError::Attach`] with the probe's name.
#[derive(Debug)]
struct Refusal {
    target: usize,
    reason: String,
}

impl Refusal {
    /// Of a call of libbpf that failed just now.
    fn new(target: usize, error: &libbpf_rs::Error) -> Self {
        Self { target, reason: reason(error, last_number()) }
    }

    fn io(target: usize, error: &std::io::Error) -> Self {
        Self { target, reason: super::error::words(error) }
    }
}

/// What EILSEQ of `arch_prepare_kprobe` means.
const INSIDE_AN_INSTRUCTION: &str =
    "Possible attachment attempt in the middle of an instruction, try a different offset.";

/// The error number of libbpf's call that failed just now on this thread. libbpf sets `errno` whenever
/// it fails, and libbpf-rs keeps the number to itself.
fn last_number() -> Option<i32> {
    std::io::Error::last_os_error().raw_os_error()
}

/// libbpf's error in plain words, by its kind and number.
fn reason(error: &libbpf_rs::Error, number: Option<i32>) -> String {
    use libbpf_rs::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => "this kernel has no such attach point".to_owned(),
        Kind::PermissionDenied => super::rights::denied(),
        Kind::Unsupported => "this kernel does not support it".to_owned(),
        _ if number == Some(libc::EILSEQ) => INSIDE_AN_INSTRUCTION.to_owned(),
        _ if number == Some(libc::EMFILE) => "too many files are open; `ulimit -n` raises the limit".to_owned(),
        _ => {
            let talk = super::load::talk();
            let said = talk.lines().last().unwrap_or_default().trim_start_matches("libbpf: ");
            if said.is_empty() { format!("{error:#}") } else { format!("{error:#} ({said})") }
        }
    }
}

/// A probe that the kernel would not take, where the script goes on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unattached {
    /// Its name, as the script's user knows it.
    pub probe: String,
    /// Why, in plain words.
    pub reason: String,
    /// Where the script names it.
    pub span: Span,
}

/// What attaching gave.
#[derive(Debug, Default)]
pub struct Links {
    /// What is attached.
    pub attached: Vec<Attached>,
    /// What is not, in a script whose `missing_probes` forgives it.
    pub refused: Vec<Unattached>,
    /// Functions that were left out to keep a budget.
    left_out: LeftOut,
}

/// Attaches the programs of user probes to all processes: those that they stand for by now see nothing any more.
fn attach_users(
    program: &Program,
    artifact: &Artifact,
    object: &Object,
    place: &Place,
) -> Result<Vec<Attached>, EngineError> {
    let (loaded, place, mut links) = (by_name(object), Place { everybody: true, ..place.clone() }, Links::default());
    for index in order(program, artifact) {
        let spec = &artifact.programs[index];
        if matches!(spec.kind, ProgramKind::Uprobe | ProgramKind::UprobeMulti) {
            attach_program(program, &loaded, &place, index, spec, &mut links)?;
        }
    }
    Ok(links.attached)
}

/// Attaches every program that has targets. On failure everything attached so far is let go and the error names the probe.
pub fn attach(program: &Program, artifact: &Artifact, object: &Object, place: &Place) -> Result<Links, EngineError> {
    let mut links = Links::default();
    let result = attach_all(program, artifact, object, place, &mut links);
    if result.is_err() {
        // Why it failed is told at once, however long the kernel takes to detach the rest.
        let _ = Detaching::of(std::mem::take(&mut links.attached)).release();
    }
    result.map(|()| links)
}

fn attach_all(
    program: &Program,
    artifact: &Artifact,
    object: &Object,
    place: &Place,
    links: &mut Links,
) -> Result<(), EngineError> {
    let loaded = by_name(object);
    for index in order(program, artifact) {
        attach_program(program, &loaded, place, index, &artifact.programs[index], links)?;
    }
    Ok(())
}

/// The programs in the order of their attaching, by their index.
#[must_use]
pub fn order(program: &Program, artifact: &Artifact) -> Vec<usize> {
    let of_turn = |turn: Turn| {
        let specs = artifact.programs.iter().enumerate();
        let mut chosen: Vec<usize> =
            specs.filter(|(_, spec)| Turn::of(program, spec) == turn).map(|(index, _)| index).collect();
        if turn == Turn::Reverse {
            chosen.reverse();
        }
        chosen
    };
    [Turn::Forward, Turn::Reverse, Turn::Timers].into_iter().flat_map(of_turn).collect()
}

/// When a program has its turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Forward,
    Reverse,
    Timers,
}

impl Turn {
    fn of(program: &Program, spec: &ProgramSpec) -> Self {
        let targets = program.probes.get(spec.probe as usize).map_or(&[][..], |probe| &probe.targets);
        let is_timer = |target: &Target| matches!(target, Target::Interval { .. });
        if !targets.is_empty() && targets.iter().all(is_timer) {
            Self::Timers
        } else if spec.newest_first {
            Self::Reverse
        } else {
            Self::Forward
        }
    }
}

fn attach_program(
    program: &Program,
    loaded: &HashMap<String, ProgramMut<'_>>,
    place: &Place,
    index: usize,
    spec: &ProgramSpec,
    all: &mut Links,
) -> Result<(), EngineError> {
    let links = &mut all.attached;
    let probe = program
        .probes
        .get(spec.probe as usize)
        .ok_or_else(|| EngineError::Missing { what: format!("probe of program {}", spec.name) })?;
    if spec.kind == ProgramKind::TestRun {
        return Ok(());
    }
    let missing = || EngineError::Missing { what: format!("program {}", spec.name) };
    let loaded = loaded.get(&*spec.name).ok_or_else(missing)?;
    listen();
    let forgiving = program.config.missing_probes != MissingProbes::Error;
    let job = Job {
        loaded,
        spec,
        probe,
        place,
        index,
        forgiving,
        refused: RefCell::default(),
        left_out: RefCell::new(std::mem::take(&mut all.left_out)),
    };
    let result = match spec.kind {
        ProgramKind::TestRun => Ok(()),
        ProgramKind::Tracepoint => kernel::tracepoints(&job, links),
        ProgramKind::RawTracepoint if matches!(job.first(), Some(Target::Tracepoint { .. })) => {
            kernel::raw_tracepoints(&job, links)
        }
        ProgramKind::RawTracepoint | ProgramKind::Fentry | ProgramKind::Fexit => kernel::by_section(&job, links),
        ProgramKind::FentryMulti | ProgramKind::FexitMulti => trampolines::attach(&job, links),
        ProgramKind::Iter => iter::walk(&job, links),
        ProgramKind::SyscallDispatch => kernel::dispatch(&job, links),
        ProgramKind::Kprobe => kernel::kprobes(&job, links),
        ProgramKind::KprobeMulti => kernel::kprobe_multi(&job, links),
        ProgramKind::KprobeSession => kernel::kprobe_session(&job, links),
        ProgramKind::Uprobe => user::uprobes(&job, links),
        ProgramKind::UprobeMulti => user::uprobe_multi(&job, links),
        ProgramKind::PerfEvent => perf::events(&job, links),
    };
    let named = |refusal: Refusal| Unattached {
        probe: target_name(program, probe, refusal.target),
        reason: refusal.reason,
        span: probe.head,
    };
    all.left_out = job.left_out.take();
    if let Err(refusal) = result.or_else(|refusal| job.forgive(refusal)) {
        let Unattached { probe, reason, span } = named(refusal);
        return Err(EngineError::Attach { probe, reason, span });
    }
    all.refused.extend(job.refused.into_inner().into_iter().map(named));
    Ok(())
}

/// One program's attaching.
struct Job<'a> {
    loaded: &'a ProgramMut<'a>,
    spec: &'a ProgramSpec,
    probe: &'a Probe,
    place: &'a Place,
    index: usize,
    /// What can't be attached is told of, and the script goes on.
    forgiving: bool,
    refused: RefCell<Vec<Refusal>>,
    left_out: RefCell<LeftOut>,
}

impl Job<'_> {
    fn cookie(&self, target: usize) -> u64 {
        if !self.spec.needs_cookie {
            return 0;
        }
        self.probe.names.get(target).map_or(0, |n| u64::from(*n))
    }

    /// The targets that this program stands for, by their index in the probe.
    fn targets(&self) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        let indices = self.spec.targets.iter().map(|i| *i as usize);
        indices.filter_map(|i| Some((i, self.probe.targets.get(i)?)))
    }

    fn first(&self) -> Option<&Target> {
        self.targets().next().map(|(_, target)| target)
    }

    /// Keeps a refusal that the script's `missing_probes` forgives.
    fn forgive(&self, refusal: Refusal) -> Result<(), Refusal> {
        if !self.forgiving {
            return Err(refusal);
        }
        self.refused.borrow_mut().push(refusal);
        Ok(())
    }

    fn done(&self, links: &mut Vec<Attached>, link: impl Into<Held>, targets: usize) {
        let (program, kind) = (self.index, self.spec.kind);
        links.push(Attached { program, kind, targets: targets as u32, cpu: None, link: link.into() });
    }

    fn done_on(&self, cpu: u32, links: &mut Vec<Attached>, link: impl Into<Held>, targets: usize) {
        let (program, kind) = (self.index, self.spec.kind);
        links.push(Attached { program, kind, targets: targets as u32, cpu: Some(cpu), link: link.into() });
    }
}

/// One link for these targets. The kernel refuses it for a single one of them that it does not like: then each half
/// gets one, down to those that are refused alone, with the reason.
fn halves<T>(
    job: &Job<'_>,
    targets: &[T],
    links: &mut Vec<Attached>,
    link: &dyn Fn(&[T]) -> Result<Held, String>,
    alone: &dyn Fn(&T, String, &mut Vec<Attached>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    match (link(targets), targets) {
        (Ok(link), _) => {
            job.done(links, link, targets.len());
            Ok(())
        }
        (Err(reason), [only]) => alone(only, reason, links),
        (Err(_), _) => {
            let (first, second) = targets.split_at(targets.len() / 2);
            halves(job, first, links, link, alone)?;
            halves(job, second, links, link, alone)
        }
    }
}

/// The programs of the loaded object by name.
pub(super) fn by_name(object: &Object) -> HashMap<String, ProgramMut<'_>> {
    object.progs_mut().map(|program| (program.name().to_string_lossy().into_owned(), program)).collect()
}

/// A program of the loaded object by name.
pub(super) fn find<'a>(object: &'a Object, name: &str) -> Result<ProgramMut<'a>, EngineError> {
    object
        .progs_mut()
        .find(|p| p.name().to_str() == Some(name))
        .ok_or_else(|| EngineError::Missing { what: format!("program {name}") })
}

/// The target's name as the script's user knows it.
pub(super) fn target_name(program: &Program, probe: &Probe, target: usize) -> String {
    probe
        .names
        .get(target)
        .and_then(|n| program.probe_names.get(*n as usize))
        .map_or_else(|| "a probe".to_owned(), ToString::to_string)
}
