//! Numbers, strings and character constants.

use super::{Kind, Lexer, span};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::Literal;
use crate::model::bytes::bytes_of;

/// Reads an integer with its suffixes; `None` when it is malformed or does not fit 64 bits.
pub fn integer(text: &str) -> Option<Literal> {
    let body = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = text.get(body.len()..)?.to_ascii_lowercase();
    if !matches!(suffix.as_str(), "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu") {
        return None;
    }
    let (digits, radix) = match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if body.len() > 1 && body.starts_with('0') => (body, 8),
        None => (body, 10),
    };
    let value = u64::from_str_radix(digits, radix).ok()?;
    Some(Literal { value, unsigned: suffix.contains('u'), long: suffix.contains('l'), decimal: radix == 10 })
}

impl Lexer<'_> {
    pub fn number(&mut self) -> Kind {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let is_hex = matches!(bytes.get(self.at + 1), Some(b'x' | b'X'));
        while self.byte().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        let fraction = self.byte() == Some(b'.') && bytes.get(self.at + 1) != Some(&b'.');
        let text = self.text.get(start..self.at).unwrap_or("");
        let exponent = !is_hex && text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['e', 'E']);
        if fraction || exponent {
            while self.byte().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.') {
                self.at += 1;
            }
            self.error(tags::D_SYNTAX, span(start, self.at), "floating-point constants are not permitted");
            return Kind::Int(Literal { value: 0, unsigned: false, long: false, decimal: true });
        }
        let whole = span(start, self.at);
        let literal = integer(text).unwrap_or_else(|| {
            let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
            let radix = if is_hex { 16 } else { 10 };
            let body = if is_hex { digits.get(2..).unwrap_or("") } else { digits };
            if !is_hex && text.starts_with('0') && body.bytes().any(|b| matches!(b, b'8' | b'9')) {
                let message = format!("constant `{text}` contains invalid digit in octal");
                self.error(tags::D_INT_DIGIT, whole, message);
            } else if !body.is_empty() && body.chars().all(|c| c.is_digit(radix)) {
                self.error(
                    tags::D_INT_OFLOW,
                    whole,
                    format!("integer constant `{text}` cannot be represented in 64 bits"),
                );
            } else {
                self.error(tags::D_SYNTAX, whole, format!("syntax error near \"{text}\""));
            }
            Literal { value: 0, unsigned: false, long: false, decimal: true }
        });
        Kind::Int(literal)
    }

    /// One character of a literal, an escape resolved. What is none stays as it is written, as the reference has it.
    fn unescaped(&mut self, bytes: &mut Vec<u8>) {
        let byte = self.byte().unwrap_or(0);
        self.at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            return;
        }
        let start = self.at - 1;
        let escape = self.byte().unwrap_or(b'\\');
        self.at += 1;
        let value = match escape {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.byte() else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                self.one_byte(start, value)
            }
            b'x' => {
                let mut value = 0_u32;
                while let Some(digit) = self.byte().and_then(|b| char::from(b).to_digit(16)) {
                    value = value.saturating_mul(16).saturating_add(digit);
                    self.at += 1;
                }
                self.one_byte(start, value)
            }
            b'"' | b'\\' => escape,
            other => {
                bytes.push(b'\\');
                other
            }
        };
        bytes.push(value);
    }

    /// The byte that the escape from `start` on gives. A number that no byte holds is refused: the reference cuts it.
    fn one_byte(&mut self, start: usize, value: u32) -> u8 {
        u8::try_from(value).unwrap_or_else(|_| {
            let text = self.text.get(start..self.at).unwrap_or("");
            let message = format!("escape sequence `{text}` is out of range: a character has 8 bits");
            self.error(tags::D_SYNTAX, span(start, self.at), message);
            0
        })
    }

    /// Bytes up to the closing quote; `None` when the line or the text ends before it.
    fn quoted(&mut self, quote: u8) -> Option<Vec<u8>> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.byte() {
                None | Some(b'\n') => return None,
                Some(b) if b == quote => {
                    self.at += 1;
                    return Some(bytes);
                }
                Some(b'\\') if matches!(self.text.as_bytes().get(self.at + 1), None | Some(b'\n')) => {
                    self.at += 1;
                    return None;
                }
                Some(0x80..) => {
                    // A character, or a byte that is not UTF-8 and held as one.
                    let c = self.text.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
                    bytes.extend_from_slice(&bytes_of(c.encode_utf8(&mut [0; 4])));
                    self.at += c.len_utf8();
                }
                Some(_) => self.unescaped(&mut bytes),
            }
        }
    }

    pub fn string(&mut self) -> Kind {
        let start = self.at;
        let text = self.quoted(b'"');
        if text.is_none() {
            let at = span(start, self.at);
            if self.byte().is_none() {
                self.error(tags::D_SYNTAX, at, "syntax error near \"\"\": the string is not closed");
            } else {
                self.error(tags::D_STR_NL, at, "newline encountered in string literal");
            }
        }
        Kind::Str(text.unwrap_or_default().into())
    }

    pub fn character(&mut self) -> Kind {
        let start = self.at;
        let text = self.quoted(b'\'');
        let at = span(start, self.at);
        let mut value = 0_u64;
        match &text {
            None if self.byte().is_none() => self.error(tags::D_SYNTAX, at, "the character constant is not closed"),
            None => self.error(tags::D_CHR_NL, at, "newline encountered in character constant"),
            Some(bytes) if bytes.is_empty() => {
                self.error(tags::D_CHR_NULL, at, "empty character constant");
            }
            Some(bytes) if bytes.len() > 8 => {
                self.error(tags::D_CHR_OFLOW, at, "character constant is too long: eight characters fit an integer");
            }
            Some(bytes) if bytes.len() == 1 => value = i64::from(bytes[0] as i8) as u64,
            Some(bytes) => bytes.iter().for_each(|b| value = value << 8 | u64::from(*b)),
        }
        Kind::Int(Literal { value, unsigned: false, long: false, decimal: true })
    }
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn integers_have_their_radix_and_suffixes() {
        let value = |text: &str| integer(text).map(|l| (l.value, l.unsigned, l.long));
        assert_eq!(value("42"), Some((42, false, false)));
        assert_eq!(value("0x2aULL"), Some((42, true, true)));
        assert_eq!(value("052l"), Some((42, false, true)));
        assert_eq!(value("18446744073709551615"), Some((u64::MAX, false, false)));
        assert_eq!(value("18446744073709551616"), None);
        assert_eq!(value("09"), None);
        assert_eq!(value("0x"), None);
    }
}
