//! Register allocation.
//!
//! Every virtual register gets one machine register or one stack slot for all of its life. A life is
//! a list of ranges with holes; registers are handed out by priority (uses per length, loops count
//! more), the value read in inner loops first. What finds no register is made again at each use
//! when it is a constant or an address, else kept in an 8-byte slot with short-lived registers
//! around it; then everything is done again. Calls clobber r0 to r5, so that values that live
//! across one find room only in r6 to r9.

use crate::codegen::ir::{BlockId, Function, Inst, Operand, Terminator, Vreg};

use super::insn::Reg;
use super::legal::{SingleDefs, commutes};
use crate::codegen::cfg::{BitSet, Liveness, reverse_postorder};

mod lives;
mod spill;

use lives::{Hint, Lives};

/// Where every virtual register of a function lives.
#[derive(Debug)]
pub struct Allocation {
    /// Blocks in the order of emission.
    pub order: Vec<BlockId>,
    registers: Vec<Option<Reg>>,
    /// Parameters whose value is needed.
    arriving: Vec<bool>,
    /// Instructions that compute what nobody reads, by position.
    dead: BitSet,
}

impl Allocation {
    /// The machine register of `vreg`; r0 for one that is never read.
    #[must_use]
    pub fn register(&self, vreg: Vreg) -> Reg {
        self.registers[vreg.0 as usize].unwrap_or(Reg(0))
    }

    /// Whether `vreg` is ever live.
    #[must_use]
    pub fn is_live(&self, vreg: Vreg) -> bool {
        self.registers[vreg.0 as usize].is_some()
    }

    /// Whether the value that a parameter arrives with is ever read.
    #[must_use]
    pub fn arrives(&self, parameter: Vreg) -> bool {
        self.arriving.get(parameter.0 as usize).copied().unwrap_or(false)
    }

    /// Whether the instruction at this position (counting instructions and terminators in order,
    /// the first being 1) need not run.
    #[must_use]
    pub fn is_dead(&self, position: u32) -> bool {
        self.dead.contains(position)
    }
}

/// Registers that are given out: all but the frame pointer.
const REGISTERS: usize = 10;

/// Registers that calls leave alone come last, those of results and first arguments before them:
/// others may need them more.
const PREFERENCE: [Reg; REGISTERS] = [Reg(5), Reg(4), Reg(0), Reg(3), Reg(2), Reg(1), Reg(6), Reg(7), Reg(8), Reg(9)];

/// Gives every register of a legalised function a place, adding spill code where it must. `None`
/// when that never ends, which is a bug.
pub fn allocate(function: &mut Function) -> Option<Allocation> {
    // Registers made by spilling, which must not be spilled again.
    let mut short_lived = BitSet::default();
    // Long joined lives are good where there is room; not when something must be spilled.
    let mut join_results = true;
    for _ in 0..64 {
        let mut order = reverse_postorder(function);
        order.sort_by_key(|block| function.blocks[block.0 as usize].cold);
        let live = Liveness::compute(function, &order);
        let mut lives = Lives::build(function, &order, &live);
        lives.coalesce(function, &order, &short_lived);
        if join_results {
            lives.coalesce_results(function, &order, &short_lived);
        }
        let (registers, homeless) = colour(function, &lives, &short_lived);
        if homeless.is_empty() {
            return Some(Allocation { order, registers, arriving: lives.arriving, dead: lives.dead });
        }
        if std::mem::take(&mut join_results) {
            continue;
        }
        let first_new = function.vregs;
        spill::rewrite(function, &order, &homeless, &SingleDefs::of(function), &lives);
        short_lived = extend(&short_lived, first_new, function.vregs);
    }
    None
}

fn extend(old: &BitSet, first_new: u32, vregs: u32) -> BitSet {
    let mut set = BitSet::new(vregs as usize);
    set.union(old);
    if first_new < vregs {
        set.insert_range(first_new, vregs);
    }
    set
}

/// Registers by virtual register, and the virtual registers that found none.
fn colour(function: &Function, lives: &Lives, short_lived: &BitSet) -> (Vec<Option<Reg>>, Vec<Vreg>) {
    let size = lives.positions as usize * 4 + 4;
    let mut taken: Vec<BitSet> = vec![BitSet::new(size); REGISTERS];
    for call in &lives.calls {
        for set in &mut taken[..6] {
            set.insert_range(call * 4 + 1, call * 4 + 2);
        }
    }
    let mut registers = vec![None; function.vregs as usize];
    let mut homeless = Vec::new();
    for vreg in lives.by_priority(|v| v.0 < short_lived.capacity() && short_lived.contains(v.0)) {
        let ranges = lives.ranges(vreg);
        let free = |reg: Reg| !ranges.iter().any(|(start, end)| taken[reg.0 as usize].any_in(*start, *end));
        match wishes(lives, vreg, &registers).chain(PREFERENCE).find(|reg| free(*reg)) {
            Some(reg) => {
                for (start, end) in ranges {
                    taken[reg.0 as usize].insert_range(*start, *end);
                }
                registers[vreg.0 as usize] = Some(reg);
            }
            None => homeless.push(vreg),
        }
    }
    let mut missing = Vec::new();
    for v in 0..function.vregs {
        let leader = lives.leader(Vreg(v));
        if leader.0 != v {
            registers[v as usize] = registers[leader.0 as usize];
            if homeless.contains(&leader) && lives.occurs(Vreg(v)) {
                missing.push(Vreg(v));
            }
        }
    }
    homeless.extend(missing);
    (registers, homeless)
}

/// Registers that would save a move, the one that saves most first.
fn wishes(lives: &Lives, vreg: Vreg, registers: &[Option<Reg>]) -> impl Iterator<Item = Reg> + use<> {
    let mut wanted: [(u32, Reg); REGISTERS] = std::array::from_fn(|n| (0, Reg(n as u8)));
    for (hint, weight) in lives.hints(vreg) {
        let reg = match hint {
            Hint::Fixed(reg) => Some(reg),
            Hint::Same(other) => registers[lives.leader(other).0 as usize],
        };
        if let Some(reg) = reg {
            wanted[reg.0 as usize].0 += weight;
        }
    }
    wanted.sort_unstable_by_key(|(weight, reg)| (std::cmp::Reverse(*weight), *reg));
    wanted.into_iter().take_while(|(weight, _)| *weight > 0).map(|(_, reg)| reg)
}

/// The register whose value must survive until the result is written, because the machine writes
/// its result in steps.
fn read_late(inst: &Inst) -> Option<Vreg> {
    match inst {
        Inst::Alu { op, a, b: Operand::Reg(b), .. } if *a != Operand::Reg(*b) && !commutes(*op) => Some(*b),
        Inst::AtomicFetch { base, .. } => Some(*base),
        _ => None,
    }
}

/// Calls `f` with each pair of registers that should be the same, and each that should be fixed.
fn for_each_hint(inst: &Inst, mut f: impl FnMut(Vreg, Hint)) {
    match inst {
        Inst::Copy { dst, src: Operand::Reg(src) }
        | Inst::Unlinked { dst, src }
        | Inst::Neg { dst, src }
        | Inst::Extend { dst, src, .. }
        | Inst::Bswap { dst, src, .. }
        | Inst::AtomicFetch { dst, src, .. }
        | Inst::Alu { dst, a: Operand::Reg(src), .. } => {
            f(*dst, Hint::Same(*src));
            f(*src, Hint::Same(*dst));
        }
        Inst::Call { dst, args, .. } => {
            if let Some(dst) = dst {
                f(*dst, Hint::Fixed(Reg(0)));
            }
            for (i, arg) in args.iter().enumerate() {
                if let Operand::Reg(v) = arg {
                    f(*v, Hint::Fixed(Reg(i as u8 + 1)));
                }
            }
        }
        _ => {}
    }
}

fn for_each_end_hint(terminator: &Terminator, mut f: impl FnMut(Vreg, Hint)) {
    if let Terminator::Return(Operand::Reg(v)) = terminator {
        f(*v, Hint::Fixed(Reg(0)));
    }
}
