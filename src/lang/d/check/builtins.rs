//! Variables that are there without being assigned, and the kernel's own.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{add, block, builtin, call, cast, int, int64, not, pointer, read_as, set, statement, store};
use super::value::{Value, error_value};
use super::{files, firing, other_systems, registers};
use crate::lang::codes::d as tags;
use crate::lang::facts::CKind;
use crate::lang::source::Span;
use crate::lang::typed::{Block, Builtin, Clock, Expr, ExprKind, FieldDef, Intrinsic, StatementKind};
use crate::lang::types::{AddressSpace, Type};

/// `zonename`: processes of the first namespace of processes are in none, others have the name that their system has for
/// itself. A process that ends has no namespaces any more.
const ZONE: &str = "curthread->nsproxy == NULL || curthread->nsproxy->pid_ns_for_children->level == 0 ? \"global\" : \
    stringof(curthread->nsproxy->uts_ns->name.nodename)";

impl Checker<'_> {
    pub fn builtin(&mut self, name: &str, span: Span) -> Option<Value> {
        let get = |b: Builtin, from: Type, to: Type| cast(builtin(b, from, span), &to);
        let argument = name.strip_prefix("arg").and_then(|n| n.parse::<u8>().ok()).filter(|n| *n < 10);
        if let Some(number) = argument {
            return Some(firing::argument(self, number, span));
        }
        let e = match name {
            "pid" => get(Builtin::Pid, Type::U32, Type::I32),
            "tid" => get(Builtin::Tid, Type::U32, Type::U32),
            "uid" => get(Builtin::Uid, Type::U32, Type::U32),
            "gid" => get(Builtin::Gid, Type::U32, Type::U32),
            "cpu" => get(Builtin::Cpu, Type::U32, Type::I32),
            "timestamp" => time_of_firing(self, span),
            "walltimestamp" => {
                let now = get(Builtin::Nsecs(Clock::Monotonic), Type::U64, Type::I64);
                let offset = int64(self.wall_minus_monotonic_ns, span);
                add(now, offset)
            }
            "execname" => {
                let comm = builtin(Builtin::Comm, Type::Str { size: 16 }, span);
                self.text(comm)
            }
            "curthread" => current_thread(self, span)?,
            "ppid" => {
                let task = current_thread(self, span)?;
                cast(call(Intrinsic::TaskPpid, vec![task], Type::U32, span), &Type::I32)
            }
            "id" | "epid" | "probeprov" | "probemod" | "probefunc" | "probename" => {
                return Some(firing::probe_part(self, name, span));
            }
            "caller" | "ucaller" => return Some(registers::caller(&self.frame, name == "ucaller", span)),
            "stackdepth" | "ustackdepth" => return Some(registers::stack_depth(self, name == "ustackdepth", span)),
            // Processors are in no sets and no groups here, and which package one is in programs can't ask.
            "pset" | "chip" => int(0, Type::I32, span),
            "lgrp" => get(Builtin::NumaNode, Type::U32, Type::I32),
            "errno" => return Some(firing::errno(self, span)),
            // What the scheduler has charged to the thread: it counts up at each tick and switch.
            "vtimestamp" => return Some(self.of_row("uint64_t", "curthread->se.sum_exec_runtime", span)),
            "zonename" => return Some(self.of_row("string", ZONE, span)),
            "cwd" | "root" => return Some(files::directory_of_process(self, name, span)),
            "curcpu" => return Some(current_processor(self, span)),
            "NULL" => return Some(Value { constant: true, ..Value::new(int(0, Type::I32, span)) }),
            "args" => {
                self.error(tags::D_IDENT_BADREF, span, "args[ ] is indexed by the number of an argument");
                return Some(error_value(span));
            }
            _ if is_builtin(name) => {
                self.unsupported(span, &format!("the variable {name}"));
                return Some(error_value(span));
            }
            _ => return None,
        };
        Some(Value::new(e))
    }
}

/// The address of what the kernel keeps of the running thread.
fn current_thread(c: &mut Checker<'_>, span: Span) -> Option<Expr> {
    let task = c.types.tagged(CKind::Struct, "task_struct")?;
    Some(builtin(Builtin::CurTask, pointer(task, AddressSpace::Kernel), span))
}

/// One reading of the clock for all of a firing.
fn time_of_firing(c: &mut Checker<'_>, span: Span) -> Expr {
    let known = c.frame.now;
    let now = known.unwrap_or_else(|| c.local("%now", Type::U64));
    c.frame.now = Some(now);
    let read = || read_as(now, Type::U64, span);
    let clock = builtin(Builtin::Nsecs(Clock::Monotonic), Type::U64, span);
    let taken = Block::new(vec![set(now, clock)]);
    let first = StatementKind::If(not(read()), taken, Block::default());
    block(vec![statement(first, span)], read())
}

/// `curcpu`: a struct of the program's own that tells of the processor.
fn current_processor(c: &mut Checker<'_>, span: Span) -> Value {
    let ty = cpuinfo(c);
    let Type::Struct(id) = ty else { return error_value(span) };
    let local = c.local("%processor", ty.clone());
    let whole = read_as(local, ty.clone(), span);
    let mut out = Vec::new();
    for (name, value) in [("cpu_id", "cpu"), ("cpu_pset", "pset"), ("cpu_chip", "chip"), ("cpu_lgrp", "lgrp")] {
        let (Some(field), Some(value)) = (c.types.field(id, name, AddressSpace::Kernel), c.builtin(value, span)) else {
            continue;
        };
        let place = ExprKind::Field { base: Box::new(whole.clone()), offset: field.offset, bits: None };
        let place = Expr::new(place, Type::I32, span);
        out.push(store(place, cast(value.e, &Type::I32)));
    }
    let to = Type::Ptr { to: Arc::new(ty), space: AddressSpace::Kernel };
    Value::new(block(out, Expr::new(ExprKind::AddressOf(Box::new(whole)), to, span)))
}

pub fn cpuinfo(c: &mut Checker<'_>) -> Type {
    if let Some((id, _)) = c.tags.get("cpuinfo") {
        return Type::Struct(*id);
    }
    let name: Arc<str> = "cpuinfo".into();
    let id = c.types.declare_struct(&name, false);
    let field =
        |(number, name): (u32, &str)| FieldDef { name: name.into(), ty: Type::I32, offset: number * 4, bits: None };
    // Longer than what programs keep on their stack.
    let names = ["cpu_id", "cpu_pset", "cpu_chip", "cpu_lgrp"];
    let fields = (0..).zip(names).map(field).collect();
    c.types.define(id, 40, 8, fields);
    c.tags.insert(name, (id, true));
    Type::Struct(id)
}

pub fn kernel_symbol(c: &mut Checker<'_>, name: &str, span: Span) -> Value {
    if let Some(value) = other_systems::symbol_of_other_system(c, name, span) {
        return value;
    }
    match c.facts.symbol_address(name) {
        Some(address) => {
            let to = Arc::new(Type::U64);
            let at = int(address as i64, Type::Ptr { to, space: AddressSpace::Kernel }, span);
            Value::new(Expr::new(ExprKind::Deref(Box::new(at)), Type::U64, span))
        }
        None => c.wrong(tags::D_IDENT_UNDEF, span, format!("failed to resolve `{name}: no such kernel symbol")),
    }
}

/// Kinds of faults, by the names that ERROR clauses know.
const FAULTS: &[(&str, i64)] = &[
    ("DTRACEFLT_UNKNOWN", 0),
    ("DTRACEFLT_BADADDR", 1),
    ("DTRACEFLT_BADALIGN", 2),
    ("DTRACEFLT_ILLOP", 3),
    ("DTRACEFLT_DIVZERO", 4),
    ("DTRACEFLT_NOSCRATCH", 5),
    ("DTRACEFLT_KPRIV", 6),
    ("DTRACEFLT_UPRIV", 7),
    ("DTRACEFLT_TUPOFLOW", 8),
    ("DTRACEFLT_BADSTACK", 9),
];

/// The number of a fault by its name.
pub fn fault(name: &str) -> Option<i64> {
    FAULTS.iter().find(|(fault, _)| *fault == name).map(|(_, value)| *value)
}

/// Names of variables that are there without being assigned.
pub fn is_builtin(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "args",
        "caller",
        "chip",
        "cpu",
        "curcpu",
        "curlwpsinfo",
        "curpsinfo",
        "curthread",
        "cwd",
        "epid",
        "errno",
        "execargs",
        "execname",
        "fds",
        "gid",
        "id",
        "ipl",
        "lgrp",
        "NULL",
        "pid",
        "ppid",
        "probefunc",
        "probemod",
        "probename",
        "probeprov",
        "pset",
        "root",
        "self",
        "stackdepth",
        "this",
        "tid",
        "timestamp",
        "ucaller",
        "uid",
        "uregs",
        "ustackdepth",
        "vtimestamp",
        "walltimestamp",
        "zonename",
    ];
    NAMES.contains(&name) || name.strip_prefix("arg").is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']))
}
