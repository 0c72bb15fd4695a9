//! What can go wrong, and what can be missing.

use std::path::PathBuf;
use std::sync::Arc;

/// Something that this kernel, or this user's rights on it, does not offer. Shown wherever the thing
/// would have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct Absence {
    /// The missing thing, as a noun: `kprobes`, `BTF of vmlinux`.
    pub what: Arc<str>,
    /// Why, from evidence: a file's error, a kernel option, a missing right.
    pub reason: Arc<str>,
    /// What the user can do about it, or use instead.
    pub remedy: Arc<str>,
}

impl Absence {
    /// An absence.
    #[must_use]
    pub fn new(what: &str, reason: &str, remedy: &str) -> Self {
        Self { what: what.into(), reason: reason.into(), remedy: remedy.into() }
    }
}

/// Why something that was asked of the kernel's files was not answered.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel does not offer it.
    #[error(transparent)]
    Absent(#[from] Absence),
    /// tracefs has no such event.
    #[error("there is no tracepoint {category}:{event}")]
    NoTracepoint {
        /// Category asked for.
        category: Arc<str>,
        /// Event asked for.
        event: Arc<str>,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file was read but makes no sense.
    #[error("{} makes no sense: {problem}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}
