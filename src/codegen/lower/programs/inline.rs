//! User-defined functions: lowered in place, with variables of their own.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::lang::typed::walk;
use crate::lang::typed::{Block, Expr, FunctionId, LocalId};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FRAME_RETURNED, FUNCTION_RETURNED, InlineReturn, Lowerer};
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::marks;
use crate::codegen::lower::programs::locals;
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::value::canonical::Tail;

impl<'a> Lowerer<'_, 'a> {
    /// A user-defined function whose result fits a register (or that has none).
    pub fn call_user(&mut self, id: FunctionId, args: &'a [Expr], e: &'a Expr) -> Result<Operand, CodegenError> {
        if !e.ty.fits_register() && e.ty != Type::Void {
            let at = self.memory(e)?;
            return Ok(memory::pointer(&mut self.function.builder, at).into());
        }
        let result = self.function.builder.new_vreg();
        self.function.builder.copy_into(result, 0);
        inline_call(self, id, args, e, Some(result), None)?;
        Ok(marks::joined(self, result.into(), &e.ty))
    }

    /// A user-defined function whose result goes to memory.
    pub fn call_user_into(
        &mut self,
        id: FunctionId,
        args: &'a [Expr],
        e: &'a Expr,
        dst: Addr,
        ty: &Type,
    ) -> Result<(), CodegenError> {
        inline_call(self, id, args, e, None, Some((dst, ty.clone())))
    }
}

/// Functions are lowered in place, with variables of their own.
fn inline_call<'a>(
    l: &mut Lowerer<'_, 'a>,
    id: FunctionId,
    args: &'a [Expr],
    e: &'a Expr,
    result: Option<Vreg>,
    memory: Option<(Addr, Type)>,
) -> Result<(), CodegenError> {
    if l.inlining.contains(&id.0) {
        return Err(CodegenError::unsupported(e.span, "a function that calls itself", "a loop instead"));
    }
    let Some(function) = l.object.program.functions.get(id.0 as usize) else {
        return l.internal(e.span, "a function that is not there");
    };
    let kept = kept_result(l, &function.body, result, memory.as_ref());
    // Arguments are computed with the caller's variables, then become the callee's.
    let mut scalars = Vec::new();
    for arg in args {
        let ready = if arg.ty.fits_register() {
            let value = l.scalar(arg)?;
            Err(l.function.builder.copy(value))
        } else {
            let size = l.object.size(&arg.ty);
            let temp = l.temp(size);
            l.store_value(arg, temp, &arg.ty, Tail::Zeroed)?;
            Ok(temp)
        };
        scalars.push(ready);
    }
    let caller = l.variables.enter(&function.locals);
    locals::place_locals(l, &function.body, None);
    for (index, (ready, arg)) in scalars.into_iter().zip(args).enumerate() {
        let local = LocalId(index as u32);
        match ready {
            Err(value) => l.variables.write(&mut l.function, local, value.into()),
            Ok(src) => {
                if let Some(dst) = l.variables.memory(&mut l.function, local) {
                    let ty = &function.locals[index].ty;
                    canonical::copy_value(l.object, &mut l.function.builder, src, dst, &arg.ty, ty);
                }
            }
        }
    }
    locals::initialise_locals(l, &function.body, function.parameters);
    let done = l.function.builder.new_block();
    let loops = std::mem::take(&mut l.function.loops);
    let iterators = l.iterators.len();
    l.inline.push(InlineReturn { done, result, memory, iterators, callbacks: l.callbacks, kept });
    l.inlining.push(id.0);
    let lowered = l.block(&function.body);
    l.inlining.pop();
    l.inline.pop();
    l.function.loops = loops;
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    if lowered.is_ok() {
        marks::end_function(l);
    }
    l.variables.leave(caller);
    lowered
}

/// Where callbacks of a function's loops leave its result.
fn kept_result(
    l: &mut Lowerer<'_, '_>,
    body: &Block,
    result: Option<Vreg>,
    memory: Option<&(Addr, Type)>,
) -> Option<u32> {
    if !has_callback_loop(body, l.object.cost_context()) {
        return None;
    }
    match (result, memory) {
        (Some(_), _) => Some(l.variables.reserve_in_frame(8)),
        (None, Some((_, ty))) => {
            let size = l.object.size(ty);
            Some(l.scratch_bytes(size))
        }
        (None, None) => None,
    }
}

/// A `return` inside a callback of a loop of the function: leaves the result where the function
/// finds it, and ends the loop.
pub fn return_from_callback<'a>(
    l: &mut Lowerer<'_, 'a>,
    inline: &InlineReturn,
    value: Option<&'a Expr>,
) -> Result<(), CodegenError> {
    match (value, inline.kept, &inline.memory) {
        (Some(e), Some(at), None) => {
            let value = l.scalar(e)?;
            let place = l.variables.frame(&mut l.function, at);
            memory::store(&mut l.function.builder, place, 8, value);
        }
        (Some(e), Some(at), Some((_, ty))) => {
            let dst = Addr::new(Base::Reg(l.function.scratch()), at as i32);
            l.store_value(e, dst, ty, Tail::Zeroed)?;
        }
        (value, ..) => {
            if let Some(e) = value {
                l.scalar(e)?;
            }
        }
    }
    l.destroy_iterators(0);
    let flag = l.variables.frame(&mut l.function, FRAME_RETURNED as u32);
    memory::store(&mut l.function.builder, flag, 8, FUNCTION_RETURNED);
    l.function.builder.ret(1);
    Ok(())
}

/// After a loop whose callback may have ended the function that it is in.
pub fn take_returned(l: &mut Lowerer<'_, '_>) -> Result<(), CodegenError> {
    let Some(inline) = l.inline.last().cloned() else { return Ok(()) };
    let flag = l.variables.frame(&mut l.function, FRAME_RETURNED as u32);
    let returned = memory::load(&mut l.function.builder, flag, 8, false);
    l.when(Cond::Eq, returned.into(), FUNCTION_RETURNED.into(), |l| {
        if inline.callbacks < l.callbacks {
            // Still inside another loop of the function.
            l.destroy_iterators(0);
            l.function.builder.ret(1);
            return Ok(());
        }
        let flag = l.variables.frame(&mut l.function, FRAME_RETURNED as u32);
        memory::store(&mut l.function.builder, flag, 8, 0);
        match (inline.kept, inline.result, &inline.memory) {
            (Some(at), Some(result), _) => {
                let place = l.variables.frame(&mut l.function, at);
                let value = memory::load(&mut l.function.builder, place, 8, false);
                l.function.builder.copy_into(result, value);
            }
            (Some(at), None, Some((dst, ty))) => {
                let src = Addr::new(Base::Reg(l.function.scratch()), at as i32);
                canonical::copy_value(l.object, &mut l.function.builder, src, *dst, ty, ty);
            }
            _ => {}
        }
        l.destroy_iterators(inline.iterators);
        l.function.builder.jump(inline.done);
        Ok(())
    })
}

/// Whether a loop of the body is made as a callback, from which `return` can't leave the function.
fn has_callback_loop(body: &Block, context: CostContext<'_>) -> bool {
    let mut found = false;
    walk::each_placed(body, &mut |before, s| found |= is_callback(context, before, s));
    found
}
