//! The kernel's own format for an event (`print fmt`), read as the small C that it is, so that events look as the kernel
//! prints them. One that has anything unknown in it prints as names and values.

mod conversion;
mod eval;
mod expr;
mod parse;

use std::sync::Arc;

use super::shape::{FieldShape, Raw, ShapeKind, addresses};
use crate::kernel::ring::Abi;
use conversion::Piece;

/// Names of addresses.
pub trait Symbols {
    /// The function at an address, and how far into it that is.
    fn name(&self, address: u64) -> Option<(Arc<str>, u64)>;

    /// The text at an address of the kernel's (formats of `trace_printk`), where it is known.
    fn text(&self, _address: u64) -> Option<Arc<str>> {
        None
    }
}

impl Symbols for () {
    fn name(&self, _address: u64) -> Option<(Arc<str>, u64)> {
        None
    }
}

/// How an event prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    /// `None` for names and values.
    pieces: Option<Vec<Piece>>,
}

/// What a record is printed from.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub abi: Abi,
    pub fields: &'a [FieldShape],
    pub record: &'a [u8],
    pub symbols: &'a dyn Symbols,
}

impl Printed {
    /// Of the text behind `print fmt:`.
    #[must_use]
    pub fn of(text: &str, fields: &[FieldShape], abi: Abi) -> Self {
        Self { pieces: parse::pieces(text, fields, abi) }
    }

    /// Whether it prints as the kernel does.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.pieces.is_some()
    }

    /// Adds a record's text.
    pub fn write(&self, abi: Abi, fields: &[FieldShape], record: &[u8], symbols: &dyn Symbols, out: &mut Vec<u8>) {
        let of = Of { abi, fields, record, symbols };
        match &self.pieces {
            Some(pieces) => pieces.iter().for_each(|piece| piece.write(of, out)),
            None => plain(of, out),
        }
    }
}

/// Names and values.
fn plain(of: Of<'_>, out: &mut Vec<u8>) {
    for (at, field) in of.fields.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(field.name.as_bytes());
        out.push(b'=');
        one(of, field, out);
    }
}

/// A field's value, as it prints without a format.
fn one(of: Of<'_>, field: &FieldShape, out: &mut Vec<u8>) {
    match field.read(of.abi, of.record) {
        Raw::Missing => out.push(b'?'),
        Raw::Int(number) => eval::decimal(number, out),
        Raw::Uint(number) if field.kind == ShapeKind::Pointer => eval::hex(number, out),
        Raw::Uint(number) => eval::unsigned(number, out),
        Raw::Text(text) => out.extend_from_slice(text),
        Raw::Elements(bytes) if field.kind == ShapeKind::Stack => {
            for (at, address) in addresses(of.abi, bytes).enumerate() {
                if at > 0 {
                    out.extend_from_slice(b" <- ");
                }
                eval::symbol(of.symbols, address, true, out);
            }
        }
        Raw::Elements(bytes) => eval::array(of.abi, bytes, field.element(of.abi), out),
    }
}
