//! `printf` and its kin.

use super::append_lossy;
use super::gfp;
use super::stream::{Field, Radix};
use super::value;
use crate::model::bytes::bytes_of;
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use crate::model::value::Value;

/// Appends a formatted line to `out`; what is not UTF-8 becomes U+FFFD.
pub fn printf(format: &Format, values: &[Value], out: &mut String) {
    append_lossy(out, |bytes| printf_into(format, values, bytes));
}

/// Appends a formatted line to `out`, byte for byte.
///
/// A missing value prints nothing: the checker has counted them.
pub fn printf_into(format: &Format, values: &[Value], out: &mut Vec<u8>) {
    let mut values = values.iter();
    for piece in &format.pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(&bytes_of(text)),
            Piece::Conversion(conversion) => {
                // bpftrace reads a precision and leaves it unused.
                let mut field = field(conversion);
                if let Some(v) = values.next() {
                    convert(conversion, v, &mut field, out);
                }
            }
        }
    }
}

/// No field is wider, so that no script exhausts memory.
const WIDEST: usize = 64 * 1024;

fn field(c: &Conversion) -> Field {
    let width = match c.width {
        Width::None => 0,
        Width::Fixed(w) => w as usize,
    };
    Field {
        width: width.min(WIDEST),
        left: c.left,
        fill: if c.zero { b'0' } else { b' ' },
        plus: c.plus,
        base: c.alternate,
    }
}

fn convert(c: &Conversion, v: &Value, field: &mut Field, out: &mut Vec<u8>) {
    match c.kind {
        ConversionKind::Str => value::write(v, field, out),
        ConversionKind::Bytes => bytes(v, field, out, value::escaped),
        ConversionKind::BytesHexEscaped => bytes(v, field, out, |b, f, o| hex(b, b"\\x", b"", f, o)),
        ConversionKind::BytesHex => bytes(v, field, out, |b, f, o| hex(b, b"", b" ", f, o)),
        kind => match number(v) {
            Some(n) => integer(kind, c.length, n, field, out),
            None => value::write(v, field, out),
        },
    }
}

/// The 64-bit pattern of anything that is a number.
fn number(v: &Value) -> Option<i64> {
    Some(match v {
        Value::Int(v, _) => *v,
        Value::Uint(v, _) | Value::Pointer(v) | Value::Text(_, v) => *v as i64,
        Value::Bool(b) => i64::from(*b),
        Value::Enum { value, .. } => *value,
        other => other.as_number()? as i64,
    })
}

fn integer(kind: ConversionKind, length: Length, bits: i64, field: &mut Field, out: &mut Vec<u8>) {
    let signed = match length {
        Length::None => i64::from(bits as i32),
        Length::Char => i64::from(bits as i8),
        Length::Short => i64::from(bits as i16),
        Length::Long => bits,
    };
    let unsigned = match length {
        Length::None => u64::from(bits as u32),
        Length::Char => u64::from(bits as u8),
        Length::Short => u64::from(bits as u16),
        Length::Long => bits as u64,
    };
    match kind {
        ConversionKind::Unsigned => field.unsigned(out, unsigned, Radix::Decimal),
        ConversionKind::HexLower => field.unsigned(out, unsigned, Radix::Hex { upper: false }),
        ConversionKind::HexUpper => field.unsigned(out, unsigned, Radix::Hex { upper: true }),
        ConversionKind::Octal => field.unsigned(out, unsigned, Radix::Octal),
        ConversionKind::Char => field.token(out, &[bits as u8]),
        ConversionKind::Pointer => field.pointer(out, bits as u64),
        ConversionKind::Gfp => field.token(out, gfp::names(bits as u64).as_bytes()),
        _ => field.signed(out, signed),
    }
}

fn bytes(v: &Value, field: &mut Field, out: &mut Vec<u8>, write: impl Fn(&[u8], &mut Field, &mut Vec<u8>)) {
    match v {
        Value::Bytes(b) | Value::Str(b) => write(b, field, out),
        Value::Array(items) => {
            let b: Vec<u8> = items.iter().filter_map(number).map(|n| n as u8).collect();
            write(&b, field, out);
        }
        other => value::write(other, field, out),
    }
}

fn hex(bytes: &[u8], prefix: &[u8], between: &[u8], field: &mut Field, out: &mut Vec<u8>) {
    let mut text = Vec::with_capacity(bytes.len() * 4);
    for (i, b) in bytes.iter().enumerate() {
        if i > 0 {
            text.extend_from_slice(between);
        }
        value::hex_byte(*b, prefix, &mut text);
    }
    field.token(out, &text);
}
