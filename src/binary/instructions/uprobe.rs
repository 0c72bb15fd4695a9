//! What the kernel's uprobes do with the instruction that they stand at. It is not there any more when its place is
//! reached: the kernel emulates it, or runs a copy of it elsewhere.
//!
//! On x86 the kernel tells instructions by their first opcode byte (`arch/x86/kernel/uprobes.c`: `uprobe_init_insn`,
//! `branch_setup_xol_ops`, `arch_uprobe_analyze_insn`). Behind the prefixes of AVX (VEX, EVEX, XOP) that byte is of another
//! map of opcodes: `vmovd %xmm1,%eax` (7e) is emulated as `jle`, so that it never runs, `vpxor` (ef) is refused as `out`.

use super::{each, jumps, length};

/// Most instructions of AVX at a function's begin that are passed over.
const MOST_PASSED: usize = 8;

/// Why no uprobe can be at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// The program would go on with wrong values, or crash.
    #[error("the kernel's uprobes take this AVX instruction for another one, and the program would go on without it")]
    Misread,
    /// The kernel puts no breakpoint there. Where no process runs the code yet it says so to nobody.
    #[error("the kernel puts no uprobe on this instruction")]
    Refused,
}

/// Whether a uprobe can be at the instruction at the start of `code`. What is no instruction that is known is left to the
/// kernel.
#[must_use]
pub fn hazard(code: &[u8]) -> Option<Hazard> {
    let instruction = code.get(..length(code)?)?;
    if cfg!(target_arch = "x86_64") { x86::hazard(instruction) } else { None }
}

/// Where a function can be probed as at its entry, in bytes from its begin: behind instructions of AVX that uprobes can't be
/// at, which change neither arguments in registers nor the stack.
///
/// # Errors
/// Why there is no such place.
pub fn entry(code: &[u8]) -> Result<usize, Hazard> {
    let Some(first) = hazard(code) else { return Ok(0) };
    for (at, instruction) in each(code).take(MOST_PASSED) {
        if hazard(instruction).is_none() {
            // A loop that comes back would fire it again.
            let again = jumps(code).any(|target| (1..=at).contains(&target));
            return if again { Err(first) } else { Ok(at) };
        }
        if !x86::keeps_arguments(instruction) {
            break;
        }
    }
    Err(first)
}

mod x86 {
    use super::Hazard;

    /// An instruction of AVX.
    struct Vector {
        /// The map that its opcode is of.
        map: u8,
        opcode: u8,
        /// 0 for none, 1 for 66, 2 for F3, 3 for F2.
        prefix: u8,
    }

    fn vector(instruction: &[u8]) -> Option<Vector> {
        let found = |map: u8, opcode: u8, byte: u8| Some(Vector { map, opcode, prefix: byte & 3 });
        match *instruction {
            [0xc5, byte, opcode, ..] => found(1, opcode, byte),
            // XOP is told from `pop` by its map.
            [0xc4, map, byte, opcode, ..] => found(map & 0x1f, opcode, byte),
            [0x8f, map, byte, opcode, ..] if map & 0x1f >= 8 => found(map & 0x1f, opcode, byte),
            [0x62, map, byte, _, opcode, ..] => found(map & 7, opcode, byte),
            _ => None,
        }
    }

    pub fn hazard(instruction: &[u8]) -> Option<Hazard> {
        if let Some(vector) = vector(instruction) {
            return match vector.opcode {
                // Emulated as jumps, calls and `nop`; `mov` and `lea` of a register to itself are `nop` since 6.18.
                0x70..=0x7f | 0xe8 | 0xe9 | 0xeb | 0x90 | 0x89 | 0x8d => Some(Hazard::Misread),
                // Their copy runs as one that leaves the place by itself (`ret`, `call`), or as `popf`.
                0xc2 | 0xc3 | 0xca | 0xcb | 0x9d | 0xff => Some(Hazard::Misread),
                opcode => is_refused(opcode).then_some(Hazard::Refused),
            };
        }
        let plain = |b: &u8| !matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
        let start = instruction.iter().position(plain)?;
        let (prefixes, rest) = instruction.split_at(start);
        let code = match rest {
            [0x40..=0x4f, code @ ..] => code,
            code => code,
        };
        // What does nothing is emulated, with any prefix.
        if matches!(code, [0x90, ..] | [0x0f, 0x1f, ..]) {
            return None;
        }
        let refused = prefixes.iter().any(|b| matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0xf0))
            || code.first().is_some_and(|opcode| is_refused(*opcode))
            // `mov` to the stack's segment.
            || matches!(code, [0x8e, operands, ..] if operands >> 3 & 7 == 2)
            // Jumps and calls of 16 bits.
            || prefixes.contains(&0x66) && matches!(code, [0x70..=0x7f | 0xe8 | 0xe9 | 0xeb, ..] | [0x0f, 0x80..=0x8f, ..]);
        refused.then_some(Hazard::Refused)
    }

    /// First opcode bytes that the kernel refuses in 64-bit code.
    const fn is_refused(opcode: u8) -> bool {
        matches!(
            opcode,
            0x06 | 0x07 | 0x0e | 0x16 | 0x17 | 0x1e | 0x1f | 0x27 | 0x2f | 0x37 | 0x3f | 0x60..=0x62 | 0x6c..=0x6f | 0x82
                | 0x9a | 0xcc..=0xcf | 0xd4..=0xd6 | 0xe4..=0xe7 | 0xea | 0xec..=0xef | 0xf1 | 0xf4 | 0xfa | 0xfb
        )
    }

    /// Whether an instruction is one of AVX that writes vectors and masks only.
    pub fn keeps_arguments(instruction: &[u8]) -> bool {
        let Some(Vector { map, opcode, prefix }) = vector(instruction) else { return false };
        match map {
            // Stores, and moves to registers.
            1 => !matches!(opcode, 0x17 | 0x7f | 0xd6 | 0xe7) && (opcode != 0x7e || prefix == 2),
            // Instructions on bits.
            2 => !matches!(opcode, 0xf0..=0xff),
            // Extracts, comparisons of texts, rotations.
            3 => !matches!(opcode, 0x14..=0x17 | 0x60..=0x63 | 0xf0..=0xff),
            _ => false,
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_would_make_of_instructions() {
        let cases: &[(&str, &[u8], Option<Hazard>)] = &[
            ("vmovd %xmm1,%eax", &[0xc5, 0xf9, 0x7e, 0xc8], Some(Hazard::Misread)),
            ("vzeroupper", &[0xc5, 0xf8, 0x77], Some(Hazard::Misread)),
            ("vpbroadcastb %edi,%xmm0", &[0x62, 0xf2, 0x7d, 0x08, 0x7a, 0xc7], Some(Hazard::Misread)),
            ("vfnmadd132ss", &[0xc4, 0xe2, 0x71, 0x9d, 0xc2], Some(Hazard::Misread)),
            ("vpxor %xmm0,%xmm0,%xmm0", &[0xc5, 0xf9, 0xef, 0xc0], Some(Hazard::Refused)),
            ("vmovdqu (%rcx),%xmm0", &[0xc5, 0xfa, 0x6f, 0x01], Some(Hazard::Refused)),
            ("vmovups (%rcx),%xmm0", &[0xc5, 0xf8, 0x10, 0x01], None),
            ("vxorps %xmm0,%xmm0,%xmm0", &[0xc5, 0xf8, 0x57, 0xc0], None),
            ("andn %rsi,%rdi,%rax", &[0xc4, 0xe2, 0xc0, 0xf2, 0xc6], None),
            ("lock incl -4(%rsp)", &[0xf0, 0xff, 0x44, 0x24, 0xfc], Some(Hazard::Refused)),
            ("notrack jmp *%rax", &[0x3e, 0xff, 0xe0], Some(Hazard::Refused)),
            ("endbr64", &[0xf3, 0x0f, 0x1e, 0xfa], None),
            ("nopw %cs:0(%rax,%rax,1)", &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], None),
            ("push %rbp", &[0x55], None),
            ("pop (%rax)", &[0x8f, 0x00], None),
            ("movdqu (%rcx),%xmm0", &[0xf3, 0x0f, 0x6f, 0x01], None),
        ];
        for (name, code, wanted) in cases {
            assert_eq!(hazard(code), *wanted, "{name}");
        }
    }

    #[test]
    fn a_function_is_probed_behind_what_uprobes_break() {
        let (vpxor, vmovd_out): (&[u8], &[u8]) = (&[0xc5, 0xf9, 0xef, 0xc0], &[0xc5, 0xf9, 0x7e, 0xc0]);
        let (mov, ret, jne_back): (&[u8], &[u8], &[u8]) = (&[0x48, 0x89, 0xf8], &[0xc3], &[0x75, 0xfb]);
        assert_eq!(entry(&[mov, ret].concat()), Ok(0));
        assert_eq!(entry(&[vpxor, mov, ret].concat()), Ok(4));
        assert_eq!(entry(&[vpxor, vpxor, mov, ret].concat()), Ok(8));
        assert_eq!(entry(&[vmovd_out, ret].concat()), Err(Hazard::Misread), "it writes a register");
        assert_eq!(entry(&[vpxor, mov, jne_back, ret].concat()), Err(Hazard::Refused), "a loop comes back");
        assert_eq!(entry(vpxor), Err(Hazard::Refused), "nothing is known behind it");
    }
}
