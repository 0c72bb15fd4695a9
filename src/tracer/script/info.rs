//! What a script's trace is: everything that is needed to draw or print its entries elsewhere, and to run another script
//! on them.

mod origins;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::engine::maps;
use crate::engine::names::time::Clocks;
use crate::kernel::Kernel;
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::{Action, ActionKind as Kind, Block, Map, Probe, Program, StatementKind};
use crate::lang::types::Type;
use crate::store::{ActionInfo, ActionKind, Clause, Column, ColumnKind, MapInfo, TraceInfo, TraceKind};

/// Longest name of a column that is taken from the script's text, bytes.
const LONGEST_NAME: usize = 40;

/// Describes a script whose trace begins now. The trace's number is not known yet.
#[must_use]
pub fn of(program: &Program, source: &SourceText, kernel: &Kernel) -> TraceInfo {
    let clocks = Clocks::now();
    let text = |path| kernel.proc_text(path).unwrap_or_default().trim().into();
    TraceInfo {
        began_ns: crate::engine::monotonic_ns(),
        wall_minus_monotonic_ns: clocks.wall(0, 1),
        utc_offset_s: clocks.chart().utc_offset_s,
        kernel: text("sys/kernel/osrelease"),
        host: text("sys/kernel/hostname"),
        tracepoints: origins::tracepoints(program, kernel),
        ..of_script(program, source)
    }
}

/// What is known of a script's trace wherever and whenever it runs.
#[must_use]
pub fn of_script(program: &Program, source: &SourceText) -> TraceInfo {
    TraceInfo {
        kind: TraceKind::Script,
        name: Arc::clone(&source.name),
        script: Arc::from(&*source.text),
        actions: actions(program, source),
        maps: program.maps.iter().map(of_map).collect(),
        probes: program.probe_names.clone(),
        clauses: program.probes.iter().map(|probe| Clause { probes: probe.names.clone() }).collect(),
        ..TraceInfo::default()
    }
}

fn of_map(map: &Map) -> MapInfo {
    let parts = match &map.key {
        Type::Void => &[][..],
        Type::Tuple(parts) => parts,
        key => std::slice::from_ref(key),
    };
    let column = |(nth, ty)| Column::new(&format!("key{nth}"), ColumnKind::of(ty));
    MapInfo {
        name: Arc::clone(&map.name),
        kind: maps::kind(&map.value),
        key: parts.iter().enumerate().map(column).collect(),
    }
}

fn actions(program: &Program, source: &SourceText) -> Vec<ActionInfo> {
    let (probes, values) = (printers(program), value_spans(program));
    let mut origins = origins::of(program);
    let all = program.actions.iter().zip(probes).enumerate();
    all.map(|(index, (action, probe))| {
        let spans = values.get(&(index as u32)).map_or(&[][..], Vec::as_slice);
        let (origin, mut sources) = origins.remove(&(index as u32)).unzip();
        let column = |(nth, ty)| {
            let known: Option<Column> =
                sources.as_mut().and_then(|s: &mut Vec<Column>| s.get_mut(nth)).map(std::mem::take);
            let name = name(source, spans.get(nth), nth);
            Column { name, kind: ColumnKind::of(ty), ..known.unwrap_or_default() }
        };
        let mut columns: Vec<Column> = action.values.iter().enumerate().map(column).collect();
        name_durations(&mut columns);
        ActionInfo { kind: kind(action), span: action.span, expanded: action.expanded.clone(), probe, columns, origin }
    })
    .collect()
}

fn kind(action: &Action) -> ActionKind {
    match &action.kind {
        Kind::Printf { format, sink } => ActionKind::Printf { format: format.clone(), sink: *sink },
        Kind::PrintValue => ActionKind::Value,
        Kind::PrintMap { top, div, .. } => ActionKind::Map { top: *top, div: *div },
        Kind::PrintMapEntry { .. } => ActionKind::Map { top: 0, div: 0 },
        Kind::Time(_) => ActionKind::Time,
        Kind::Join(_) => ActionKind::Join,
        Kind::Cat(_) => ActionKind::Cat,
        Kind::Record(_) => ActionKind::Record,
        Kind::Fault { .. } => ActionKind::Fault,
        Kind::System(_) => ActionKind::System,
        Kind::RuntimeError(_) => ActionKind::RuntimeError,
        Kind::Clear(_) | Kind::Zero(_) | Kind::Exit | Kind::SkbOutput(_) => ActionKind::Silent,
    }
}

/// A column's name: what the script says there, without the call that only reads it (`str(args.filename)`); `arg0` and
/// on where that is no name.
fn name(source: &SourceText, span: Option<&Span>, nth: usize) -> Arc<str> {
    let said = span.and_then(|span| source.text.get(span.start as usize..span.end as usize)).unwrap_or("");
    let inner =
        ["str(", "ntop(", "kstr(", "usym(", "ksym("].iter().find_map(|call| said.strip_prefix(call)?.strip_suffix(')'));
    let said = inner.unwrap_or(said).trim();
    let is_name = !said.is_empty()
        && said.len() <= LONGEST_NAME
        && said.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '$' | '@' | '_'))
        && said.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '$' | '@' | '_' | '.' | '>' | '-'));
    if is_name { said.into() } else { format!("arg{nth}").into() }
}

/// Names the first value that the script computes as a time that something took.
fn name_durations(columns: &mut [Column]) {
    let unnamed = |(nth, column): &(usize, &mut Column)| *column.name == *format!("arg{nth}");
    let Some((_, column)) = columns.iter_mut().enumerate().filter(unnamed).find(|(_, c)| c.duration_unit_ns.is_some())
    else {
        return;
    };
    column.name = match column.duration_unit_ns {
        Some(1) => "dur_ns".into(),
        Some(1000) => "dur_us".into(),
        Some(1_000_000) => "dur_ms".into(),
        Some(1_000_000_000) => "dur_s".into(),
        _ => return,
    };
}

/// By action: where its values stand.
fn value_spans(program: &Program) -> BTreeMap<u32, Vec<Span>> {
    let spans = program.bodies().flat_map(Block::all_statements).filter_map(|s| match &s.kind {
        StatementKind::Report { action, values } => Some((action.0, values.iter().map(|value| value.span).collect())),
        _ => None,
    });
    spans.collect()
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
    let statements = program.bodies_called(body).into_iter().flat_map(Block::all_statements);
    let actions = statements.filter_map(|s| match &s.kind {
        StatementKind::Report { action, .. } => Some(action.0),
        _ => None,
    });
    actions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Roots};
    use crate::lang::facts::NoFacts;
    use crate::lang::front::FrontOptions;

    fn columns(script: &str) -> Vec<(String, Option<u64>)> {
        let source = SourceText::new("t.bt", script);
        let kernel = Kernel::new(Roots::fixture("/nonexistent"));
        let checked = crate::lang::front_end(&source).compile_with(&source, &NoFacts, &FrontOptions::new(&kernel));
        let actions = actions(&checked.program, &source);
        let printed = actions.iter().find(|a| !a.columns.is_empty()).map_or(&[][..], |a| &a.columns);
        printed.iter().map(|c| (c.name.to_string(), c.duration_unit_ns)).collect()
    }

    #[test]
    fn times_that_something_took_are_known_and_named() {
        let of = |values: &str| {
            columns(&format!("kprobe:f {{ $d = nsecs - @o[tid]; $us = $d / 1000; printf(\"%d %d\", {values}); }}"))
        };
        let pair = |name: &str, unit| (name.to_owned(), unit);
        assert_eq!(of("pid, nsecs - @o[tid]"), [pair("pid", None), pair("dur_ns", Some(1))]);
        assert_eq!(of("(nsecs - @o[tid]) / 1000, $d"), [pair("dur_us", Some(1000)), pair("$d", Some(1))]);
        assert_eq!(of("$us / 1000, pid + 1"), [pair("dur_ms", Some(1_000_000)), pair("arg1", None)]);
        assert_eq!(of("$us, arg0 - pid"), [pair("$us", Some(1000)), pair("arg1", None)]);
    }
}
