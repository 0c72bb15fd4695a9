//! Events: the reports of probes, decoded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::value::Value;

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which of the program's actions it is: index into `lang::typed::Program::actions`.
    pub action: u32,
    /// What it carries, in the order of the action's values.
    pub values: Vec<Value>,
}

/// A finished line of output, for views that show text: the formatted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When the script printed its beginning, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Which action printed it; none of them for `u32::MAX`.
    pub action: u32,
    /// Text without its final newline; control characters are as the program gave them: faces
    /// neutralise them.
    pub text: Arc<str>,
}

/// An immutable run of lines; history is a list of chunks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// Number of the first line since the trace began.
    pub first: u64,
    /// The lines.
    pub lines: Vec<Line>,
    /// The trace that they are of.
    #[serde(default)]
    pub origin: Arc<Origin>,
}

/// What all lines of one trace have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// When the trace began to attach, ns of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// Local wall-clock time minus `CLOCK_MONOTONIC`, ns, the time zone's offset included.
    pub local_minus_monotonic_ns: i64,
    /// By action: the probe that it stands in, as people read it; empty where that is not known.
    pub probes: Vec<Arc<str>>,
}

impl Origin {
    /// The probe that a line comes from; empty where that is not known.
    #[must_use]
    pub fn probe(&self, line: &Line) -> &str {
        self.probes.get(line.action as usize).map_or("", |name| name)
    }
}
