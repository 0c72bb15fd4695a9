//! Which functions go on on another stack than they were called on.

use super::each;

/// Whether code puts what an argument says into the stack pointer, as functions do that switch between coroutines
/// (boost's `jump_fcontext`, libco's `co_swap`). Functions that keep a frame pointer give their stack pointer back by it,
/// or what they saved of it: they switch nothing.
#[must_use]
pub fn switches(code: &[u8]) -> bool {
    let has_frame = each(code).any(|(_, one)| matches!(one, [0x48, 0x89, 0xe5] | [0x48, 0x8b, 0xec]));
    !has_frame && each(code).any(|(_, one)| cfg!(target_arch = "x86_64") && x86::sets_stack(one))
}

mod x86 {
    /// The stack pointer's number, and the frame pointer's.
    const STACK: u8 = 4;
    const FRAME: u8 = 5;

    /// Registers that arguments are in: rcx, rdx, rsi, rdi, r8, r9.
    const fn has_argument(register: u8) -> bool {
        matches!(register, 1 | 2 | 6..=9)
    }

    /// `mov` of an argument, or of memory that a register but the two of the frame points to, into the stack pointer, and
    /// `xchg` with it.
    pub fn sets_stack(instruction: &[u8]) -> bool {
        let [rex @ 0x48..=0x4f, opcode, operands, ..] = *instruction else { return false };
        let (mode, reg) = (operands >> 6, operands >> 3 & 7 | (rex & 4) << 1);
        let rm = operands & 7 | (rex & 1) << 3;
        match opcode {
            0x8b if mode == 3 => reg == STACK && has_argument(rm),
            0x89 if mode == 3 => rm == STACK && has_argument(reg),
            0x8b if reg == STACK => {
                let scaled = operands & 7 == STACK;
                let base = if scaled { instruction.get(3).map_or(STACK, |sib| sib & 7 | (rex & 1) << 3) } else { rm };
                // Relative to the instruction, or at an address.
                let nowhere = mode == 0 && base & 7 == FRAME;
                !nowhere && base != STACK && base != FRAME
            }
            0x87 => reg == STACK || mode == 3 && rm == STACK,
            _ => false,
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::switches;

    #[test]
    fn what_sets_the_stack_pointer_by_an_argument() {
        let (ret, frame): (&[u8], &[u8]) = (&[0xc3], &[0x48, 0x89, 0xe5]);
        let cases: &[(&str, &[u8], bool)] = &[
            ("mov %rdi,%rsp", &[0x48, 0x89, 0xfc], true),
            ("mov (%rsi),%rsp", &[0x48, 0x8b, 0x26], true),
            ("mov 0x30(%rdi),%rsp", &[0x48, 0x8b, 0x67, 0x30], true),
            ("mov %r8,%rsp", &[0x4c, 0x89, 0xc4], true),
            ("xchg %rsp,(%rdx)", &[0x48, 0x87, 0x22], true),
            ("mov %rsp,(%rdi)", &[0x48, 0x89, 0x27], false),
            ("mov -0x8(%rbp),%rsp", &[0x48, 0x8b, 0x65, 0xf8], false),
            ("mov 0x10(%rsp),%rsp", &[0x48, 0x8b, 0x64, 0x24, 0x10], false),
            ("mov %rbx,%rsp", &[0x48, 0x89, 0xdc], false),
            ("mov (%rdi),%rax", &[0x48, 0x8b, 0x07], false),
            ("sub $0x20,%rsp", &[0x48, 0x83, 0xec, 0x20], false),
        ];
        for (name, code, wanted) in cases {
            assert_eq!(switches(&[*code, ret].concat()), *wanted, "{name}");
            assert!(!switches(&[frame, *code, ret].concat()), "{name} behind a frame");
        }
    }
}
