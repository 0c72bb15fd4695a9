//! What is in a map, with the types that its program declares.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use super::own_btf;
use crate::engine::error::EngineError;
use crate::engine::sys::bpf;
use crate::engine::sys::objects::{self, ObjectKind};
use crate::kernel::btf::{Btf, TypeId};

/// Entries that are read of one map.
const MOST_ENTRIES: usize = 2000;
/// Bytes that are read of one map.
const MOST_BYTES: usize = 32 << 20;
/// Bytes that are written of what has no type.
const MOST_SHOWN: usize = 64;

/// Kinds of maps whose entries can be listed, and whether each CPU has a value of its own. Others have no keys, or
/// keys that only their owners can name.
const LISTED: &[(u32, bool)] = &[
    (libbpf_sys::BPF_MAP_TYPE_HASH, false),
    (libbpf_sys::BPF_MAP_TYPE_ARRAY, false),
    (libbpf_sys::BPF_MAP_TYPE_PROG_ARRAY, false),
    (libbpf_sys::BPF_MAP_TYPE_PERCPU_HASH, true),
    (libbpf_sys::BPF_MAP_TYPE_PERCPU_ARRAY, true),
    (libbpf_sys::BPF_MAP_TYPE_STACK_TRACE, false),
    (libbpf_sys::BPF_MAP_TYPE_LRU_HASH, false),
    (libbpf_sys::BPF_MAP_TYPE_LRU_PERCPU_HASH, true),
    (libbpf_sys::BPF_MAP_TYPE_LPM_TRIE, false),
    (libbpf_sys::BPF_MAP_TYPE_ARRAY_OF_MAPS, false),
    (libbpf_sys::BPF_MAP_TYPE_HASH_OF_MAPS, false),
    (libbpf_sys::BPF_MAP_TYPE_DEVMAP, false),
    (libbpf_sys::BPF_MAP_TYPE_DEVMAP_HASH, false),
    (libbpf_sys::BPF_MAP_TYPE_CPUMAP, false),
];

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; one for each CPU in maps by CPU.
    pub values: Vec<Vec<u8>>,
}

/// What is in a map.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The map's id.
    pub id: u32,
    /// Its entries, in the kernel's order.
    pub entries: Vec<Entry>,
    /// There are more.
    pub is_cut: bool,
    types: Option<(Arc<Btf>, TypeId, TypeId)>,
}

impl Contents {
    /// A key on one line.
    #[must_use]
    pub fn key_text(&self, entry: &Entry) -> String {
        self.typed(|types| types.1).map_or_else(|| hex(&entry.key), |(btf, ty)| btf.value_text(ty, &entry.key))
    }

    /// A value on one line: of maps by CPU, those that are not all zeros.
    #[must_use]
    pub fn value_text(&self, entry: &Entry) -> String {
        let text = |bytes: &Vec<u8>| self.value(bytes);
        match entry.values.as_slice() {
            [one] => text(one),
            many => {
                let used = many.iter().enumerate().filter(|(_, bytes)| bytes.iter().any(|b| *b != 0));
                used.map(|(cpu, bytes)| format!("CPU {cpu}: {}", text(bytes))).collect::<Vec<_>>().join("  ")
            }
        }
    }

    /// A value member by member, each with its type.
    #[must_use]
    pub fn value_lines(&self, entry: &Entry) -> Vec<String> {
        let mut lines = Vec::new();
        for (cpu, bytes) in entry.values.iter().enumerate() {
            if entry.values.len() > 1 {
                lines.push(format!("CPU {cpu}"));
            }
            match self.typed(|types| types.2) {
                Some((btf, ty)) if btf.is_composite(ty) => {
                    for field in btf.layout(ty) {
                        let indent = "  ".repeat(field.depth);
                        let declared = btf.declaration(field.ty, &field.name);
                        let value = btf.value_at(field.ty, bytes, field.bit_offset, field.bits);
                        let value = if btf.is_composite(field.ty) { String::new() } else { format!(" = {value}") };
                        lines.push(format!("{:>6}  {indent}{declared}{value}", field.offset()));
                    }
                }
                Some((btf, ty)) => lines.push(format!("{} = {}", btf.declaration(ty, ""), btf.value_text(ty, bytes))),
                None => lines.extend(dump(bytes)),
            }
        }
        lines
    }

    fn value(&self, bytes: &[u8]) -> String {
        self.typed(|types| types.2).map_or_else(|| hex(bytes), |(btf, ty)| btf.value_text(ty, bytes))
    }

    fn typed(&self, which: impl Fn(&(Arc<Btf>, TypeId, TypeId)) -> TypeId) -> Option<(&Btf, TypeId)> {
        let types = self.types.as_ref()?;
        let ty = which(types);
        (ty != TypeId::VOID).then_some((&*types.0, ty))
    }
}

/// Reads a map, as far as it is small.
///
/// # Errors
/// When it is gone, can't be read, or its entries can't be listed.
pub fn contents(id: u32) -> Result<Contents, EngineError> {
    let failed = |source| EngineError::Map { operation: "read", map: id.to_string(), source };
    let fd = objects::open(ObjectKind::Map, id).map_err(failed)?;
    let info = objects::map(fd.as_fd()).map_err(failed)?;
    let Some((_, by_cpu)) = LISTED.iter().find(|(kind, _)| *kind == info.type_) else {
        let kind = objects::map_kind(info.type_);
        let reason = format!("a map of type {kind} has no entries that can be listed");
        return Err(failed(io::Error::new(io::ErrorKind::Unsupported, reason)));
    };
    let cpus = if *by_cpu { libbpf_rs::num_possible_cpus().unwrap_or(1) } else { 1 };
    // The kernel rounds each CPU's value up to eight bytes.
    let each = if *by_cpu { (info.value_size as usize).next_multiple_of(8) } else { info.value_size as usize };
    let (entries, is_cut) = entries(fd.as_fd(), &info, each, cpus).map_err(failed)?;
    let types = own_btf(info.btf_id)
        .map(|btf| (btf, TypeId(info.btf_key_type_id), TypeId(info.btf_value_type_id)))
        .filter(|(btf, key, value)| {
            // Types that do not belong to these sizes would read past them.
            btf.size_of(*key).is_none_or(|size| size <= info.key_size)
                && btf.size_of(*value).is_none_or(|size| size <= info.value_size)
        });
    Ok(Contents { id, entries, is_cut, types })
}

fn entries(
    fd: BorrowedFd<'_>,
    info: &libbpf_sys::bpf_map_info,
    each: usize,
    cpus: usize,
) -> io::Result<(Vec<Entry>, bool)> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut key: Option<Vec<u8>> = None;
    while let Some(next) = bpf::next_key(fd, key.as_deref(), info.key_size as usize)? {
        if found.len() >= MOST_ENTRIES || bytes > MOST_BYTES {
            return Ok((found, true));
        }
        let mut value = vec![0; each * cpus];
        bytes += value.len();
        // Entries that go meanwhile, and empty places of arrays of programs.
        if bpf::lookup(fd, &next, &mut value)? {
            let values = value.chunks(each.max(1)).map(|v| v[..v.len().min(info.value_size as usize)].to_vec());
            found.push(Entry { key: next.clone(), values: values.collect() });
        }
        key = Some(next);
    }
    Ok((found, false))
}

/// Bytes without a type: as a number where they are as long as one, else in hexadecimal with the text in them.
fn hex(bytes: &[u8]) -> String {
    let mut word = [0; 8];
    match bytes.len() {
        size @ (1 | 2 | 4 | 8) => {
            word[..size].copy_from_slice(bytes);
            u64::from_le_bytes(word).to_string()
        }
        size => {
            let shown = bytes.get(..MOST_SHOWN).unwrap_or(bytes);
            let line = line(shown);
            if size > MOST_SHOWN { format!("{line} … {size} bytes") } else { line }
        }
    }
}

/// Bytes in hexadecimal, and as text where they are printable.
fn line(bytes: &[u8]) -> String {
    let numbers = bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    let text: String = bytes.iter().map(|b| if (0x20..0x7f).contains(b) { char::from(*b) } else { '.' }).collect();
    format!("{numbers}  {text}")
}

/// Bytes, sixteen a line.
fn dump(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.chunks(16).enumerate().take(4096).map(|(n, bytes)| format!("{:06x}  {}", n * 16, line(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_without_a_type_read_as_numbers_and_text() {
        assert_eq!(hex(&[0x2a, 0, 0, 0]), "42");
        assert_eq!(hex(&[0xff; 8]), u64::MAX.to_string());
        assert_eq!(hex(b"ab\x1b"), "61 62 1b  ab.");
        assert!(hex(&[0; 100]).ends_with("… 100 bytes"));
        let entry = Entry { key: b"k\0\0".to_vec(), values: vec![vec![0; 4], vec![7, 0, 0, 0]] };
        let contents = Contents { id: 1, entries: Vec::new(), is_cut: false, types: None };
        assert_eq!(contents.key_text(&entry), "6b 00 00  k..");
        assert_eq!(contents.value_text(&entry), "CPU 1: 7", "zeros of other CPUs are left out");
        assert_eq!(contents.value_lines(&entry)[2], "CPU 1");
    }
}
