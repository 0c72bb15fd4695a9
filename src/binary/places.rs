//! Places of a binary: what of its file is loaded where, and its functions.

use std::sync::Arc;

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address in the binary's own address space.
    pub address: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub size: u64,
    /// Holds code.
    pub executable: bool,
}

/// A function of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Name, mangled as the compiler made it, without a version.
    pub name: Arc<str>,
    /// Address in the binary's own address space.
    pub address: u64,
    /// Bytes; 0 when unknown.
    pub size: u64,
    /// The address is that of a resolver, which chooses the function's implementation in each process.
    pub indirect: bool,
}

/// As [`super::elf::Binary::file_offset`]; code before data where both claim an address.
pub(super) fn file_offset(segments: &[Segment], address: u64) -> Option<u64> {
    let covers = |s: &&Segment| address.checked_sub(s.address).is_some_and(|d| d < s.size);
    let segment = segments.iter().filter(|s| s.executable).find(covers).or_else(|| segments.iter().find(covers))?;
    segment.offset.checked_add(address - segment.address)
}
