//! Statements.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand};
use crate::codegen::lower::function;
use crate::codegen::lower::layout;
use crate::codegen::lower::object;
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, ExprKind, LocalId, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::stats::LossCause;
use crate::model::target::Target;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::choice::while_strategy;
use crate::codegen::lower::loops::counted;
use crate::codegen::lower::loops::strategy::LoopStrategy;
use crate::codegen::lower::scopes::{Mentions, Part};
use crate::codegen::lower::value::Tail;
use crate::codegen::lower::walk;

impl<'a> Lowerer<'_, 'a> {
    /// Lowers a block.
    pub fn block(&mut self, block: &'a Block) -> Result<(), CodegenError> {
        for (at, statement) in block.statements.iter().enumerate() {
            if self.function.builder.is_terminated() {
                // Whatever follows `return` or `break` never runs.
                break;
            }
            let previous = self.function.builder.set_span(statement.span);
            let (mark, used) = (self.mark(), self.function.used());
            let result = self.statement(statement, &block.statements[..at]);
            self.release(mark);
            self.function.builder.set_span(previous);
            // After a refusal the function at hand may be another one.
            result?;
            self.end_temporaries(used);
            self.mark_helper_reads(block.id, at, statement);
            self.end_scope(Part::Statement(block.id, at));
        }
        self.end_scope(Part::Block(block.id));
        Ok(())
    }

    /// Lowers a statement; `before` are those before it in its block.
    fn statement(&mut self, s: &'a Statement, before: &'a [Statement]) -> Result<(), CodegenError> {
        match &s.kind {
            StatementKind::Expr(e) => self.effect(e),
            StatementKind::SetLocal(id, e) => self.set_local(*id, e),
            StatementKind::SetMap { map, key, value } => self.map_set(*map, key.as_ref(), value, s.span),
            StatementKind::Store { place, value } => self.store_part(place, value),
            StatementKind::Aggregate { map, key, value, weight } => {
                self.aggregate(*map, key.as_ref(), value.as_ref(), weight.as_ref(), s.span)
            }
            StatementKind::Report { action, values } => self.report(*action, values, s.span),
            StatementKind::If(c, a, b) => {
                self.if_statement(c, a, b)?;
                self.join_arms([a, b]);
                Ok(())
            }
            StatementKind::While(c, body) => {
                self.while_loop(c, body, before)?;
                self.leave_when_braked();
                Ok(())
            }
            StatementKind::ForRange { local, start, end, body } => {
                self.known.invalidate_all();
                self.for_range(*local, start, end, body, s.span)?;
                self.leave_when_braked();
                Ok(())
            }
            StatementKind::ForMap { local, map, body } => {
                self.known.invalidate_all();
                self.for_map(*local, *map, body, s.span)?;
                self.leave_when_braked();
                Ok(())
            }
            StatementKind::Unroll(n, body) => self.unroll(*n, body),
            StatementKind::Break => self.leave_loop(s, true),
            StatementKind::Continue => self.leave_loop(s, false),
            StatementKind::Return(value) => self.return_statement(value.as_ref()),
            StatementKind::Fault(code) => {
                if !self.leave_by(*code, s.span) {
                    self.count_loss(LossCause::ReadFailed, None, s.span);
                }
                Ok(())
            }
            StatementKind::Block(block) => self.block(block),
        }
    }

    /// An expression for its effect.
    pub(in crate::codegen::lower) fn effect(&mut self, e: &'a Expr) -> Result<(), CodegenError> {
        match &e.kind {
            ExprKind::MapStep { map, key, delta, .. } => {
                self.map_step(*map, key.as_deref(), delta, None, e)?;
            }
            ExprKind::Block(block, value) => {
                self.block(block)?;
                self.effect(value)?;
            }
            _ if walk::is_pure(e) => {}
            ExprKind::CallUser(id, args) => {
                self.call_user(*id, args, e)?;
            }
            _ if e.ty.fits_register() || e.ty == Type::Void => {
                self.scalar(e)?;
            }
            _ => {
                self.memory(e)?;
            }
        }
        Ok(())
    }

    /// `$x = e`.
    pub fn set_local(&mut self, id: LocalId, e: &'a Expr) -> Result<(), CodegenError> {
        let ty = &self.locals[id.0 as usize].ty;
        if ty.fits_register() {
            let value = self.scalar(e)?;
            self.write_local(id, value);
            return Ok(());
        }
        let Some(dst) = self.local_memory(id) else {
            return self.internal(e.span, "a variable without memory");
        };
        if walk::expr_mentions(e, id) {
            let size = self.size(ty);
            let temp = self.temp(size);
            self.store_value(e, temp, ty, Tail::Zeroed)?;
            self.copy(dst, temp, size);
        } else {
            self.store_value(e, dst, ty, Tail::Zeroed)?;
        }
        self.join_local(id, e);
        Ok(())
    }

    /// Writes a part of a variable.
    fn store_part(&mut self, place: &'a Expr, value: &'a Expr) -> Result<(), CodegenError> {
        let size = self.size(&place.ty);
        if place.ty.fits_register() {
            let scalar = self.scalar(value)?;
            let scalar = self.function.builder.copy(scalar);
            let at = self.own_part(place)?;
            let bytes = super::place::scalar_shape(&place.ty).0;
            self.store(at, bytes, scalar);
            return Ok(());
        }
        let temp = self.temp(size);
        self.store_value(value, temp, &place.ty, Tail::Zeroed)?;
        let at = self.own_part(place)?;
        self.copy(at, temp, size);
        Ok(())
    }

    /// Where a part of a variable lies.
    fn own_part(&mut self, e: &'a Expr) -> Result<Addr, CodegenError> {
        match &e.kind {
            ExprKind::Local(id) => match self.local_memory(*id) {
                Some(at) => Ok(at),
                None => self.internal(e.span, "a part of a variable in a register"),
            },
            ExprKind::MapGet { map, key: None } => match self.scalar_map(*map) {
                Some(scalar) => {
                    self.known.invalidate(*map);
                    self.store(scalar.present, 1, 1);
                    Ok(scalar.value)
                }
                None => self.internal(e.span, "a part of a keyed variable"),
            },
            ExprKind::Field { base, offset, .. } => Ok(self.own_part(base)?.at(*offset)),
            ExprKind::Index { base, index } => {
                let Type::Array { len, .. } = base.ty else { return self.internal(e.span, "an element of no array") };
                let size = self.size(&e.ty);
                if let Some(i) = index.as_int() {
                    let at = self.own_part(base)?;
                    return Ok(at.at((i as u32).wrapping_mul(size)));
                }
                let index = self.scalar(index)?;
                let index = self.function.builder.copy(index);
                self.when(Cond::Ge, index.into(), i64::from(len).into(), |l| {
                    l.failed(LossCause::OutOfBounds, None, e.span);
                    l.function.builder.copy_into(index, 0);
                    Ok(())
                })?;
                let base = self.own_part(base)?;
                let start = self.pointer(base);
                let mask = i64::from(len.max(1).next_power_of_two() - 1);
                let index = self.function.builder.and(index, mask);
                self.at_most(index, i64::from(len.max(1)) - 1)?;
                let scaled = self.function.builder.mul(index, i64::from(size));
                let at = self.function.builder.add(start, scaled);
                Ok(Addr::new(Base::Reg(at), 0))
            }
            ExprKind::Within { local, offset } => self.within(*local, offset, self.size(&e.ty)),
            _ => self.internal(e.span, "a part of what is no variable"),
        }
    }

    /// The largest power of two that fits twice into a local that is an array of bytes.
    pub(in crate::codegen::lower) fn half_of(&self, id: LocalId, span: Span) -> Result<u32, CodegenError> {
        match self.locals[id.0 as usize].ty {
            Type::Array { len, .. } => Ok(1 << (len.max(2).ilog2() - 1)),
            _ => self.internal(span, "a place inside of what is no array"),
        }
    }

    /// A place of `size` bytes inside a local that is an array of bytes, at an offset that is not known before. The array
    /// has room for two of the largest power of two in it: whatever begins in the first half ends within.
    pub(in crate::codegen::lower) fn within(
        &mut self,
        id: LocalId,
        offset: &'a Expr,
        size: u32,
    ) -> Result<Addr, CodegenError> {
        let half = self.half_of(id, offset.span)?;
        if size > half {
            let (what, span) = ("a value in scratch memory".to_owned(), offset.span);
            let (size, limit) = (u64::from(size), u64::from(half));
            return Err(CodegenError::TooLarge { span, what, size, limit, hint: None });
        }
        let offset_value = self.scalar(offset)?;
        let at = self.function.builder.copy(offset_value);
        self.when(Cond::Ge, at.into(), i64::from(half).into(), |l| {
            l.failed(LossCause::ReadFailed, None, offset.span);
            l.function.builder.copy_into(at, 0);
            Ok(())
        })?;
        let at = self.function.builder.and(at, i64::from(half - 1));
        let Some(base) = self.local_memory(id) else {
            return self.internal(offset.span, "a place inside of a variable without memory");
        };
        let start = self.pointer(base);
        let at = self.function.builder.add(start, at);
        Ok(Addr::new(Base::Reg(at), 0))
    }

    fn if_statement(&mut self, c: &'a Expr, a: &'a Block, b: &'a Block) -> Result<(), CodegenError> {
        let (then, done) = (self.function.builder.new_block(), self.function.builder.new_block());
        let otherwise = if b.statements.is_empty() { done } else { self.function.builder.new_block() };
        self.condition(c, then, otherwise)?;
        self.function.builder.switch_to(then);
        self.block(a)?;
        self.function.builder.jump(done);
        if otherwise != done {
            self.function.builder.switch_to(otherwise);
            self.block(b)?;
            self.function.builder.jump(done);
        }
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// `while`; `before` are the statements before it in its block.
    fn while_loop(&mut self, c: &'a Expr, body: &'a Block, before: &'a [Statement]) -> Result<(), CodegenError> {
        self.known.invalidate_all();
        let strategy = while_strategy(self.object.scale(), before, c, body);
        match strategy {
            LoopStrategy::Iterator => return self.while_iterator(c, body),
            LoopStrategy::Callback => return self.while_callback(c, body),
            LoopStrategy::Unrolled { iterations } => return self.unrolled_while(iterations, c, body),
            LoopStrategy::Plain { iterations } => {
                self.warn_of_iterations(Some(iterations), body, c.span);
                self.add_steps(iterations, Some(c), body);
            }
            LoopStrategy::None => {
                self.warn_of_iterations(counted::iterations(before, c, body), body, c.span);
                self.look_before_loop();
            }
        }
        let (head, inside, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        if strategy == LoopStrategy::None {
            self.add_steps(1, Some(c), body);
        }
        self.while_iteration(c, body, (head, inside, done))?;
        self.end_loop(body);
        Ok(())
    }

    fn unroll(&mut self, n: u32, body: &'a Block) -> Result<(), CodegenError> {
        let done = self.function.builder.new_block();
        self.add_steps(u64::from(n), None, body);
        for _ in 0..n {
            let next = self.function.builder.new_block();
            self.unrolled_iteration(body, done, next)?;
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.end_loop(body);
        Ok(())
    }

    fn leave_loop(&mut self, s: &Statement, out: bool) -> Result<(), CodegenError> {
        let Some(targets) = self.function.loops.last().copied() else {
            return self.internal(s.span, "break or continue outside of a loop");
        };
        self.function.builder.jump(if out { targets.on_break } else { targets.on_continue });
        Ok(())
    }

    fn return_statement(&mut self, value: Option<&'a Expr>) -> Result<(), CodegenError> {
        let Some(inline) = self.inline.last().cloned() else {
            // The number that a probe returns is of no use to the kernel; a test's is read from the
            // shared section, which a loop's callback reaches too.
            if let Some(e) = value.filter(|_| self.is_test()) {
                let result = self.scalar(e)?;
                let section = self.object.section(layout::SHARED);
                let at = self.function.builder.global_addr(section, object::RESULT);
                self.store(Addr::new(Base::Reg(at), 0), 8, result);
            } else if let Some(e) = value.filter(|e| !walk::is_pure(e)) {
                self.effect(e)?;
            }
            self.leave();
            return Ok(());
        };
        if inline.callbacks < self.callbacks {
            return self.return_from_callback(&inline, value);
        }
        if let Some(e) = value {
            if let Some(result) = inline.result {
                let value = self.scalar(e)?;
                self.function.builder.copy_into(result, value);
            } else if let Some((dst, ty)) = inline.memory {
                self.store_value(e, dst, &ty, Tail::Zeroed)?;
            }
        }
        self.destroy_iterators(inline.iterators);
        self.function.builder.jump(inline.done);
        Ok(())
    }

    fn is_test(&self) -> bool {
        matches!(self.probe.targets.get(self.target), Some(Target::Test(_)))
    }

    /// Ends the probe.
    pub fn leave(&mut self) {
        self.destroy_iterators(0);
        match self.function.role {
            function::Role::Program => {
                let exit = self.function.exit;
                self.function.builder.jump(exit);
            }
            function::Role::Callback(_) => {
                let flag = self.frame(function::FRAME_RETURNED as u32);
                self.store(flag, 8, 1);
                self.function.builder.ret(1);
            }
        }
    }

    /// Gives locals their homes' first value: zero where they may be read before they are set.
    pub fn initialise_locals(&mut self, body: &'a Block, skip: u32) {
        let mut mentions = Mentions::default();
        for index in (skip as usize)..self.locals.len() {
            let id = LocalId(index as u32);
            if mentions.assigned_first(body, id) {
                continue;
            }
            let ty = &self.locals[index].ty;
            if ty.fits_register() {
                self.write_local(id, Operand::Imm(0));
            } else if let Some(addr) = self.local_memory(id) {
                let size = self.size(ty);
                self.zero(addr, size);
            }
        }
    }
}
