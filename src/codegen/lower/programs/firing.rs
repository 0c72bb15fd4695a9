//! What a program knows of its firing: how it is limited, and which of its targets it is.

use crate::codegen::ir::Vreg;

/// What bounds a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The steps of a firing, and a CPU's second.
    Both,
    /// The second alone: timers.
    Second,
    /// The time of a firing: what runs once.
    Firing,
    /// The steps of a firing: iterators over the kernel's objects, which are long and end.
    Steps,
}

/// A program's brake.
#[derive(Clone, Copy, Debug)]
pub struct Brake {
    pub bound: Bound,
    /// Offset of a firing's words in working memory.
    pub words: u32,
    /// Offset of the program's words in the section.
    pub head: u32,
    /// Index in `ObjectBuilder::brakes`.
    pub index: usize,
}

impl Brake {
    /// Offset of one of the firing's words in working memory.
    pub const fn at(&self, word: i16) -> i16 {
        self.words as i16 + word
    }
}

/// A program's budget.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Offset in the section of CPU 0's words of the probe.
    pub block: u32,
    /// This CPU's words.
    pub words: Vreg,
    /// It is asked before the predicate.
    pub early: bool,
    /// A firing may be interrupted for long.
    pub preempted: bool,
    /// It is never turned off: it ends what another probe began.
    pub follows: bool,
}

impl Budget {
    /// Whether refused firings pass its end, too.
    pub const fn is_early(self) -> bool {
        self.early
    }
}

/// What a dispatching program knows of the firing.
#[derive(Clone, Copy, Debug)]
pub struct Firing {
    pub number: Vreg,
    /// Index of the target's name, plus one.
    pub name: Vreg,
    pub exit: bool,
}
