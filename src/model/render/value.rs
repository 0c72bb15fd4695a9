//! Values as `print` and `%s` show them.

use super::append_lossy;
use super::stack::stack_text;
use super::stream::{Field, Radix};
use crate::model::value::{Summary, Value};

/// Appends a value as `print` shows it.
pub fn value(value: &Value, out: &mut String) {
    append_lossy(out, |bytes| value_into(value, bytes));
}

/// Appends a value as `print` shows it; traced strings keep their bytes.
pub fn value_into(value: &Value, out: &mut Vec<u8>) {
    write(value, &mut Field::plain(), out);
}

/// Writes a value; the field's width goes to its first token.
pub(super) fn write(value: &Value, field: &mut Field, out: &mut Vec<u8>) {
    match value {
        Value::None => field.token(out, b"null"),
        Value::Bool(b) => field.token(out, if *b { b"true" } else { b"false" }),
        Value::Int(v, _) => field.signed(out, *v),
        Value::Uint(v, _) => field.unsigned(out, *v, Radix::Decimal),
        // Unlike `%p`, which leaves out a zero's prefix as C++ streams do.
        Value::Pointer(0) => field.token(out, b"0x0"),
        Value::Pointer(p) => field.pointer(out, *p),
        Value::Enum { name: Some(name), .. } => field.token(out, name.as_bytes()),
        Value::Enum { value, name: None } => field.signed(out, *value),
        Value::Str(bytes) => field.token(out, bytes),
        Value::Text(text, _) => field.token(out, text.as_bytes()),
        Value::Bytes(bytes) => escaped(bytes, field, out),
        Value::Stack(stack) => field.token(out, stack_text(stack).as_bytes()),
        Value::Array(items) => list(items, (b"[", b",", b"]"), field, out),
        Value::Tuple(items) => list(items, (b"(", b", ", b")"), field, out),
        Value::Record(items) => record(items, field, out),
        Value::Avg(s) => number(s.average(), s.signed, field, out),
        Value::Stats(s) => stats(s, field, out),
        Value::Hist(h) => field.unsigned(out, h.total(), Radix::Decimal),
        Value::LHist(h) => field.unsigned(out, h.total(), Radix::Decimal),
        Value::TSeries(s) => match s.points.iter().rev().find_map(|(_, v)| *v) {
            Some(last) => number(last, s.signed, field, out),
            None => field.token(out, b"-"),
        },
    }
}

/// A 64-bit pattern as a signed or unsigned number.
pub(super) fn number(bits: i64, signed: bool, field: &mut Field, out: &mut Vec<u8>) {
    if signed { field.signed(out, bits) } else { field.unsigned(out, bits as u64, Radix::Decimal) }
}

fn list(items: &[Value], (open, between, close): (&[u8], &[u8], &[u8]), field: &mut Field, out: &mut Vec<u8>) {
    field.token(out, open);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(between);
        }
        write(item, field, out);
    }
    out.extend_from_slice(close);
}

fn record(items: &[(std::sync::Arc<str>, Value)], field: &mut Field, out: &mut Vec<u8>) {
    field.token(out, b"{ ");
    for (i, (name, item)) in items.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        out.push(b'.');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b" = ");
        write(item, field, out);
    }
    out.extend_from_slice(b" }");
}

fn stats(s: &Summary, field: &mut Field, out: &mut Vec<u8>) {
    field.token(out, b"{ .count = ");
    field.unsigned(out, s.count, Radix::Decimal);
    out.extend_from_slice(b", .average = ");
    number(s.average(), s.signed, field, out);
    out.extend_from_slice(b", .total = ");
    number(s.total, s.signed, field, out);
    out.extend_from_slice(b" }");
}

/// Bytes with printable ASCII kept and the rest as `\x00`.
pub(super) fn escaped(bytes: &[u8], field: &mut Field, out: &mut Vec<u8>) {
    let mut text = Vec::with_capacity(bytes.len());
    for b in bytes {
        if matches!(b, 0x20..=0x7e) { text.push(*b) } else { hex_byte(*b, b"\\x", &mut text) }
    }
    field.token(out, &text);
}

/// Every byte as two hexadecimal digits after a prefix.
pub(super) fn hex_byte(byte: u8, prefix: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(prefix);
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}
