//! What a session tells its face.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lang::diagnostic::Diagnostic;
use crate::store::{Chunk, TraceInfo};

pub use crate::tracer::TraceId;
pub use crate::tracer::script::compilation::CompileFigures;

/// A script that a face has open. It has one running trace at most: the newest that could be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ScriptId(pub u32);

/// Number of a text that is only checked; the answer carries it.
pub type Revision = u64;

/// One message from the session to a face, over a bounded channel. One thread sends them all.
///
/// A submitted trace is told of as `Compiled`, then `Failed`, or `Trace` and `Attached` (nothing more when it has
/// errors), then its entries, and after `Attached` at last `Ended`, exactly once. No entry of a trace comes after its end. A text that
/// a newer one of the same script overtakes before it was compiled is not told of.
#[derive(Clone, Debug)]
pub enum Update {
    /// A text was checked: all diagnostics. Nothing else has changed.
    Checked {
        /// Of which script.
        script: ScriptId,
        /// Which text.
        revision: Revision,
        /// Everything there is to say about it.
        diagnostics: Vec<Diagnostic>,
    },
    /// The script of a trace was compiled (or not): all diagnostics, and figures when it succeeded.
    Compiled {
        /// Which trace.
        trace: TraceId,
        /// Everything there is to say about it.
        diagnostics: Vec<Diagnostic>,
        /// Figures; absent when there were errors.
        figures: Option<CompileFigures>,
    },
    /// The trace runs; its script's trace before it ends now.
    Attached {
        /// Which trace.
        trace: TraceId,
        /// How many attach points.
        probes: u32,
        /// From the order to the last attach, ns.
        elapsed_ns: u64,
    },
    /// The trace does not run: its script's last good trace goes on.
    Failed {
        /// Which trace.
        trace: TraceId,
        /// Plain words, with the script's place where the verifier named one.
        diagnostic: Diagnostic,
        /// The verifier's raw log; empty when there is none.
        raw_log: Arc<str>,
    },
    /// What a trace is, before its first entry: once it is attached.
    Trace(Arc<TraceInfo>),
    /// New entries, of all traces: at most 30 times a second, and whenever a chunk is full.
    Append(Arc<Chunk>),
    /// The trace has ended.
    Ended {
        /// Which trace.
        trace: TraceId,
        /// How.
        ending: Ending,
    },
    /// What the command of a trace (`-c`) has written, or how it has ended.
    Command {
        /// Which trace.
        trace: TraceId,
        /// What.
        told: CommandTold,
    },
    /// Something to tell the user that belongs to no place in the script.
    Notice {
        /// Of which trace; [`TraceId::SESSION`] for none.
        trace: TraceId,
        /// Plain words.
        text: String,
    },
}

/// What is told of a command that runs with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandTold {
    /// Lines, without their line breaks, as it wrote them: faces neutralise control characters.
    Lines(Vec<CommandLine>),
    /// It has ended, in plain words: `exit code 0`, `ended by signal 15`.
    Ended(String),
}

/// A line that a command wrote, at most [`MOST_OF_LINE`] bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// To its standard error.
    pub is_error: bool,
    /// The text.
    pub text: String,
}

/// Bytes of a command's line that are kept; what is longer is broken there.
pub const MOST_OF_LINE: usize = 4096;

/// How a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// In order, by `exit()`, its command's end or `stop`: with the code of `exit(code)`, 0 otherwise.
    Done(i32),
    /// A newer trace of its script runs.
    Replaced,
}
