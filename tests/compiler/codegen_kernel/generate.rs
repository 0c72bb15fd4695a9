//! Random IR functions: every operation, variables that are assigned again in branches and loops,
//! values that live across calls, memory.

use probescope::codegen::artifact::ProgramKind;
use probescope::codegen::builder::{FunctionBuilder, atomic, flow, stack};
use probescope::codegen::ir::{
    Alu, Callee, Cond, Function, Inst, Linkage, Operand, SectionId, Size, Slot, Terminator, Vreg, Width,
};
use proptest::prelude::*;

/// Words of context.
pub const INPUTS: usize = 4;
/// Bytes of global data: scratch memory, then room for results.
pub const SCRATCH: usize = 64;
pub const GLOBALS: usize = SCRATCH + 8 * 48;

/// One step of a random function. Numbers pick among the registers there are.
#[derive(Clone, Debug)]
pub enum Step {
    Alu(Alu, Width, Src, Src),
    Neg(usize),
    Extend(usize, u8, bool),
    Bswap(usize, u8),
    Assign(usize, Src),
    Update(usize, Alu, Width, Src),
    SlotStore(i32, Size, Src),
    SlotLoad(i32, Size, bool),
    Store(i16, Size, Src),
    Load(i16, Size, bool),
    AtomicAdd(usize),
    Xchg(usize),
    FetchAdd(usize),
    Call,
    Compare(Cond, usize, Src),
    If(Cond, Width, usize, Src, Vec<Step>, Vec<Step>),
    Loop(i64, Vec<Step>),
}

#[derive(Clone, Copy, Debug)]
pub enum Src {
    Reg(usize),
    Imm(i64),
}

fn src() -> impl Strategy<Value = Src> {
    prop_oneof![3 => (0usize..64).prop_map(Src::Reg), 2 => number().prop_map(Src::Imm)]
}

/// Numbers near the edges of every width.
pub fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => -8i64..64,
        2 => (0u32..64, -2i64..3).prop_map(|(shift, near)| (1i64 << shift).wrapping_add(near)),
        1 => Just(0xffff_ffff_i64),
        2 => any::<i64>(),
    ]
}

fn alu() -> impl Strategy<Value = Alu> {
    use Alu::{Add, And, Div, Mod, Mul, Or, Sar, Shl, Shr, Sub, Xor};
    prop::sample::select(vec![Add, Sub, Mul, Div, Mod, And, Or, Xor, Shl, Shr, Sar])
}

fn width() -> impl Strategy<Value = Width> {
    prop_oneof![Just(Width::W64), Just(Width::W32)]
}

fn cond() -> impl Strategy<Value = Cond> {
    use Cond::{Eq, Ge, Gt, Le, Lt, Ne, SGe, SGt, SLe, SLt, Set};
    prop::sample::select(vec![Eq, Ne, Gt, Ge, Lt, Le, SGt, SGe, SLt, SLe, Set])
}

fn memory() -> impl Strategy<Value = (i32, Size)> {
    prop::sample::select(vec![(Size::B1, 1), (Size::B2, 2), (Size::B4, 4), (Size::B8, 8)])
        .prop_flat_map(|(size, bytes)| (0..SCRATCH as i32 / bytes).prop_map(move |i| (i * bytes, size)))
}

fn simple() -> impl Strategy<Value = Step> {
    let reg = 0usize..64;
    prop_oneof![
        8 => (alu(), width(), src(), src()).prop_map(|(o, w, a, b)| Step::Alu(o, w, a, b)),
        1 => reg.clone().prop_map(Step::Neg),
        2 => (reg.clone(), prop::sample::select(vec![8u8, 16, 32]), any::<bool>()).prop_map(|(r, b, s)| Step::Extend(r, b, s)),
        1 => (reg.clone(), prop::sample::select(vec![16u8, 32, 64])).prop_map(|(r, b)| Step::Bswap(r, b)),
        2 => (reg.clone(), src()).prop_map(|(r, s)| Step::Assign(r, s)),
        3 => (reg.clone(), alu(), width(), src()).prop_map(|(r, o, w, s)| Step::Update(r, o, w, s)),
        1 => (memory(), src()).prop_map(|((o, z), s)| Step::SlotStore(o, z, s)),
        1 => (memory(), any::<bool>()).prop_map(|((o, z), s)| Step::SlotLoad(o, z, s)),
        1 => (memory(), src()).prop_map(|((o, z), s)| Step::Store(o as i16, z, s)),
        1 => (memory(), any::<bool>()).prop_map(|((o, z), s)| Step::Load(o as i16, z, s)),
        1 => reg.clone().prop_map(Step::AtomicAdd),
        1 => reg.clone().prop_map(Step::Xchg),
        1 => reg.clone().prop_map(Step::FetchAdd),
        2 => Just(Step::Call),
        2 => (cond(), reg, src()).prop_map(|(c, r, s)| Step::Compare(c, r, s)),
    ]
}

/// A list of steps, with branches and loops in it.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let nested = simple().prop_recursive(3, 24, 5, |inner| {
        let block = prop::collection::vec(inner, 0..5);
        prop_oneof![
            (cond(), width(), 0usize..64, src(), block.clone(), block.clone())
                .prop_map(|(c, w, r, s, a, b)| Step::If(c, w, r, s, a, b)),
            (1i64..4, block).prop_map(|(n, body)| Step::Loop(n, body)),
        ]
    });
    prop::collection::vec(nested, 1..40).prop_filter("too many ways for the verifier", |steps| branches(steps) <= 9)
}

/// How many branches a run passes at most: the verifier follows every way through them.
pub fn branches(steps: &[Step]) -> i64 {
    steps
        .iter()
        .map(|step| match step {
            Step::Compare(..) => 1,
            Step::If(_, _, _, _, a, b) => 1 + branches(a).max(branches(b)),
            Step::Loop(times, body) => times * branches(body),
            _ => 0,
        })
        .sum()
}

/// Builds the function: reads its inputs, does the steps, writes every value to global data.
pub fn function(steps: &[Step]) -> Function {
    let linkage = Linkage::Program { kind: ProgramKind::TestRun, section: "raw_tp".into() };
    let mut b = FunctionBuilder::new("test", linkage, 1);
    let context = Vreg::parameter(0);
    let slot = b.new_slot(SCRATCH as u32);
    for word in 0..SCRATCH as i32 / 8 {
        stack::store(&mut b, slot, word * 8, Size::B8, 0);
    }
    let mut values: Vec<Vreg> = (0..INPUTS).map(|i| b.load(context, i as i16 * 8, Size::B8)).collect();
    let mut maker = Maker { b: &mut b, slot };
    maker.steps(steps, &mut values);
    let room = (GLOBALS - SCRATCH) / 8;
    let results = b.address(SectionId(0).at(SCRATCH as u32));
    for (i, v) in values.iter().rev().take(room).enumerate() {
        b.store(results, i as i16 * 8, Size::B8, *v);
    }
    b.ret(values[values.len() - 1]);
    b.finish()
}

struct Maker<'a> {
    b: &'a mut FunctionBuilder,
    slot: Slot,
}

impl Maker<'_> {
    fn steps(&mut self, steps: &[Step], values: &mut Vec<Vreg>) {
        for step in steps {
            self.step(step, values);
        }
    }

    fn step(&mut self, step: &Step, values: &mut Vec<Vreg>) {
        let count = values.len();
        let reg = |i: usize| values[i % count];
        let operand = |s: Src| match s {
            Src::Reg(i) => Operand::Reg(reg(i)),
            Src::Imm(n) => Operand::Imm(n),
        };
        let b = &mut *self.b;
        let made = match step {
            Step::Alu(op, width, x, y) => {
                let dst = b.new_vreg();
                b.alu_into(dst, *op, *width, operand(*x), operand(*y));
                dst
            }
            Step::Neg(r) => b.neg(reg(*r)),
            Step::Extend(r, bits, signed) => b.extend(reg(*r), *bits, *signed),
            Step::Bswap(r, bits) => b.bswap(reg(*r), *bits),
            Step::Assign(r, s) => return b.copy_into(reg(*r), operand(*s)),
            Step::Update(r, op, width, s) => return b.alu_into(reg(*r), *op, *width, reg(*r), operand(*s)),
            Step::SlotStore(at, size, s) => return stack::store(b, self.slot, *at, *size, operand(*s)),
            Step::SlotLoad(at, size, signed) => stack::load(b, self.slot, *at, *size, *signed),
            Step::Store(at, size, s) => {
                let base = b.address(SectionId(0).at(0));
                return b.store(base, *at, *size, operand(*s));
            }
            Step::Load(at, size, signed) => {
                let base = b.address(SectionId(0).at(0));
                let dst = b.new_vreg();
                b.push(Inst::Load { dst, base, offset: *at, size: *size, signed: *signed });
                dst
            }
            Step::AtomicAdd(r) => {
                let base = b.address(SectionId(0).at(8));
                return atomic::add(b, base, 8, Size::B8, reg(*r));
            }
            // Added to, where the kernel can't fetch at once.
            Step::Xchg(r) | Step::FetchAdd(r) if !super::load::facts().atomics => {
                let base = b.address(SectionId(0).at(8));
                return atomic::add(b, base, 16, Size::B8, reg(*r));
            }
            Step::Xchg(r) => {
                let base = b.address(SectionId(0).at(0));
                atomic::exchange(b, base, 16, Size::B8, reg(*r))
            }
            Step::FetchAdd(r) => {
                let base = b.address(SectionId(0).at(0));
                atomic::fetch_add(b, base, 24, Size::B8, reg(*r))
            }
            // bpf_get_smp_processor_id: clobbers the argument registers.
            Step::Call => return b.push(Inst::Call { dst: None, callee: Callee::Helper(8), args: Vec::new() }),
            Step::Compare(cond, r, s) => flow::compare(b, *cond, reg(*r), operand(*s)),
            Step::If(cond, width, r, s, then, otherwise) => {
                let (then_block, else_block, done) = (b.new_block(), b.new_block(), b.new_block());
                let (left, right) = (reg(*r), operand(*s));
                let end = Terminator::Branch {
                    cond: *cond,
                    width: *width,
                    a: left,
                    b: right,
                    then: then_block,
                    otherwise: else_block,
                };
                b.terminate(end);
                for (block, steps) in [(then_block, then), (else_block, otherwise)] {
                    self.b.switch_to(block);
                    self.steps(steps, &mut values.clone());
                    self.b.jump(done);
                }
                return self.b.switch_to(done);
            }
            Step::Loop(times, body) => {
                let i = b.copy(0);
                let (head, block, done) = (b.new_block(), b.new_block(), b.new_block());
                b.jump(head);
                b.switch_to(head);
                b.branch(Cond::Lt, i, *times, block, done);
                b.switch_to(block);
                self.steps(body, &mut values.clone());
                self.b.alu_into(i, Alu::Add, Width::W64, i, 1);
                self.b.jump(head);
                return self.b.switch_to(done);
            }
        };
        values.push(made);
    }
}
