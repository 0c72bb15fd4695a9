//! Expressions that fit a register.
//!
//! A register holds a value extended to 64 bits by its type: by sign when signed, with zeros
//! otherwise. Booleans are 0 and 1.

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg};
use crate::lang::typed::{Expr, ExprKind, LocalId, UnaryOp};
use crate::lang::types::Type;

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers::wrap_constant;
use crate::codegen::lower::place::{access, read, scalar_shape};
use crate::codegen::lower::{arith, builtin, intrinsic, maps, marks, numbers, trusted};

impl<'a> Lowerer<'_, 'a> {
    /// Computes an expression whose type fits a register.
    pub fn scalar(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let value = scalar_kind(self, e);
        self.function.builder.set_span(previous);
        value
    }

    /// The same in a register.
    pub fn scalar_register(&mut self, e: &'a Expr) -> Result<Vreg, CodegenError> {
        let value = self.scalar(e)?;
        Ok(self.function.builder.in_register(value))
    }
}

fn scalar_kind<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Operand, CodegenError> {
    match &e.kind {
        ExprKind::Int(v) => Ok(Operand::Imm(*v as i64)),
        ExprKind::Local(id) => Ok(l.variables.read(&mut l.function, *id)),
        ExprKind::Builtin(builtin) => builtin::scalar(l, *builtin, e),
        ExprKind::Binary(op, a, b) => arith::binary(l, *op, a, b, e),
        ExprKind::Unary(op, a) => unary(l, *op, a, e),
        ExprKind::And(..) | ExprKind::Or(..) => arith::truth(l, e),
        ExprKind::Conditional(c, a, b) => {
            let value = conditional(l, c, a, b)?;
            Ok(marks::joined(l, value, &e.ty))
        }
        ExprKind::Cast(a) => cast(l, a, e),
        ExprKind::Field { bits, .. } => {
            if let Some(value) = trusted::field(l, e)? {
                return Ok(value);
            }
            let place = l.place(e)?;
            read::load(l, place, &e.ty, *bits, e.span)
        }
        ExprKind::Deref(_) | ExprKind::Index { .. } | ExprKind::TupleField(..) | ExprKind::Within { .. } => {
            let place = l.place(e)?;
            read::load(l, place, &e.ty, None, e.span)
        }
        ExprKind::AddressOf(a) => access::address_of(l, a),
        ExprKind::LocalStep { local, delta, postfix } => local_step(l, *local, *delta, *postfix),
        ExprKind::Block(block, value) => {
            l.block(block)?;
            l.scalar(value)
        }
        ExprKind::Call(intrinsic, args) => {
            let value = intrinsic::scalar(l, intrinsic, args, e)?;
            Ok(marks::joined(l, value, &e.ty))
        }
        ExprKind::CallUser(id, args) => l.call_user(*id, args, e),
        ExprKind::MapGet { .. }
        | ExprKind::MapHas { .. }
        | ExprKind::MapDelete { .. }
        | ExprKind::MapFind { .. }
        | ExprKind::MapLen(_)
        | ExprKind::MapAddress(_)
        | ExprKind::MapStep { .. } => {
            let value = maps::scalar(l, e)?;
            marks::join_found(l, e);
            Ok(marks::joined(l, value, &e.ty))
        }
        ExprKind::Str(_) => {
            let at = l.memory(e)?;
            Ok(memory::pointer(&mut l.function.builder, at).into())
        }
        ExprKind::Tuple(_) => l.internal(e.span, "a tuple where a number is wanted"),
    }
}

fn local_step(l: &mut Lowerer<'_, '_>, id: LocalId, delta: i64, postfix: bool) -> Result<Operand, CodegenError> {
    let old = l.variables.read(&mut l.function, id);
    let old = if postfix { Operand::Reg(l.function.builder.copy(old)) } else { old };
    let new = l.function.builder.add(old, delta);
    let new = numbers::wrap(&mut l.function.builder, new, l.variables.ty(id));
    l.variables.write(&mut l.function, id, new.into());
    Ok(if postfix { old } else { new.into() })
}

fn unary<'a>(l: &mut Lowerer<'_, 'a>, op: UnaryOp, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
    if op == UnaryOp::Not {
        return arith::truth(l, e);
    }
    let value = l.scalar(a)?;
    if let Operand::Imm(v) = value {
        let folded = if op == UnaryOp::Neg { v.wrapping_neg() } else { !v };
        return Ok(Operand::Imm(wrap_constant(folded, &e.ty)));
    }
    let b = &mut l.function.builder;
    let value = b.in_register(value);
    let result = match op {
        UnaryOp::Neg => b.neg(value),
        _ => b.alu(Alu::Xor, value, -1),
    };
    Ok(numbers::wrap(b, result, &e.ty).into())
}

fn conditional<'a>(l: &mut Lowerer<'_, 'a>, c: &'a Expr, a: &'a Expr, b: &'a Expr) -> Result<Operand, CodegenError> {
    let result = l.function.builder.new_vreg();
    let [then, otherwise, done] = l.function.builder.new_blocks();
    l.condition(c, then, otherwise)?;
    l.function.builder.switch_to(then);
    let value = l.scalar(a)?;
    l.function.builder.copy_into(result, value);
    l.function.builder.jump(done);
    l.function.builder.switch_to(otherwise);
    let value = l.scalar(b)?;
    l.function.builder.copy_into(result, value);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(result.into())
}

fn cast<'a>(l: &mut Lowerer<'_, 'a>, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
    if !a.ty.fits_register() {
        return cast_from_memory(l, a, e);
    }
    let value = l.scalar(a)?;
    let b = &mut l.function.builder;
    if e.ty == Type::Bool && a.ty != Type::Bool {
        return Ok(flow::compare(b, Cond::Ne, value, 0).into());
    }
    if let Operand::Imm(v) = value {
        return Ok(Operand::Imm(wrap_constant(v, &e.ty)));
    }
    let ((from, from_signed), (to, to_signed)) = (scalar_shape(&a.ty), scalar_shape(&e.ty));
    // A register is already extended by its own type: widening keeps it, except that a negative
    // number in a wider unsigned type is its two's complement, cut to that type.
    let unchanged = to == 8 || (from == to && from_signed == to_signed) || (from < to && !from_signed);
    if unchanged {
        return Ok(value);
    }
    let value = b.in_register(value);
    Ok(numbers::wrap(b, value, &e.ty).into())
}

/// A byte array as an integer, or the number behind a compound formatted value.
fn cast_from_memory<'a>(l: &mut Lowerer<'_, 'a>, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
    let place = l.place(a)?;
    if let Type::Array { of, len } = &a.ty {
        let (element, _) = scalar_shape(of);
        let bytes = element.saturating_mul(*len).min(8);
        let (size, _) = scalar_shape(&e.ty);
        if bytes.is_power_of_two() && bytes <= size {
            let ty = Type::Int { size: bytes as u8, signed: e.ty.is_signed() };
            return read::load(l, place, &ty, None, a.span);
        }
    }
    read::load(l, place, &e.ty, None, a.span)
}
