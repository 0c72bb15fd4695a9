//! Numbers in as few bytes as they need: how many is told by the zeros at the low end of the first one.

/// Appends a number: 7 bits a byte up to 8 bytes, and 9 bytes for more than 56 bits.
pub fn put(out: &mut Vec<u8>, value: u64) {
    let bits = 64 - (value | 1).leading_zeros();
    if bits > 56 {
        out.push(0);
        out.extend_from_slice(&value.to_le_bytes());
        return;
    }
    let length = bits.div_ceil(7);
    let word = (value << length) | (1 << (length - 1));
    let end = out.len() + length as usize;
    // A copy of fixed size, then cut: several times as fast as one of a size that is known only now.
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

/// Appends a signed number: small ones of either sign are short.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, zigzag(value));
}

/// A signed number as an unsigned one that is small when it is near zero.
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The other way.
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads what was put; nothing is read beyond the end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes that are left.
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let length = self.rest.first()?.trailing_zeros() as usize + 1;
        if length > 8 {
            let (word, rest) = self.rest[1..].split_first_chunk::<8>()?;
            self.rest = rest;
            return Some(u64::from_le_bytes(*word));
        }
        let word = if let Some(word) = self.rest.first_chunk::<8>() {
            *word
        } else {
            let mut word = [0; 8];
            word[..length].copy_from_slice(self.rest.get(..length)?);
            word
        };
        self.rest = &self.rest[length..];
        let word = u64::from_le_bytes(word) & (u64::MAX >> (64 - 8 * length));
        Some(word.unbounded_shr(length as u32))
    }

    /// A signed number.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// A number that fits into 32 bits.
    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// A number of things that follow, each of at least so many bytes.
    pub fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(each)? <= self.rest.len()).then_some(count)
    }

    /// Passes over a number.
    pub fn skip(&mut self) -> Option<()> {
        let length = self.rest.first()?.trailing_zeros() as usize + 1;
        self.rest = self.rest.get(length..)?;
        Some(())
    }

    /// A byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Bytes with their length in front.
    pub fn block(&mut self) -> Option<&'a [u8]> {
        let count = self.count(1)?;
        self.bytes(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u64>, shift in 0_u32..64, signed: i64) {
            let mut out = Vec::new();
            for value in &values {
                put(&mut out, *value >> shift);
            }
            put_signed(&mut out, signed >> shift);
            let (mut reader, mut skipper) = (Reader::new(&out), Reader::new(&out));
            for value in &values {
                prop_assert_eq!(reader.number(), Some(*value >> shift));
                prop_assert_eq!(skipper.skip(), Some(()));
                prop_assert_eq!(skipper.left(), reader.left());
            }
            prop_assert_eq!(reader.signed(), Some(signed >> shift));
            prop_assert_eq!((reader.number(), reader.left()), (None, 0));
        }

        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.number().is_some() {}
        }
    }
}
