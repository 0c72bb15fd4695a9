//! Where the lines of a trace come from.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::codegen::lower::walk::each;
use crate::engine::names::time::Clocks;
use crate::lang::typed::{Block, ExprKind, Probe, Program, StatementKind};
use crate::model::event::Origin;

/// What the lines of a program's trace have in common, when it began to attach at `began_ns` of
/// `CLOCK_MONOTONIC`.
#[must_use]
pub fn of(program: &Program, clocks: &Clocks, began_ns: u64) -> Origin {
    let offset_ns = i64::from(clocks.chart().utc_offset_s).wrapping_mul(1_000_000_000);
    Origin { began_ns, local_minus_monotonic_ns: clocks.wall(0, 1).wrapping_add(offset_ns), probes: printers(program) }
}

/// By action: the probe that reports it, functions that it calls included.
fn printers(program: &Program) -> Vec<Arc<str>> {
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); program.actions.len()];
    for (index, probe) in program.probes.iter().enumerate() {
        for action in reported(program, &probe.body) {
            if let Some(probes) = found.get_mut(action as usize) {
                probes.insert(index);
            }
        }
    }
    let name = |probes: &BTreeSet<usize>| {
        let count: usize = probes.iter().map(|p| program.probes[*p].targets.len()).sum();
        let first = probes.first().and_then(|p| first_name(program, &program.probes[*p])).unwrap_or_default();
        if count > 1 { format!("{first} and {} more", count - 1).into() } else { first }
    };
    found.iter().map(name).collect()
}

fn first_name(program: &Program, probe: &Probe) -> Option<Arc<str>> {
    probe.names.first().and_then(|n| program.probe_names.get(*n as usize)).cloned()
}

/// The actions in a body and in the functions that it calls.
fn reported(program: &Program, body: &Block) -> HashSet<u32> {
    let (mut actions, mut seen, mut calls) = (HashSet::new(), HashSet::new(), Vec::new());
    let mut look = |block: &Block, calls: &mut Vec<u32>| {
        each(
            block,
            &mut |statement| {
                if let StatementKind::Report { action, .. } = &statement.kind {
                    actions.insert(action.0);
                }
            },
            &mut |expr| {
                if let ExprKind::CallUser(function, _) = &expr.kind {
                    calls.push(function.0);
                }
            },
        );
    };
    look(body, &mut calls);
    while let Some(function) = calls.pop() {
        if let Some(function) = program.functions.get(function as usize).filter(|_| seen.insert(function)) {
            look(&function.body, &mut calls);
        }
    }
    actions
}
