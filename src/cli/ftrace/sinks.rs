//! Where events go: lines on standard output, and a recording.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Form;
use crate::cli::{CliError, World};
use crate::engine::monotonic_ns;
use crate::output::ftrace::{self, Style};
use crate::stdio::{self, Stream};
use crate::store::file::{Recorder, RecordingInfo};
use crate::store::{ChunkBuilder, Entry, Lifecycle, Payload, TraceId, TraceInfo};
use crate::tracer::Finding;
use crate::tracer::ftrace::{FtraceError, Keeper, Told};

/// Lines are written in pieces of about this size while there is more to come.
const PIECE: usize = 64 << 10;
/// How often what came slowly is recorded.
const TELL: Duration = Duration::from_secs(1);

/// Why a sink takes nothing more.
#[derive(Debug)]
pub enum SinkError {
    /// Writing lines failed.
    Write(io::Error),
    /// The kernel's rings can't be read.
    Ftrace(FtraceError),
}

impl From<FtraceError> for SinkError {
    fn from(error: FtraceError) -> Self {
        Self::Ftrace(error)
    }
}

impl From<SinkError> for CliError {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::Write(source) => Self::stdout(source),
            SinkError::Ftrace(error) => error.into(),
        }
    }
}

/// Lines.
pub struct Lines {
    form: Form,
    style: Style,
    buffer: Vec<u8>,
    output: Stream,
}

impl Lines {
    /// On standard output.
    pub fn new(form: Form, world: &World) -> Self {
        let colour = world.stdout_is_terminal && world.variable("NO_COLOR").is_none_or(str::is_empty);
        Self { form, style: Style { colour }, buffer: Vec::with_capacity(2 * PIECE), output: stdio::out().styled() }
    }

    fn take(&mut self, told: &Told<'_>) -> io::Result<()> {
        match (told, self.form) {
            (Told::Event(event), Form::Text) => ftrace::event(event, self.style, &mut self.buffer),
            (Told::Event(event), Form::Json) => ftrace::event_json(event, &mut self.buffer),
            (Told::Lost(loss), Form::Text) => ftrace::lost(loss, self.style, &mut self.buffer),
            (Told::Lost(loss), Form::Json) => ftrace::lost_json(loss, &mut self.buffer),
        }
        if self.buffer.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        self.output.flush()
    }
}

/// A file that entries are recorded to.
pub struct Recording {
    path: PathBuf,
    recorder: Recorder,
    builder: ChunkBuilder,
    passed_on: Instant,
}

impl Recording {
    /// Makes the file.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn new(path: &Path, info: TraceInfo) -> Result<Self, CliError> {
        let info = Arc::new(TraceInfo { id: TraceId(1), ..info });
        let about = RecordingInfo::beginning_with(&info);
        let recorder = Recorder::create(path, &about, vec![Arc::clone(&info)], Vec::new())
            .map_err(|error| CliError::Refused(error.to_string()))?;
        let mut builder = ChunkBuilder::new();
        builder.declare(&info);
        let mut recording = Self { path: path.to_owned(), recorder, builder, passed_on: Instant::now() };
        let attached = Payload::Lifecycle(Lifecycle::Attached { probes: info.probes.len() as u32, elapsed_ns: 0 });
        recording.push(Finding { at_ns: info.began_ns, cpu: None, payload: attached });
        Ok(recording)
    }

    /// Takes an entry.
    pub fn push(&mut self, finding: Finding) {
        let Finding { at_ns, cpu, payload } = finding;
        self.builder.push(&Entry { trace: TraceId(1), at_ns, cpu, payload });
        if self.builder.is_full() {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        self.passed_on = Instant::now();
        if let Some(chunk) = self.builder.finish() {
            self.recorder.append_waiting(chunk);
        }
    }

    /// Passes on what came, once a second; tells whether that was now.
    pub fn flush(&mut self) -> bool {
        let due = self.passed_on.elapsed() >= TELL;
        if due {
            self.pass_on();
        }
        due
    }

    /// Writes the rest and the index, and says so.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self, code: i32) -> Result<(), CliError> {
        let ended = Payload::Lifecycle(Lifecycle::Ended { code, prints_maps: false });
        self.push(Finding { at_ns: monotonic_ns(), cpu: None, payload: ended });
        self.pass_on();
        let written = self.recorder.finish().map_err(|error| CliError::Refused(error.to_string()))?;
        let unwritten =
            if written.unwritten > 0 { format!(", {} could not be written", written.unwritten) } else { String::new() };
        stdio::say(format_args!(
            "probescope: {} entries in {} ({} bytes{unwritten})",
            written.entries,
            self.path.display(),
            written.bytes
        ));
        Ok(())
    }
}

/// A recording of events.
pub struct EventFile {
    recording: Recording,
    keeper: Keeper,
}

impl EventFile {
    /// Makes the file.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn new(path: &Path, (keeper, info): (Keeper, TraceInfo)) -> Result<Self, CliError> {
        Ok(Self { recording: Recording::new(path, info)?, keeper })
    }

    fn take(&mut self, told: &Told<'_>) {
        let finding = match told {
            Told::Event(event) => self.keeper.event(event),
            Told::Lost(loss) => Some(Keeper::loss(loss)),
        };
        if let Some(finding) = finding {
            self.recording.push(finding);
        }
    }

    fn flush(&mut self) {
        if self.recording.flush()
            && let Some(maps) = self.keeper.maps(monotonic_ns())
        {
            self.recording.push(maps);
        }
    }

    fn finish(mut self, code: i32) -> Result<(), CliError> {
        if let Some(maps) = self.keeper.maps(monotonic_ns()) {
            self.recording.push(maps);
        }
        if self.keeper.stacks_left_out() > 0 {
            stdio::say(format_args!(
                "probescope: {} stacks are in no flame graph of the recording: it keeps 100,000 different ones",
                self.keeper.stacks_left_out()
            ));
        }
        self.recording.finish(code)
    }
}

/// All of them.
pub struct Sinks {
    /// Lines, where they are wanted.
    pub lines: Option<Lines>,
    /// A recording, where one is wanted.
    pub recording: Option<EventFile>,
}

impl Sinks {
    /// Takes what is told.
    ///
    /// # Errors
    /// When lines can't be written.
    pub fn take(&mut self, told: Told<'_>) -> Result<(), SinkError> {
        if let Some(recording) = &mut self.recording {
            recording.take(&told);
        }
        match &mut self.lines {
            Some(lines) => lines.take(&told).map_err(SinkError::Write),
            None => Ok(()),
        }
    }

    /// Everything that came was taken.
    ///
    /// # Errors
    /// When lines can't be written.
    pub fn flush(&mut self) -> Result<(), SinkError> {
        if let Some(recording) = &mut self.recording {
            recording.flush();
        }
        match &mut self.lines {
            Some(lines) => lines.flush().map_err(SinkError::Write),
            None => Ok(()),
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self, code: i32) -> Result<(), CliError> {
        self.flush()?;
        self.recording.take().map_or(Ok(()), |recording| recording.finish(code))
    }
}
