//! Where the code at hand stands: what belongs to one program, one clause or one firing.

use std::collections::HashMap;
use std::sync::Arc;

use super::site::Site;
use crate::lang::typed::{Expr, Local, LocalId};
use crate::model::d::Item;

/// Scratch memory of a program.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// An array of bytes.
    pub bytes: LocalId,
    pub len: u32,
    /// Where the next piece begins.
    pub top: LocalId,
}

/// What a `strtok` goes on with.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    pub bytes: LocalId,
    pub text: LocalId,
    /// Where the next word is looked for; negative before the first.
    pub at: LocalId,
    pub delimiters: LocalId,
}

/// Where the code at hand stands.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub locals: Vec<Local>,
    /// What the clause has recorded so far.
    pub items: Vec<Item>,
    pub values: Vec<Expr>,
    pub exit: Option<Expr>,
    /// Set once a clause has called `exit`: later ones of the firing do not run.
    pub exited: Option<LocalId>,
    /// The time of the firing, once it was asked for; 0 before.
    pub now: Option<LocalId>,
    /// Bytes that recorded values wait in, those that are in use, and the most that were.
    pub recorded: Option<LocalId>,
    pub recorded_bytes: (u32, u32),
    /// The clause's number.
    pub clause: u32,
    /// Set by a fault: its kind, and the address that could not be read.
    pub fault: Option<(LocalId, LocalId)>,
    /// Scratch memory, once something has asked for it.
    pub scratch: Option<Scratch>,
    /// What `strtok` goes on with.
    pub words: Option<Words>,
    /// Clause-local variables by name.
    pub this: HashMap<Arc<str>, LocalId>,
    pub speculates: bool,
    pub commits: bool,
    pub records: bool,
    /// The clause is told of at its end although it may print nothing.
    pub reports: bool,
    /// What the firing probe is, for its arguments.
    pub site: Site,
    /// The code at hand is of a row of the semantic probes.
    pub in_row: bool,
}
