//! Machine code as text, in the form of the kernel's verifier and bpftool, with script lines between.

use std::fmt::Write;

use super::insn::{Insn, OP_CALL, OP_EXIT, OP_JA, OP_JA_FAR, OP_LD_IMM64, PSEUDO_CALL};
use super::{BuiltFunction, SourceLines, helper};

/// One line for each instruction, with its index; constants of 64 bits are one line.
#[must_use]
pub fn disassemble(code: &[u8]) -> Vec<(u32, String)> {
    let insns: Vec<Insn> = code.as_chunks::<8>().0.iter().map(|bytes| Insn::decode(*bytes)).collect();
    let mut out = Vec::with_capacity(insns.len());
    let mut at = 0;
    while let Some(insn) = insns.get(at) {
        let high = insns.get(at + 1).map_or(0, |high| high.imm);
        out.push((at as u32, format!("({:02x}) {}", insn.code, text(*insn, high))));
        at += if insn.code == OP_LD_IMM64 { 2 } else { 1 };
    }
    out
}

/// A function's code with the script's lines between, as `compile --emit` prints it.
#[must_use]
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as `build` takes it")]
pub fn listing(name: &str, function: &BuiltFunction, source: &SourceLines) -> String {
    let mut out = format!("{name}: {} instructions, {} bytes of stack\n", function.instructions, function.stack);
    let mut lines = function.lines.iter().peekable();
    let mut shown = 0;
    for (at, text) in disassemble(&function.code) {
        while let Some((_, span)) = lines.next_if(|(first, _)| *first <= at) {
            let line = source.position(*span).line;
            if line != 0 && line != shown {
                let _ = writeln!(out, "; {} @ {}:{line}", source.line(line).trim(), source.name());
                shown = line;
            }
        }
        let _ = writeln!(out, "{at:4}: {text}");
    }
    out
}

fn text(insn: Insn, high: i32) -> String {
    let Insn { code, dst, src, off, imm } = insn;
    match code & 7 {
        0 if code == OP_LD_IMM64 => {
            format!("r{dst} = {:#x}", (u64::from(high as u32) << 32) | u64::from(imm as u32))
        }
        1 if code & 0xe0 == 0x80 => format!("r{dst} = *({} *)(r{src} {off:+})", size(code).replace('u', "s")),
        1 => format!("r{dst} = *({} *)(r{src} {off:+})", size(code)),
        2 => format!("*({} *)(r{dst} {off:+}) = {imm}", size(code)),
        3 if code & 0xe0 == 0xc0 => atomic(insn),
        3 => format!("*({} *)(r{dst} {off:+}) = r{src}", size(code)),
        4 => alu(insn, 'w'),
        7 => alu(insn, 'r'),
        5 | 6 => jump(insn),
        _ => format!("unknown {code:#x}"),
    }
}

const fn size(code: u8) -> &'static str {
    match code & 0x18 {
        0x10 => "u8",
        0x08 => "u16",
        0x00 => "u32",
        _ => "u64",
    }
}

fn atomic(insn: Insn) -> String {
    let Insn { code, dst, src, off, imm } = insn;
    let (place, bits) = (format!("({} *)(r{dst} {off:+})", size(code)), if size(code) == "u64" { "64" } else { "" });
    match imm {
        0x01 => format!("r{src} = atomic{bits}_fetch_add({place}, r{src})"),
        0xe1 => format!("r{src} = atomic{bits}_xchg({place}, r{src})"),
        _ => format!("lock *{place} += r{src}"),
    }
}

fn alu(insn: Insn, letter: char) -> String {
    let Insn { code, dst, src, off, imm } = insn;
    if code & 0xf8 == 0xb8 && off != 0 {
        return format!("{letter}{dst} = (s{off}){letter}{src}");
    }
    let operand = if code & 8 == 0 { imm.to_string() } else { format!("{letter}{src}") };
    let sign = match code & 0xf0 {
        0x00 => "+=",
        0x10 => "-=",
        0x20 => "*=",
        0x30 => "/=",
        0x40 => "|=",
        0x50 => "&=",
        0x60 => "<<=",
        0x70 => ">>=",
        0x90 => "%=",
        0xa0 => "^=",
        0xb0 => "=",
        0xc0 => "s>>=",
        0x80 => return format!("{letter}{dst} = -{letter}{dst}"),
        _ => return format!("r{dst} = be{imm} r{dst}"),
    };
    format!("{letter}{dst} {sign} {operand}")
}

fn jump(insn: Insn) -> String {
    let Insn { code, dst, src, off, imm } = insn;
    match code {
        OP_EXIT => return "exit".to_owned(),
        OP_JA => return format!("goto pc{off:+}"),
        OP_JA_FAR => return format!("gotol pc{imm:+}"),
        OP_CALL if src == PSEUDO_CALL => return "call subprogram".to_owned(),
        OP_CALL => {
            return helper::name(imm as u32)
                .map_or_else(|| format!("call #{imm}"), |name| format!("call bpf_{name}#{imm}"));
        }
        _ => {}
    }
    let letter = if code & 7 == 6 { 'w' } else { 'r' };
    let operand = if code & 8 == 0 { format!("{imm:#x}") } else { format!("{letter}{src}") };
    let sign = match code & 0xf0 {
        0x10 => "==",
        0x20 => ">",
        0x30 => ">=",
        0x40 => "&",
        0x50 => "!=",
        0x60 => "s>",
        0x70 => "s>=",
        0xa0 => "<",
        0xb0 => "<=",
        0xc0 => "s<",
        _ => "s<=",
    };
    format!("if {letter}{dst} {sign} {operand} goto pc{off:+}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::backend::insn::{FRAME, Reg};
    use crate::codegen::ir::{Alu, Cond, Size, Width};

    #[test]
    fn every_form_reads_as_the_kernel_prints_it() {
        let code = [
            Insn::mov_reg(Width::W64, Reg(6), Reg(1)),
            Insn::load(Size::B4, Reg(2), Reg(6), 16),
            Insn::alu_imm(Alu::Sar, Width::W32, Reg(2), 3),
            Insn::store_imm(Size::B8, FRAME, -8, -1),
            Insn::atomic(Size::B8, Reg(1), 8, Reg(2), 0xe1),
            Insn::ld_imm64(Reg(3), 0, -1),
            Insn::ld_imm64_high(1),
            Insn::jump_imm(Cond::SLt, Width::W32, Reg(2), 10),
            Insn::call(0, 14),
            Insn::to_big_endian(Reg(2), 16),
            Insn::mov_signed(Reg(2), Reg(3), 16),
            Insn::load_signed(Size::B1, Reg(2), Reg(6), 5),
            Insn::ja_far(-70_000),
            Insn::exit(),
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.encode()).collect();
        let text: Vec<String> = disassemble(&bytes).into_iter().map(|(at, line)| format!("{at} {line}")).collect();
        assert_eq!(
            text,
            [
                "0 (bf) r6 = r1",
                "1 (61) r2 = *(u32 *)(r6 +16)",
                "2 (c4) w2 s>>= 3",
                "3 (7a) *(u64 *)(r10 -8) = -1",
                "4 (db) r2 = atomic64_xchg((u64 *)(r1 +8), r2)",
                "5 (18) r3 = 0x1ffffffff",
                "7 (c6) if w2 s< 0xa goto pc+0",
                "8 (85) call bpf_get_current_pid_tgid#14",
                "9 (dc) r2 = be16 r2",
                "10 (bf) r2 = (s16)r3",
                "11 (91) r2 = *(s8 *)(r6 +5)",
                "12 (06) gotol pc-70000",
                "13 (95) exit",
            ]
        );
    }
}
