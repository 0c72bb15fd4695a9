//! Maps whose keys say where their elements can lie.

use crate::codegen::target::TargetFacts;
use crate::lang::typed::{Builtin, Expr, ExprKind, MapStorage, Program, StatementKind};
use crate::lang::types::Type;

use super::layout;
use super::walk;

/// By map: whether it is an aggregation that the script only updates, always under the number of the CPU
/// (`@[cpu] = count()`). A CPU's copy of the per-CPU data then is that CPU's element, without a lookup.
pub fn by_cpu(program: &Program, facts: &TargetFacts) -> Vec<bool> {
    let mut result: Vec<bool> = program
        .maps
        .iter()
        .map(|map| {
            matches!(map.value, Type::Agg(_))
                && matches!(map.key, Type::Int { .. })
                && map.storage == MapStorage::Auto
                && map.max_entries >= layout::cpu_slots(facts)
        })
        .collect();
    let mut other = Vec::new();
    let mut statement = |s: &StatementKind| match s {
        StatementKind::Aggregate { map, key: Some(key), .. } if !is_cpu(key) => other.push(*map),
        StatementKind::ForMap { map, .. } => other.push(*map),
        _ => {}
    };
    let mut read = Vec::new();
    let mut expression = |e: &Expr| match &e.kind {
        ExprKind::MapGet { map, .. }
        | ExprKind::MapHas { map, .. }
        | ExprKind::MapDelete { map, .. }
        | ExprKind::MapFind { map, .. }
        | ExprKind::MapStep { map, .. }
        | ExprKind::MapLen(map) => read.push(*map),
        _ => {}
    };
    let bodies = program.probes.iter().map(|p| &p.body).chain(program.functions.iter().map(|f| &f.body));
    for body in bodies {
        walk::each(body, &mut |s| statement(&s.kind), &mut expression);
    }
    for predicate in program.probes.iter().filter_map(|p| p.predicate.as_ref()) {
        walk::each_in(predicate, &mut |s| statement(&s.kind), &mut expression);
    }
    for map in other.into_iter().chain(read) {
        if let Some(result) = result.get_mut(map.0 as usize) {
            *result = false;
        }
    }
    result
}

/// The number of the CPU, possibly as a wider integer.
fn is_cpu(key: &Expr) -> bool {
    match &key.kind {
        ExprKind::Builtin(Builtin::Cpu) => true,
        ExprKind::Cast(inner) => matches!(key.ty, Type::Int { size: 4 | 8, .. }) && is_cpu(inner),
        _ => false,
    }
}
