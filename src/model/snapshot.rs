//! Maps as read at one moment.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::value::Value;

/// One map's contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapSnapshot {
    /// Name with its `@`.
    pub name: Arc<str>,
    /// What its values are.
    pub kind: MapKind,
    /// False for a scalar map: it then has at most one row and that row no keys.
    pub keyed: bool,
    /// Rows in the order of the printers: ascending by value.
    pub rows: Vec<MapRow>,
    /// How many keys it can hold.
    pub capacity: u32,
    /// When it was read, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapRow {
    /// The parts of the key; several for a tuple key.
    pub key: Vec<Value>,
    /// The value.
    pub value: Value,
}

/// What a map holds, which decides how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MapKind {
    /// Plain values.
    Value,
    /// `count`.
    Count,
    /// `sum`.
    Sum,
    /// `min`.
    Min,
    /// `max`.
    Max,
    /// `avg`.
    Avg,
    /// `stats`.
    Stats,
    /// `hist`.
    Hist,
    /// `lhist`.
    LHist,
    /// `tseries`.
    TSeries,
}
