//! The code that the pass writes for one block.

use crate::codegen::ir::{Inst, SectionId, Vreg};
use crate::lang::source::Span;

/// A block's new code.
pub struct Code<'f> {
    instructions: Vec<(Inst, Span)>,
    vregs: &'f mut u32,
    span: Span,
    unknown_zero: Option<(SectionId, u32)>,
}

impl<'f> Code<'f> {
    /// No code yet; new registers follow `vregs`.
    pub const fn new(vregs: &'f mut u32, unknown_zero: Option<(SectionId, u32)>) -> Self {
        Self { instructions: Vec::new(), vregs, span: Span { start: 0, end: 0 }, unknown_zero }
    }

    /// The instructions so far.
    pub fn finish(self) -> Vec<(Inst, Span)> {
        self.instructions
    }

    /// Sets the place that following instructions come from.
    pub const fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// [`Module::unknown_zero`](crate::codegen::ir::Module::unknown_zero).
    pub const fn unknown_zero(&self) -> Option<(SectionId, u32)> {
        self.unknown_zero
    }

    /// Writes an instruction.
    pub fn push(&mut self, inst: Inst) {
        self.instructions.push((inst, self.span));
    }

    /// Writes an instruction with a new result.
    pub fn define(&mut self, make: impl FnOnce(Vreg) -> Inst) -> Vreg {
        let dst = Vreg(*self.vregs);
        *self.vregs += 1;
        self.push(make(dst));
        dst
    }
}
