//! What lowering knows of the script and the code alone does not say: where paths join, where an iteration starts,
//! what storage is dead. It has no effect of its own; [`crate::codegen::verifier`] decides what a kernel's verifier
//! needs there, and writes it.

use super::{Slot, Vreg};

/// A fact about the point where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Which point of the script this is.
    pub point: Point,
    /// What holds there.
    pub fact: Fact,
    /// Of what.
    pub storage: Vec<Storage>,
}

/// The points of a script that are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// Paths join: behind an `if`, or what `break`, `continue` and `return` lead to.
    Join,
    /// A statement or a block has ended.
    End,
    /// A loop is about to begin.
    LoopStart,
    /// A loop's next iteration is about to begin.
    IterationStart,
    /// The first point of a callback that is a loop's body.
    CallbackStart,
    /// A helper is about to be called that calls such a callback.
    CallbackCall,
}

/// What holds of storage at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// Its numbers differ by the path that leads to this point, and the verifier knows each.
    Varies,
    /// Nothing reads it any more before it is written.
    Dead,
}

/// A place and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Storage {
    /// Where it begins.
    pub place: Place,
    /// Its bytes; 8 for a register.
    pub bytes: u32,
}

/// Where a variable or a temporary value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a register.
    Register(Vreg),
    /// In a stack slot, so many bytes behind its start.
    Stack(Slot, i32),
    /// So many bytes behind an address: the frame of a callback's program, or working memory.
    Memory(Vreg, i32),
}

/// What a copy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It is the value of an expression that is computed on several paths, such as `a ? b : c`. Nothing else writes
    /// the original.
    Joined,
    /// It is compared instead of the original, a variable that is used again. Nothing else writes it.
    Compared,
    /// It is compared or changed, and the original is used again.
    Bounded,
    /// It is a number that the verifier knows, another on each path or in each iteration, and should not know: it would
    /// explore what follows once for each of them.
    Hidden,
}
