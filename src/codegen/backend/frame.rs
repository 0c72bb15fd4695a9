//! The stack frame of a function, and how deep the stack gets.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Function, Module, Slot};
use crate::lang::source::Span;

use super::emit::{Code, Target};

/// Stack of a chain of calls: `MAX_BPF_STACK` in `include/linux/filter.h`.
pub const STACK_LIMIT: u32 = 512;

/// Where a function's slots are.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    offsets: Vec<(i32, u32)>,
    /// Bytes below the frame pointer.
    pub bytes: u32,
}

impl Frame {
    /// Places the slots one below the other.
    #[must_use]
    pub fn of(function: &Function) -> Self {
        let mut frame = Self::default();
        for size in &function.slots {
            frame.bytes = frame.bytes.saturating_add(size.next_multiple_of(8));
            frame.offsets.push((-(frame.bytes.min(1 << 30) as i32), *size));
        }
        frame
    }

    /// Offset from the frame pointer of a byte of a slot.
    #[must_use]
    pub fn offset(&self, slot: Slot, offset: i32) -> Option<i16> {
        let (start, size) = *self.offsets.get(slot.0 as usize)?;
        let inside = offset >= 0 && offset as u32 <= size;
        inside.then_some(start + offset).and_then(|at| i16::try_from(at).ok())
    }
}

/// Refuses a frame that no kernel takes, naming the largest values.
pub fn check_frame(function: &Function, frame: &Frame) -> Result<(), CodegenError> {
    if frame.bytes > STACK_LIMIT { Err(too_deep(function, frame.bytes)) } else { Ok(()) }
}

/// Refuses chains of calls whose frames together are more than the kernel allows. The verifier
/// counts each frame in units of 32 bytes.
pub fn check_chains(module: &Module, codes: &[Code]) -> Result<(), CodegenError> {
    let mut depths = vec![None; codes.len()];
    for (index, function) in module.functions.iter().enumerate() {
        let bytes = chain(index, codes, &mut depths, 0);
        let calls = codes[index].relocations.iter().any(|r| matches!(r.target, Target::Call(_) | Target::Address(_)));
        if calls && bytes > STACK_LIMIT {
            return Err(too_deep(function, bytes));
        }
    }
    Ok(())
}

fn chain(index: usize, codes: &[Code], depths: &mut [Option<u32>], nested: u32) -> u32 {
    if let Some(known) = depths[index] {
        return known;
    }
    if nested > 16 {
        // More calls than the kernel allows (8), or recursion: the verifier says it best.
        return 0;
    }
    let mut deepest = 0;
    for relocation in &codes[index].relocations {
        if let Target::Call(f) | Target::Address(f) = relocation.target {
            deepest = deepest.max(chain(f.0 as usize, codes, depths, nested + 1));
        }
    }
    let bytes = codes[index].stack.max(1).next_multiple_of(32) + deepest;
    depths[index] = Some(bytes);
    bytes
}

fn too_deep(function: &Function, bytes: u32) -> CodegenError {
    let span_of = |i: usize| function.slot_spans.get(i).copied().unwrap_or_default();
    let mut values: Vec<(Span, u32)> = function.slots.iter().enumerate().map(|(i, size)| (span_of(i), *size)).collect();
    values.sort_by_key(|(span, size)| (std::cmp::Reverse(*size), *span));
    values.truncate(5);
    let named = values.iter().find(|(span, _)| !span.is_empty()).map(|(span, _)| *span);
    let first_code = || function.blocks.iter().flat_map(|b| &b.instructions).map(|(_, s)| *s).find(|s| !s.is_empty());
    CodegenError::Stack {
        span: named.or_else(first_code).unwrap_or_default(),
        function: function.name.clone(),
        bytes,
        limit: STACK_LIMIT,
        values,
    }
}
