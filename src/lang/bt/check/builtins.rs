//! Names without arguments: builtin variables and enumerators.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::bt::builtins::argument_number;
use crate::lang::bt::latency::RETURN_ADDRESS;
use crate::lang::codes::check::{NOT_IN_PROBE, UNKNOWN_NAME};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Clock, Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::Target;

use crate::lang::bt::check::calls::context;
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::Kind;
use crate::lang::bt::check::literal::{boolean, constant, string};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::{absent, args, place, suggest};

/// A builtin variable.
pub struct BuiltinInfo {
    /// Name in scripts.
    pub name: &'static str,
    make: Make,
}

enum Make {
    /// The same everywhere.
    Plain(Builtin, Type),
    /// Depends on the probe or on types.
    By(fn(&mut Checker<'_>, Span) -> Expr),
}

const fn plain(name: &'static str, builtin: Builtin, ty: Type) -> BuiltinInfo {
    BuiltinInfo { name, make: Make::Plain(builtin, ty) }
}

const fn by(name: &'static str, make: fn(&mut Checker<'_>, Span) -> Expr) -> BuiltinInfo {
    BuiltinInfo { name, make: Make::By(make) }
}

/// All builtin variables but `arg0` and so on.
pub const BUILTINS: &[BuiltinInfo] = &[
    plain("pid", Builtin::Pid, Type::U32),
    plain("tid", Builtin::Tid, Type::U32),
    plain("uid", Builtin::Uid, Type::U32),
    plain("gid", Builtin::Gid, Type::U32),
    plain("comm", Builtin::Comm, Type::Str { size: 16 }),
    plain("nsecs", Builtin::Nsecs(Clock::Boot), Type::U64),
    plain("elapsed", Builtin::Elapsed, Type::U64),
    plain("cpu", Builtin::Cpu, Type::U32),
    plain("ncpus", Builtin::Ncpus, Type::U64),
    plain("numaid", Builtin::NumaNode, Type::U32),
    plain("cgroup", Builtin::Cgroup, Type::U64),
    // What `latency` is made of.
    plain("__in_session", Builtin::InSession, Type::U64),
    plain("__session_cookie", Builtin::SessionCookie, Type::U64),
    plain("rand", Builtin::Rand, Type::U32),
    plain("jiffies", Builtin::Jiffies, Type::U64),
    by("username", username),
    by("curtask", curtask),
    by("latency", latency),
    by("__return_address", return_address),
    by("ppid", |_c, s| context::task_call("ppid", s)),
    by("pcomm", |_c, s| context::task_call("pcomm", s)),
    by("leader_comm", |c, s| leader(c, "comm", s)),
    by("leader_tid", |c, s| leader(c, "pid", s)),
    by("usermode", usermode),
    by("cpid", cpid),
    by("has_cpid", has_cpid),
    by("func", func),
    by("probe", probe),
    by("probetype", probetype),
    by("retval", args::retval),
    by("args", args::all_arguments),
    by("ctx", args::context),
    by("kstack", |c, s| context::stack(c, "kstack", &[], s)),
    by("ustack", |c, s| context::stack(c, "ustack", &[], s)),
];

pub fn find(name: &str) -> Option<&'static BuiltinInfo> {
    BUILTINS.iter().find(|b| b.name == name)
}

fn builtin(b: Builtin, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Builtin(b), ty, span)
}

impl Checker<'_> {
    /// A bare name.
    pub fn identifier(&mut self, name: &Arc<str>, span: Span) -> Expr {
        if let Some(info) = find(name) {
            return builtin_value(self, info, span);
        }
        if let Some(n) = argument_number(name, "arg") {
            return args::numbered_argument(self, n, span);
        }
        if let Some(n) = argument_number(name, "sarg") {
            return args::stack_argument(self, n, span);
        }
        if let Some((ty, value)) = self.types.enumerator(name) {
            return Expr::new(ExprKind::Int(value as u64), ty, span);
        }
        if let Some(value) = crate::lang::constants::find(name) {
            return constant(value, span);
        }
        if name.starts_with("__builtin_")
            && let Some(info) = find(name.trim_start_matches("__builtin_"))
        {
            return builtin_value(self, info, span);
        }
        // A function's name without its parentheses, where it needs no arguments.
        if let Some(info) = crate::lang::bt::check::calls::find(name)
            && info.min == 0
        {
            return self.call(&ast::Name { text: name.clone(), span }, &[], span);
        }
        let names = BUILTINS.iter().map(|b| b.name).chain(crate::lang::bt::check::calls::names());
        let help = self.help(|c| {
            crate::lang::bt::builtins::function(name)
                .map(|f| format!("it is a function: `{}`", f.signature))
                .or_else(|| own_name(c, name).map(|own| format!("did you mean `{own}`?")))
                .or_else(|| suggest::of_other_languages(name))
                .or_else(|| suggest::did_you_mean(name, names))
                .or_else(|| unknown_name_help(name))
        });
        self.error_help(UNKNOWN_NAME, span, format!("Unknown identifier: '{name}'"), help);
        Self::error_value(span)
    }
}

/// The variable, the map or the argument of this name, which is written in another way.
fn own_name(c: &Checker<'_>, name: &str) -> Option<String> {
    let variable = format!("${name}");
    if c.frame.find_local(&variable).is_some() {
        return Some(variable);
    }
    let map = format!("@{name}");
    if c.maps.all().iter().any(|m| m.written && *m.name == map) {
        return Some(map);
    }
    if let Some(Target::Tracepoint { category, event }) = c.frame.targets.first() {
        let fields = c.types.facts.tracepoint(category, event).ok()?;
        return fields.iter().any(|f| *f.name == *name).then(|| format!("args.{name}"));
    }
    None
}

pub fn builtin_value(c: &mut Checker<'_>, info: &BuiltinInfo, span: Span) -> Expr {
    match &info.make {
        Make::Plain(b, ty) => builtin(*b, ty.clone(), span),
        Make::By(f) => f(c, span),
    }
}

/// A field of the current task's main thread.
fn leader(c: &mut Checker<'_>, field: &str, span: Span) -> Expr {
    let name = |text: &str| ast::Name { text: text.into(), span };
    let task = curtask(c, span);
    let leader = place::field_of(c, task, &name("group_leader"), span);
    place::field_of(c, leader, &name(field), span)
}

fn username(_: &mut Checker<'_>, span: Span) -> Expr {
    let uid = builtin(Builtin::Uid, Type::U32, span);
    Expr::new(ExprKind::Cast(Box::new(uid)), Type::Username, span)
}

fn curtask(c: &mut Checker<'_>, span: Span) -> Expr {
    let ty = space::kernel_pointer(&mut c.types, "task_struct", AddressSpace::Kernel);
    builtin(Builtin::CurTask, ty, span)
}

/// Where it is known it was put in before.
fn latency(c: &mut Checker<'_>, span: Span) -> Expr {
    let help = "uretprobe, kretprobe, fexit and tracepoint:syscalls:sys_exit_... probes have it, all of a probe's points of one kind";
    absent::not_here(c, "latency", span, Some(help))
}

/// Part of `latency` in programs: what a return has taken off the stack. Calls that end at return instructions are not
/// timed: a goroutine may go on on another thread and another stack, and what returns twice has no one time.
fn return_address(c: &mut Checker<'_>, span: Span) -> Expr {
    let untimed = |target: &Target| matches!(target, Target::Uprobe { exits, .. } if !exits.is_empty());
    if c.frame.targets.iter().any(untimed) {
        let message = "`latency` of a function in Go, or of one that returns twice, can't be told: it may go on on another \
                       thread or stack";
        return c.error_expr(NOT_IN_PROBE, span, message.to_owned());
    }
    Expr::new(ExprKind::Int(RETURN_ADDRESS), Type::U64, span)
}

fn usermode(c: &mut Checker<'_>, span: Span) -> Expr {
    let byte = Type::Int { size: 1, signed: false };
    let fixed = |user: bool| Expr::new(ExprKind::Int(u64::from(user)), byte.clone(), span);
    match c.frame.kind {
        // Registers tell where the sample was taken.
        Kind::Profile | Kind::Interval | Kind::Perf | Kind::Watchpoint => builtin(Builtin::UserMode, byte, span),
        // Code of programs, and the tracer's own code that begin and end run on behalf of.
        Kind::Uprobe | Kind::Uretprobe | Kind::Usdt | Kind::Begin | Kind::End | Kind::SelfSignal | Kind::Test => {
            fixed(true)
        }
        _ => fixed(false),
    }
}

fn cpid(c: &mut Checker<'_>, span: Span) -> Expr {
    if c.options.child_pid.is_none() {
        let help = Some("start one with `-c COMMAND`".to_owned());
        c.warn(NOT_IN_PROBE, span, "there is no child process: `cpid` is zero".to_owned(), help);
    }
    builtin(Builtin::ChildPid, Type::U32, span)
}

fn has_cpid(c: &mut Checker<'_>, span: Span) -> Expr {
    boolean(c.options.child_pid.is_some(), span)
}

fn func(c: &mut Checker<'_>, span: Span) -> Expr {
    match c.frame.kind {
        Kind::Kprobe | Kind::Kretprobe | Kind::Fentry | Kind::Fexit | Kind::Uprobe | Kind::Uretprobe => {
            c.frame.needs_probe_id = true;
            builtin(Builtin::FuncId, Type::FuncName, span)
        }
        _ => absent::not_here(c, "func", span, Some("only probes on functions have it; `probe` works everywhere")),
    }
}

fn probe(c: &mut Checker<'_>, span: Span) -> Expr {
    if c.frame.kind == Kind::Function {
        return absent::not_here(c, "probe", span, None);
    }
    c.frame.needs_probe_id = true;
    c.frame.names_probe = true;
    builtin(Builtin::ProbeId, Type::ProbeName, span)
}

fn probetype(c: &mut Checker<'_>, span: Span) -> Expr {
    let text: Arc<str> = match c.frame.targets.first() {
        Some(Target::PerfEvent { kind: 1, .. }) => "software".into(),
        Some(Target::PerfEvent { .. }) => "hardware".into(),
        Some(Target::Bench(_)) => "bench".into(),
        // bpftrace's word for probes that stand for no place.
        Some(Target::Begin | Target::End) => "special".into(),
        _ => c.frame.kind.name().into(),
    };
    string(&text, span)
}

fn unknown_name_help(name: &str) -> Option<String> {
    if name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()) {
        let why = "a C macro is not in the kernel's type information";
        return Some(format!("{why}: `#define {name} ...` at the top of the script"));
    }
    Some(format!("scratch variables are written `${name}`, maps `@{name}`, arguments `args.{name}`, text `\"{name}\"`"))
}
