//! Arithmetic, comparisons and conditions.

use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg};
use crate::lang::typed::{BinaryOp, Builtin, Expr, ExprKind, UnaryOp};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::programs::session;
use crate::codegen::lower::{marks, numbers, strings};

impl<'a> Lowerer<'_, 'a> {
    /// Branches on an expression.
    pub fn condition(&mut self, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let result = condition_kind(self, e, yes, no);
        self.function.builder.set_span(previous);
        result
    }
}

/// A binary operator on two values of one type.
pub fn binary<'a>(
    l: &mut Lowerer<'_, 'a>,
    op: BinaryOp,
    a: &'a Expr,
    b: &'a Expr,
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    if is_comparison(op) {
        return truth(l, e);
    }
    let left = l.scalar(a)?;
    let left = numbers::keep(&mut l.function.builder, left, b);
    let right = l.scalar(b)?;
    let result = match op {
        BinaryOp::Div | BinaryOp::Mod => divide(l, op, left, right, e)?,
        BinaryOp::Shl | BinaryOp::Shr => shift(&mut l.function.builder, op, left, right, e),
        _ => l.function.builder.alu(simple(op), left, right),
    };
    Ok(numbers::wrap(&mut l.function.builder, result, &e.ty).into())
}

fn shift(b: &mut FunctionBuilder, op: BinaryOp, left: Operand, right: Operand, e: &Expr) -> Vreg {
    let (size, signed) = scalar_shape(&e.ty);
    let bits = i64::from(size * 8);
    let count = match right {
        Operand::Imm(n) => Operand::Imm(n & (bits - 1)),
        Operand::Reg(r) => b.and(r, bits - 1).into(),
    };
    let alu = match (op, signed) {
        (BinaryOp::Shl, _) => Alu::Shl,
        (_, true) => Alu::Sar,
        (_, false) => Alu::Shr,
    };
    b.alu(alu, left, count)
}

fn divide(
    l: &mut Lowerer<'_, '_>,
    op: BinaryOp,
    left: Operand,
    right: Operand,
    e: &Expr,
) -> Result<Vreg, CodegenError> {
    let alu = if op == BinaryOp::Div { Alu::Div } else { Alu::Mod };
    let signed = e.ty.is_signed();
    let b = &mut l.function.builder;
    if let Operand::Imm(n) = right
        && n != 0
    {
        return Ok(divide_by_constant(b, alu, left, n, signed));
    }
    let result = b.new_vreg();
    let [fine, zero, done] = b.new_blocks();
    let left = b.in_register(left);
    let right = b.in_register(right);
    b.branch(Cond::Ne, right, 0, fine, zero);
    b.switch_to(zero);
    l.failed(LossCause::DivideByZero, None, e.span);
    let b = &mut l.function.builder;
    b.copy_into(result, 1);
    b.jump(done);
    b.switch_to(fine);
    let value = if signed { numbers::signed_divide(b, alu, left, right) } else { b.alu(alu, left, right) };
    b.copy_into(result, value);
    b.jump(done);
    b.switch_to(done);
    Ok(result)
}

fn divide_by_constant(b: &mut FunctionBuilder, alu: Alu, left: Operand, n: i64, signed: bool) -> Vreg {
    if !signed {
        let n_ = n as u64;
        if n_.is_power_of_two() {
            return match alu {
                Alu::Div => b.shr(left, i64::from(n_.trailing_zeros())),
                _ => b.and(left, n.wrapping_sub(1)),
            };
        }
        // The divisor is a register when it does not fit 32 bits with its sign.
        return b.alu(alu, left, n);
    }
    let value = b.in_register(left);
    let magnitude = numbers::absolute(b, value);
    let quotient = b.alu(alu, magnitude, n.unsigned_abs() as i64);
    let sign = if alu == Alu::Div && n < 0 { b.alu(Alu::Xor, value, -1) } else { value };
    numbers::with_sign_of(b, quotient, sign)
}

/// An expression as 0 or 1.
pub fn truth<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Operand, CodegenError> {
    let result = l.function.builder.new_vreg();
    let [yes, no, done] = l.function.builder.new_blocks();
    l.condition(e, yes, no)?;
    let b = &mut l.function.builder;
    b.switch_to(yes);
    b.copy_into(result, 1);
    b.jump(done);
    b.switch_to(no);
    b.copy_into(result, 0);
    b.jump(done);
    b.switch_to(done);
    Ok(marks::joined(l, result.into(), &e.ty))
}

fn condition_kind<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
    match &e.kind {
        ExprKind::Int(v) => {
            l.function.builder.jump(if *v != 0 { yes } else { no });
            Ok(())
        }
        // Known to the compiler: what is done elsewhere is left out.
        ExprKind::Builtin(Builtin::InSession) => {
            l.function.builder.jump(if session::is_part(l) { yes } else { no });
            Ok(())
        }
        ExprKind::Unary(UnaryOp::Not, a) => l.condition(a, no, yes),
        ExprKind::And(a, b) => {
            let more = l.function.builder.new_block();
            l.condition(a, more, no)?;
            l.function.builder.switch_to(more);
            l.condition(b, yes, no)
        }
        ExprKind::Or(a, b) => {
            let more = l.function.builder.new_block();
            l.condition(a, yes, more)?;
            l.function.builder.switch_to(more);
            l.condition(b, yes, no)
        }
        ExprKind::Binary(op, a, b) if is_comparison(*op) => comparison(l, *op, a, b, yes, no),
        ExprKind::Cast(a) if e.ty == Type::Bool && a.ty.fits_register() => l.condition(a, yes, no),
        _ if !e.ty.fits_register() => memory_condition(l, e, yes, no),
        _ => {
            let value = l.scalar(e)?;
            let value = marks::compared(&mut l.function.builder, e, value);
            l.function.builder.branch(Cond::Ne, value, 0, yes, no);
            Ok(())
        }
    }
}

/// Strings are true when not empty; stacks and addresses when their first word is not 0.
fn memory_condition<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
    let addr = l.memory(e)?;
    let bytes = if matches!(e.ty, Type::Str { .. }) { 1 } else { 4 };
    let value = memory::load(&mut l.function.builder, addr, bytes, false);
    l.function.builder.branch(Cond::Ne, value, 0, yes, no);
    Ok(())
}

fn comparison<'a>(
    l: &mut Lowerer<'_, 'a>,
    op: BinaryOp,
    a: &'a Expr,
    b: &'a Expr,
    yes: BlockId,
    no: BlockId,
) -> Result<(), CodegenError> {
    if !a.ty.fits_register() || !b.ty.fits_register() {
        let mark = l.mark();
        let (same, other) = if op == BinaryOp::Ne { (no, yes) } else { (yes, no) };
        strings::equal(l, a, b, same, other)?;
        l.release(mark);
        return Ok(());
    }
    let left = l.scalar(a)?;
    let left = numbers::keep(&mut l.function.builder, left, b);
    let left = marks::compared(&mut l.function.builder, a, left);
    let right = l.scalar(b)?;
    let right = marks::compared(&mut l.function.builder, b, right);
    let cond = condition_of(op, a.ty.is_signed());
    match (left, right) {
        (Operand::Imm(_), Operand::Reg(_)) => l.function.builder.branch(cond.swapped(), right, left, yes, no),
        _ => l.function.builder.branch(cond, left, right, yes, no),
    }
    Ok(())
}

const fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

const fn simple(op: BinaryOp) -> Alu {
    match op {
        BinaryOp::Sub => Alu::Sub,
        BinaryOp::Mul => Alu::Mul,
        BinaryOp::BitAnd => Alu::And,
        BinaryOp::BitOr => Alu::Or,
        BinaryOp::BitXor => Alu::Xor,
        _ => Alu::Add,
    }
}

const fn condition_of(op: BinaryOp, signed: bool) -> Cond {
    match (op, signed) {
        (BinaryOp::Ne, _) => Cond::Ne,
        (BinaryOp::Lt, false) => Cond::Lt,
        (BinaryOp::Lt, true) => Cond::SLt,
        (BinaryOp::Le, false) => Cond::Le,
        (BinaryOp::Le, true) => Cond::SLe,
        (BinaryOp::Gt, false) => Cond::Gt,
        (BinaryOp::Gt, true) => Cond::SGt,
        (BinaryOp::Ge, false) => Cond::Ge,
        (BinaryOp::Ge, true) => Cond::SGe,
        _ => Cond::Eq,
    }
}
