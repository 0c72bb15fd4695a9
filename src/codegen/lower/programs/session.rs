//! A kernel function's entry and return in one program on one link (`kprobe.session`).
//!
//! Linux has them since 6.10, but up to 6.13 a link to few functions has so few places for returns that calls which
//! sleep keep it from seeing the entries of others: those are attached apart there.
//!
//! The kernel runs the program at both ends of each function, and one kernel function tells them apart. The two
//! probes are subprograms of it, each as it would be alone. Besides the second link, this spares what a kretprobe
//! costs the kernel by itself.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codegen::artifact::{ProgramKind, ProgramSpec};
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Linkage, Operand, Vreg};
use crate::kernel::target::{SessionCall, TargetFacts};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr, ExprKind, Intrinsic, Probe, Program, Session};
use crate::model::target::Target;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::multi::MULTI_FROM;
use crate::codegen::lower::programs::{lower_function, program_name};

/// Section of programs of `BPF_TRACE_KPROBE_SESSION` that libbpf does not attach by itself.
const SECTION: &str = "kprobe.session";

/// So many functions have at least twice as many places for calls under way: more than a machine's threads are in.
const ENOUGH_PLACES_FROM: usize = 4096;

/// The pairs of probes that become sessions on this kernel.
pub fn of_object(object: &ObjectBuilder<'_>) -> Vec<Session> {
    let probe = |index: u32| &object.program.probes[index as usize];
    let mut sessions = object.program.sessions();
    sessions.retain(|session| [session.entry, session.on_return].into_iter().all(|index| fits(probe(index))));
    if sessions.is_empty() {
        return sessions;
    }
    let features = object.facts.features();
    if features.session_loses_entries {
        sessions.retain(|session| probe(session.entry).targets.len() >= ENOUGH_PLACES_FROM);
    }
    if features.kprobe_session.is_none() {
        return Vec::new();
    }
    sessions
}

fn fits(probe: &Probe) -> bool {
    let plain = |target: &Target| matches!(target, Target::Kprobe { module, offset: 0, .. } if module.is_empty());
    reaches(probe) && probe.targets.iter().all(plain)
}

/// Whether a link to many functions reaches the probe's, and shows the probe all that it asks for.
pub fn reaches(probe: &Probe) -> bool {
    (probe.traced || probe.targets.len() >= MULTI_FROM) && needs_no_breakpoint(probe)
}

/// Whether the probe takes nothing from its context but what a call hands over and gives back: since Linux 6.14
/// these links fill no other registers (`ftrace_partial_regs`, include/linux/ftrace.h), and the kernel's stack
/// begins elsewhere.
fn needs_no_breakpoint(probe: &Probe) -> bool {
    !probe.all_exprs().any(|e| {
        matches!(
            &e.kind,
            ExprKind::Builtin(Builtin::Ctx | Builtin::Register(_) | Builtin::UserMode | Builtin::StackArg(_))
                | ExprKind::Call(Intrinsic::KStack | Intrinsic::StackFrame | Intrinsic::Override, _)
                | ExprKind::CallUser(..)
        )
    })
}

/// Lowers both probes and the program that calls them.
pub fn lower(object: &mut ObjectBuilder<'_>, session: Session) -> Result<(), CodegenError> {
    let probes = &object.program.probes;
    let (entry, on_return) = (&probes[session.entry as usize], &probes[session.on_return as usize]);
    let number = object.programs.len();
    let name = program_name(number, &entry.targets[0]);
    let all = |probe: &Probe| (0..probe.targets.len() as u32).collect::<Vec<_>>();
    let names_probe = entry.needs_probe_id || on_return.needs_probe_id;
    object.programs.push(ProgramSpec {
        name: Arc::from(name.as_str()),
        section: Arc::from(SECTION),
        probe: session.entry,
        on_return: Some(session.on_return),
        targets: all(entry),
        kind: ProgramKind::KprobeSession,
        instructions: 0,
        lines: Vec::new(),
        needs_cookie: names_probe && entry.targets.len() > 1,
        newest_first: true,
    });
    let program = object.reserve_function();
    let return_names = names_at_return(object.program, entry, on_return);
    let mut part = |index, probe, what: &str, cookies| {
        let (kind, name) = (ProgramKind::KprobeSession, format!("{what}_{number}"));
        lower_function(object, (index, probe), kind, &all(probe), &name, (Linkage::Subprogram, cookies))
    };
    let at_entry = part(session.entry, entry, "entry", Vec::new())?;
    let at_return = part(session.on_return, on_return, "return", return_names)?;
    let mut b = FunctionBuilder::new(
        name,
        Linkage::Program { kind: ProgramKind::KprobeSession, section: SECTION.to_owned() },
        1,
    );
    b.set_span(entry.head);
    let context = [Operand::Reg(Vreg(0))];
    let is_return = match object.facts.features().kprobe_session {
        Some(SessionCall::OfContext) => b.call("bpf_session_is_return___of_context", &context),
        _ => b.call("bpf_session_is_return", &[]),
    };
    let [returns, enters] = b.new_blocks();
    b.branch(Cond::Ne, is_return, 0, returns, enters);
    // Anything but 0 would spare the return.
    for (block, part) in [(returns, at_return), (enters, at_entry)] {
        b.switch_to(block);
        if block == enters && entry.keeps_in_session() {
            // The kernel hands over what an earlier call left, and a brake may end the entry before its body.
            let cookie = cookie(&mut b, object.facts, context[0]);
            memory::store(&mut b, cookie, 8, 0);
        }
        b.call(part, &context);
        b.ret(0);
    }
    b.set_span(Span::default());
    object.functions[program.0 as usize] = Some(b.finish());
    Ok(())
}

/// Whether a probe is lowered as a part of a session.
pub fn is_part(l: &Lowerer<'_, '_>) -> bool {
    l.kind == ProgramKind::KprobeSession
}

/// The word that the kernel keeps for each call from its entry to its return.
fn cookie(b: &mut FunctionBuilder, facts: &TargetFacts, context: Operand) -> Addr {
    let at = match facts.features().kprobe_session {
        Some(SessionCall::OfContext) => b.call("bpf_session_cookie___of_context", &[context]),
        _ => b.call("bpf_session_cookie", &[]),
    };
    Addr::new(Base::Reg(at), 0)
}

/// What the entry kept for the return.
pub fn kept(l: &mut Lowerer<'_, '_>) -> Vreg {
    let context = l.function.context();
    let at = cookie(&mut l.function.builder, l.object.facts, context.into());
    memory::load(&mut l.function.builder, at, 8, false)
}

/// Keeps a number for the return.
pub fn keep<'a>(l: &mut Lowerer<'_, 'a>, word: &'a Expr) -> Result<Operand, CodegenError> {
    let word = l.scalar(word)?;
    let context = l.function.context();
    let at = cookie(&mut l.function.builder, l.object.facts, context.into());
    memory::store(&mut l.function.builder, at, 8, word);
    Ok(0.into())
}

/// For the number of each function's name at its entry, which is the link's cookie, that of its name at the return.
fn names_at_return(program: &Program, entry: &Probe, on_return: &Probe) -> Vec<(u32, u32)> {
    let function = |name: u32| program.probe_names.get(name as usize).and_then(|text| text.split(':').next_back());
    let at_return: HashMap<_, _> = on_return.names.iter().map(|name| (function(*name), *name)).collect();
    entry.names.iter().filter_map(|name| Some((*name, *at_return.get(&function(*name))?))).collect()
}
