//! Memory that the verifier lets a program load from without a helper: the current task, the structs
//! that raw tracepoints and trampolines are given, and text in a tracepoint's record.
//!
//! A helper that reads kernel memory costs several function returns, each of which pays for the
//! machine's mitigations; a load costs one instruction.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Size, Vreg};
use crate::lang::typed::{Builtin, Expr, ExprKind, Program, size_align};
use crate::lang::types::{AddressSpace, StructId, Type};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::scalar_shape;

/// `__set_task_comm` pads names with zeros since Linux 5.17 (`strscpy_pad`).
const PADDED_SINCE: u32 = 5 << 16 | 17 << 8;
/// Structs inside each other that are looked through for a field.
const NESTED: u32 = 8;

/// Whether the current task can be read directly.
fn has_task(object: &ObjectBuilder<'_>) -> bool {
    object.facts.features().current_task_btf && object.facts.features().task_offsets.is_some()
}

/// Whether this program reads the current task anyway, so that its ids are there, too.
fn reads_task(l: &mut Lowerer<'_, '_>) -> bool {
    if let Some(known) = l.reads_task {
        return known;
    }
    let is_of_task = |e: &Expr| match &e.kind {
        ExprKind::Builtin(Builtin::Comm) => true,
        ExprKind::Field { base, .. } => is_current_task(base),
        _ => false,
    };
    let reads = has_task(l.object) && l.probe.all_exprs().any(is_of_task);
    l.reads_task = Some(reads);
    reads
}

/// Where the current task's name is, when it may be read by loads; with zeros behind its end when
/// `padded` is asked for.
pub fn task_name(l: &mut Lowerer<'_, '_>, padded: bool) -> Option<Addr> {
    let offsets = l.object.facts.features().task_offsets.filter(|_| has_task(l.object))?;
    if padded && l.object.facts.version < PADDED_SINCE || !offsets.comm.is_multiple_of(8) {
        return None;
    }
    Some(Addr::new(Base::Reg(l.function.task()), offsets.comm as i32))
}

/// A process's or thread's id from the current task.
pub fn task_id(l: &mut Lowerer<'_, '_>, process: bool) -> Option<Vreg> {
    if !reads_task(l) {
        return None;
    }
    let offsets = l.object.facts.features().task_offsets?;
    let task = l.function.task();
    let at = if process { offsets.tgid } else { offsets.pid };
    Some(memory::load(&mut l.function.builder, Addr::new(Base::Reg(task), at as i32), 4, false))
}

/// Memory of a string of which only the bytes up to its end are looked at: in place when loads
/// reach it.
pub fn readable<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Addr, CodegenError> {
    if !matches!(e.ty, Type::Str { .. }) {
        return l.memory(e);
    }
    match &e.kind {
        ExprKind::Builtin(Builtin::Comm) => {
            if let Some(name) = task_name(l, false) {
                return Ok(name);
            }
        }
        ExprKind::Builtin(Builtin::CtxField(offset))
            if l.kind == ProgramKind::Tracepoint && offset.is_multiple_of(8) =>
        {
            let context = l.function.context();
            return Ok(Addr::new(Base::Reg(context), *offset as i32));
        }
        _ => {}
    }
    l.memory(e)
}

/// A field of a struct that the verifier knows, loaded directly; absent for all others.
pub fn field<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Option<Operand>, CodegenError> {
    let Some(field) = trusted_path(e, l.object.program) else { return Ok(None) };
    let base = match field.pointer {
        Builtin::CurTask if has_task(l.object) => l.function.task(),
        Builtin::CtxField(offset)
            if matches!(l.kind, ProgramKind::RawTracepoint | ProgramKind::Fentry)
                && l.object.facts.features().btf
                && l.single =>
        {
            let context = l.function.context();
            l.function.builder.load(context, offset as i16, Size::B8)
        }
        _ => return Ok(None),
    };
    let (size, signed) = scalar_shape(&e.ty);
    let at = Addr::new(Base::Reg(base), field.offset as i32);
    let b = &mut l.function.builder;
    if field.pointer == Builtin::CurTask {
        let value = memory::load(b, at, size, signed);
        return Ok(Some(loaded(b, value, &e.ty)));
    }
    // Newer kernels say that some arguments may be null.
    let result = b.new_vreg();
    let [there, absent, done] = b.new_blocks();
    b.branch(Cond::Ne, base, 0, there, absent);
    b.switch_to(absent);
    b.copy_into(result, 0);
    l.count_loss(crate::model::stats::LossCause::ReadFailed, None, e.span);
    let b = &mut l.function.builder;
    b.jump(done);
    b.switch_to(there);
    let value = memory::load(b, at, size, signed);
    let value = loaded(b, value, &e.ty);
    b.copy_into(result, value);
    b.jump(done);
    b.switch_to(done);
    Ok(Some(result.into()))
}

/// A loaded value as a number: pointers lose what the verifier knows of them.
fn loaded(b: &mut FunctionBuilder, value: Vreg, ty: &Type) -> Operand {
    if matches!(ty, Type::Ptr { .. }) { numbers::plain(b, value).into() } else { value.into() }
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
