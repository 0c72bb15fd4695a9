//! What a history is made of.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::latency::{CpuSample, Episode};
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::{LossCause, TraceStats};
use crate::model::task::TaskReport;
use crate::model::value::Value;

/// Number of a trace within its session; 0 is the session itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct TraceId(pub u32);

impl TraceId {
    /// The session itself: marks, and what concerns no single trace.
    pub const SESSION: Self = Self(0);
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Whose it is.
    pub trace: TraceId,
    /// When it happened: ns of `CLOCK_MONOTONIC`, the event's own kernel time where it has one.
    pub at_ns: u64,
    /// The CPU that it happened on, where it happened on one.
    pub cpu: Option<u16>,
    /// What it is.
    pub payload: Payload,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// An event with its values: `printf` and its kin, `print(value)`. Its text is made when it is drawn or printed.
    Event {
        /// Index into [`super::TraceInfo::actions`].
        action: u32,
        /// In the order of the action's columns.
        values: Vec<Value>,
    },
    /// Finished text: `time()`, `join`, `cat`, `system`, a failed assertion. A line break at its end is implied.
    Text {
        /// Index into [`super::TraceInfo::actions`].
        action: u32,
        /// As the traced programs gave it: faces neutralise control characters.
        text: Arc<[u8]>,
    },
    /// A map that was printed: `print(@map)`, or `print(@map[key])` with at most one row.
    Print {
        /// Index into [`super::TraceInfo::actions`].
        action: u32,
        /// The map as it was read then.
        map: Arc<MapSnapshot>,
    },
    /// All maps of the trace, read together.
    Maps(Arc<[MapSnapshot]>),
    /// The trace's counters.
    Stats(Arc<TraceStats>),
    /// Reports or values that were lost since the last time this was said.
    Lost {
        /// Why.
        cause: LossCause,
        /// How many more.
        count: u64,
        /// Which probe or map, as the script names it.
        site: Arc<str>,
        /// Where in the script.
        span: Span,
    },
    /// A failure that was sent in its place among the reports.
    Failure {
        /// What failed.
        cause: LossCause,
        /// Number of the kernel's helper that failed, 0 for none.
        helper: u32,
        /// What the helper returned.
        code: i32,
        /// Where in the script.
        span: Span,
    },
    /// Something to say about a place in the script while it runs: a probe that the kernel refused, a file that `cat`
    /// cannot read.
    Diagnostic(Arc<Diagnostic>),
    /// The trace began, ended or failed.
    Lifecycle(Lifecycle),
    /// A mark that the user set.
    Mark(Arc<str>),
    /// What was measured on one CPU in one period.
    CpuSample(Arc<CpuSample>),
    /// One latency over a threshold, taken apart.
    Episode(Arc<Episode>),
    /// Where the time of chosen threads went, since they are watched.
    Task(Arc<TaskReport>),
}

/// Steps in the life of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lifecycle {
    /// Everything is attached.
    Attached {
        /// How many attach points.
        probes: u32,
        /// From the order to the last attach, ns.
        elapsed_ns: u64,
    },
    /// It ended in order (by `exit()`, its command's end or `stop`).
    Ended {
        /// From `exit(code)`; 0 otherwise.
        code: i32,
        /// Whether its maps are printed now, as the last [`Payload::Maps`] before this has them.
        prints_maps: bool,
    },
    /// It could not start, or could not go on.
    Failed {
        /// Plain words.
        reason: Arc<str>,
    },
}

/// Kinds of payload, as indexes count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum PayloadKind {
    /// [`Payload::Event`].
    Event = 0,
    /// [`Payload::Text`].
    Text = 1,
    /// [`Payload::Print`].
    Print = 2,
    /// [`Payload::Maps`].
    Maps = 3,
    /// [`Payload::Stats`].
    Stats = 4,
    /// [`Payload::Lost`].
    Lost = 5,
    /// [`Payload::Failure`].
    Failure = 6,
    /// [`Payload::Diagnostic`].
    Diagnostic = 7,
    /// [`Payload::Lifecycle`].
    Lifecycle = 8,
    /// [`Payload::Mark`].
    Mark = 9,
    /// [`Payload::CpuSample`].
    CpuSample = 10,
    /// [`Payload::Episode`].
    Episode = 11,
    /// [`Payload::Task`].
    Task = 12,
}

impl PayloadKind {
    /// How many there are.
    pub const COUNT: usize = 13;
    /// All of them, by number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Event,
        Self::Text,
        Self::Print,
        Self::Maps,
        Self::Stats,
        Self::Lost,
        Self::Failure,
        Self::Diagnostic,
        Self::Lifecycle,
        Self::Mark,
        Self::CpuSample,
        Self::Episode,
        Self::Task,
    ];

    /// True for what the script itself says.
    #[must_use]
    pub const fn is_output(self) -> bool {
        matches!(self, Self::Event | Self::Text | Self::Print)
    }

    /// True for what has rows among the events; state (maps, counters, lifecycle) and latencies have none.
    #[must_use]
    pub const fn has_rows(self) -> bool {
        !matches!(self, Self::Maps | Self::Stats | Self::Lifecycle | Self::CpuSample | Self::Episode | Self::Task)
    }
}

impl Payload {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> PayloadKind {
        match self {
            Self::Event { .. } => PayloadKind::Event,
            Self::Text { .. } => PayloadKind::Text,
            Self::Print { .. } => PayloadKind::Print,
            Self::Maps(_) => PayloadKind::Maps,
            Self::Stats(_) => PayloadKind::Stats,
            Self::Lost { .. } => PayloadKind::Lost,
            Self::Failure { .. } => PayloadKind::Failure,
            Self::Diagnostic(_) => PayloadKind::Diagnostic,
            Self::Lifecycle(_) => PayloadKind::Lifecycle,
            Self::Mark(_) => PayloadKind::Mark,
            Self::CpuSample(_) => PayloadKind::CpuSample,
            Self::Episode(_) => PayloadKind::Episode,
            Self::Task(_) => PayloadKind::Task,
        }
    }

    /// The action that it comes from; none for what no action of a script made.
    #[must_use]
    pub const fn action(&self) -> Option<u32> {
        match self {
            Self::Event { action, .. } | Self::Text { action, .. } | Self::Print { action, .. } => Some(*action),
            _ => None,
        }
    }
}

/// A moment that panes draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cursor {
    /// The end, wherever that is by then.
    #[default]
    Live,
    /// A moment, held.
    At {
        /// Its time.
        at_ns: u64,
        /// The entry chosen, numbered as [`super::History::entry`] does.
        entry: u64,
    },
}
