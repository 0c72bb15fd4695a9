//! Kernel and user stacks: captured once, stored under the hash of their content.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BpfMapId, Cond, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::types::Type;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{KNOWN_STACK_IDS, KNOWN_STACKS, MOST_FRAMES};

/// Multiplier of the hash: the golden ratio in 64 bits.
const MIX: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// Deeper stacks are hashed in pieces of so many frames, as far as they go.
const PIECE: u32 = 8;
/// Stacks up to this depth are hashed in one piece.
const ONE_PIECE: u32 = 16;

impl Lowerer<'_, '_> {
    /// Captures a stack and writes its value: `u64` id, `u32` process, `u32` frames.
    pub fn capture_stack(&mut self, ty: &Type, dst: Addr, span: Span) -> Result<(), CodegenError> {
        let (depth, user) = match ty {
            Type::UStack { depth, .. } => (u32::from(*depth), true),
            Type::KStack { depth, .. } => (u32::from(*depth), false),
            _ => return self.internal(span, "a stack of another type"),
        };
        if depth == 0 {
            self.store(dst, 8, 0);
            self.store(dst.at(8), 8, 0);
            return Ok(());
        }
        let depth = depth.min(MOST_FRAMES);
        let bytes = depth * 8;
        let mark = self.mark();
        let process = if user { self.pid(true) } else { self.function.builder.imm(0) };
        // The map's values have the depth of the script's deepest stack; shorter ones end in zeros.
        let stacks = self.object.stacks(depth);
        let widest = self.deepest();
        let frames = self.temp_scratch(widest * 8 + 8);
        let key = frames;
        let frames = frames.at(8);
        // The helper fills the rest of what it is given with zeros (`__bpf_get_stack`,
        // kernel/bpf/stackmap.c).
        self.zero(frames.at(bytes), (widest - depth) * 8);
        let context = self.function.context();
        let to = self.pointer(frames);
        let flags = if user { h::BPF_F_USER_STACK } else { 0 };
        let got = self
            .function
            .builder
            .call(h::GET_STACK, &[context.into(), to.into(), i64::from(bytes).into(), flags.into()]);
        let (id, count) = (self.function.builder.imm(0), self.function.builder.imm(0));
        let (store, lost, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::SGt, got, 0, store, lost);
        self.function.builder.switch_to(lost);
        self.none_captured(user, got, span)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(store);
        let frames_got = self.function.builder.shr(got, 3);
        self.function.builder.copy_into(count, frames_got);
        self.hash_frames(frames, depth, id)?;
        self.keep_stack(stacks, id, key, frames, span)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.store(dst, 8, id);
        self.store(dst.at(8), 4, process);
        self.store(dst.at(12), 4, count);
        self.release(mark);
        Ok(())
    }

    /// No frames came. Kernel threads have no user stack, and a sample that hits user code no kernel stack:
    /// that is no loss. Before Linux 5.18 the helper fails with `-EFAULT` then, later it returns 0
    /// (`__bpf_get_stack`, kernel/bpf/stackmap.c).
    fn none_captured(&mut self, user: bool, got: Vreg, span: Span) -> Result<(), CodegenError> {
        const EFAULT: i64 = 14;
        if !user && self.kind != ProgramKind::PerfEvent {
            self.count_loss(LossCause::Stack, None, span);
            return Ok(());
        }
        self.when(Cond::Ne, got.into(), 0.into(), |l| {
            l.when(Cond::Ne, got.into(), (-EFAULT).into(), |l| {
                l.count_loss(LossCause::Stack, None, span);
                Ok(())
            })
        })
    }

    /// Puts a stack into the map of stacks, unless it is there; `id` becomes 0 when there is no room.
    ///
    /// Stacks stay in the map as long as it lives, so an id that was seen in it needs no second look: a
    /// table of ids, shared by all CPUs and overwritten as they come, saves the lookup of frequent ones.
    fn keep_stack(
        &mut self,
        stacks: BpfMapId,
        id: Vreg,
        key: Addr,
        frames: Addr,
        span: Span,
    ) -> Result<(), CodegenError> {
        let section = self.object.section(KNOWN_STACKS);
        // The id's highest bits are its best mixed ones.
        let place = self.function.builder.shr(id, i64::from(64 - 3 - KNOWN_STACK_IDS.trailing_zeros()));
        let place = self.function.builder.and(place, i64::from(KNOWN_STACK_IDS - 1) * 8);
        let table = self.function.builder.global_addr(section, 0);
        let entry = Addr::new(Base::Reg(self.function.builder.add(table, place)), 0);
        let known = self.load(entry, 8, false);
        self.when(Cond::Ne, known.into(), id.into(), |l| {
            l.store(key, 8, id);
            let element = l.lookup(stacks, key);
            l.when(Cond::Eq, element.into(), 0.into(), |l| {
                let handle = l.function.builder.map_addr(stacks);
                let at = l.pointer(key);
                let value = l.pointer(frames);
                let args = [handle.into(), at.into(), value.into(), h::BPF_ANY.into()];
                let result = l.function.builder.call(h::MAP_UPDATE_ELEM, &args);
                l.when(Cond::Ne, result.into(), 0.into(), |l| {
                    l.count_loss(LossCause::Stack, None, span);
                    l.function.builder.copy_into(id, 0);
                    Ok(())
                })
            })?;
            l.store(entry, 8, id);
            Ok(())
        })
    }

    /// Frames of the script's deepest stack: the stack map's value.
    fn deepest(&self) -> u32 {
        self.object.deepest_stack.max(self.object.stack_depth)
    }

    /// A hash over the frames, in two lanes, so that multiplications overlap. A deep stack's ends with the
    /// first piece that ends with a zero. There is no loop: the verifier would follow one frame by frame,
    /// and come out of it on as many paths.
    fn hash_frames(&mut self, frames: Addr, depth: u32, hash: Vreg) -> Result<(), CodegenError> {
        let mix = self.function.builder.imm(MIX);
        let lanes = [self.function.builder.copy(mix), self.function.builder.imm(0)];
        let done = self.function.builder.new_block();
        for frame in 0..depth {
            let lane = lanes[frame as usize % 2];
            let value = self.load(frames.at(frame * 8), 8, false);
            self.function.builder.alu_into(lane, Alu::Xor, Width::W64, lane, value);
            self.function.builder.alu_into(lane, Alu::Mul, Width::W64, lane, mix);
            if depth > ONE_PIECE && frame % PIECE == PIECE - 1 {
                self.function.builder.require(Cond::Ne, value, 0, done);
            }
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        let high = self.function.builder.shr(lanes[0], 29);
        self.function.builder.alu_into(lanes[0], Alu::Xor, Width::W64, lanes[0], high);
        let folded = self.function.builder.mul(lanes[0], mix);
        let sum = self.function.builder.add(folded, lanes[1]);
        self.function.builder.copy_into(hash, sum);
        self.never_zero(hash)
    }

    /// 0 says "no stack".
    fn never_zero(&mut self, hash: Vreg) -> Result<(), CodegenError> {
        self.when(Cond::Eq, hash.into(), 0.into(), |l| {
            l.function.builder.copy_into(hash, 1);
            Ok(())
        })
    }
}
