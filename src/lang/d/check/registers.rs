//! Registers of the process, and the frames and depth of stacks.

use super::checker::Checker;
use super::code::{builtin, call, cast, int};
use super::frame::Frame;
use super::prototypes;
use super::site::SiteKind;
use super::value::{Value, error_value, is_int};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::Expr as Ast;
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Intrinsic};
use crate::lang::types::{StackMode, Type};

/// Deepest stack that the kernel gives.
const MOST_FRAMES: u16 = 127;

/// Names of registers by their places in `uregs[ ]` (x86-64): first those of `struct pt_regs`, in its order.
#[cfg(target_arch = "x86_64")]
const REGISTERS: &[(&[&str], i64)] = &[
    (&["R_R15"], 0),
    (&["R_R14"], 1),
    (&["R_R13"], 2),
    (&["R_R12"], 3),
    (&["R_RBP", "R_EBP", "R_FP"], 4),
    (&["R_RBX", "R_EBX", "R_R1"], 5),
    (&["R_R11"], 6),
    (&["R_R10"], 7),
    (&["R_R9"], 8),
    (&["R_R8"], 9),
    (&["R_RAX", "R_EAX", "R_R0"], 10),
    (&["R_RCX", "R_ECX"], 11),
    (&["R_RDX", "R_EDX"], 12),
    (&["R_RSI", "R_ESI"], 13),
    (&["R_RDI", "R_EDI"], 14),
    (&["R_ERR"], 15),
    (&["R_RIP", "R_EIP", "R_PC"], 16),
    (&["R_CS"], 17),
    (&["R_RFL", "R_EFL", "R_PS"], 18),
    (&["R_RSP", "R_ESP", "R_SP"], 19),
    (&["R_SS"], 20),
    (&["R_DS"], 21),
    (&["R_ES"], 22),
    (&["R_FS"], 23),
    (&["R_GS"], 24),
    (&["R_TRAPNO"], 25),
];

/// The same of arm64: `x0` to `x30`, then stack pointer, program counter and state.
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: &[(&[&str], i64)] = &[
    (&["R_X0", "R_R0"], 0),
    (&["R_X1", "R_R1"], 1),
    (&["R_X29", "R_FP"], 29),
    (&["R_X30"], 30),
    (&["R_SP"], 31),
    (&["R_PC"], 32),
    (&["R_PSTATE", "R_PS"], 33),
];

/// Members of the thread's own state that stand behind the registers.
#[cfg(target_arch = "x86_64")]
const OF_THREAD: &[&str] = &["ds", "es", "fsbase", "gsbase", "trap_nr"];
#[cfg(not(target_arch = "x86_64"))]
const OF_THREAD: &[&str] = &[];

/// Words of `struct pt_regs`.
const WORDS: u64 = if cfg!(target_arch = "x86_64") { 21 } else { 34 };

/// The place of a register by its name.
pub fn register(name: &str) -> Option<i64> {
    REGISTERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, place)| *place)
}

/// `uregs[n]`
pub fn user_register(c: &mut Checker<'_>, items: &[Ast], span: Span) -> Value {
    let [item] = items else {
        return c.wrong(tags::D_PROTO_LEN, span, "uregs[ ] takes one index");
    };
    let index = c.expr(item);
    if index.is_error() {
        return index;
    }
    let Some(place) = index.e.as_int().filter(|_| is_int(index.ty())) else {
        prototypes::mismatch(c, "uregs[ ]", 1, "integer constant", &index, span);
        return error_value(span);
    };
    if place < WORDS {
        let base = builtin(Builtin::UserRegisters, Type::U64, span);
        return c.snippet("uint64_t", &format!("((unsigned long *)__regs)[{place}]"), &[("__regs", base)], span);
    }
    match OF_THREAD.get((place - WORDS) as usize) {
        Some(member) => c.of_row("uint64_t", &format!("curthread->thread.{member}"), span),
        None => c.wrong(tags::D_UNKNOWN, span, format!("uregs[ ]: index out of bounds ({place})")),
    }
}

/// BEGIN, END and ERROR are of the tracer itself: there is nothing that called them.
fn is_of_the_run(frame: &Frame) -> bool {
    matches!(frame.site.kind, SiteKind::Nothing | SiteKind::Absent)
}

/// `caller` and `ucaller`.
pub fn caller(frame: &Frame, user: bool, span: Span) -> Value {
    if is_of_the_run(frame) {
        return Value::new(int(0, Type::U64, span));
    }
    let arguments = vec![int(i64::from(user), Type::U64, span), int(1, Type::U64, span)];
    Value::new(call(Intrinsic::StackFrame, arguments, Type::U64, span))
}

/// `stackdepth` and `ustackdepth`.
pub fn stack_depth(c: &Checker<'_>, user: bool, span: Span) -> Value {
    if is_of_the_run(&c.frame) {
        return Value::new(int(0, Type::U32, span));
    }
    let depth = c.options.maxframes.unwrap_or(MOST_FRAMES).min(MOST_FRAMES);
    let mode = StackMode::Bpftrace;
    let (which, ty) = if user {
        (Intrinsic::UStack, Type::UStack { mode, depth })
    } else {
        (Intrinsic::KStack, Type::KStack { mode, depth })
    };
    let stack = call(which, Vec::new(), ty, span);
    let length = call(Intrinsic::StackLen, vec![stack], Type::I64, span);
    Value::new(cast(length, &Type::U32))
}

/// Frames that a stack may have: of BEGIN and its kin the kernel's has none.
pub fn frames_of(c: &Checker<'_>, user: bool, depth: u16) -> u16 {
    if is_of_the_run(&c.frame) && !user { 0 } else { depth.min(c.options.maxframes.unwrap_or(depth)) }
}
