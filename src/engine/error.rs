//! What can go wrong between a finished object and a running trace.

use std::sync::Arc;

use crate::lang::source::Span;

/// Failures of the engine, each with the operation and its object.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// libbpf could not make sense of the object.
    #[error("cannot open the compiled object: {reason}")]
    Open {
        /// libbpf's words.
        reason: String,
    },
    /// The kernel's verifier refused a program.
    #[error("the kernel refused program {program}: {reason}")]
    Rejected {
        /// Name of the program in the object.
        program: Arc<str>,
        /// Index in `Artifact::programs`.
        index: usize,
        /// The error's words.
        reason: String,
        /// The verifier's log.
        log: Arc<str>,
    },
    /// The script forgives missing probes, and not one is left.
    #[error("No probes to attach")]
    NoProbes,
    /// The kernel refused maps or programs for another reason.
    #[error("cannot load the compiled object: {reason}")]
    Load {
        /// Plain words.
        reason: String,
        /// What libbpf said on the way.
        log: Arc<str>,
    },
    /// More files would be open than this process may have.
    #[error(
        "{programs} programs and their links are {needed} open files, and the limit is {most}; `ulimit -n` of a \
         privileged shell raises it"
    )]
    Files {
        /// Programs of the script.
        programs: usize,
        /// Open files that they need.
        needed: u64,
        /// How many may be open.
        most: u64,
    },
    /// A privilege is missing.
    #[error("cannot {operation}: {reason}")]
    Permission {
        /// What was tried.
        operation: String,
        /// What is missing, or forbids it.
        reason: String,
    },
    /// A probe could not be attached; everything attached before was detached.
    #[error("cannot attach {probe}: {reason}")]
    Attach {
        /// The attach point as users write it.
        probe: String,
        /// Plain words.
        reason: String,
        /// The attach points in the script.
        span: Span,
    },
    /// A begin, end, signal or test probe could not be run.
    #[error("cannot run {probe}: {source}")]
    Run {
        /// Which.
        probe: String,
        /// Why.
        source: std::io::Error,
    },
    /// The object and its description do not belong together.
    #[error("the compiled object has no {what}")]
    Missing {
        /// What is missing.
        what: String,
    },
    /// Memory shared with the programs could not be mapped.
    #[error("cannot map {map}: {source}")]
    Memory {
        /// Which map.
        map: String,
        /// Why.
        source: std::io::Error,
    },
    /// A map could not be read or changed.
    #[error("cannot {operation} map {map}: {source}")]
    Map {
        /// What was tried.
        operation: &'static str,
        /// Which map.
        map: String,
        /// Why.
        source: std::io::Error,
    },
    /// The kernel does not tell of what is loaded.
    #[error("cannot {operation}: {source}")]
    Objects {
        /// What was tried.
        operation: String,
        /// Why.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// An error number in the words of tracing.
#[must_use]
pub fn words(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => super::rights::denied(),
        Some(libc::ENOENT) => "this kernel has no such attach point".to_owned(),
        Some(libc::EOPNOTSUPP) => "this kernel does not support it".to_owned(),
        Some(libc::ENODEV) => "this machine has no such event".to_owned(),
        Some(libc::EBUSY) => "the event is in use by someone else".to_owned(),
        Some(libc::E2BIG) => "too many".to_owned(),
        Some(libc::EINVAL) => "the kernel calls it invalid (EINVAL)".to_owned(),
        Some(libc::EMFILE) => "too many open files; raise the limit with `ulimit -n`".to_owned(),
        Some(libc::ENOMEM) => "not enough memory".to_owned(),
        _ => error.to_string(),
    }
}
