//! What fires: the kind of a program's probe, and what its code knows of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::other_calls::Call;
use crate::lang::facts::{Facts, TraceField};
use crate::lang::typed::{Expr, LocalId};
use crate::probe::providers;

/// Arguments of system calls, at most.
pub const MOST_ARGUMENTS: u8 = 6;

/// What a program tells of itself: its arguments depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteKind {
    #[default]
    Nothing,
    /// A timer's program.
    Timer,
    Entry,
    Return,
    Semantic,
    /// A function of the kernel.
    KernelEntry,
    KernelReturn,
    /// A function of a process, or an instruction in it.
    UserEntry,
    UserReturn,
    /// A static probe of a process.
    Static,
    /// A tracepoint of the kernel, and the call of one.
    Tracepoint,
    RawTracepoint,
    /// A probe that this kernel lacks: its clauses are checked for what they make known, and left out.
    Absent,
}

impl SiteKind {
    /// Many probes of this kind are one program.
    pub const fn is_of_many(self) -> bool {
        use SiteKind::{Entry, KernelEntry, KernelReturn, Return, UserEntry, UserReturn};
        matches!(self, Entry | Return | KernelEntry | KernelReturn | UserEntry | UserReturn)
    }

    pub const fn is_entry(self) -> bool {
        matches!(self, Self::Entry | Self::KernelEntry | Self::UserEntry)
    }
}

/// The firing probe, as the code at hand knows it.
#[derive(Clone, Debug, Default)]
pub struct Site {
    pub kind: SiteKind,
    /// The probe's own name when there is one alone.
    pub name: Option<Arc<str>>,
    pub id: u32,
    /// How many arguments the records of all its system calls hold; what is beyond is 0.
    pub arguments: u8,
    /// The system call that another's name stands for, where arguments are moved.
    pub call: Option<&'static Call>,
    /// Provider and module, where all probes of the program have the same.
    pub common: [Option<Arc<str>>; 2],
    /// `arg1` to `arg5` of ERROR clauses.
    pub error_arguments: Option<[Expr; 6]>,
    /// The place where a semantic probe fires.
    pub place: Option<Arc<providers::Found>>,
    /// How long ago what the place ends has begun.
    pub since: Option<LocalId>,
    /// Arguments of the inline that is being put in.
    pub inline_arguments: HashMap<Arc<str>, Expr>,
}

/// How many arguments the record of a system call holds.
pub fn arguments_of(facts: &dyn Facts, event: &str) -> u8 {
    // Before the arguments stand the call's number, and what all tracepoints have. Behind them stand texts that arguments
    // point to, in kernels that copy them into the record (Linux 7.2: `__buf_val` of write).
    let own = |fields: Vec<TraceField>| fields.iter().filter(|f| f.offset >= 16 && !f.data_loc).count() as u8;
    facts.tracepoint("syscalls", event).map_or(MOST_ARGUMENTS, own).min(MOST_ARGUMENTS)
}
