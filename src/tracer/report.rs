//! What a tracer says while it runs, and to whom.

use std::io;
use std::sync::Arc;

use super::outlet::Finding;
use crate::engine::attach::Unattached;
use crate::engine::monotonic_ns;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::PrintfSink;
use crate::model::format::Format;
use crate::model::render::MapOptions;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::{LossCause, TraceStats};
use crate::model::value::Value;

/// One thing that a tracer says. Text is as the traced programs gave it: a face that writes to a
/// terminal neutralises control characters.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// Everything is attached: so many attach points.
    Attached(u32),
    /// The trace is over, and the kernel goes on detaching so many attach points; nothing runs at them any more.
    Detaching(u32),
    /// A probe that the kernel would not take; the trace goes on without it.
    Unattached(&'a Unattached),
    /// `printf` and its kin.
    Printf {
        /// Index of the action.
        action: u32,
        /// Its format.
        format: &'a Format,
        /// What is printed.
        values: &'a [Value],
        /// Where it goes.
        sink: PrintfSink,
        /// The call in the script.
        span: Span,
        /// The calls of macros that it came by, innermost first.
        expanded: &'a [Span],
    },
    /// `print(value)`.
    Value {
        /// Index of the action.
        action: u32,
        /// The value.
        value: &'a Value,
    },
    /// `print(@map)`, or `print(@map[key])` with at most one row.
    Map {
        /// The map as read just now.
        snapshot: &'a MapSnapshot,
        /// How it is printed.
        options: MapOptions,
    },
    /// The trace has ended; the maps as they were then, in the script's order.
    End {
        /// All maps; none when the script does not want them printed.
        maps: &'a [MapSnapshot],
        /// How they are printed.
        options: MapOptions,
    },
    /// Finished text.
    Text {
        /// What made it.
        kind: TextKind,
        /// The text, with the line breaks that it has; `join` has none at its end.
        text: &'a [u8],
    },
    /// A fault that the script is told of (a failed `assert`, a division by zero).
    RuntimeError {
        /// Plain words.
        message: &'a str,
        /// Where in the script.
        span: Span,
        /// The calls of macros that it came by, innermost first.
        expanded: &'a [Span],
    },
    /// From here on results are partial: a probe was turned off.
    Partial(&'a Diagnostic),
    /// Something that the script asked for could not be done: a file of `cat` that can't be read.
    Failed {
        /// Plain words.
        message: &'a str,
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
    /// All maps of the trace, read together while it runs.
    Maps(&'a Arc<[MapSnapshot]>),
    /// Counters of the trace.
    Stats(&'a Arc<TraceStats>),
    /// A finished entry: a measurement of a CPU, a latency taken apart.
    Finding(&'a Finding),
    /// Reports or values were lost since the last time this was said.
    Lost {
        /// Why.
        cause: LossCause,
        /// How many more.
        count: u64,
        /// Which probe or map, as the script names it.
        site: &'a Arc<str>,
        /// Where in the script.
        span: Span,
    },
}

/// What made a finished text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// `time()`.
    Time,
    /// `join()`.
    Join,
    /// `cat()`.
    Cat,
    /// `system()`.
    System,
    /// A record of a D program.
    Record,
    /// A fault of a D program, for standard error.
    Fault,
}

/// Whoever shows reports.
pub trait Face {
    /// The reports that follow come of a firing: of this action (an index; `u32::MAX` for none), at this time (ns of
    /// `CLOCK_MONOTONIC`), on this CPU. Without a CPU they come of no firing.
    fn comes_from(&mut self, _action: u32, _at_ns: u64, _cpu: Option<u16>) {}

    /// The reports that follow come of no firing: they are of this moment.
    fn comes_from_here(&mut self) {
        self.comes_from(u32::MAX, monotonic_ns(), None);
    }

    /// Takes one report.
    fn report(&mut self, report: &Report<'_>) -> io::Result<()>;

    /// Everything that is there was reported: nothing may stay in a buffer.
    fn flush(&mut self) -> io::Result<()>;
}
