//! BPF machine instructions: `struct bpf_insn` of `include/uapi/linux/bpf.h`.

use crate::codegen::ir::{Alu, Cond, Size, Width};

/// A machine register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u8);

/// The frame pointer.
pub const FRAME: Reg = Reg(10);

/// `src_reg` of a call to a subprogram (`BPF_PSEUDO_CALL`).
pub const PSEUDO_CALL: u8 = 1;
/// `src_reg` of the load of a subprogram's address (`BPF_PSEUDO_FUNC`).
pub const PSEUDO_FUNC: u8 = 4;

/// Opcode of a helper or function call.
pub const OP_CALL: u8 = 0x85;
/// Opcode of `exit`.
pub const OP_EXIT: u8 = 0x95;
/// Opcode of `goto`.
pub const OP_JA: u8 = 0x05;
/// Opcode of `gotol`, whose offset is the constant (cpu v4).
pub const OP_JA_FAR: u8 = 0x06;
/// Opcode of the 16-byte load of a constant.
pub const OP_LD_IMM64: u8 = 0x18;

/// One instruction of eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Insn {
    /// Operation.
    pub code: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register, or what kind of constant or call it is.
    pub src: u8,
    /// Offset of a memory access or a jump.
    pub off: i16,
    /// Constant.
    pub imm: i32,
}

impl Insn {
    /// As the kernel of a little-endian machine reads it.
    #[must_use]
    pub const fn encode(self) -> [u8; 8] {
        let off = self.off.to_le_bytes();
        let imm = self.imm.to_le_bytes();
        [self.code, self.dst | self.src << 4, off[0], off[1], imm[0], imm[1], imm[2], imm[3]]
    }

    /// The opposite of [`Insn::encode`].
    #[must_use]
    pub const fn decode(bytes: [u8; 8]) -> Self {
        let [code, regs, o0, o1, i0, i1, i2, i3] = bytes;
        Self {
            code,
            dst: regs & 15,
            src: regs >> 4,
            off: i16::from_le_bytes([o0, o1]),
            imm: i32::from_le_bytes([i0, i1, i2, i3]),
        }
    }

    /// `dst op= src`
    #[must_use]
    pub const fn alu_reg(op: Alu, width: Width, dst: Reg, src: Reg) -> Self {
        Self { code: alu_class(width) | alu_code(op) | 0x08, dst: dst.0, src: src.0, off: 0, imm: 0 }
    }

    /// `dst op= imm`
    #[must_use]
    pub const fn alu_imm(op: Alu, width: Width, dst: Reg, imm: i32) -> Self {
        Self { code: alu_class(width) | alu_code(op), dst: dst.0, src: 0, off: 0, imm }
    }

    /// `dst = src`
    #[must_use]
    pub const fn mov_reg(width: Width, dst: Reg, src: Reg) -> Self {
        Self { code: alu_class(width) | 0xb0 | 0x08, dst: dst.0, src: src.0, off: 0, imm: 0 }
    }

    /// `dst = ` the low `bits` (8, 16, 32) of `src`, extended by sign (cpu v4).
    #[must_use]
    pub const fn mov_signed(dst: Reg, src: Reg, bits: u8) -> Self {
        Self { code: 0xbf, dst: dst.0, src: src.0, off: bits as i16, imm: 0 }
    }

    /// `dst = imm`, extended by sign.
    #[must_use]
    pub const fn mov_imm(dst: Reg, imm: i32) -> Self {
        Self { code: 0xb7, dst: dst.0, src: 0, off: 0, imm }
    }

    /// `dst = imm`, the upper half zero.
    #[must_use]
    pub const fn mov32_imm(dst: Reg, imm: i32) -> Self {
        Self { code: 0xb4, dst: dst.0, src: 0, off: 0, imm }
    }

    /// `dst = -dst`
    #[must_use]
    pub const fn neg(dst: Reg) -> Self {
        Self { code: 0x87, dst: dst.0, src: 0, off: 0, imm: 0 }
    }

    /// Low `bits` of `dst` in big-endian order: on a little-endian machine, reversed.
    #[must_use]
    pub const fn to_big_endian(dst: Reg, bits: u8) -> Self {
        Self { code: 0xdc, dst: dst.0, src: 0, off: 0, imm: bits as i32 }
    }

    /// `dst = *(base + off)`
    #[must_use]
    pub const fn load(size: Size, dst: Reg, base: Reg, off: i16) -> Self {
        Self { code: 0x61 | size_code(size), dst: dst.0, src: base.0, off, imm: 0 }
    }

    /// `dst = *(base + off)`, extended by sign; 1, 2 or 4 bytes (cpu v4).
    #[must_use]
    pub const fn load_signed(size: Size, dst: Reg, base: Reg, off: i16) -> Self {
        Self { code: 0x81 | size_code(size), dst: dst.0, src: base.0, off, imm: 0 }
    }

    /// `*(base + off) = src`
    #[must_use]
    pub const fn store_reg(size: Size, base: Reg, off: i16, src: Reg) -> Self {
        Self { code: 0x63 | size_code(size), dst: base.0, src: src.0, off, imm: 0 }
    }

    /// `*(base + off) = imm`
    #[must_use]
    pub const fn store_imm(size: Size, base: Reg, off: i16, imm: i32) -> Self {
        Self { code: 0x62 | size_code(size), dst: base.0, src: 0, off, imm }
    }

    /// An atomic operation; `operation` is `BPF_ADD`, with `BPF_FETCH` or `BPF_XCHG`.
    #[must_use]
    pub const fn atomic(size: Size, base: Reg, off: i16, src: Reg, operation: i32) -> Self {
        Self { code: 0xc3 | size_code(size), dst: base.0, src: src.0, off, imm: operation }
    }

    /// First half of a 64-bit constant; `kind` is a `BPF_PSEUDO_*`.
    #[must_use]
    pub const fn ld_imm64(dst: Reg, kind: u8, imm: i32) -> Self {
        Self { code: OP_LD_IMM64, dst: dst.0, src: kind, off: 0, imm }
    }

    /// Second half of a 64-bit constant.
    #[must_use]
    pub const fn ld_imm64_high(imm: i32) -> Self {
        Self { code: 0, dst: 0, src: 0, off: 0, imm }
    }

    /// A call; `kind` is a `BPF_PSEUDO_*`.
    #[must_use]
    pub const fn call(kind: u8, imm: i32) -> Self {
        Self { code: OP_CALL, dst: 0, src: kind, off: 0, imm }
    }

    /// Leaves the function.
    #[must_use]
    pub const fn exit() -> Self {
        Self { code: OP_EXIT, dst: 0, src: 0, off: 0, imm: 0 }
    }

    /// Jumps `off` instructions ahead of the next one.
    #[must_use]
    pub const fn ja(off: i16) -> Self {
        Self { code: OP_JA, dst: 0, src: 0, off, imm: 0 }
    }

    /// Jumps `distance` instructions ahead of the next one (cpu v4).
    #[must_use]
    pub const fn ja_far(distance: i32) -> Self {
        Self { code: OP_JA_FAR, dst: 0, src: 0, off: 0, imm: distance }
    }

    /// Jumps when `a cond b`.
    #[must_use]
    pub const fn jump_reg(cond: Cond, width: Width, a: Reg, b: Reg) -> Self {
        Self { code: jump_class(width) | cond_code(cond) | 0x08, dst: a.0, src: b.0, off: 0, imm: 0 }
    }

    /// Jumps when `a cond imm`.
    #[must_use]
    pub const fn jump_imm(cond: Cond, width: Width, a: Reg, imm: i32) -> Self {
        Self { code: jump_class(width) | cond_code(cond), dst: a.0, src: 0, off: 0, imm }
    }
}

const fn alu_class(width: Width) -> u8 {
    match width {
        Width::W32 => 0x04,
        Width::W64 => 0x07,
    }
}

const fn jump_class(width: Width) -> u8 {
    match width {
        Width::W32 => 0x06,
        Width::W64 => 0x05,
    }
}

const fn size_code(size: Size) -> u8 {
    match size {
        Size::B1 => 0x10,
        Size::B2 => 0x08,
        Size::B4 => 0x00,
        Size::B8 => 0x18,
    }
}

const fn alu_code(op: Alu) -> u8 {
    match op {
        Alu::Add => 0x00,
        Alu::Sub => 0x10,
        Alu::Mul => 0x20,
        Alu::Div => 0x30,
        Alu::Or => 0x40,
        Alu::And => 0x50,
        Alu::Shl => 0x60,
        Alu::Shr => 0x70,
        Alu::Mod => 0x90,
        Alu::Xor => 0xa0,
        Alu::Sar => 0xc0,
    }
}

const fn cond_code(cond: Cond) -> u8 {
    match cond {
        Cond::Eq => 0x10,
        Cond::Gt => 0x20,
        Cond::Ge => 0x30,
        Cond::Set => 0x40,
        Cond::Ne => 0x50,
        Cond::SGt => 0x60,
        Cond::SGe => 0x70,
        Cond::Lt => 0xa0,
        Cond::Le => 0xb0,
        Cond::SLt => 0xc0,
        Cond::SLe => 0xd0,
    }
}
