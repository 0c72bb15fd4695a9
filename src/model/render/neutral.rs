//! Text from traced programs made safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every control character but newline and tab written out (`\x1b`, `\u{9b}`), so that
/// no traced string can move the cursor, change colours or type for the user. Text without any is
/// returned as it is.
///
/// Covers the C0 and C1 controls, DEL, and the invisible characters that reorder what is around
/// them (Unicode's bidirectional overrides and isolates).
#[must_use]
pub fn neutralise(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(_, c)| is_harmful(*c)).map(|(i, _)| i) else {
        return Cow::Borrowed(text);
    };
    let mut safe = String::with_capacity(text.len() + 16);
    let (clean, rest) = text.split_at(first);
    safe.push_str(clean);
    // Writing to a string can't fail.
    for c in rest.chars() {
        if !is_harmful(c) {
            safe.push(c);
        } else if (c as u32) < 0x80 {
            let _ = write!(safe, "\\x{:02x}", c as u32);
        } else {
            let _ = write!(safe, "\\u{{{:x}}}", c as u32);
        }
    }
    Cow::Owned(safe)
}

/// The same for bytes; what is not UTF-8 is written out as `\xNN`.
#[must_use]
pub fn neutralise_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return neutralise(text);
    }
    let mut safe = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        safe.push_str(&neutralise(chunk.valid()));
        for b in chunk.invalid() {
            let _ = write!(safe, "\\x{b:02x}");
        }
    }
    Cow::Owned(safe)
}

/// Text that tells all bytes apart: those that are not UTF-8, and characters that `escaped` chooses, are written out as
/// `\xNN` each. A text with any of them, or with `\x` of its own, has each backslash doubled; any other is as it was.
#[must_use]
pub fn exact(bytes: &[u8], escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains("\\x")
        && !text.contains(&escaped)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    let hex = |bytes: &[u8], out: &mut String| bytes.iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if escaped(c) => hex(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                c => out.push(c),
            }
        }
        hex(chunk.invalid(), &mut out);
    }
    Cow::Owned(out)
}

/// Whether a terminal obeys a character, or it reorders its neighbours.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// Bytes at the end of a text that begin a character whose others may still come: 3 at most.
#[must_use]
pub fn undecided(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let begins =
        |at: &usize| std::str::from_utf8(&tail[*at..]).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none());
    (0..tail.len()).find(begins).map_or(0, |at| tail.len() - at)
}
