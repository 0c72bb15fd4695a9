//! What a session tells its face.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lang::diagnostic::Diagnostic;
use crate::model::event::Chunk;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;

/// Number of a submitted script text; answers carry the number they answer.
pub type Generation = u64;

/// One message from the session to a face, over a bounded channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Update {
    /// The script was compiled (or not): all diagnostics, and figures when it succeeded.
    Compiled {
        /// Which text.
        generation: Generation,
        /// Everything there is to say about it.
        diagnostics: Vec<Diagnostic>,
        /// Figures; absent when there were errors.
        figures: Option<CompileFigures>,
    },
    /// The script now runs; the trace before it is being detached in the background.
    Attached {
        /// Which text.
        generation: Generation,
        /// How many attach points.
        probes: u32,
        /// From the save to the last attach, ns.
        elapsed_ns: u64,
    },
    /// The script compiled but does not run: the last good trace goes on.
    Failed {
        /// Which text.
        generation: Generation,
        /// Plain words, with the script's place where the verifier named one.
        diagnostic: Diagnostic,
        /// The verifier's raw log; empty when there is none.
        raw_log: Arc<str>,
    },
    /// New lines of output.
    Lines(Arc<Chunk>),
    /// All maps, read together.
    Maps(Arc<[MapSnapshot]>),
    /// Counters.
    Stats(Arc<TraceStats>),
    /// The trace ended (by `exit()`, its command's end or `stop`), with the script's exit code.
    Ended {
        /// Which text.
        generation: Generation,
        /// From `exit(code)`; 0 otherwise.
        code: i32,
    },
    /// Something to tell the user that belongs to no place in the script.
    Notice(String),
}

/// Figures of one compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompileFigures {
    /// Parse, check and code generation together, ns.
    pub compile_ns: u64,
    /// BPF instructions of all programs.
    pub instructions: u32,
    /// Programs.
    pub programs: u32,
    /// Maps.
    pub maps: u32,
}
