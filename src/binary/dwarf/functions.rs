//! Functions by their address: parameters in order, with types and places.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, DwTag};

use super::abi;
use super::error::DwarfError;
use super::state::{Budget, Die, Place, State, each_child};
use super::types::{TypeId, Types};

/// Most parameters of one function that are believed.
const MOST_PARAMETERS: usize = 255;
/// Longest chain of origins and specifications that is followed.
const MOST_ORIGINS: usize = 8;

/// Where a parameter is when its function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// In the integer register of this number in the calling convention's order.
    Register(u8),
    /// A value that is passed by its address, which is in that register.
    Reference(u8),
    /// Where a probe can't read it, in plain words: `is passed on the stack`.
    Elsewhere(&'static str),
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name; empty when it has none.
    pub name: Arc<str>,
    /// Type; `None` for what has none.
    pub ty: Option<TypeId>,
    /// Where it is.
    pub place: ParameterPlace,
}

/// A function's parameters and result.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Function {
    /// In order.
    pub parameters: Vec<Parameter>,
    /// Result; `None` for `void`.
    pub result: Option<TypeId>,
}

/// The function that begins at an address; `None` when no entry describes it.
pub fn function(
    state: &mut State,
    types: &mut Types,
    address: u64,
    budget: &mut Budget,
) -> Result<Option<Function>, DwarfError> {
    let Some(skeleton) = state.unit_of(address, budget)? else { return Ok(None) };
    let unit = state.full_unit(skeleton)?;
    let entries = entry_points(state, unit, budget)?;
    let Some(offset) = entries.get(&address) else { return Ok(None) };
    read(state, types, Place { unit, offset: *offset }, budget).map(Some)
}

/// Offsets of a unit's functions by their entry addresses.
fn entry_points(state: &mut State, unit: usize, budget: &mut Budget) -> Result<Arc<HashMap<u64, usize>>, DwarfError> {
    if let Some(known) = &state.units[unit].functions {
        return Ok(Arc::clone(known));
    }
    let mut found = HashMap::new();
    {
        let this = &state.units[unit];
        let mut raw = this.unit.entries_raw(None).map_err(|e| state.damaged(e))?;
        let mut die = Die::null();
        while !raw.is_empty() {
            state.spend(budget, 1)?;
            if !raw.read_entry(&mut die).map_err(|e| state.damaged(e))? || die.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let start = match die.attr_value(gimli::DW_AT_low_pc) {
                Some(value) => this.dwarf.attr_address(&this.unit, value).ok().flatten(),
                // A function in several parts begins with the first one.
                None if die.has_attr(gimli::DW_AT_ranges) => {
                    let first = this.dwarf.die_ranges(&this.unit, &die).ok().and_then(|mut r| r.next().ok().flatten());
                    first.map(|r| r.begin)
                }
                None => None,
            };
            if let Some(start) = start {
                found.entry(start).or_insert(die.offset().0);
            }
        }
    }
    let found = Arc::new(found);
    state.units[unit].functions = Some(Arc::clone(&found));
    Ok(found)
}

/// The function entry and those that it is made of (the abstract one of an inlined function, the
/// declaration in a class), itself first.
fn origins(state: &mut State, place: Place, budget: &mut Budget) -> Result<Vec<Place>, DwarfError> {
    let mut chain = vec![place];
    for _ in 0..MOST_ORIGINS {
        let Some(last) = chain.last().copied() else { break };
        let die = state.entry(last)?;
        let next = die.attr_value(gimli::DW_AT_abstract_origin).or_else(|| die.attr_value(gimli::DW_AT_specification));
        let Some(value) = next else { break };
        match state.target(last.unit, &value, budget)? {
            Some(next) if !chain.contains(&next) => chain.push(next),
            _ => break,
        }
    }
    Ok(chain)
}

/// An attribute of an entry or of what it is made of, and the unit that it stands in.
fn inherited(
    state: &mut State,
    chain: &[Place],
    name: gimli::DwAt,
) -> Result<Option<(usize, AttributeValue<super::window::Window>)>, DwarfError> {
    for place in chain {
        if let Some(value) = state.entry(*place)?.attr_value(name) {
            return Ok(Some((place.unit, value)));
        }
    }
    Ok(None)
}

fn read(state: &mut State, types: &mut Types, place: Place, budget: &mut Budget) -> Result<Function, DwarfError> {
    let chain = origins(state, place, budget)?;
    let result = typed(state, types, &chain, budget)?;
    // A concrete copy of an inlined function may leave its parameters to the abstract one.
    let mut parameters = Vec::new();
    for place in &chain {
        parameters = children(state, *place, gimli::DW_TAG_formal_parameter, budget)?;
        if !parameters.is_empty() {
            break;
        }
    }
    let mut list = Vec::new();
    for place in parameters.into_iter().take(MOST_PARAMETERS) {
        let chain = origins(state, place, budget)?;
        let mut name = String::new();
        for place in &chain {
            let die = state.entry(*place)?;
            name = state.name(place.unit, &die);
            if !name.is_empty() {
                break;
            }
        }
        list.push((Arc::from(name), typed(state, types, &chain, budget)?));
    }
    let language = state.units[place.unit].language;
    let kinds: Vec<Option<TypeId>> = list.iter().map(|(_, ty)| *ty).collect();
    let places = abi::places(state, types, language, result, &kinds, budget)?;
    let parameters = list.into_iter().zip(places).map(|((name, ty), place)| Parameter { name, ty, place }).collect();
    Ok(Function { parameters, result })
}

fn typed(
    state: &mut State,
    types: &mut Types,
    chain: &[Place],
    budget: &mut Budget,
) -> Result<Option<TypeId>, DwarfError> {
    let Some((unit, value)) = inherited(state, chain, gimli::DW_AT_type)? else { return Ok(None) };
    Ok(state.target(unit, &value, budget)?.map(|place| types.intern(place)))
}

/// The places of an entry's children of one kind.
pub fn children(state: &State, place: Place, tag: DwTag, budget: &mut Budget) -> Result<Vec<Place>, DwarfError> {
    let mut list = Vec::new();
    each_child(state, place, budget, |die| {
        if die.tag() == tag {
            list.push(Place { unit: place.unit, offset: die.offset().0 });
        }
    })?;
    Ok(list)
}
