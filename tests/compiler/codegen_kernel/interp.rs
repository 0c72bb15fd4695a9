//! What IR means: an interpreter to hold against the kernel.

use probescope::codegen::ir::{Address, Alu, AtomicOp, Cond, Function, Inst, Operand, Size, Terminator, Width};

/// Runs a function on a context of eight-byte words; global section 0 is `globals`. Helper calls
/// return 0. Gives up after too many steps.
pub fn run(function: &Function, context: &[u64], globals: &mut [u8]) -> Option<u64> {
    let mut machine = Machine {
        regs: vec![0; function.vregs as usize],
        slots: function.slots.iter().map(|size| vec![0; *size as usize]).collect(),
        context,
        globals,
    };
    let mut block = 0;
    for _ in 0..10_000 {
        for (inst, _) in &function.blocks[block].instructions {
            machine.step(inst);
        }
        block = match &function.blocks[block].terminator {
            Terminator::Jump(to) => to.0,
            Terminator::Branch { cond, width, a, b, then, otherwise } => {
                if holds(*cond, *width, machine.regs[a.0 as usize], machine.value(*b)) { then.0 } else { otherwise.0 }
            }
            Terminator::Return(value) => return Some(machine.value(*value)),
            Terminator::Unset => unreachable!("finished functions have ends"),
        } as usize;
    }
    None
}

struct Machine<'a> {
    regs: Vec<u64>,
    slots: Vec<Vec<u8>>,
    context: &'a [u64],
    globals: &'a mut [u8],
}

impl Machine<'_> {
    fn value(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Reg(v) => self.regs[v.0 as usize],
            Operand::Imm(n) => n as u64,
        }
    }

    fn step(&mut self, inst: &Inst) {
        let result = match inst {
            Inst::Copy { src, .. } => self.value(*src),
            Inst::Alu { op, width, a, b, .. } => alu(*op, *width, self.value(*a), self.value(*b)),
            Inst::Neg { src, .. } => self.regs[src.0 as usize].wrapping_neg(),
            Inst::Extend { src, bits, signed, .. } => extend(self.regs[src.0 as usize], *bits, *signed),
            Inst::Bswap { src, bits, .. } => self.regs[src.0 as usize].swap_bytes() >> (64 - u32::from(*bits)),
            // Register 0 is the context, addresses of globals are their offsets.
            Inst::Load { base, offset, size, signed, .. } => {
                let value = if base.0 == 0 {
                    self.context[*offset as usize / 8]
                } else {
                    read(self.globals, self.regs[base.0 as usize] as usize + *offset as usize, *size)
                };
                sized(value, *size, *signed)
            }
            Inst::Store { base, offset, size, src } => {
                let at = self.regs[base.0 as usize] as usize + *offset as usize;
                let value = self.value(*src);
                return write(self.globals, at, *size, value);
            }
            Inst::AtomicAdd { base, offset, size, src } => {
                let at = self.regs[base.0 as usize] as usize + *offset as usize;
                let sum = read(self.globals, at, *size).wrapping_add(self.regs[src.0 as usize]);
                return write(self.globals, at, *size, sum);
            }
            Inst::AtomicFetch { op: AtomicOp::Xchg, base, offset, size, src, .. } => {
                let at = self.regs[base.0 as usize] as usize + *offset as usize;
                let old = read(self.globals, at, *size);
                write(self.globals, at, *size, self.regs[src.0 as usize]);
                old
            }
            Inst::AtomicFetch { op: AtomicOp::FetchAdd, base, offset, size, src, .. } => {
                let at = self.regs[base.0 as usize] as usize + *offset as usize;
                let old = read(self.globals, at, *size);
                write(self.globals, at, *size, old.wrapping_add(self.regs[src.0 as usize]));
                old
            }
            Inst::SlotLoad { slot, offset, size, signed, .. } => {
                sized(read(&self.slots[slot.0 as usize], *offset as usize, *size), *size, *signed)
            }
            Inst::SlotStore { slot, offset, size, src } => {
                let value = self.value(*src);
                return write(&mut self.slots[slot.0 as usize], *offset as usize, *size, value);
            }
            Inst::Address { of: Address::Global(_, offset), .. } => u64::from(*offset),
            Inst::Call { .. } => 0,
            other => unreachable!("the generator does not make {other}"),
        };
        if let Some(dst) = inst.dst() {
            self.regs[dst.0 as usize] = result;
        }
    }
}

fn bytes(size: Size) -> usize {
    match size {
        Size::B1 => 1,
        Size::B2 => 2,
        Size::B4 => 4,
        Size::B8 => 8,
    }
}

fn read(memory: &[u8], at: usize, size: Size) -> u64 {
    let mut word = [0; 8];
    word[..bytes(size)].copy_from_slice(&memory[at..at + bytes(size)]);
    u64::from_le_bytes(word)
}

fn write(memory: &mut [u8], at: usize, size: Size, value: u64) {
    memory[at..at + bytes(size)].copy_from_slice(&value.to_le_bytes()[..bytes(size)]);
}

fn sized(value: u64, size: Size, signed: bool) -> u64 {
    match size {
        Size::B8 => value,
        other => extend(value, bytes(other) as u8 * 8, signed),
    }
}

fn extend(value: u64, bits: u8, signed: bool) -> u64 {
    let unused = 64 - u32::from(bits);
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

fn alu(op: Alu, width: Width, a: u64, b: u64) -> u64 {
    match width {
        Width::W64 => match op {
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Mul => a.wrapping_mul(b),
            Alu::Div => a.checked_div(b).unwrap_or(0),
            Alu::Mod => a.checked_rem(b).unwrap_or(a),
            Alu::And => a & b,
            Alu::Or => a | b,
            Alu::Xor => a ^ b,
            Alu::Shl => a << (b & 63),
            Alu::Shr => a >> (b & 63),
            Alu::Sar => ((a as i64) >> (b & 63)) as u64,
        },
        Width::W32 => {
            let (a, b) = (a as u32, b as u32);
            u64::from(match op {
                Alu::Add => a.wrapping_add(b),
                Alu::Sub => a.wrapping_sub(b),
                Alu::Mul => a.wrapping_mul(b),
                Alu::Div => a.checked_div(b).unwrap_or(0),
                Alu::Mod => a.checked_rem(b).unwrap_or(a),
                Alu::And => a & b,
                Alu::Or => a | b,
                Alu::Xor => a ^ b,
                Alu::Shl => a << (b & 31),
                Alu::Shr => a >> (b & 31),
                Alu::Sar => ((a as i32) >> (b & 31)) as u32,
            })
        }
    }
}

fn holds(cond: Cond, width: Width, a: u64, b: u64) -> bool {
    let (a, b, sa, sb) = match width {
        Width::W64 => (a, b, a as i64, b as i64),
        Width::W32 => {
            (u64::from(a as u32), u64::from(b as u32), i64::from(a as u32 as i32), i64::from(b as u32 as i32))
        }
    };
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::SGt => sa > sb,
        Cond::SGe => sa >= sb,
        Cond::SLt => sa < sb,
        Cond::SLe => sa <= sb,
        Cond::Set => a & b != 0,
    }
}
