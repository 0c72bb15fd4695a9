//! Maps whose keys say where their elements can lie.

use crate::kernel::target::TargetFacts;
use crate::lang::typed::{Block, Builtin, Expr, ExprKind, MapStorage, Program, Statement, StatementKind};
use crate::lang::types::Type;

use crate::codegen::lower::layout;
use crate::codegen::lower::walk;

/// By map: whether it is an aggregation that the script only updates, always under the number of the CPU
/// (`@[cpu] = count()`). A CPU's copy of the per-CPU data then is that CPU's element, without a lookup.
/// `only_updated` is that function's answer.
pub fn by_cpu(program: &Program, facts: &TargetFacts, only_updated: &[bool]) -> Vec<bool> {
    let mut result = only_updated.to_vec();
    for (result, map) in result.iter_mut().zip(&program.maps) {
        *result &= matches!(map.value, Type::Agg(_))
            && matches!(map.key, Type::Int { .. })
            && map.storage == MapStorage::Auto
            && map.max_entries >= layout::cpu_slots(facts);
    }
    let mut statement = |s: &StatementKind| {
        if let StatementKind::Aggregate { map, key: Some(key), .. } = s
            && !is_cpu(key)
        {
            result[map.0 as usize] = false;
        }
    };
    each(program, &mut statement, &mut |_| ());
    result
}

/// By map: whether no program reads, deletes, steps through or counts its elements.
pub fn only_updated(program: &Program) -> Vec<bool> {
    let mut stepped = Vec::new();
    let mut read = Vec::new();
    let mut statement = |s: &StatementKind| {
        if let StatementKind::ForMap { map, .. } = s {
            stepped.push(*map);
        }
    };
    let mut expression = |e: &Expr| match &e.kind {
        ExprKind::MapGet { map, .. }
        | ExprKind::MapHas { map, .. }
        | ExprKind::MapDelete { map, .. }
        | ExprKind::MapFind { map, .. }
        | ExprKind::MapStep { map, .. }
        | ExprKind::MapAddress(map)
        | ExprKind::MapLen(map) => read.push(*map),
        _ => {}
    };
    each(program, &mut statement, &mut expression);
    let mut result = vec![true; program.maps.len()];
    for map in stepped.into_iter().chain(read) {
        result[map.0 as usize] = false;
    }
    result
}

/// By map: how many statements update its elements.
pub fn updates(program: &Program) -> Vec<usize> {
    let mut result = vec![0; program.maps.len()];
    let mut statement = |s: &StatementKind| {
        if let StatementKind::Aggregate { map, .. } = s {
            result[map.0 as usize] += 1;
        }
    };
    each(program, &mut statement, &mut |_| ());
    result
}

/// By map: whether a loop updates its elements, or a function, which a loop may call.
pub fn updated_in_loops(program: &Program) -> Vec<bool> {
    let mut result = vec![false; program.maps.len()];
    let mut updates = |body: &Block| {
        let mut statement = |s: &Statement| {
            if let StatementKind::Aggregate { map, .. } = &s.kind {
                result[map.0 as usize] = true;
            }
        };
        walk::each(body, &mut statement, &mut |_| ());
    };
    let mut loops = |s: &StatementKind| match s {
        StatementKind::While(_, body) | StatementKind::ForRange { body, .. } | StatementKind::ForMap { body, .. } => {
            updates(body);
        }
        _ => {}
    };
    each(program, &mut loops, &mut |_| ());
    for function in &program.functions {
        updates(&function.body);
    }
    result
}

/// Every statement and expression of a script.
fn each(program: &Program, on_statement: &mut dyn FnMut(&StatementKind), on_expr: &mut dyn FnMut(&Expr)) {
    let bodies = program.probes.iter().map(|p| &p.body).chain(program.functions.iter().map(|f| &f.body));
    for body in bodies {
        walk::each(body, &mut |s| on_statement(&s.kind), on_expr);
    }
    for predicate in program.probes.iter().filter_map(|p| p.predicate.as_ref()) {
        walk::each_in(predicate, &mut |s| on_statement(&s.kind), on_expr);
    }
}

/// The number of the CPU, possibly as a wider integer.
fn is_cpu(key: &Expr) -> bool {
    matches!(narrow(key).kind, ExprKind::Builtin(Builtin::Cpu))
}

/// Whether no two programs write to such a key at the same time: it names the thread that they run in, or the
/// CPU. (Idle tasks are one thread on all CPUs.)
pub fn one_writer(key: &Expr) -> bool {
    match &narrow(key).kind {
        ExprKind::Builtin(Builtin::Tid | Builtin::Cpu) => true,
        ExprKind::Tuple(items) => items.iter().any(one_writer),
        _ => false,
    }
}

/// The number before it was made a wider integer.
fn narrow(key: &Expr) -> &Expr {
    match &key.kind {
        ExprKind::Cast(inner) if matches!(key.ty, Type::Int { size: 4 | 8, .. }) => narrow(inner),
        _ => key,
    }
}
