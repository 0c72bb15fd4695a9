//! How values lie in memory: the one description that the compiler writes by and the decoder reads by.

use super::StructDef;
use crate::lang::types::{Aggregation, StructId, Type};

/// Size and alignment in bytes of a value of `ty` in maps, records and scratch memory.
/// `Void` and `Error` are 0 and 1.
#[must_use]
pub fn size_align(ty: &Type, structs: &[StructDef]) -> (u32, u32) {
    match ty {
        Type::Void | Type::Error => (0, 1),
        Type::Bool => (1, 1),
        Type::Int { size, .. } | Type::Enum { size, .. } => (u32::from(*size), u32::from(*size)),
        Type::Str { size } => (*size, 1),
        Type::Buf { size } => ((4 + *size).next_multiple_of(4), 4),
        Type::Array { of, len } => {
            let (size, align) = size_align(of, structs);
            (size.saturating_mul(*len), align)
        }
        Type::Struct(StructId(id)) => (structs.get(*id as usize).map_or(0, |s| s.size), 8),
        Type::Tuple(items) => tuple_layout(items.iter(), structs).0,
        Type::Record(items) => tuple_layout(items.iter().map(|(_, t)| t), structs).0,
        Type::Agg(agg) => (aggregate_size(*agg), 8),
        Type::KStack { .. } | Type::UStack { .. } | Type::USym | Type::Timestamp | Type::CgroupPath => (16, 8),
        Type::Inet => (20, 4),
        Type::Mac => (6, 1),
        Type::Ptr { .. }
        | Type::KSym
        | Type::Username
        | Type::Strerror
        | Type::SignalName
        | Type::SyscallName
        | Type::ProbeName
        | Type::FuncName => (8, 8),
    }
}

/// Size and alignment of a tuple of these types, and the offset of each.
pub fn tuple_layout<'a>(items: impl Iterator<Item = &'a Type>, structs: &[StructDef]) -> ((u32, u32), Vec<u32>) {
    let mut end = 0_u32;
    let mut largest = 1_u32;
    let mut offsets = Vec::new();
    for item in items {
        let (size, align) = size_align(item, structs);
        end = end.next_multiple_of(align);
        offsets.push(end);
        end = end.saturating_add(size);
        largest = largest.max(align);
    }
    ((end.next_multiple_of(largest), largest), offsets)
}

/// Bytes of one CPU's value of an aggregation.
#[must_use]
pub fn aggregate_size(agg: Aggregation) -> u32 {
    match agg {
        Aggregation::Count | Aggregation::Sum { .. } => 8,
        Aggregation::Min { .. } | Aggregation::Max { .. } | Aggregation::Avg { .. } | Aggregation::Stats { .. } => 16,
        Aggregation::Hist { bits } => crate::model::histogram::log2_buckets(bits) * 8,
        Aggregation::LHist { min, max, step } => crate::model::histogram::linear_buckets(min, max, step) * 8,
        Aggregation::LogLinear(shape) => shape.buckets() * 8,
        Aggregation::Quantize => 128 * 8,
        Aggregation::StdDev => 32,
        Aggregation::TSeries { buckets, .. } => buckets.saturating_mul(24),
    }
}

/// The value of a bitfield in the word that it lies in, extended to 64 bits as its type has a sign or not: as in C, where
/// `int` has one. `bits` are its first bit and its width.
#[must_use]
pub const fn bitfield_value(word: u64, bits: (u8, u8), signed: bool) -> u64 {
    let (left, right) = bitfield_shifts(bits);
    let high = word << left;
    if signed { ((high as i64) >> right) as u64 } else { high >> right }
}

/// How a bitfield is taken out of its word of 64 bits: to the top, then down.
#[must_use]
pub const fn bitfield_shifts((first, width): (u8, u8)) -> (u32, u32) {
    let width = if width == 0 {
        1
    } else if width > 64 {
        64
    } else {
        width as u32
    };
    ((64 - width).saturating_sub(first as u32), 64 - width)
}
