//! Places: memory named by an expression but not yet read. Structs and arrays are only read where a
//! leaf is used, so that `a.b.c` costs one read for each pointer followed.

pub mod part;
pub mod read;

pub mod access;

use crate::codegen::ir::Operand;
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::Addr;

/// Memory that an expression names.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Directly accessible.
    Memory(Addr),
    /// In the program's context, at an offset.
    Context(u32),
    /// Behind a pointer: read by the helper of its address space.
    Remote { base: Operand, offset: i64, space: AddressSpace },
}

impl Place {
    /// The place `bytes` further on.
    pub const fn at(self, bytes: u32) -> Self {
        match self {
            Self::Memory(addr) => Self::Memory(addr.at(bytes)),
            Self::Context(offset) => Self::Context(offset + bytes),
            Self::Remote { base, offset, space } => Self::Remote { base, offset: offset + bytes as i64, space },
        }
    }
}

/// What a scalar's type says: bytes and whether it extends by sign.
pub const fn scalar_shape(ty: &Type) -> (u32, bool) {
    match ty {
        Type::Bool => (1, false),
        Type::Int { size, signed } | Type::Enum { size, signed, .. } => (*size as u32, *signed),
        _ => (8, false),
    }
}
