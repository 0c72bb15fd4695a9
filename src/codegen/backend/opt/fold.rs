//! Arithmetic on constants, and operations that are simpler than they look.

use crate::codegen::ir::{Alu, Cond, Inst, Operand, Vreg, Width};

/// The result of an operation by the instruction set's rules.
#[must_use]
pub fn alu(op: Alu, width: Width, a: i64, b: i64) -> i64 {
    match width {
        Width::W64 => alu64(op, a, b),
        Width::W32 => i64::from(alu32(op, a as u32, b as u32)),
    }
}

fn alu64(op: Alu, a: i64, b: i64) -> i64 {
    let (ua, ub) = (a as u64, b as u64);
    match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => ua.checked_div(ub).unwrap_or(0) as i64,
        Alu::Mod => ua.checked_rem(ub).unwrap_or(ua) as i64,
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Shl => a.wrapping_shl(b as u32),
        Alu::Shr => ua.wrapping_shr(b as u32) as i64,
        Alu::Sar => a.wrapping_shr(b as u32),
    }
}

fn alu32(op: Alu, a: u32, b: u32) -> u32 {
    match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::Mod => a.checked_rem(b).unwrap_or(a),
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Shl => a.wrapping_shl(b),
        Alu::Shr => a.wrapping_shr(b),
        Alu::Sar => (a as i32).wrapping_shr(b) as u32,
    }
}

/// Whether a comparison of constants holds.
#[must_use]
pub fn holds(cond: Cond, width: Width, a: i64, b: i64) -> bool {
    let (a, b) = match width {
        Width::W64 => (a, b),
        Width::W32 => (i64::from(a as i32), i64::from(b as i32)),
    };
    // Both sides extended by sign keep the order of unsigned 32-bit numbers too.
    let (ua, ub) = (a as u64, b as u64);
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Gt => ua > ub,
        Cond::Ge => ua >= ub,
        Cond::Lt => ua < ub,
        Cond::Le => ua <= ub,
        Cond::SGt => a > b,
        Cond::SGe => a >= b,
        Cond::SLt => a < b,
        Cond::SLe => a <= b,
        Cond::Set => a & b != 0,
    }
}

/// The low `bits`, extended.
#[must_use]
pub const fn extend(value: i64, bits: u8, signed: bool) -> i64 {
    let unused = 64 - bits as u32;
    if signed { value << unused >> unused } else { ((value as u64) << unused >> unused) as i64 }
}

/// The low `bits` with their bytes reversed.
#[must_use]
pub const fn bswap(value: i64, bits: u8) -> i64 {
    ((value as u64).swap_bytes() >> (64 - bits as u32)) as i64
}

/// A simpler instruction with the same result, for an operation that is not all constants.
#[must_use]
pub fn simplify(op: Alu, width: Width, dst: Vreg, a: Operand, b: Operand) -> Option<Inst> {
    let (a, b) = match (a, b) {
        (Operand::Imm(_), Operand::Reg(_)) if super::super::legal::commutes(op) => (b, a),
        other => other,
    };
    let keep = |v: Operand| match (width, v) {
        (Width::W64, src) => Some(Inst::Copy { dst, src }),
        (Width::W32, Operand::Reg(src)) => Some(Inst::Extend { dst, src, bits: 32, signed: false }),
        (Width::W32, Operand::Imm(n)) => Some(Inst::Copy { dst, src: Operand::Imm(extend(n, 32, false)) }),
    };
    let constant = |n: i64| Some(Inst::Copy { dst, src: Operand::Imm(n) });
    let with = |op: Alu, n: i64| Some(Inst::Alu { op, width, dst, a, b: Operand::Imm(n) });
    if a == b && matches!(op, Alu::Sub | Alu::Xor) {
        return constant(0);
    }
    let Operand::Imm(n) = b else { return None };
    let n = if width == Width::W32 { i64::from(n as i32) } else { n };
    match (op, n) {
        (Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Mod, 0) | (Alu::Mul | Alu::Div, 1) | (Alu::And, -1) => keep(a),
        (Alu::Shl | Alu::Shr | Alu::Sar, n) if n & if width == Width::W64 { 63 } else { 31 } == 0 => keep(a),
        (Alu::Mul | Alu::And | Alu::Div, 0) | (Alu::Mod, 1) => constant(0),
        (Alu::And, 0xffff_ffff) => match a {
            Operand::Reg(src) => Some(Inst::Extend { dst, src, bits: 32, signed: false }),
            Operand::Imm(_) => None,
        },
        (Alu::Sub, n) if n != i64::MIN && i32::try_from(-n).is_ok() => with(Alu::Add, -n),
        (Alu::Mul, n) if n > 0 && n & (n - 1) == 0 => with(Alu::Shl, i64::from(n.trailing_zeros())),
        (Alu::Div, n) if n > 0 && n & (n - 1) == 0 => with(Alu::Shr, i64::from(n.trailing_zeros())),
        (Alu::Mod, n) if n > 0 && n & (n - 1) == 0 => with(Alu::And, n - 1),
        _ => None,
    }
}
