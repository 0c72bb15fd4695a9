//! What an event's record has, and where.

use std::sync::Arc;

use super::print::Printed;
use crate::kernel::ring::Abi;
use crate::kernel::tracefs::{Dynamic, Field, TracepointFormat};
use crate::model::value::{Frame, Stack, StackStyle, Value};

/// Elements of an array that become a value.
const MOST_ELEMENTS: usize = 4096;
/// Frames of a stack that are believed.
const MOST_FRAMES: usize = 512;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeKind {
    /// A number.
    Number {
        /// Two's complement.
        signed: bool,
    },
    /// An address.
    Pointer,
    /// Text up to a NUL.
    Text,
    /// Numbers of so many bytes each.
    Elements {
        /// Bytes of one.
        size: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Addresses of a stack, innermost first.
    Stack,
}

/// Where a field's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// There.
    Fixed,
    /// From there to the record's end.
    Rest,
    /// Where the number there says.
    Told(Dynamic),
}

/// One field, ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldShape {
    /// Name.
    pub name: Arc<str>,
    /// What it holds.
    pub kind: ShapeKind,
    offset: usize,
    size: usize,
    place: Place,
}

/// What was read of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw<'a> {
    /// A signed number.
    Int(i64),
    /// An unsigned number or an address.
    Uint(u64),
    /// Text, without its NUL; untrusted.
    Text(&'a [u8]),
    /// An array, whole elements only.
    Elements(&'a [u8]),
    /// It does not lie within the record.
    Missing,
}

impl Raw<'_> {
    /// The number, where it is one.
    #[must_use]
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Int(number) => Some(number.cast_unsigned()),
            Self::Uint(number) => Some(number),
            _ => None,
        }
    }
}

/// Bytes of a number of this C type; 0 where that is not known.
fn size_of_type(ty: &str, abi: Abi) -> u8 {
    let bare = ty.trim_start_matches("const ").trim();
    if bare.ends_with('*') {
        return abi.long;
    }
    match bare {
        "char" | "unsigned char" | "signed char" | "u8" | "s8" | "__u8" | "__s8" | "uint8_t" | "int8_t" | "bool" => 1,
        "short" | "unsigned short" | "u16" | "s16" | "__u16" | "__s16" | "__be16" | "__le16" | "uint16_t" => 2,
        "int" | "unsigned int" | "unsigned" | "u32" | "s32" | "__u32" | "__s32" | "__be32" | "__le32" | "uint32_t"
        | "pid_t" | "dev_t" | "gfp_t" => 4,
        "u64" | "s64" | "__u64" | "__s64" | "__be64" | "__le64" | "uint64_t" | "long long" | "unsigned long long" => 8,
        "long" | "unsigned long" | "size_t" => abi.long,
        _ => 0,
    }
}

impl FieldShape {
    fn of(field: &Field, abi: Abi) -> Self {
        let place = match field.dynamic {
            Some(dynamic) => Place::Told(dynamic),
            None if field.array == Some(0) || field.size == 0 => Place::Rest,
            None => Place::Fixed,
        };
        let is_array = place != Place::Fixed || field.array.is_some();
        let is_char = matches!(field.ty.trim_start_matches("const "), "char" | "unsigned char");
        let kind = if is_array && is_char {
            ShapeKind::Text
        } else if is_array {
            let told = size_of_type(&field.ty, abi);
            let counted = field.array.filter(|n| *n > 0).and_then(|n| u8::try_from(field.size / n).ok());
            let size = if told > 0 { told } else { counted.filter(|n| matches!(n, 1 | 2 | 4 | 8)).unwrap_or(1) };
            ShapeKind::Elements { size, signed: field.signed }
        } else if field.ty.ends_with('*') {
            ShapeKind::Pointer
        } else if matches!(field.size, 1 | 2 | 4 | 8) {
            ShapeKind::Number { signed: field.signed }
        } else {
            ShapeKind::Elements { size: 1, signed: false }
        };
        Self { name: Arc::clone(&field.name), kind, offset: field.offset as usize, size: field.size as usize, place }
    }

    /// Its bytes in a record.
    #[must_use]
    pub fn bytes<'a>(&self, abi: Abi, record: &'a [u8]) -> Option<&'a [u8]> {
        let (from, length) = match self.place {
            Place::Fixed => (self.offset, self.size),
            Place::Rest => return record.get(self.offset..),
            Place::Told(dynamic) => {
                let told = abi.uint(record, self.offset, 4)? as usize;
                let base = if dynamic == Dynamic::FromField { self.offset + 4 } else { 0 };
                (base + (told & 0xffff), told >> 16)
            }
        };
        record.get(from..from.checked_add(length)?)
    }

    /// Reads it.
    #[must_use]
    pub fn read<'a>(&self, abi: Abi, record: &'a [u8]) -> Raw<'a> {
        match self.kind {
            ShapeKind::Number { .. } | ShapeKind::Pointer => {
                let Some(number) = abi.uint(record, self.offset, self.size) else { return Raw::Missing };
                match self.kind {
                    ShapeKind::Number { signed: true } => Raw::Int(extend(number, self.size)),
                    _ => Raw::Uint(number),
                }
            }
            ShapeKind::Text => self
                .bytes(abi, record)
                .map_or(Raw::Missing, |bytes| Raw::Text(memchr::memchr(0, bytes).map_or(bytes, |end| &bytes[..end]))),
            ShapeKind::Elements { size, .. } => self.whole(abi, record, usize::from(size)),
            ShapeKind::Stack => self.whole(abi, record, usize::from(abi.long)),
        }
    }

    fn whole<'a>(&self, abi: Abi, record: &'a [u8], size: usize) -> Raw<'a> {
        let Some(bytes) = self.bytes(abi, record) else { return Raw::Missing };
        Raw::Elements(&bytes[..bytes.len() - bytes.len() % size.max(1)])
    }

    /// Bytes of an element, 0 for what is no array.
    #[must_use]
    pub const fn element(&self, abi: Abi) -> usize {
        match self.kind {
            ShapeKind::Elements { size, .. } => size as usize,
            ShapeKind::Stack => abi.long as usize,
            _ => 0,
        }
    }

    /// As a value of the history.
    pub fn value(&self, abi: Abi, record: &[u8], symbols: &dyn super::Symbols) -> Value {
        let width = self.size as u8;
        match self.read(abi, record) {
            Raw::Missing => Value::None,
            Raw::Int(number) => Value::Int(number, width),
            Raw::Uint(number) if self.kind == ShapeKind::Pointer => Value::Pointer(number),
            Raw::Uint(number) => Value::Uint(number, width),
            Raw::Text(text) => Value::Str(text.into()),
            Raw::Elements(bytes) if self.kind == ShapeKind::Stack => {
                Value::Stack(stack(addresses(abi, bytes), symbols))
            }
            Raw::Elements(bytes) => {
                let size = self.element(abi).max(1);
                let signed = matches!(self.kind, ShapeKind::Elements { signed: true, .. });
                let one = |at: usize| {
                    let number = abi.uint(bytes, at * size, size).unwrap_or(0);
                    if signed { Value::Int(extend(number, size), size as u8) } else { Value::Uint(number, size as u8) }
                };
                Value::Array((0..(bytes.len() / size).min(MOST_ELEMENTS)).map(one).collect())
            }
        }
    }
}

/// A number of so many bytes as two's complement.
pub(super) const fn extend(number: u64, size: usize) -> i64 {
    let unused = 64 - 8 * if size == 0 || size > 8 { 8 } else { size as u32 };
    (number << unused).cast_signed() >> unused
}

/// The addresses of a stack: up to the first that is none (`-1` ends old ones).
pub(super) fn addresses(abi: Abi, bytes: &[u8]) -> impl Iterator<Item = u64> {
    let long = usize::from(abi.long);
    let none = if long == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let all = (0..(bytes.len() / long.max(1)).min(MOST_FRAMES)).filter_map(move |at| abi.uint(bytes, at * long, long));
    all.take_while(move |address| *address != none && *address != 0)
}

fn stack(addresses: impl Iterator<Item = u64>, symbols: &dyn super::Symbols) -> Stack {
    let frame = |address| {
        let (symbol, offset) = symbols.name(address).map_or((None, 0), |(name, offset)| (Some(name), offset));
        Frame { address, symbol, offset, object: None, inlined: false }
    };
    let frames: Arc<[Frame]> = addresses.map(frame).collect();
    Stack { missing: frames.is_empty(), frames, mode: StackStyle::Bpftrace }
}

/// An event's record, ready to be read.
#[derive(Clone, Debug)]
pub struct RecordShape {
    /// Category.
    pub system: Arc<str>,
    /// Event.
    pub name: Arc<str>,
    /// The number that its records begin with.
    pub id: u32,
    /// Its own fields, in order.
    pub fields: Vec<FieldShape>,
    /// The thread that it happened in.
    pid: Option<FieldShape>,
    flags: Option<FieldShape>,
    depth: Option<FieldShape>,
    /// How the kernel prints it.
    pub printed: Printed,
}

impl RecordShape {
    /// Of a format.
    #[must_use]
    pub fn of(format: &TracepointFormat, abi: Abi) -> Self {
        let common = |name: &str| format.field(name).map(|field| FieldShape::of(field, abi));
        let mut fields: Vec<FieldShape> = format.own_fields().map(|field| FieldShape::of(field, abi)).collect();
        let is_stack = &*format.category == "ftrace" && matches!(&*format.event, "kernel_stack" | "user_stack");
        for field in &mut fields {
            if is_stack && &*field.name == "caller" {
                // Its declared length is not what records have.
                (field.kind, field.place) = (ShapeKind::Stack, Place::Rest);
            } else if &*field.name == "args" && &*format.event == "funcgraph_entry" {
                field.place = Place::Rest;
            }
        }
        let printed = Printed::of(&format.print_fmt, &fields, abi);
        Self {
            system: Arc::clone(&format.category),
            name: Arc::clone(&format.event),
            id: format.id,
            pid: common("common_pid"),
            flags: common("common_flags"),
            depth: common("common_preempt_count"),
            fields,
            printed,
        }
    }

    /// The thread, where the format tells it.
    #[must_use]
    pub fn pid(&self, abi: Abi, record: &[u8]) -> Option<i32> {
        Some(self.pid.as_ref()?.read(abi, record).number()? as i32)
    }

    /// Flags (interrupts off, in an interrupt, …) and the depth of disabled preemption, as the kernel keeps them.
    #[must_use]
    pub fn context(&self, abi: Abi, record: &[u8]) -> (u8, u8) {
        let of =
            |field: &Option<FieldShape>| field.as_ref().and_then(|f| f.read(abi, record).number()).unwrap_or(0) as u8;
        (of(&self.flags), of(&self.depth))
    }

    /// An own field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldShape> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// The number in an own field.
    #[must_use]
    pub fn number(&self, name: &str, abi: Abi, record: &[u8]) -> Option<u64> {
        self.field(name)?.read(abi, record).number()
    }
}
