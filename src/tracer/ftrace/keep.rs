//! Events as entries of a history: each kind of event is an action with its fields as columns; stacks are a map, so that
//! flame graphs are drawn of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::full_name;
use super::session::{Event, Loss, Options};
use crate::engine::monotonic_ns;
use crate::engine::names::time::Clocks;
use crate::kernel::Kernel;
use crate::kernel::record::{RecordShape, ShapeKind};
use crate::kernel::ring::Abi;
use crate::lang::source::Span;
use crate::lang::typed::PrintfSink;
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::stats::LossCause;
use crate::model::value::{Stack, Value};
use crate::store::{ActionInfo, ActionKind, Column, ColumnKind, MapInfo, Payload, TraceId, TraceInfo, TraceKind};
use crate::tracer::Finding;

/// Name of the map of stacks.
const STACKS: &str = "@stacks";
/// Different stacks that are kept.
const MOST_STACKS: usize = 100_000;
/// Columns that stand before an event's own.
const BEFORE: usize = 2;

/// Makes entries of events.
#[derive(Debug)]
pub struct Keeper {
    /// The action of an event's number.
    actions: HashMap<u32, u32>,
    /// The action of events that were not known from the beginning.
    others: u32,
    /// The event that a CPU's next stack belongs to.
    last: HashMap<u16, Arc<str>>,
    stacks: HashMap<(Arc<str>, Vec<u64>), (Stack, u64)>,
    left_out: u64,
    grown: bool,
    text: Vec<u8>,
}

impl Keeper {
    /// For what a session traces, which has begun: what it defines is there; and what its trace is.
    #[must_use]
    pub fn new(kernel: &Kernel, options: &Options, name: &str) -> (Self, TraceInfo) {
        let shapes: Vec<RecordShape> = options
            .wanted()
            .filter(|wanted| wanted.on)
            .filter_map(|wanted| kernel.tracepoint(&wanted.name.0, &wanted.name.1).ok())
            .map(|format| RecordShape::of(&format, Abi::NATIVE))
            .collect();
        let (keeper, mut info) = Self::of(&shapes, name);
        here(kernel, &mut info);
        (keeper, info)
    }

    /// For events of these shapes.
    #[must_use]
    pub fn of(shapes: &[RecordShape], name: &str) -> (Self, TraceInfo) {
        let mut actions: Vec<ActionInfo> = shapes.iter().map(action).collect();
        let by_id = shapes.iter().enumerate().map(|(at, shape)| (shape.id, at as u32)).collect();
        let others = actions.len() as u32;
        actions.push(printf(
            "%16s-%-7d %s: %s\n",
            "",
            vec![
                Column::new("comm", ColumnKind::Text),
                Column::new("pid", ColumnKind::Integer),
                Column::new("other_event", ColumnKind::Text),
                Column::new("message", ColumnKind::Text),
            ],
        ));
        let info = TraceInfo {
            id: TraceId(1),
            kind: TraceKind::Ftrace,
            name: name.into(),
            probes: shapes.iter().map(|shape| format!("{}:{}", shape.system, shape.name).into()).collect(),
            actions,
            maps: vec![MapInfo {
                name: STACKS.into(),
                kind: MapKind::Count,
                key: vec![Column::new("event", ColumnKind::Text), Column::new("stack", ColumnKind::Stack)],
            }],
            ..TraceInfo::default()
        };
        let keeper = Self {
            actions: by_id,
            others,
            last: HashMap::new(),
            stacks: HashMap::new(),
            left_out: 0,
            grown: false,
            text: Vec::new(),
        };
        (keeper, info)
    }

    /// An event as an entry; stacks are counted and are none.
    pub fn event(&mut self, event: &Event<'_>) -> Option<Finding> {
        let shape = event.shape;
        if &*shape.system == "ftrace" && matches!(&*shape.name, "kernel_stack" | "user_stack") {
            self.stack(event);
            return None;
        }
        let mut values = vec![Value::Str(event.comm.as_bytes().into()), Value::Int(event.pid.into(), 4)];
        let known = self.actions.get(&shape.id).copied();
        let name = || -> Arc<str> { full_name(&(Arc::clone(&shape.system), Arc::clone(&shape.name))).into() };
        if known.is_some() {
            values.extend(shape.fields.iter().map(|field| field.value(event.abi, event.record, event.names)));
        } else {
            self.text.clear();
            shape.printed.write(event.abi, &shape.fields, event.record, event.names, &mut self.text);
            values.extend([Value::Str(name().as_bytes().into()), Value::Str(self.text.as_slice().into())]);
        }
        match self.last.get_mut(&event.cpu) {
            Some(last) if **last == *shape.name => {}
            _ => {
                self.last.insert(event.cpu, Arc::clone(&shape.name));
            }
        }
        let payload = Payload::Event { action: known.unwrap_or(self.others), values };
        Some(Finding { at_ns: event.at_ns, cpu: Some(event.cpu), payload })
    }

    /// A loss as an entry.
    #[must_use]
    pub fn loss(loss: &Loss) -> Finding {
        let site = format!("CPU {}", loss.cpu).into();
        let payload =
            Payload::Lost { cause: LossCause::RingFull, count: loss.count.unwrap_or(1), site, span: Span::default() };
        Finding { at_ns: loss.at_ns, cpu: Some(loss.cpu), payload }
    }

    fn stack(&mut self, event: &Event<'_>) {
        let Some(field) = event.shape.field("caller") else { return };
        let Value::Stack(stack) = field.value(event.abi, event.record, event.names) else { return };
        let key = stack.frames.iter().map(|frame| frame.address).collect();
        let of = self.last.get(&event.cpu).cloned().unwrap_or_else(|| "".into());
        if self.stacks.len() >= MOST_STACKS && !self.stacks.contains_key(&(Arc::clone(&of), Vec::clone(&key))) {
            self.left_out += 1;
            return;
        }
        self.stacks.entry((of, key)).or_insert((stack, 0)).1 += 1;
        self.grown = true;
    }

    /// The stacks so far, where there are more than when this was last asked.
    pub fn maps(&mut self, at_ns: u64) -> Option<Finding> {
        if !std::mem::take(&mut self.grown) {
            return None;
        }
        let rows = self.stacks.iter().map(|((event, _), (stack, count))| MapRow {
            key: vec![Value::Str(event.as_bytes().into()), Value::Stack(stack.clone())],
            value: Value::Uint(*count, 8),
        });
        let mut rows: Vec<MapRow> = rows.collect();
        rows.sort_by_key(|row| row.value.as_number());
        let capacity = MOST_STACKS as u32;
        let snapshot = MapSnapshot { name: STACKS.into(), kind: MapKind::Count, keyed: true, rows, capacity, at_ns };
        Some(Finding { at_ns, cpu: None, payload: Payload::Maps([snapshot].into()) })
    }

    /// Stacks that found no room.
    #[must_use]
    pub const fn stacks_left_out(&self) -> u64 {
        self.left_out
    }
}

/// Fills in when and where a trace begins.
pub(super) fn here(kernel: &Kernel, info: &mut TraceInfo) {
    let clocks = Clocks::now();
    let text = |path| kernel.proc_text(path).unwrap_or_default().trim().into();
    info.began_ns = monotonic_ns();
    info.wall_minus_monotonic_ns = clocks.wall(0, 1);
    info.utc_offset_s = clocks.chart().utc_offset_s;
    info.kernel = text("sys/kernel/osrelease");
    info.host = text("sys/kernel/hostname");
}

/// An event's action: who, and its fields by name.
fn action(shape: &RecordShape) -> ActionInfo {
    let mut text = format!("%16s-%-7d {}:", shape.name);
    let mut columns = vec![Column::new("comm", ColumnKind::Text), Column::new("pid", ColumnKind::Integer)];
    for field in &shape.fields {
        let (conversion, kind) = match field.kind {
            ShapeKind::Number { .. } => ("%d", ColumnKind::Integer),
            ShapeKind::Pointer => ("%p", ColumnKind::Pointer),
            ShapeKind::Text => ("%s", ColumnKind::Text),
            ShapeKind::Elements { .. } => ("%s", ColumnKind::Compound),
            ShapeKind::Stack => ("%s", ColumnKind::Stack),
        };
        text.push_str(&format!(" {}={conversion}", field.name.replace('%', "%%")));
        columns.push(Column::new(&field.name, kind));
    }
    debug_assert_eq!(columns.len(), shape.fields.len() + BEFORE);
    text.push('\n');
    printf(&text, &format!("{}:{}", shape.system, shape.name), columns)
}

/// An action that prints so: `%s`, `%d`, `%p` and widths are understood.
pub(super) fn printf(text: &str, probe: &str, columns: Vec<Column>) -> ActionInfo {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        literal.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after.find(|c: char| c == '%' || c.is_ascii_alphabetic()).map_or(after.len(), |end| end + 1);
        let (spec, behind) = after.split_at(end);
        rest = behind;
        let kind = match spec.chars().last() {
            Some('d') => ConversionKind::Signed,
            Some('p') => ConversionKind::Pointer,
            Some('s') => ConversionKind::Str,
            _ => {
                literal.push('%');
                continue;
            }
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
        }
        let width = spec.trim_matches(|c: char| !c.is_ascii_digit()).parse().map_or(Width::None, Width::Fixed);
        pieces.push(Piece::Conversion(Conversion {
            left: spec.starts_with('-'),
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width,
            precision: None,
            length: Length::Long,
            kind,
        }));
    }
    literal.push_str(rest);
    pieces.push(Piece::Literal(literal.into()));
    ActionInfo {
        kind: ActionKind::Printf { format: Format { text: text.into(), pieces }, sink: PrintfSink::Out },
        span: Span::default(),
        expanded: Vec::new(),
        probe: probe.into(),
        columns,
        origin: None,
    }
}
