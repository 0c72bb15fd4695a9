//! The one pass over new BTF: header, sections, and where each type starts.

use std::sync::{Arc, OnceLock};

use super::Btf;
use super::types::kind;

/// Why bytes are not BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// Shorter than its header says.
    #[error("BTF is cut short")]
    Short,
    /// Another format, version or byte order.
    #[error("this is not BTF of this machine's byte order")]
    Magic,
    /// A type runs past the type section.
    #[error("BTF type {0} runs past the end")]
    Truncated(u32),
    /// A kind that neither this program nor the file's own layout table knows.
    #[error("BTF type {id} has the unknown kind {kind}")]
    UnknownKind {
        /// Type id.
        id: u32,
        /// Its kind number.
        kind: u8,
    },
}

/// Most types believed (`BTF_MAX_TYPE` in `include/uapi/linux/btf.h`).
const MAX_TYPES: usize = 0x000f_ffff;

/// Little-endian `u32` at `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

struct Header {
    types: std::ops::Range<usize>,
    strings: std::ops::Range<usize>,
    /// `struct btf_layout` entries, empty before 7.2.
    layout: std::ops::Range<usize>,
}

fn header(bytes: &[u8]) -> Result<Header, BtfError> {
    if bytes.get(..3) != Some(&[&0xeb9f_u16.to_ne_bytes()[..], &[1]].concat()) {
        return Err(BtfError::Magic);
    }
    let word = |at| u32_at(bytes, at).map(|v| v as usize).ok_or(BtfError::Short);
    let length = word(4)?;
    let section = |offset: usize, size: usize| -> Result<_, BtfError> {
        let start = length.checked_add(word(offset)?).ok_or(BtfError::Short)?;
        let end = start.checked_add(word(size)?).ok_or(BtfError::Short)?;
        if end > bytes.len() { Err(BtfError::Short) } else { Ok(start..end) }
    };
    let layout = if length >= 32 { section(24, 28)? } else { 0..0 };
    Ok(Header { types: section(8, 12)?, strings: section(16, 20)?, layout })
}

/// Bytes that follow the 12 of every type.
fn extra_bytes(bytes: &[u8], header: &Header, kind_number: u8, count: usize) -> Option<usize> {
    let (fixed, each) = match kind_number {
        kind::INT | kind::VAR | kind::DECL_TAG => (4, 0),
        kind::ARRAY => (12, 0),
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => (0, 12),
        kind::ENUM | kind::FUNC_PROTO => (0, 8),
        kind::PTR
        | kind::FWD
        | kind::TYPEDEF
        | kind::VOLATILE
        | kind::CONST
        | kind::RESTRICT
        | kind::FUNC
        | kind::FLOAT
        | kind::TYPE_TAG => (0, 0),
        unknown => {
            let entry = bytes.get(header.layout.clone())?.get(usize::from(unknown) * 4..)?;
            (usize::from(*entry.first()?), usize::from(*entry.get(1)?))
        }
    };
    Some(fixed + each * count)
}

pub(super) fn parse(bytes: Vec<u8>, base: Option<Arc<Btf>>) -> Result<Btf, BtfError> {
    let header = header(&bytes)?;
    let first_id = base.as_ref().map_or(1, |b| b.end_id());
    let mut offsets = Vec::with_capacity(header.types.len() / 24);
    let mut at = header.types.start;
    while at < header.types.end && offsets.len() < MAX_TYPES {
        let id = first_id + offsets.len() as u32;
        let info = u32_at(&bytes, at + 4).ok_or(BtfError::Truncated(id))?;
        let kind = (info >> 24 & 0x7f) as u8;
        let extra = extra_bytes(&bytes, &header, kind, (info & 0x00ff_ffff) as usize)
            .ok_or(BtfError::UnknownKind { id, kind })?;
        let end = at + 12 + extra;
        if end > header.types.end {
            return Err(BtfError::Truncated(id));
        }
        offsets.push(at as u32);
        at = end;
    }
    let first_string = base.as_ref().map_or(0, |b| b.first_string + b.strings.len() as u32);
    Ok(Btf {
        bytes,
        offsets,
        strings: header.strings,
        first_id,
        first_string,
        base,
        names: OnceLock::new(),
        enumerators: OnceLock::new(),
    })
}
