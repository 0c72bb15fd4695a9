//! Whether C++ passes values of a class by their address: when copying one runs code.
//!
//! Itanium C++ ABI, 3.1.2.3 "Non-Trivial Parameters". DWARF 5 has `DW_AT_calling_convention` for it,
//! which GCC does not write: then the class's members tell.

use gimli::AttributeValue;

use super::error::DwarfError;
use super::state::{Budget, Die, Place, State, each_child, flag};
use super::types::{TypeId, Types};

/// Deepest nesting of members and base classes that is looked into.
const MOST_DEPTH: u32 = 8;
/// Most members and functions of one class that are looked at.
const MOST_CHILDREN: usize = 4096;

/// Whether values of a class are passed by their address.
pub fn by_reference(state: &mut State, types: &mut Types, id: TypeId, budget: &mut Budget) -> Result<bool, DwarfError> {
    within(state, types, id, MOST_DEPTH, budget)
}

fn within(
    state: &mut State,
    types: &mut Types,
    id: TypeId,
    depth: u32,
    budget: &mut Budget,
) -> Result<bool, DwarfError> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
    let id = types.canonical(state, id, budget)?;
    let Some(place) = types.place(id) else { return Ok(false) };
    let die = state.entry(place)?;
    if !matches!(die.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type) {
        return Ok(false);
    }
    if let Some(AttributeValue::CallingConvention(c)) = die.attr_value(gimli::DW_AT_calling_convention) {
        return Ok(c == gimli::DW_CC_pass_by_reference);
    }
    let class = state.name(place.unit, &die);
    let mut children: Vec<Die> = Vec::new();
    each_child(state, place, budget, |child| {
        if children.len() < MOST_CHILDREN {
            children.push(child.clone());
        }
    })?;
    // First what costs no further reading.
    if children.iter().any(is_virtual) {
        return Ok(true);
    }
    for child in children.iter().filter(|c| c.tag() == gimli::DW_TAG_subprogram && runs_code(c)) {
        let name = state.name(place.unit, child);
        let plain = class.split('<').next().unwrap_or(&class);
        let function = Place { unit: place.unit, offset: child.offset().0 };
        if name.starts_with('~') || name == plain && copies(state, types, id, function, budget)? {
            return Ok(true);
        }
    }
    for child in &children {
        let part = matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
        if !part || flag(child, gimli::DW_AT_external) || flag(child, gimli::DW_AT_declaration) {
            continue;
        }
        if let Some(ty) = types.inner(state, place.unit, child, budget)?
            && within(state, types, ty, depth, budget)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A virtual function or base class.
fn is_virtual(child: &Die) -> bool {
    matches!(child.tag(), gimli::DW_TAG_subprogram | gimli::DW_TAG_inheritance)
        && matches!(child.attr_value(gimli::DW_AT_virtuality), Some(AttributeValue::Virtuality(v)) if v != gimli::DW_VIRTUALITY_none)
}

/// A function that the program's author wrote: neither made by the compiler nor defaulted in its class.
fn runs_code(function: &Die) -> bool {
    let defaulted = function.attr(gimli::DW_AT_defaulted).and_then(gimli::Attribute::udata_value);
    !flag(function, gimli::DW_AT_artificial)
        && !matches!(defaulted, Some(n) if n == u64::from(gimli::DW_DEFAULTED_in_class.0))
}

/// A constructor from a value of the same class.
fn copies(
    state: &mut State,
    types: &mut Types,
    class: TypeId,
    constructor: Place,
    budget: &mut Budget,
) -> Result<bool, DwarfError> {
    let mut parameters: Vec<Die> = Vec::new();
    each_child(state, constructor, budget, |child| {
        if child.tag() == gimli::DW_TAG_formal_parameter
            && !flag(child, gimli::DW_AT_artificial)
            && parameters.len() < 2
        {
            parameters.push(child.clone());
        }
    })?;
    let [only] = parameters.as_slice() else { return Ok(false) };
    let Some(ty) = types.inner(state, constructor.unit, only, budget)? else { return Ok(false) };
    let Some(place) = types.place(ty) else { return Ok(false) };
    let reference = state.entry(place)?;
    if !matches!(reference.tag(), gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type) {
        return Ok(false);
    }
    let Some(to) = types.inner(state, place.unit, &reference, budget)? else { return Ok(false) };
    Ok(types.canonical(state, to, budget)? == class)
}
