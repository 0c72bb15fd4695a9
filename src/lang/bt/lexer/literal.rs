//! The values of integer and string literals.

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
