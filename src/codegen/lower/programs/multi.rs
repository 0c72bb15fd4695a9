//! A program and the targets that share it.

use crate::codegen::artifact::ProgramKind;

/// Fewer functions than this are attached one by one, which also reaches those that ftrace can't.
pub const MULTI_FROM: usize = 8;

/// One program to make: some of a probe's targets.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: ProgramKind,
    pub section: String,
    pub targets: Vec<u32>,
}
