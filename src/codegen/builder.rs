//! Builds one IR function: hands out registers, slots and blocks, and stamps every instruction with
//! the current place in the script.
//!
//! Methods that compute return a new register; their `_into` forms write an existing one, for
//! variables that are assigned more than once. What is made of those methods are functions: [`flow`] runs
//! code only when a comparison holds, [`stack`] and [`atomic`] access memory, [`purpose`] tells the verifier pass what the code
//! does not say.

pub mod atomic;
pub mod flow;
pub mod purpose;
pub mod stack;

use crate::lang::source::Span;

use super::ir::{
    Address, Alu, Block, BlockId, BpfMapId, Callee, Cond, FuncId, Function, Inst, Linkage, Operand, Size, Slot,
    Terminator, Vreg, Width,
};

/// A function under construction.
#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    function: Function,
    current: BlockId,
    cold: bool,
    span: Span,
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
        Self { function, current: BlockId(0), cold: false, span: Span::default() }
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

    /// The function as far as it is made.
    #[must_use]
    pub const fn function(&self) -> &Function {
        &self.function
    }

    /// The same, to say what holds of all of it.
    pub const fn function_mut(&mut self) -> &mut Function {
        &mut self.function
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
        self.function.blocks[self.current.0 as usize].terminator != Terminator::Unset
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

    /// The operand in a register.
    pub fn in_register(&mut self, value: impl Into<Operand>) -> Vreg {
        match value.into() {
            Operand::Reg(vreg) => vreg,
            number @ Operand::Imm(_) => self.copy(number),
        }
    }

    /// `a op b` in 64 bits.
    pub fn alu(&mut self, op: Alu, a: impl Into<Operand>, b: impl Into<Operand>) -> Vreg {
        let dst = self.new_vreg();
        self.alu_into(dst, op, Width::W64, a, b);
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

    /// An address.
    pub fn address(&mut self, of: impl Into<Address>) -> Vreg {
        let of = of.into();
        self.define(|dst| Inst::Address { dst, of })
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
}

/// Memory, calls and ends of blocks.
impl FunctionBuilder {
    /// `*(base + offset)`, extended with zeros.
    pub fn load(&mut self, base: Vreg, offset: i16, size: Size) -> Vreg {
        self.define(|dst| Inst::Load { dst, base, offset, size, signed: false })
    }

    /// `*(base + offset) = src`.
    pub fn store(&mut self, base: Vreg, offset: i16, size: Size, src: impl Into<Operand>) {
        self.push(Inst::Store { base, offset, size, src: src.into() });
    }

    /// Calls a helper, a kernel function or a subprogram, and takes its result.
    pub fn call(&mut self, callee: impl Into<Callee>, args: &[Operand]) -> Vreg {
        let (callee, args) = (callee.into(), args.to_vec());
        self.define(|dst| Inst::Call { dst: Some(dst), callee, args })
    }

    /// The same for its effect.
    pub fn call_void(&mut self, callee: impl Into<Callee>, args: &[Operand]) {
        self.push(Inst::Call { dst: None, callee: callee.into(), args: args.to_vec() });
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
        let a = self.in_register(a);
        self.terminate(Terminator::Branch { cond, width: Width::W64, a, b: b.into(), then, otherwise });
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

impl From<u32> for Callee {
    fn from(helper: u32) -> Self {
        Self::Helper(helper)
    }
}

impl From<&'static str> for Callee {
    fn from(kfunc: &'static str) -> Self {
        Self::Kfunc(kfunc)
    }
}

impl From<FuncId> for Callee {
    fn from(func: FuncId) -> Self {
        Self::Local(func)
    }
}

impl From<BpfMapId> for Address {
    fn from(map: BpfMapId) -> Self {
        Self::Map(map)
    }
}

impl From<FuncId> for Address {
    fn from(func: FuncId) -> Self {
        Self::Func(func)
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
        b.copy(7);
        b.ret(2);
        let f = b.finish();
        assert_eq!(f.blocks[0].instructions, []);
        assert_eq!(f.blocks[0].terminator, Terminator::Return(Operand::Imm(1)));
    }

    #[test]
    fn a_comparison_joins_both_paths_in_the_current_block() {
        let mut b = builder();
        let v = flow::compare(&mut b, Cond::Gt, Vreg::parameter(0), 5);
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
        b.copy(1);
        let f = b.finish();
        assert_eq!(f.blocks[0].instructions[0].1, Span::new(3, 9));
    }
}
