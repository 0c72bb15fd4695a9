//! What a predicate has read of a map need not be looked up again.
//!
//! `/@start[tid]/ { ... nsecs - @start[tid] ... }` reads one value: a lookup costs more than most
//! of what else a probe does.

use std::ptr;

use crate::codegen::ir::Vreg;
use crate::lang::typed::{Builtin, Expr, ExprKind, MapId};

/// Values of map elements that are known, and those that a predicate will make known.
#[derive(Debug, Default)]
pub struct Known<'a> {
    /// Reads that every firing does that gets past the predicate.
    always_evaluated: Vec<&'a Expr>,
    values: Vec<(MapId, &'a Expr, Vreg)>,
}

/// Reads in a predicate that happen whenever it turns out true.
fn always_evaluated<'a>(e: &'a Expr, found: &mut Vec<&'a Expr>) {
    match &e.kind {
        ExprKind::MapGet { key: Some(_), .. } => found.push(e),
        ExprKind::And(a, b) | ExprKind::Binary(_, a, b) => {
            always_evaluated(a, found);
            always_evaluated(b, found);
        }
        ExprKind::Or(a, _)
        | ExprKind::Conditional(a, ..)
        | ExprKind::Unary(_, a)
        | ExprKind::Cast(a)
        | ExprKind::TupleField(a, _) => {
            always_evaluated(a, found);
        }
        _ => {}
    }
}

/// Whether two keys are the same value throughout a firing.
fn same(a: &Expr, b: &Expr) -> bool {
    if a.ty != b.ty {
        return false;
    }
    match (&a.kind, &b.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Str(a), ExprKind::Str(b)) => a == b,
        (ExprKind::Builtin(a), ExprKind::Builtin(b)) => a == b && steady(*a),
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Tuple(a), ExprKind::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => false,
    }
}

/// Builtins that don't change while a program runs.
const fn steady(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Pid
            | Builtin::Tid
            | Builtin::Uid
            | Builtin::Gid
            | Builtin::Comm
            | Builtin::Cpu
            | Builtin::CurTask
            | Builtin::Cgroup
            | Builtin::Arg(_)
            | Builtin::Retval
            | Builtin::CtxField(_)
            | Builtin::ProbeId
            | Builtin::FuncId
    )
}

impl<'a> Known<'a> {
    /// Notes which reads of the predicate are good for the body.
    pub fn note_predicate(&mut self, predicate: &'a Expr) {
        always_evaluated(predicate, &mut self.always_evaluated);
    }

    /// The value of `map[key]`, or where it lies if no register holds it, when it was read before and not
    /// written since.
    pub fn value(&self, map: MapId, key: &Expr) -> Option<Vreg> {
        let mut values = self.values.iter();
        values.find(|(m, k, _)| *m == map && same(k, key)).map(|(_, _, value)| *value)
    }

    /// Notes what a read gave, if it is one of the predicate's.
    pub fn note_read(&mut self, map: MapId, e: &'a Expr, key: &'a Expr, value: Vreg) {
        if self.always_evaluated.iter().any(|read| ptr::eq(*read, e)) {
            self.values.push((map, key, value));
        }
    }

    /// The map is written.
    pub fn invalidate(&mut self, map: MapId) {
        self.values.retain(|(m, ..)| *m != map);
    }

    /// Code follows that runs more than once, or in a function of its own.
    pub fn invalidate_all(&mut self) {
        self.values.clear();
    }
}
