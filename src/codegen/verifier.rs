//! Code that is there for the kernel's verifier alone: a pass over the IR before the optimiser, and one behind the
//! register allocator.
//!
//! The verifier explores paths, and drops one where it finds a state like one that it has seen. How alike depends on
//! the kernel, and so it is of no concern to lowering: that writes plain code and marks what the code does not say
//! ([`Mark`](crate::codegen::ir::Mark), [`Purpose`](crate::codegen::ir::Purpose)). Here stands what is made of it, a file a habit of verifiers:
//!
//! - [`open_loops`]: where a loop is open, so that states are compared exactly;
//! - [`widen`]: numbers that differ by path or by iteration become one that the verifier does not know;
//! - [`scalar_id`]: copies from which it learns nothing of the original;
//! - [`scrub_stack`]: stack words that nothing reads any more become 0;
//! - [`scrub_dead`]: registers and spill slots that nothing reads any more do, behind the register allocator;
//! - [`back_edges`]: blocks whose edge back must be a jump, for the emitter.
//!
//! Two habits stand elsewhere, because they are no code of their own: a call with a callback stands in a loop for Linux 6.17
//! and 6.18 ([`Isa::circled_callbacks`], `backend::emit`), and a loop is unrolled only as far as the verifier can afford
//! (`lower::loops::cost`).

pub mod back_edges;
mod code;
pub mod open_loops;
pub mod scalar_id;
pub mod scrub_dead;
pub mod scrub_stack;
#[cfg(test)]
mod tests;
pub mod widen;

use super::ir::{Fact, Function, Inst, Isa, Module, SectionId};
use code::Code;
use open_loops::OpenLoops;

/// What the pass must know beyond the function.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The kernel's verifier.
    pub isa: Isa,
    /// [`Module::unknown_zero`].
    pub unknown_zero: Option<(SectionId, u32)>,
}

impl Context {
    /// That of a module's functions.
    #[must_use]
    pub const fn of(module: &Module) -> Self {
        Self { isa: module.isa, unknown_zero: module.unknown_zero }
    }
}

/// Replaces all marks and copies with a purpose by plain code.
pub fn normalise(function: &mut Function, context: Context) {
    let marked = |inst: &Inst| matches!(inst, Inst::Mark(_) | Inst::CopyFor { .. });
    if !function.blocks.iter().flat_map(|b| &b.instructions).any(|(inst, _)| marked(inst)) {
        return;
    }
    if !function.has_explored_loop {
        scalar_id::forward_copies(function);
    }
    let open = OpenLoops::of(function, context.isa);
    for at in 0..function.blocks.len() {
        let mut here = open.at_start(at);
        let old = std::mem::take(&mut function.blocks[at].instructions);
        let mut code = Code::new(&mut function.vregs, context.unknown_zero);
        for (inst, span) in old {
            code.set_span(span);
            here.pass(&inst);
            match inst {
                Inst::Mark(mark) => match mark.fact {
                    Fact::Varies if widen::is_needed(&mark, function.has_explored_loop, &here, context.isa) => {
                        widen::storage(&mut code, &mark.storage);
                    }
                    Fact::Dead if scrub_stack::is_needed(&mark, &here) => {
                        scrub_stack::storage(&mut code, &mark.storage);
                    }
                    Fact::Varies | Fact::Dead => {}
                },
                Inst::CopyFor { dst, src, purpose } => {
                    scalar_id::copy(&mut code, dst, src, purpose, function.has_explored_loop);
                }
                inst => code.push(inst),
            }
        }
        function.blocks[at].instructions = code.finish();
    }
}
