//! Functions computed inside the program.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Vreg};
use crate::codegen::lower::expr;
use crate::codegen::lower::place;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::place::Place;
use crate::codegen::lower::value::Tail;

impl<'a> Lowerer<'_, 'a> {
    /// Functions whose result fits a register.
    pub fn intrinsic_scalar(
        &mut self,
        intrinsic: &Intrinsic,
        args: &'a [Expr],
        e: &'a Expr,
    ) -> Result<Operand, CodegenError> {
        match (intrinsic, args) {
            (Intrinsic::StrLen, [s]) => {
                let length = self.string_length(s)?;
                Ok(length.into())
            }
            (Intrinsic::StrContains, [a, b]) => {
                let mark = self.mark();
                let index = self.search(a, b, e.span)?;
                self.release(mark);
                Ok(self.function.builder.compare(Cond::SGe, index, 0).into())
            }
            (Intrinsic::StrStr, [a, b]) => {
                let mark = self.mark();
                let index = self.search(a, b, e.span)?;
                self.release(mark);
                Ok(index.into())
            }
            (Intrinsic::StrNCmp, [a, b, n]) => {
                let Some(n) = constant(n) else { return self.internal(e.span, "a length that is not constant") };
                self.compare_prefix(a, b, n.min(u64::from(u32::MAX)) as u32)
            }
            (Intrinsic::MemCmp, [a, b, n]) => {
                let Some(n) = constant(n) else {
                    return self.unsupported(e.span, "memcmp() with a length that is not constant", "a constant");
                };
                self.compare_memory(a, b, n.min(4096) as u32, e.span)
            }
            (Intrinsic::StackLen, [stack]) => {
                let at = self.memory(stack)?;
                Ok(self.load(at.at(12), 4, false).into())
            }
            (Intrinsic::KSym, [a]) => self.scalar(a),
            (Intrinsic::FuncAddress, _) => self.function_address(e.span).map(Into::into),
            (Intrinsic::Bswap, [a]) => self.byte_swap(a, e),
            (Intrinsic::TaskPpid, _) => self.parent(args, e.span),
            (Intrinsic::PerCpuAddress, _) => self.per_cpu_kernel_address(args, e.span),
            (Intrinsic::Signal | Intrinsic::SignalThread, [n]) => {
                let number = self.scalar(n)?;
                let helper = if *intrinsic == Intrinsic::Signal { h::SEND_SIGNAL } else { h::SEND_SIGNAL_THREAD };
                let result = self.function.builder.call(helper, &[number]);
                self.helper_failed(result, e.span)?;
                Ok(result.into())
            }
            (Intrinsic::Override, [_]) if !self.object.facts.offers().override_return => {
                Err(CodegenError::unsupported(e.span, "override()", "the helper bpf_override_return")
                    .with_hint("boot a kernel built with CONFIG_BPF_KPROBE_OVERRIDE=y"))
            }
            (Intrinsic::Override, [value]) => {
                let value = self.scalar(value)?;
                let context = self.function.context();
                let result = self.function.builder.call(h::OVERRIDE_RETURN, &[context.into(), value]);
                self.helper_failed(result, e.span)?;
                Ok(result.into())
            }
            (Intrinsic::ReadInto, [dst, src, n]) => self.read_into(dst, src, n, e.span),
            (Intrinsic::WriteUser, [dst, src, n]) => self.write_user(dst, src, n, e.span),
            (Intrinsic::SocketCookie, [socket]) => self.socket_cookie(socket, e.span),
            _ if !e.ty.fits_register() => {
                let at = self.memory(e)?;
                Ok(self.pointer(at).into())
            }
            _ => self.unsupported(e.span, "this function", "a part of the compiler that is not built yet"),
        }
    }

    /// Functions whose result needs memory.
    pub fn intrinsic_store(
        &mut self,
        intrinsic: &Intrinsic,
        args: &'a [Expr],
        e: &'a Expr,
        dst: Addr,
        ty: &Type,
        tail: Tail,
    ) -> Result<(), CodegenError> {
        match (intrinsic, args) {
            (Intrinsic::Str, _) => {
                self.read_str_call(args, e, dst, ty, tail)?;
                Ok(())
            }
            (Intrinsic::Buf, _) => self.store_buffer(args, e, dst, ty),
            (Intrinsic::Path, [path]) => self.store_path(path, e, dst, ty),
            (Intrinsic::SymbolicText, [word]) => self.store_text_of(word, dst, ty, tail),
            (Intrinsic::StrConcat, [a, b]) => self.concatenate(a, b, dst, ty, e.span),
            (Intrinsic::KStack | Intrinsic::UStack, _) => self.capture_stack(&e.ty, dst, e.span),
            (Intrinsic::USym, [a]) => {
                let address = self.scalar(a)?;
                self.store_user_symbol(address, dst);
                Ok(())
            }
            (Intrinsic::FuncAddress, _) => {
                let address = self.function_address(e.span)?;
                self.store_user_symbol(address.into(), dst);
                Ok(())
            }
            (Intrinsic::Ntop, _) => self.store_address(args, dst, e.span),
            (Intrinsic::MacAddr, [a]) => {
                let place = if matches!(a.ty, Type::Ptr { .. }) { self.pointee(a)? } else { self.place(a)? };
                self.read_place(place, dst, 6, e.span)
            }
            (Intrinsic::CgroupPath, [id, ..]) => {
                let id = self.scalar(id)?;
                self.store(dst, 8, id);
                let filter = args.get(1).and_then(Expr::as_int).unwrap_or(u64::from(u32::MAX));
                self.store(dst.at(8), 4, i64::from(filter as u32));
                self.store(dst.at(12), 4, 0);
                Ok(())
            }
            (Intrinsic::Strftime, [format, time, ..]) => {
                let ns = self.scalar(time)?;
                self.store(dst, 8, ns);
                let index = format.as_int().unwrap_or(0);
                let clock = args.get(2).and_then(Expr::as_int).unwrap_or(0);
                self.store(dst.at(8), 4, index as i64);
                self.store(dst.at(12), 4, clock as i64);
                Ok(())
            }
            (Intrinsic::JoinArgs, [argv, ..]) => self.store_join(argv, dst, ty, e.span),
            (Intrinsic::TaskComm, _) => self.store_task_comm(args, dst, ty, tail, e.span),
            (Intrinsic::SkbBytes, [skb, length, offset]) => self.store_packet(skb, length, offset, dst, ty, e.span),
            _ => self.unsupported(e.span, "this function", "a part of the compiler that is not built yet"),
        }
    }

    /// `str(pointer[, length])`. What the helper returns: bytes with the terminator, or an error.
    pub fn read_str_call(
        &mut self,
        args: &'a [Expr],
        e: &'a Expr,
        dst: Addr,
        ty: &Type,
        tail: Tail,
    ) -> Result<Vreg, CodegenError> {
        let room = self.size(ty).min(self.size(&e.ty)).max(1);
        let (place, limit) = self.str_source(args, e, room)?;
        self.read_string(place, dst, self.size(ty), limit, tail, true, e.span)
    }

    /// The beginning of a `str()`: as much of it as a comparison of its first `bytes` bytes looks at. None where
    /// that is no less than all, or the expression is another.
    pub fn beginning_of_str(&mut self, e: &'a Expr, bytes: u32) -> Result<Option<Addr>, CodegenError> {
        let ExprKind::Call(Intrinsic::Str, args) = &e.kind else { return Ok(None) };
        // A helper that is told a length at run time wants all of its memory written before.
        let known = args.get(1).is_none_or(|length| constant(length).is_some());
        // The helper ends what it copies: with one byte more, the last of those compared is the string's own.
        let room = bytes + 1;
        if !known || room >= self.size(&e.ty) {
            return Ok(None);
        }
        let (place, limit) = self.str_source(args, e, room)?;
        let dst = self.temp(room);
        self.read_string(place, dst, room, limit, Tail::Loose, false, e.span)?;
        Ok(Some(dst))
    }

    /// Where a `str()` reads, and how many bytes with the terminator: at most `room`.
    fn str_source(&mut self, args: &'a [Expr], e: &'a Expr, room: u32) -> Result<(Place, Operand), CodegenError> {
        let Some(source) = args.first() else { return self.internal(e.span, "str() without an argument") };
        let place = match &source.ty {
            Type::Ptr { .. } => self.pointee(source)?,
            t if t.fits_register() => {
                let base = self.scalar(source)?;
                Place::Remote { base, offset: 0, space: self.untyped_space() }
            }
            _ => self.place(source)?,
        };
        let bound = match &source.ty {
            Type::Array { .. } | Type::Str { .. } => room.min(self.size(&source.ty).max(1)),
            _ => room,
        };
        let limit = match args.get(1) {
            None => Operand::Imm(i64::from(bound)),
            Some(length) => self.string_limit(length, bound)?,
        };
        Ok((place, limit))
    }

    /// Length of a `str()` with the terminator, at most `bound`.
    fn string_limit(&mut self, length: &'a Expr, bound: u32) -> Result<Operand, CodegenError> {
        if let Some(n) = constant(length) {
            return Ok(Operand::Imm(n.clamp(1, u64::from(bound)) as i64));
        }
        let value = self.scalar(length)?;
        let limit = self.function.builder.copy_to_bound(value);
        self.at_most(limit, i64::from(bound))?;
        // The kernel's functions write no terminator where there is no room for it.
        self.when(Cond::Eq, limit.into(), 0.into(), |l| {
            l.function.builder.copy_into(limit, 1);
            Ok(())
        })?;
        Ok(limit.into())
    }

    /// Where untyped addresses of this probe point.
    pub(in crate::codegen::lower) const fn untyped_space(&self) -> AddressSpace {
        match self.kind {
            ProgramKind::Uprobe | ProgramKind::UprobeMulti => AddressSpace::User,
            _ => AddressSpace::Kernel,
        }
    }

    fn store_buffer(&mut self, args: &'a [Expr], e: &'a Expr, dst: Addr, ty: &Type) -> Result<(), CodegenError> {
        let Some(source) = args.first() else { return self.internal(e.span, "buf() without an argument") };
        let Type::Buf { size: capacity } = ty else { return self.internal(e.span, "a buffer of another type") };
        let place = match &source.ty {
            Type::Ptr { .. } => self.pointee(source)?,
            t if t.fits_register() => {
                let base = self.scalar(source)?;
                Place::Remote { base, offset: 0, space: self.untyped_space() }
            }
            _ => self.place(source)?,
        };
        let known = if matches!(source.ty, Type::Ptr { .. }) || source.ty.fits_register() {
            *capacity
        } else {
            self.size(&source.ty).min(*capacity)
        };
        let whole = self.size(ty);
        self.zero(dst, whole);
        // Behind the end of a string are zeros, as many as are asked for.
        let longest = if matches!(source.ty, Type::Str { .. }) { *capacity } else { known };
        let (length, wanted) = match args.get(1) {
            None => (Operand::Imm(i64::from(longest)), Operand::Imm(i64::from(known))),
            Some(length) => {
                let value = self.scalar(length)?;
                let length = self.function.builder.copy_to_bound(value);
                self.at_most(length, i64::from(longest))?;
                let wanted = self.function.builder.copy_to_bound(length);
                self.at_most(wanted, i64::from(known))?;
                (length.into(), wanted.into())
            }
        };
        self.store(dst, 4, length);
        // A read of nothing at the end of the stack is one outside of it to the verifier.
        if *capacity == 0 {
            return Ok(());
        }
        let data = dst.at(4);
        match (place, wanted) {
            (Place::Memory(_) | Place::Context(_), Operand::Imm(n)) => self.read_place(place, data, n as u32, e.span),
            (Place::Memory(addr), Operand::Reg(_)) => {
                let base = self.pointer(addr).into();
                self.read_sized(Place::Remote { base, offset: 0, space: AddressSpace::Kernel }, data, wanted, e.span)
            }
            (Place::Context(offset), Operand::Reg(_)) => {
                let context = self.function.context();
                let place =
                    Place::Remote { base: context.into(), offset: i64::from(offset), space: AddressSpace::Kernel };
                self.read_sized(place, data, wanted, e.span)
            }
            _ => self.read_sized(place, data, wanted, e.span),
        }
    }

    pub fn read_sized(&mut self, place: Place, dst: Addr, size: Operand, span: Span) -> Result<(), CodegenError> {
        let Place::Remote { base, offset, space } = place else { return Ok(()) };
        let from = if offset == 0 { base } else { self.function.builder.add(base, offset).into() };
        let to = self.pointer(dst);
        let helper = h::probe_read(space);
        let result = self.function.builder.call(helper, &[to.into(), size, from]);
        self.when(Cond::Ne, result.into(), 0.into(), |l| {
            l.failed(crate::model::stats::LossCause::ReadFailed, Some((helper, result.into())), span);
            Ok(())
        })
    }

    fn concatenate(&mut self, a: &'a Expr, b: &'a Expr, dst: Addr, ty: &Type, span: Span) -> Result<(), CodegenError> {
        let (size, first, second) = (self.size(ty), self.size(&a.ty), self.size(&b.ty));
        let left = self.memory(a)?;
        let right = self.memory(b)?;
        // Variable offsets: built in working memory with room for both, then copied.
        let whole = self.temp_scratch(first + second);
        self.zero(whole, first + second);
        let limit = i64::from(first);
        let length = self.read_string(Place::Memory(left), whole, first, limit.into(), Tail::Loose, false, span)?;
        let at = self.function.builder.new_vreg();
        self.function.builder.copy_into(at, 0);
        self.when(Cond::SGt, length.into(), 0.into(), |l| {
            let without = l.function.builder.sub(length, 1);
            l.function.builder.copy_into(at, without);
            Ok(())
        })?;
        self.at_most(at, limit - 1)?;
        let start = self.pointer(whole);
        let to = self.function.builder.add(start, at);
        self.read_string(
            Place::Memory(right),
            Addr::new(Base::Reg(to), 0),
            second,
            i64::from(second).into(),
            Tail::Loose,
            false,
            span,
        )?;
        self.copy(dst, whole, size.min(first + second));
        if size > first + second {
            self.zero(dst.at(first + second), size - first - second);
        } else if size > 0 {
            self.store(dst.at(size - 1), 1, 0);
        }
        Ok(())
    }

    fn store_user_symbol(&mut self, address: Operand, dst: Addr) {
        self.store(dst, 8, address);
        let pid = self.pid(true);
        self.store(dst.at(8), 4, pid);
        self.store(dst.at(12), 4, 0);
    }

    /// Address of the probed function: `bpf_get_func_ip` (5.15), or the instruction pointer.
    fn function_address(&mut self, span: Span) -> Result<Vreg, CodegenError> {
        let has_helper = self.object.facts.features().attach_cookie;
        match self.kind {
            ProgramKind::Uprobe | ProgramKind::UprobeMulti => {
                let ip = if cfg!(target_arch = "aarch64") { 256 } else { 128 };
                Ok(self.context_word(ip))
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
                let context = self.function.context();
                Ok(self.function.builder.call(h::GET_FUNC_IP, &[context.into()]))
            }
            ProgramKind::Kprobe | ProgramKind::KprobeMulti | ProgramKind::KprobeSession => {
                // x86 reports the address after the breakpoint (`kprobe_int3_handler`).
                let ip = self.context_word(if cfg!(target_arch = "aarch64") { 256 } else { 128 });
                Ok(if cfg!(target_arch = "aarch64") { ip } else { self.function.builder.sub(ip, 1) })
            }
            _ => self.unsupported(span, "func here", "a probe on a function"),
        }
    }

    fn byte_swap(&mut self, a: &'a Expr, e: &'a Expr) -> Result<Operand, CodegenError> {
        let value = self.scalar_register(a)?;
        let (size, _) = place::scalar_shape(&e.ty);
        if size == 1 {
            return Ok(value.into());
        }
        let swapped = self.function.builder.bswap(value, (size * 8) as u8);
        Ok(self.wrap(swapped, &e.ty).into())
    }

    /// `ppid` of the current or a given task.
    fn parent(&mut self, args: &'a [Expr], span: Span) -> Result<Operand, CodegenError> {
        let Some(offsets) = self.object.facts.features().task_offsets else {
            return self.unsupported(span, "ppid", "the kernel's BTF");
        };
        let task = match args.first() {
            Some(task) => self.scalar(task)?,
            None => self.function.builder.call(h::GET_CURRENT_TASK, &[]).into(),
        };
        let at = |base, offset: u32| Place::Remote { base, offset: i64::from(offset), space: AddressSpace::Kernel };
        let parent = self.load_place(at(task, offsets.real_parent), &Type::U64, None, span)?;
        self.load_place(at(parent, offsets.tgid), &Type::U32, None, span)
    }

    /// `comm(task)`; without a task, the parent's name (`pcomm`).
    fn store_task_comm(
        &mut self,
        args: &'a [Expr],
        dst: Addr,
        ty: &Type,
        tail: Tail,
        span: Span,
    ) -> Result<(), CodegenError> {
        let Some(offsets) = self.object.facts.features().task_offsets else {
            return self.unsupported(span, "comm() of a task", "the kernel's BTF");
        };
        let base = match args.first() {
            Some(task) if matches!(task.ty, Type::Ptr { .. }) => self.scalar(task)?,
            Some(pid) => return self.store_comm_of_id(pid, offsets.comm, dst, ty, tail, span),
            None => {
                let task = self.function.builder.call(h::GET_CURRENT_TASK, &[]);
                let at = Place::Remote {
                    base: task.into(),
                    offset: i64::from(offsets.real_parent),
                    space: AddressSpace::Kernel,
                };
                self.load_place(at, &Type::U64, None, span)?
            }
        };
        let place = Place::Remote { base, offset: i64::from(offsets.comm), space: AddressSpace::Kernel };
        let size = self.size(ty);
        self.read_string(place, dst, size, i64::from(size.min(16)).into(), tail, false, span)?;
        Ok(())
    }

    /// `comm(id)`: empty when there is no such process.
    fn store_comm_of_id(
        &mut self,
        id: &'a Expr,
        offset: u32,
        dst: Addr,
        ty: &Type,
        tail: Tail,
        span: Span,
    ) -> Result<(), CodegenError> {
        // Programs of the other kinds may call it since 6.12, but those on kprobes and uprobes may not.
        let newer = matches!(self.kind, ProgramKind::Tracepoint | ProgramKind::PerfEvent)
            && self.object.facts.version >= 6 << 16 | 12 << 8;
        if !self.object.facts.features().task_from_pid || !self.kind.is_tracing() && !newer {
            let needs = "bpf_task_from_pid (Linux 6.2, not for begin, end, kprobes and uprobes)";
            return Err(CodegenError::unsupported(span, "comm() of a process id here", needs)
                .with_hint("give it a `struct task_struct *`, such as curtask.real_parent"));
        }
        let size = self.size(ty);
        let id = self.scalar(id)?;
        self.zero(dst, size);
        let task = self.function.builder.call_kfunc("bpf_task_from_pid", &[id]);
        self.when(Cond::Ne, task.into(), 0.into(), |l| {
            let place = Place::Remote { base: task.into(), offset: i64::from(offset), space: AddressSpace::Kernel };
            l.read_string(place, dst, size, i64::from(size.min(16)).into(), tail, false, span)?;
            l.function.builder.call_kfunc_void("bpf_task_release", &[task.into()]);
            Ok(())
        })
    }

    /// `percpu_kaddr(address, cpu)`: arguments are the symbol's address, the CPU and the address of
    /// the kernel's `__per_cpu_offset` table.
    fn per_cpu_kernel_address(&mut self, args: &'a [Expr], span: Span) -> Result<Operand, CodegenError> {
        let [address, cpu, table] = args else {
            return self.unsupported(span, "percpu_kaddr()", "the kernel's symbol `__per_cpu_offset`");
        };
        let address = self.scalar(address)?;
        let cpu = self.scalar_register(cpu)?;
        let table = self.scalar(table)?;
        let scaled = self.function.builder.shl(cpu, 3);
        let entry = self.function.builder.add(table, scaled);
        let place = Place::Remote { base: entry.into(), offset: 0, space: AddressSpace::Kernel };
        let offset = self.load_place(place, &Type::U64, None, span)?;
        Ok(self.function.builder.add(offset, address).into())
    }
}

/// The constant that an expression is, conversions looked through.
pub fn constant(e: &Expr) -> Option<u64> {
    match &e.kind {
        ExprKind::Int(v) => Some(*v),
        ExprKind::Cast(a) => constant(a).map(|v| expr::wrap_constant(v as i64, &e.ty) as u64),
        _ => None,
    }
}
