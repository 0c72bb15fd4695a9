//! From bytes to loaded programs and maps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Once;

use std::os::fd::{AsRawFd, OwnedFd};

use libbpf_rs::{Object, ObjectBuilder, OpenObject, PrintLevel};

use super::error::EngineError;
use super::rights::denied;
use super::sys::bpf::{self, LogLevel};
use crate::codegen::artifact::{Artifact, ProgramKind, ProgramSpec, RingSpec};
use crate::codegen::verifier_log;
use crate::lang::typed::{ActionKind, Program};
use crate::model::target::Target;
use crate::probe::loaded;

/// Size of the ring buffer when the script names none: a burst of a million small records from one
/// CPU passes through it whole while the drain thread keeps up (see benches/burst).
pub const DEFAULT_RING_BYTES: u32 = 8 << 20;
/// Enough for scripts that report nothing but `exit()` and whole maps.
const SMALL_RING_BYTES: u32 = 64 << 10;
/// The smallest there is, where it only wakes the drain.
const WAKING_RING_BYTES: u32 = 4 << 10;
/// Room for the verifier's log of one program, with every instruction that it looked at.
const LOG_BYTES: usize = 1 << 20;
/// Room for its complaint and statistics alone.
const SHORT_LOG_BYTES: usize = 16 << 10;
/// Most that is kept of what libbpf says.
const TALK_BYTES: usize = 64 << 10;

thread_local! {
    static TALK: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Routes libbpf's messages into this thread's buffer; they never reach standard error.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Info, |_, message| {
            TALK.with_borrow_mut(|talk| {
                if talk.len() < TALK_BYTES {
                    talk.push_str(&message);
                }
            });
        })));
    });
    TALK.with_borrow_mut(String::clear);
}

/// What libbpf said on this thread since the last operation began.
pub(super) fn talk() -> String {
    TALK.with_borrow(Clone::clone)
}

/// Starts listening to libbpf anew.
pub(super) fn listen() {
    hush();
}

/// Loads the object's maps and programs; nothing is attached.
pub fn load(program: &Program, artifact: &Artifact) -> Result<Object, EngineError> {
    // A whole log takes the kernel seconds for a program that is too much for it, and room that it does
    // not find: the complaint alone tells whether more is worth asking for.
    match attempt(program, artifact, LogLevel::Complaint) {
        Err(refused @ EngineError::Rejected { .. }) if told_all(&refused) => Err(refused),
        Err(complaint @ EngineError::Rejected { .. }) => attempt(program, artifact, LogLevel::Whole)
            .map_err(|whole| if ends_in(&complaint, &whole) { whole } else { complaint }),
        result => result,
    }
}

/// Whether the whole log has the complaint: kernels before 6.4 (commit 1216640938035) fill the room with a log's
/// beginning and leave out the rest.
fn ends_in(complaint: &EngineError, whole: &EngineError) -> bool {
    let (EngineError::Rejected { log: complaint, .. }, EngineError::Rejected { log: whole, .. }) = (complaint, whole)
    else {
        return true;
    };
    verifier_log::complaint(complaint).is_none_or(|said| whole.contains(said))
}

fn attempt(program: &Program, artifact: &Artifact, level: LogLevel) -> Result<Object, EngineError> {
    listen();
    let mut object = open(artifact)?;
    size_ring(program, artifact, &mut object)?;
    // The kernel looks at the programs that are traced when it loads those that trace them.
    let _traced = name_targets(program, artifact, &mut object)?;
    let bytes = if level == LogLevel::Whole { LOG_BYTES } else { SHORT_LOG_BYTES };
    bpf::load_with_logs(object, level, bytes).map_err(|(error, logs)| explain(artifact, &error, logs))
}

/// Whether a complaint is understood without the instructions before it.
fn told_all(refused: &EngineError) -> bool {
    let EngineError::Rejected { log, .. } = refused else { return false };
    verifier_log::explain(log, &[]).is_some_and(|said| said.cause == verifier_log::Cause::Complexity)
}

fn open(artifact: &Artifact) -> Result<OpenObject, EngineError> {
    ObjectBuilder::default()
        .name("probescope")
        .and_then(|builder| builder.open_memory(&artifact.object))
        .map_err(|e| EngineError::Open { reason: format!("{e:#}{}", said()) })
}

fn said() -> String {
    let talk = talk();
    if talk.is_empty() { String::new() } else { format!(" ({})", talk.trim()) }
}

fn size_ring(program: &Program, artifact: &Artifact, object: &mut OpenObject) -> Result<(), EngineError> {
    let Some(ring) = &artifact.ring else { return Ok(()) };
    let bytes = match program.config.ring_bytes {
        _ if matches!(ring, RingSpec::Slots(_)) => WAKING_RING_BYTES,
        0 if reports_little(program) => SMALL_RING_BYTES,
        0 => DEFAULT_RING_BYTES,
        n => n,
    };
    let Some(mut map) = object.maps_mut().find(|m| m.name().to_str() == Some(ring.kernel_map())) else {
        return Err(EngineError::Missing { what: format!("map {}", ring.kernel_map()) });
    };
    map.set_max_entries(bytes).map_err(|e| EngineError::Open { reason: format!("ring buffer of {bytes} bytes: {e:#}") })
}

/// True when no report can come in a burst.
fn reports_little(program: &Program) -> bool {
    program.actions.iter().all(|action| {
        matches!(
            action.kind,
            ActionKind::Exit | ActionKind::Clear(_) | ActionKind::Zero(_) | ActionKind::PrintMap { .. }
        )
    })
}

/// Programs whose section names no target get it from the typed program.
fn name_targets(program: &Program, artifact: &Artifact, object: &mut OpenObject) -> Result<Vec<OwnedFd>, EngineError> {
    let mut traced = Vec::new();
    let specs: HashMap<&str, &ProgramSpec> = artifact.programs.iter().map(|spec| (&*spec.name, spec)).collect();
    for mut loaded in object.progs_mut() {
        let Some(&spec) = loaded.name().to_str().and_then(|name| specs.get(name)) else { continue };
        match spec.kind {
            ProgramKind::RawTracepoint | ProgramKind::Fentry | ProgramKind::Fexit | ProgramKind::Iter
                if !spec.section.contains('/') || bpf_program(program, spec).is_some() =>
            {
                let Some(name) = btf_target(program, spec) else { continue };
                let failed =
                    |e: libbpf_rs::Error| EngineError::Open { reason: format!("target {name}: {e:#}{}", said()) };
                let of = bpf_program(program, spec).map(libbpf_rs::Program::fd_from_id).transpose().map_err(failed)?;
                let descriptor = of.as_ref().map_or(0, AsRawFd::as_raw_fd);
                loaded.set_attach_target(descriptor, Some(name.clone())).map_err(failed)?;
                traced.extend(of);
            }
            ProgramKind::FentryMulti | ProgramKind::FexitMulti => {
                bpf::declare_for_trampolines(&mut loaded, super::attach::trampoline_end(spec.kind));
            }
            _ => {}
        }
    }
    Ok(traced)
}

/// The id of the loaded BPF program that a program traces.
fn bpf_program(program: &Program, spec: &ProgramSpec) -> Option<u32> {
    match first_target(program, spec)? {
        Target::Fentry { module, .. } => loaded::id_of_module(module),
        _ => None,
    }
}

fn first_target<'p>(program: &'p Program, spec: &ProgramSpec) -> Option<&'p Target> {
    program.probes.get(spec.probe as usize)?.targets.get(*spec.targets.first()? as usize)
}

fn btf_target(program: &Program, spec: &ProgramSpec) -> Option<String> {
    Some(match first_target(program, spec)? {
        Target::RawTracepoint { event, .. } => event.to_string(),
        Target::Fentry { function, .. } => function.to_string(),
        Target::Iter { kind, .. } => kind.to_string(),
        _ => return None,
    })
}

fn explain(artifact: &Artifact, error: &libbpf_rs::Error, logs: Vec<(String, String)>) -> EngineError {
    // Programs are loaded in order, and those before the refused one may have left statistics.
    if let Some((name, log)) = logs.into_iter().rfind(|(_, log)| !log.trim().is_empty()) {
        let index = artifact.programs.iter().position(|s| *s.name == *name).unwrap_or(usize::MAX);
        return EngineError::Rejected { program: name.into(), index, reason: format!("{error}"), log: log.into() };
    }
    let talk = talk();
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return EngineError::Permission { operation: "load BPF programs".to_owned(), reason: denied() };
    }
    let first = talk.lines().find(|l| l.contains("libbpf:")).unwrap_or_default();
    let reason = match first.trim_start_matches("libbpf: ") {
        "" => format!("{error}"),
        words => format!("{error}: {words}"),
    };
    EngineError::Load { reason, log: talk.into() }
}
