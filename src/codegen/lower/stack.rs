//! Kernel and user stacks: captured once, stored under the hash of their content.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use super::addr::{Addr, Base};
use super::func::Lowerer;
use super::helpers as h;

/// `kernel.perf_event_max_stack`'s default: `bpf_get_stack` refuses nothing above it but returns no more.
pub const MOST_FRAMES: u32 = 127;

/// Multiplier of the hash: the golden ratio in 64 bits.
const MIX: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// Stacks up to this depth are hashed without a loop.
const UNROLLED: u32 = 16;

impl Lowerer<'_, '_> {
    /// Captures a stack and writes its value: `u64` id, `u32` process, `u32` frames.
    pub fn capture_stack(&mut self, ty: &Type, dst: Addr, span: Span) -> Result<(), CodegenError> {
        let (depth, user) = match ty {
            Type::UStack { depth, .. } => (u32::from(*depth), true),
            Type::KStack { depth, .. } => (u32::from(*depth), false),
            _ => return self.internal(span, "a stack of another type"),
        };
        let depth = depth.clamp(1, MOST_FRAMES);
        let bytes = depth * 8;
        let mark = self.mark();
        let process = if user { self.pid(true) } else { self.f.b.imm(0) };
        // The map's values have the depth of the script's deepest stack; shorter ones end in zeros.
        let stacks = self.u.stacks(depth);
        let widest = self.deepest();
        let frames = self.temp_scratch(widest * 8 + 8);
        let key = frames;
        let frames = frames.at(8);
        // The helper fills the rest of what it is given with zeros (`__bpf_get_stack`,
        // kernel/bpf/stackmap.c).
        self.zero(frames.at(bytes), (widest - depth) * 8);
        let context = self.f.context();
        let to = self.pointer(frames);
        let flags = if user { h::BPF_F_USER_STACK } else { 0 };
        let got = self.f.b.call(h::GET_STACK, &[context.into(), to.into(), i64::from(bytes).into(), flags.into()]);
        let (id, count) = (self.f.b.imm(0), self.f.b.imm(0));
        let (store, lost, done) = (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        self.f.b.branch(Cond::SGt, got, 0, store, lost);
        self.f.b.switch_to(lost);
        self.count_loss(LossCause::Stack, None, span);
        self.f.b.jump(done);
        self.f.b.switch_to(store);
        let frames_got = self.f.b.shr(got, 3);
        self.f.b.copy_into(count, frames_got);
        if depth <= UNROLLED {
            self.hash_few(frames, depth, id)?;
        } else {
            self.hash_frames(frames, depth, id)?;
        }
        self.store(key, 8, id);
        let element = self.lookup(stacks, key);
        self.when(Cond::Eq, element.into(), 0.into(), |l| {
            let handle = l.f.b.map_addr(stacks);
            let at = l.pointer(key);
            let value = l.pointer(frames);
            let result = l.f.b.call(h::MAP_UPDATE_ELEM, &[handle.into(), at.into(), value.into(), h::BPF_ANY.into()]);
            l.when(Cond::Ne, result.into(), 0.into(), |l| {
                l.count_loss(LossCause::Stack, None, span);
                l.f.b.copy_into(id, 0);
                Ok(())
            })
        })?;
        self.f.b.jump(done);
        self.f.b.switch_to(done);
        self.store(dst, 8, id);
        self.store(dst.at(8), 4, process);
        self.store(dst.at(12), 4, count);
        self.release(mark);
        Ok(())
    }

    /// Frames of the script's deepest stack: the stack map's value.
    fn deepest(&self) -> u32 {
        self.u.deepest_stack.max(self.u.stack_depth)
    }

    /// A hash over all `depth` frames, zeros included: two lanes, so that multiplications overlap.
    fn hash_few(&mut self, frames: Addr, depth: u32, hash: Vreg) -> Result<(), CodegenError> {
        let mix = self.f.b.imm(MIX);
        let lanes = [self.f.b.copy(mix), self.f.b.imm(0)];
        for frame in 0..depth {
            let lane = lanes[frame as usize % 2];
            let value = self.load(frames.at(frame * 8), 8, false);
            self.f.b.alu_into(lane, Alu::Xor, Width::W64, lane, value);
            self.f.b.alu_into(lane, Alu::Mul, Width::W64, lane, mix);
        }
        let high = self.f.b.shr(lanes[0], 29);
        self.f.b.alu_into(lanes[0], Alu::Xor, Width::W64, lanes[0], high);
        let folded = self.f.b.mul(lanes[0], mix);
        let sum = self.f.b.add(folded, lanes[1]);
        self.f.b.copy_into(hash, sum);
        self.never_zero(hash)
    }

    /// A hash over the frames in use. The loop ends at the first frame that is zero, not by their
    /// number: of that the verifier would learn something different each time round, and follow what
    /// comes after as often.
    fn hash_frames(&mut self, frames: Addr, depth: u32, hash: Vreg) -> Result<(), CodegenError> {
        self.f.b.copy_into(hash, MIX);
        let start = self.pointer(frames);
        let offset = self.f.b.imm(0);
        let (head, body, done) = (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        self.f.b.jump(head);
        self.f.b.switch_to(head);
        let at = self.f.b.add(start, offset);
        let frame = self.load(Addr::new(Base::Reg(at), 0), 8, false);
        self.f.b.branch(Cond::Ne, frame, 0, body, done);
        self.f.b.switch_to(body);
        self.f.b.alu_into(hash, Alu::Xor, Width::W64, hash, frame);
        self.f.b.alu_into(hash, Alu::Mul, Width::W64, hash, MIX);
        let high = self.f.b.shr(hash, 29);
        self.f.b.alu_into(hash, Alu::Xor, Width::W64, hash, high);
        self.f.b.alu_into(offset, Alu::Add, Width::W64, offset, 8);
        self.f.b.branch(Cond::Lt, offset, i64::from(depth) * 8, head, done);
        self.f.b.switch_to(done);
        self.never_zero(hash)
    }

    /// 0 says "no stack".
    fn never_zero(&mut self, hash: Vreg) -> Result<(), CodegenError> {
        self.when(Cond::Eq, hash.into(), 0.into(), |l| {
            l.f.b.copy_into(hash, 1);
            Ok(())
        })
    }
}
