//! Functions computed inside the program.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, Intrinsic, SymbolForm};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::builtin::{registers, task};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers::constant;
use crate::codegen::lower::place::{Place, read};
use crate::codegen::lower::programs::session;
use crate::codegen::lower::strings::{search, source, symbolic_number, words};
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{helpers as h, numbers, objects, place, stack, strings, transfer};

/// Functions whose result fits a register.
pub fn scalar<'a>(
    l: &mut Lowerer<'_, 'a>,
    intrinsic: &Intrinsic,
    args: &'a [Expr],
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    match (intrinsic, args) {
        (Intrinsic::StrLen, [s]) => {
            let length = strings::length(l, s)?;
            Ok(length.into())
        }
        (Intrinsic::StrContains, [a, b]) => {
            let mark = l.mark();
            let index = search::index_of(l, a, b, e.span)?;
            l.release(mark);
            Ok(flow::compare(&mut l.function.builder, Cond::SGe, index, 0).into())
        }
        (Intrinsic::StrStr, [a, b]) => {
            let mark = l.mark();
            let index = search::index_of(l, a, b, e.span)?;
            l.release(mark);
            Ok(index.into())
        }
        (Intrinsic::StrNCmp, [a, b, n]) => {
            let Some(n) = constant(n) else { return l.internal(e.span, "a length that is not constant") };
            strings::compare_prefix(l, a, b, n.min(u64::from(u32::MAX)) as u32)
        }
        (Intrinsic::MemCmp, [a, b, n]) => {
            let Some(n) = constant(n) else {
                return Err(CodegenError::unsupported(
                    e.span,
                    "memcmp() with a length that is not constant",
                    "a constant",
                ));
            };
            strings::compare_memory(l, a, b, n.min(4096) as u32, e.span)
        }
        (Intrinsic::StackLen, [stack]) => {
            let at = l.memory(stack)?;
            Ok(memory::load(&mut l.function.builder, at.at(12), 4, false).into())
        }
        (Intrinsic::StackFrame, [user, skipped]) => {
            let (user, skipped) = (constant(user).unwrap_or(0) != 0, constant(skipped).unwrap_or(0));
            Ok(stack::frame(l, user, (skipped & 0xff) as i64).into())
        }
        (Intrinsic::KSym, [a]) => l.scalar(a),
        (Intrinsic::KSym, [a, form]) => {
            let address = l.scalar(a)?;
            let form = SymbolForm::of(constant(form).unwrap_or(0));
            let b = &mut l.function.builder;
            let whole = b.copy(address);
            let changed = b.copy(form.mark() as i64);
            b.alu_into(whole, Alu::Xor, Width::W64, whole, changed);
            Ok(whole.into())
        }
        (Intrinsic::FuncAddress, _) => function_address(l, e.span).map(Into::into),
        (Intrinsic::Bswap, [a]) => byte_swap(l, a, e),
        (Intrinsic::TaskPpid, _) => parent(l, args, e.span),
        (Intrinsic::PerCpuAddress, _) => per_cpu_kernel_address(l, args, e.span),
        (Intrinsic::Signal | Intrinsic::SignalThread, [n]) => {
            let number = l.scalar(n)?;
            let helper = if *intrinsic == Intrinsic::Signal { h::SEND_SIGNAL } else { h::SEND_SIGNAL_THREAD };
            let result = l.function.builder.call(helper, &[number]);
            read::helper_failed(l, result, e.span)?;
            Ok(result.into())
        }
        (Intrinsic::Override, [_]) if !l.object.facts.offers().override_return => {
            Err(CodegenError::unsupported(e.span, "override()", "the helper bpf_override_return")
                .with_hint("boot a kernel built with CONFIG_BPF_KPROBE_OVERRIDE=y"))
        }
        (Intrinsic::Override, [value]) => {
            let value = l.scalar(value)?;
            let context = l.function.context();
            let result = l.function.builder.call(h::OVERRIDE_RETURN, &[context.into(), value]);
            read::helper_failed(l, result, e.span)?;
            Ok(result.into())
        }
        (Intrinsic::ReadInto, [dst, src, n]) => transfer::read_into(l, dst, src, n, e.span),
        (Intrinsic::WriteUser, [dst, src, n]) => transfer::write_user(l, dst, src, n, e.span),
        (Intrinsic::KeepInSession, [word]) => session::keep(l, word),
        (Intrinsic::SocketCookie, [socket]) => objects::socket_cookie(l, socket, e.span),
        (Intrinsic::IsReadable, [pointer]) => {
            let place = l.pointee(pointer)?;
            Ok(read::succeeds(l, place))
        }
        _ if !e.ty.fits_register() => {
            let at = l.memory(e)?;
            Ok(memory::pointer(&mut l.function.builder, at).into())
        }
        _ => Err(CodegenError::unsupported(e.span, "this function", "a part of the compiler that is not built yet")),
    }
}

/// Functions whose result needs memory.
pub fn store<'a>(
    l: &mut Lowerer<'_, 'a>,
    intrinsic: &Intrinsic,
    args: &'a [Expr],
    e: &'a Expr,
    dst: Addr,
    ty: &Type,
    tail: Tail,
) -> Result<(), CodegenError> {
    match (intrinsic, args) {
        (Intrinsic::Str, _) => {
            source::str(l, args, e, dst, ty, tail)?;
            Ok(())
        }
        (Intrinsic::Words, [address, length]) => words::store(l, address, length, dst, ty, tail, e.span),
        (Intrinsic::Buf, _) => source::buffer(l, args, e, dst, ty),
        (Intrinsic::Path, [path]) => objects::path(l, path, e, dst, ty),
        (Intrinsic::SymbolicText, [word]) => symbolic_number::store_text(l, word, dst, ty, tail),
        (Intrinsic::StrConcat, [a, b]) => concatenate(l, a, b, dst, ty, e.span),
        (intrinsic, _) if intrinsic.captures_stack() => stack::capture(l, intrinsic, &e.ty, dst, e.span),
        (Intrinsic::USym, [a, form @ ..]) => {
            let address = l.scalar(a)?;
            store_user_symbol(l, address, dst);
            let form = form.first().and_then(constant).unwrap_or(0);
            memory::store(&mut l.function.builder, dst.at(12), 4, form as i64);
            Ok(())
        }
        (Intrinsic::FuncAddress, _) => {
            let address = function_address(l, e.span)?;
            store_user_symbol(l, address.into(), dst);
            Ok(())
        }
        (Intrinsic::Ntop, _) => transfer::store_address(l, args, dst, e.span),
        (Intrinsic::MacAddr, [a]) => {
            let place = if matches!(a.ty, Type::Ptr { .. }) { l.pointee(a)? } else { l.place(a)? };
            read::copy(l, place, dst, 6, e.span)
        }
        (Intrinsic::CgroupPath, [id, ..]) => {
            let id = l.scalar(id)?;
            let b = &mut l.function.builder;
            memory::store(b, dst, 8, id);
            let filter = args.get(1).and_then(Expr::as_int).unwrap_or(u64::from(u32::MAX));
            memory::store(b, dst.at(8), 4, i64::from(filter as u32));
            memory::store(b, dst.at(12), 4, 0);
            Ok(())
        }
        (Intrinsic::Strftime, [format, time, ..]) => {
            let ns = l.scalar(time)?;
            let b = &mut l.function.builder;
            memory::store(b, dst, 8, ns);
            let index = format.as_int().unwrap_or(0);
            let clock = args.get(2).and_then(Expr::as_int).unwrap_or(0);
            memory::store(b, dst.at(8), 4, index as i64);
            memory::store(b, dst.at(12), 4, clock as i64);
            Ok(())
        }
        (Intrinsic::JoinArgs, [argv, ..]) => transfer::store_join(l, argv, dst, ty, e.span),
        (Intrinsic::TaskComm, _) => store_task_comm(l, args, dst, ty, tail, e.span),
        (Intrinsic::SkbBytes, [skb, length, offset]) => transfer::store_packet(l, skb, length, offset, dst, ty, e.span),
        _ => Err(CodegenError::unsupported(e.span, "this function", "a part of the compiler that is not built yet")),
    }
}

fn concatenate<'a>(
    l: &mut Lowerer<'_, 'a>,
    a: &'a Expr,
    b: &'a Expr,
    dst: Addr,
    ty: &Type,
    span: Span,
) -> Result<(), CodegenError> {
    let (size, first, second) = (l.object.size(ty), l.object.size(&a.ty), l.object.size(&b.ty));
    let left = l.memory(a)?;
    let right = l.memory(b)?;
    // Variable offsets: built in working memory with room for both, then copied.
    let whole = l.temp_scratch(first + second);
    memory::zero(&mut l.function.builder, whole, first + second);
    let limit = i64::from(first);
    let length = read::string(l, Place::Memory(left), whole, first, limit.into(), Tail::Loose, false, span)?;
    let at = l.function.builder.new_vreg();
    l.function.builder.copy_into(at, 0);
    flow::when(&mut l.function.builder, Cond::SGt, length, 0, |b| {
        let without = b.sub(length, 1);
        b.copy_into(at, without);
    });
    numbers::at_most(&mut l.function.builder, at, limit - 1);
    let start = memory::pointer(&mut l.function.builder, whole);
    let to = l.function.builder.add(start, at);
    read::string(
        l,
        Place::Memory(right),
        Addr::new(Base::Reg(to), 0),
        second,
        i64::from(second).into(),
        Tail::Loose,
        false,
        span,
    )?;
    memory::copy(&mut l.function.builder, dst, whole, size.min(first + second));
    if size > first + second {
        memory::zero(&mut l.function.builder, dst.at(first + second), size - first - second);
    } else if size > 0 {
        memory::store(&mut l.function.builder, dst.at(size - 1), 1, 0);
    }
    Ok(())
}

fn store_user_symbol(l: &mut Lowerer<'_, '_>, address: Operand, dst: Addr) {
    memory::store(&mut l.function.builder, dst, 8, address);
    let pid = task::pid(l, true);
    memory::store(&mut l.function.builder, dst.at(8), 4, pid);
    memory::store(&mut l.function.builder, dst.at(12), 4, 0);
}

/// Address of the probed function: `bpf_get_func_ip` (5.15), or the instruction pointer.
fn function_address(l: &mut Lowerer<'_, '_>, span: Span) -> Result<Vreg, CodegenError> {
    let has_helper = l.object.facts.features().attach_cookie;
    match l.kind {
        ProgramKind::Uprobe | ProgramKind::UprobeMulti => {
            let ip = if cfg!(target_arch = "aarch64") { 256 } else { 128 };
            Ok(registers::context_word(&mut l.function, ip))
        }
        ProgramKind::Kprobe
        | ProgramKind::KprobeMulti
        | ProgramKind::KprobeSession
        | ProgramKind::Fentry
        | ProgramKind::Fexit
        | ProgramKind::FentryMulti
        | ProgramKind::FexitMulti
            if has_helper =>
        {
            let context = l.function.context();
            Ok(l.function.builder.call(h::GET_FUNC_IP, &[context.into()]))
        }
        ProgramKind::Kprobe | ProgramKind::KprobeMulti | ProgramKind::KprobeSession => {
            // x86 reports the address after the breakpoint (`kprobe_int3_handler`).
            let ip = registers::context_word(&mut l.function, if cfg!(target_arch = "aarch64") { 256 } else { 128 });
            Ok(if cfg!(target_arch = "aarch64") { ip } else { l.function.builder.sub(ip, 1) })
        }
        _ => Err(CodegenError::unsupported(span, "func here", "a probe on a function")),
    }
}

fn byte_swap<'a>(l: &mut Lowerer<'_, 'a>, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
    let value = l.scalar_register(a)?;
    let (size, _) = place::scalar_shape(&e.ty);
    if size == 1 {
        return Ok(value.into());
    }
    let swapped = l.function.builder.bswap(value, (size * 8) as u8);
    Ok(numbers::wrap(&mut l.function.builder, swapped, &e.ty).into())
}

/// `ppid` of the current or a given task.
fn parent<'a>(l: &mut Lowerer<'_, 'a>, args: &'a [Expr], span: Span) -> Result<Operand, CodegenError> {
    let Some(offsets) = l.object.facts.features().task_offsets else {
        return Err(CodegenError::unsupported(span, "ppid", "the kernel's BTF"));
    };
    let task = match args.first() {
        Some(task) => l.scalar(task)?,
        None => l.function.builder.call(h::GET_CURRENT_TASK, &[]).into(),
    };
    let at = |base, offset: u32| Place::Remote { base, offset: i64::from(offset), space: AddressSpace::Kernel };
    let parent = read::load(l, at(task, offsets.real_parent), &Type::U64, None, span)?;
    read::load(l, at(parent, offsets.tgid), &Type::U32, None, span)
}

/// `comm(task)`; without a task, the parent's name (`pcomm`).
fn store_task_comm<'a>(
    l: &mut Lowerer<'_, 'a>,
    args: &'a [Expr],
    dst: Addr,
    ty: &Type,
    tail: Tail,
    span: Span,
) -> Result<(), CodegenError> {
    let Some(offsets) = l.object.facts.features().task_offsets else {
        return Err(CodegenError::unsupported(span, "comm() of a task", "the kernel's BTF"));
    };
    let base = match args.first() {
        Some(task) if matches!(task.ty, Type::Ptr { .. }) => l.scalar(task)?,
        Some(pid) => return store_comm_of_id(l, pid, offsets.comm, dst, ty, tail, span),
        None => {
            let task = l.function.builder.call(h::GET_CURRENT_TASK, &[]);
            let at = Place::Remote {
                base: task.into(),
                offset: i64::from(offsets.real_parent),
                space: AddressSpace::Kernel,
            };
            read::load(l, at, &Type::U64, None, span)?
        }
    };
    let place = Place::Remote { base, offset: i64::from(offsets.comm), space: AddressSpace::Kernel };
    let size = l.object.size(ty);
    read::string(l, place, dst, size, i64::from(size.min(16)).into(), tail, false, span)?;
    Ok(())
}

/// `comm(id)`: empty when there is no such process.
fn store_comm_of_id<'a>(
    l: &mut Lowerer<'_, 'a>,
    id: &'a Expr,
    offset: u32,
    dst: Addr,
    ty: &Type,
    tail: Tail,
    span: Span,
) -> Result<(), CodegenError> {
    // Programs of the other kinds may call it since 6.12, but those on kprobes and uprobes may not.
    let newer = matches!(l.kind, ProgramKind::Tracepoint | ProgramKind::PerfEvent)
        && l.object.facts.version >= 6 << 16 | 12 << 8;
    if !l.object.facts.features().task_from_pid || !l.kind.is_tracing() && !newer {
        let needs = "bpf_task_from_pid (Linux 6.2, not for begin, end, kprobes and uprobes)";
        return Err(CodegenError::unsupported(span, "comm() of a process id here", needs)
            .with_hint("give it a `struct task_struct *`, such as curtask.real_parent"));
    }
    let size = l.object.size(ty);
    let id = l.scalar(id)?;
    memory::zero(&mut l.function.builder, dst, size);
    let task = l.function.builder.call("bpf_task_from_pid", &[id]);
    l.when(Cond::Ne, task.into(), 0.into(), |l| {
        let place = Place::Remote { base: task.into(), offset: i64::from(offset), space: AddressSpace::Kernel };
        read::string(l, place, dst, size, i64::from(size.min(16)).into(), tail, false, span)?;
        l.function.builder.call_void("bpf_task_release", &[task.into()]);
        Ok(())
    })
}

/// `percpu_kaddr(address, cpu)`: arguments are the symbol's address, the CPU and the address of
/// the kernel's `__per_cpu_offset` table.
fn per_cpu_kernel_address<'a>(l: &mut Lowerer<'_, 'a>, args: &'a [Expr], span: Span) -> Result<Operand, CodegenError> {
    let [address, cpu, table] = args else {
        return Err(CodegenError::unsupported(span, "percpu_kaddr()", "the kernel's symbol `__per_cpu_offset`"));
    };
    let address = l.scalar(address)?;
    let cpu = l.scalar_register(cpu)?;
    let table = l.scalar(table)?;
    let scaled = l.function.builder.shl(cpu, 3);
    let entry = l.function.builder.add(table, scaled);
    let place = Place::Remote { base: entry.into(), offset: 0, space: AddressSpace::Kernel };
    let offset = read::load(l, place, &Type::U64, None, span)?;
    Ok(l.function.builder.add(offset, address).into())
}
