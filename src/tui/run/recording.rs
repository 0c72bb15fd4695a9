//! The recording of a workbench: begun with what is kept, fed with what comes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::session::update::Update;
use crate::store::Chunk;
use crate::store::file::{Recorder, RecordingError, RecordingInfo};
use crate::tui::data::effect::{Message, Recorded};

/// A recording that is being written.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    path: PathBuf,
}

fn told(on: bool, failed: bool, told: String) -> Message {
    Message::Recording { on, told, failed }
}

impl Recording {
    /// Begins one in this file, before anything is traced.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn to(path: PathBuf, info: &RecordingInfo) -> Result<Self, RecordingError> {
        let recorder = Recorder::create(&path, info, Vec::new(), Vec::new())?;
        Ok(Self { recorder, path })
    }

    /// Begins one in a new file of the current folder.
    pub fn start(recorded: Recorded) -> (Option<Self>, Message) {
        let Some(path) = free_path(&recorded.name) else {
            return (None, told(false, true, "There are too many recordings of this name here".to_owned()));
        };
        let info = recorded.traces.first().map(|trace| RecordingInfo::beginning_with(trace)).unwrap_or_default();
        match Recorder::create(&path, &info, recorded.traces, recorded.history) {
            Ok(recorder) => {
                let words = format!("Recording to {}: what was kept, and what comes", path.display());
                (Some(Self { recorder, path }), told(true, false, words))
            }
            Err(error) => (None, told(false, true, error.to_string())),
        }
    }

    /// Takes what the session told.
    pub fn take(&self, update: &Update) {
        match update {
            Update::Trace(info) => self.recorder.declare(Arc::clone(info)),
            Update::Append(chunk) => self.add(chunk),
            _ => {}
        }
    }

    /// Takes entries; never waits.
    pub fn add(&self, chunk: &Arc<Chunk>) {
        self.recorder.append(Arc::clone(chunk));
    }

    /// Whether it can no longer be written.
    pub fn has_failed(&self) -> bool {
        self.recorder.status().failure.is_some()
    }

    /// Completes it.
    pub fn finish(self) -> Message {
        let path = self.path.display().to_string();
        match self.recorder.finish() {
            Ok(written) if written.unwritten == 0 => {
                told(false, false, format!("Recorded {} entries to {path}, {} bytes", written.entries, written.bytes))
            }
            Ok(written) => {
                told(false, true, format!("{path}: {} entries came faster than they were written", written.unwritten))
            }
            Err(error) => told(false, true, format!("The recording has ended, tracing goes on: {error}")),
        }
    }
}

/// The first name of this kind that is free in the current folder.
fn free_path(name: &str) -> Option<PathBuf> {
    let named = |n: u32| PathBuf::from(format!("{name}-{n}.psrec"));
    (1..10_000).map(named).find(|path| !path.exists())
}
