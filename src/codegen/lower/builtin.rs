//! Values that need no argument.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Clock, Expr};
use crate::lang::types::{AddressSpace, Type};
use crate::model::stats::LossCause;
use crate::model::target::{Target, UsdtArgument, UsdtPlace};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{CONSTANTS, SHARED};
use crate::codegen::lower::object::{START_BOOT_NS, WALL_MINUS_BOOT_NS};
use crate::codegen::lower::place::Place;

/// Byte offsets in `struct pt_regs` (`arch/*/include/asm/ptrace.h`): arguments in order, result,
/// stack pointer, instruction pointer.
pub struct Registers {
    pub arguments: &'static [u16],
    pub result: u16,
    pub stack: u16,
    /// What tells user mode: x86's `cs`, arm64's `pstate`.
    pub mode: u16,
}

/// This architecture's.
#[cfg(not(target_arch = "aarch64"))]
pub const REGISTERS: Registers =
    Registers { arguments: &[112, 104, 96, 88, 72, 64], result: 80, stack: 152, mode: 136 };
/// This architecture's.
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: Registers =
    Registers { arguments: &[0, 8, 16, 24, 32, 40, 48, 56], result: 0, stack: 248, mode: 264 };

impl<'a> Lowerer<'_, 'a> {
    /// A builtin that fits a register.
    pub fn builtin(&mut self, builtin: Builtin, e: &'a Expr) -> Result<Operand, CodegenError> {
        Ok(match builtin {
            Builtin::Pid => self.pid(true).into(),
            Builtin::Tid => self.pid(false).into(),
            Builtin::Uid => {
                let both = self.function.uid_gid();
                self.function.builder.extend(both, 32, false).into()
            }
            Builtin::Gid => {
                let both = self.function.uid_gid();
                self.function.builder.shr(both, 32).into()
            }
            Builtin::Nsecs(clock) => self.clock(clock, e.span)?.into(),
            Builtin::Elapsed => self.elapsed().into(),
            Builtin::Cpu => self.function.cpu().into(),
            Builtin::NumaNode => self.function.builder.call(h::GET_NUMA_NODE_ID, &[]).into(),
            Builtin::Cgroup => self.function.builder.call(h::GET_CURRENT_CGROUP_ID, &[]).into(),
            Builtin::CurTask => self.function.builder.call(h::GET_CURRENT_TASK, &[]).into(),
            Builtin::Rand => {
                let value = self.function.builder.call(h::GET_PRANDOM_U32, &[]);
                self.function.builder.extend(value, 32, false).into()
            }
            Builtin::Jiffies => self.function.builder.call(h::JIFFIES64, &[]).into(),
            Builtin::Ctx => {
                let context = self.function.context();
                self.plain(context).into()
            }
            Builtin::Arg(n) => self.argument(n, e)?,
            Builtin::StackArg(n) => self.stack_argument(n, e.span)?,
            Builtin::Retval => self.result(e)?,
            Builtin::CtxField(offset) if self.kind == ProgramKind::SyscallDispatch => {
                self.dispatched_field(offset, &e.ty, e.span)?.into()
            }
            Builtin::CtxField(_) | Builtin::DataLoc(_) => {
                let place = self.place(e)?;
                self.load_place(place, &e.ty, None, e.span)?
            }
            Builtin::ProbeId => self.probe_id(),
            Builtin::FuncId => self.function_id()?,
            Builtin::UserMode => self.user_mode(e.span)?.into(),
            Builtin::ChildPid => i64::from(self.object.facts.child_pid).into(),
            Builtin::Register(offset) => self.context_word(offset).into(),
            Builtin::Ncpus => i64::from(self.object.facts.online_cpus).into(),
            Builtin::Comm => {
                let at = self.memory(e)?;
                self.pointer(at).into()
            }
        })
    }

    /// Process (`true`) or thread id, in the reader's pid namespace.
    pub fn pid(&mut self, process: bool) -> Vreg {
        let Some((device, inode)) = self.object.facts.pid_namespace else {
            if let Some(id) = self.task_id(process) {
                return id;
            }
            let both = self.function.pid_tgid();
            return if process {
                self.function.builder.shr(both, 32)
            } else {
                self.function.builder.extend(both, 32, false)
            };
        };
        // `struct bpf_pidns_info { u32 pid; u32 tgid; }`; zero when the task is not in the namespace.
        let mark = self.mark();
        let info = Addr::new(Base::Slot(self.function.temp_slot(8)), 0);
        self.store(info, 8, 0);
        let at = self.pointer(info);
        let (device, inode) = (self.function.builder.imm(device as i64), self.function.builder.imm(inode as i64));
        self.function
            .builder
            .call_void(h::GET_NS_CURRENT_PID_TGID, &[device.into(), inode.into(), at.into(), 8.into()]);
        let value = self.load(if process { info.at(4) } else { info }, 4, false);
        self.release(mark);
        value
    }

    fn clock(&mut self, clock: Clock, span: Span) -> Result<Vreg, CodegenError> {
        match clock {
            Clock::Monotonic => Ok(self.function.builder.call(h::KTIME_GET_NS, &[])),
            Clock::Boot => Ok(self.boot_clock()),
            Clock::Tai if self.object.facts.features().ktime_tai => {
                Ok(self.function.builder.call(h::KTIME_GET_TAI_NS, &[]))
            }
            Clock::Tai => self.unsupported(span, "nsecs(tai)", "bpf_ktime_get_tai_ns (Linux 6.1)"),
            Clock::SoftwareTai => {
                let boot = self.boot_clock();
                Ok(self.function.builder.add(boot, self.object.facts.tai_offset_ns))
            }
        }
    }

    /// The boot clock, or the monotonic one before 5.8 (they differ by suspended time only).
    pub fn boot_clock(&mut self) -> Vreg {
        let helper = if self.object.facts.features().ktime_boot { h::KTIME_GET_BOOT_NS } else { h::KTIME_GET_NS };
        self.function.builder.call(helper, &[])
    }

    /// The wall clock, ns since 1970.
    pub fn wall_clock(&mut self) -> Vreg {
        let now = self.boot_clock();
        let section = self.object.section(SHARED);
        let base = self.function.builder.global_addr(section, WALL_MINUS_BOOT_NS);
        let difference = self.load(Addr::new(Base::Reg(base), 0), 8, false);
        self.function.builder.add(now, difference)
    }

    fn elapsed(&mut self) -> Vreg {
        let now = self.boot_clock();
        let section = self.object.section(SHARED);
        let base = self.function.builder.global_addr(section, START_BOOT_NS);
        let start = self.load(Addr::new(Base::Reg(base), 0), 8, false);
        self.function.builder.sub(now, start)
    }

    /// A word of the context: `struct pt_regs`, which also begins `struct bpf_perf_event_data`.
    pub fn context_word(&mut self, offset: u16) -> Vreg {
        let context = self.function.context();
        self.load(Addr::new(Base::Reg(context), i32::from(offset)), 8, false)
    }

    const fn has_registers(&self) -> bool {
        matches!(
            self.kind,
            ProgramKind::Kprobe
                | ProgramKind::KprobeMulti
                | ProgramKind::KprobeSession
                | ProgramKind::Uprobe
                | ProgramKind::UprobeMulti
                | ProgramKind::PerfEvent
        )
    }

    fn argument(&mut self, n: u8, e: &'a Expr) -> Result<Operand, CodegenError> {
        if let Some(Target::Usdt { arguments, .. }) = self.probe.targets.get(self.target) {
            let Some(argument) = arguments.get(n as usize) else {
                return Err(CodegenError::TooLarge {
                    span: e.span,
                    what: format!("the number of the argument `arg{n}`"),
                    size: u64::from(n),
                    limit: (arguments.len() as u64).saturating_sub(1),
                    hint: Some(format!("this probe has {} arguments", arguments.len())),
                });
            };
            return self.usdt_argument(argument, e.span);
        }
        if !self.has_registers() {
            // Raw tracepoints and trampolines: an array of words.
            let context = self.function.context();
            let word = self.load(Addr::new(Base::Reg(context), i32::from(n) * 8), 8, false);
            return Ok(self.plain(word).into());
        }
        let Some(register) = REGISTERS.arguments.get(n as usize) else {
            return self.stack_argument(n - REGISTERS.arguments.len() as u8, e.span);
        };
        Ok(self.context_word(*register).into())
    }

    /// The `n`-th argument on the stack; on x86 above the return address.
    fn stack_argument(&mut self, n: u8, span: Span) -> Result<Operand, CodegenError> {
        let stack = self.context_word(REGISTERS.stack);
        let above = if cfg!(target_arch = "aarch64") { 0 } else { 8 };
        let space = self.untyped_space();
        let place = Place::Remote { base: stack.into(), offset: above + i64::from(n) * 8, space };
        self.load_place(place, &Type::U64, None, span)
    }

    fn result(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        if self.has_registers() {
            return Ok(self.context_word(REGISTERS.result).into());
        }
        // After the arguments in a trampoline's context; where depends on their number, which
        // `bpf_get_func_ret` knows (5.17).
        if !self.object.facts.features().func_arg {
            return self.unsupported(e.span, "retval", "bpf_get_func_ret (Linux 5.17)");
        }
        let value = self.word_of_call(h::GET_FUNC_RET, None);
        Ok(self.wrap(value, &e.ty).into())
    }

    fn usdt_argument(&mut self, argument: &UsdtArgument, span: Span) -> Result<Operand, CodegenError> {
        let ty = Type::Int { size: argument.size.clamp(1, 8), signed: argument.signed };
        match &argument.place {
            // Assemblers write constants with a sign of their own.
            UsdtPlace::Constant(value) => {
                let unused = 64 - 8 * u32::from(argument.size.clamp(1, 8));
                let left = value << unused;
                let cut = if argument.signed { left >> unused } else { (left as u64 >> unused) as i64 };
                Ok(Operand::Imm(cut))
            }
            UsdtPlace::Register(offset) => {
                let word = self.context_word(*offset);
                Ok(self.wrap(word, &ty).into())
            }
            UsdtPlace::Memory { base, index, displacement } => {
                let mut address = self.context_word(*base);
                if let Some((index, scale)) = index {
                    let word = self.context_word(*index);
                    let scaled = self.function.builder.mul(word, i64::from(*scale));
                    address = self.function.builder.add(address, scaled);
                }
                let place = Place::Remote { base: address.into(), offset: *displacement, space: AddressSpace::User };
                self.load_place(place, &ty, None, span)
            }
        }
    }

    /// The firing target's index in the names of probes.
    pub fn probe_id(&mut self) -> Operand {
        if self.single {
            let id = self.probe.names.get(self.target).copied().unwrap_or(u32::MAX);
            return i64::from(id).into();
        }
        if let Some(name) = self.dispatched_name() {
            return name.into();
        }
        let context = self.function.context();
        self.function.builder.call(h::GET_ATTACH_COOKIE, &[context.into()]).into()
    }

    /// The firing target's function: entry and return of one have one number.
    fn function_id(&mut self) -> Result<Operand, CodegenError> {
        let names: Vec<(u32, u32)> = self.probe.names.iter().map(|n| (*n, self.object.function_id(*n))).collect();
        match self.probe_id() {
            Operand::Imm(name) => Ok(i64::from(self.object.function_id(name as u32)).into()),
            name if names.iter().all(|(name, function)| name == function) => Ok(name),
            Operand::Reg(name) => self.in_table(name, &names).map(Into::into),
        }
    }

    /// The second of the pair that begins with `number`, by a table of constants.
    fn in_table(&mut self, number: Vreg, pairs: &[(u32, u32)]) -> Result<Vreg, CodegenError> {
        let first = pairs.iter().map(|(n, _)| *n).min().unwrap_or(0);
        let last = pairs.iter().map(|(n, _)| *n).max().unwrap_or(0);
        let entries = ((last - first) as usize + 1).next_power_of_two();
        let mut table = vec![0_u8; entries * 4];
        for (n, value) in pairs {
            let at = (n - first) as usize * 4;
            table[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let index = self.function.builder.sub(number, i64::from(first));
        let index = self.function.builder.copy_to_bound(index);
        self.at_most(index, i64::from(last - first))?;
        // No change; a verifier that keeps no bounds of spilled numbers sees them here.
        let index = self.function.builder.and(index, entries as i64 - 1);
        let at = self.object.constant(&table);
        let section = self.object.section(CONSTANTS);
        let start = self.function.builder.global_addr(section, at);
        let offset = self.function.builder.mul(index, 4);
        let entry = self.function.builder.add(start, offset);
        Ok(self.load(Addr::new(Base::Reg(entry), 0), 4, false))
    }

    fn user_mode(&mut self, span: Span) -> Result<Vreg, CodegenError> {
        if !self.has_registers() {
            return self.unsupported(span, "usermode here", "a profile, software or hardware probe");
        }
        let word = self.context_word(REGISTERS.mode);
        if cfg!(target_arch = "aarch64") {
            // PSR_MODE_EL0t is 0 in the low four bits.
            let level = self.function.builder.and(word, 0xf);
            return Ok(self.function.builder.compare(crate::codegen::ir::Cond::Eq, level, 0));
        }
        // The low two bits of `cs` are the privilege level, 3 in user mode.
        let level = self.function.builder.and(word, 3);
        Ok(self.function.builder.alu(Alu::Shr, level, 1))
    }

    /// Counts a helper that failed.
    pub fn helper_failed(&mut self, result: Vreg, span: Span) -> Result<(), CodegenError> {
        self.when(crate::codegen::ir::Cond::SLt, result.into(), 0.into(), |l| {
            l.count_loss(LossCause::HelperFailed, None, span);
            Ok(())
        })
    }
}
