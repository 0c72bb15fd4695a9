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
    /// When it was drained, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Which action printed it.
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
}
