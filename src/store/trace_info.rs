//! What a trace is: everything that is needed to draw or print its entries on another machine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::entry::TraceId;
use super::origin::{Clause, Origin, TracepointFields};
use crate::lang::source::Span;
use crate::lang::typed::PrintfSink;
use crate::lang::types::Type;
use crate::model::format::Format;
use crate::model::latency::MeterInfo;
use crate::model::render::{Clock, MapOptions};
use crate::model::snapshot::MapKind;

/// A trace, said once before its first entry.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceInfo {
    /// Its number.
    pub id: TraceId,
    /// What traces.
    pub kind: TraceKind,
    /// Name for people: the script's file, or what is measured.
    pub name: Arc<str>,
    /// The script's whole text; empty where there is none.
    pub script: Arc<str>,
    /// Actions that entries name by index.
    pub actions: Vec<ActionInfo>,
    /// Maps in the order of their snapshots.
    pub maps: Vec<MapInfo>,
    /// Full names of the probes.
    pub probes: Vec<Arc<str>>,
    /// When it began to attach, ns of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// UTC wall-clock time minus `CLOCK_MONOTONIC`, ns.
    pub wall_minus_monotonic_ns: i64,
    /// Local time minus UTC, seconds.
    pub utc_offset_s: i32,
    /// Release of the kernel.
    pub kernel: Arc<str>,
    /// Name of the machine.
    pub host: Arc<str>,
    /// What a latency meter measures, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<Arc<MeterInfo>>,
    /// The script's clauses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Clause>,
    /// The fields of its tracepoints, where they are few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tracepoints: Vec<TracepointFields>,
}

/// Kinds of tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceKind {
    /// A script.
    #[default]
    Script,
    /// The latency meter.
    Latency,
    /// Where the time of chosen threads goes.
    Task,
    /// One of the kernel's own tracers.
    Ftrace,
    /// A BPF object that somebody else compiled.
    Object,
    /// A kind that a later version records.
    #[serde(other)]
    Other,
}

/// One action of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionInfo {
    /// What is done.
    pub kind: ActionKind,
    /// The call in the script.
    pub span: Span,
    /// The calls of macros that it came by, innermost first.
    #[serde(default)]
    pub expanded: Vec<Span>,
    /// The probe that it stands in, as people read it; empty where that is not known.
    #[serde(default)]
    pub probe: Arc<str>,
    /// Its values, in order.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// Where it stands; absent for what no single clause reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Kinds of action, with what is needed to print them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// `printf` and its kin.
    Printf {
        /// Parsed format.
        format: Format,
        /// Where it goes.
        sink: PrintfSink,
    },
    /// `print(value)`.
    Value,
    /// `print(@map, top, div)` and `print(@map[key])`.
    Map {
        /// Largest entries to keep; 0 for all.
        top: u64,
        /// Divisor of values; 0 or 1 for none.
        div: u64,
    },
    /// `time()`.
    Time,
    /// `join()`.
    Join,
    /// `cat()`.
    Cat,
    /// `system()`.
    System,
    /// What a clause of a D program recorded, as text.
    Record,
    /// A fault that ended a clause of a D program.
    Fault,
    /// A failed `assert` or another fault that the script is told of.
    RuntimeError,
    /// One that leaves no output (`clear`, `exit`).
    Silent,
}

/// A named value of an action or a part of a map's key.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Column {
    /// As people read it: the variable or field, or what the script computes there: `dur_ns`, `dur_us`, `dur_ms` for a time
    /// that something took, `arg0` otherwise.
    pub name: Arc<str>,
    /// What its values are.
    pub kind: ColumnKind,
    /// The expression that they are values of (`lang::typed::keys`); empty where that has no name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub source: Arc<str>,
    /// The same for the parts of a tuple.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Arc<str>>,
    /// How many ns a unit of its values is, where they tell how long what the event ends took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_unit_ns: Option<u64>,
}

fn is_empty(text: &Arc<str>) -> bool {
    text.is_empty()
}

impl Column {
    /// A column of no known expression.
    #[must_use]
    pub fn new(name: &str, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind, source: "".into(), ..Self::default() }
    }
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Numbers.
    Integer,
    /// Addresses.
    Pointer,
    /// Text.
    Text,
    /// Stacks.
    Stack,
    /// Tuples, records, arrays, bytes and aggregations.
    #[default]
    #[serde(other)]
    Compound,
}

impl ColumnKind {
    /// Of a value of this type.
    #[must_use]
    pub const fn of(ty: &Type) -> Self {
        match ty {
            Type::Bool | Type::Int { .. } | Type::Enum { .. } => Self::Integer,
            Type::Ptr { .. } => Self::Pointer,
            Type::KStack { .. } | Type::UStack { .. } => Self::Stack,
            Type::Tuple(_)
            | Type::Record(_)
            | Type::Array { .. }
            | Type::Struct(_)
            | Type::Buf { .. }
            | Type::Agg(_) => Self::Compound,
            _ => Self::Text,
        }
    }
}

/// A map of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapInfo {
    /// Name with its `@`.
    pub name: Arc<str>,
    /// What its values are.
    pub kind: MapKind,
    /// Parts of its key; none for a scalar map.
    #[serde(default)]
    pub key: Vec<Column>,
}

impl TraceInfo {
    /// An action by its index.
    #[must_use]
    pub fn action(&self, index: u32) -> Option<&ActionInfo> {
        self.actions.get(index as usize)
    }

    /// The probe that an action stands in; empty where that is not known.
    #[must_use]
    pub fn probe(&self, action: Option<u32>) -> &str {
        action.and_then(|a| self.action(a)).map_or("", |a| &a.probe)
    }

    /// The wall-clock time of a moment, UTC, ns since 1970.
    #[must_use]
    pub const fn wall_ns(&self, at_ns: u64) -> i64 {
        (at_ns as i64).wrapping_add(self.wall_minus_monotonic_ns)
    }

    /// How maps print for an action, and without one.
    #[must_use]
    pub fn map_options(&self, action: Option<u32>) -> MapOptions {
        let (top, div) = match action.and_then(|a| self.action(a)).map(|a| &a.kind) {
            Some(ActionKind::Map { top, div }) => (*top, *div),
            _ => (0, 0),
        };
        MapOptions { top, div, clock: Clock { utc_offset_s: self.utc_offset_s } }
    }
}
