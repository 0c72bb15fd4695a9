//! The values of integer and string literals.

use std::ops::Range;

use crate::model::bytes::hold;

/// Why an integer literal has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntError {
    /// Does not fit 64 bits.
    TooLarge,
    /// Letters that are neither digits nor a known suffix.
    Malformed,
}

/// Units of durations and their nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// C's suffixes, which mean nothing here.
const SUFFIXES: &[&str] = &["u", "l", "ul", "lu", "ll", "ull", "llu"];

/// The value of an integer literal: decimal, `0` octal, `0x`, `1e6`, `1_000`, C suffixes ignored,
/// durations in ns.
///
/// # Errors
/// [`IntError`] when it is none of these or too large.
pub fn decode_int(text: &str) -> Result<u64, IntError> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        let digits = hex.trim_end_matches(['u', 'l']);
        check_suffix(hex.get(digits.len()..).unwrap_or(""))?;
        return parse_digits(digits, 16);
    }
    let split = lower.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(lower.len());
    let (digits, rest) = lower.split_at(split);
    if let Some((_, unit)) = UNITS.iter().find(|(name, _)| *name == rest) {
        return parse_digits(digits, 10)?.checked_mul(*unit).ok_or(IntError::TooLarge);
    }
    if let Some(exponent) = rest.strip_prefix('e') {
        return scientific(digits, exponent);
    }
    check_suffix(rest)?;
    let octal = digits.len() > 1 && digits.starts_with('0');
    parse_digits(digits, if octal { 8 } else { 10 })
}

fn scientific(digits: &str, exponent: &str) -> Result<u64, IntError> {
    let mantissa = parse_digits(digits, 10)?;
    let exponent = u32::try_from(parse_digits(exponent, 10)?).map_err(|_| IntError::TooLarge)?;
    if mantissa == 0 {
        return Ok(0);
    }
    10_u64.checked_pow(exponent).and_then(|p| mantissa.checked_mul(p)).ok_or(IntError::TooLarge)
}

fn check_suffix(suffix: &str) -> Result<(), IntError> {
    if suffix.is_empty() || SUFFIXES.contains(&suffix) { Ok(()) } else { Err(IntError::Malformed) }
}

fn parse_digits(digits: &str, radix: u32) -> Result<u64, IntError> {
    let mut value = 0_u64;
    let mut any = false;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = c.to_digit(radix).ok_or(IntError::Malformed)?;
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|v| v.checked_add(u64::from(digit)))
            .ok_or(IntError::TooLarge)?;
        any = true;
    }
    if any { Ok(value) } else { Err(IntError::Malformed) }
}

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
