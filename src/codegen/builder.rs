//! Builds one IR function: hands out registers, slots and blocks, and stamps every instruction with
//! the current place in the script.
//!
//! Methods that compute return a new register; their `_into` forms write an existing one, for
//! variables that are assigned more than once.

mod memory;

use crate::lang::source::Span;

use super::ir::{
    Alu, Block, BlockId, Cond, FuncId, Function, Inst, Linkage, Mark, Operand, Purpose, Slot, Terminator, Vreg, Width,
};

/// A function under construction.
#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    function: Function,
    current: BlockId,
    cold: bool,
    span: Span,
    /// Slots of the kernel's iterators whose loops have ended, for those of later loops.
    pub ended_iterators: Vec<Slot>,
}

impl FunctionBuilder {
    /// Starts a function with its entry block; parameters are registers 0 to `parameters - 1`.
    #[must_use]
    pub fn new(name: impl Into<String>, linkage: Linkage, parameters: u32) -> Self {
        let function = Function {
            name: name.into(),
            linkage,
            parameters,
            vregs: parameters,
            slots: Vec::new(),
            slot_spans: Vec::new(),
            blocks: vec![empty_block(Span::default())],
            is_loop_body: false,
            has_explored_loop: false,
        };
        Self { function, current: BlockId(0), cold: false, span: Span::default(), ended_iterators: Vec::new() }
    }

    /// The finished function. Blocks without a terminator return 0.
    #[must_use]
    pub fn finish(mut self) -> Function {
        for block in &mut self.function.blocks {
            if block.terminator == Terminator::Unset {
                block.terminator = Terminator::Return(Operand::Imm(0));
            }
        }
        self.function
    }

    /// Says that it is a loop's body, see [`Function::is_loop_body`].
    pub const fn is_loop_body(&mut self) {
        self.function.is_loop_body = true;
    }

    /// Says whether the verifier explores a loop of it, see [`Function::has_explored_loop`].
    pub const fn explores_loop(&mut self, explores: bool) {
        self.function.has_explored_loop = explores;
    }

    /// The `index`-th parameter.
    #[must_use]
    pub const fn parameter(&self, index: u32) -> Vreg {
        Vreg(index)
    }

    /// Sets the place that following instructions come from; returns the one before.
    pub fn set_span(&mut self, span: Span) -> Span {
        std::mem::replace(&mut self.span, span)
    }

    /// The current place.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// A new register, not yet assigned.
    pub fn new_vreg(&mut self) -> Vreg {
        let vreg = Vreg(self.function.vregs);
        self.function.vregs += 1;
        vreg
    }

    /// Bytes of a stack slot.
    #[must_use]
    pub fn slot_size(&self, slot: Slot) -> u32 {
        self.function.slots.get(slot.0 as usize).copied().unwrap_or(0)
    }

    /// Makes a stack slot at least so large.
    pub fn grow_slot(&mut self, slot: Slot, bytes: u32) {
        if let Some(size) = self.function.slots.get_mut(slot.0 as usize) {
            *size = (*size).max(bytes);
        }
    }

    /// A new stack slot of `size` bytes, remembered with the current place.
    pub fn new_slot(&mut self, size: u32) -> Slot {
        let slot = Slot(self.function.slots.len() as u32);
        self.function.slots.push(size);
        self.function.slot_spans.push(self.span);
        slot
    }

    /// A new block without code; the current one stays current.
    pub fn new_block(&mut self) -> BlockId {
        let block = BlockId(self.function.blocks.len() as u32);
        self.function.blocks.push(empty_block(self.span));
        block
    }

    /// Whether the present block, and those that become it, run seldom, until told otherwise.
    pub fn set_cold(&mut self, cold: bool) {
        self.cold = cold;
        self.block_mut().cold |= cold;
    }

    /// Several new blocks.
    pub fn new_blocks<const COUNT: usize>(&mut self) -> [BlockId; COUNT] {
        std::array::from_fn(|_| self.new_block())
    }

    /// Makes `block` the current one.
    pub fn switch_to(&mut self, block: BlockId) {
        self.current = block;
        self.block_mut().cold |= self.cold;
    }

    /// The current block.
    #[must_use]
    pub const fn current(&self) -> BlockId {
        self.current
    }

    /// True when the current block has its end already; more code there would never run.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.block().terminator != Terminator::Unset
    }

    /// Whether a path goes from the first block to the second, by the blocks that have their ends by now.
    #[must_use]
    pub fn leads_to(&self, from: BlockId, to: BlockId) -> bool {
        let mut seen = vec![false; self.function.blocks.len()];
        let mut left = vec![from];
        while let Some(at) = left.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at.0 as usize], true) {
                left.extend(self.function.blocks[at.0 as usize].terminator.successors().into_iter().flatten());
            }
        }
        false
    }

    /// Appends an instruction; dropped when the block has ended (it would never run).
    pub fn push(&mut self, inst: Inst) {
        if !self.is_terminated() {
            let span = self.span;
            self.block_mut().instructions.push((inst, span));
        }
    }

    /// Ends the current block unless it has ended already.
    pub fn terminate(&mut self, terminator: Terminator) {
        if !self.is_terminated() {
            let span = self.span;
            let block = self.block_mut();
            block.terminator = terminator;
            block.span = span;
        }
    }

    fn block(&self) -> &Block {
        &self.function.blocks[self.current.0 as usize]
    }

    fn block_mut(&mut self) -> &mut Block {
        &mut self.function.blocks[self.current.0 as usize]
    }

    fn define(&mut self, make: impl FnOnce(Vreg) -> Inst) -> Vreg {
        let dst = self.new_vreg();
        self.push(make(dst));
        dst
    }
}

/// Values.
impl FunctionBuilder {
    /// A new register holding `src`.
    pub fn copy(&mut self, src: impl Into<Operand>) -> Vreg {
        let src = src.into();
        self.define(|dst| Inst::Copy { dst, src })
    }

    /// `dst = src` for a register that is assigned more than once.
    pub fn copy_into(&mut self, dst: Vreg, src: impl Into<Operand>) {
        self.push(Inst::Copy { dst, src: src.into() });
    }

    /// A new register holding a constant.
    pub fn imm(&mut self, value: i64) -> Vreg {
        self.copy(value)
    }

    /// The operand in a register.
    pub fn in_register(&mut self, value: impl Into<Operand>) -> Vreg {
        match value.into() {
            Operand::Reg(vreg) => vreg,
            Operand::Imm(value) => self.imm(value),
        }
    }

    /// `a op b` in 64 bits.
    pub fn alu(&mut self, op: Alu, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        let dst = self.new_vreg();
        self.alu_into(dst, op, Width::W64, a, b);
        dst
    }

    /// `a op b` in 32 bits; the upper half of the result is 0.
    pub fn alu32(&mut self, op: Alu, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        let dst = self.new_vreg();
        self.alu_into(dst, op, Width::W32, a, b);
        dst
    }

    /// `dst = a op b`.
    pub fn alu_into(&mut self, dst: Vreg, op: Alu, width: Width, a: impl Into<Operand>, b: impl Into<Operand>) {
        self.push(Inst::Alu { op, width, dst, a: a.into(), b: b.into() });
    }

    /// `a + b` in 64 bits.
    pub fn add(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::Add, a, b)
    }

    /// `a - b` in 64 bits.
    pub fn sub(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::Sub, a, b)
    }

    /// `a * b` in 64 bits.
    pub fn mul(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::Mul, a, b)
    }

    /// `a & b` in 64 bits.
    pub fn and(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::And, a, b)
    }

    /// `a << b` in 64 bits.
    pub fn shl(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::Shl, a, b)
    }

    /// `a >> b` in 64 bits, filling with zeros.
    pub fn shr(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        self.alu(Alu::Shr, a, b)
    }

    /// `src`, with what the copy is for.
    pub fn copy_for(&mut self, purpose: Purpose, src: impl Into<Operand>) -> Vreg {
        let src = src.into();
        self.define(|dst| Inst::CopyFor { dst, src, purpose })
    }

    /// Notes what the code does not say.
    pub fn mark(&mut self, mark: Mark) {
        self.push(Inst::Mark(Box::new(mark)));
    }

    /// A copy to bound or to change.
    pub fn copy_to_bound(&mut self, src: impl Into<Operand>) -> Vreg {
        match src.into() {
            Operand::Reg(v) => self.copy_for(Purpose::Bounded, v),
            number @ Operand::Imm(_) => self.copy(number),
        }
    }

    /// `-src` in 64 bits.
    pub fn neg(&mut self, src: Vreg) -> Vreg {
        self.define(|dst| Inst::Neg { dst, src })
    }

    /// The low `bits` (8, 16 or 32) of `src`, extended to 64.
    pub fn extend(&mut self, src: Vreg, bits: u8, signed: bool) -> Vreg {
        self.define(|dst| Inst::Extend { dst, src, bits, signed })
    }

    /// The low `bits` (16, 32 or 64) of `src` with their bytes reversed.
    pub fn bswap(&mut self, src: Vreg, bits: u8) -> Vreg {
        self.define(|dst| Inst::Bswap { dst, src, bits })
    }

    /// 1 when the comparison holds, else 0 (in 64 bits); continues in a new block.
    pub fn compare(&mut self, cond: Cond, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        let dst = self.new_vreg();
        self.copy_into(dst, 1);
        let [otherwise, done] = self.new_blocks();
        self.branch(cond, a, b, done, otherwise);
        self.switch_to(otherwise);
        self.copy_into(dst, 0);
        self.jump(done);
        self.switch_to(done);
        dst
    }
}

/// Calls and ends of blocks.
impl FunctionBuilder {
    /// Calls a helper and takes its result.
    pub fn call(&mut self, helper: u32, args: &[Operand]) -> Vreg {
        let args = args.to_vec();
        self.define(|dst| Inst::Call { dst: Some(dst), helper, args })
    }

    /// Calls a helper for its effect.
    pub fn call_void(&mut self, helper: u32, args: &[Operand]) {
        self.push(Inst::Call { dst: None, helper, args: args.to_vec() });
    }

    /// Calls a kernel function and takes its result.
    pub fn call_kfunc(&mut self, name: &'static str, args: &[Operand]) -> Vreg {
        let args = args.to_vec();
        self.define(|dst| Inst::CallKfunc { dst: Some(dst), name, args })
    }

    /// Calls a kernel function for its effect.
    pub fn call_kfunc_void(&mut self, name: &'static str, args: &[Operand]) {
        self.push(Inst::CallKfunc { dst: None, name, args: args.to_vec() });
    }

    /// Calls a subprogram and takes its result.
    pub fn call_local(&mut self, func: FuncId, args: &[Operand]) -> Vreg {
        let args = args.to_vec();
        self.define(|dst| Inst::CallLocal { dst: Some(dst), func, args })
    }

    /// Goes on at `target`.
    pub fn jump(&mut self, target: BlockId) {
        self.terminate(Terminator::Jump(target));
    }

    /// Two paths, comparing 64 bits.
    pub fn branch(
        &mut self,
        cond: Cond,
        a: impl Into<Operand>,
        b: impl Into<Operand>,
        then: BlockId,
        otherwise: BlockId,
    ) {
        self.branch_width(cond, Width::W64, a, b, then, otherwise);
    }

    /// Two paths, comparing 64 or 32 bits.
    pub fn branch_width(
        &mut self,
        cond: Cond,
        width: Width,
        a: impl Into<Operand>,
        b: impl Into<Operand>,
        then: BlockId,
        otherwise: BlockId,
    ) {
        let a = self.in_register(a);
        self.terminate(Terminator::Branch { cond, width, a, b: b.into(), then, otherwise });
    }

    /// Branches to two new blocks `(then, otherwise)` and makes `then` the current one.
    pub fn branch_new(&mut self, cond: Cond, a: impl Into<Operand>, b: impl Into<Operand>) -> (BlockId, BlockId) {
        let [then, otherwise] = self.new_blocks();
        self.branch(cond, a, b, then, otherwise);
        self.switch_to(then);
        (then, otherwise)
    }

    /// Goes on in a new block only when the comparison holds, else jumps to `otherwise`.
    pub fn require(&mut self, cond: Cond, a: impl Into<Operand>, b: impl Into<Operand>, otherwise: BlockId) {
        let then = self.new_block();
        self.branch(cond, a, b, then, otherwise);
        self.switch_to(then);
    }

    /// Runs `body` only when the comparison holds, then goes on.
    pub fn when(&mut self, cond: Cond, a: impl Into<Operand>, b: impl Into<Operand>, body: impl FnOnce(&mut Self)) {
        let (_, done) = self.branch_new(cond, a, b);
        body(self);
        self.jump(done);
        self.switch_to(done);
    }

    /// Leaves the function.
    pub fn ret(&mut self, value: impl Into<Operand>) {
        self.terminate(Terminator::Return(value.into()));
    }
}

const fn empty_block(span: Span) -> Block {
    Block { instructions: Vec::new(), terminator: Terminator::Unset, span, cold: false }
}

impl From<Vreg> for Operand {
    fn from(vreg: Vreg) -> Self {
        Self::Reg(vreg)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::Imm(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> FunctionBuilder {
        FunctionBuilder::new("f", Linkage::Subprogram, 1)
    }

    #[test]
    fn code_after_the_end_of_a_block_is_dropped() {
        let mut b = builder();
        b.ret(1);
        b.imm(7);
        b.ret(2);
        let f = b.finish();
        assert_eq!(f.blocks[0].instructions, []);
        assert_eq!(f.blocks[0].terminator, Terminator::Return(Operand::Imm(1)));
    }

    #[test]
    fn a_comparison_joins_both_paths_in_the_current_block() {
        let mut b = builder();
        let v = b.compare(Cond::Gt, b.parameter(0), 5);
        b.ret(v);
        assert_eq!(
            b.finish().to_string(),
            "subprogram f(v0)\nb0:\n  v1 = 1\n  if v0 > 5 goto b2 else b1\nb1:\n  v1 = 0\n  goto b2\nb2:\n  return v1\n"
        );
    }

    #[test]
    fn instructions_carry_the_current_place() {
        let mut b = builder();
        b.set_span(Span::new(3, 9));
        b.imm(1);
        let f = b.finish();
        assert_eq!(f.blocks[0].instructions[0].1, Span::new(3, 9));
    }
}
