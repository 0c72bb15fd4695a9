//! Memory that programs may read and write directly: stack slots, global data, map values, ring records.

pub mod memory;

use crate::codegen::ir::{Size, Slot, Vreg};

/// What an address is relative to; bases are aligned to 8 bytes unless they come from an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A pointer in a register.
    Reg(Vreg),
    /// A stack slot.
    Slot(Slot),
}

/// An address in directly accessible memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addr {
    pub base: Base,
    pub offset: i32,
}

impl Addr {
    pub const fn new(base: Base, offset: i32) -> Self {
        Self { base, offset }
    }

    /// `bytes` further on.
    pub const fn at(self, bytes: u32) -> Self {
        Self { base: self.base, offset: self.offset + bytes as i32 }
    }
}

/// The access size of `bytes` (1, 2, 4, 8).
pub const fn size_of(bytes: u32) -> Size {
    match bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        _ => Size::B8,
    }
}

/// Splits `bytes` at the given offsets into aligned accesses: `(offset, size)`.
pub fn chunks(bytes: u32, align_with: [i32; 2]) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes {
        let mut size = 8;
        while size > 1
            && (at + size > bytes || align_with.iter().any(|o| (*o + at as i32).rem_euclid(size as i32) != 0))
        {
            size /= 2;
        }
        out.push((at, size));
        at += size;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_as_large_as_alignment_allows() {
        assert_eq!(chunks(16, [0, 0]), [(0, 8), (8, 8)]);
        assert_eq!(chunks(7, [0, 0]), [(0, 4), (4, 2), (6, 1)]);
        assert_eq!(chunks(8, [4, 0]), [(0, 4), (4, 4)]);
        assert_eq!(chunks(3, [1, 1]), [(0, 1), (1, 2)]);
    }
}
