//! Where machine instructions begin: a probe written into the middle of one destroys it.
//!
//! Only lengths are decoded, by the opcode maps of the Intel manual (volume 2, appendix A).

/// Longest x86 instruction, bytes.
const LONGEST: usize = 15;

/// Whether an instruction begins `offset` bytes behind the start of `code`, where one does; `None` when
/// the bytes before it are no instructions that are known.
#[must_use]
pub fn begins_at(code: &[u8], offset: usize) -> Option<bool> {
    let mut at = 0;
    while at < offset {
        at += length(code.get(at..)?)?;
    }
    Some(at == offset)
}

/// Bytes of the instruction at the start of `code`.
#[cfg(target_arch = "x86_64")]
fn length(code: &[u8]) -> Option<usize> {
    x86::length(&code[..code.len().min(LONGEST)])
}

/// Bytes of the instruction at the start of `code`: all have four.
#[cfg(not(target_arch = "x86_64"))]
fn length(code: &[u8]) -> Option<usize> {
    (code.len() >= 4).then_some(4)
}

#[cfg(any(target_arch = "x86_64", test))]
mod x86 {
    /// What follows an opcode.
    #[derive(Clone, Copy, Default)]
    struct Shape {
        /// A byte that names operands, with what it asks for.
        operands: bool,
        /// Bytes of constants.
        constant: usize,
    }

    const fn shape(operands: bool, constant: usize) -> Option<Shape> {
        Some(Shape { operands, constant })
    }

    /// Prefixes of an instruction.
    #[derive(Clone, Copy, Default)]
    struct Prefixes {
        /// Operands of 16 bits (66).
        narrow: bool,
        /// Operands of 64 bits (REX.W).
        wide: bool,
        /// Addresses of 32 bits (67).
        short_address: bool,
    }

    impl Prefixes {
        /// Bytes of a constant that follows the operand size, but has 32 bits at most.
        const fn constant(self) -> usize {
            if self.narrow && !self.wide { 2 } else { 4 }
        }

        const fn wide_constant(self) -> usize {
            if self.wide { 8 } else { self.constant() }
        }
    }

    /// Bytes of the instruction at the start of `code`; `None` for what is none in 64-bit mode.
    pub fn length(code: &[u8]) -> Option<usize> {
        let mut prefixes = Prefixes::default();
        let mut at = 0;
        loop {
            match *code.get(at)? {
                0x66 => prefixes.narrow = true,
                0x67 => prefixes.short_address = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 | 0xf2 | 0xf3 => {}
                _ => break,
            }
            at += 1;
        }
        if let rex @ 0x40..=0x4f = *code.get(at)? {
            prefixes.wide = rex & 8 != 0;
            at += 1;
        }
        let (after, shape) = opcode(code, at, prefixes)?;
        let operands = if shape.operands { operand_bytes(code.get(after..)?)? } else { 0 };
        let end = after + operands + shape.constant;
        (end <= code.len()).then_some(end)
    }

    /// The place behind the opcode, and what follows there.
    fn opcode(code: &[u8], at: usize, prefixes: Prefixes) -> Option<(usize, Shape)> {
        let next = |n: usize| code.get(at + n).copied();
        match next(0)? {
            0x0f => match next(1)? {
                0x38 => Some((at + 3, shape(true, 0)?)),
                0x3a => Some((at + 3, shape(true, 1)?)),
                second => Some((at + 2, two_bytes(second)?)),
            },
            // VEX and EVEX: the map that the opcode is of stands in the prefix.
            0xc5 => Some((at + 3, vector(1, next(2)?)?)),
            0xc4 => Some((at + 4, vector(next(1)? & 0x1f, next(3)?)?)),
            0x62 => Some((at + 5, vector(next(1)? & 7, next(4)?)?)),
            first => {
                let reg = next(1).map_or(0, |operands| operands >> 3 & 7);
                Some((at + 1, one_byte(first, reg, prefixes)?))
            }
        }
    }

    fn vector(map: u8, opcode: u8) -> Option<Shape> {
        match (map, opcode) {
            (1, 0x77) => shape(false, 0),
            (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => shape(true, 1),
            (1 | 2 | 5 | 6, _) => shape(true, 0),
            _ => None,
        }
    }

    fn one_byte(opcode: u8, reg: u8, prefixes: Prefixes) -> Option<Shape> {
        let z = prefixes.constant();
        match opcode {
            0x00..=0x3f => match opcode & 7 {
                0..=3 => shape(true, 0),
                4 => shape(false, 1),
                5 => shape(false, z),
                _ => None,
            },
            0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => shape(true, 0),
            0x69 | 0x81 | 0xc7 => shape(true, z),
            0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => shape(true, 1),
            // `test` alone has a constant among these.
            0xf6 => shape(true, usize::from(reg < 2)),
            0xf7 => shape(true, if reg < 2 { z } else { 0 }),
            0x68 | 0xa9 => shape(false, z),
            0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => shape(false, 1),
            0xe8 | 0xe9 => shape(false, 4),
            0xa0..=0xa3 => shape(false, if prefixes.short_address { 4 } else { 8 }),
            0xb8..=0xbf => shape(false, prefixes.wide_constant()),
            0xc2 | 0xca => shape(false, 2),
            0xc8 => shape(false, 3),
            0x60..=0x62 | 0x82 | 0x9a | 0xc4 | 0xc5 | 0xce | 0xd4..=0xd6 | 0xea => None,
            _ => shape(false, 0),
        }
    }

    fn two_bytes(opcode: u8) -> Option<Shape> {
        match opcode {
            0x05..=0x09 | 0x0b | 0x0e | 0x30..=0x35 | 0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => {
                shape(false, 0)
            }
            0x80..=0x8f => shape(false, 4),
            0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => shape(true, 1),
            0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x36 | 0x39 | 0x3b..=0x3f => None,
            _ => shape(true, 0),
        }
    }

    /// Bytes of the operands' own byte, of the one for scaled addresses and of the displacement.
    fn operand_bytes(code: &[u8]) -> Option<usize> {
        let first = *code.first()?;
        let (mode, place) = (first >> 6, first & 7);
        if mode == 3 {
            return Some(1);
        }
        let scaled = place == 4;
        let base = if scaled { *code.get(1)? & 7 } else { place };
        let displacement = match mode {
            0 if base == 5 => 4,
            0 => 0,
            1 => 1,
            _ => 4,
        };
        Some(1 + usize::from(scaled) + displacement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_instructions() {
        let known: &[&[u8]] = &[
            &[0x55],
            &[0x48, 0x89, 0xe5],
            &[0x48, 0x83, 0xec, 0x20],
            &[0x48, 0x81, 0xec, 0, 1, 0, 0],
            &[0x89, 0x7d, 0xec],
            &[0xf3, 0x0f, 0x1e, 0xfa],
            &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x66, 0xb8, 1, 2],
            &[0x48, 0x8d, 0x05, 1, 2, 3, 4],
            &[0x8b, 0x04, 0x8d, 1, 2, 3, 4],
            &[0x8b, 0x44, 0x24, 0x10],
            &[0xe8, 1, 2, 3, 4],
            &[0x0f, 0x84, 1, 2, 3, 4],
            &[0x74, 0x10],
            &[0xf6, 0x45, 0xf0, 1],
            &[0xf7, 0xd8],
            &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
            &[0xc5, 0xf8, 0x77],
            &[0xc5, 0xf9, 0x6f, 0x06],
            &[0xc4, 0xe2, 0x7d, 0x58, 0x07],
            &[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1],
            &[0x62, 0xf1, 0x7c, 0x48, 0x10, 0x47, 0x01],
            &[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8],
            &[0xc2, 8, 0],
            &[0xc3],
        ];
        for code in known {
            assert_eq!(x86::length(code), Some(code.len()), "{code:x?}");
            assert_eq!(x86::length(&code[..code.len() - 1]), None, "{code:x?} cut short");
        }
        assert_eq!(x86::length(&[0x06]), None);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn beginnings() {
        let code = [0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xec, 0x06];
        let found: Vec<_> = (0..9).map(|n| begins_at(&code, n)).collect();
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(found, [yes, yes, no, no, yes, no, no, yes, None]);
    }
}
