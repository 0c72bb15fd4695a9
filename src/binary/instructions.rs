//! Machine instructions as far as probes need them: where they begin (a probe written into the middle of one destroys
//! it), which return, and which addresses they name.
//!
//! Of x86-64 lengths are decoded, by the opcode maps of the Intel manual (volume 2, appendix A), and a few opcodes.

pub mod stack;
pub mod uprobe;

/// Longest x86 instruction, bytes.
pub(super) const LONGEST: usize = 15;
/// Most instructions before a Go function has compared its stack's end.
const MOST_PROLOGUE: usize = 8;

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

/// An address that an instruction puts into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The address itself, relative to the instruction.
    Address(u64),
    /// The address, as a constant.
    Constant(u64),
    /// What lies at this address.
    Slot(u64),
}

/// The addresses that the instructions of `code`, which is loaded at `address`, put into registers, as far as they are
/// known instructions.
#[must_use]
pub fn references(code: &[u8], address: u64) -> Vec<Reference> {
    each(code).filter_map(|(at, instruction)| reference(instruction, address.wrapping_add(at as u64))).collect()
}

/// Where the instructions of a function begin that return from it; `None` when some of its code is no instruction that
/// is known.
#[must_use]
pub fn returns(code: &[u8]) -> Option<Vec<usize>> {
    let mut end = 0;
    let found = each(code).inspect(|(at, one)| end = at + one.len()).filter(|(_, one)| is_return(one));
    let found: Vec<usize> = found.map(|(at, _)| at).collect();
    (end == code.len()).then_some(found)
}

/// Where a Go function goes on once its stack is found to be large enough; `None` where it does not look. Until there it may
/// start over, each time that its stack has been moved.
#[must_use]
pub fn behind_stack_check(code: &[u8]) -> Option<usize> {
    let mut compared = false;
    for (at, instruction) in each(code).take(MOST_PROLOGUE) {
        if compared && is_below(instruction) {
            return Some(at + instruction.len());
        }
        compared = is_stack_check(instruction);
    }
    None
}

/// Where the jumps in `code` go, in bytes from its begin, as far as its instructions are known and tell.
fn jumps(code: &[u8]) -> impl Iterator<Item = usize> {
    let target = |(at, instruction): (usize, &[u8])| {
        let distance = jump(instruction)?;
        (at + instruction.len()).checked_add_signed(distance as isize)
    };
    each(code).filter_map(target)
}

/// `cmp %rsp,0x10(%r14)` and `cmp %r12,0x10(%r14)`: the goroutine's limit (`stackguard0` of runtime.g).
fn is_stack_check(instruction: &[u8]) -> bool {
    cfg!(target_arch = "x86_64") && matches!(instruction, [0x49 | 0x4d, 0x3b, 0x66, 0x10])
}

/// `jbe`.
fn is_below(instruction: &[u8]) -> bool {
    matches!(instruction, [0x76, _] | [0x0f, 0x86, ..])
}

/// The instructions of `code`, each with where it begins, up to the first that is not known.
fn each(code: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = code.get(at..)?;
        let instruction = rest.get(..length(rest)?)?;
        at += instruction.len();
        Some((at - instruction.len(), instruction))
    })
}

#[cfg(target_arch = "x86_64")]
fn reference(instruction: &[u8], address: u64) -> Option<Reference> {
    x86::reference(instruction, address)
}

#[cfg(not(target_arch = "x86_64"))]
fn reference(_: &[u8], _: u64) -> Option<Reference> {
    None
}

#[cfg(target_arch = "x86_64")]
fn is_return(instruction: &[u8]) -> bool {
    x86::is_return(instruction)
}

#[cfg(target_arch = "x86_64")]
fn jump(instruction: &[u8]) -> Option<i32> {
    x86::jump(instruction)
}

#[cfg(not(target_arch = "x86_64"))]
fn jump(_: &[u8]) -> Option<i32> {
    None
}

/// `ret`, and its forms that check a signed address.
#[cfg(not(target_arch = "x86_64"))]
fn is_return(instruction: &[u8]) -> bool {
    let word = instruction.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    word.is_some_and(|word| word & 0xffff_fc1f == 0xd65f_0000 || matches!(word, 0xd65f_0bff | 0xd65f_0fff))
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

    /// An instruction from its opcode on, and whether its operands have 64 bits.
    fn from_opcode(instruction: &[u8]) -> Option<(bool, &[u8])> {
        let prefix = |b: &u8| matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
        let start = instruction.iter().position(|b| !prefix(b))?;
        match instruction.get(start..)? {
            [rex @ 0x40..=0x4f, rest @ ..] => Some((rex & 8 != 0, rest)),
            rest => Some((false, rest)),
        }
    }

    /// The address that an instruction puts into a register: `lea`, and `mov` of a constant or from memory whose place
    /// is relative to the instruction.
    pub fn reference(instruction: &[u8], address: u64) -> Option<super::Reference> {
        use super::Reference::{Address, Constant, Slot};
        let (wide, code) = from_opcode(instruction)?;
        let signed = |bytes: &[u8]| bytes.first_chunk().map(|b| i64::from(i32::from_le_bytes(*b)) as u64);
        let behind = address.wrapping_add(instruction.len() as u64);
        match *code {
            [0x8d, operands, ref rest @ ..] if wide && operands & 0xc7 == 5 => {
                Some(Address(behind.wrapping_add(signed(rest)?)))
            }
            [0x8b, operands, ref rest @ ..] if wide && operands & 0xc7 == 5 => {
                Some(Slot(behind.wrapping_add(signed(rest)?)))
            }
            [0xb8..=0xbf, ref rest @ ..] if rest.len() == 4 => Some(Constant(signed(rest)? & 0xffff_ffff)),
            [0xb8..=0xbf, ref rest @ ..] => Some(Constant(u64::from_le_bytes(*rest.first_chunk()?))),
            [0xc7, operands, ref rest @ ..] if wide && operands & 0xf8 == 0xc0 => Some(Constant(signed(rest)?)),
            _ => None,
        }
    }

    /// How far a direct jump goes from its end: `jmp`, `jCC`, `loop`.
    pub fn jump(instruction: &[u8]) -> Option<i32> {
        let (_, code) = from_opcode(instruction)?;
        match *code {
            [0x70..=0x7f | 0xe0..=0xe3 | 0xeb, near] => Some(i32::from(near as i8)),
            [0xe9, ref far @ ..] | [0x0f, 0x80..=0x8f, ref far @ ..] => {
                far.first_chunk().map(|b| i32::from_le_bytes(*b))
            }
            _ => None,
        }
    }

    /// `ret`, near and far, with any prefix.
    pub fn is_return(instruction: &[u8]) -> bool {
        from_opcode(instruction).is_some_and(|(_, code)| matches!(code, [0xc2 | 0xc3 | 0xca | 0xcb, ..]))
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
            // XOP, where it isn't `pop`.
            0x8f if next(1)? & 0x1f >= 8 => {
                let constant = match next(1)? & 0x1f {
                    8 => 1,
                    9 => 0,
                    10 => 4,
                    _ => return None,
                };
                Some((at + 4, shape(true, constant)?))
            }
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
    fn returns_and_addresses() {
        use Reference::{Address, Constant, Slot};
        // lea 0x10(%rip),%rax; mov 0x20(%rip),%rdx; mov $0x401136,%eax; lea 0x8(%rsp),%rdi; repz ret; ret $8
        let code: &[&[u8]] = &[
            &[0x48, 0x8d, 0x05, 0x10, 0, 0, 0],
            &[0x48, 0x8b, 0x15, 0x20, 0, 0, 0],
            &[0xb8, 0x36, 0x11, 0x40, 0],
            &[0x48, 0x8d, 0x7c, 0x24, 8],
            &[0xf3, 0xc3],
            &[0xc2, 8, 0],
        ];
        let code = code.concat();
        assert_eq!(references(&code, 0x1000), [Address(0x1017), Slot(0x102e), Constant(0x40_1136)]);
        assert_eq!(returns(&code), Some(vec![24, 26]));
        // cmp 0x10(%r14),%rsp; jbe; push %rbp
        let go = [0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 1, 2, 3, 4, 0x55];
        assert_eq!((behind_stack_check(&go), behind_stack_check(&go[4..])), (Some(10), None));
        assert_eq!(returns(&[0xc3, 0x06]), None, "code that is not known may hold another");
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
