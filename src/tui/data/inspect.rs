//! What can be asked of the kernel and the system beside the traces, and what is answered.

use std::sync::Arc;

use crate::engine::inventory::Contents;
use crate::model::bpf::Inventory;
use crate::session::scopes::Scope;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspect {
    /// Read all programs and maps from now on, and let the kernel count the programs' runs.
    Watch,
    /// Read all programs and maps once.
    Once,
    /// Stop watching.
    Rest,
    /// How often do these probes fire?
    Hits(Vec<Arc<str>>),
    /// What processes and control groups are there?
    Scopes,
    /// What is in a map?
    Map(u32),
    /// The instructions of a program.
    Code(u32),
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Inspected {
    /// All programs and maps, or why they can't be read.
    Inventory(Result<Arc<Inventory>, String>),
    /// How often each probe fired in a second, or why that can't be told.
    Hits(Result<Vec<(Arc<str>, u64)>, String>),
    /// Processes and control groups.
    Scopes(Arc<[Scope]>),
    /// What is in a map.
    Map(u32, Result<Arc<Contents>, String>),
    /// The instructions of a program.
    Code(u32, Result<Arc<Vec<String>>, String>),
}
