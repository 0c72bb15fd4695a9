//! Functions on the traced context: stacks, symbols, tasks, registers, signals.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, NOT_IN_PROBE, NOT_SUPPORTED, OUT_OF_RANGE, UNKNOWN_NAME};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Builtin, Clock, Expr, ExprKind, Intrinsic};
use crate::lang::types::{AddressSpace, StackMode, Type};
use crate::model::target::Target;

use crate::lang::bt::check::calls::intrinsic;
use crate::lang::bt::check::calls::intrinsic::Call;
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::Kind;
use crate::lang::bt::check::literal::{convert_scalar, pointer};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::setting::stack_mode;
use crate::lang::bt::check::{absent, args, calls, join, place, strict, suggest, type_text};

/// Frames of a stack that names no depth.
const DEFAULT_DEPTH: u16 = intrinsic::MOST_FRAMES;

/// Byte offsets in `struct pt_regs` on x86-64 (`arch/x86/include/uapi/asm/ptrace.h`).
const REGISTERS_X86: &[(&str, u16)] = &[
    ("r15", 0),
    ("r14", 8),
    ("r13", 16),
    ("r12", 24),
    ("bp", 32),
    ("bx", 40),
    ("r11", 48),
    ("r10", 56),
    ("r9", 64),
    ("r8", 72),
    ("ax", 80),
    ("cx", 88),
    ("dx", 96),
    ("si", 104),
    ("di", 112),
    ("orig_ax", 120),
    ("ip", 128),
    ("cs", 136),
    ("flags", 144),
    ("sp", 152),
    ("ss", 160),
];

pub fn kstack(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    stack(c, "kstack", call.args, call.span)
}

pub fn ustack(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    stack(c, "ustack", call.args, call.span)
}

pub fn dw_ustack(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    stack(c, "dw_ustack", call.args, call.span)
}

/// `kstack`, `ustack`, `dw_ustack` with `([mode][, depth])`.
pub fn stack(c: &mut Checker<'_>, name: &str, args: &[ast::Expr], span: Span) -> Expr {
    let mut mode = c.config.stack_mode;
    let (mut depth, mut named) = (DEFAULT_DEPTH, false);
    for arg in args {
        match &arg.kind {
            ast::ExprKind::Ident(word) => match stack_mode(word) {
                Some(asked) => (mode, named) = (asked, true),
                None => {
                    let modes = ["bpftrace", "perf", "raw", "build_id"];
                    let help =
                        suggest::did_you_mean(word, modes).unwrap_or_else(|| format!("one of: {}", modes.join(", ")));
                    c.error_help(UNKNOWN_NAME, arg.span, format!("there is no stack mode `{word}`"), Some(help));
                }
            },
            _ => match c.value(arg).as_int() {
                Some(n @ 0..=1024) => {
                    depth = n as u16;
                    intrinsic::warn_deep_stack(c, depth, arg.span);
                }
                _ => c.error(OUT_OF_RANGE, arg.span, "the number of frames must be from 0 to 1024"),
            },
        }
    }
    let (which, ty) = if name == "kstack" {
        if named && mode == StackMode::BuildId {
            let message = "'build_id' stack mode can only be used for ustack";
            return c.error_expr(NOT_IN_PROBE, span, message);
        }
        let mode = if mode == StackMode::BuildId { StackMode::Bpftrace } else { mode };
        (Intrinsic::KStack, Type::KStack { mode, depth })
    } else {
        let which = if name == "dw_ustack" { Intrinsic::UStackByTables } else { Intrinsic::UStack };
        (which, Type::UStack { mode, depth })
    };
    Expr::new(ExprKind::Call(which, Vec::new()), ty, span)
}

/// `ppid`, `pcomm` of the current task.
pub fn task_call(name: &str, span: Span) -> Expr {
    let (which, ty) = task_function(name);
    Expr::new(ExprKind::Call(which, Vec::new()), ty, span)
}

fn address_argument(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = c.value(&call.args[0]);
    if matches!(value.ty, Type::Error) || value.ty.fits_register() {
        return convert_or_error(value);
    }
    let text = type_text::text(&c.types, &value.ty);
    intrinsic::bad_argument(c, call, call.args[0].span, "an address", &text)
}

fn word(call: Call<'_>) -> Option<String> {
    match &call.args.first()?.kind {
        ast::ExprKind::Ident(word) => Some(word.to_string()),
        ast::ExprKind::Call(name, args) if args.is_empty() => Some(name.text.to_string()),
        _ => None,
    }
}

fn convert_or_error(value: Expr) -> Expr {
    if matches!(value.ty, Type::Error) { value } else { convert_scalar(value, &Type::U64) }
}

fn task_function(name: &str) -> (Intrinsic, Type) {
    match name {
        "ppid" => (Intrinsic::TaskPpid, Type::U32),
        _ => (Intrinsic::TaskComm, Type::Str { size: 16 }),
    }
}

pub fn ksym(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let address = address_argument(c, call);
    intrinsic::intrinsic(Intrinsic::KSym, vec![address], Type::KSym, call)
}

pub fn usym(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let address = address_argument(c, call);
    intrinsic::intrinsic(Intrinsic::USym, vec![address], Type::USym, call)
}

/// `kaddr("symbol")`: a constant.
pub fn kaddr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some(name) = calls::string_argument(c, call, 0) else { return Checker::error_value(call.span) };
    match c.types.facts.symbol_address(&name) {
        Some(address) => Expr::new(ExprKind::Int(address), Type::U64, call.span),
        None => {
            let shown = ["_text", "_stext"].iter().any(|first| c.types.facts.symbol_address(first).is_some());
            let help = if shown {
                "this kernel has no such symbol, neither have its loaded modules"
            } else {
                "addresses are shown to root only, and not with kernel.kptr_restrict=2"
            };
            let message = format!("Failed to resolve kernel symbol: {name}");
            c.error_help(UNKNOWN_NAME, call.span, message, Some(help.into()));
            Checker::error_value(call.span)
        }
    }
}

/// `uaddr("symbol")` in a probe on the same binary: where the symbol is in the process. The binary may
/// be loaded anywhere; where is told by the place of the probe, at which the process is.
pub fn uaddr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let span = call.span;
    let Some(name) = calls::string_argument(c, call, 0) else { return Checker::error_value(span) };
    let (path, file_offset, at_return) = match c.frame.targets.first() {
        Some(Target::Uprobe { path, file_offset, ret, .. }) => (path.clone(), *file_offset, *ret),
        Some(Target::Usdt { path, file_offset, .. }) => (path.clone(), *file_offset, false),
        _ => return absent::not_here(c, "uaddr", span, Some("uprobe and usdt probes have it")),
    };
    let Some(symbol) = c.types.facts.user_symbol(&path, &name, file_offset) else {
        return c.error_expr(UNKNOWN_NAME, span, format!("Could not resolve symbol: {path}:{name}"));
    };
    if at_return && symbol.moves {
        let message = "at a return it is not known where the process has loaded the binary";
        let help = "keep it in a map at the function's entry: `@at[tid] = uaddr(...)`";
        c.error_help(NOT_IN_PROBE, span, message, Some(help.into()));
        return Checker::error_value(span);
    }
    let element = match symbol.size {
        1 | 2 | 4 => Type::Int { size: symbol.size as u8, signed: false },
        _ => Type::U64,
    };
    let number = |n: u64| Expr::new(ExprKind::Int(n), Type::U64, span);
    let address = if symbol.moves {
        let pointer = Expr::new(ExprKind::Builtin(Builtin::Register(INSTRUCTION_POINTER)), Type::U64, span);
        let distance = number(symbol.address.wrapping_sub(symbol.probe));
        Expr::new(ExprKind::Binary(BinaryOp::Add, Box::new(pointer), Box::new(distance)), Type::U64, span)
    } else {
        number(symbol.address)
    };
    convert_scalar(address, &pointer(element, AddressSpace::User))
}

/// Byte offset of the instruction pointer in `struct pt_regs`.
const INSTRUCTION_POINTER: u16 = if cfg!(target_arch = "aarch64") { 256 } else { 128 };

/// `percpu_kaddr("symbol"[, cpu])`.
pub fn percpu_kaddr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some(name) = calls::string_argument(c, call, 0) else { return Checker::error_value(call.span) };
    let Some(address) = c.types.facts.symbol_address(&name) else {
        return c.error_expr(UNKNOWN_NAME, call.args[0].span, format!("the kernel has no symbol `{name}`"));
    };
    let cpu = if call.args.len() > 1 {
        calls::integer_argument(c, call, 1)
    } else {
        Expr::new(ExprKind::Builtin(Builtin::Cpu), Type::U32, call.span)
    };
    let address = Expr::new(ExprKind::Int(address), Type::U64, call.span);
    let cpu = convert_or_error(cpu);
    // Each CPU's copy is at the symbol's address plus the CPU's entry in this table.
    let table = c.types.facts.symbol_address("__per_cpu_offset");
    let table = table.map(|at| Expr::new(ExprKind::Int(at), Type::U64, call.span));
    let args = [address, cpu].into_iter().chain(table).collect();
    intrinsic::intrinsic(Intrinsic::PerCpuAddress, args, pointer(Type::U64, AddressSpace::Kernel), call)
}

/// `cgroupid("/sys/fs/cgroup/...")`: a constant.
pub fn cgroupid(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some(path) = calls::string_argument(c, call, 0) else { return Checker::error_value(call.span) };
    match c.types.facts.cgroup_id(&path) {
        Some(id) => Expr::new(ExprKind::Int(id), Type::U64, call.span),
        None => c.error_expr(UNKNOWN_NAME, call.args[0].span, format!("there is no cgroup `{path}`")),
    }
}

/// `cgroup_path(id[, filter])`.
pub fn cgroup_path(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let id = convert_or_error(calls::integer_argument(c, call, 0));
    let filter = if call.args.len() > 1 {
        let Some(filter) = calls::string_argument(c, call, 1) else { return Checker::error_value(call.span) };
        Checker::intern(&mut c.cgroup_filters, &filter)
    } else {
        u64::from(u32::MAX)
    };
    let filter = Expr::new(ExprKind::Int(filter), Type::U64, call.span);
    intrinsic::intrinsic(Intrinsic::CgroupPath, vec![id, filter], Type::CgroupPath, call)
}

/// `reg("ip")`.
pub fn reg(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some(name) = calls::string_argument(c, call, 0) else { return Checker::error_value(call.span) };
    match c.frame.kind {
        Kind::Kretprobe if args::in_trampoline(c) => {
            let help = "a return that uses arguments runs in the function's trampoline, which has no registers";
            return absent::not_here(c, "reg", call.span, Some(help));
        }
        Kind::Kprobe
        | Kind::Kretprobe
        | Kind::Uprobe
        | Kind::Uretprobe
        | Kind::Usdt
        | Kind::Perf
        | Kind::Profile
        | Kind::Interval
        | Kind::Watchpoint => {}
        _ => return absent::not_here(c, "reg", call.span, Some("only probes that interrupt code have its registers")),
    }
    let offset = if cfg!(target_arch = "aarch64") {
        match &*name {
            "sp" => Some(248),
            "pc" => Some(256),
            "pstate" => Some(264),
            other => other.strip_prefix('r').and_then(|n| n.parse::<u16>().ok()).filter(|n| *n < 31).map(|n| n * 8),
        }
    } else {
        let name = if &*name == "pc" { "ip" } else { &*name };
        REGISTERS_X86.iter().find(|r| r.0 == name).map(|r| r.1)
    };
    match offset {
        Some(offset) => Expr::new(ExprKind::Builtin(Builtin::Register(offset)), Type::U64, call.span),
        None => {
            let names: Vec<&str> = REGISTERS_X86.iter().map(|r| r.0).collect();
            let help = suggest::did_you_mean(&name, names.iter().copied())
                .unwrap_or_else(|| format!("one of: {}", names.join(", ")));
            c.error_help(UNKNOWN_NAME, call.args[0].span, format!("there is no register `{name}`"), Some(help));
            Checker::error_value(call.span)
        }
    }
}

/// `bswap(x)`: of the width of `x`.
pub fn bswap(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = c.value(&call.args[0]);
    // Literals are as small as they can be, and so is what they alone are assigned to.
    let ty = match join::smallest(&strict::inferred(c, &value)) {
        Type::Error => return value,
        Type::Int { size, .. } | Type::Enum { size, .. } => Type::Int { size, signed: false },
        Type::Bool => Type::Int { size: 1, signed: false },
        other => {
            let text = type_text::text(&c.types, &other);
            return intrinsic::bad_argument(c, call, call.args[0].span, "an integer", &text);
        }
    };
    if matches!(ty, Type::Int { size: 1, .. }) {
        return convert_scalar(value, &ty);
    }
    let value = convert_scalar(value, &ty);
    intrinsic::intrinsic(Intrinsic::Bswap, vec![value], ty, call)
}

/// `nsecs([clock])`.
pub fn nsecs(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let clock = match call.args.first() {
        None => Clock::Boot,
        Some(arg) => match word(call).as_deref() {
            Some("boot") => Clock::Boot,
            Some("monotonic") => Clock::Monotonic,
            Some("tai") => Clock::Tai,
            Some("sw_tai") => Clock::SoftwareTai,
            _ => {
                c.error_help(
                    UNKNOWN_NAME,
                    arg.span,
                    "`nsecs` takes the name of a clock",
                    Some("one of: boot, monotonic, tai, sw_tai".into()),
                );
                Clock::Boot
            }
        },
    };
    Expr::new(ExprKind::Builtin(Builtin::Nsecs(clock)), Type::U64, call.span)
}

pub fn pid(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    task_id(c, call, Builtin::Pid, "tgid")
}

pub fn tid(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    task_id(c, call, Builtin::Tid, "pid")
}

/// `pid(init)` is the id in the first pid namespace: the kernel's own number of the task.
fn task_id(c: &mut Checker<'_>, call: Call<'_>, builtin: Builtin, field: &str) -> Expr {
    match (call.args.first(), word(call).as_deref()) {
        (None, _) | (_, Some("curr_ns")) => Expr::new(ExprKind::Builtin(builtin), Type::U32, call.span),
        (_, Some("init")) => {
            let task = space::kernel_pointer(&mut c.types, "task_struct", AddressSpace::Kernel);
            let task = Expr::new(ExprKind::Builtin(Builtin::CurTask), task, call.span);
            let value = place::field_of(c, task, &ast::Name { text: field.into(), span: call.span }, call.span);
            if matches!(value.ty, Type::Error) { value } else { convert_scalar(value, &Type::U32) }
        }
        (Some(arg), _) => {
            c.error_help(
                UNKNOWN_NAME,
                arg.span,
                format!("`{}` takes the name of a pid namespace", call.name.text),
                Some("one of: curr_ns, init".into()),
            );
            Expr::new(ExprKind::Builtin(builtin), Type::U32, call.span)
        }
    }
}

/// `comm([pid_or_task])`.
pub fn comm(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if call.args.is_empty() {
        return Expr::new(ExprKind::Builtin(Builtin::Comm), Type::Str { size: 16 }, call.span);
    }
    let value = c.value(&call.args[0]);
    let ty = Type::Str { size: 16 };
    match &value.kind {
        // The process that runs needs no search.
        ExprKind::Builtin(Builtin::Tid) => {
            return Expr::new(ExprKind::Builtin(Builtin::Comm), ty, call.span);
        }
        ExprKind::Builtin(Builtin::Pid) => {
            let task = space::kernel_pointer(&mut c.types, "task_struct", AddressSpace::Kernel);
            let task = Expr::new(ExprKind::Builtin(Builtin::CurTask), task, call.span);
            let name = |text: &str| ast::Name { text: text.into(), span: call.span };
            let leader = place::field_of(c, task, &name("group_leader"), call.span);
            return place::field_of(c, leader, &name("comm"), call.span);
        }
        _ => {}
    }
    match &value.ty {
        Type::Error => value,
        Type::Ptr { .. } => intrinsic::intrinsic(Intrinsic::TaskComm, vec![value], ty, call),
        t if t.is_scalar() => {
            let value = convert_scalar(value, &Type::U32);
            intrinsic::intrinsic(Intrinsic::TaskComm, vec![value], ty, call)
        }
        other => {
            let text = type_text::text(&c.types, other);
            intrinsic::bad_argument(c, call, call.args[0].span, "a process id or a task", &text)
        }
    }
}

/// `pcomm([task])`: the name of the parent.
pub fn pcomm(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let task = match call.args.first() {
        Some(arg) => c.value(arg),
        None => {
            let ty = space::kernel_pointer(&mut c.types, "task_struct", AddressSpace::Kernel);
            Expr::new(ExprKind::Builtin(Builtin::CurTask), ty, call.span)
        }
    };
    let name = |text: &str| ast::Name { text: text.into(), span: call.span };
    let parent = place::field_of(c, task, &name("real_parent"), call.span);
    place::field_of(c, parent, &name("comm"), call.span)
}

/// `ppid([task])`.
pub fn ppid(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let args = match call.args.first() {
        Some(arg) => vec![c.value(arg)],
        None => Vec::new(),
    };
    intrinsic::intrinsic(Intrinsic::TaskPpid, args, Type::U32, call)
}

/// Signal numbers by name, the same on x86-64 and arm64 (`include/uapi/asm-generic/signal.h`).
const SIGNALS: &[&str] = &[
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

pub fn signal(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    send_signal(c, call, Intrinsic::Signal)
}

pub fn signal_thread(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    send_signal(c, call, Intrinsic::SignalThread)
}

fn send_signal(c: &mut Checker<'_>, call: Call<'_>, which: Intrinsic) -> Expr {
    calls::needs_unsafe(c, call);
    let arg = &call.args[0];
    let value = if let ast::ExprKind::Str(name) | ast::ExprKind::Ident(name) = &arg.kind {
        let upper = name.to_ascii_uppercase();
        let short = upper.strip_prefix("SIG").unwrap_or(&upper);
        match SIGNALS.iter().position(|s| *s == short) {
            Some(at) => Expr::new(ExprKind::Int(at as u64 + 1), Type::I64, arg.span),
            None => {
                let help = suggest::did_you_mean(short, SIGNALS.iter().copied());
                c.error_help(UNKNOWN_NAME, arg.span, format!("there is no signal `{name}`"), help);
                return Checker::error_value(call.span);
            }
        }
    } else {
        calls::integer_argument(c, call, 0)
    };
    if value.as_int().is_some_and(|n| !(1..=64).contains(&n)) && !matches!(value.ty, Type::Error) {
        return c.error_expr(OUT_OF_RANGE, arg.span, "signals have numbers from 1 to 64");
    }
    let value = if matches!(value.ty, Type::Error) { value } else { convert_scalar(value, &Type::I64) };
    intrinsic::intrinsic(which, vec![value], Type::Void, call)
}

/// `override(rc)`.
pub fn override_(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    calls::needs_unsafe(c, call);
    let value = calls::integer_argument(c, call, 0);
    if c.frame.kind != Kind::Kprobe {
        return absent::not_here(
            c,
            "override",
            call.span,
            Some("only kprobes can, on functions that allow error injection"),
        );
    }
    intrinsic::intrinsic(Intrinsic::Override, vec![value], Type::Void, call)
}

/// `write_user(dst, src, n)`.
pub fn write_user(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    calls::needs_unsafe(c, call);
    let (dst, src) = (c.value(&call.args[0]), c.value(&call.args[1]));
    let n = convert_or_error(calls::integer_argument(c, call, 2));
    intrinsic::intrinsic(Intrinsic::WriteUser, vec![dst, src, n], Type::Void, call)
}

/// `socket_cookie(sk)`.
pub fn socket_cookie(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = c.value(&call.args[0]);
    if !matches!(value.ty, Type::Error | Type::Ptr { .. }) {
        let text = type_text::text(&c.types, &value.ty);
        return c.error_expr(ARGUMENT_TYPE, call.args[0].span, format!("a `struct sock *` is needed, this is {text}"));
    }
    intrinsic::intrinsic(Intrinsic::SocketCookie, vec![value], Type::U64, call)
}

/// Part of `latency`.
pub fn keep_in_session(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = calls::integer_argument(c, call, 0);
    intrinsic::intrinsic(Intrinsic::KeepInSession, vec![convert_scalar(value, &Type::U64)], Type::Void, call)
}

/// `unwatch(address)`.
pub fn unwatch(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let _ = c.value(&call.args[0]);
    c.error_help(
        NOT_SUPPORTED,
        call.span,
        "`unwatch` is not supported: watchpoints are set when the trace starts and removed when it ends",
        Some("skip further hits with a flag in a map".into()),
    );
    Checker::error_value(call.span)
}
