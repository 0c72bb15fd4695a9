//! Texts that are stored once and named by number.

use std::hash::BuildHasher;

use super::varint::{self, Reader};

/// Texts by number.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Strings {
    /// A text.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        let end = *self.ends.get(number as usize)? as usize;
        let start = match number.checked_sub(1) {
            Some(before) => self.ends[before as usize] as usize,
            None => 0,
        };
        self.bytes.get(start..end)
    }

    /// Memory that they take, bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Appends all of them.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.ends.len() as u64);
        let mut start = 0;
        for end in &self.ends {
            varint::put(out, u64::from(end - start));
            start = *end;
        }
        out.extend_from_slice(&self.bytes);
    }

    /// Reads what was written.
    pub fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let count = reader.count(1)?;
        let mut ends = Vec::with_capacity(count);
        let mut end = 0_u32;
        for _ in 0..count {
            end = end.checked_add(reader.small()?)?;
            ends.push(end);
        }
        Some(Self { bytes: reader.bytes(end as usize)?.to_vec(), ends })
    }
}

/// Finds the number of a text, or gives it the next one.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Strings,
    /// Upper half of the hash, and the number plus one; 0 for a free place.
    slots: Vec<(u32, u32)>,
    hasher: foldhash::fast::RandomState,
}

const FIRST_SLOTS: usize = 64;

impl Interner {
    /// The number of a text.
    pub fn number(&mut self, text: &[u8]) -> u32 {
        if (self.strings.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let hash = self.hasher.hash_one(text);
        let mask = self.slots.len() - 1;
        let high = (hash >> 32) as u32;
        let mut at = hash as usize & mask;
        loop {
            let (of, number) = self.slots[at];
            if number == 0 {
                break;
            }
            if of == high && self.strings.get(number - 1) == Some(text) {
                return number - 1;
            }
            at = (at + 1) & mask;
        }
        self.strings.bytes.extend_from_slice(text);
        self.strings.ends.push(self.strings.bytes.len() as u32);
        let number = self.strings.ends.len() as u32;
        self.slots[at] = (high, number);
        number - 1
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.strings.bytes.len()
    }

    /// All texts; what comes next begins anew.
    pub fn take(&mut self) -> Strings {
        self.slots.fill((0, 0));
        let mut strings = std::mem::take(&mut self.strings);
        strings.bytes.shrink_to_fit();
        strings.ends.shrink_to_fit();
        strings
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SLOTS);
        self.slots.clear();
        self.slots.resize(size, (0, 0));
        for number in 0..self.strings.ends.len() as u32 {
            let Some(text) = self.strings.get(number) else { continue };
            let hash = self.hasher.hash_one(text);
            let mut at = hash as usize & (size - 1);
            while self.slots[at].1 != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = ((hash >> 32) as u32, number + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_stored_once() {
        let mut interner = Interner::default();
        let texts: Vec<String> = (0..1000).map(|n| format!("text {}", n % 500)).collect();
        let numbers: Vec<u32> = texts.iter().map(|t| interner.number(t.as_bytes())).collect();
        assert_eq!(numbers[..500], numbers[500..]);
        assert_eq!((interner.number(b""), interner.number(b"text 7")), (500, 7));
        let strings = interner.take();
        assert!(texts.iter().zip(numbers).all(|(t, n)| strings.get(n) == Some(t.as_bytes())));
        assert_eq!((strings.get(500), strings.get(501)), (Some(&b""[..]), None));
        assert_eq!(interner.number(b"text 7"), 0, "a new chunk begins anew");
        let mut out = Vec::new();
        strings.write(&mut out);
        let read = Strings::read(&mut Reader::new(&out)).unwrap();
        assert_eq!((&read.bytes, &read.ends), (&strings.bytes, &strings.ends));
    }
}
