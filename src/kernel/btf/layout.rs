//! Members of a type one below the other, with their offsets, and what bytes hold at them.

use std::fmt::Write as _;

use super::types::kind;
use super::{Btf, BtfType, Member, TypeId};

/// Members that are listed of one type.
pub const MOST_FIELDS: usize = 20_000;
/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 12;
/// Elements of an array that are written on one line.
const MOST_ELEMENTS: u32 = 16;
/// Longest line of a value, bytes.
const MAX_LINE: usize = 4096;

/// A member, or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// How many composites it lies in.
    pub depth: usize,
    /// How C reaches it from the whole: `se.run_node.rb_left`, `comm[3]`. Anonymous structs and unions have the path of
    /// what they lie in.
    pub path: String,
    /// Its own name; empty for anonymous structs and unions.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Bits from the start of the whole.
    pub bit_offset: u32,
    /// Width of a bitfield, 0 for others.
    pub bits: u8,
    /// Bytes; 0 for arrays without a length.
    pub size: u32,
}

impl Field {
    /// Bytes from the start of the whole.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.bit_offset / 8
    }
}

impl Btf {
    /// The members of a struct or union one level down, those of anonymous members below these. Offsets count from
    /// `bit_offset`, paths begin with `path`.
    pub fn fields_of(&self, id: TypeId, path: &str, depth: usize, bit_offset: u32) -> Vec<Field> {
        let mut out = Vec::new();
        self.add_fields(&mut out, id, path, depth, bit_offset);
        out
    }

    fn add_fields(&self, out: &mut Vec<Field>, id: TypeId, path: &str, depth: usize, bit_offset: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        for member in self.members(id).chain(self.section(id)) {
            if out.len() >= MOST_FIELDS {
                return;
            }
            let anonymous = member.name.is_empty();
            let path = match (path, anonymous) {
                (_, true) => path.to_owned(),
                ("", false) => member.name.to_owned(),
                (_, false) => format!("{path}.{}", member.name),
            };
            let at = bit_offset.saturating_add(member.bit_offset);
            let size = self.size_of(member.ty).unwrap_or(0);
            let (ty, bits, name) = (member.ty, member.bits, member.name.to_owned());
            out.push(Field { depth, path: path.clone(), name, ty, bit_offset: at, bits, size });
            if anonymous {
                self.add_fields(out, member.ty, &path, depth + 1, at);
            }
        }
    }

    /// Every member at every depth, arrays and pointers not followed.
    pub fn layout(&self, id: TypeId) -> Vec<Field> {
        let mut out = Vec::new();
        self.add_layout(&mut out, id, "", 0, 0);
        out
    }

    fn add_layout(&self, out: &mut Vec<Field>, id: TypeId, path: &str, depth: usize, bit_offset: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        for field in self.fields_of(id, path, depth, bit_offset) {
            if out.len() >= MOST_FIELDS {
                return;
            }
            let (ty, path, at, inner) = (field.ty, field.path.clone(), field.bit_offset, field.depth + 1);
            let is_named = !field.name.is_empty();
            out.push(field);
            if is_named && self.is_composite(ty) {
                self.add_layout(out, ty, &path, inner, at);
            }
        }
    }

    /// Whether a type has members.
    pub fn is_composite(&self, id: TypeId) -> bool {
        match self.ty(self.resolve(id)) {
            BtfType::Struct(_) | BtfType::Union(_) => true,
            _ => self.section(id).next().is_some(),
        }
    }

    /// The variables of a section of a program's data, as if they were members.
    fn section(&self, id: TypeId) -> impl Iterator<Item = Member<'_>> {
        let owner = self.owner(id);
        let raw = owner.raw(id).filter(|raw| raw.kind == kind::DATASEC);
        let (rest, count) = raw.map_or((0, 0), |raw| (raw.rest, raw.count as usize));
        (0..count).filter_map(move |n| {
            let at = rest + n * 12;
            let BtfType::Var(name, ty) = self.ty(TypeId(owner.word(at))) else { return None };
            Some(Member { name, ty, bit_offset: owner.word(at + 4).saturating_mul(8), bits: 0 })
        })
    }

    /// The struct or union that a pointer points to.
    pub fn pointed_composite(&self, id: TypeId) -> Option<TypeId> {
        let BtfType::Ptr(to) = self.ty(self.resolve(id)) else { return None };
        let to = self.resolve(to);
        self.is_composite(to).then_some(to)
    }

    /// A value of a type on one line, as C would initialise it. What lies outside of the bytes is not written.
    pub fn value_text(&self, id: TypeId, bytes: &[u8]) -> String {
        self.value_at(id, bytes, 0, 0)
    }

    /// A member's value on one line: `bit_offset` from the start of the bytes, of so many bits for a bitfield.
    pub fn value_at(&self, id: TypeId, bytes: &[u8], bit_offset: u32, bits: u8) -> String {
        let mut out = String::new();
        self.write_value(&mut out, id, bytes, (bit_offset, bits), 0);
        out
    }

    fn write_value(&self, out: &mut String, id: TypeId, bytes: &[u8], (at, bits): (u32, u8), depth: usize) {
        if out.len() > MAX_LINE || depth > MAX_DEPTH {
            out.push('…');
            return;
        }
        let id = self.resolve(id);
        let size = self.size_of(id).unwrap_or(0);
        let number = || number(bytes, at, if bits == 0 { size.saturating_mul(8) } else { u32::from(bits) });
        match self.ty(id) {
            BtfType::Int(int) => match number() {
                None => out.push('?'),
                Some((raw, _)) if int.boolean => out.push_str(if raw == 0 { "false" } else { "true" }),
                Some((raw, width)) if int.signed => push(out, sign_extended(raw, width)),
                Some((raw, _)) => push(out, raw),
            },
            BtfType::Enum(_) => self.write_enumerator(out, id, number()),
            BtfType::Ptr(_) => match number() {
                None => out.push('?'),
                Some((0, _)) => out.push_str("NULL"),
                Some((raw, _)) => push(out, format_args!("{raw:#x}")),
            },
            BtfType::Float(_, size) => match (number(), size) {
                (Some((raw, _)), 4) => push(out, f32::from_bits(raw as u32)),
                (Some((raw, _)), 8) => push(out, f64::from_bits(raw as u64)),
                _ => out.push('?'),
            },
            BtfType::Array(of, len) => self.write_array(out, (of, len), bytes, at, depth),
            BtfType::Struct(_) | BtfType::Union(_) => self.write_members(out, id, bytes, at, depth),
            _ if self.is_composite(id) => self.write_members(out, id, bytes, at, depth),
            _ => out.push('?'),
        }
    }

    fn write_enumerator(&self, out: &mut String, id: TypeId, number: Option<(u128, u32)>) {
        let Some((raw, width)) = number else { return out.push('?') };
        let value = match self.ty(id) {
            BtfType::Enum(e) if e.signed => sign_extended(raw, width) as i64,
            _ => raw as u64 as i64,
        };
        match self.enumerators(id).find(|e| e.value == value) {
            Some(known) => out.push_str(known.name),
            None => push(out, value),
        }
    }

    fn write_array(&self, out: &mut String, (of, len): (TypeId, u32), bytes: &[u8], at: u32, depth: usize) {
        let start = (at / 8) as usize;
        let resolved = self.resolve(of);
        if matches!(self.ty(resolved), BtfType::Int(int) if int.is_char())
            && let Some(text) = text(bytes.get(start..start.saturating_add(len as usize)).unwrap_or(&[]))
        {
            return push(out, format_args!("{text:?}"));
        }
        let size = self.size_of(of).unwrap_or(0);
        out.push('[');
        for n in 0..len.min(MOST_ELEMENTS) {
            out.push_str(if n > 0 { ", " } else { "" });
            let element = at.saturating_add(n.saturating_mul(size).saturating_mul(8));
            self.write_value(out, of, bytes, (element, 0), depth + 1);
        }
        if len > MOST_ELEMENTS {
            push(out, format_args!(", … {} more", len - MOST_ELEMENTS));
        }
        out.push(']');
    }

    fn write_members(&self, out: &mut String, id: TypeId, bytes: &[u8], at: u32, depth: usize) {
        out.push_str("{ ");
        for (n, member) in self.members(id).chain(self.section(id)).enumerate() {
            if out.len() > MAX_LINE {
                out.push('…');
                break;
            }
            out.push_str(if n > 0 { ", " } else { "" });
            if !member.name.is_empty() {
                push(out, format_args!(".{} = ", member.name));
            }
            self.write_value(out, member.ty, bytes, (at.saturating_add(member.bit_offset), member.bits), depth + 1);
        }
        out.push_str(" }");
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// Bits of little-endian bytes as a number, and how many they are; 128 at most.
fn number(bytes: &[u8], bit_offset: u32, bits: u32) -> Option<(u128, u32)> {
    if bits == 0 || bits > 128 {
        return None;
    }
    let (first, last) = ((bit_offset / 8) as usize, ((bit_offset + bits - 1) / 8) as usize);
    let own = bytes.get(first..=last)?;
    let shift = bit_offset % 8;
    // 128 bits that begin within a byte end in a seventeenth.
    let mut value = own.iter().take(16).rev().fold(0_u128, |value, byte| value << 8 | u128::from(*byte)) >> shift;
    if let Some(byte) = own.get(16) {
        value |= u128::from(*byte) << (128 - shift);
    }
    let mask = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
    Some((value & mask, bits))
}

fn sign_extended(raw: u128, bits: u32) -> i128 {
    let unused = 128 - bits;
    ((raw << unused) as i128) >> unused
}

/// Bytes up to the first NUL, where they are text and nothing but zeros comes after.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    let is_text = !text.is_empty() || rest.iter().all(|b| *b == 0);
    std::str::from_utf8(text).ok().filter(|t| is_text && !t.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn btf() -> Btf {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel/sys/kernel/btf/vmlinux");
        Btf::parse(std::fs::read(path).unwrap(), None).unwrap()
    }

    #[test]
    fn every_member_is_where_a_search_by_its_name_finds_it() {
        let btf = btf();
        let task = btf.find_struct("task_struct").unwrap();
        let fields = btf.layout(task);
        let mut compared = 0;
        for field in fields.iter().filter(|f| !f.name.is_empty() && !f.path.contains('.')) {
            let member = btf.member(task, &field.name).unwrap();
            assert_eq!((member.bit_offset, member.bits, member.ty), (field.bit_offset, field.bits, field.ty));
            compared += 1;
        }
        assert!(compared > 10, "{compared}");
        let bit = fields.iter().find(|f| f.path == "in_execve").unwrap();
        assert_eq!(bit.bits, 1);
    }

    #[test]
    fn members_of_anonymous_unions_count_from_the_outer_start() {
        let btf = btf();
        let fields = btf.layout(btf.find_struct("sock_common").unwrap());
        let at = |path: &str| fields.iter().find(|f| f.path == path).map(|f| (f.offset(), f.depth));
        assert_eq!(at("skc_family"), Some((16, 0)));
        assert!(at("skc_daddr").is_some_and(|(offset, depth)| offset == 0 && depth > 0));
    }

    #[test]
    fn values_read_as_c_and_never_past_the_bytes() {
        let btf = btf();
        let list = btf.find_struct("list_head").unwrap();
        let mut bytes = [0_u8; 16];
        bytes[..8].copy_from_slice(&0xffff_8880_1234_5678_u64.to_le_bytes());
        assert_eq!(btf.value_text(list, &bytes), "{ .next = 0xffff888012345678, .prev = NULL }");
        assert_eq!(btf.value_text(list, &bytes[..8]), "{ .next = 0xffff888012345678, .prev = ? }");
        let task = btf.find_struct("task_struct").unwrap();
        let field = |path: &str| btf.layout(task).into_iter().find(|f| f.path == path).unwrap();
        let mut bytes = vec![0_u8; btf.size_of(task).unwrap() as usize];
        let (comm, execve) = (field("comm"), field("in_execve"));
        bytes[comm.offset() as usize..][..5].copy_from_slice(b"bash\0");
        bytes[execve.offset() as usize] |= 1 << (execve.bit_offset % 8);
        let at = |f: &Field| btf.value_at(f.ty, &bytes, f.bit_offset, f.bits);
        assert_eq!((at(&comm).as_str(), at(&execve).as_str()), ("\"bash\"", "1"));
    }

    #[test]
    fn numbers_of_any_width_and_place() {
        let bytes: Vec<u8> = (1..=17).collect();
        assert_eq!(number(&bytes, 0, 8), Some((1, 8)));
        assert_eq!(number(&bytes, 4, 8), Some((0x20, 8)));
        assert_eq!(number(&bytes, 0, 128).map(|n| n.0), Some(u128::from_le_bytes(bytes[..16].try_into().unwrap())));
        assert_eq!(number(&bytes, 4, 128).map(|n| n.0 >> 124), Some(1));
        assert_eq!(number(&bytes, 130, 8), None);
        assert_eq!(sign_extended(0xff, 8), -1);
    }
}
