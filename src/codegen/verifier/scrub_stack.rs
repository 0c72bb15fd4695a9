//! Stack words that nothing reads any more.
//!
//! While iterations of a loop are open, the verifier takes a state for one that it has seen only if all of the stack
//! is like it, also what nothing reads any more (`stacksafe` with `RANGE_WITHIN`, kernel/bpf/verifier.c; "bpf: exact states
//! comparison for iterator convergence checks", commit 2793a8b015f7 of 6.7): each path through an `if` that left
//! something else on the stack is followed to the end of the loop, and they multiply. So what a statement leaves is made
//! zero in a loop.

use super::code::Code;
use super::open_loops::Open;
use super::widen::store;
use crate::codegen::ir::{Mark, Operand, Place, Point, Size, Storage};

/// Whether dead storage is to be made zero at a point.
#[must_use]
pub fn is_needed(mark: &Mark, open: &Open) -> bool {
    match mark.point {
        // A path that passes by a block has nothing there in the first iteration, and one through the block zeros. The
        // start of a loop around this one has seen to it.
        Point::LoopStart => !open.iterates(),
        Point::IterationStart => true,
        Point::Join | Point::End | Point::CallbackStart | Point::CallbackCall => open.any(),
    }
}

/// Makes storage zero.
pub fn storage(code: &mut Code<'_>, storage: &[Storage]) {
    for Storage { place, bytes } in storage {
        if let Place::Register(_) = place {
            store(code, *place, 0, Size::B8, Operand::Imm(0));
            continue;
        }
        let (mut at, end) = (0, *bytes);
        while at < end {
            let size = [(8, Size::B8), (4, Size::B4), (2, Size::B2)].into_iter().find(|(size, _)| *size <= end - at);
            let (size, access) = size.unwrap_or((1, Size::B1));
            store(code, *place, at, access, Operand::Imm(0));
            at += size;
        }
    }
}
