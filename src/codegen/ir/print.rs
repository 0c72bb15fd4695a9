//! The IR as text, for tests and `-d ir`.

use std::fmt::{self, Display, Formatter};

use super::{
    Address, Alu, AtomicOp, BlockId, BpfMapId, Callee, Cond, Fact, FuncId, Function, Inst, Linkage, Mark, Module,
    Operand, Place, Point, Purpose, SectionId, Size, Slot, Storage, Terminator, Vreg, Width,
};

impl Display for Vreg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for BlockId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl Display for Slot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl Display for FuncId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

impl Display for BpfMapId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

impl Display for SectionId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "g{}", self.0)
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(v) => v.fmt(f),
            Self::Imm(i) => i.fmt(f),
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::B1 => "u8",
            Self::B2 => "u16",
            Self::B4 => "u32",
            Self::B8 => "u64",
        })
    }
}

impl Display for Alu {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Sar => "s>>",
        })
    }
}

impl Display for Cond {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::SGt => "s>",
            Self::SGe => "s>=",
            Self::SLt => "s<",
            Self::SLe => "s<=",
            Self::Set => "&",
        })
    }
}

/// `32` after an operator that works on 32 bits.
const fn suffix(width: Width) -> &'static str {
    match width {
        Width::W32 => "32",
        Width::W64 => "",
    }
}

/// `s` for a load that extends by sign: `s32`.
struct Loaded(Size, bool);

impl Display for Loaded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (size, false) => size.fmt(f),
            (Size::B1, true) => f.write_str("s8"),
            (Size::B2, true) => f.write_str("s16"),
            (Size::B4, true) => f.write_str("s32"),
            (Size::B8, true) => f.write_str("s64"),
        }
    }
}

/// Operands between commas.
struct Args<'a>(&'a [Operand]);

impl Display for Args<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, arg) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            arg.fmt(f)?;
        }
        Ok(())
    }
}

fn result(f: &mut Formatter<'_>, dst: Option<Vreg>) -> fmt::Result {
    dst.map_or(Ok(()), |dst| write!(f, "{dst} = "))
}

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { dst, src } => write!(f, "{dst} = {src}"),
            Self::Alu { op, width, dst, a, b } => write!(f, "{dst} = {a} {op}{} {b}", suffix(*width)),
            Self::Unlinked { dst, src } => write!(f, "{dst} = unlinked {src}"),
            Self::CopyFor { dst, src, purpose } => write!(f, "{dst} = {src} ({purpose})"),
            Self::Mark(mark) => mark.fmt(f),
            Self::Neg { dst, src } => write!(f, "{dst} = -{src}"),
            Self::Extend { dst, src, bits, signed } => {
                write!(f, "{dst} = {}{bits} {src}", if *signed { 's' } else { 'u' })
            }
            Self::Bswap { dst, src, bits } => write!(f, "{dst} = bswap{bits} {src}"),
            Self::Call { dst, callee, args } => {
                result(f, *dst)?;
                write!(f, "{callee}({})", Args(args))
            }
            memory => memory_inst(memory, f),
        }
    }
}

impl Display for Callee {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Helper(number) => write!(f, "helper#{number}"),
            Self::Kfunc(name) => f.write_str(name),
            Self::Local(func) => func.fmt(f),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(slot, offset) => write!(f, "&{slot} + {offset}"),
            Self::Global(section, offset) => write!(f, "&{section} + {offset}"),
            Self::Map(map) => map.fmt(f),
            Self::Func(func) => write!(f, "&{func}"),
        }
    }
}

impl Display for AtomicOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xchg => "xchg",
            Self::FetchAdd => "fetch_add",
        })
    }
}

impl Display for Purpose {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joined => "joined",
            Self::Compared => "compared",
            Self::Bounded => "bounded",
            Self::Hidden => "hidden",
        })
    }
}

impl Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let point = match self.point {
            Point::Join => "join",
            Point::End => "end",
            Point::LoopStart => "loop",
            Point::IterationStart => "iteration",
            Point::CallbackStart => "callback",
            Point::CallbackCall => "callback's call",
        };
        let fact = match self.fact {
            Fact::Varies => "varies",
            Fact::Dead => "dead",
        };
        write!(f, "; {point}: {fact}")?;
        self.storage.iter().try_for_each(|storage| write!(f, " {storage}"))
    }
}

impl Display for Storage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Register(vreg) => write!(f, "{vreg}"),
            Place::Stack(slot, offset) => write!(f, "{slot}+{offset}:{}", self.bytes),
            Place::Memory(base, offset) => write!(f, "[{base}+{offset}]:{}", self.bytes),
        }
    }
}

fn memory_inst(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    match inst {
        Inst::Load { dst, base, offset, size, signed } => {
            write!(f, "{dst} = {}[{base} + {offset}]", Loaded(*size, *signed))
        }
        Inst::Store { base, offset, size, src } => write!(f, "{size}[{base} + {offset}] = {src}"),
        Inst::AtomicAdd { base, offset, size, src } => write!(f, "lock {size}[{base} + {offset}] += {src}"),
        Inst::AtomicFetch { op, dst, base, offset, size, src } => {
            write!(f, "{dst} = {op}({size}[{base} + {offset}], {src})")
        }
        Inst::Address { dst, of } => write!(f, "{dst} = {of}"),
        Inst::SlotLoad { dst, slot, offset, size, signed } => {
            write!(f, "{dst} = {}[{slot} + {offset}]", Loaded(*size, *signed))
        }
        Inst::SlotStore { slot, offset, size, src } => write!(f, "{size}[{slot} + {offset}] = {src}"),
        _ => Ok(()),
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(to) => write!(f, "goto {to}"),
            Self::Branch { cond, width, a, b, then, otherwise } => {
                write!(f, "if {a} {cond}{} {b} goto {then} else {otherwise}", suffix(*width))
            }
            Self::Return(value) => write!(f, "return {value}"),
            Self::Unset => f.write_str("(no end)"),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let params: Vec<Operand> = (0..self.parameters).map(|i| Operand::Reg(Vreg(i))).collect();
        match &self.linkage {
            Linkage::Program { section, .. } => {
                writeln!(f, "program {}({}) in {section}", self.name, Args(&params))?;
            }
            Linkage::Subprogram => writeln!(f, "subprogram {}({})", self.name, Args(&params))?,
        }
        for (i, size) in self.slots.iter().enumerate() {
            writeln!(f, "  slot s{i}: {size} bytes")?;
        }
        for (i, block) in self.blocks.iter().enumerate() {
            writeln!(f, "b{i}:")?;
            for (inst, _) in &block.instructions {
                writeln!(f, "  {inst}")?;
            }
            writeln!(f, "  {}", block.terminator)?;
        }
        Ok(())
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, map) in self.maps.iter().enumerate() {
            writeln!(
                f,
                "map m{i} {}: type {}, key {}, value {}, entries {}, flags {}",
                map.name, map.kind, map.key_size, map.value_size, map.max_entries, map.flags
            )?;
        }
        for (i, section) in self.sections.iter().enumerate() {
            writeln!(f, "global g{i} {}: {} bytes", section.name, section.size)?;
        }
        for (i, function) in self.functions.iter().enumerate() {
            writeln!(f, "f{i}: {function}")?;
        }
        Ok(())
    }
}
