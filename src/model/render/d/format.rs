//! `printf` of D programs.

use std::io::Write as _;

use crate::model::bytes::bytes_of;
use crate::model::d::{Conversion, Count, Format, Piece, Style};
use crate::model::value::Value;

/// Writes a format with its values, which stand in order; those of `*` come before their conversion's.
pub fn printf(style: Style, format: &Format, values: &[Value], out: &mut Vec<u8>) {
    let mut values = values.iter();
    for piece in &format.pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(&bytes_of(text)),
            Piece::Conversion(conversion) => {
                let mut count = |c: Option<Count>| match c? {
                    Count::Fixed(n) => Some(i64::from(n)),
                    Count::Value => values.next().and_then(Value::as_number).map(|n| n as i64),
                };
                let (width, precision) = (count(conversion.width), count(conversion.precision));
                let value = values.next().unwrap_or(&Value::None);
                convert(style, conversion, (width, precision), value, out);
            }
        }
    }
}

/// One value by its conversion.
pub fn convert(
    style: Style,
    c: &Conversion,
    (width, precision): (Option<i64>, Option<i64>),
    value: &Value,
    out: &mut Vec<u8>,
) {
    if let Value::Stack(stack) = value {
        super::stack(style.stack_indent, stack, out);
        return;
    }
    let left = c.left || width.is_some_and(|w| w < 0);
    let width = width.map_or(0, |w| usize::try_from(w.unsigned_abs().min(10_000)).unwrap_or(0));
    let digits = precision.filter(|p| *p >= 0).map(|p| usize::try_from(p.min(10_000)).unwrap_or(0));
    let mut body: Vec<u8> = Vec::new();
    let mut sign: &[u8] = b"";
    let mut numeric = true;
    match c.kind {
        // Without a length it is the value's own type that decides.
        'd' | 'i' if c.length.is_empty() && matches!(value, Value::Uint(..)) => {
            let _ = write!(body, "{}", unsigned(value));
        }
        'd' | 'i' => {
            let number = signed(value);
            sign = if number < 0 {
                b"-"
            } else if c.plus {
                b"+"
            } else if c.space {
                b" "
            } else {
                b""
            };
            let _ = write!(body, "{}", number.unsigned_abs());
        }
        'u' => {
            let _ = write!(body, "{}", unsigned(value));
        }
        'o' => {
            let _ = write!(body, "{}{:o}", if c.alternate && unsigned(value) != 0 { "0" } else { "" }, unsigned(value));
        }
        'x' | 'X' => {
            let number = unsigned(value);
            if c.kind == 'x' {
                let _ = write!(body, "{number:x}");
            } else {
                let _ = write!(body, "{number:X}");
            }
            if c.alternate && number != 0 {
                sign = if c.kind == 'x' { b"0x" } else { b"0X" };
            }
        }
        'p' => {
            let _ = write!(body, "{:x}", unsigned(value));
            sign = if c.alternate { b"0x" } else { b"" };
        }
        'e' | 'E' | 'f' | 'g' | 'G' => {
            let number = floating(value);
            sign = if number.is_sign_negative() {
                b"-"
            } else if c.plus {
                b"+"
            } else {
                b""
            };
            body = floating_text(number.abs(), c.kind, digits.unwrap_or(6), c.alternate).into_bytes();
        }
        'c' => {
            numeric = false;
            body.push(unsigned(value) as u8);
        }
        'C' => {
            numeric = false;
            escaped(&[unsigned(value) as u8], &mut body);
        }
        'S' => {
            numeric = false;
            escaped(&text(value), &mut body);
        }
        _ => {
            numeric = false;
            body = text(value);
        }
    }
    let of_floating = matches!(c.kind, 'e' | 'E' | 'f' | 'g' | 'G');
    if numeric {
        if let Some(least) = digits
            && !of_floating
            && body.len() < least
        {
            body.splice(0..0, std::iter::repeat_n(b'0', least - body.len()));
        }
    } else if let Some(most) = digits.filter(|most| *most > 0) {
        body.truncate(most);
    }
    let len = sign.len() + body.len();
    let missing = width.saturating_sub(len);
    if left {
        out.extend_from_slice(sign);
        out.extend_from_slice(&body);
        out.extend(std::iter::repeat_n(b' ', missing));
    } else if c.zero && numeric && digits.is_none() {
        out.extend_from_slice(sign);
        out.extend(std::iter::repeat_n(b'0', missing));
        out.extend_from_slice(&body);
    } else {
        out.extend(std::iter::repeat_n(b' ', missing));
        out.extend_from_slice(sign);
        out.extend_from_slice(&body);
    }
}

/// A number with a point, by the size of its bits.
fn floating(value: &Value) -> f64 {
    match value {
        Value::Uint(bits, 4) => f64::from(f32::from_bits(*bits as u32)),
        other => f64::from_bits(unsigned(other)),
    }
}

/// A number with a point as C prints it.
fn floating_text(number: f64, kind: char, precision: usize, alternate: bool) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "nan".to_owned() } else { "inf".to_owned() };
    }
    let scientific = |precision: usize| {
        let text = format!("{number:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (digits, exponent) = (digits.to_owned(), exponent.parse::<i32>().unwrap_or(0));
        (digits, exponent)
    };
    let with_exponent = |(digits, exponent): (String, i32)| {
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
    };
    let text = match kind {
        'f' => format!("{number:.precision$}"),
        'e' | 'E' => with_exponent(scientific(precision)),
        _ => {
            let significant = precision.max(1);
            let (digits, exponent) = scientific(significant - 1);
            let short = |text: String| {
                if alternate || !text.contains('.') {
                    return text;
                }
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            };
            if exponent < -4 || exponent >= significant as i32 {
                with_exponent((short(digits), exponent))
            } else {
                let precision = (significant as i32 - 1 - exponent).max(0) as usize;
                short(format!("{number:.precision$}"))
            }
        }
    };
    if kind.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// A number as the width of its type has it.
pub fn signed(value: &Value) -> i64 {
    match value {
        Value::Uint(n, size) => {
            let spare = 64 - u32::from((*size).clamp(1, 8)) * 8;
            (*n << spare) as i64 >> spare
        }
        other => other.as_number().map_or(0, |n| n as i64),
    }
}

fn unsigned(value: &Value) -> u64 {
    match value {
        Value::Int(n, size) => {
            let spare = 64 - u32::from((*size).clamp(1, 8)) * 8;
            (*n as u64) << spare >> spare
        }
        other => other.as_number().map_or(0, |n| n as u64),
    }
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::Str(text) | Value::Bytes(text) => text.to_vec(),
        Value::Text(text, _) => text.as_bytes().to_vec(),
        other => {
            let mut out = Vec::new();
            crate::model::render::value_into(other, &mut out);
            out
        }
    }
}

/// Text with what does not print written out as C has it.
fn escaped(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            7 => out.extend_from_slice(b"\\a"),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            11 => out.extend_from_slice(b"\\v"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' => out.push(byte),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}
