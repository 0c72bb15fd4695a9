//! Types: what an entry means as a C type, its members, its name in C.

mod attributes;
mod search;

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, DwTag};

use super::error::DwarfError;
use super::state::{Budget, Die, Place, State, each_child, flag};

use attributes::{bytes, constant, is_alias, length, member_offset};

/// Longest chain of typedefs and qualifiers that is followed.
const MOST_CHAIN: usize = 64;
/// Deepest nesting of pointers and arrays.
const MOST_DEPTH: usize = 24;
/// Most members or enumerators of one type that are believed.
const MOST_MEMBERS: usize = 65_536;

/// A type of one binary's debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// What is looked up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `struct X`, `class X`.
    Struct,
    /// `union X`.
    Union,
    /// `enum X`.
    Enum,
    /// `typedef ... X`, or a base type's name.
    Named,
}

impl Tag {
    fn fits(self, tag: DwTag) -> bool {
        match self {
            Self::Struct => matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type),
            Self::Union => tag == gimli::DW_TAG_union_type,
            Self::Enum => tag == gimli::DW_TAG_enumeration_type,
            Self::Named => matches!(tag, gimli::DW_TAG_typedef | gimli::DW_TAG_base_type),
        }
    }
}

/// A type with its typedefs and qualifiers taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DwarfType {
    /// `void`, functions, and what is not understood.
    Void,
    /// An integer.
    Int {
        /// Bytes: 1, 2, 4, 8 or 16.
        size: u8,
        /// Two's complement when signed.
        signed: bool,
        /// Plain `char`.
        text: bool,
        /// `_Bool`.
        boolean: bool,
    },
    /// A floating-point or complex number of so many bytes.
    Float(u32),
    /// An enum.
    Enum {
        /// Tag.
        name: Arc<str>,
        /// Bytes.
        size: u8,
        /// Has negative values.
        signed: bool,
    },
    /// A pointer or reference.
    Pointer(Option<TypeId>),
    /// An array of so many elements; 0 when the number is not constant.
    Array(TypeId, u32),
    /// A struct, class or union.
    Struct {
        /// Tag.
        name: Arc<str>,
        /// Or a union.
        union: bool,
        /// Bytes; 0 when it is only declared.
        size: u32,
    },
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DwarfMember {
    /// Name; empty for anonymous members and base classes.
    pub name: Arc<str>,
    /// Type.
    pub ty: TypeId,
    /// Offset in bits.
    pub bit_offset: u32,
    /// Width of a bitfield, 0 for none.
    pub bit_size: u32,
}

/// A type's entry; of an array with several dimensions, the one that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    place: Place,
    dimension: u8,
}

/// By what two definitions of one type are known to be the same: kind, name, bytes.
type Same = (DwTag, String, u64);

/// All types that were named so far.
#[derive(Default)]
pub struct Types {
    nodes: Vec<Node>,
    ids: HashMap<Node, TypeId>,
    same: HashMap<Same, TypeId>,
    found: HashMap<(Tag, String), Option<TypeId>>,
    complete: HashMap<TypeId, TypeId>,
}

type Answer<T> = Result<T, DwarfError>;

impl Types {
    /// The number of the type at a place.
    pub fn intern(&mut self, place: Place) -> TypeId {
        self.node(Node { place, dimension: 0 })
    }

    fn node(&mut self, node: Node) -> TypeId {
        if let Some(known) = self.ids.get(&node) {
            return *known;
        }
        let id = TypeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.ids.insert(node, id);
        id
    }

    fn get(&self, id: TypeId) -> Option<Node> {
        self.nodes.get(id.0 as usize).copied()
    }

    /// The type that an entry's `DW_AT_type` names.
    pub fn inner(&mut self, state: &mut State, unit: usize, die: &Die, budget: &mut Budget) -> Answer<Option<TypeId>> {
        let Some(value) = die.attr_value(gimli::DW_AT_type) else { return Ok(None) };
        Ok(state.target(unit, &value, budget)?.map(|place| self.intern(place)))
    }

    /// Follows typedefs and qualifiers. `None` for `void`.
    fn resolve(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<Option<(TypeId, Die)>> {
        let mut at = id;
        for _ in 0..MOST_CHAIN {
            let Some(node) = self.get(at) else { return Ok(None) };
            let die = state.entry(node.place)?;
            if !is_alias(die.tag()) {
                return Ok(Some((at, die)));
            }
            match self.inner(state, node.place.unit, &die, budget)? {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// What a type is.
    pub fn describe(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<DwarfType> {
        if !self.ends(state, id, budget)? {
            return Ok(DwarfType::Void);
        }
        let Some((id, die)) = self.resolve(state, id, budget)? else { return Ok(DwarfType::Void) };
        let Some(node) = self.get(id) else { return Ok(DwarfType::Void) };
        let unit = node.place.unit;
        Ok(match die.tag() {
            gimli::DW_TAG_base_type => base_type(&die, &state.name(unit, &die)),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                DwarfType::Pointer(self.inner(state, unit, &die, budget)?)
            }
            gimli::DW_TAG_unspecified_type if bytes(&die) == Some(8) => DwarfType::Pointer(None),
            gimli::DW_TAG_ptr_to_member_type => DwarfType::Int { size: 8, signed: true, text: false, boolean: false },
            gimli::DW_TAG_array_type => self.array(state, node, &die, budget)?,
            gimli::DW_TAG_enumeration_type => self.enumeration(state, id, &die, budget)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let whole = self.completed(state, id, &die, budget)?;
                let die = if whole == id { die } else { self.entry(state, whole)? };
                let size = bytes(&die).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
                let unit = self.get(whole).map_or(unit, |n| n.place.unit);
                let union = die.tag() == gimli::DW_TAG_union_type;
                DwarfType::Struct { name: state.name(unit, &die).into(), union, size }
            }
            _ => DwarfType::Void,
        })
    }

    fn entry(&self, state: &State, id: TypeId) -> Answer<Die> {
        match self.get(id) {
            Some(node) => state.entry(node.place),
            None => Ok(Die::null()),
        }
    }

    /// Whether pointers and arrays come to an end: a damaged file may have one that points to itself.
    fn ends(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<bool> {
        let mut at = id;
        for _ in 0..MOST_DEPTH {
            state.spend(budget, 1)?;
            let Some((resolved, die)) = self.resolve(state, at, budget)? else { return Ok(true) };
            let deeper = matches!(
                die.tag(),
                gimli::DW_TAG_pointer_type
                    | gimli::DW_TAG_reference_type
                    | gimli::DW_TAG_rvalue_reference_type
                    | gimli::DW_TAG_array_type
            );
            let Some(node) = self.get(resolved).filter(|_| deeper) else { return Ok(true) };
            match self.inner(state, node.place.unit, &die, budget)? {
                Some(next) => at = next,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    fn array(&mut self, state: &mut State, node: Node, die: &Die, budget: &mut Budget) -> Answer<DwarfType> {
        let mut lengths = Vec::new();
        each_child(state, node.place, budget, |child| {
            if child.tag() == gimli::DW_TAG_subrange_type {
                lengths.push(length(child));
            }
        })?;
        let Some(element) = self.inner(state, node.place.unit, die, budget)? else { return Ok(DwarfType::Void) };
        let at = usize::from(node.dimension);
        let len = lengths.get(at).copied().unwrap_or(0);
        if at + 1 < lengths.len() && at < MOST_DEPTH {
            let rest = self.node(Node { dimension: node.dimension + 1, ..node });
            return Ok(DwarfType::Array(rest, len));
        }
        Ok(DwarfType::Array(element, len))
    }

    fn enumeration(&mut self, state: &mut State, id: TypeId, die: &Die, budget: &mut Budget) -> Answer<DwarfType> {
        let whole = self.completed(state, id, die, budget)?;
        let size = bytes(&self.entry(state, whole)?).filter(|b| matches!(b, 1 | 2 | 4 | 8)).unwrap_or(4) as u8;
        let signed = self.variants(state, whole, budget)?.iter().any(|(_, value)| *value < 0);
        let unit = self.get(id).map_or(0, |n| n.place.unit);
        Ok(DwarfType::Enum { name: state.name(unit, die).into(), size, signed })
    }

    /// The definition of a type that an entry may only declare.
    fn completed(&mut self, state: &mut State, id: TypeId, die: &Die, budget: &mut Budget) -> Answer<TypeId> {
        if let Some(known) = self.complete.get(&id) {
            return Ok(*known);
        }
        let Some(node) = self.get(id) else { return Ok(id) };
        let declared = flag(die, gimli::DW_AT_declaration);
        let name = state.name(node.place.unit, die);
        let whole = if let Some(value) = die.attr_value(gimli::DW_AT_signature) {
            state.target(node.place.unit, &value, budget)?.map(|place| self.intern(place))
        } else if declared && !name.is_empty() {
            let tag = match die.tag() {
                gimli::DW_TAG_union_type => Tag::Union,
                gimli::DW_TAG_enumeration_type => Tag::Enum,
                _ => Tag::Struct,
            };
            self.find(state, tag, &name, budget)?
        } else {
            None
        };
        let whole = match whole {
            Some(found) => found,
            // The same type of several compilation units has one number, so that values of it agree.
            None if !name.is_empty() && !declared => {
                let same = (die.tag(), name, bytes(die).unwrap_or(0));
                *self.same.entry(same).or_insert(id)
            }
            None => id,
        };
        self.complete.insert(id, whole);
        Ok(whole)
    }

    /// The one number of a struct, union or enum, whichever of its definitions `id` is.
    pub fn canonical(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<TypeId> {
        let Some((id, die)) = self.resolve(state, id, budget)? else { return Ok(id) };
        match die.tag() {
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type => self.completed(state, id, &die, budget),
            _ => Ok(id),
        }
    }

    /// The members of a struct or union; empty for other types.
    pub fn members(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<Vec<DwarfMember>> {
        let id = self.canonical(state, id, budget)?;
        let Some(node) = self.get(id) else { return Ok(Vec::new()) };
        let mut dies = Vec::new();
        each_child(state, node.place, budget, |child| {
            let member = matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            // Static members are variables.
            let outside = [gimli::DW_AT_external, gimli::DW_AT_declaration];
            if member && !outside.into_iter().any(|a| flag(child, a)) && dies.len() < MOST_MEMBERS {
                dies.push(child.clone());
            }
        })?;
        let mut members = Vec::new();
        for die in &dies {
            let Some(ty) = self.inner(state, node.place.unit, die, budget)? else { continue };
            let name = if die.tag() == gimli::DW_TAG_member { state.name(node.place.unit, die) } else { String::new() };
            let width =
                die.attr(gimli::DW_AT_bit_size).and_then(gimli::Attribute::udata_value).unwrap_or(0).min(64) as u32;
            let storage = if width > 0 { self.size(state, ty, budget)? } else { 0 };
            let Some(bit_offset) = member_offset(&state.units[node.place.unit], die, width, storage) else { continue };
            members.push(DwarfMember { name: name.into(), ty, bit_offset, bit_size: width });
        }
        Ok(members)
    }

    /// Bytes of a value; 0 when unknown.
    pub fn size(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<u64> {
        let mut count = 1_u64;
        let mut at = id;
        for _ in 0..MOST_DEPTH {
            match self.describe(state, at, budget)? {
                DwarfType::Void => return Ok(0),
                DwarfType::Int { size, .. } | DwarfType::Enum { size, .. } => {
                    return Ok(count.saturating_mul(u64::from(size)));
                }
                DwarfType::Float(size) | DwarfType::Struct { size, .. } => {
                    return Ok(count.saturating_mul(u64::from(size)));
                }
                DwarfType::Pointer(_) => return Ok(count.saturating_mul(8)),
                DwarfType::Array(of, len) => {
                    count = count.saturating_mul(u64::from(len));
                    at = of;
                }
            }
        }
        Ok(0)
    }

    /// Where a type's entry is.
    pub fn place(&self, id: TypeId) -> Option<Place> {
        self.get(id).map(|node| node.place)
    }

    /// Names and values of an enum; empty for other types.
    pub fn variants(&mut self, state: &mut State, id: TypeId, budget: &mut Budget) -> Answer<Vec<(Arc<str>, i64)>> {
        let Some((id, die)) = self.resolve(state, id, budget)? else { return Ok(Vec::new()) };
        if die.tag() != gimli::DW_TAG_enumeration_type {
            return Ok(Vec::new());
        }
        let id = self.completed(state, id, &die, budget)?;
        let Some(node) = self.get(id) else { return Ok(Vec::new()) };
        let mut list = Vec::new();
        each_child(state, node.place, budget, |child| {
            if child.tag() == gimli::DW_TAG_enumerator
                && list.len() < MOST_MEMBERS
                && let Some(value) = constant(child, gimli::DW_AT_const_value)
            {
                list.push((Arc::from(state.name(node.place.unit, child)), value));
            }
        })?;
        Ok(list)
    }

    /// The type as C writes it, as bpftrace lists it: `const char*`, `struct foo*`.
    pub fn text(&mut self, state: &mut State, id: Option<TypeId>, budget: &mut Budget) -> Answer<String> {
        let (mut before, mut after) = (String::new(), String::new());
        let mut at = id;
        for _ in 0..MOST_DEPTH {
            let Some(node) = at.and_then(|id| self.get(id)) else { break };
            let die = state.entry(node.place)?;
            let name = state.name(node.place.unit, &die);
            let keyword = match die.tag() {
                gimli::DW_TAG_const_type => {
                    before.push_str("const ");
                    ""
                }
                gimli::DW_TAG_volatile_type => {
                    before.push_str("volatile ");
                    ""
                }
                gimli::DW_TAG_pointer_type => {
                    after.insert(0, '*');
                    ""
                }
                gimli::DW_TAG_reference_type => {
                    after.insert(0, '&');
                    ""
                }
                gimli::DW_TAG_rvalue_reference_type => {
                    after.insert_str(0, "&&");
                    ""
                }
                gimli::DW_TAG_array_type => {
                    let DwarfType::Array(_, len) = self.array(state, node, &die, budget)? else { break };
                    after.push_str(&format!("[{len}]"));
                    ""
                }
                gimli::DW_TAG_subroutine_type => return Ok(format!("{before}<function>{after}")),
                tag if is_alias(tag) && name.is_empty() => "",
                gimli::DW_TAG_structure_type => "struct ",
                gimli::DW_TAG_class_type => "class ",
                gimli::DW_TAG_union_type => "union ",
                gimli::DW_TAG_enumeration_type => "enum ",
                _ => return Ok(format!("{before}{name}{after}")),
            };
            if !keyword.is_empty() {
                let name = if name.is_empty() { "<anonymous>" } else { &name };
                return Ok(format!("{before}{keyword}{name}{after}"));
            }
            at = self.inner(state, node.place.unit, &die, budget)?;
        }
        Ok(format!("{before}void{after}"))
    }
}

fn base_type(die: &Die, name: &str) -> DwarfType {
    let size = bytes(die).unwrap_or(0);
    let encoding = match die.attr_value(gimli::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => encoding,
        _ => return DwarfType::Void,
    };
    let int = |signed, text, boolean| match size {
        1 | 2 | 4 | 8 | 16 => DwarfType::Int { size: size as u8, signed, text, boolean },
        _ => DwarfType::Void,
    };
    match encoding {
        gimli::DW_ATE_boolean => int(false, false, size == 1),
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => int(true, size == 1 && name == "char", false),
        gimli::DW_ATE_unsigned_char => int(false, name == "char", false),
        gimli::DW_ATE_unsigned
        | gimli::DW_ATE_UTF
        | gimli::DW_ATE_UCS
        | gimli::DW_ATE_ASCII
        | gimli::DW_ATE_address => int(false, false, false),
        _ => DwarfType::Float(size.min(u64::from(u32::MAX)) as u32),
    }
}
