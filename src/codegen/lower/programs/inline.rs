//! User-defined functions: lowered in place, with variables of their own.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::codegen::lower::walk;
use crate::lang::typed::{Block, Expr, FunctionId, LocalId};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{FRAME_RETURNED, FUNCTION_RETURNED, InlineReturn, Lowerer};
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::value::Tail;

impl<'a> Lowerer<'_, 'a> {
    /// A user-defined function whose result fits a register (or that has none).
    pub fn call_user(&mut self, id: FunctionId, args: &'a [Expr], e: &'a Expr) -> Result<Operand, CodegenError> {
        if !e.ty.fits_register() && e.ty != Type::Void {
            let at = self.memory(e)?;
            return Ok(self.pointer(at).into());
        }
        let result = self.function.builder.new_vreg();
        self.function.builder.copy_into(result, 0);
        self.inline_call(id, args, e, Some(result), None)?;
        Ok(self.joined(result.into(), &e.ty))
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
        self.inline_call(id, args, e, None, Some((dst, ty.clone())))
    }

    /// Functions are lowered in place, with variables of their own.
    fn inline_call(
        &mut self,
        id: FunctionId,
        args: &'a [Expr],
        e: &'a Expr,
        result: Option<Vreg>,
        memory: Option<(Addr, Type)>,
    ) -> Result<(), CodegenError> {
        if self.inlining.contains(&id.0) {
            return self.unsupported(e.span, "a function that calls itself", "a loop instead");
        }
        let Some(function) = self.object.program.functions.get(id.0 as usize) else {
            return self.internal(e.span, "a function that is not there");
        };
        let kept = self.kept_result(&function.body, result, memory.as_ref());
        // Arguments are computed with the caller's variables, then become the callee's.
        let mut scalars = Vec::new();
        for arg in args {
            let ready = if arg.ty.fits_register() {
                let value = self.scalar(arg)?;
                Err(self.function.builder.copy(value))
            } else {
                let size = self.size(&arg.ty);
                let temp = self.temp(size);
                self.store_value(arg, temp, &arg.ty, Tail::Zeroed)?;
                Ok(temp)
            };
            scalars.push(ready);
        }
        let outer_locals = std::mem::replace(&mut self.locals, &function.locals);
        let outer_homes = std::mem::take(&mut self.homes);
        let outer_scopes = std::mem::take(&mut self.scopes);
        self.place_locals(&function.body, None);
        for (index, (ready, arg)) in scalars.into_iter().zip(args).enumerate() {
            let local = LocalId(index as u32);
            match ready {
                Err(value) => self.write_local(local, value.into()),
                Ok(src) => {
                    if let Some(dst) = self.local_memory(local) {
                        let ty = &function.locals[index].ty;
                        self.copy_value(src, dst, &arg.ty, ty);
                    }
                }
            }
        }
        self.initialise_locals(&function.body, function.parameters);
        let done = self.function.builder.new_block();
        let loops = std::mem::take(&mut self.function.loops);
        let iterators = self.iterators.len();
        self.inline.push(InlineReturn { done, result, memory, iterators, callbacks: self.callbacks, kept });
        self.inlining.push(id.0);
        let lowered = self.block(&function.body);
        self.inlining.pop();
        self.inline.pop();
        self.function.loops = loops;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        if lowered.is_ok() {
            self.end_function();
        }
        self.locals = outer_locals;
        self.homes = outer_homes;
        self.scopes = outer_scopes;
        lowered
    }

    /// Where callbacks of a function's loops leave its result.
    fn kept_result(&mut self, body: &Block, result: Option<Vreg>, memory: Option<&(Addr, Type)>) -> Option<u32> {
        if !has_callback_loop(body, self.object.scale()) {
            return None;
        }
        match (result, memory) {
            (Some(_), _) => {
                let at = self.frame_next.next_multiple_of(8);
                self.frame_next = at + 8;
                Some(at)
            }
            (None, Some((_, ty))) => {
                let size = self.size(ty);
                Some(self.scratch_bytes(size))
            }
            (None, None) => None,
        }
    }

    /// A `return` inside a callback of a loop of the function: leaves the result where the function
    /// finds it, and ends the loop.
    pub fn return_from_callback(&mut self, inline: &InlineReturn, value: Option<&'a Expr>) -> Result<(), CodegenError> {
        match (value, inline.kept, &inline.memory) {
            (Some(e), Some(at), None) => {
                let value = self.scalar(e)?;
                let place = self.frame(at);
                self.store(place, 8, value);
            }
            (Some(e), Some(at), Some((_, ty))) => {
                let dst = Addr::new(Base::Reg(self.function.scratch()), at as i32);
                self.store_value(e, dst, ty, Tail::Zeroed)?;
            }
            (value, ..) => {
                if let Some(e) = value {
                    self.scalar(e)?;
                }
            }
        }
        self.destroy_iterators(0);
        let flag = self.frame(FRAME_RETURNED as u32);
        self.store(flag, 8, FUNCTION_RETURNED);
        self.function.builder.ret(1);
        Ok(())
    }

    /// After a loop whose callback may have ended the function that it is in.
    pub fn take_returned(&mut self) -> Result<(), CodegenError> {
        let Some(inline) = self.inline.last().cloned() else { return Ok(()) };
        let flag = self.frame(FRAME_RETURNED as u32);
        let returned = self.load(flag, 8, false);
        self.when(Cond::Eq, returned.into(), FUNCTION_RETURNED.into(), |l| {
            if inline.callbacks < l.callbacks {
                // Still inside another loop of the function.
                l.destroy_iterators(0);
                l.function.builder.ret(1);
                return Ok(());
            }
            let flag = l.frame(FRAME_RETURNED as u32);
            l.store(flag, 8, 0);
            match (inline.kept, inline.result, &inline.memory) {
                (Some(at), Some(result), _) => {
                    let place = l.frame(at);
                    let value = l.load(place, 8, false);
                    l.function.builder.copy_into(result, value);
                }
                (Some(at), None, Some((dst, ty))) => {
                    let src = Addr::new(Base::Reg(l.function.scratch()), at as i32);
                    l.copy_value(src, *dst, ty, ty);
                }
                _ => {}
            }
            l.destroy_iterators(inline.iterators);
            l.function.builder.jump(inline.done);
            Ok(())
        })
    }
}

/// Whether a loop of the body is made as a callback, from which `return` can't leave the function.
fn has_callback_loop(body: &Block, scale: CostContext<'_>) -> bool {
    let mut found = false;
    walk::each_placed(body, &mut |before, s| found |= is_callback(scale, before, s));
    found
}
