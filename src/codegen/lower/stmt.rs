//! Statements.

use crate::codegen::error::CodegenError;
use crate::lang::typed::{Block, Expr, ExprKind, LocalId, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::stats::LossCause;
use crate::model::target::Target;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::choice::while_strategy;
use crate::codegen::lower::loops::strategy::LoopStrategy;
use crate::codegen::lower::loops::{bounded_loop_lint, callback, counted};
use crate::codegen::lower::maps::{aggregate, write};
use crate::codegen::lower::place::part;
use crate::codegen::lower::programs::{brake, inline};
use crate::codegen::lower::scopes::Part;
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{function, layout, loops, marks, object, reports};

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
            let result = lower_statement(self, statement, &block.statements[..at]);
            self.release(mark);
            self.function.builder.set_span(previous);
            // After a refusal the function at hand may be another one.
            result?;
            marks::end_temporaries(self, used);
            marks::mark_helper_reads(self, block.id, at, statement);
            marks::end_scope(self, Part::Statement(block.id, at));
        }
        marks::end_scope(self, Part::Block(block.id));
        Ok(())
    }

    /// An expression for its effect.
    pub(in crate::lower) fn effect(&mut self, e: &'a Expr) -> Result<(), CodegenError> {
        match &e.kind {
            ExprKind::MapStep { map, key, delta, .. } => {
                write::step(self, *map, key.as_deref(), delta, None, e)?;
            }
            ExprKind::Block(block, value) => {
                self.block(block)?;
                self.effect(value)?;
            }
            _ if e.is_pure() => {}
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

    /// Ends the probe.
    pub fn leave(&mut self) {
        self.destroy_iterators(0);
        match self.function.role {
            function::Role::Program => {
                let exit = self.function.exit;
                self.function.builder.jump(exit);
            }
            function::Role::Callback(_) => {
                let flag = self.variables.frame(&mut self.function, function::FRAME_RETURNED as u32);
                memory::store(&mut self.function.builder, flag, 8, 1);
                self.function.builder.ret(1);
            }
        }
    }
}

/// Lowers a statement; `before` are those before it in its block.
fn lower_statement<'a>(l: &mut Lowerer<'_, 'a>, s: &'a Statement, before: &'a [Statement]) -> Result<(), CodegenError> {
    match &s.kind {
        StatementKind::Expr(e) => l.effect(e),
        StatementKind::SetLocal(id, e) => set_local(l, *id, e),
        StatementKind::SetMap { map, key, value } => write::set(l, *map, key.as_ref(), value, s.span),
        StatementKind::Store { place, value } => part::store_part(l, place, value),
        StatementKind::Aggregate { map, key, value, weight } => {
            aggregate::update(l, *map, key.as_ref(), value.as_ref(), weight.as_ref(), s.span)
        }
        StatementKind::Report { action, values } => reports::send(l, *action, values, s.span),
        StatementKind::If(c, a, b) => {
            if_statement(l, c, a, b)?;
            marks::join_arms(l, [a, b]);
            Ok(())
        }
        StatementKind::While(c, body) => {
            while_loop(l, c, body, before)?;
            brake::leave_when_braked(l);
            Ok(())
        }
        StatementKind::ForRange { local, start, end, body } => {
            l.known.invalidate_all();
            loops::for_range(l, *local, start, end, body, s.span)?;
            brake::leave_when_braked(l);
            Ok(())
        }
        StatementKind::ForMap { local, map, body } => {
            l.known.invalidate_all();
            callback::for_map(l, *local, *map, body, s.span)?;
            brake::leave_when_braked(l);
            Ok(())
        }
        StatementKind::Unroll(n, body) => unroll(l, *n, body),
        StatementKind::Break => leave_loop(l, s, true),
        StatementKind::Continue => leave_loop(l, s, false),
        StatementKind::Return(value) => return_statement(l, value.as_ref()),
        StatementKind::Fault(code) => {
            if !l.leave_by(*code, s.span) {
                l.count_loss(LossCause::ReadFailed, None, s.span);
            }
            Ok(())
        }
        StatementKind::Block(block) => l.block(block),
    }
}

fn set_local<'a>(l: &mut Lowerer<'_, 'a>, id: LocalId, e: &'a Expr) -> Result<(), CodegenError> {
    let ty = l.variables.ty(id);
    if ty.fits_register() {
        let value = l.scalar(e)?;
        l.variables.write(&mut l.function, id, value);
        return Ok(());
    }
    let Some(dst) = l.variables.memory(&mut l.function, id) else {
        return l.internal(e.span, "a variable without memory");
    };
    if e.mentions(id) {
        let size = l.object.size(ty);
        let temp = l.temp(size);
        l.store_value(e, temp, ty, Tail::Zeroed)?;
        memory::copy(&mut l.function.builder, dst, temp, size);
    } else {
        l.store_value(e, dst, ty, Tail::Zeroed)?;
    }
    marks::join_local(l, id, e);
    Ok(())
}

fn if_statement<'a>(l: &mut Lowerer<'_, 'a>, c: &'a Expr, a: &'a Block, b: &'a Block) -> Result<(), CodegenError> {
    let [then, done] = l.function.builder.new_blocks();
    let otherwise = if b.statements.is_empty() { done } else { l.function.builder.new_block() };
    l.condition(c, then, otherwise)?;
    l.function.builder.switch_to(then);
    l.block(a)?;
    l.function.builder.jump(done);
    if otherwise != done {
        l.function.builder.switch_to(otherwise);
        l.block(b)?;
        l.function.builder.jump(done);
    }
    l.function.builder.switch_to(done);
    Ok(())
}

/// `while`; `before` are the statements before it in its block.
fn while_loop<'a>(
    l: &mut Lowerer<'_, 'a>,
    c: &'a Expr,
    body: &'a Block,
    before: &'a [Statement],
) -> Result<(), CodegenError> {
    l.known.invalidate_all();
    let strategy = while_strategy(l.object.cost_context(), before, c, body);
    let most = counted::iterations(before, c, body);
    match strategy {
        LoopStrategy::Iterator => return loops::while_iterator(l, most, c, body),
        LoopStrategy::Callback => return callback::while_callback(l, most, c, body),
        LoopStrategy::Unrolled { iterations } => return loops::unrolled_while(l, iterations, c, body),
        LoopStrategy::Plain { iterations } => {
            bounded_loop_lint::warn_of_iterations(l.object, Some(iterations), body, c.span);
            brake::add_steps(l, iterations, Some(c), body);
        }
        LoopStrategy::None => {
            bounded_loop_lint::warn_of_iterations(l.object, most, body, c.span);
            brake::look_before_loop(l);
        }
    }
    let b = &mut l.function.builder;
    let [head, inside, done] = b.new_blocks();
    b.jump(head);
    b.switch_to(head);
    if strategy == LoopStrategy::None {
        brake::add_steps(l, 1, Some(c), body);
    }
    loops::while_iteration(l, c, body, (head, inside, done))?;
    marks::end_loop(l, body);
    Ok(())
}

fn unroll<'a>(l: &mut Lowerer<'_, 'a>, n: u32, body: &'a Block) -> Result<(), CodegenError> {
    let done = l.function.builder.new_block();
    brake::add_steps(l, u64::from(n), None, body);
    for _ in 0..n {
        let next = l.function.builder.new_block();
        loops::one_iteration(l, body, done, next)?;
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    marks::end_loop(l, body);
    Ok(())
}

fn leave_loop(l: &mut Lowerer<'_, '_>, s: &Statement, out: bool) -> Result<(), CodegenError> {
    let Some(targets) = l.function.loops.last().copied() else {
        return l.internal(s.span, "break or continue outside of a loop");
    };
    l.function.builder.jump(if out { targets.on_break } else { targets.on_continue });
    Ok(())
}

fn return_statement<'a>(l: &mut Lowerer<'_, 'a>, value: Option<&'a Expr>) -> Result<(), CodegenError> {
    let Some(inline) = l.inline.last().cloned() else {
        // The number that a probe returns is of no use to the kernel; a test's is read from the
        // shared section, which a loop's callback reaches too.
        if let Some(e) = value.filter(|_| is_test(l)) {
            let result = l.scalar(e)?;
            let section = l.object.section(layout::SHARED);
            let at = l.function.builder.address(section.at(object::RESULT));
            memory::store(&mut l.function.builder, Addr::new(Base::Reg(at), 0), 8, result);
        } else if let Some(e) = value.filter(|e| !e.is_pure()) {
            l.effect(e)?;
        }
        l.leave();
        return Ok(());
    };
    if inline.callbacks < l.callbacks {
        return inline::return_from_callback(l, &inline, value);
    }
    if let Some(e) = value {
        if let Some(result) = inline.result {
            let value = l.scalar(e)?;
            l.function.builder.copy_into(result, value);
        } else if let Some((dst, ty)) = inline.memory {
            l.store_value(e, dst, &ty, Tail::Zeroed)?;
        }
    }
    l.destroy_iterators(inline.iterators);
    l.function.builder.jump(inline.done);
    Ok(())
}

fn is_test(l: &Lowerer<'_, '_>) -> bool {
    matches!(l.probe.targets.get(l.target), Some(Target::Test(_)))
}
