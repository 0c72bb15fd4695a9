//! Which registers an instruction reads and writes.

use super::{BlockId, Inst, Operand, Terminator, Vreg};

/// The register that an instruction writes, to be read and to be changed: both from one text, so that they can't differ.
macro_rules! written {
    ($name:ident, $as_ref:ident $(, $mutable:tt)?) => {
        /// The register that it writes.
        pub const fn $name(&$($mutable)? self) -> Option<&$($mutable)? Vreg> {
            match self {
                Self::Copy { dst, .. }
                | Self::Alu { dst, .. }
                | Self::Unlinked { dst, .. }
                | Self::CopyFor { dst, .. }
                | Self::Neg { dst, .. }
                | Self::Extend { dst, .. }
                | Self::Bswap { dst, .. }
                | Self::Load { dst, .. }
                | Self::AtomicFetch { dst, .. }
                | Self::Address { dst, .. }
                | Self::SlotLoad { dst, .. } => Some(dst),
                Self::Call { dst, .. } => dst.$as_ref(),
                Self::Store { .. } | Self::AtomicAdd { .. } | Self::SlotStore { .. } | Self::Mark(_) => None,
            }
        }
    };
}

/// The registers that an instruction reads, in the same manner.
macro_rules! read {
    ($name:ident, $iter:ident $(, $mutable:tt)?) => {
        /// Calls `f` with every register that it reads, a stored value before the address; with one read twice, twice.
        pub fn $name(&$($mutable)? self, mut f: impl FnMut(&$($mutable)? Vreg)) {
            let mut operand = |o: &$($mutable)? Operand| {
                if let Operand::Reg(v) = o {
                    f(v);
                }
            };
            match self {
                Self::Copy { src, .. } | Self::CopyFor { src, .. } | Self::SlotStore { src, .. } => operand(src),
                Self::Alu { a, b, .. } => {
                    operand(a);
                    operand(b);
                }
                Self::Call { args, .. } => args.$iter().for_each(operand),
                Self::Store { base, src, .. } => {
                    operand(src);
                    f(base);
                }
                Self::AtomicAdd { base, src, .. } | Self::AtomicFetch { base, src, .. } => {
                    f(base);
                    f(src);
                }
                Self::Unlinked { src: v, .. }
                | Self::Neg { src: v, .. }
                | Self::Extend { src: v, .. }
                | Self::Bswap { src: v, .. }
                | Self::Load { base: v, .. } => f(v),
                Self::Address { .. } | Self::SlotLoad { .. } | Self::Mark(_) => {}
            }
        }
    };
}

/// The registers that the end of a block reads.
macro_rules! read_by_end {
    ($name:ident $(, $mutable:tt)?) => {
        /// Calls `f` with every register that it reads.
        pub fn $name(&$($mutable)? self, mut f: impl FnMut(&$($mutable)? Vreg)) {
            match self {
                Self::Branch { a, b, .. } => {
                    f(a);
                    if let Operand::Reg(b) = b {
                        f(b);
                    }
                }
                Self::Return(Operand::Reg(v)) => f(v),
                Self::Jump(_) | Self::Return(Operand::Imm(_)) | Self::Unset => {}
            }
        }
    };
}

impl Inst {
    written!(dst_ref, as_ref);
    written!(dst_mut, as_mut, mut);

    /// The register that it writes.
    #[must_use]
    pub const fn dst(&self) -> Option<Vreg> {
        match self.dst_ref() {
            Some(dst) => Some(*dst),
            None => None,
        }
    }

    read!(for_each_use, iter);
    read!(for_each_use_mut, iter_mut, mut);

    /// The operands that may be constants, to be replaced.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Operand)) {
        match self {
            Self::Copy { src, .. }
            | Self::CopyFor { src, .. }
            | Self::SlotStore { src, .. }
            | Self::Store { src, .. } => f(src),
            Self::Alu { a, b, .. } => {
                f(a);
                f(b);
            }
            Self::Call { args, .. } => {
                args.iter_mut().for_each(f);
            }
            _ => {}
        }
    }

    /// True when nothing but its result is lost if it does not run.
    #[must_use]
    pub const fn is_pure(&self) -> bool {
        matches!(
            self,
            Self::Copy { .. }
                | Self::Alu { .. }
                | Self::Unlinked { .. }
                | Self::CopyFor { .. }
                | Self::Neg { .. }
                | Self::Extend { .. }
                | Self::Bswap { .. }
                | Self::Load { .. }
                | Self::Address { .. }
                | Self::SlotLoad { .. }
        )
    }

    /// True for calls, which clobber r0 to r5.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// True when its result depends on nothing that runs: it may be made again anywhere.
    #[must_use]
    pub const fn is_rematerialisable(&self) -> bool {
        matches!(self, Self::Copy { src: Operand::Imm(_), .. } | Self::Address { .. })
    }
}

impl Terminator {
    read_by_end!(for_each_use);
    read_by_end!(for_each_use_mut, mut);

    /// The blocks that may run next: the one taken when the condition holds comes first.
    #[must_use]
    pub const fn successors(&self) -> [Option<BlockId>; 2] {
        match self {
            Self::Jump(to) => [Some(*to), None],
            Self::Branch { then, otherwise, .. } => [Some(*then), Some(*otherwise)],
            Self::Return(_) | Self::Unset => [None, None],
        }
    }

    /// The blocks that may run next, to be changed.
    pub fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut BlockId)) {
        match self {
            Self::Jump(to) => f(to),
            Self::Branch { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            Self::Return(_) | Self::Unset => {}
        }
    }
}
