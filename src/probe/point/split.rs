//! An attach point into its parts.

use std::ops::Range;

use super::PointError;

/// A part between colons, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Text, quotes and their backslashes taken away.
    pub text: String,
    /// Where it stood.
    pub range: Range<usize>,
}

/// Splits at colons outside double quotes.
pub(super) fn split(text: &str) -> Result<Vec<Part>, PointError> {
    let mut parts = Vec::new();
    let mut current = String::new();
    let mut start = 0;
    let mut quote = None;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' if quote.is_some() => quote = None,
            '"' => quote = Some(at),
            '\\' if quote.is_some() => current.extend(characters.next().map(|(_, c)| c)),
            ':' if quote.is_none() => {
                parts.push(Part { text: trimmed(&mut current), range: start..at });
                start = at + 1;
            }
            _ => current.push(c),
        }
    }
    if let Some(at) = quote {
        let message = "this quote is never closed".to_owned();
        return Err(PointError { message, hint: Some("add a `\"`".into()), range: at..text.len() });
    }
    parts.push(Part { text: trimmed(&mut current), range: start..text.len() });
    Ok(parts)
}

fn trimmed(text: &mut String) -> String {
    std::mem::take(text).trim().to_owned()
}
