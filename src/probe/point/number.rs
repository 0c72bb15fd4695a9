//! Numbers in attach points.

/// A whole number: decimal with `_` and `e` notation, `0x` hexadecimal, leading-zero octal.
#[must_use]
pub fn integer(text: &str) -> Option<u64> {
    let text: String = text.trim().chars().filter(|c| *c != '_').collect();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    if let Some((mantissa, exponent)) = text.split_once(['e', 'E']) {
        let (mantissa, exponent) = (mantissa.parse::<u64>().ok()?, exponent.parse::<u32>().ok()?);
        return mantissa.checked_mul(10_u64.checked_pow(exponent)?);
    }
    if text.len() > 1 && text.starts_with('0') {
        return u64::from_str_radix(&text, 8).ok();
    }
    text.chars().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number, or a duration as the number of its nanoseconds: `1s` is 1000000000.
#[must_use]
pub fn integer_or_duration(text: &str) -> Option<u64> {
    integer(text).or_else(|| duration_ns(text))
}

/// A duration such as `10ms`, in nanoseconds; a bare number is nanoseconds.
#[must_use]
pub fn duration_ns(text: &str) -> Option<u64> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1));
    integer(number)?.checked_mul(size)
}
