//! Values while a script runs in user space.

use std::sync::Arc;

use crate::engine::names::{kernel_error_text, signal_name};
use crate::kernel::syscalls::{self, Machine};
use crate::lang::typed::{Program, function_of};
use crate::lang::types::Type;
use crate::model::value::Value;

/// A value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Datum {
    /// Nothing, which reads as zero or an empty text.
    #[default]
    None,
    /// A number, extended to 64 bits as its type has a sign or not.
    Number(u64),
    /// A text or bytes.
    Text(Arc<[u8]>),
    /// A tuple or record.
    Parts(Arc<[Self]>),
    /// What was recorded and can only be shown, compared and used as a key: a stack, a symbol.
    Shown(Value),
}

impl Datum {
    /// A number of a type.
    pub fn number(bits: u64, ty: &Type) -> Self {
        Self::Number(extend(bits, ty))
    }

    /// A recorded value as one of a type.
    pub fn of(value: &Value, ty: &Type) -> Self {
        match (value, ty) {
            (Value::None, _) => Self::None,
            (Value::Bool(b), _) => Self::number(u64::from(*b), ty),
            (Value::Int(v, _) | Value::Enum { value: v, .. }, _) => Self::number(*v as u64, ty),
            (Value::Uint(v, _) | Value::Pointer(v), _) => Self::number(*v, ty),
            (Value::Text(_, raw), ty) if ty.is_scalar() => Self::number(*raw, ty),
            (Value::Str(bytes) | Value::Bytes(bytes), _) => Self::Text(Arc::clone(bytes)),
            (Value::Text(text, _), Type::Str { .. }) => Self::Text(text.as_bytes().into()),
            (Value::Tuple(items), Type::Tuple(types)) => {
                Self::Parts(items.iter().zip(types.iter()).map(|(item, ty)| Self::of(item, ty)).collect())
            }
            (Value::Record(items), Type::Record(types)) => {
                Self::Parts(items.iter().zip(types.iter()).map(|((_, item), (_, ty))| Self::of(item, ty)).collect())
            }
            (other, _) => Self::Shown(other.clone()),
        }
    }

    /// Its bits; the raw number behind what is shown as text.
    pub fn bits(&self) -> u64 {
        match self {
            Self::Number(bits) => *bits,
            Self::Shown(value) => value.as_number().map_or(0, |n| n as u64),
            Self::None | Self::Text(_) | Self::Parts(_) => 0,
        }
    }

    /// Its bytes as a text.
    pub fn text(&self, ty: &Type, program: &Program) -> Arc<[u8]> {
        match self {
            Self::Text(bytes) => Arc::clone(bytes),
            Self::None => Arc::from([]),
            other => match other.shown(ty, program) {
                Value::Text(text, _) => text.as_bytes().into(),
                Value::Str(bytes) => bytes,
                _ => Arc::from([]),
            },
        }
    }

    /// As it is printed.
    pub fn shown(&self, ty: &Type, program: &Program) -> Value {
        match (self, ty) {
            (Self::Shown(value), _) => value.clone(),
            (Self::Parts(parts), Type::Tuple(types)) => {
                Value::Tuple(parts.iter().zip(types.iter()).map(|(part, ty)| part.shown(ty, program)).collect())
            }
            (Self::Parts(parts), Type::Record(types)) => {
                let shown =
                    |(part, (name, ty)): (&Self, &(Arc<str>, Type))| (Arc::clone(name), part.shown(ty, program));
                Value::Record(parts.iter().zip(types.iter()).map(shown).collect())
            }
            (Self::Text(bytes), Type::Buf { .. }) => Value::Bytes(Arc::clone(bytes)),
            (Self::Text(bytes), _) => Value::Str(Arc::clone(bytes)),
            (_, Type::Str { .. }) => Value::Str(Arc::from([])),
            (datum, ty) => number(datum.bits(), ty, program),
        }
    }

    /// Appends bytes that are equal for equal values.
    pub fn identify(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.extend_from_slice(&[0; 8]),
            Self::Number(bits) => out.extend_from_slice(&bits.to_le_bytes()),
            Self::Text(bytes) => {
                out.extend_from_slice(bytes);
                out.push(0);
            }
            Self::Parts(parts) => parts.iter().for_each(|part| part.identify(out)),
            Self::Shown(Value::Text(text, raw)) => {
                out.extend_from_slice(&raw.to_le_bytes());
                out.extend_from_slice(text.as_bytes());
                out.push(0);
            }
            Self::Shown(value) => {
                // Written with its parts' lengths, so that two values never meet.
                out.extend_from_slice(format!("{value:?}").as_bytes());
                out.push(0);
            }
        }
    }
}

fn number(bits: u64, ty: &Type, program: &Program) -> Value {
    let text = |text: Arc<str>| Value::Text(text, bits);
    match ty {
        Type::Bool => Value::Bool(bits != 0),
        Type::Int { size, signed: true } => Value::Int(bits as i64, *size),
        Type::Int { size, signed: false } => Value::Uint(bits, *size),
        Type::Enum { id, .. } => {
            let def = program.enums.get(id.0 as usize);
            let named = def.and_then(|d| d.variants.iter().find(|(_, value)| *value == bits as i64));
            Value::Enum { value: bits as i64, name: named.map(|(name, _)| Arc::clone(name)) }
        }
        Type::Ptr { .. } => Value::Pointer(bits),
        Type::Strerror => text(kernel_error_text(bits)),
        Type::SignalName => text(signal_name(bits).unwrap_or("N/A").into()),
        Type::SyscallName => text(syscalls::name(Machine::HOST, bits).unwrap_or("Unknown syscall").into()),
        Type::ProbeName => text(probe_name(bits, program)),
        Type::FuncName => text(function_of(&probe_name(bits, program)).into()),
        Type::Void | Type::Error | Type::Agg(_) => Value::None,
        _ => Value::Uint(bits, 8),
    }
}

fn probe_name(index: u64, program: &Program) -> Arc<str> {
    let name = usize::try_from(index).ok().and_then(|index| program.probe_names.get(index));
    name.cloned().unwrap_or_else(|| "".into())
}

/// A number of a type in 64 bits.
pub fn extend(bits: u64, ty: &Type) -> u64 {
    let (size, signed) = match ty {
        Type::Bool => return u64::from(bits != 0),
        Type::Int { size, signed } | Type::Enum { size, signed, .. } => (u32::from(*size).clamp(1, 8), *signed),
        _ => return bits,
    };
    let spare = 64 - size * 8;
    if signed { ((bits << spare) as i64 >> spare) as u64 } else { bits << spare >> spare }
}
