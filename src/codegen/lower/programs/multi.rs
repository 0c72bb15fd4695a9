//! A program and the targets that share it.

use crate::codegen::artifact::ProgramKind;

/// Fewer functions than this are attached one by one, which also reaches those that ftrace can't.
pub const MULTI_FROM: usize = 8;

/// From so many places in binaries on each program gets a link that many can have: perf events on user code are closed one
/// after the other, at 100 ms each, such links all at once.
pub const MANY_UPROBES: usize = 32;

/// One program to make: some of a probe's targets.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: ProgramKind,
    pub section: String,
    pub targets: Vec<u32>,
}
