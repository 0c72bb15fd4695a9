//! The maps that programs unwind user stacks by.

use crate::codegen::ir::BpfMapId;

/// The maps of an object that has such stacks.
#[derive(Clone, Copy, Debug)]
pub struct UnwindMaps {
    /// Processes' mappings.
    pub processes: BpfMapId,
    /// Processes whose mappings are asked for.
    pub wanted: BpfMapId,
}
