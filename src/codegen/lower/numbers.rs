//! Numbers in registers: cut to a type, bounded, divided by sign. None of it knows the script.

use crate::codegen::builder::{FunctionBuilder, flow, purpose};
use crate::codegen::ir::{Alu, BlockId, Cond, Inst, Operand, Vreg};
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, memory};
use crate::codegen::lower::place::scalar_shape;

/// Writes a number of so many bytes, and zeros behind it up to a word.
pub fn store_padded(b: &mut FunctionBuilder, dst: Addr, value: Operand, bytes: u32) {
    let value = padded_word(b, value, bytes);
    memory::store(b, dst, 8, value);
}

/// A number of so many bytes and zeros above it; a constant is one that an instruction takes.
pub fn padded_word(b: &mut FunctionBuilder, value: Operand, bytes: u32) -> Operand {
    let value = match value {
        _ if bytes >= 8 => value,
        Operand::Imm(n) => Operand::Imm(n & ((1 << (bytes * 8)) - 1)),
        Operand::Reg(register) => b.extend(register, (bytes * 8) as u8, false).into(),
    };
    // An instruction takes a constant of 32 bits with its sign.
    match value {
        Operand::Imm(n) if i32::try_from(n).is_err() => b.copy(n).into(),
        fits => fits,
    }
}

/// Stores the lower bytes of a number, up to eight.
pub fn store_bytes(b: &mut FunctionBuilder, dst: Addr, size: u32, value: Operand) {
    let mut stored = 0;
    while stored < size {
        let piece = 1 << (size - stored).ilog2();
        let part = if stored == 0 { value } else { b.shr(value, i64::from(stored * 8)).into() };
        memory::store(b, dst.at(stored), piece, part);
        stored += piece;
    }
}

/// Makes an unsigned number at most `most`, in a path that the verifier sees.
pub fn at_most(b: &mut FunctionBuilder, number: Vreg, most: i64) {
    flow::when(b, Cond::Gt, number, most, |b| {
        b.copy_into(number, most);
    });
}

pub fn copy_at_most(b: &mut FunctionBuilder, number: impl Into<Operand>, most: i64) -> Vreg {
    let copy = purpose::copy_to_bound(b, number);
    at_most(b, copy, most);
    copy
}

/// A length that is at most `most`: it is so before, but a verifier that keeps no bounds of spilled numbers must
/// see it right before the call.
pub fn bounded(b: &mut FunctionBuilder, length: Operand, most: u32) -> Operand {
    let Operand::Reg(register) = length else { return length };
    copy_at_most(b, register, i64::from(most)).into()
}

/// A value that stays as it is while `next` is computed: a variable's register may change.
pub fn keep(b: &mut FunctionBuilder, value: Operand, next: &Expr) -> Operand {
    if matches!(value, Operand::Imm(_)) || next.is_pure() {
        return value;
    }
    b.copy(value).into()
}

/// Signed division from the unsigned one: of the magnitudes, then the sign. The quotient is
/// negative when the signs differ, the remainder has the dividend's sign; the smallest number
/// divided by -1 is itself, as its magnitude wraps.
pub fn signed_divide(b: &mut FunctionBuilder, alu: Alu, left: Vreg, right: Vreg) -> Vreg {
    let magnitudes = (absolute(b, left), absolute(b, right));
    let magnitude = b.alu(alu, magnitudes.0, magnitudes.1);
    let sign = if alu == Alu::Div { b.alu(Alu::Xor, left, right) } else { left };
    with_sign_of(b, magnitude, sign)
}

/// `total / count` rounded towards zero; 0 when there is nothing.
pub fn average(b: &mut FunctionBuilder, total: Vreg, count: Vreg, signed: bool) -> Vreg {
    // The instruction set divides by zero to 0.
    if signed { signed_divide(b, Alu::Div, total, count) } else { b.alu(Alu::Div, total, count) }
}

/// `|v|` without a branch: `(v ^ s) - s` with `s` all sign bits.
pub fn absolute(b: &mut FunctionBuilder, value: Vreg) -> Vreg {
    sign_and_magnitude(b, value).1
}

/// `magnitude`, negated when `sign` is negative.
pub fn with_sign_of(b: &mut FunctionBuilder, magnitude: Vreg, sign: Vreg) -> Vreg {
    let sign = b.alu(Alu::Sar, sign, 63);
    negated_by(b, magnitude, sign)
}

/// Goes on unless a text ended at or before this word: nothing but zeros follows its end.
pub fn unless_ended(b: &mut FunctionBuilder, word: Vreg, done: BlockId) {
    let byte = b.shr(word, 56);
    flow::require(b, Cond::Ne, byte, 0, done);
}

/// Cuts a register to a type and extends it again.
pub fn wrap(b: &mut FunctionBuilder, value: Vreg, ty: &Type) -> Vreg {
    let (size, signed) = scalar_shape(ty);
    if size >= 8 {
        return value;
    }
    let dst = b.new_vreg();
    b.push(Inst::Extend { dst, src: value, bits: (size * 8) as u8, signed });
    dst
}

/// The same number without the verifier's knowledge that it is a pointer, so that the script
/// may calculate with it: negation makes any register a plain number
/// (`check_alu_op`, kernel/bpf/verifier.c).
pub fn plain(b: &mut FunctionBuilder, value: Vreg) -> Vreg {
    let negative = b.neg(value);
    b.neg(negative)
}

/// The sign of a value, as 0 or -1, and its magnitude.
pub fn sign_and_magnitude(b: &mut FunctionBuilder, value: Vreg) -> (Vreg, Vreg) {
    let sign = b.alu(Alu::Sar, value, 63);
    (sign, negated_by(b, value, sign))
}

/// The value where the sign is 0, its negation where it is -1.
pub fn negated_by(b: &mut FunctionBuilder, value: Vreg, sign: Vreg) -> Vreg {
    let flipped = b.alu(Alu::Xor, value, sign);
    b.sub(flipped, sign)
}

/// The constant that an expression is, conversions looked through.
pub fn constant(e: &Expr) -> Option<u64> {
    match &e.kind {
        ExprKind::Int(v) => Some(*v),
        ExprKind::Cast(a) => constant(a).map(|v| wrap_constant(v as i64, &e.ty) as u64),
        _ => None,
    }
}

/// Cuts a constant to a type and extends it again.
pub fn wrap_constant(value: i64, ty: &Type) -> i64 {
    match (scalar_shape(ty), ty) {
        (_, Type::Bool) => i64::from(value != 0),
        ((1, true), _) => i64::from(value as i8),
        ((1, false), _) => i64::from(value as u8),
        ((2, true), _) => i64::from(value as i16),
        ((2, false), _) => i64::from(value as u16),
        ((4, true), _) => i64::from(value as i32),
        ((4, false), _) => i64::from(value as u32),
        _ => value,
    }
}
