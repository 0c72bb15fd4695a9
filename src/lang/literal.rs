//! Texts between quotes: what their escapes mean. Both languages and formats read them by this.

use std::ops::Range;

use crate::model::bytes::hold;

/// One thing wrong inside a string literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrError {
    /// An escape that means nothing; bytes of the literal.
    UnknownEscape(Range<usize>),
    /// An octal escape of more than a byte holds; bytes of the literal.
    EscapeTooLarge(Range<usize>),
}

/// The value of a string literal, quotes included in `text` (the closing one may be missing).
/// Bytes that are no UTF-8 are held as [`crate::model::bytes`] says. `map`, when given, receives for
/// every byte of the value its offset in `text`.
pub fn decode_str(text: &str, mut map: Option<&mut Vec<usize>>) -> (String, Vec<StrError>) {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let first = text.len() - inner.len();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut errors = Vec::new();
    let mut put = |bytes: &mut Vec<u8>, value: &[u8], at: usize| {
        bytes.extend_from_slice(value);
        if let Some(map) = map.as_deref_mut() {
            map.extend(std::iter::repeat_n(first + at, value.len()));
        }
    };
    let raw = inner.as_bytes();
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        match byte {
            b'"' => break,
            b'\\' => {
                let (value, used) = escape(raw.get(at + 1..).unwrap_or(&[]));
                let Some(value) = value else {
                    if used > 1 && raw.get(at + 1) != Some(&b'x') {
                        errors.push(StrError::EscapeTooLarge(first + at..first + at + 1 + used));
                        put(&mut bytes, &[0], at);
                        at += 1 + used;
                        continue;
                    }
                    let width = inner.get(at + 1..).and_then(|s| s.chars().next()).map_or(0, char::len_utf8);
                    errors.push(StrError::UnknownEscape(first + at..first + at + 1 + width));
                    put(&mut bytes, raw.get(at + 1..=at + width).unwrap_or(&[]), at);
                    at += 1 + width;
                    continue;
                };
                put(&mut bytes, &[value], at);
                at += 1 + used;
            }
            other => {
                put(&mut bytes, &[*other], at);
                at += 1;
            }
        }
    }
    // Each byte's place stands once for every byte of the text that holds it.
    let places = map.as_deref_mut().map(std::mem::take).unwrap_or_default();
    let mut from = places.into_iter();
    let mut spread = |share: usize| {
        if let (Some(map), Some(at)) = (map.as_deref_mut(), from.next()) {
            map.extend(std::iter::repeat_n(at, share));
        }
    };
    let value = hold(&bytes, Some(&mut spread));
    (value, errors)
}

/// The byte an escape gives and how many bytes after the backslash it takes.
fn escape(after: &[u8]) -> (Option<u8>, usize) {
    match after.first() {
        Some(b'n') => (Some(b'\n'), 1),
        Some(b't') => (Some(b'\t'), 1),
        Some(b'r') => (Some(b'\r'), 1),
        Some(b'\\') => (Some(b'\\'), 1),
        Some(b'"') => (Some(b'"'), 1),
        Some(b'x') => {
            let used = after.iter().skip(1).take(2).take_while(|b| b.is_ascii_hexdigit()).count();
            (number(after.get(1..=used), 16), 1 + used)
        }
        Some(b'0'..=b'7') => {
            let used = after.iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            (number(after.get(..used), 8), used)
        }
        _ => (None, 0),
    }
}

fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    u8::from_str_radix(digits, radix).ok()
}
