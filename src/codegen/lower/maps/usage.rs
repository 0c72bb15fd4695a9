//! Maps whose keys say where their elements can lie.

use crate::kernel::target::TargetFacts;
use crate::lang::typed::walk::Node;
use crate::lang::typed::{Block, Builtin, Expr, ExprKind, MapId, MapStorage, Program, Statement, StatementKind};
use crate::lang::types::Type;

use crate::codegen::lower::layout;

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
    for s in program.nodes().filter_map(Node::statement) {
        if let StatementKind::Aggregate { map, key: Some(key), .. } = &s.kind
            && !is_cpu(key)
        {
            result[map.0 as usize] = false;
        }
    }
    result
}

/// By map: whether no program reads, deletes, steps through or counts its elements.
pub fn only_updated(program: &Program) -> Vec<bool> {
    let used = |node| match node {
        Node::Statement(s) => match &s.kind {
            StatementKind::ForMap { map, .. } => Some(*map),
            _ => None,
        },
        Node::Expr(e) => match &e.kind {
            ExprKind::MapGet { map, .. }
            | ExprKind::MapHas { map, .. }
            | ExprKind::MapDelete { map, .. }
            | ExprKind::MapFind { map, .. }
            | ExprKind::MapStep { map, .. }
            | ExprKind::MapAddress(map)
            | ExprKind::MapLen(map) => Some(*map),
            _ => None,
        },
    };
    let mut result = vec![true; program.maps.len()];
    program.nodes().filter_map(used).for_each(|map| result[map.0 as usize] = false);
    result
}

/// By map: how many statements update its elements.
pub fn updates(program: &Program) -> Vec<usize> {
    let mut result = vec![0; program.maps.len()];
    program.nodes().filter_map(updated).for_each(|map| result[map.0 as usize] += 1);
    result
}

/// By map: whether a loop updates its elements, or a function, which a loop may call.
pub fn updated_in_loops(program: &Program) -> Vec<bool> {
    let mut result = vec![false; program.maps.len()];
    // What is unrolled is no loop any more.
    let is_loop = |s: &&Statement| !matches!(s.kind, StatementKind::Unroll(..));
    let loops = program.nodes().filter_map(Node::statement).filter(is_loop).filter_map(Statement::loop_body);
    let functions = program.functions.iter().map(|function| &function.body);
    let updated = loops.chain(functions).flat_map(Block::nodes).filter_map(updated);
    updated.for_each(|map| result[map.0 as usize] = true);
    result
}

/// The map whose elements a node updates.
fn updated(node: Node<'_>) -> Option<MapId> {
    match &node.statement()?.kind {
        StatementKind::Aggregate { map, .. } => Some(*map),
        _ => None,
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
