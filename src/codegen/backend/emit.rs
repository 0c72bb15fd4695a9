//! Machine code of one function from its IR and the places of its registers.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{
    Address, Alu, AtomicOp, BlockId, BpfMapId, Callee, Cond, FuncId, Function, Inst, Isa, Operand, SectionId, Size,
    Slot, Vreg, Width,
};
use crate::lang::source::Span;

use super::frame::Frame;
use super::helper::calls_back;
use super::insn::{FRAME, Insn, PSEUDO_CALL, PSEUDO_FUNC, Reg};
use super::legal::{commutes, fits};
use super::regs::Allocation;
use crate::codegen::verifier::back_edges::runs_on_backwards;
use crate::codegen::verifier::scrub_dead::{DeadPlace, DeadPlaces};

mod jumps;
mod moves;

use moves::{Move, Source};

/// `BPF_FETCH | BPF_ADD`
const ATOMIC_FETCH_ADD: i32 = 0x01;
/// `BPF_XCHG`
const ATOMIC_XCHG: i32 = 0xe1;

/// What an instruction refers to outside of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A map.
    Map(BpfMapId),
    /// A place in global data.
    Section(SectionId),
    /// A call of a subprogram.
    Call(FuncId),
    /// A subprogram's address.
    Address(FuncId),
    /// A kernel function.
    Kfunc(&'static str),
}

/// An instruction that the linker must complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Index of the instruction in the function.
    pub at: u32,
    /// What it refers to.
    pub target: Target,
    /// Its place in the script.
    pub span: Span,
}

/// Machine code of one function.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Instructions; 64-bit constants take two.
    pub insns: Vec<Insn>,
    /// Span of each instruction's source, ascending; an entry holds up to the next.
    pub lines: Vec<(u32, Span)>,
    /// References to other things.
    pub relocations: Vec<Relocation>,
    /// Bytes of stack.
    pub stack: u32,
}

/// Emits a legalised function for a kernel; makes 0 what the iterations of loops leave behind.
pub fn emit(
    function: &Function,
    allocation: &Allocation,
    frame: &Frame,
    dead_places: &DeadPlaces,
    isa: Isa,
) -> Result<Code, CodegenError> {
    match emit_with(function, allocation, frame, dead_places, (isa, Jumps::Short)) {
        Err(CodegenError::JumpTooFar { .. }) if isa.cpu_v4 => {
            emit_with(function, allocation, frame, dead_places, (isa, Jumps::Far))
        }
        result => result,
    }
}

/// How far all jumps of a function reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jumps {
    Short,
    Far,
}

fn emit_with(
    function: &Function,
    allocation: &Allocation,
    frame: &Frame,
    dead_places: &DeadPlaces,
    (isa, reach): (Isa, Jumps),
) -> Result<Code, CodegenError> {
    let mut emitter = Emitter {
        function,
        allocation,
        frame,
        isa,
        reach,
        code: Code { stack: frame.bytes, ..Code::default() },
        span: Span::default(),
        starts: vec![u32::MAX; function.blocks.len()],
        jumps: Vec::new(),
    };
    emitter.parameters();
    let backwards = runs_on_backwards(function, &allocation.order);
    let mut position = 0;
    for (index, block) in allocation.order.iter().enumerate() {
        emitter.starts[block.0 as usize] = emitter.at();
        let body = &function.blocks[block.0 as usize];
        for (at, (inst, span)) in body.instructions.iter().enumerate() {
            position += 1;
            let dead = allocation.is_dead(position);
            if !dead {
                emitter.place(*span);
            }
            emitter.clear(dead_places.before(block.0 as usize, at))?;
            if !dead {
                emitter.instruction(inst)?;
            }
        }
        position += 1;
        emitter.place(body.span);
        emitter.clear(dead_places.before(block.0 as usize, body.instructions.len()))?;
        let next = allocation.order.get(index + 1).copied().filter(|_| !backwards.contains(block));
        emitter.terminator(&body.terminator, next)?;
    }
    emitter.patch_jumps()?;
    emitter.first_line();
    Ok(emitter.code)
}

struct Emitter<'a> {
    function: &'a Function,
    allocation: &'a Allocation,
    frame: &'a Frame,
    isa: Isa,
    reach: Jumps,
    code: Code,
    span: Span,
    /// Index of each block's first instruction.
    starts: Vec<u32>,
    /// Jumps to be completed: instruction and block.
    jumps: Vec<(u32, BlockId, Span)>,
}

impl Emitter<'_> {
    fn at(&self) -> u32 {
        self.code.insns.len() as u32
    }

    /// Code from here on comes from `span`; made-up code belongs to what is before it.
    fn place(&mut self, span: Span) {
        if !span.is_empty() {
            self.span = span;
        }
    }

    fn push(&mut self, insn: Insn) {
        let at = self.at();
        if !self.span.is_empty() && self.code.lines.last().is_none_or(|(_, span)| *span != self.span) {
            self.code.lines.push((at, self.span));
        }
        self.code.insns.push(insn);
    }

    /// The kernel wants a line for a function's first instruction.
    fn first_line(&mut self) {
        match self.code.lines.first_mut() {
            Some(first) => first.0 = 0,
            None => self.code.lines.push((0, Span::default())),
        }
    }

    fn bug(&self, detail: impl Into<String>) -> CodegenError {
        CodegenError::internal(self.span, &self.function.name, detail)
    }

    fn reg(&self, v: Vreg) -> Reg {
        self.allocation.register(v)
    }

    fn parameters(&mut self) {
        let moves: Vec<Move> = (0..self.function.parameters)
            .filter(|i| self.allocation.is_live(Vreg(*i)) && self.allocation.arrives(Vreg(*i)))
            .map(|i| Move { to: self.reg(Vreg(i)), from: Source::Reg(Reg(i as u8 + 1)) })
            .collect();
        self.parallel(moves, &[]);
    }

    /// Does all moves as if at once. `taken` are registers that a cycle must not use as a spare,
    /// besides those of the moves.
    fn parallel(&mut self, moves: Vec<Move>, taken: &[Reg]) {
        for Move { to, from } in moves::sequence(moves, taken) {
            match from {
                Source::Reg(from) => self.copy(to, from),
                Source::Imm(n) => self.constant(to, n),
            }
        }
    }

    fn copy(&mut self, to: Reg, from: Reg) {
        if to != from {
            self.push(Insn::mov_reg(Width::W64, to, from));
        }
    }

    fn constant(&mut self, to: Reg, n: i64) {
        if let Ok(imm) = i32::try_from(n) {
            self.push(Insn::mov_imm(to, imm));
        } else if let Ok(imm) = u32::try_from(n) {
            self.push(Insn::mov32_imm(to, imm as i32));
        } else {
            self.push(Insn::ld_imm64(to, 0, n as i32));
            self.push(Insn::ld_imm64_high((n >> 32) as i32));
        }
    }

    fn refer(&mut self, insn: Insn, target: Target) {
        self.code.relocations.push(Relocation { at: self.at(), target, span: self.span });
        self.push(insn);
    }

    fn address(&mut self, to: Reg, kind: u8, imm: i32, target: Target) {
        self.refer(Insn::ld_imm64(to, kind, imm), target);
        self.push(Insn::ld_imm64_high(0));
    }

    fn instruction(&mut self, inst: &Inst) -> Result<(), CodegenError> {
        match inst {
            Inst::Copy { dst, src: Operand::Reg(src) } => self.copy(self.reg(*dst), self.reg(*src)),
            Inst::Copy { dst, src: Operand::Imm(n) } => self.constant(self.reg(*dst), *n),
            Inst::Alu { op, width, dst, a, b } => self.alu(*op, *width, self.reg(*dst), *a, *b)?,
            // Arithmetic parts a register from those it was copied from (`adjust_reg_min_max_vals`,
            // kernel/bpf/verifier.c), and this one changes nothing.
            Inst::Unlinked { dst, src } => {
                self.copy(self.reg(*dst), self.reg(*src));
                self.push(Insn::alu_imm(Alu::Xor, Width::W64, self.reg(*dst), 0));
            }
            Inst::Neg { dst, src } => {
                self.copy(self.reg(*dst), self.reg(*src));
                self.push(Insn::neg(self.reg(*dst)));
            }
            Inst::Extend { dst, src, bits, signed } => self.extend(self.reg(*dst), self.reg(*src), *bits, *signed),
            Inst::Bswap { dst, src, bits } => {
                self.copy(self.reg(*dst), self.reg(*src));
                self.push(Insn::to_big_endian(self.reg(*dst), *bits));
            }
            Inst::Call { args, callee, .. } => {
                self.arguments(args)?;
                self.call(*callee);
            }
            memory => return self.memory(memory),
        }
        if inst.is_call()
            && let Some(dst) = inst.dst()
            && self.allocation.is_live(dst)
        {
            self.copy(self.reg(dst), Reg(0));
        }
        Ok(())
    }

    /// Puts the call before into a loop that never iterates: a jump back to it that is never taken.
    fn circle(&mut self) {
        let (free, back) = (Reg(1), -3);
        self.push(Insn::mov_imm(free, 0));
        self.push(Insn { off: back, ..Insn::jump_imm(Cond::Ne, Width::W64, free, 0) });
    }

    fn call(&mut self, callee: Callee) {
        match callee {
            Callee::Helper(number) => {
                self.push(Insn::call(0, number as i32));
                if self.isa.circled_callbacks && calls_back(number) {
                    self.circle();
                }
            }
            Callee::Kfunc(name) => self.refer(Insn::call(PSEUDO_CALL, -1), Target::Kfunc(name)),
            Callee::Local(func) => self.refer(Insn::call(PSEUDO_CALL, -1), Target::Call(func)),
        }
    }

    fn memory(&mut self, inst: &Inst) -> Result<(), CodegenError> {
        match *inst {
            Inst::Load { dst, base, offset, size, signed } => {
                self.load(self.reg(dst), self.reg(base), offset, size, signed);
            }
            Inst::SlotLoad { dst, slot, offset, size, signed } => {
                let offset = self.slot(slot, offset)?;
                self.load(self.reg(dst), FRAME, offset, size, signed);
            }
            Inst::Store { base, offset, size, src } => self.store(self.reg(base), offset, size, src),
            Inst::SlotStore { slot, offset, size, src } => {
                let offset = self.slot(slot, offset)?;
                self.store(FRAME, offset, size, src);
            }
            Inst::AtomicAdd { base, offset, size, src } => {
                self.push(Insn::atomic(size, self.reg(base), offset, self.reg(src), 0));
            }
            Inst::AtomicFetch { op, dst, base, offset, size, src } => {
                let code = match op {
                    AtomicOp::Xchg => ATOMIC_XCHG,
                    AtomicOp::FetchAdd => ATOMIC_FETCH_ADD,
                };
                self.copy(self.reg(dst), self.reg(src));
                self.push(Insn::atomic(size, self.reg(base), offset, self.reg(dst), code));
            }
            Inst::Address { dst, of: Address::Slot(slot, offset) } => {
                let offset = i32::from(self.slot(slot, offset)?);
                self.copy(self.reg(dst), FRAME);
                self.push(Insn::alu_imm(Alu::Add, Width::W64, self.reg(dst), offset));
            }
            Inst::Address { dst, of: Address::Global(section, offset) } => {
                self.address(self.reg(dst), 0, offset as i32, Target::Section(section));
            }
            Inst::Address { dst, of: Address::Map(map) } => self.address(self.reg(dst), 0, 0, Target::Map(map)),
            Inst::Address { dst, of: Address::Func(func) } => {
                self.address(self.reg(dst), PSEUDO_FUNC, 0, Target::Address(func));
            }
            _ => return Err(self.bug(format!("{inst} has no machine form"))),
        }
        Ok(())
    }

    fn clear(&mut self, places: impl Iterator<Item = DeadPlace>) -> Result<(), CodegenError> {
        for place in places {
            match place {
                DeadPlace::Register(reg) => self.constant(reg, 0),
                DeadPlace::Slot(slot) => {
                    let offset = self.slot(slot, 0)?;
                    self.push(Insn::store_imm(Size::B8, FRAME, offset, 0));
                }
            }
        }
        Ok(())
    }

    fn slot(&self, slot: Slot, offset: i32) -> Result<i16, CodegenError> {
        self.frame.offset(slot, offset).ok_or_else(|| self.bug(format!("offset {offset} is outside of {slot}")))
    }

    fn load(&mut self, dst: Reg, base: Reg, offset: i16, size: Size, signed: bool) {
        let bits = match size {
            Size::B1 => 8,
            Size::B2 => 16,
            Size::B4 => 32,
            Size::B8 => 64,
        };
        let signed = signed && bits < 64;
        if signed && self.isa.cpu_v4 {
            self.push(Insn::load_signed(size, dst, base, offset));
            return;
        }
        self.push(Insn::load(size, dst, base, offset));
        if signed {
            self.extend(dst, dst, bits, true);
        }
    }

    fn store(&mut self, base: Reg, offset: i16, size: Size, src: Operand) {
        self.push(match src {
            Operand::Reg(src) => Insn::store_reg(size, base, offset, self.reg(src)),
            Operand::Imm(n) => Insn::store_imm(size, base, offset, n as i32),
        });
    }

    fn extend(&mut self, dst: Reg, src: Reg, bits: u8, signed: bool) {
        match (bits, signed) {
            (32, false) => self.push(Insn::mov_reg(Width::W32, dst, src)),
            (_, false) => {
                self.copy(dst, src);
                self.push(Insn::alu_imm(Alu::And, Width::W64, dst, (1 << bits) - 1));
            }
            (_, true) if self.isa.cpu_v4 => self.push(Insn::mov_signed(dst, src, bits)),
            (_, true) => {
                self.copy(dst, src);
                let unused = 64 - i32::from(bits);
                self.push(Insn::alu_imm(Alu::Shl, Width::W64, dst, unused));
                self.push(Insn::alu_imm(Alu::Sar, Width::W64, dst, unused));
            }
        }
    }

    fn alu(&mut self, op: Alu, width: Width, dst: Reg, a: Operand, b: Operand) -> Result<(), CodegenError> {
        let Operand::Reg(a) = a else { return Err(self.bug("a constant on the left of an operation")) };
        let a = self.reg(a);
        let b = match b {
            Operand::Imm(n) if fits(n) => {
                self.move_width(width, dst, a);
                self.push(Insn::alu_imm(op, width, dst, n as i32));
                return Ok(());
            }
            Operand::Imm(n) => return Err(self.bug(format!("constant {n} does not fit an instruction"))),
            Operand::Reg(b) => self.reg(b),
        };
        if b == dst && a != dst {
            if !commutes(op) {
                return Err(self.bug("the right operand is lost before it is read"));
            }
            self.push(Insn::alu_reg(op, width, dst, a));
        } else {
            self.move_width(width, dst, a);
            self.push(Insn::alu_reg(op, width, dst, b));
        }
        Ok(())
    }

    fn move_width(&mut self, width: Width, dst: Reg, src: Reg) {
        if dst != src {
            self.push(Insn::mov_reg(width, dst, src));
        }
    }

    fn arguments(&mut self, args: &[Operand]) -> Result<(), CodegenError> {
        if args.len() > 5 {
            return Err(self.bug("a call with more than five arguments"));
        }
        let moves = args
            .iter()
            .enumerate()
            .map(|(i, arg)| {
                let from = match arg {
                    Operand::Reg(v) => Source::Reg(self.reg(*v)),
                    Operand::Imm(n) => Source::Imm(*n),
                };
                Move { to: Reg(i as u8 + 1), from }
            })
            .collect();
        // r6 to r9 hold what lives across the call.
        self.parallel(moves, &[Reg(6), Reg(7), Reg(8), Reg(9)]);
        Ok(())
    }
}

/// The condition that holds when `cond` does not; the machine has none for [`Cond::Set`].
#[must_use]
pub const fn invert(cond: Cond) -> Option<Cond> {
    Some(match cond {
        Cond::Eq => Cond::Ne,
        Cond::Ne => Cond::Eq,
        Cond::Gt => Cond::Le,
        Cond::Ge => Cond::Lt,
        Cond::Lt => Cond::Ge,
        Cond::Le => Cond::Gt,
        Cond::SGt => Cond::SLe,
        Cond::SGe => Cond::SLt,
        Cond::SLt => Cond::SGe,
        Cond::SLe => Cond::SGt,
        Cond::Set => return None,
    })
}
