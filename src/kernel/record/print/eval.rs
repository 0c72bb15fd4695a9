//! What expressions of a `print fmt` are for one record.

use super::super::shape::{Raw, ShapeKind, extend};
use super::expr::{Expr, Unary};
use super::{Of, Symbols};
use crate::kernel::ring::Abi;

/// Bytes of an array that are printed.
const MOST_BYTES: usize = 1024;

/// A number; `None` for text and for what is missing.
pub(super) fn number(of: Of<'_>, expr: &Expr) -> Option<i64> {
    Some(match expr {
        Expr::Number(number) => *number,
        Expr::Field(field) => match of.fields.get(*field)?.read(of.abi, of.record) {
            Raw::Int(number) => number,
            Raw::Uint(number) => number.cast_signed(),
            _ => return None,
        },
        Expr::Element(field, at) => element(of, *field, usize::try_from(number(of, at)?).ok()?)?,
        Expr::Length(field) => of.fields.get(*field)?.bytes(of.abi, of.record)?.len() as i64,
        Expr::Unary(operator, inner) => {
            let inner = number(of, inner)?;
            match operator {
                Unary::Minus => inner.wrapping_neg(),
                Unary::Not => i64::from(inner == 0),
                Unary::Invert => !inner,
            }
        }
        Expr::Binary(operator, both) => operator.apply(number(of, &both.0)?, number(of, &both.1)?)?,
        Expr::Choice(parts) => {
            let chosen = if truth(of, &parts.0) { &parts.1 } else { &parts.2 };
            number(of, chosen)?
        }
        Expr::Cast { size, signed, of: inner } => super::parse::cut(number(of, inner)?, *size, *signed),
        _ => return None,
    })
}

fn truth(of: Of<'_>, expr: &Expr) -> bool {
    match expr {
        // A text that is there.
        Expr::Field(field) if of.fields.get(*field).is_some_and(|f| f.kind == ShapeKind::Text) => true,
        expr => number(of, expr).is_some_and(|n| n != 0),
    }
}

fn element(of: Of<'_>, field: usize, at: usize) -> Option<i64> {
    let field = of.fields.get(field)?;
    let bytes = field.bytes(of.abi, of.record)?;
    let size = match field.kind {
        ShapeKind::Text => 1,
        _ => field.element(of.abi),
    };
    let value = of.abi.uint(bytes, at.checked_mul(size)?, size)?;
    Some(if matches!(field.kind, ShapeKind::Elements { signed: true, .. }) {
        extend(value, size)
    } else {
        value.cast_signed()
    })
}

/// Adds a text, or a number where it is one.
pub(super) fn text(of: Of<'_>, expr: &Expr, out: &mut Vec<u8>) {
    match expr {
        Expr::Text(text) => out.extend_from_slice(text),
        Expr::Field(field) => field_text(of, *field, out),
        Expr::Choice(parts) => text(of, if truth(of, &parts.0) { &parts.1 } else { &parts.2 }, out),
        Expr::Flags(inner, between, rows) => match number(of, inner) {
            Some(bits) => flags(bits.cast_unsigned(), between, rows, out),
            None => out.push(b'?'),
        },
        Expr::Symbolic(inner, rows) => match number(of, inner).map(i64::cast_unsigned) {
            Some(value) => match rows.iter().find(|(number, _)| *number == value || same_word(*number, value)) {
                Some((_, name)) => out.extend_from_slice(name),
                None => hex(value, out),
            },
            None => out.push(b'?'),
        },
        Expr::Hex(field, blanks, length) => {
            let most = length.as_ref().and_then(|l| number(of, l)).and_then(|n| usize::try_from(n).ok());
            dump_field(of, *field, most.unwrap_or(MOST_BYTES), if *blanks { b" " } else { b"" }, out);
        }
        Expr::Array(field, size) => match of.fields.get(*field).and_then(|f| f.bytes(of.abi, of.record)) {
            Some(bytes) => array(of.abi, bytes, *size, out),
            None => out.push(b'?'),
        },
        Expr::Mask(field) => mask(of, *field, out),
        expr => match number(of, expr) {
            Some(number) => decimal(number, out),
            None => out.push(b'?'),
        },
    }
}

/// A number of 32 bits and the same with its sign in 64.
fn same_word(number: u64, value: u64) -> bool {
    number as u32 == value as u32 && (number >> 32 == 0 || value >> 32 == 0) && number.max(value) >> 32 == 0xffff_ffff
}

fn field_text(of: Of<'_>, field: usize, out: &mut Vec<u8>) {
    let Some(shape) = of.fields.get(field) else { return out.push(b'?') };
    match shape.read(of.abi, of.record) {
        Raw::Text(text) => out.extend_from_slice(text),
        Raw::Elements(bytes) => out.extend_from_slice(memchr::memchr(0, bytes).map_or(bytes, |end| &bytes[..end])),
        Raw::Uint(address) => match of.symbols.text(address) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => hex(address, out),
        },
        Raw::Int(number) => decimal(number, out),
        Raw::Missing => out.push(b'?'),
    }
}

fn flags(mut bits: u64, between: &[u8], rows: &[(u64, Box<[u8]>)], out: &mut Vec<u8>) {
    let begun = out.len();
    for (mask, name) in rows {
        // Each bit is named once: what stands first in the table takes it.
        let named = if *mask == 0 { bits == 0 && out.len() == begun } else { bits & mask == *mask };
        if named {
            if out.len() > begun {
                out.extend_from_slice(between);
            }
            out.extend_from_slice(name);
            bits &= !mask;
        }
    }
    if bits != 0 {
        if out.len() > begun {
            out.extend_from_slice(between);
        }
        hex(bits, out);
    }
}

/// Adds a decimal number.
pub(super) fn decimal(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    unsigned(number.unsigned_abs(), out);
}

/// Adds one without a sign.
pub(super) fn unsigned(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds `0x…`.
pub(super) fn hex(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0x");
    radix(number, 16, false, out);
}

/// Adds digits of another base.
pub(super) fn radix(mut number: u64, base: u64, upper: bool, out: &mut Vec<u8>) {
    let letters: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut digits = [0_u8; 22];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = letters[(number % base) as usize];
        number /= base;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds the name of an address, or the address.
pub(super) fn symbol(symbols: &dyn Symbols, address: u64, offset: bool, out: &mut Vec<u8>) {
    match symbols.name(address) {
        Some((name, far)) => {
            out.extend_from_slice(name.as_bytes());
            if offset {
                out.push(b'+');
                hex(far, out);
            }
        }
        None => hex(address, out),
    }
}

/// Adds `{0x1,0x2}`, as the kernel prints arrays.
pub(super) fn array(abi: Abi, bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    let size = size.max(1);
    for at in 0..(bytes.len() / size).min(MOST_BYTES / size) {
        if at > 0 {
            out.push(b',');
        }
        hex(abi.uint(bytes, at * size, size).unwrap_or(0), out);
    }
    out.push(b'}');
}

fn bytes<'a>(of: Of<'a>, expr: &Expr) -> Option<&'a [u8]> {
    let Expr::Field(field) = expr else { return None };
    of.fields.get(*field)?.bytes(of.abi, of.record)
}

/// Adds bytes as two digits each.
pub(super) fn dump(of: Of<'_>, expr: &Expr, most: usize, between: &[u8], out: &mut Vec<u8>) {
    match bytes(of, expr) {
        Some(bytes) => dump_bytes(&bytes[..bytes.len().min(most)], between, out),
        None => out.push(b'?'),
    }
}

fn dump_field(of: Of<'_>, field: usize, most: usize, between: &[u8], out: &mut Vec<u8>) {
    match of.fields.get(field).and_then(|f| f.bytes(of.abi, of.record)) {
        Some(bytes) => dump_bytes(&bytes[..bytes.len().min(most).min(MOST_BYTES)], between, out),
        None => out.push(b'?'),
    }
}

fn dump_bytes(bytes: &[u8], between: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(between);
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

/// Adds an address of the internet; the bytes lie as they travel.
pub(super) fn address(of: Of<'_>, expr: &Expr, six: bool, short: bool, out: &mut Vec<u8>) {
    let words = match bytes(of, expr) {
        Some(bytes) if six => <[u8; 16]>::try_from(bytes.get(..16).unwrap_or(&[])).ok().map(|b| {
            let address = std::net::Ipv6Addr::from(b);
            if short { address.to_string() } else { address.segments().map(|s| format!("{s:04x}")).join(":") }
        }),
        Some(bytes) => {
            <[u8; 4]>::try_from(bytes.get(..4).unwrap_or(&[])).ok().map(|b| std::net::Ipv4Addr::from(b).to_string())
        }
        None => None,
    };
    out.extend_from_slice(words.as_deref().unwrap_or("?").as_bytes());
}

/// Adds a UUID.
pub(super) fn uuid(of: Of<'_>, expr: &Expr, out: &mut Vec<u8>) {
    let Some(bytes) = bytes(of, expr).filter(|b| b.len() >= 16) else { return out.push(b'?') };
    for (at, byte) in bytes[..16].iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

/// Adds a set of CPUs as a list: `0-3,8`.
fn mask(of: Of<'_>, field: usize, out: &mut Vec<u8>) {
    let Some(bytes) = of.fields.get(field).and_then(|f| f.bytes(of.abi, of.record)) else { return out.push(b'?') };
    let long = usize::from(of.abi.long).max(1);
    let words = (0..(bytes.len() / long).min(MOST_BYTES)).map(|at| of.abi.uint(bytes, at * long, long).unwrap_or(0));
    let set: Vec<usize> = words
        .enumerate()
        .flat_map(|(word, bits)| {
            (0..long * 8).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * long * 8 + bit)
        })
        .collect();
    let mut at = 0;
    while at < set.len() {
        let mut last = at;
        while last + 1 < set.len() && set[last + 1] == set[last] + 1 {
            last += 1;
        }
        if at > 0 {
            out.push(b',');
        }
        unsigned(set[at] as u64, out);
        if last > at {
            out.push(b'-');
            unsigned(set[last] as u64, out);
        }
        at = last + 1;
    }
}
