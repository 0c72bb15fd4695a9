//! What units and entries say of themselves.

use gimli::{AttributeValue, Dwarf, Reader as _, UnitHeader, UnitOffset};

use super::{Budget, Covered, Die, HeaderPlace, MOST_NAME, Place, State, Unit};
use crate::binary::dwarf::error::DwarfError;
use crate::binary::dwarf::window::Window;

/// Where a unit's header is.
pub fn header_place(header: &UnitHeader<Window>) -> HeaderPlace {
    match (header.debug_info_offset(), header.debug_types_offset()) {
        (Some(at), _) => (false, at.0),
        (None, at) => (true, at.map_or(0, |at| at.0)),
    }
}

/// Whether an entry has a flag, set.
pub fn flag(die: &Die, name: gimli::DwAt) -> bool {
    matches!(die.attr_value(name), Some(AttributeValue::Flag(true)))
}

/// As [`State::name`], of a unit that is not kept.
pub fn attr_name(unit: &Unit, die: &Die) -> String {
    let value = die.attr_value(gimli::DW_AT_name);
    let found = value.and_then(|v| unit.dwarf.attr_string(&unit.unit, v).ok());
    found.map(|w| text(&w)).unwrap_or_default()
}

/// A text of the binary, cut and made printable.
pub fn text(window: &Window) -> String {
    let mut window = window.clone();
    let _ = window.truncate(window.len().min(MOST_NAME));
    let text = window.to_string_lossy().map(std::borrow::Cow::into_owned).unwrap_or_default();
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

pub(super) fn language(unit: &gimli::Unit<Window>) -> Option<gimli::DwLang> {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten()?;
    match root.attr_value(gimli::DW_AT_language)? {
        AttributeValue::Language(language) => Some(language),
        _ => None,
    }
}

pub(super) fn sorted(mut list: Vec<Covered>) -> Vec<Covered> {
    list.sort_by_key(|c| (c.start, c.end));
    list
}

/// The addresses of a unit. gimli adds a unit's size to its start without a look at the sum: where that
/// is no address, the unit has none.
pub(super) fn ranges_of(dwarf: &Dwarf<Window>, unit: &gimli::Unit<Window>) -> Option<gimli::RangeIter<Window>> {
    let mut root = Die::null();
    unit.entries_raw(None).ok()?.read_entry(&mut root).ok()?;
    let start = root.attr_value(gimli::DW_AT_low_pc).and_then(|v| dwarf.attr_address(unit, v).ok().flatten());
    if let (Some(start), Some(AttributeValue::Udata(size))) = (start, root.attr_value(gimli::DW_AT_high_pc)) {
        start.checked_add(size)?;
    }
    dwarf.die_ranges(unit, &root).ok()
}

/// Calls `f` with each child of an entry.
pub fn each_child(state: &State, place: Place, budget: &mut Budget, mut f: impl FnMut(&Die)) -> Result<(), DwarfError> {
    let unit = &state.units[place.unit].unit;
    let damaged = |e| state.damaged(e);
    let mut tree = unit.entries_tree(Some(UnitOffset(place.offset))).map_err(damaged)?;
    let mut children = tree.root().map_err(damaged)?.children();
    while let Some(child) = children.next().map_err(damaged)? {
        state.spend(budget, 1)?;
        f(child.entry());
    }
    Ok(())
}
