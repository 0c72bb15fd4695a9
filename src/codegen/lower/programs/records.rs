//! Records of system calls that are shorter than what a clause of many calls reads: the arguments beyond are 0.
//!
//! The kernel refuses to attach a program that reads its context beyond the fields of the tracepoint, so that calls with few
//! arguments need a program of their own.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::lower::function::Lowerer;
use crate::kernel::target::TargetFacts;
use crate::lang::typed::{Builtin, ExprKind, Probe};
use crate::model::target::Target;

/// Bytes of an argument in the record.
const ARGUMENT: u32 = 8;

/// Where the last field of a record that a probe of many targets reads ends.
pub fn asked(probe: &Probe) -> Option<u32> {
    if probe.targets.len() <= 1 {
        return None;
    }
    let ends = probe.all_exprs().filter_map(|e| match e.kind {
        ExprKind::Builtin(Builtin::CtxField(offset)) => Some(offset + ARGUMENT),
        _ => None,
    });
    ends.max()
}

/// How much of a target's record is read, of the `asked` bytes.
pub fn read_end(target: &Target, asked: Option<u32>, facts: &TargetFacts) -> Option<u32> {
    let Target::Tracepoint { category, event } = target else { return None };
    let asked = asked.filter(|_| &**category == "syscalls" && event.starts_with("sys_enter_"))?;
    Some(facts.record_end(category, event)?.min(asked))
}

/// Whether a field is an argument that the program's calls do not have.
pub fn is_beyond(l: &Lowerer<'_, '_>, offset: u32) -> bool {
    if l.kind != ProgramKind::Tracepoint || l.probe.targets.len() < 2 {
        return false;
    }
    let end = l.probe.targets.get(l.target).and_then(|t| read_end(t, Some(offset + ARGUMENT), l.object.facts));
    end.is_some_and(|end| offset >= end)
}
