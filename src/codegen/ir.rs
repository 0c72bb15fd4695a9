//! The intermediate representation: functions of basic blocks over virtual registers of 64 bits.
//!
//! Not SSA: a virtual register may be assigned more than once (loop variables, both arms of an
//! `if`). Memory is explicit: stack slots, global data, the context, maps and helper calls. The
//! optimiser and the register allocator work on this; nothing here knows the source language.

use crate::kernel::target::TargetFacts;
use crate::lang::source::Span;

use super::artifact::ProgramKind;

mod mark;
mod print;
mod visit;

pub use mark::{Fact, Mark, Place, Point, Purpose, Storage};

/// A virtual register: 64 bits, unlimited in number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vreg(pub u32);

/// A basic block's index in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A stack slot's index in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Index of a function in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(pub u32);

/// Index of a BPF map in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BpfMapId(pub u32);

/// Index of a global-data section in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectionId(pub u32);

/// Everything that goes into one object.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Programs and subprograms.
    pub functions: Vec<Function>,
    /// Maps of the object.
    pub maps: Vec<BpfMap>,
    /// Global-data sections.
    pub sections: Vec<Section>,
    /// `license` section.
    pub license: String,
    /// What the kernel takes and wants.
    pub isa: Isa,
    /// Eight bytes of a section that are always 0, which the verifier takes for any number. A module without them hides
    /// nothing from it.
    pub unknown_zero: Option<(SectionId, u32)>,
}

/// What a kernel takes and wants of machine code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Isa {
    /// It takes the instructions of cpu v4: loads and moves that extend by sign, far jumps.
    pub cpu_v4: bool,
    /// Calls with a callback must stand in a loop (see [`crate::kernel::target::TargetFacts::misses_callbacks`]).
    pub circled_callbacks: bool,
    /// Its verifier looks at a callback as if it ran once (see [`TargetFacts::callback_verified_once`]).
    pub callback_verified_once: bool,
}

impl Isa {
    /// What machine code a kernel takes.
    #[must_use]
    pub const fn of(facts: &TargetFacts) -> Self {
        Self {
            cpu_v4: facts.cpu_v4,
            circled_callbacks: facts.misses_callbacks(),
            callback_verified_once: facts.callback_verified_once(),
        }
    }
}

/// A program or subprogram.
#[derive(Clone, Debug)]
pub struct Function {
    /// Symbol.
    pub name: String,
    /// A program of this kind in this ELF section, or a subprogram (in `.text`).
    pub linkage: Linkage,
    /// How many parameters arrive in r1 to r5; they are virtual registers 0 to n-1. A program has
    /// one, its context.
    pub parameters: u32,
    /// Number of virtual registers.
    pub vregs: u32,
    /// Stack slots: size in bytes (the allocator rounds up to 8 and aligns to 8).
    pub slots: Vec<u32>,
    /// Where in the script each slot's value is made, for errors about the stack; may be shorter than `slots`.
    pub slot_spans: Vec<Span>,
    /// The first one is the entry.
    pub blocks: Vec<Block>,
    /// It is the body of a loop of the script, which the kernel calls for each iteration.
    pub is_loop_body: bool,
    /// The verifier explores a loop of the script in it, or in the function that it is a part of, iteration by iteration.
    /// False where there is none, and where the verifier must find the end of one by itself: nothing may be hidden there.
    pub has_explored_loop: bool,
}

impl Function {
    /// Bytes of a stack slot.
    #[must_use]
    pub fn slot_size(&self, slot: Slot) -> u32 {
        self.slots.get(slot.0 as usize).copied().unwrap_or(0)
    }

    /// Makes a stack slot at least so large.
    pub fn grow_slot(&mut self, slot: Slot, bytes: u32) {
        if let Some(size) = self.slots.get_mut(slot.0 as usize) {
            *size = (*size).max(bytes);
        }
    }

    /// Whether a path goes from the first block to the second, by the blocks that have their ends by now.
    #[must_use]
    pub fn leads_to(&self, from: BlockId, to: BlockId) -> bool {
        let mut seen = vec![false; self.blocks.len()];
        let mut left = vec![from];
        while let Some(at) = left.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at.0 as usize], true) {
                left.extend(self.blocks[at.0 as usize].terminator.successors().into_iter().flatten());
            }
        }
        false
    }
}

/// What a function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// A BPF program.
    Program {
        /// Program type.
        kind: ProgramKind,
        /// ELF section name.
        section: String,
    },
    /// A static subprogram or callback.
    Subprogram,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Straight-line code, each with its place in the script (an empty span for made-up code).
    pub instructions: Vec<(Inst, Span)>,
    /// How it ends.
    pub terminator: Terminator,
    /// Place of the terminator.
    pub span: Span,
    /// Seldom run: laid out behind all others, so that these run on without a jump over it.
    pub cold: bool,
}

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A virtual register.
    Reg(Vreg),
    /// A constant; any 64-bit value (the emitter uses `ld_imm64` where 32 bits do not hold it).
    Imm(i64),
}

/// Operation width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 32 bits; the result's upper half is zero.
    W32,
    /// 64 bits.
    W64,
}

/// Size of a memory access in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// 1
    B1,
    /// 2
    B2,
    /// 4
    B4,
    /// 8
    B8,
}

/// Arithmetic. Division and remainder are unsigned in the instruction set (signed forms exist only
/// from cpu v4, kernel 6.6): the lowering builds signed ones. The instruction set gives 0 for a
/// division by zero and the dividend for a remainder by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its operation")]
pub enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
}

/// Conditions of branches; `S` forms are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its comparison")]
pub enum Cond {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    SGt,
    SGe,
    SLt,
    SLe,
    /// `a & b != 0`
    Set,
}

impl Cond {
    /// The condition with its sides exchanged.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::SGt => Self::SLt,
            Self::SGe => Self::SLe,
            Self::SLt => Self::SGt,
            Self::SLe => Self::SGe,
            Self::Eq | Self::Ne | Self::Set => self,
        }
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "operands are named dst, src, a, b, base, offset as in the instruction set")]
pub enum Inst {
    /// `dst = src`
    Copy { dst: Vreg, src: Operand },
    /// `dst = a op b`
    Alu { op: Alu, width: Width, dst: Vreg, a: Operand, b: Operand },
    /// `dst = src`, without what the verifier would learn of `src` by comparing `dst`.
    Unlinked { dst: Vreg, src: Vreg },
    /// `dst = src`, and what the copy is for. Lowering writes it, [`crate::codegen::verifier`] makes plain code of it.
    CopyFor { dst: Vreg, src: Operand, purpose: Purpose },
    /// What lowering knows of this point. Lowering writes it, [`crate::codegen::verifier`] makes plain code of it.
    Mark(Box<Mark>),
    /// `dst = -src` in 64 bits.
    Neg { dst: Vreg, src: Vreg },
    /// Keeps the low `bits` (8, 16, 32) and extends.
    Extend { dst: Vreg, src: Vreg, bits: u8, signed: bool },
    /// Byte order reversal of the low `bits` (16, 32, 64).
    Bswap { dst: Vreg, src: Vreg, bits: u8 },
    /// `dst = *(base + offset)`, extended to 64 bits by sign when `signed`.
    Load { dst: Vreg, base: Vreg, offset: i16, size: Size, signed: bool },
    /// `*(base + offset) = src`
    Store { base: Vreg, offset: i16, size: Size, src: Operand },
    /// `lock *(base + offset) += src`, 4 or 8 bytes.
    AtomicAdd { base: Vreg, offset: i16, size: Size, src: Vreg },
    /// `dst = op(*(base + offset), src)`, 4 or 8 bytes; needs kernel 5.12.
    AtomicFetch { op: AtomicOp, dst: Vreg, base: Vreg, offset: i16, size: Size, src: Vreg },
    /// `dst = address`
    Address { dst: Vreg, of: Address },
    /// Direct load from a stack slot.
    SlotLoad { dst: Vreg, slot: Slot, offset: i32, size: Size, signed: bool },
    /// Direct store to a stack slot.
    SlotStore { slot: Slot, offset: i32, size: Size, src: Operand },
    /// A call with at most five arguments.
    Call { dst: Option<Vreg>, callee: Callee, args: Vec<Operand> },
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A helper by its number in `enum bpf_func_id`.
    Helper(u32),
    /// A kernel function by name, resolved by libbpf through BTF.
    Kfunc(&'static str),
    /// A subprogram.
    Local(FuncId),
}

/// What an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A byte of a stack slot.
    Slot(Slot, i32),
    /// A byte of global data.
    Global(SectionId, u32),
    /// A map, as helpers take it.
    Map(BpfMapId),
    /// A subprogram, as `bpf_loop` and `bpf_for_each_map_elem` take their callbacks.
    Func(FuncId),
}

/// Atomic operations that give what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Puts another value there.
    Xchg,
    /// Adds to it.
    FetchAdd,
}

impl Vreg {
    /// The register that a function's parameter arrives in.
    #[must_use]
    pub const fn parameter(index: u32) -> Self {
        Self(index)
    }
}

impl Slot {
    /// The address of a byte of it.
    #[must_use]
    pub const fn at(self, offset: i32) -> Address {
        Address::Slot(self, offset)
    }
}

impl SectionId {
    /// The address of a byte of it.
    #[must_use]
    pub const fn at(self, offset: u32) -> Address {
        Address::Global(self, offset)
    }
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// Goes on at a block.
    Jump(BlockId),
    /// Two paths.
    Branch {
        /// Comparison.
        cond: Cond,
        /// Of how many bits.
        width: Width,
        /// Left.
        a: Vreg,
        /// Right.
        b: Operand,
        /// When it holds.
        then: BlockId,
        /// When it does not.
        otherwise: BlockId,
    },
    /// Leaves the function.
    Return(Operand),
    /// Not yet set by the builder; never reaches the emitter.
    Unset,
}

/// A BPF map of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BpfMap {
    /// Symbol in `.maps`; C identifier of at most 15 bytes.
    pub name: String,
    /// `enum bpf_map_type`.
    pub kind: u32,
    /// Key bytes; 0 for ring buffers.
    pub key_size: u32,
    /// Value bytes; 0 for ring buffers.
    pub value_size: u32,
    /// Capacity; bytes for ring buffers.
    pub max_entries: u32,
    /// `BPF_F_*` of map creation.
    pub flags: u32,
}

/// A section of global data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `.bss.percpu`, `.rodata.str`, ...
    pub name: String,
    /// Size in bytes.
    pub size: u32,
    /// First bytes; empty for zeroed (`.bss`) sections.
    pub data: Vec<u8>,
    /// Frozen after load.
    pub read_only: bool,
}
