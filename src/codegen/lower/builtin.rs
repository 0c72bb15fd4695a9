//! Values that need no argument.

pub mod clock;
pub mod registers;
pub mod task;

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr};
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::{Target, UsdtArgument, UsdtPlace};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::builtin::registers::REGISTERS;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::CONSTANTS;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::{Place, read};
use crate::codegen::lower::programs::{dispatch, records, session};
use crate::codegen::lower::{helpers as h, numbers};

/// A builtin that fits a register.
pub fn scalar<'a>(l: &mut Lowerer<'_, 'a>, builtin: Builtin, e: &'a Expr) -> Result<Operand, CodegenError> {
    Ok(match builtin {
        Builtin::Pid => task::pid(l, true).into(),
        Builtin::Tid => task::pid(l, false).into(),
        Builtin::Uid => {
            let both = l.function.uid_gid();
            l.function.builder.extend(both, 32, false).into()
        }
        Builtin::Gid => {
            let both = l.function.uid_gid();
            l.function.builder.shr(both, 32).into()
        }
        Builtin::Nsecs(clock) => clock::clock(l.object, &mut l.function.builder, clock, e.span)?.into(),
        Builtin::Elapsed => clock::elapsed(l.object, &mut l.function.builder).into(),
        Builtin::Cpu => l.function.cpu().into(),
        Builtin::NumaNode => l.function.builder.call(h::GET_NUMA_NODE_ID, &[]).into(),
        Builtin::Cgroup => l.function.builder.call(h::GET_CURRENT_CGROUP_ID, &[]).into(),
        Builtin::CurTask => l.function.builder.call(h::GET_CURRENT_TASK, &[]).into(),
        Builtin::Rand => {
            let value = l.function.builder.call(h::GET_PRANDOM_U32, &[]);
            l.function.builder.extend(value, 32, false).into()
        }
        Builtin::Jiffies => l.function.builder.call(h::JIFFIES64, &[]).into(),
        Builtin::Ctx => {
            let context = l.function.context();
            numbers::plain(&mut l.function.builder, context).into()
        }
        Builtin::Arg(n) => argument(l, n, e)?,
        Builtin::StackArg(n) => stack_argument(l, n, e.span)?,
        Builtin::Retval => result(l, e)?,
        Builtin::CtxField(offset) if l.kind == ProgramKind::SyscallDispatch => {
            dispatch::field(l, offset, &e.ty, e.span)?.into()
        }
        Builtin::CtxField(offset) if e.ty.fits_register() && records::is_beyond(l, offset) => 0.into(),
        Builtin::CtxField(_) | Builtin::DataLoc(_) => {
            let place = l.place(e)?;
            read::load(l, place, &e.ty, None, e.span)?
        }
        Builtin::ProbeId => probe_id(l),
        Builtin::FuncId => function_id(l),
        Builtin::UserMode => user_mode(l, e.span)?.into(),
        Builtin::ChildPid => i64::from(l.object.facts.child_pid).into(),
        Builtin::Register(offset) => registers::context_word(&mut l.function, offset).into(),
        Builtin::UserRegisters => {
            // Of the same release (Linux 5.15).
            if !l.object.facts.features().attach_cookie {
                let needs = "the helper bpf_task_pt_regs (Linux 5.15)";
                return Err(CodegenError::unsupported(e.span, "a process's registers", needs));
            }
            let task = l.function.builder.call(h::GET_CURRENT_TASK_BTF, &[]);
            l.function.builder.call(h::TASK_PT_REGS, &[task.into()]).into()
        }
        Builtin::InSession => i64::from(session::is_part(l)).into(),
        Builtin::SessionCookie => session::kept(l).into(),
        Builtin::Ncpus => i64::from(l.object.facts.online_cpus).into(),
        Builtin::Comm => {
            let at = l.memory(e)?;
            memory::pointer(&mut l.function.builder, at).into()
        }
    })
}

fn argument<'a>(l: &mut Lowerer<'_, 'a>, n: u8, e: &'a Expr) -> Result<Operand, CodegenError> {
    if let Some(Target::Usdt { arguments, .. }) = l.probe.targets.get(l.target) {
        let Some(argument) = arguments.get(n as usize) else {
            return Err(CodegenError::TooLarge {
                span: e.span,
                what: format!("the number of the argument `arg{n}`"),
                size: u64::from(n),
                limit: (arguments.len() as u64).saturating_sub(1),
                hint: Some(format!("this probe has {} arguments", arguments.len())),
            });
        };
        return usdt_argument(l, argument, e.span);
    }
    if !registers::has_registers(l) {
        // Raw tracepoints and trampolines: an array of words.
        let context = l.function.context();
        let word = memory::load(&mut l.function.builder, Addr::new(Base::Reg(context), i32::from(n) * 8), 8, false);
        return Ok(numbers::plain(&mut l.function.builder, word).into());
    }
    let Some(register) = REGISTERS.arguments.get(n as usize) else {
        return stack_argument(l, n - REGISTERS.arguments.len() as u8, e.span);
    };
    Ok(registers::context_word(&mut l.function, *register).into())
}

/// The `n`-th argument on the stack; on x86 above the return address.
fn stack_argument(l: &mut Lowerer<'_, '_>, n: u8, span: Span) -> Result<Operand, CodegenError> {
    let stack = registers::context_word(&mut l.function, REGISTERS.stack);
    let above = if cfg!(target_arch = "aarch64") { 0 } else { 8 };
    let space = read::untyped_space(l);
    let place = Place::Remote { base: stack.into(), offset: above + i64::from(n) * 8, space };
    read::load(l, place, &Type::U64, None, span)
}

fn result<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Operand, CodegenError> {
    if registers::has_registers(l) {
        return Ok(registers::context_word(&mut l.function, REGISTERS.result).into());
    }
    // After the arguments in a trampoline's context; where depends on their number, which
    // `bpf_get_func_ret` knows (5.17).
    if !l.object.facts.features().func_arg {
        return Err(CodegenError::unsupported(e.span, "retval", "bpf_get_func_ret (Linux 5.17)"));
    }
    let value = read::word_of_call(l, h::GET_FUNC_RET, None);
    Ok(numbers::wrap(&mut l.function.builder, value, &e.ty).into())
}

fn usdt_argument(l: &mut Lowerer<'_, '_>, argument: &UsdtArgument, span: Span) -> Result<Operand, CodegenError> {
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
            let word = registers::context_word(&mut l.function, *offset);
            Ok(numbers::wrap(&mut l.function.builder, word, &ty).into())
        }
        UsdtPlace::Memory { base, index, displacement } => {
            let mut address = registers::context_word(&mut l.function, *base);
            if let Some((index, scale)) = index {
                let word = registers::context_word(&mut l.function, *index);
                let scaled = l.function.builder.mul(word, i64::from(*scale));
                address = l.function.builder.add(address, scaled);
            }
            let place = Place::Remote { base: address.into(), offset: *displacement, space: AddressSpace::User };
            read::load(l, place, &ty, None, span)
        }
    }
}

/// The firing target's index in the names of probes.
pub fn probe_id(l: &mut Lowerer<'_, '_>) -> Operand {
    if l.single {
        let id = l.probe.names.get(l.target).copied().unwrap_or(u32::MAX);
        return i64::from(id).into();
    }
    if let Some(name) = dispatch::name(l) {
        return name.into();
    }
    let cookie = cookie(l);
    let names = l.cookies.clone();
    paired(l.object, &mut l.function.builder, cookie, &names).into()
}

fn cookie(l: &mut Lowerer<'_, '_>) -> Vreg {
    let context = l.function.context();
    l.function.builder.call(h::GET_ATTACH_COOKIE, &[context.into()])
}

/// The firing target's function: entry and return of one have one number.
fn function_id(l: &mut Lowerer<'_, '_>) -> Operand {
    if !l.single && !l.cookies.is_empty() {
        let functions: Vec<_> = l.cookies.iter().map(|(cookie, n)| (*cookie, l.object.function_id(*n))).collect();
        let cookie = cookie(l);
        return paired(l.object, &mut l.function.builder, cookie, &functions).into();
    }
    match probe_id(l) {
        Operand::Imm(name) => i64::from(l.object.function_id(name as u32)).into(),
        Operand::Reg(name) => {
            let functions: Vec<_> = l.probe.names.iter().map(|n| (*n, l.object.function_id(*n))).collect();
            paired(l.object, &mut l.function.builder, name, &functions).into()
        }
    }
}

/// The second of the pair that begins with `number`; where all are pairs of the same, `number` itself.
fn paired(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, number: Vreg, pairs: &[(u32, u32)]) -> Vreg {
    if pairs.iter().all(|(first, second)| first == second) { number } else { in_table(object, b, number, pairs) }
}

/// The second of the pair that begins with `number`, by a table of constants.
fn in_table(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, number: Vreg, pairs: &[(u32, u32)]) -> Vreg {
    let first = pairs.iter().map(|(n, _)| *n).min().unwrap_or(0);
    let last = pairs.iter().map(|(n, _)| *n).max().unwrap_or(0);
    let entries = ((last - first) as usize + 1).next_power_of_two();
    let mut table = vec![0_u8; entries * 4];
    for (n, value) in pairs {
        let at = (n - first) as usize * 4;
        table[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let index = b.sub(number, i64::from(first));
    let index = numbers::copy_at_most(b, index, i64::from(last - first));
    // No change; a verifier that keeps no bounds of spilled numbers sees them here.
    let index = b.and(index, entries as i64 - 1);
    let at = object.constant(&table);
    let section = object.section(CONSTANTS);
    let start = b.address(section.at(at));
    let offset = b.mul(index, 4);
    let entry = b.add(start, offset);
    memory::load(b, Addr::new(Base::Reg(entry), 0), 4, false)
}

fn user_mode(l: &mut Lowerer<'_, '_>, span: Span) -> Result<Vreg, CodegenError> {
    if !registers::has_registers(l) {
        return Err(CodegenError::unsupported(span, "usermode here", "a profile, software or hardware probe"));
    }
    let word = registers::context_word(&mut l.function, REGISTERS.mode);
    let b = &mut l.function.builder;
    if cfg!(target_arch = "aarch64") {
        // PSR_MODE_EL0t is 0 in the low four bits.
        let level = b.and(word, 0xf);
        return Ok(flow::compare(b, crate::codegen::ir::Cond::Eq, level, 0));
    }
    // The low two bits of `cs` are the privilege level, 3 in user mode.
    let level = b.and(word, 3);
    Ok(b.alu(Alu::Shr, level, 1))
}
