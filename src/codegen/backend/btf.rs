//! BTF: types of maps, global data and functions, and which script line each instruction is from.
//!
//! Formats as in `Documentation/bpf/btf.rst`: the `.BTF` section (header, types, strings) and the
//! `.BTF.ext` section (function and line records by ELF section).

use std::collections::HashMap;

use crate::codegen::ir::{BpfMap, Section};

mod kfunc;

/// Identifier of a type; 0 is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub u32);

/// `void`.
pub const VOID: TypeId = TypeId(0);

const KIND_INT: u32 = 1;
const KIND_PTR: u32 = 2;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;

const MAGIC: u16 = 0xeb9f;

/// Whether a function can be seen from outside of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncLinkage {
    /// Subprograms: checked together with their callers.
    Static = 0,
    /// Programs.
    Global = 1,
    /// Functions of the kernel.
    Extern = 2,
}

/// A `.BTF` section under construction.
#[derive(Debug, Default)]
pub struct Btf {
    types: Vec<u8>,
    count: u32,
    strings: Strings,
    known: HashMap<Known, TypeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Known {
    Int(u32, bool),
    Ptr(TypeId),
    Array(TypeId, u32),
    Proto(u32),
}

#[derive(Debug)]
struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Box<str>, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: vec![0], known: HashMap::new() }
    }
}

impl Btf {
    /// Offset of a string; the text is cut at the first NUL, which no string can hold.
    pub fn string(&mut self, text: &str) -> u32 {
        let text = text.split('\0').next().unwrap_or("");
        if text.is_empty() {
            return 0;
        }
        if let Some(at) = self.strings.known.get(text) {
            return *at;
        }
        let at = self.strings.bytes.len() as u32;
        self.strings.bytes.extend_from_slice(text.as_bytes());
        self.strings.bytes.push(0);
        self.strings.known.insert(text.into(), at);
        at
    }

    fn word(&mut self, value: u32) {
        self.types.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes `struct btf_type` and gives the new type's identifier.
    fn header(&mut self, name: &str, kind: u32, vlen: u32, size_or_type: u32) -> TypeId {
        let name = self.string(name);
        self.word(name);
        self.word((kind << 24) | vlen);
        self.word(size_or_type);
        self.count += 1;
        TypeId(self.count)
    }

    fn once(&mut self, key: Known, make: impl FnOnce(&mut Self) -> TypeId) -> TypeId {
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = make(self);
        self.known.insert(key, id);
        id
    }

    /// An integer of `bytes`.
    pub fn int(&mut self, bytes: u32, signed: bool) -> TypeId {
        self.once(Known::Int(bytes, signed), |btf| {
            let name = match (bytes, signed) {
                (1, false) => "unsigned char",
                (1, true) => "char",
                (2, false) => "unsigned short",
                (2, true) => "short",
                (4, false) => "unsigned int",
                (4, true) => "int",
                (_, false) => "unsigned long long",
                (_, true) => "long long",
            };
            let id = btf.header(name, KIND_INT, 0, bytes);
            btf.word((u32::from(signed) << 24) | (bytes * 8));
            id
        })
    }

    /// A pointer.
    pub fn ptr(&mut self, to: TypeId) -> TypeId {
        self.once(Known::Ptr(to), |btf| btf.header("", KIND_PTR, 0, to.0))
    }

    /// An array.
    pub fn array(&mut self, element: TypeId, length: u32) -> TypeId {
        let index = self.int(4, false);
        self.once(Known::Array(element, length), |btf| {
            let id = btf.header("", KIND_ARRAY, 0, 0);
            btf.word(element.0);
            btf.word(index.0);
            btf.word(length);
            id
        })
    }

    /// A struct of 8-byte members.
    fn pointers_struct(&mut self, name: &str, members: &[(&str, TypeId)]) -> TypeId {
        let names: Vec<u32> = members.iter().map(|(name, _)| self.string(name)).collect();
        let id = self.header(name, KIND_STRUCT, members.len() as u32, members.len() as u32 * 8);
        for (i, (name, (_, member))) in names.iter().zip(members).enumerate() {
            self.word(*name);
            self.word(member.0);
            self.word(i as u32 * 64);
        }
        id
    }

    /// A function type.
    fn proto(&mut self, result: TypeId, params: &[(&str, TypeId)]) -> TypeId {
        let names: Vec<u32> = params.iter().map(|(name, _)| self.string(name)).collect();
        let id = self.header("", KIND_FUNC_PROTO, params.len() as u32, result.0);
        for (name, (_, param)) in names.iter().zip(params) {
            self.word(*name);
            self.word(param.0);
        }
        id
    }

    /// A function; programs take their context, subprograms 64-bit numbers.
    pub fn func(&mut self, name: &str, linkage: FuncLinkage, parameters: u32) -> TypeId {
        let key = if linkage == FuncLinkage::Global { u32::MAX } else { parameters };
        let proto = self.known.get(&Known::Proto(key)).copied();
        let proto = proto.unwrap_or_else(|| {
            let id = if linkage == FuncLinkage::Global {
                let (int, context) = (self.int(4, true), self.ptr(VOID));
                self.proto(int, &[("ctx", context)])
            } else {
                let long = self.int(8, false);
                let names = ["a", "b", "c", "d", "e"];
                let params: Vec<_> = names.iter().take(parameters as usize).map(|name| (*name, long)).collect();
                self.proto(long, &params)
            };
            self.known.insert(Known::Proto(key), id);
            id
        });
        self.header(&identifier(name), KIND_FUNC, linkage as u32, proto.0)
    }

    fn global_variable(&mut self, name: &str, of: TypeId) -> TypeId {
        let id = self.header(name, KIND_VAR, 0, of.0);
        self.word(1);
        id
    }

    fn datasec(&mut self, name: &str, size: u32, variables: &[(TypeId, u32, u32)]) -> TypeId {
        let id = self.header(name, KIND_DATASEC, variables.len() as u32, size);
        for (variable, offset, bytes) in variables {
            self.word(variable.0);
            self.word(*offset);
            self.word(*bytes);
        }
        id
    }

    /// The `.maps` section in libbpf's form: each map is a variable whose type's members tell its
    /// attributes by the lengths of arrays they point to.
    pub fn maps(&mut self, maps: &[BpfMap]) {
        // One byte, so that the kernel's check of the array's size allows any 32-bit number.
        let unit = self.int(1, false);
        let mut variables = Vec::with_capacity(maps.len());
        let mut offset = 0;
        for map in maps {
            let attributes = [
                ("type", map.kind),
                ("key_size", map.key_size),
                ("value_size", map.value_size),
                ("max_entries", map.max_entries),
                ("map_flags", map.flags),
            ];
            let mut members = Vec::with_capacity(attributes.len());
            for (name, value) in attributes {
                if value != 0 {
                    let array = self.array(unit, value);
                    members.push((name, self.ptr(array)));
                }
            }
            let definition = self.pointers_struct("", &members);
            let bytes = map_bytes(map);
            variables.push((self.global_variable(&map.name, definition), offset, bytes));
            offset += bytes;
        }
        if !maps.is_empty() {
            self.datasec(".maps", offset, &variables);
        }
    }

    /// A section of global data as one array.
    pub fn section(&mut self, section: &Section) {
        let data = if section.size.is_multiple_of(8) {
            let word = self.int(8, false);
            self.array(word, section.size / 8)
        } else {
            let byte = self.int(1, false);
            self.array(byte, section.size)
        };
        let variable = self.global_variable(&variable_name(section), data);
        self.datasec(&section.name, section.size, &[(variable, 0, section.size)]);
    }

    /// The kernel functions that the object calls; the name of the first one without a known
    /// prototype on failure.
    pub fn kfuncs(&mut self, names: &[&'static str]) -> Result<(), &'static str> {
        let mut variables = Vec::with_capacity(names.len());
        for name in names {
            let prototype = kfunc::prototype(name).ok_or(*name)?;
            let id = kfunc::declare(self, name, prototype);
            variables.push((id, 0, 0));
        }
        if !names.is_empty() {
            // libbpf turns these into variables of type int, which it looks for.
            self.int(4, true);
            self.datasec(".ksyms", 0, &variables);
        }
        Ok(())
    }

    /// The `.BTF` section.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.types.len() + self.strings.bytes.len());
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[1, 0]);
        let types = self.types.len() as u32;
        for word in [24, 0, types, types, self.strings.bytes.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.types);
        out.extend_from_slice(&self.strings.bytes);
        out
    }
}

/// Bytes of a map's variable in `.maps`: eight for each attribute that is told.
#[must_use]
pub fn map_bytes(map: &BpfMap) -> u32 {
    let told = [map.kind, map.key_size, map.value_size, map.max_entries, map.flags].iter().filter(|v| **v != 0).count();
    told as u32 * 8
}

/// Name of the variable that covers a section of global data.
#[must_use]
pub fn variable_name(section: &Section) -> String {
    identifier(section.name.trim_start_matches('.'))
}

/// The name with everything that the kernel refuses in identifiers replaced
/// (`btf_name_valid_identifier` in `kernel/bpf/btf.c`).
#[must_use]
pub fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).take(127).collect();
    if out.chars().next().is_none_or(|c| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// Function and line records of one ELF section.
#[derive(Clone, Debug, Default)]
pub struct SectionInfo {
    /// Offset of the section's name.
    pub name: u32,
    /// Byte offset of each function and its type.
    pub functions: Vec<(u32, TypeId)>,
    /// Byte offset, file name, line's text, line and column, ascending.
    pub lines: Vec<[u32; 4]>,
}

/// The `.BTF.ext` section. Its header has the CO-RE part though there are no relocations of that kind, as clang writes it:
/// cilium/ebpf reads that part from any header.
#[must_use]
pub fn extension(sections: &[SectionInfo]) -> Vec<u8> {
    let mut functions = vec![];
    let mut lines = vec![];
    push_words(&mut functions, &[8]);
    push_words(&mut lines, &[16]);
    for section in sections {
        push_words(&mut functions, &[section.name, section.functions.len() as u32]);
        for (offset, id) in &section.functions {
            push_words(&mut functions, &[*offset, id.0]);
        }
        push_words(&mut lines, &[section.name, section.lines.len() as u32]);
        for line in &section.lines {
            push_words(&mut lines, line);
        }
    }
    let mut out = Vec::with_capacity(32 + functions.len() + lines.len());
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&[1, 0]);
    let (lines_at, end) = (functions.len() as u32, (functions.len() + lines.len()) as u32);
    push_words(&mut out, &[32, 0, lines_at, lines_at, lines.len() as u32, end, 0]);
    out.extend_from_slice(&functions);
    out.extend_from_slice(&lines);
    out
}

fn push_words(out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}
