//! Fields as C++ streams pad them, which is what bpftrace's `printf` is made of.
//!
//! The width belongs to the next token only and is then used up: `%10s` of a tuple pads its opening
//! parenthesis. Zeros fill on the side where spaces would be, before a minus sign and after a
//! left-justified number alike.

/// Radix of an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Radix {
    Decimal,
    Hex { upper: bool },
    Octal,
}

/// How the next token is padded.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub width: usize,
    pub left: bool,
    pub fill: u8,
    pub plus: bool,
    pub base: bool,
}

impl Field {
    /// No padding at all.
    pub const fn plain() -> Self {
        Self { width: 0, left: false, fill: b' ', plus: false, base: false }
    }

    /// Writes a token and uses up the width.
    pub fn token(&mut self, out: &mut Vec<u8>, text: &[u8]) {
        let pad = std::mem::take(&mut self.width).saturating_sub(text.len());
        if pad == 0 {
            out.extend_from_slice(text);
        } else if self.left {
            out.extend_from_slice(text);
            out.resize(out.len() + pad, self.fill);
        } else {
            out.resize(out.len() + pad, self.fill);
            out.extend_from_slice(text);
        }
    }

    pub fn unsigned(&mut self, out: &mut Vec<u8>, value: u64, radix: Radix) {
        let mut buffer = [0; 26];
        let mut at = digits(&mut buffer, value, radix);
        if self.base && value != 0 {
            let prefix: &[u8] = match radix {
                Radix::Decimal => b"",
                Radix::Hex { upper: false } => b"0x",
                Radix::Hex { upper: true } => b"0X",
                Radix::Octal => b"0",
            };
            at -= prefix.len();
            buffer[at..at + prefix.len()].copy_from_slice(prefix);
        }
        self.token(out, &buffer[at..]);
    }

    pub fn signed(&mut self, out: &mut Vec<u8>, value: i64) {
        let mut buffer = [0; 26];
        let mut at = digits(&mut buffer, value.unsigned_abs(), Radix::Decimal);
        if value < 0 || self.plus {
            at -= 1;
            buffer[at] = if value < 0 { b'-' } else { b'+' };
        }
        self.token(out, &buffer[at..]);
    }

    /// An address: `0x` and hexadecimal digits; `0` alone for null.
    pub fn pointer(&mut self, out: &mut Vec<u8>, value: u64) {
        let base = std::mem::replace(&mut self.base, true);
        self.unsigned(out, value, Radix::Hex { upper: false });
        self.base = base;
    }
}

/// Writes digits at the end of the buffer and returns where they start.
fn digits(buffer: &mut [u8; 26], mut value: u64, radix: Radix) -> usize {
    let mut at = buffer.len();
    loop {
        let digit = match radix {
            Radix::Decimal => {
                let d = (value % 10) as u8;
                value /= 10;
                d
            }
            Radix::Hex { .. } => {
                let d = (value & 15) as u8;
                value >>= 4;
                d
            }
            Radix::Octal => {
                let d = (value & 7) as u8;
                value >>= 3;
                d
            }
        };
        at -= 1;
        buffer[at] = match (digit, radix) {
            (0..=9, _) => b'0' + digit,
            (_, Radix::Hex { upper: true }) => b'A' + digit - 10,
            _ => b'a' + digit - 10,
        };
        if value == 0 {
            return at;
        }
    }
}
