//! Calls as entries of a history, and their time as a map of stacks.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::keep::{here, printf};
use super::calls::{Call, Root, Trees};
use crate::kernel::Kernel;
use crate::kernel::record::Symbols;
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::{Frame, Stack, StackStyle, Value};
use crate::store::{Column, ColumnKind, MapInfo, Payload, TraceId, TraceInfo, TraceKind};
use crate::tracer::Finding;

/// Name of the map of times by stack.
const SELF: &str = "@self_ns";
/// Name of the map of functions.
const FUNCTIONS: &str = "@total_ns";

/// Makes entries of calls.
pub struct GraphKeeper<'a> {
    symbols: &'a dyn Symbols,
    names: HashMap<u64, Arc<str>>,
}

impl std::fmt::Debug for GraphKeeper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphKeeper").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

/// What a trace of calls is; without a kernel it is of somewhere else.
#[must_use]
pub fn info(kernel: Option<&Kernel>, name: &str) -> TraceInfo {
    let integer = |name: &str| Column::new(name, ColumnKind::Integer);
    let text = |name: &str| Column::new(name, ColumnKind::Text);
    let duration = Column { duration_unit_ns: Some(1), ..integer("total_ns") };
    let columns = vec![
        text("comm"),
        integer("pid"),
        text("function"),
        integer("depth"),
        duration,
        integer("self_ns"),
        text("returned"),
    ];
    let action = printf("%16s-%-7d %s depth=%d total_ns=%d self_ns=%d returned=%s\n", "ftrace:function_graph", columns);
    let map = |name: &str, key: Column| MapInfo { name: name.into(), kind: MapKind::Sum, key: vec![key] };
    let mut info = TraceInfo {
        id: TraceId(1),
        kind: TraceKind::Ftrace,
        name: name.into(),
        probes: vec!["ftrace:function_graph".into()],
        actions: vec![action],
        maps: vec![map(SELF, Column::new("stack", ColumnKind::Stack)), map(FUNCTIONS, text("function"))],
        ..TraceInfo::default()
    };
    if let Some(kernel) = kernel {
        here(kernel, &mut info);
    }
    info
}

impl<'a> GraphKeeper<'a> {
    /// With these names.
    #[must_use]
    pub fn new(symbols: &'a dyn Symbols) -> Self {
        Self { symbols, names: HashMap::new() }
    }

    fn name(&mut self, address: u64) -> Arc<str> {
        let symbols = self.symbols;
        let name = self.names.entry(address).or_insert_with(|| match symbols.name(address) {
            Some((name, _)) => name,
            None => format!("{address:#x}").into(),
        });
        Arc::clone(name)
    }

    /// An entry for each call below a root.
    pub fn root(&mut self, root: &Root, take: &mut dyn FnMut(Finding)) {
        self.call(root, &root.call, 0, take);
    }

    fn call(&mut self, root: &Root, call: &Call, depth: u32, take: &mut dyn FnMut(Finding)) {
        let text = |text: &str| Value::Str(text.as_bytes().into());
        let number = |ns: Option<u64>| ns.map_or(Value::None, |ns| Value::Uint(ns, 8));
        let values = vec![
            text(&root.comm),
            Value::Int(root.pid.into(), 4),
            text(&self.name(call.function)),
            Value::Uint(depth.into(), 4),
            number(call.total_ns),
            number(call.total_ns.map(|_| call.self_ns)),
            call.returned.map_or_else(|| text(""), |returned| text(&format!("{returned:#x}"))),
        ];
        let payload = Payload::Event { action: 0, values };
        take(Finding { at_ns: call.at_ns, cpu: Some(root.cpu), payload });
        call.calls.iter().for_each(|call| self.call(root, call, depth + 1, take));
    }

    /// The maps: time by stack, and by function.
    pub fn maps(&mut self, trees: &Trees, at_ns: u64) -> Finding {
        let mut of_stacks: Vec<MapRow> = Vec::new();
        for (stack, ns) in trees.stacks() {
            let frame = |address: &u64| {
                let symbol = Some(self.name(*address));
                Frame { address: *address, symbol, offset: 0, object: None, inlined: false }
            };
            // Stacks are written from the inside.
            let frames = stack.iter().rev().map(frame).collect();
            let stack = Stack { frames, mode: StackStyle::Bpftrace, missing: false };
            of_stacks.push(MapRow { key: vec![Value::Stack(stack)], value: Value::Uint(*ns, 8) });
        }
        let mut of_functions: Vec<MapRow> = Vec::new();
        for (address, function) in trees.functions() {
            let key = vec![Value::Str(self.name(*address).as_bytes().into())];
            of_functions.push(MapRow { key, value: Value::Uint(function.total_ns, 8) });
        }
        let snapshot = |name: &str, mut rows: Vec<MapRow>| {
            rows.sort_by_key(|row| row.value.as_number());
            let capacity = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            MapSnapshot { name: name.into(), kind: MapKind::Sum, keyed: true, rows, capacity, at_ns }
        };
        let maps = [snapshot(SELF, of_stacks), snapshot(FUNCTIONS, of_functions)];
        Finding { at_ns, cpu: None, payload: Payload::Maps(maps.into()) }
    }
}
