//! The recording file: chunks as they are in memory, compressed, with an index at the end.
//!
//! A recording is read as if anybody had written it: lengths are checked before they are believed, and a file that was
//! cut off or damaged opens with what is whole. The format is described in `docs/recording-format.md`.

mod block;
mod cache;
mod recorder;
mod recording;
mod scan;
mod table;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::trace_info::TraceInfo;
pub use recorder::{Recorder, Status, Written};
pub use recording::{Damage, Recording};

/// What a file begins with.
pub const MAGIC: &[u8; 8] = b"\x89PSREC\r\n";
/// The version of the format; files of a later one are refused.
pub const VERSION: u16 = 1;

/// What a recording is of, said once at its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingInfo {
    /// The program that recorded, with its version.
    pub program: Arc<str>,
    /// Release of the kernel.
    pub kernel: Arc<str>,
    /// Name of the machine.
    pub host: Arc<str>,
    /// When the recording began, ns of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// UTC wall-clock time minus `CLOCK_MONOTONIC`, ns.
    pub wall_minus_monotonic_ns: i64,
    /// Local time minus UTC, seconds.
    pub utc_offset_s: i32,
}

impl RecordingInfo {
    /// Of a recording that this program begins with a trace.
    #[must_use]
    pub fn beginning_with(trace: &TraceInfo) -> Self {
        Self {
            program: concat!("probescope ", env!("CARGO_PKG_VERSION")).into(),
            kernel: Arc::clone(&trace.kernel),
            host: Arc::clone(&trace.host),
            began_ns: trace.began_ns,
            wall_minus_monotonic_ns: trace.wall_minus_monotonic_ns,
            utc_offset_s: trace.utc_offset_s,
        }
    }
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Another kind of file.
    #[error("{path} is no recording: it does not begin as one")]
    NoRecording {
        /// The file.
        path: String,
    },
    /// Written by a later version.
    #[error("{path} has version {found} of the recording format; this program reads up to version {VERSION}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: u16,
    },
    /// Nothing whole is in it.
    #[error("{path} holds no whole entry: {reason}")]
    Empty {
        /// The file.
        path: String,
        /// What was found in place of it.
        reason: &'static str,
    },
    /// The thread that writes could not be started, or is gone.
    #[error("cannot record to {path}: {reason}")]
    Thread {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}
