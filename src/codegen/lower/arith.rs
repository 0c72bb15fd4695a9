//! Arithmetic, comparisons and conditions.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg};
use crate::codegen::lower::walk;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::place::scalar_shape;

impl<'a> Lowerer<'_, 'a> {
    /// A binary operator on two values of one type.
    pub fn binary(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
        if is_comparison(op) {
            return self.truth(e);
        }
        let left = self.scalar(a)?;
        let left = self.keep(left, b);
        let right = self.scalar(b)?;
        let result = match op {
            BinaryOp::Div | BinaryOp::Mod => self.divide(op, left, right, e)?,
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, left, right, e),
            _ => self.function.builder.alu(simple(op), left, right),
        };
        Ok(self.wrap(result, &e.ty).into())
    }

    /// A value that stays as it is while `next` is computed: a variable's register may change.
    pub fn keep(&mut self, value: Operand, next: &Expr) -> Operand {
        if matches!(value, Operand::Imm(_)) || walk::is_pure(next) {
            return value;
        }
        self.function.builder.copy(value).into()
    }

    fn shift(&mut self, op: BinaryOp, left: Operand, right: Operand, e: &Expr) -> Vreg {
        let (size, signed) = scalar_shape(&e.ty);
        let bits = i64::from(size * 8);
        let count = match right {
            Operand::Imm(n) => Operand::Imm(n & (bits - 1)),
            Operand::Reg(r) => self.function.builder.and(r, bits - 1).into(),
        };
        let alu = match (op, signed) {
            (BinaryOp::Shl, _) => Alu::Shl,
            (_, true) => Alu::Sar,
            (_, false) => Alu::Shr,
        };
        self.function.builder.alu(alu, left, count)
    }

    fn divide(&mut self, op: BinaryOp, left: Operand, right: Operand, e: &Expr) -> Result<Vreg, CodegenError> {
        let alu = if op == BinaryOp::Div { Alu::Div } else { Alu::Mod };
        let signed = e.ty.is_signed();
        if let Operand::Imm(n) = right
            && n != 0
        {
            return Ok(self.divide_by_constant(alu, left, n, signed));
        }
        let result = self.function.builder.new_vreg();
        let (fine, zero, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let left = self.function.builder.in_register(left);
        let right = self.function.builder.in_register(right);
        self.function.builder.branch(Cond::Ne, right, 0, fine, zero);
        self.function.builder.switch_to(zero);
        self.failed(LossCause::DivideByZero, None, e.span);
        self.function.builder.copy_into(result, 1);
        self.function.builder.jump(done);
        self.function.builder.switch_to(fine);
        let value =
            if signed { self.signed_divide(alu, left, right)? } else { self.function.builder.alu(alu, left, right) };
        self.function.builder.copy_into(result, value);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result)
    }

    fn divide_by_constant(&mut self, alu: Alu, left: Operand, n: i64, signed: bool) -> Vreg {
        if !signed {
            let n_ = n as u64;
            if n_.is_power_of_two() {
                return match alu {
                    Alu::Div => self.function.builder.shr(left, i64::from(n_.trailing_zeros())),
                    _ => self.function.builder.and(left, n.wrapping_sub(1)),
                };
            }
            // The divisor is a register when it does not fit 32 bits with its sign.
            return self.function.builder.alu(alu, left, n);
        }
        let value = self.function.builder.in_register(left);
        let magnitude = self.absolute(value);
        let quotient = self.function.builder.alu(alu, magnitude, n.unsigned_abs() as i64);
        let sign = if alu == Alu::Div && n < 0 { self.function.builder.alu(Alu::Xor, value, -1) } else { value };
        self.with_sign_of(quotient, sign)
    }

    /// Signed division from the unsigned one: of the magnitudes, then the sign. The quotient is
    /// negative when the signs differ, the remainder has the dividend's sign; the smallest number
    /// divided by -1 is itself, as its magnitude wraps.
    fn signed_divide(&mut self, alu: Alu, left: Vreg, right: Vreg) -> Result<Vreg, CodegenError> {
        let (a, b) = (self.absolute(left), self.absolute(right));
        let magnitude = self.function.builder.alu(alu, a, b);
        let sign = if alu == Alu::Div { self.function.builder.alu(Alu::Xor, left, right) } else { left };
        Ok(self.with_sign_of(magnitude, sign))
    }

    /// `total / count` rounded towards zero; 0 when there is nothing.
    pub fn average(&mut self, total: Vreg, count: Vreg, signed: bool) -> Result<Vreg, CodegenError> {
        // The instruction set divides by zero to 0.
        if signed {
            self.signed_divide(Alu::Div, total, count)
        } else {
            Ok(self.function.builder.alu(Alu::Div, total, count))
        }
    }

    /// `|v|` without a branch: `(v ^ s) - s` with `s` all sign bits.
    fn absolute(&mut self, value: Vreg) -> Vreg {
        let sign = self.function.builder.alu(Alu::Sar, value, 63);
        let flipped = self.function.builder.alu(Alu::Xor, value, sign);
        self.function.builder.sub(flipped, sign)
    }

    /// `magnitude`, negated when `sign` is negative.
    fn with_sign_of(&mut self, magnitude: Vreg, sign: Vreg) -> Vreg {
        let sign = self.function.builder.alu(Alu::Sar, sign, 63);
        let flipped = self.function.builder.alu(Alu::Xor, magnitude, sign);
        self.function.builder.sub(flipped, sign)
    }

    /// An expression as 0 or 1.
    pub fn truth(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        let result = self.function.builder.new_vreg();
        let (yes, no, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.condition(e, yes, no)?;
        self.function.builder.switch_to(yes);
        self.function.builder.copy_into(result, 1);
        self.function.builder.jump(done);
        self.function.builder.switch_to(no);
        self.function.builder.copy_into(result, 0);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(self.joined(result.into(), &e.ty))
    }

    /// Branches on an expression.
    pub fn condition(&mut self, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let result = self.condition_kind(e, yes, no);
        self.function.builder.set_span(previous);
        result
    }

    fn condition_kind(&mut self, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
        match &e.kind {
            ExprKind::Int(v) => {
                self.function.builder.jump(if *v != 0 { yes } else { no });
                Ok(())
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.condition(a, no, yes),
            ExprKind::And(a, b) => {
                let more = self.function.builder.new_block();
                self.condition(a, more, no)?;
                self.function.builder.switch_to(more);
                self.condition(b, yes, no)
            }
            ExprKind::Or(a, b) => {
                let more = self.function.builder.new_block();
                self.condition(a, yes, more)?;
                self.function.builder.switch_to(more);
                self.condition(b, yes, no)
            }
            ExprKind::Binary(op, a, b) if is_comparison(*op) => self.comparison(*op, a, b, yes, no),
            ExprKind::Cast(a) if e.ty == Type::Bool && a.ty.fits_register() => self.condition(a, yes, no),
            _ if !e.ty.fits_register() => self.memory_condition(e, yes, no),
            _ => {
                let value = self.scalar(e)?;
                let value = self.compared(e, value);
                self.function.builder.branch(Cond::Ne, value, 0, yes, no);
                Ok(())
            }
        }
    }

    /// Strings are true when not empty; stacks and addresses when their first word is not 0.
    fn memory_condition(&mut self, e: &'a Expr, yes: BlockId, no: BlockId) -> Result<(), CodegenError> {
        let addr = self.memory(e)?;
        let bytes = if matches!(e.ty, Type::Str { .. }) { 1 } else { 4 };
        let value = self.load(addr, bytes, false);
        self.function.builder.branch(Cond::Ne, value, 0, yes, no);
        Ok(())
    }

    fn comparison(
        &mut self,
        op: BinaryOp,
        a: &'a Expr,
        b: &'a Expr,
        yes: BlockId,
        no: BlockId,
    ) -> Result<(), CodegenError> {
        if !a.ty.fits_register() || !b.ty.fits_register() {
            let mark = self.mark();
            let (same, other) = if op == BinaryOp::Ne { (no, yes) } else { (yes, no) };
            self.memory_equal(a, b, same, other)?;
            self.release(mark);
            return Ok(());
        }
        let left = self.scalar(a)?;
        let left = self.keep(left, b);
        let left = self.compared(a, left);
        let right = self.scalar(b)?;
        let right = self.compared(b, right);
        let cond = condition_of(op, a.ty.is_signed());
        match (left, right) {
            (Operand::Imm(_), Operand::Reg(_)) => self.function.builder.branch(cond.swapped(), right, left, yes, no),
            _ => self.function.builder.branch(cond, left, right, yes, no),
        }
        Ok(())
    }
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
