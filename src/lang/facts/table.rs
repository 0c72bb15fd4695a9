//! Structs, enums and type names: those of the kernel, taken in when first named, and the script's own.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CKind, CMember, CType, CTypeId, Facts};
use crate::lang::typed::{EnumDef, FieldDef, StructDef};
use crate::lang::types::{AddressSpace, EnumId, StructId, Type};

/// All structs and enums that the script names, with stable ids.
pub struct TypeTable<'a> {
    /// The kernel.
    pub facts: &'a dyn Facts,
    /// The binary of the probe that is being checked: its types come before the kernel's.
    pub binary: Option<Arc<str>>,
    /// All binaries that the script's probes are in: their types are known everywhere, last.
    pub binaries: Vec<Arc<str>>,
    structs: Vec<StructEntry>,
    enums: Vec<EnumDef>,
    struct_ids: HashMap<CTypeId, StructId>,
    enum_ids: HashMap<CTypeId, (EnumId, u8, bool)>,
    /// The script's structs and unions by tag.
    pub script_structs: HashMap<Arc<str>, StructId>,
    /// The script includes headers, which the kernel's types stand for.
    pub headers: bool,
    /// The script's enums by tag: id, size, sign.
    pub script_enums: HashMap<Arc<str>, Type>,
    /// The script's typedefs.
    pub aliases: HashMap<Arc<str>, Type>,
    /// The script's enumerators.
    pub enumerators: HashMap<Arc<str>, (Type, i64)>,
}

struct StructEntry {
    def: StructDef,
    c: Option<CTypeId>,
    complete: bool,
    /// Bytes, of a struct that the script defines.
    align: Option<u32>,
}

impl<'a> TypeTable<'a> {
    /// An empty table over a kernel's types.
    pub fn new(facts: &'a dyn Facts) -> Self {
        Self {
            facts,
            binary: None,
            binaries: Vec::new(),
            structs: Vec::new(),
            enums: Vec::new(),
            struct_ids: HashMap::new(),
            enum_ids: HashMap::new(),
            script_structs: HashMap::new(),
            headers: false,
            script_enums: HashMap::new(),
            aliases: HashMap::new(),
            enumerators: HashMap::new(),
        }
    }

    /// The type of a C type; pointers without a tag point into `space`.
    pub fn import(&mut self, id: CTypeId, space: AddressSpace) -> Type {
        match self.facts.c_type(id) {
            CType::Void | CType::Float => Type::Void,
            CType::Int { boolean: true, .. } => Type::Bool,
            CType::Int { size: 16, .. } => Type::Array { of: Arc::new(Type::U64), len: 2 },
            CType::Int { size, signed, .. } => Type::Int { size, signed },
            CType::Enum { name, size, signed } => self.import_enum(id, name, size, signed),
            CType::Pointer { to, user, .. } => {
                let inner = to.map_or(Type::Void, |to| self.import(to, space));
                Type::Ptr { to: Arc::new(inner), space: if user { AddressSpace::User } else { space } }
            }
            CType::Array { of, len } => match self.facts.c_type(of) {
                CType::Int { text: true, .. } => Type::Str { size: len },
                _ => Type::Array { of: Arc::new(self.import(of, space)), len },
            },
            CType::Struct { name, union, size } => Type::Struct(self.import_struct(id, name, union, size)),
        }
    }

    fn import_struct(&mut self, c: CTypeId, name: Arc<str>, union: bool, size: u32) -> StructId {
        let c = self.facts.canonical(c);
        if let Some(id) = self.struct_ids.get(&c) {
            return *id;
        }
        let id = StructId(self.structs.len() as u32);
        let def = StructDef { name, union, size, fields: Vec::new() };
        self.structs.push(StructEntry { def, c: Some(c), complete: false, align: None });
        self.struct_ids.insert(c, id);
        id
    }

    fn import_enum(&mut self, c: CTypeId, name: Arc<str>, size: u8, signed: bool) -> Type {
        let c = self.facts.canonical(c);
        if let Some((id, size, signed)) = self.enum_ids.get(&c) {
            return Type::Enum { id: *id, size: *size, signed: *signed };
        }
        let id = EnumId(self.enums.len() as u32);
        self.enums.push(EnumDef { name, variants: self.facts.variants(c) });
        self.enum_ids.insert(c, (id, size, signed));
        Type::Enum { id, size, signed }
    }

    /// Adds a struct of the script; its fields may come later by [`Self::define`].
    pub fn declare_struct(&mut self, name: &Arc<str>, union: bool) -> StructId {
        let id = StructId(self.structs.len() as u32);
        let def = StructDef { name: name.clone(), union, size: 0, fields: Vec::new() };
        self.structs.push(StructEntry { def, c: None, complete: true, align: None });
        if !name.is_empty() {
            self.script_structs.insert(name.clone(), id);
        }
        id
    }

    /// Fills in a struct of the script.
    pub fn define(&mut self, id: StructId, size: u32, align: u32, fields: Vec<FieldDef>) {
        if let Some(entry) = self.structs.get_mut(id.0 as usize) {
            entry.align = Some(align);
            entry.def.size = size;
            entry.def.fields = fields;
        }
    }

    /// Whether a struct of the script has the name of one of the kernel's.
    pub fn redefines_kernel(&self, id: StructId) -> bool {
        let Some(entry) = self.structs.get(id.0 as usize) else { return false };
        let kind = if entry.def.union { CKind::Union } else { CKind::Struct };
        entry.c.is_none() && !entry.def.name.is_empty() && self.facts.find_type(kind, &entry.def.name).is_some()
    }

    /// Alignment in bytes of a struct that the script defines.
    pub fn alignment(&self, id: StructId) -> Option<u32> {
        self.structs.get(id.0 as usize)?.align
    }

    /// Adds an enum of the script.
    pub fn declare_enum(&mut self, name: &Arc<str>, variants: Vec<(Arc<str>, i64)>) -> Type {
        let signed = variants.iter().any(|(_, v)| *v < 0);
        let wide = variants.iter().any(|(_, v)| *v > i64::from(u32::MAX) || *v < i64::from(i32::MIN));
        let ty = Type::Enum { id: EnumId(self.enums.len() as u32), size: if wide { 8 } else { 4 }, signed };
        for (variant, value) in &variants {
            self.enumerators.insert(variant.clone(), (ty.clone(), *value));
        }
        self.enums.push(EnumDef { name: name.clone(), variants });
        if !name.is_empty() {
            self.script_enums.insert(name.clone(), ty.clone());
        }
        ty
    }

    /// Finds an enumerator by name, the script's before the kernel's.
    pub fn enumerator(&mut self, name: &str) -> Option<(Type, i64)> {
        if let Some(found) = self.enumerators.get(name) {
            return Some(found.clone());
        }
        let user = self.binary.as_ref().and_then(|b| self.facts.user_enumerator(b, name));
        let (c, value) = user.or_else(|| self.facts.enumerator(name))?;
        Some((self.import(c, AddressSpace::Kernel), value))
    }

    /// The tag with its keyword, for messages.
    pub fn struct_name(&self, id: StructId) -> String {
        self.structs.get(id.0 as usize).map_or_else(String::new, |s| {
            let keyword = if s.def.union { "union" } else { "struct" };
            if s.def.name.is_empty() { format!("anonymous {keyword}") } else { format!("{keyword} {}", s.def.name) }
        })
    }

    /// Bytes of a struct.
    pub fn struct_size(&self, id: StructId) -> u32 {
        self.structs.get(id.0 as usize).map_or(0, |s| s.def.size)
    }

    /// All definitions, for sizes.
    pub fn defs(&self) -> Vec<StructDef> {
        self.structs.iter().map(|s| s.def.clone()).collect()
    }

    /// All enums.
    pub fn enum_defs(&self) -> &[EnumDef] {
        &self.enums
    }

    /// Finds a field by name, inside anonymous members too; offsets count from the struct's start.
    pub fn field(&mut self, id: StructId, name: &str, space: AddressSpace) -> Option<FieldDef> {
        match self.structs.get(id.0 as usize)?.c {
            Some(c) => {
                let (member, base) = find_member(self.facts, c, name, 0, 0, &mut MOST_STEPS.clone())?;
                Some(self.import_member(&member, base, space))
            }
            None => self.script_field(id, name, 0),
        }
    }

    fn script_field(&self, id: StructId, name: &str, depth: u32) -> Option<FieldDef> {
        let fields = &self.structs.get(id.0 as usize)?.def.fields;
        if let Some(found) = fields.iter().find(|f| &*f.name == name) {
            return Some(found.clone());
        }
        if depth > 16 {
            return None;
        }
        fields.iter().filter(|f| f.name.is_empty()).find_map(|f| match f.ty {
            Type::Struct(inner) => self.script_field(inner, name, depth + 1).map(|mut found| {
                found.offset += f.offset;
                found
            }),
            _ => None,
        })
    }

    fn import_member(&mut self, member: &CMember, base_bits: u32, space: AddressSpace) -> FieldDef {
        let ty = self.import(member.ty, space);
        let bit_offset = base_bits.saturating_add(member.bit_offset);
        if member.bit_size == 0 {
            return FieldDef { name: member.name.clone(), ty, offset: bit_offset / 8, bits: None };
        }
        let (ty, offset, bits) = place_bitfield(ty, bit_offset, member.bit_size);
        FieldDef { name: member.name.clone(), ty, offset, bits: Some(bits) }
    }

    /// Names of all fields, those of anonymous members included; at most a few thousand.
    pub fn field_names(&self, id: StructId) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        if let Some(entry) = self.structs.get(id.0 as usize) {
            match entry.c {
                Some(c) => member_names(self.facts, c, &mut names, 0, &mut MOST_STEPS.clone()),
                None => names.extend(entry.def.fields.iter().map(|f| f.name.clone()).filter(|n| !n.is_empty())),
            }
        }
        names
    }

    /// Takes in all fields of a struct, and those of structs inside it: for values that are printed.
    pub fn complete(&mut self, ty: &Type) {
        match ty {
            Type::Struct(id) => self.complete_struct(*id),
            Type::Array { of, .. } => self.complete(of),
            Type::Tuple(items) => items.iter().for_each(|t| self.complete(t)),
            Type::Record(items) => items.iter().for_each(|(_, t)| self.complete(t)),
            _ => {}
        }
    }

    fn complete_struct(&mut self, id: StructId) {
        let Some(entry) = self.structs.get_mut(id.0 as usize) else { return };
        let Some(c) = entry.c.filter(|_| !entry.complete) else { return };
        entry.complete = true;
        let members = self.facts.members(c);
        let fields: Vec<FieldDef> = members.iter().map(|m| self.import_member(m, 0, AddressSpace::Kernel)).collect();
        for field in &fields {
            self.complete(&field.ty);
        }
        if let Some(entry) = self.structs.get_mut(id.0 as usize) {
            entry.def.fields = fields;
        }
    }

    /// Finds `struct X`, `union X` or `enum X`, the script's own before the kernel's.
    pub fn tagged(&mut self, kind: CKind, name: &str) -> Option<Type> {
        let own = match kind {
            CKind::Enum => self.script_enums.get(name).cloned(),
            _ => self.script_structs.get(name).map(|id| Type::Struct(*id)),
        };
        own.or_else(|| self.found(kind, name))
    }

    /// A type of the probe's binary, of the kernel, or of another binary of the script.
    fn found(&mut self, kind: CKind, name: &str) -> Option<Type> {
        let facts = self.facts;
        let of_binary = |binary: &Arc<str>| facts.user_type(binary, kind, name).map(|c| (c, AddressSpace::User));
        let of_kernel = || facts.find_type(kind, name).map(|c| (c, AddressSpace::Kernel));
        let found = self.binary.as_ref().and_then(of_binary).or_else(of_kernel);
        let (c, space) = found.or_else(|| self.binaries.iter().find_map(of_binary))?;
        Some(self.import(c, space))
    }

    /// `struct X` of the kernel.
    pub fn of_kernel(&mut self, name: &str) -> Option<Type> {
        if let Some(id) = self.script_structs.get(name) {
            return Some(Type::Struct(*id));
        }
        self.facts.find_type(CKind::Struct, name).map(|c| self.import(c, AddressSpace::Kernel))
    }

    /// Finds a type by a plain name: bpftrace's own names, C's, the script's typedefs, the kernel's.
    pub fn named(&mut self, name: &str) -> Option<Type> {
        if let Some(ty) = basic(name) {
            return Some(ty);
        }
        if let Some(ty) = self.aliases.get(name) {
            return Some(ty.clone());
        }
        if let Some(ty) = self.found(CKind::Typedef, name) {
            return Some(ty);
        }
        if let Some(ty) = libc_type(name) {
            return Some(ty);
        }
        // Old scripts name structs and enums without their keyword.
        [CKind::Struct, CKind::Enum, CKind::Union].into_iter().find_map(|kind| self.tagged(kind, name))
    }
}

/// Most anonymous members that are looked into for one name: a damaged file may nest them without end.
const MOST_STEPS: u32 = 2000;

/// Where a bitfield is loaded: a type wide enough, its byte offset, first bit and width.
pub fn place_bitfield(ty: Type, bit_offset: u32, width: u32) -> (Type, u32, (u8, u8)) {
    let size = match ty {
        Type::Int { size, .. } | Type::Enum { size, .. } => u32::from(size),
        _ => 1,
    };
    let unit = bit_offset / (size * 8) * size;
    let first = bit_offset - unit * 8;
    if first + width <= size * 8 {
        return (ty, unit, (first as u8, width as u8));
    }
    let byte = bit_offset / 8;
    let first = bit_offset - byte * 8;
    let signed = ty.is_signed();
    let size = [1_u32, 2, 4, 8].into_iter().find(|s| first + width <= s * 8).unwrap_or(8);
    (Type::Int { size: size as u8, signed }, byte, (first as u8, width.min(64 - first) as u8))
}

fn find_member(
    facts: &dyn Facts,
    c: CTypeId,
    name: &str,
    base: u32,
    depth: u32,
    steps: &mut u32,
) -> Option<(CMember, u32)> {
    *steps = steps.checked_sub(1)?;
    let members = facts.members(c);
    if let Some(found) = members.iter().find(|m| &*m.name == name) {
        return Some((found.clone(), base));
    }
    if depth > 16 {
        return None;
    }
    members
        .iter()
        .filter(|m| m.name.is_empty() && matches!(facts.c_type(m.ty), CType::Struct { .. }))
        .find_map(|m| find_member(facts, m.ty, name, base.saturating_add(m.bit_offset), depth + 1, steps))
}

fn member_names(facts: &dyn Facts, c: CTypeId, names: &mut Vec<Arc<str>>, depth: u32, steps: &mut u32) {
    let Some(left) = steps.checked_sub(1) else { return };
    *steps = left;
    for member in facts.members(c) {
        if !member.name.is_empty() {
            names.push(member.name);
        } else if depth < 16 && names.len() < 4096 {
            member_names(facts, member.ty, names, depth + 1, steps);
        }
    }
}

fn int(size: u8, signed: bool) -> Type {
    Type::Int { size, signed }
}

/// bpftrace's own type names and C's base types.
fn basic(name: &str) -> Option<Type> {
    Some(match name {
        "bool" | "_Bool" => Type::Bool,
        "int8" | "s8" | "int8_t" | "__s8" | "char" | "signed char" => int(1, true),
        "int16" | "s16" | "int16_t" | "__s16" | "short" | "short int" | "signed short" => int(2, true),
        "int32" | "s32" | "int32_t" | "__s32" | "int" | "signed" | "signed int" => int(4, true),
        "int64" | "s64" | "int64_t" | "__s64" | "long" | "long int" | "long long" | "long long int" | "signed long"
        | "signed long long" | "ssize_t" | "loff_t" | "intptr_t" => int(8, true),
        "uint8" | "u8" | "uint8_t" | "__u8" | "unsigned char" => int(1, false),
        "uint16" | "u16" | "uint16_t" | "__u16" | "unsigned short" | "unsigned short int" => int(2, false),
        "uint32" | "u32" | "uint32_t" | "__u32" | "unsigned" | "unsigned int" => int(4, false),
        "uint64"
        | "u64"
        | "uint64_t"
        | "__u64"
        | "unsigned long"
        | "unsigned long int"
        | "unsigned long long"
        | "long unsigned int"
        | "unsigned long long int"
        | "size_t"
        | "uintptr_t" => int(8, false),
        "void" => Type::Void,
        "inet" | "inet_t" => Type::Inet,
        "mac_address_t" | "macaddr_t" => Type::Mac,
        "ksym_t" | "ksym" => Type::KSym,
        "usym_t" | "usym" => Type::USym,
        "username_t" | "username" => Type::Username,
        "timestamp_t" | "timestamp" => Type::Timestamp,
        "cgroup_path_t" => Type::CgroupPath,
        _ => return None,
    })
}

/// Names that C libraries define and BTF may lack.
fn libc_type(name: &str) -> Option<Type> {
    Some(match name {
        "pid_t" | "clockid_t" => int(4, true),
        "uid_t" | "gid_t" | "mode_t" | "dev_t" | "socklen_t" | "__be32" | "__le32" => int(4, false),
        "__be16" | "__le16" | "sa_family_t" | "umode_t" => int(2, false),
        "__be64" | "__le64" | "ino_t" | "sector_t" => int(8, false),
        "off_t" | "time_t" => int(8, true),
        _ => return None,
    })
}
