//! What the entries of types say of themselves.

use gimli::{AttributeValue, DwTag, Operation};

use crate::binary::dwarf::state::{Die, Unit};
use crate::binary::dwarf::window::Window;

pub(super) fn is_alias(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_immutable_type
            | gimli::DW_TAG_packed_type
            | gimli::DW_TAG_shared_type
            | gimli::DW_TAG_template_alias
    )
}

pub(super) fn bytes(die: &Die) -> Option<u64> {
    die.attr(gimli::DW_AT_byte_size)?.udata_value()
}

pub(super) fn constant(die: &Die, name: gimli::DwAt) -> Option<i64> {
    let attr = die.attr(name)?;
    attr.sdata_value().or_else(|| attr.udata_value().map(|v| v as i64))
}

pub(super) fn length(subrange: &Die) -> u32 {
    let count = subrange.attr(gimli::DW_AT_count).and_then(gimli::Attribute::udata_value);
    let upper = || {
        let bound = subrange.attr(gimli::DW_AT_upper_bound)?;
        // -1 is how some compilers write an array without elements.
        let bound = bound.sdata_value().map_or_else(|| bound.udata_value(), |v| u64::try_from(v).ok())?;
        bound.checked_add(1)
    };
    count.or_else(upper).unwrap_or(0).min(u64::from(u32::MAX)) as u32
}

/// Offset of a member in bits. `storage` is the size of its type, for old bitfields.
pub(super) fn member_offset(unit: &Unit, die: &Die, width: u32, storage: u64) -> Option<u32> {
    if let Some(bits) = die.attr(gimli::DW_AT_data_bit_offset).and_then(gimli::Attribute::udata_value) {
        return u32::try_from(bits).ok();
    }
    let bytes = match die.attr(gimli::DW_AT_data_member_location) {
        None => 0,
        Some(attr) => match attr.value() {
            AttributeValue::Exprloc(expression) => offset_of(unit, expression)?,
            _ => attr.udata_value()?,
        },
    };
    let mut bits = bytes.checked_mul(8)?;
    // DWARF 3: counted from the most significant bit of the storage unit.
    if let Some(from_top) = die.attr(gimli::DW_AT_bit_offset).and_then(gimli::Attribute::sdata_value) {
        let storage = bytes_of_storage(die, storage);
        let low = i64::try_from(storage.checked_mul(8)?).ok()?.checked_sub(i64::from(width))?.checked_sub(from_top)?;
        bits = bits.checked_add_signed(low)?;
    }
    u32::try_from(bits).ok()
}

pub(super) fn bytes_of_storage(die: &Die, storage: u64) -> u64 {
    bytes(die).unwrap_or(storage)
}

/// The constant of an expression that adds one to the struct's address.
pub(super) fn offset_of(unit: &Unit, expression: gimli::Expression<Window>) -> Option<u64> {
    let mut operations = expression.operations(unit.unit.encoding());
    match (operations.next().ok()??, operations.next().ok()?) {
        (Operation::PlusConstant { value }, None) => Some(value),
        (Operation::UnsignedConstant { value }, Some(Operation::Plus)) => Some(value),
        _ => None,
    }
}
