//! Loops whose body is a function that the kernel calls: `bpf_loop`, and `bpf_for_each_map_elem` for maps.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, FuncId, Linkage, Point, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, MapId, tuple_layout};
use crate::lang::types::Type;

use super::Over;
use super::strategy::MOST_ITERATIONS;
use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{FRAME_RETURNED, FunctionState, LoopTargets, Lowerer, Role};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::aggregation;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::element_types;

impl<'a> Lowerer<'_, 'a> {
    /// `for $kv : @map`.
    pub fn for_map(&mut self, local: LocalId, map: MapId, body: &'a Block, span: Span) -> Result<(), CodegenError> {
        if !self.object.facts.features().for_each_map_elem {
            return self.unsupported(span, "a loop over a map", "bpf_for_each_map_elem (Linux 5.13)");
        }
        self.mark_changed(body);
        self.callback_loop(&Over::Map { local, map }, body, span)
    }

    /// `while` in iterations of `bpf_loop`, which end at what the kernel allows.
    pub fn while_callback(&mut self, c: &'a Expr, body: &'a Block) -> Result<(), CodegenError> {
        self.mark_changed(body);
        self.callback_loop(&Over::While(c), body, c.span)
    }

    pub(super) fn callback_loop(&mut self, over: &Over<'a>, body: &'a Block, span: Span) -> Result<(), CodegenError> {
        let frame = self.frame(0);
        // The callback takes the base of the working memory from the frame.
        if self.function.role == Role::Program {
            self.function.scratch();
        }
        let id = self.object.reserve_function();
        let frame_pointer = self.pointer(frame);
        let function = self.function.builder.func_addr(id);
        match over {
            Over::Range { local, start, iterations } => {
                // The first number travels in the loop variable itself.
                self.write_local(*local, *start);
                self.mark_frame();
                self.function
                    .builder
                    .call_void(h::LOOP, &[(*iterations).into(), function.into(), frame_pointer.into(), 0.into()]);
            }
            Over::While(_) => {
                self.mark_frame();
                let args = [MOST_ITERATIONS.into(), function.into(), frame_pointer.into(), 0.into()];
                self.function.builder.call_void(h::LOOP, &args);
            }
            Over::Map { map, .. } => {
                let Some(bpf) = self.keyed_map(*map) else {
                    return self.internal(span, "a loop over a scalar map");
                };
                self.mark_frame();
                let handle = self.function.builder.map_addr(bpf);
                self.function
                    .builder
                    .call_void(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), frame_pointer.into(), 0.into()]);
            }
        }
        self.callback(id, over, body, span)?;
        if let Over::Range { local, .. } = over {
            self.end_counter(*local);
        }
        self.take_returned()?;
        // A `return` in the callback ends the probe, or the callback that this loop is in.
        let flag = self.frame(FRAME_RETURNED as u32);
        let returned = self.load(flag, 8, false);
        self.when(Cond::Ne, returned.into(), 0.into(), |l| {
            l.leave();
            Ok(())
        })
    }

    fn callback(&mut self, id: FuncId, over: &Over<'a>, body: &'a Block, span: Span) -> Result<(), CodegenError> {
        // bpf_loop: (index, frame); bpf_for_each_map_elem: (map, key, value, frame).
        let (parameters, frame) = match over {
            Over::Range { .. } | Over::While(_) => (2, Vreg(1)),
            Over::Map { .. } => (4, Vreg(3)),
        };
        let region = self.function.region;
        let name = format!("loop_{}", id.0);
        let state = FunctionState::new(id, &name, Linkage::Subprogram, parameters, Role::Callback(frame), region);
        let outer = std::mem::replace(&mut self.function, state);
        let outer_iterators = std::mem::take(&mut self.iterators);
        let outer_scratch = self.scratch_next;
        self.callbacks += 1;
        self.function.begin_body();
        self.function.builder.set_span(span);
        let (next, stop) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.loops.push(LoopTargets { on_break: stop, on_continue: next });
        self.function.builder.is_loop_body();
        self.function.builder.explores_loop(self.has_explored_loop);
        let condition = if let Over::While(c) = over { Some(*c) } else { None };
        let constants = self.constants_by_iteration(condition, body);
        self.mark_numbers(Point::CallbackStart, &constants);
        match over {
            Over::Map { local, map } => self.element_variable(*local, *map, span)?,
            Over::While(c) => {
                let inside = self.function.builder.new_block();
                let mark = self.mark();
                self.condition(c, inside, stop)?;
                self.release(mark);
                self.function.builder.switch_to(inside);
            }
            Over::Range { .. } => {}
        }
        self.block(body)?;
        self.function.builder.jump(next);
        self.function.builder.switch_to(next);
        self.end_left_locals(Point::Join, body);
        if let Over::Range { local, .. } = over {
            let number = self.read_local(*local);
            let number = self.function.builder.add(number, 1);
            self.write_local(*local, number.into());
        }
        self.count_step(condition, body, stop);
        self.function.builder.ret(0);
        self.function.builder.switch_to(stop);
        self.end_left_locals(Point::Join, body);
        self.function.builder.ret(1);
        self.scratch_next = outer_scratch;
        self.callbacks -= 1;
        self.iterators = outer_iterators;
        let made = std::mem::replace(&mut self.function, outer);
        Lowerer::hand_over(self.object, made, self.probe_index, span);
        Ok(())
    }

    /// Fills the loop variable of a loop over a map: a tuple of key and value.
    fn element_variable(&mut self, local: LocalId, map: MapId, span: Span) -> Result<(), CodegenError> {
        let (key, value) = (Vreg(1), Vreg(2));
        let spec = &self.object.program.maps[map.0 as usize];
        let ty = &self.locals[local.0 as usize].ty;
        let types: Vec<Type> = element_types(ty).into_iter().cloned().collect();
        let [key_type, value_type] = types.as_slice() else {
            return self.internal(span, "a loop variable that is not a pair");
        };
        let ((size, _), offsets) = tuple_layout([key_type, value_type].into_iter(), &self.object.program.structs);
        let Some(dst) = self.local_memory(local) else {
            return self.internal(span, "a loop variable without memory");
        };
        let key_size = self.size(key_type);
        self.copy(dst, Addr::new(Base::Reg(key), 0), key_size);
        if offsets[1] > key_size {
            self.zero(dst.at(key_size), offsets[1] - key_size);
        }
        let value_size = self.size(value_type);
        let to = dst.at(offsets[1]);
        if let Some(agg) = aggregation(spec) {
            let number = self.reduce_by_key(map, agg, Addr::new(Base::Reg(key), 0), span)?;
            self.store(to, scalar_shape(value_type).0, number);
        } else {
            self.copy(to, Addr::new(Base::Reg(value), 0), value_size);
        }
        let end = offsets[1] + value_size;
        if size > end {
            self.zero(dst.at(end), size - end);
        }
        Ok(())
    }
}
