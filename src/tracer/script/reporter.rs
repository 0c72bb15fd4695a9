//! Records of the ring buffer to reports: the script's asynchronous actions happen here.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::losses::Cuts;
use super::records::{Context, Records};
use crate::engine::decode::{Decoder, Failure, Header};
use crate::engine::drain::Batch;
use crate::engine::names::time;
use crate::engine::{EngineError, Trace, boot_ns, monotonic_ns};
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, MapId, Probe, Program, size_align};
use crate::model::format::Format;
use crate::model::render::{self, MapOptions};
use crate::model::snapshot::{MapRow, MapSnapshot};
use crate::model::target::Target;
use crate::model::value::Value;
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report, TextKind};

/// How many records after the one that prints a map are looked at for one that clears it: what other CPUs report
/// in between.
const RECORDS_AHEAD: usize = 256;
/// Maps are still printed for so long after the end was wanted.
const LATE: Duration = Duration::from_millis(200);

/// Turns one trace's records into reports.
#[derive(Debug)]
pub struct Reporter {
    decoder: Decoder,
    program: Arc<Program>,
    values: Vec<Value>,
    exit: Option<i32>,
    stopping: Arc<AtomicBool>,
    /// Commands that were not run, and where the last of them stands.
    left_out: Option<(u64, Span)>,
    /// Since when the end is wanted.
    stopping_since: Option<Instant>,
    /// Prints of maps that came too late, and where the last of them stands.
    not_printed: Option<(u64, Span)>,
    /// Maps that were cleared when they were printed, before the record that says so.
    taken: Vec<MapId>,
    /// What the keys of printed maps have lost.
    cuts: Cuts,
    /// Of a D program.
    records: Records,
}

impl Reporter {
    /// For one trace.
    #[must_use]
    pub fn new(decoder: Decoder) -> Self {
        let program = Arc::clone(decoder.program());
        Self {
            decoder,
            program,
            values: Vec::new(),
            cuts: Cuts::default(),
            exit: None,
            stopping: Arc::default(),
            left_out: None,
            stopping_since: None,
            not_printed: None,
            taken: Vec::new(),
            records: Records::default(),
        }
    }

    /// Once this is set, commands of `system()` that still wait are left out, but for those of end probes: each is
    /// a process of its own, and thousands may wait.
    #[must_use]
    pub fn stopped_by(mut self, stopping: Arc<AtomicBool>) -> Self {
        self.stopping = stopping;
        self
    }

    /// The code of `exit(code)`, once the script called it.
    #[must_use]
    pub const fn exit_code(&self) -> Option<i32> {
        self.exit
    }

    /// Handles every record of a batch in order.
    pub fn batch(&mut self, batch: &Batch, trace: &Trace, face: &mut dyn Face) -> Result<(), TracerError> {
        // Times are written as the wall clock shows them when they are read.
        self.decoder.names().follow_clock();
        let mut records = batch.records();
        while let Some(record) = records.next() {
            let Some(header) = self.decoder.header(record) else {
                failure(record, trace, face)?;
                continue;
            };
            face.comes_from(header.action, header.at_ns, Some(header.cpu));
            self.record(header, record, &records, trace, face)?;
        }
        Ok(())
    }

    /// Handles a record; `next` are those behind it.
    fn record<'r>(
        &mut self,
        header: Header,
        record: &[u8],
        next: &(impl Iterator<Item = &'r [u8]> + Clone),
        trace: &Trace,
        face: &mut dyn Face,
    ) -> Result<(), TracerError> {
        let program = Arc::clone(&self.program);
        let action = &program.actions[header.action as usize];
        match &action.kind {
            ActionKind::Printf { format, sink } => {
                self.decode(header, record, trace);
                let (action, span) = (header.action, action.span);
                let (values, expanded) = (&self.values[..], &program.actions[action as usize].expanded[..]);
                let report = Report::Printf { action, format, values, sink: *sink, span, expanded };
                face.report(&report)?;
            }
            ActionKind::PrintValue => {
                self.decode(header, record, trace);
                let value = self.values.first().unwrap_or(&Value::None);
                face.report(&Report::Value { action: header.action, value })?;
            }
            ActionKind::PrintMap { .. } | ActionKind::PrintMapEntry { .. } if self.is_late(action.span) => {}
            ActionKind::PrintMap { map, top, div } => {
                let snapshot = self.snapshot(*map, next.clone(), trace)?;
                let options = self.options(*top, *div);
                self.print_map(*map, snapshot, options, trace, face)?;
            }
            ActionKind::PrintMapEntry { map } => {
                let offset = self.decoder.offsets(header.action).next().unwrap_or(record.len());
                let key = record.get(offset..).unwrap_or(&[]);
                let snapshot = trace.read_entry(*map, key, &mut self.decoder)?;
                let options = self.options(0, 0);
                self.cuts.look(&snapshot, &self.program);
                face.report(&Report::Map { snapshot: &snapshot, options })?;
            }
            ActionKind::Clear(map) => self.clear(*map, trace)?,
            ActionKind::Zero(map) => trace.zero_map(*map)?,
            ActionKind::Exit => {
                self.decode(header, record, trace);
                let code = self.values.first().and_then(Value::as_number).unwrap_or(0);
                // The first one counts; one in an end probe is called after it, and on purpose.
                if self.exit.is_none() || self.is_of_an_end_probe(action.span) {
                    self.exit = Some(code as i32);
                }
            }
            ActionKind::RuntimeError(message) => {
                let expanded = &action.expanded[..];
                face.report(&Report::RuntimeError { message, span: action.span, expanded })?;
            }
            ActionKind::Record(of_clause) => {
                self.decode(header, record, trace);
                let mut context = Context { program: &program, trace, decoder: &mut self.decoder };
                self.records.record(of_clause, header, &self.values, &mut context, face)?;
            }
            ActionKind::Fault { clause, lines } => {
                self.decode(header, record, trace);
                self.records.fault((*clause, lines), header, &self.values, &program, face)?;
            }
            kind => {
                self.decode(header, record, trace);
                self.text(kind, header.at_ns, action.span, face)?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, header: Header, record: &[u8], trace: &Trace) {
        let mut values = std::mem::take(&mut self.values);
        self.decoder.values(header, record, trace, &mut values);
        self.values = values;
    }

    /// Actions that end in a text.
    fn text(&mut self, kind: &ActionKind, at_ns: u64, span: Span, face: &mut dyn Face) -> io::Result<()> {
        let (kind, text) = match kind {
            ActionKind::Time(format) => {
                let clocks = self.decoder.names().clocks();
                let asleep_ns = boot_ns().saturating_sub(monotonic_ns());
                let wall = clocks.wall(at_ns.saturating_add(asleep_ns), 0);
                (TextKind::Time, time::format(format, wall).into_bytes())
            }
            ActionKind::Join(separator) => {
                let cut = self.program.config.str_trunc_trailer.as_bytes();
                (TextKind::Join, join(self.values.first(), separator, cut))
            }
            ActionKind::Cat(format) => match self.cat(format) {
                Ok(text) => (TextKind::Cat, text),
                Err(message) => return face.report(&Report::Failed { message: &message, span }),
            },
            ActionKind::System(_) if self.leaves_out(span) => return Ok(()),
            ActionKind::System(format) => match system(&self.formatted(format)) {
                Ok(text) => (TextKind::System, text),
                Err(message) => return face.report(&Report::Failed { message: &message, span }),
            },
            _ => return Ok(()),
        };
        face.report(&Report::Text { kind, text: &text })
    }

    /// The probe whose text a place is in.
    fn probe_at(&self, span: Span) -> Option<&Probe> {
        let inside = |outer: Span| outer.start <= span.start && span.end <= outer.end;
        self.program.probes.iter().find(|probe| inside(probe.span))
    }

    fn is_of_an_end_probe(&self, span: Span) -> bool {
        self.probe_at(span).is_some_and(|probe| probe.targets.contains(&Target::End))
    }

    /// Whether a map would be printed too late; it is counted then. Each print shows the map as it is now: thousands that still
    /// wait would all show its end.
    fn is_late(&mut self, span: Span) -> bool {
        if !self.stopping.load(Ordering::Relaxed) {
            return false;
        }
        let since = *self.stopping_since.get_or_insert_with(Instant::now);
        let late = since.elapsed() > LATE && !self.is_of_an_end_probe(span);
        if late {
            self.not_printed = Some((self.not_printed.map_or(1, |(count, _)| count + 1), span));
        }
        late
    }

    /// Whether a command comes too late to be run; it is counted then.
    fn leaves_out(&mut self, span: Span) -> bool {
        if !self.stopping.load(Ordering::Relaxed) {
            return false;
        }
        let ends = |probe: &Probe| probe.targets.contains(&Target::End);
        let left_out = match self.probe_at(span) {
            Some(probe) => !ends(probe),
            // Of a macro or a function: of an end probe only where there is one.
            None => !self.program.probes.iter().any(ends),
        };
        if left_out {
            self.left_out = Some((self.left_out.map_or(1, |(count, _)| count + 1), span));
        }
        left_out
    }

    fn formatted(&self, format: &Format) -> String {
        let mut text = String::new();
        render::printf(format, &self.values, &mut text);
        text
    }

    /// A file's text, or why it can't be read.
    fn cat(&self, format: &Format) -> Result<Vec<u8>, String> {
        let path = self.formatted(format);
        let mut bytes = Vec::new();
        let most = u64::from(self.program.config.max_cat_bytes);
        match std::fs::File::open(&path).and_then(|f| f.take(most).read_to_end(&mut bytes)) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(format!("failed to open file '{path}' ({})", words(&error))),
        }
    }

    /// Reads a map for printing. A script that clears the map next wants each number in one of its prints: nothing may
    /// be counted between the two and be lost.
    fn snapshot<'r>(
        &mut self,
        map: MapId,
        next: impl Iterator<Item = &'r [u8]>,
        trace: &Trace,
    ) -> Result<MapSnapshot, TracerError> {
        if !self.is_cleared_by(map, next) {
            return Ok(trace.read_map(map, &mut self.decoder)?);
        }
        let snapshot = trace.take_map(map, &mut self.decoder)?;
        self.taken.push(map);
        Ok(snapshot)
    }

    /// Whether the next of these records that concerns a map clears it.
    fn is_cleared_by<'r>(&self, map: MapId, records: impl Iterator<Item = &'r [u8]>) -> bool {
        let actions = records.take(RECORDS_AHEAD).filter_map(|r| self.decoder.header(r)).map(|h| h.action);
        let mut kinds = actions.map(|action| &self.program.actions[action as usize].kind);
        let next = kinds.find(|kind| match kind {
            ActionKind::PrintMap { map: of, .. }
            | ActionKind::PrintMapEntry { map: of }
            | ActionKind::Clear(of)
            | ActionKind::Zero(of) => *of == map,
            kind => matches!(kind, ActionKind::Exit),
        });
        matches!(next, Some(ActionKind::Clear(_)))
    }

    /// Clears a map unless that was done when it was printed.
    fn clear(&mut self, map: MapId, trace: &Trace) -> Result<(), EngineError> {
        match self.taken.iter().position(|taken| *taken == map) {
            Some(at) => self.taken.swap_remove(at),
            None => return trace.clear_map(map),
        };
        Ok(())
    }

    /// Reports a map.
    fn print_map(
        &mut self,
        map: MapId,
        mut snapshot: MapSnapshot,
        options: MapOptions,
        trace: &Trace,
        face: &mut dyn Face,
    ) -> Result<(), TracerError> {
        if snapshot.rows.is_empty() && !snapshot.keyed {
            // A single value that was never set, or was cleared, is zero.
            let program = Arc::clone(&self.program);
            let ty = &program.maps[map.0 as usize].value;
            let zeros = vec![0; size_align(ty, &program.structs).0 as usize];
            let value = self.decoder.value(ty, &zeros, trace);
            if value != Value::None {
                snapshot.rows.push(MapRow { key: Vec::new(), value });
            }
        }
        self.cuts.look(&snapshot, &self.program);
        face.report(&Report::Map { snapshot: &snapshot, options })?;
        Ok(())
    }

    /// Reports the trace's end; with all maps where that is asked for, unless the script wants none.
    pub fn end(&mut self, trace: &Trace, maps: bool, face: &mut dyn Face) -> Result<(), TracerError> {
        face.comes_from_here();
        if let Some((count, span)) = self.left_out.take() {
            let commands = if count == 1 { "1 command" } else { &format!("{count} commands") };
            let message = format!("{commands} of system() not run: still waiting when the trace was ended");
            face.report(&Report::Failed { message: &message, span })?;
        }
        if let Some((count, span)) = self.not_printed.take() {
            let prints = if count == 1 { "1 print" } else { &format!("{count} prints") };
            let message = format!("{prints} of maps left out: still waiting when the trace was ended");
            face.report(&Report::Failed { message: &message, span })?;
        }
        if self.program.style.records {
            let program = Arc::clone(&self.program);
            let mut context = Context { program: &program, trace, decoder: &mut self.decoder };
            return self.records.end(&mut context, face);
        }
        let wanted = maps && self.program.config.print_maps_on_exit;
        let maps = if wanted { trace.read_maps(&mut self.decoder)? } else { Vec::new() };
        let options = self.options(0, 0);
        maps.iter().for_each(|map| self.cuts.look(map, &self.program));
        face.report(&Report::End { maps: &maps, options })?;
        Ok(())
    }

    fn options(&mut self, top: u64, div: u64) -> MapOptions {
        MapOptions { top, div, clock: self.decoder.names().clocks().chart() }
    }

    /// What the keys of printed maps have lost.
    #[must_use]
    pub const fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// The decoder, for reading maps.
    pub fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }
}

/// Reports a record that tells of a failure; any other is none of this program's.
fn failure(record: &[u8], trace: &Trace, face: &mut dyn Face) -> io::Result<()> {
    let Some(Failure { site, helper, code, at_ns, cpu }) = Failure::read(record) else { return Ok(()) };
    face.comes_from(u32::MAX, at_ns, Some(cpu));
    match trace.artifact().sites.get(site as usize) {
        Some(site) => face.report(&Report::Failure { cause: site.cause, helper, code, span: site.span }),
        None => Ok(()),
    }
}

/// The strings of a buffer, joined.
/// Bytes that `join` takes of a string, at most.
const LONGEST_JOINED: usize = 1023;

fn join(value: Option<&Value>, separator: &str, cut: &[u8]) -> Vec<u8> {
    let Some(Value::Bytes(bytes)) = value else { return Vec::new() };
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let marked = |text: &[u8]| [text, if text.len() < LONGEST_JOINED { &[] } else { cut }].concat();
    bytes.split(|b| *b == 0).map(marked).collect::<Vec<_>>().join(separator.as_bytes())
}

/// The system's words for an error, without its number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Runs a shell command that the script asked for and gives all that it printed, or how it failed:
/// then its output is part of the message, not of the script's.
fn system(command: &str) -> Result<Vec<u8>, String> {
    let (status, output) =
        shell(OsStr::new(command)).map_err(|error| format!("cannot run /bin/sh: {}", words(&error)))?;
    if status.success() {
        return Ok(output);
    }
    let mut message = match status.code() {
        Some(code) => format!("command exited with code {code} (Invalid argument)"),
        None => "child process did not exit normally (Invalid argument)".to_owned(),
    };
    let said = String::from_utf8_lossy(&output);
    if !said.trim_end().is_empty() {
        message.push('\n');
        message.push_str(said.trim_end());
    }
    Err(message)
}

/// Runs a shell command; its output and its errors come in the order in which they were written.
pub(super) fn shell(command: &OsStr) -> io::Result<(ExitStatus, Vec<u8>)> {
    let (mut read, write) = io::pipe()?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
    let mut child = shell.spawn()?;
    // It holds the writing end, which would keep the reading one open.
    drop(shell);
    let mut output = Vec::new();
    read.read_to_end(&mut output)?;
    Ok((child.wait()?, output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_strings() {
        assert_eq!(join(Some(&Value::Bytes(b"ls\0-l\0".as_slice().into())), " ", b".."), b"ls -l");
        assert_eq!(join(Some(&Value::Bytes(b"one".as_slice().into())), ",", b".."), b"one");
        assert_eq!(join(None, " ", b".."), b"");
        let [most, more] = [LONGEST_JOINED - 1, LONGEST_JOINED].map(|n| vec![b'x'; n]);
        let joined = |text: &[u8]| join(Some(&Value::Bytes(text.into())), " ", b"..").len();
        assert_eq!([joined(&most), joined(&more)], [LONGEST_JOINED - 1, LONGEST_JOINED + 2]);
    }
}
