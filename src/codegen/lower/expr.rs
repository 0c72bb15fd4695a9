//! Expressions that fit a register.
//!
//! A register holds a value extended to 64 bits by its type: by sign when signed, with zeros
//! otherwise. Booleans are 0 and 1.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Inst, Operand, Vreg};
use crate::lang::typed::{Expr, ExprKind, LocalId, UnaryOp};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{LocalHome, Lowerer, Role};
use crate::codegen::lower::place::scalar_shape;

impl<'a> Lowerer<'_, 'a> {
    /// Computes an expression whose type fits a register.
    pub fn scalar(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        let previous = self.function.builder.set_span(e.span);
        let value = self.scalar_kind(e);
        self.function.builder.set_span(previous);
        value
    }

    /// The same in a register.
    pub fn scalar_register(&mut self, e: &'a Expr) -> Result<Vreg, CodegenError> {
        let value = self.scalar(e)?;
        Ok(self.function.builder.in_register(value))
    }

    fn scalar_kind(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        match &e.kind {
            ExprKind::Int(v) => Ok(Operand::Imm(*v as i64)),
            ExprKind::Local(id) => Ok(self.read_local(*id)),
            ExprKind::Builtin(builtin) => self.builtin(*builtin, e),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e),
            ExprKind::Unary(op, a) => self.unary(*op, a, e),
            ExprKind::And(..) | ExprKind::Or(..) => self.truth(e),
            ExprKind::Conditional(c, a, b) => {
                let value = self.conditional(c, a, b)?;
                Ok(self.joined(value, &e.ty))
            }
            ExprKind::Cast(a) => self.cast(a, e),
            ExprKind::Field { bits, .. } => {
                if let Some(value) = self.trusted_field(e)? {
                    return Ok(value);
                }
                let place = self.place(e)?;
                self.load_place(place, &e.ty, *bits, e.span)
            }
            ExprKind::Deref(_) | ExprKind::Index { .. } | ExprKind::TupleField(..) | ExprKind::Within { .. } => {
                let place = self.place(e)?;
                self.load_place(place, &e.ty, None, e.span)
            }
            ExprKind::AddressOf(a) => self.address_of(a),
            ExprKind::LocalStep { local, delta, postfix } => self.local_step(*local, *delta, *postfix),
            ExprKind::Block(block, value) => {
                self.block(block)?;
                self.scalar(value)
            }
            ExprKind::Call(intrinsic, args) => {
                let value = self.intrinsic_scalar(intrinsic, args, e)?;
                Ok(self.joined(value, &e.ty))
            }
            ExprKind::CallUser(id, args) => self.call_user(*id, args, e),
            ExprKind::MapGet { .. }
            | ExprKind::MapHas { .. }
            | ExprKind::MapDelete { .. }
            | ExprKind::MapFind { .. }
            | ExprKind::MapLen(_)
            | ExprKind::MapAddress(_)
            | ExprKind::MapStep { .. } => {
                let value = self.map_scalar(e)?;
                self.join_found(e);
                Ok(self.joined(value, &e.ty))
            }
            ExprKind::Str(_) => {
                let at = self.memory(e)?;
                Ok(self.pointer(at).into())
            }
            ExprKind::Tuple(_) => self.internal(e.span, "a tuple where a number is wanted"),
        }
    }

    /// The value of a local that fits a register.
    pub fn read_local(&mut self, id: LocalId) -> Operand {
        let (size, signed) = scalar_shape(&self.locals[id.0 as usize].ty);
        match self.homes[id.0 as usize] {
            LocalHome::Reg(vreg) => vreg.into(),
            // Frames hold scalars in 8 bytes each, already extended.
            LocalHome::Frame(at) => {
                let addr = self.frame(at);
                self.load(addr, 8, false).into()
            }
            LocalHome::Slot(slot) => self.load(Addr::new(Base::Slot(slot), 0), size, signed).into(),
            LocalHome::Scratch(at) => {
                let base = self.function.scratch();
                self.load(Addr::new(Base::Reg(base), at as i32), size, signed).into()
            }
        }
    }

    /// Assigns a local that fits a register.
    pub fn write_local(&mut self, id: LocalId, value: Operand) {
        let (size, _) = scalar_shape(&self.locals[id.0 as usize].ty);
        match self.homes[id.0 as usize] {
            LocalHome::Reg(vreg) => self.function.builder.copy_into(vreg, value),
            LocalHome::Frame(at) => {
                let addr = self.frame(at);
                self.store(addr, 8, value);
            }
            LocalHome::Slot(slot) => self.store(Addr::new(Base::Slot(slot), 0), size, value),
            LocalHome::Scratch(at) => {
                let base = self.function.scratch();
                self.store(Addr::new(Base::Reg(base), at as i32), size, value);
            }
        }
    }

    /// Memory of a local that does not fit a register.
    pub fn local_memory(&mut self, id: LocalId) -> Option<Addr> {
        Some(match self.homes[id.0 as usize] {
            LocalHome::Reg(_) => return None,
            LocalHome::Frame(at) => self.frame(at),
            LocalHome::Slot(slot) => Addr::new(Base::Slot(slot), 0),
            LocalHome::Scratch(at) => Addr::new(Base::Reg(self.function.scratch()), at as i32),
        })
    }

    /// A place in the frame that callbacks share with their program.
    pub fn frame(&mut self, at: u32) -> Addr {
        match (self.function.role, self.function.frame) {
            (Role::Callback(pointer), _) => Addr::new(Base::Reg(pointer), at as i32),
            (Role::Program, Some(slot)) => {
                // Functions with loops of their own add to it.
                self.function.builder.grow_slot(slot, self.frame_next);
                Addr::new(Base::Slot(slot), at as i32)
            }
            (Role::Program, None) => {
                let slot = self.function.builder.new_slot(self.frame_next);
                self.function.frame = Some(slot);
                Addr::new(Base::Slot(slot), at as i32)
            }
        }
    }

    fn local_step(&mut self, id: LocalId, delta: i64, postfix: bool) -> Result<Operand, CodegenError> {
        let old = self.read_local(id);
        let old = if postfix { Operand::Reg(self.function.builder.copy(old)) } else { old };
        let new = self.function.builder.add(old, delta);
        let new = self.wrap(new, &self.locals[id.0 as usize].ty);
        self.write_local(id, new.into());
        Ok(if postfix { old } else { new.into() })
    }

    fn unary(&mut self, op: UnaryOp, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
        if op == UnaryOp::Not {
            return self.truth(e);
        }
        let value = self.scalar(a)?;
        if let Operand::Imm(v) = value {
            let folded = if op == UnaryOp::Neg { v.wrapping_neg() } else { !v };
            return Ok(Operand::Imm(wrap_constant(folded, &e.ty)));
        }
        let value = self.function.builder.in_register(value);
        let result = match op {
            UnaryOp::Neg => self.function.builder.neg(value),
            _ => self.function.builder.alu(Alu::Xor, value, -1),
        };
        Ok(self.wrap(result, &e.ty).into())
    }

    fn conditional(&mut self, c: &'a Expr, a: &'a Expr, b: &'a Expr) -> Result<Operand, CodegenError> {
        let result = self.function.builder.new_vreg();
        let (then, otherwise, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.condition(c, then, otherwise)?;
        self.function.builder.switch_to(then);
        let value = self.scalar(a)?;
        self.function.builder.copy_into(result, value);
        self.function.builder.jump(done);
        self.function.builder.switch_to(otherwise);
        let value = self.scalar(b)?;
        self.function.builder.copy_into(result, value);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result.into())
    }

    fn cast(&mut self, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
        if !a.ty.fits_register() {
            return self.cast_from_memory(a, e);
        }
        let value = self.scalar(a)?;
        if e.ty == Type::Bool && a.ty != Type::Bool {
            return Ok(self.function.builder.compare(Cond::Ne, value, 0).into());
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
        let value = self.function.builder.in_register(value);
        Ok(self.wrap(value, &e.ty).into())
    }

    /// A byte array as an integer, or the number behind a compound formatted value.
    fn cast_from_memory(&mut self, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
        let place = self.place(a)?;
        if let Type::Array { of, len } = &a.ty {
            let (element, _) = scalar_shape(of);
            let bytes = element.saturating_mul(*len).min(8);
            let (size, _) = scalar_shape(&e.ty);
            if bytes.is_power_of_two() && bytes <= size {
                let ty = Type::Int { size: bytes as u8, signed: e.ty.is_signed() };
                return self.load_place(place, &ty, None, a.span);
            }
        }
        self.load_place(place, &e.ty, None, a.span)
    }

    /// Cuts a register to a type and extends it again.
    pub fn wrap(&mut self, value: Vreg, ty: &Type) -> Vreg {
        let (size, signed) = scalar_shape(ty);
        if size >= 8 {
            return value;
        }
        let dst = self.function.builder.new_vreg();
        self.function.builder.push(Inst::Extend { dst, src: value, bits: (size * 8) as u8, signed });
        dst
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
