//! Memory that the verifier lets a program load from without a helper: the current task, the structs
//! that raw tracepoints and trampolines are given, and text in a tracepoint's record.
//!
//! A helper that reads kernel memory costs several function returns, each of which pays for the
//! machine's mitigations; a load costs one instruction.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Size, Vreg};
use crate::lang::typed::{Builtin, Expr, ExprKind, Program, size_align};
use crate::lang::types::{AddressSpace, StructId, Type};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::place::{Place, scalar_shape};
use crate::codegen::lower::walk;

/// Bytes of `comm` in `struct task_struct` (`TASK_COMM_LEN`).
pub const COMM_BYTES: u32 = 16;
/// `__set_task_comm` pads names with zeros since Linux 5.17 (`strscpy_pad`).
const PADDED_SINCE: u32 = 5 << 16 | 17 << 8;
/// Longest text of a record that is copied by words.
const WORDWISE: u32 = 32;
/// Structs inside each other that are looked through for a field.
const NESTED: u32 = 8;

/// The lowest bit of every byte of a word.
const LOW_BITS: i64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte of a word.
const HIGH_BITS: i64 = 0x8080_8080_8080_8080_u64 as i64;

impl<'a> Lowerer<'_, 'a> {
    /// Whether the current task can be read directly.
    pub fn has_task(&self) -> bool {
        self.object.facts.features().current_task_btf && self.object.facts.features().task_offsets.is_some()
    }

    /// Whether this program reads the current task anyway, so that its ids are there, too.
    pub fn reads_task(&mut self) -> bool {
        if let Some(known) = self.reads_task {
            return known;
        }
        let mut found = false;
        let mut visit = |e: &Expr| {
            let name = matches!(e.kind, ExprKind::Builtin(Builtin::Comm));
            found |= name || matches!(&e.kind, ExprKind::Field { base, .. } if is_current_task(base));
        };
        walk::each_of_probe(self.probe, &mut |_| (), &mut visit);
        let reads = found && self.has_task();
        self.reads_task = Some(reads);
        reads
    }

    /// Where the current task's name is, when it may be read by loads; with zeros behind its end when
    /// `padded` is asked for.
    pub fn task_name(&mut self, padded: bool) -> Option<Addr> {
        let offsets = self.object.facts.features().task_offsets.filter(|_| self.has_task())?;
        if padded && self.object.facts.version < PADDED_SINCE || !offsets.comm.is_multiple_of(8) {
            return None;
        }
        Some(Addr::new(Base::Reg(self.function.task()), offsets.comm as i32))
    }

    /// A process's or thread's id from the current task.
    pub fn task_id(&mut self, process: bool) -> Option<Vreg> {
        if !self.reads_task() {
            return None;
        }
        let offsets = self.object.facts.features().task_offsets?;
        let task = self.function.task();
        let at = if process { offsets.tgid } else { offsets.pid };
        Some(self.load(Addr::new(Base::Reg(task), at as i32), 4, false))
    }

    /// Memory of a string of which only the bytes up to its end are looked at: in place when loads
    /// reach it.
    pub fn readable(&mut self, e: &'a Expr) -> Result<Addr, CodegenError> {
        if !matches!(e.ty, Type::Str { .. }) {
            return self.memory(e);
        }
        match &e.kind {
            ExprKind::Builtin(Builtin::Comm) => {
                if let Some(name) = self.task_name(false) {
                    return Ok(name);
                }
            }
            ExprKind::Builtin(Builtin::CtxField(offset))
                if self.kind == ProgramKind::Tracepoint && offset.is_multiple_of(8) =>
            {
                let context = self.function.context();
                return Ok(Addr::new(Base::Reg(context), *offset as i32));
            }
            _ => {}
        }
        self.memory(e)
    }

    /// Copies text of a record by words, with zeros behind its end; false when it is not of that kind.
    pub fn copy_record_text(&mut self, place: Place, dst: Addr, have: u32, want: u32) -> bool {
        let Place::Context(offset) = place else { return false };
        let words = have.is_multiple_of(8) && have <= WORDWISE && offset.is_multiple_of(8) && dst.offset % 8 == 0;
        if self.kind != ProgramKind::Tracepoint || !words || want < have {
            return false;
        }
        let context = self.function.context();
        let from = Addr::new(Base::Reg(context), offset as i32);
        let done = self.function.builder.new_block();
        for at in (0..have).step_by(8) {
            let word = self.load(from.at(at), 8, false);
            if at + 8 == have {
                // A text without an end loses its last byte to one, as the helper does it.
                let word = self.function.builder.and(word, i64::MAX >> 7);
                let (cut, whole) = self.first_end(word);
                self.function.builder.switch_to(cut.0);
                self.store(dst.at(at), 8, cut.1);
                self.function.builder.jump(done);
                self.function.builder.switch_to(whole);
                self.store(dst.at(at), 8, word);
                self.function.builder.jump(done);
                break;
            }
            let (cut, whole) = self.first_end(word);
            self.function.builder.switch_to(cut.0);
            self.store(dst.at(at), 8, cut.1);
            self.zero(dst.at(at + 8), have - at - 8);
            self.function.builder.jump(done);
            self.function.builder.switch_to(whole);
            self.store(dst.at(at), 8, word);
        }
        self.function.builder.switch_to(done);
        if want > have {
            self.zero(dst.at(have), want - have);
        }
        true
    }

    /// Two paths: the word holds a zero byte, with what is behind it cleared; or it holds none.
    fn first_end(&mut self, word: Vreg) -> ((crate::codegen::ir::BlockId, Vreg), crate::codegen::ir::BlockId) {
        let (low, high) = (self.function.builder.imm(LOW_BITS), self.function.builder.imm(HIGH_BITS));
        // The lowest bit that this leaves is the highest of the first byte that is zero.
        let less = self.function.builder.sub(word, low);
        let inverse = self.function.builder.alu(Alu::Xor, word, -1);
        let zeros = self.function.builder.and(less, inverse);
        let zeros = self.function.builder.and(zeros, high);
        let (ended, whole) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, zeros, 0, ended, whole);
        self.function.builder.switch_to(ended);
        let negative = self.function.builder.neg(zeros);
        let first = self.function.builder.and(zeros, negative);
        let below = self.function.builder.shr(first, 7);
        let below = self.function.builder.sub(below, 1);
        let kept = self.function.builder.and(word, below);
        ((self.function.builder.current(), kept), whole)
    }

    /// A field of a struct that the verifier knows, loaded directly; absent for all others.
    pub fn trusted_field(&mut self, e: &'a Expr) -> Result<Option<Operand>, CodegenError> {
        let Some(field) = trusted_path(e, self.object.program) else { return Ok(None) };
        let base = match field.pointer {
            Builtin::CurTask if self.has_task() => self.function.task(),
            Builtin::CtxField(offset)
                if matches!(self.kind, ProgramKind::RawTracepoint | ProgramKind::Fentry)
                    && self.object.facts.features().btf
                    && self.single =>
            {
                let context = self.function.context();
                self.function.builder.load(context, offset as i16, Size::B8)
            }
            _ => return Ok(None),
        };
        let (size, signed) = scalar_shape(&e.ty);
        let at = Addr::new(Base::Reg(base), field.offset as i32);
        if field.pointer == Builtin::CurTask {
            let value = self.load(at, size, signed);
            return Ok(Some(self.loaded(value, &e.ty)));
        }
        // Newer kernels say that some arguments may be null.
        let result = self.function.builder.new_vreg();
        let (there, absent, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, base, 0, there, absent);
        self.function.builder.switch_to(absent);
        self.function.builder.copy_into(result, 0);
        self.count_loss(crate::model::stats::LossCause::ReadFailed, None, e.span);
        self.function.builder.jump(done);
        self.function.builder.switch_to(there);
        let value = self.load(at, size, signed);
        let value = self.loaded(value, &e.ty);
        self.function.builder.copy_into(result, value);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(Some(result.into()))
    }

    /// A loaded value as a number: pointers lose what the verifier knows of them.
    fn loaded(&mut self, value: Vreg, ty: &Type) -> Operand {
        if matches!(ty, Type::Ptr { .. }) { self.plain(value).into() } else { value.into() }
    }
}

/// A field behind a pointer that the verifier knows.
struct TrustedField {
    pointer: Builtin,
    offset: u32,
}

fn is_current_task(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Builtin(Builtin::CurTask) => true,
        ExprKind::Deref(a) | ExprKind::Field { base: a, .. } => is_current_task(a),
        _ => false,
    }
}

/// `pointer.a.b.c`, where `a` and `b` are structs in place and `c` is a number of its natural size.
fn trusted_path(e: &Expr, program: &Program) -> Option<TrustedField> {
    let ExprKind::Field { base, offset, bits: None } = &e.kind else { return None };
    let (mut at, mut outer) = (*offset, &**base);
    while let ExprKind::Field { base, offset, bits: None } = &outer.kind {
        if matches!(base.ty, Type::Ptr { .. }) {
            break;
        }
        at = at.checked_add(*offset)?;
        outer = base;
    }
    let (pointer, root) = match (&outer.kind, &outer.ty) {
        (ExprKind::Deref(pointer), Type::Struct(root)) => (&**pointer, *root),
        (ExprKind::Field { base, offset, bits: None }, Type::Struct(_)) => {
            at = at.checked_add(*offset)?;
            let Type::Ptr { to, .. } = &base.ty else { return None };
            let Type::Struct(root) = **to else { return None };
            (&**base, root)
        }
        (_, Type::Ptr { to, .. }) => {
            let Type::Struct(root) = **to else { return None };
            (outer, root)
        }
        _ => return None,
    };
    let ExprKind::Builtin(builtin @ (Builtin::CurTask | Builtin::CtxField(_))) = pointer.kind else { return None };
    if matches!(&pointer.ty, Type::Ptr { space, .. } if *space != AddressSpace::Kernel) {
        return None;
    }
    let size = scalar_shape(&e.ty).0;
    let fits = e.ty.is_scalar() && i16::try_from(at).is_ok() && at.is_multiple_of(size);
    (fits && is_plain_member(program, root, at, &e.ty, NESTED)).then_some(TrustedField { pointer: builtin, offset: at })
}

/// Whether the verifier finds exactly this member at this offset (`btf_struct_walk`,
/// kernel/bpf/btf.c): it takes the first member of a union, whichever is meant.
fn is_plain_member(program: &Program, id: StructId, at: u32, ty: &Type, depth: u32) -> bool {
    let Some(def) = program.structs.get(id.0 as usize).filter(|d| !d.union && depth > 0) else { return false };
    let covering = def.fields.iter().filter(|f| {
        let size = size_align(&f.ty, &program.structs).0;
        f.offset <= at && at < f.offset.saturating_add(size)
    });
    let mut covering = covering.peekable();
    let Some(field) = covering.next() else { return false };
    if covering.peek().is_some() || field.bits.is_some() {
        return false;
    }
    match &field.ty {
        Type::Struct(inner) => is_plain_member(program, *inner, at - field.offset, ty, depth - 1),
        other => field.offset == at && scalar_shape(other).0 == scalar_shape(ty).0 && other.is_scalar(),
    }
}
