//! BTF, the kernel's compact debugging information: a parser over bytes that believes nothing.
//!
//! One pass finds where each type starts and checks that it lies within the data; everything else is
//! read in place when asked for. Name and enumerator indexes are built on first use. References to
//! types that do not exist read as `void`, and every walk along references is bounded, so no input
//! can make this panic or run on. Format: kernel `Documentation/bpf/btf.rst` and
//! `include/uapi/linux/btf.h` (7.2: 24-bit member counts and the layout section for unknown kinds).

mod c_text;
mod index;
mod layout;
mod parse;
mod query;
pub mod subset;
#[cfg(test)]
mod tests;
mod types;

use std::sync::{Arc, OnceLock};

pub use layout::Field;
pub use parse::BtfError;
pub use query::{Enumerator, FuncProto, Param};
pub use types::{BtfType, Composite, Enumeration, Integer, Member, TypeId};

use index::{EnumeratorIndex, NameIndex};

/// Parsed BTF of the kernel, or of a module on top of the kernel's.
pub struct Btf {
    bytes: Vec<u8>,
    /// Offset of each own type in `bytes`; the first is `first_id`.
    offsets: Vec<u32>,
    /// Range of the string section in `bytes`.
    strings: std::ops::Range<usize>,
    /// Own ids start here: 1 for a kernel.
    first_id: u32,
    /// Own string offsets start here: 0 for a kernel.
    first_string: u32,
    base: Option<Arc<Btf>>,
    names: OnceLock<NameIndex>,
    enumerators: OnceLock<EnumeratorIndex>,
}

impl std::fmt::Debug for Btf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Btf")
            .field("types", &self.offsets.len())
            .field("first_id", &self.first_id)
            .finish_non_exhaustive()
    }
}

impl Btf {
    /// Reads BTF; `base` is the kernel's for a module's split BTF.
    ///
    /// # Errors
    /// When the header, a type or a section does not fit the bytes.
    pub fn parse(bytes: Vec<u8>, base: Option<Arc<Self>>) -> Result<Self, BtfError> {
        parse::parse(bytes, base)
    }

    /// One past the highest type id, ids of the base included.
    pub fn end_id(&self) -> u32 {
        self.first_id + self.offsets.len() as u32
    }

    /// Ids that this BTF adds to its base, ascending.
    pub fn own_ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (self.first_id..self.end_id()).map(TypeId)
    }

    /// Whether this BTF itself, not its base, has the type.
    pub fn own(&self, id: TypeId) -> bool {
        (self.first_id..self.end_id()).contains(&id.0)
    }

    /// The kernel's BTF that this module's is built on.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// Text at an offset of the strings, as a program's table of lines names it; empty when there is none.
    pub fn text_at(&self, offset: u32) -> &str {
        self.string(offset)
    }

    /// Text at a string offset; empty when there is none or it is not UTF-8.
    fn string(&self, offset: u32) -> &str {
        if offset < self.first_string {
            return self.base.as_ref().map_or("", |b| b.string(offset));
        }
        std::str::from_utf8(self.string_bytes(offset)).unwrap_or("")
    }

    fn string_bytes(&self, offset: u32) -> &[u8] {
        let all = self.bytes.get(self.strings.clone()).unwrap_or(&[]);
        let tail = offset.checked_sub(self.first_string).and_then(|o| all.get(o as usize..)).unwrap_or(&[]);
        memchr::memchr(0, tail).and_then(|end| tail.get(..end)).unwrap_or(&[])
    }
}
