//! Brings IR into the shapes that the machine has: constants that fit, no constant on the left, no
//! register read before it is written, addresses made next to the calls that take them.

use crate::codegen::ir::{Alu, Block, BlockId, Function, Inst, Operand, Size, Terminator, Vreg, Width};
use crate::lang::source::Span;

use crate::codegen::cfg::{Liveness, reverse_postorder};

/// Writes 0 at the entry to every register that some path reads before writing it: the verifier
/// refuses such reads, and afterwards every register's single assignment dominates its uses.
pub fn initialise(function: &mut Function) {
    separate_entry(function);
    let order = reverse_postorder(function);
    let live = Liveness::compute(function, &order);
    let missing: Vec<Vreg> = live.live_in(order[0]).filter(|v| v.0 >= function.parameters).collect();
    let entry = &mut function.blocks[0].instructions;
    let zeros = missing.into_iter().map(|dst| (Inst::Copy { dst, src: Operand::Imm(0) }, Span::default()));
    entry.splice(0..0, zeros);
}

/// Makes sure that nothing jumps to the entry, so that code put there runs once.
fn separate_entry(function: &mut Function) {
    let targeted =
        function.blocks.iter().flat_map(|b| b.terminator.successors()).flatten().any(|next| next == BlockId(0));
    if targeted {
        let moved = BlockId(function.blocks.len() as u32);
        for block in &mut function.blocks {
            block.terminator.for_each_successor_mut(|next| {
                if *next == BlockId(0) {
                    *next = moved;
                }
            });
        }
        let entry = Block {
            instructions: Vec::new(),
            terminator: Terminator::Jump(moved),
            span: function.blocks[0].span,
            cold: false,
        };
        let old = std::mem::replace(&mut function.blocks[0], entry);
        function.blocks.push(old);
    }
}

/// Legalises the whole function.
pub fn legalise(function: &mut Function) {
    let defs = SingleDefs::of(function);
    for at in 0..function.blocks.len() {
        let old = std::mem::take(&mut function.blocks[at].instructions);
        let mut out =
            Rewriter { out: Vec::with_capacity(old.len() + 4), vregs: &mut function.vregs, span: Span::default() };
        for (inst, span) in old {
            out.span = span;
            out.instruction(inst, &defs);
        }
        out.span = function.blocks[at].span;
        out.terminator(&mut function.blocks[at].terminator);
        function.blocks[at].instructions = out.out;
    }
}

/// The one instruction that writes each register, where there is only one.
#[derive(Debug)]
pub struct SingleDefs {
    defs: Vec<Def>,
}

#[derive(Clone, Debug)]
enum Def {
    None,
    One(Inst),
    Many,
}

impl SingleDefs {
    /// Looks through all of the function.
    #[must_use]
    pub fn of(function: &Function) -> Self {
        let mut defs = vec![Def::None; function.vregs as usize];
        defs[..function.parameters as usize].fill(Def::Many);
        for (inst, _) in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Some(dst) = inst.dst() {
                let def = &mut defs[dst.0 as usize];
                *def = match def {
                    Def::None if inst.is_rematerialisable() => Def::One(inst.clone()),
                    _ => Def::Many,
                };
            }
        }
        Self { defs }
    }

    /// The instruction that makes `vreg`, when it can be made again anywhere.
    #[must_use]
    pub fn rematerialisable(&self, vreg: Vreg) -> Option<&Inst> {
        match self.defs.get(vreg.0 as usize) {
            Some(Def::One(inst)) => Some(inst),
            _ => None,
        }
    }
}

/// Whether a constant fits the 32-bit field that the machine extends by sign.
#[must_use]
pub fn fits(value: i64) -> bool {
    i32::try_from(value).is_ok()
}

/// Whether the operands may change places.
#[must_use]
pub const fn commutes(op: Alu) -> bool {
    matches!(op, Alu::Add | Alu::Mul | Alu::And | Alu::Or | Alu::Xor)
}

struct Rewriter<'a> {
    out: Vec<(Inst, Span)>,
    vregs: &'a mut u32,
    span: Span,
}

impl Rewriter<'_> {
    fn fresh(&mut self) -> Vreg {
        let v = Vreg(*self.vregs);
        *self.vregs += 1;
        v
    }

    fn push(&mut self, inst: Inst) {
        self.out.push((inst, self.span));
    }

    fn register(&mut self, src: impl Into<Operand>) -> Vreg {
        let dst = self.fresh();
        self.push(Inst::Copy { dst, src: src.into() });
        dst
    }

    fn instruction(&mut self, inst: Inst, defs: &SingleDefs) {
        match inst {
            Inst::Alu { op, width, dst, a, b } => self.alu(op, width, dst, a, b),
            Inst::Store { base, offset, size, src } => {
                let src = self.stored(size, src);
                self.push(Inst::Store { base, offset, size, src });
            }
            Inst::SlotStore { slot, offset, size, src } => {
                let src = self.stored(size, src);
                self.push(Inst::SlotStore { slot, offset, size, src });
            }
            Inst::AtomicFetch { op, dst, base, offset, size, src } if dst == base => {
                let base = self.register(base);
                self.push(Inst::AtomicFetch { op, dst, base, offset, size, src });
            }
            mut call if call.is_call() => {
                call.for_each_use_mut(|v| {
                    if let Some(make) = defs.rematerialisable(*v) {
                        *v = self.again(make);
                    }
                });
                self.push(call);
            }
            other => self.push(other),
        }
    }

    fn again(&mut self, make: &Inst) -> Vreg {
        let dst = self.fresh();
        let mut inst = make.clone();
        if let Some(d) = inst.dst_mut() {
            *d = dst;
        }
        self.push(inst);
        dst
    }

    fn alu(&mut self, op: Alu, width: Width, dst: Vreg, a: Operand, b: Operand) {
        let (a, b) = match (a, b) {
            (Operand::Imm(_), Operand::Reg(_)) if commutes(op) => (b, a),
            other => other,
        };
        let b = match b {
            Operand::Imm(0) if op == Alu::Div => return self.push(Inst::Copy { dst, src: Operand::Imm(0) }),
            Operand::Imm(0) if op == Alu::Mod => return self.modulo_zero(width, dst, a),
            Operand::Imm(n) if matches!(op, Alu::Shl | Alu::Shr | Alu::Sar) => {
                Operand::Imm(n & if width == Width::W64 { 63 } else { 31 })
            }
            Operand::Imm(n) if width == Width::W32 => Operand::Imm(i64::from(n as i32)),
            Operand::Imm(n) if !fits(n) => Operand::Reg(self.register(n)),
            // The machine writes `a` to `dst` first, which would lose `b`.
            Operand::Reg(v) if v == dst && a != b && !commutes(op) => Operand::Reg(self.register(v)),
            other => other,
        };
        let a = match a {
            Operand::Imm(n) => Operand::Reg(self.register(n)),
            reg @ Operand::Reg(_) => reg,
        };
        self.push(Inst::Alu { op, width, dst, a, b });
    }

    fn modulo_zero(&mut self, width: Width, dst: Vreg, a: Operand) {
        match (a, width) {
            (Operand::Reg(src), Width::W32) => self.push(Inst::Extend { dst, src, bits: 32, signed: false }),
            (Operand::Imm(n), Width::W32) => {
                self.push(Inst::Copy { dst, src: Operand::Imm(i64::from(n as u32)) });
            }
            (src, Width::W64) => self.push(Inst::Copy { dst, src }),
        }
    }

    fn stored(&mut self, size: Size, src: Operand) -> Operand {
        match src {
            Operand::Imm(n) if size == Size::B8 && !fits(n) => Operand::Reg(self.register(n)),
            Operand::Imm(n) if size != Size::B8 => Operand::Imm(i64::from(n as i32)),
            other => other,
        }
    }

    fn terminator(&mut self, terminator: &mut Terminator) {
        if let Terminator::Branch { width, b, .. } = terminator
            && let Operand::Imm(n) = *b
        {
            match width {
                Width::W32 => *b = Operand::Imm(i64::from(n as i32)),
                Width::W64 if !fits(n) => *b = Operand::Reg(self.register(n)),
                Width::W64 => {}
            }
        }
    }
}
