//! Decoded values.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::histogram::{Linear, Log2};

/// A value as it left the kernel, symbols resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Nothing (absent).
    None,
    /// A boolean.
    Bool(bool),
    /// A signed integer of the given size in bytes.
    Int(i64, u8),
    /// An unsigned integer of the given size in bytes.
    Uint(u64, u8),
    /// A pointer.
    Pointer(u64),
    /// An enum value and its name, where it has one.
    Enum {
        /// The number.
        value: i64,
        /// Its enumerator.
        name: Option<Arc<str>>,
    },
    /// Text as bytes up to the terminator; untrusted, maybe not UTF-8.
    Str(Arc<[u8]>),
    /// Bytes (`buf`).
    Bytes(Arc<[u8]>),
    /// Elements.
    Array(Arc<[Value]>),
    /// Elements.
    Tuple(Arc<[Value]>),
    /// Named elements: records and structs.
    Record(Arc<[(Arc<str>, Value)]>),
    /// Text made by the engine from a formatted type: addresses, users, times, paths, symbols.
    /// The integer is the raw value behind it.
    Text(Arc<str>, u64),
    /// A stack, innermost frame first.
    Stack(Stack),
    /// Mean of a series: sum, count and whether signed.
    Avg(Summary),
    /// Count, mean and total.
    Stats(Summary),
    /// Power-of-two histogram.
    Hist(Arc<Log2>),
    /// Linear histogram.
    LHist(Arc<Linear>),
    /// Time series.
    TSeries(Arc<Series>),
}

/// Sum and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Two's complement sum.
    pub total: i64,
    /// How many values.
    pub count: u64,
    /// Whether the sum is signed.
    pub signed: bool,
}

impl Summary {
    /// The mean as bits, rounded towards zero; 0 when empty.
    #[must_use]
    pub fn average(&self) -> i64 {
        if self.count == 0 {
            return 0;
        }
        if self.signed {
            (i128::from(self.total) / i128::from(self.count)) as i64
        } else {
            (self.total as u64 / self.count) as i64
        }
    }
}

/// A resolved stack.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stack {
    /// Innermost first.
    pub frames: Arc<[Frame]>,
    /// Text form is chosen by the stack's mode; see `lang::types::StackMode`.
    pub mode: StackStyle,
    /// True when the stack could not be read or its record was lost.
    pub missing: bool,
}

/// How a stack prints; the model's own copy of the script's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub enum StackStyle {
    /// `symbol+offset`, one a line.
    #[default]
    Bpftrace,
    /// `address symbol+offset (object)`.
    Perf,
    /// Hexadecimal addresses.
    Raw,
    /// Build id and offset.
    BuildId,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Instruction address.
    pub address: u64,
    /// Symbol; absent when unknown.
    pub symbol: Option<Arc<str>>,
    /// Bytes from the symbol's start.
    pub offset: u64,
    /// Kernel module or object file, where known.
    pub object: Option<Arc<str>>,
    /// True for a frame inlined into the next one.
    pub inlined: bool,
}

/// A time series.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval in ns.
    pub interval_ns: u64,
    /// Intervals from the oldest: start time in ns (wall clock, UTC) and value; absent where nothing fell.
    pub points: Vec<(u64, Option<i64>)>,
    /// Whether values are signed.
    pub signed: bool,
}

impl Value {
    /// The number behind a value, for sorting and bars; absent for text and compounds.
    #[must_use]
    pub fn as_number(&self) -> Option<i128> {
        Some(match self {
            Self::Bool(b) => i128::from(*b),
            Self::Int(v, _) => i128::from(*v),
            Self::Uint(v, _) | Self::Pointer(v) | Self::Text(_, v) => i128::from(*v),
            Self::Enum { value, .. } => i128::from(*value),
            Self::Avg(s) | Self::Stats(s) => i128::from(s.average()),
            Self::Hist(h) => i128::from(h.total()),
            Self::LHist(h) => i128::from(h.total()),
            _ => return None,
        })
    }
}
