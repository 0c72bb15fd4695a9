//! Finding a type or an enumerator by its name.

use std::collections::HashSet;

use gimli::Reader as _;

use super::super::state::{Budget, Die, Place, State, Unit, flag, header_place};
use super::super::window::Window;
use super::{Answer, Tag, TypeId, Types};

/// Deepest nesting of namespaces that is looked into for a name.
const MOST_NAMESPACES: u32 = 16;

impl Types {
    /// Finds a defined type by its name: in the units in use first, then in all of them.
    pub fn find(&mut self, state: &mut State, tag: Tag, name: &str, budget: &mut Budget) -> Answer<Option<TypeId>> {
        let key = (tag, name.to_owned());
        if let Some(known) = self.found.get(&key) {
            return Ok(*known);
        }
        let found = self.search(state, tag, name, budget)?;
        self.found.insert(key, found);
        Ok(found)
    }

    fn search(&mut self, state: &mut State, tag: Tag, name: &str, budget: &mut Budget) -> Answer<Option<TypeId>> {
        let mut seen = HashSet::new();
        for number in 0..state.units.len() {
            let unit = &state.units[number];
            seen.insert((unit.object, header_place(&unit.unit.header)));
            if let Some(offset) = find_in(state, unit, tag, name, budget)? {
                return Ok(Some(self.intern(Place { unit: number, offset })));
            }
        }
        for start in state.starts(0, budget)?.iter() {
            if seen.contains(&(0, (false, *start))) {
                continue;
            }
            state.step(budget)?;
            let peeked = state.peek(0, *start)?;
            if peeked.unit.dwo_id.is_some() {
                let skeleton = state.unit_at(0, *start)?;
                let Ok(full) = state.full_unit(skeleton) else { continue };
                if let Some(offset) = find_in(state, &state.units[full], tag, name, budget)? {
                    return Ok(Some(self.intern(Place { unit: full, offset })));
                }
            } else if let Some(offset) = find_in(state, &peeked, tag, name, budget)? {
                let unit = state.unit_at(0, *start)?;
                return Ok(Some(self.intern(Place { unit, offset })));
            }
        }
        Ok(None)
    }

    /// The enum of the units in use that has an enumerator of this name, and its value.
    pub fn enumerator(&mut self, state: &mut State, name: &str, budget: &mut Budget) -> Answer<Option<(TypeId, i64)>> {
        for number in 0..state.units.len() {
            let mut found = None;
            visit(state, &state.units[number], budget, &mut |die, _| {
                if die.tag() == gimli::DW_TAG_enumeration_type {
                    found.get_or_insert_with(Vec::new).push(die.offset().0);
                }
                true
            })?;
            for offset in found.unwrap_or_default() {
                let id = self.intern(Place { unit: number, offset });
                let variants = self.variants(state, id, budget)?;
                if let Some((_, value)) = variants.iter().find(|(n, _)| &**n == name) {
                    return Ok(Some((self.canonical(state, id, budget)?, *value)));
                }
            }
        }
        Ok(None)
    }
}

/// Offset of the definition of a name in a unit.
fn find_in(state: &State, unit: &Unit, tag: Tag, name: &str, budget: &mut Budget) -> Answer<Option<usize>> {
    let mut found = None;
    visit(state, unit, budget, &mut |die, unit| {
        let declared = flag(die, gimli::DW_AT_declaration);
        if tag.fits(die.tag()) && !declared && is_named(unit, die, name) {
            found = Some(die.offset().0);
        }
        found.is_none()
    })?;
    Ok(found)
}

fn is_named(unit: &Unit, die: &Die, name: &str) -> bool {
    let Some(value) = die.attr_value(gimli::DW_AT_name) else { return false };
    unit.dwarf.attr_string(&unit.unit, value).is_ok_and(|w| w.is_text(name.as_bytes()) && w.len() == name.len())
}

/// Calls `f` with every entry at the top of a unit and in its namespaces, until it says false.
fn visit(state: &State, unit: &Unit, budget: &mut Budget, f: &mut dyn FnMut(&Die, &Unit) -> bool) -> Answer<()> {
    let damaged = |e| state.damaged(e);
    let mut tree = unit.unit.entries_tree(None).map_err(damaged)?;
    let root = tree.root().map_err(damaged)?;
    visit_below(state, unit, root, budget, f, 0).map(|_| ())
}

fn visit_below(
    state: &State,
    unit: &Unit,
    node: gimli::EntriesTreeNode<'_, '_, Window>,
    budget: &mut Budget,
    f: &mut dyn FnMut(&Die, &Unit) -> bool,
    depth: u32,
) -> Answer<bool> {
    let mut children = node.children();
    while let Some(child) = children.next().map_err(|e| state.damaged(e))? {
        state.spend(budget, 1)?;
        if !f(child.entry(), unit) {
            return Ok(false);
        }
        let namespace = matches!(child.entry().tag(), gimli::DW_TAG_namespace | gimli::DW_TAG_module);
        if namespace && depth < MOST_NAMESPACES && !visit_below(state, unit, child, budget, f, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
