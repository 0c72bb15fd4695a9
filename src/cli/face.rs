//! The face of a headless run: script output to a file or standard output, the rest to standard error.

mod losses;

use std::io::{self, Write};
use std::sync::Arc;

use super::excerpt;
use crate::kernel::target::Sent;
use crate::lang::codes::run::THROTTLED;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::PrintfSink;
use crate::model::latency::Totals;
use crate::model::render;
use crate::model::task::TaskReport;
use crate::model::words;
use crate::output::latency::{report, tables};
use crate::output::stamp::Stamp;
use crate::output::{OutputFormat, Printer, json, task};
use crate::stdio;
use crate::store::Payload;
use crate::tracer::Finding;
use crate::tracer::report::{Face, Report, TextKind};

/// Output is written in pieces of about this size while there is more to come.
const PIECE: usize = 128 << 10;

/// Long waits of watched threads that are printed.
const MOST_WAITS: usize = 20;

/// When output leaves the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Buffering {
    /// Whenever nothing more is waiting to be printed, and at every full buffer.
    #[default]
    Line,
    /// Only when the buffer is full.
    Full,
    /// After every report.
    None,
}

/// What the face is told.
#[derive(Debug)]
pub struct Settings {
    /// Text or JSON.
    pub format: OutputFormat,
    /// Output is a terminal: control characters are written out.
    pub terminal: bool,
    /// When output leaves the buffer.
    pub buffering: Buffering,
    /// Nothing but the script's own output.
    pub quiet: bool,
    /// Say when each event happened, and on which CPU.
    pub times: bool,
    /// Also say which values could not be read.
    pub keen: bool,
    /// Say on standard output when everything is attached (bpftrace's test harness asks for it).
    pub announce: bool,
    /// Print warnings.
    pub warnings: bool,
    /// Word messages as bpftrace does.
    pub like_bpftrace: bool,
    /// Failures that come in their place among the reports: their counts say nothing new.
    pub sent: Sent,
}

impl Settings {
    /// Output as it comes, a line at a time, with warnings and without what `run` adds on request.
    #[must_use]
    pub const fn plain(format: OutputFormat, terminal: bool, quiet: bool) -> Self {
        Self {
            format,
            terminal,
            buffering: Buffering::Line,
            quiet,
            times: false,
            keen: false,
            announce: false,
            warnings: true,
            like_bpftrace: false,
            sent: Sent::Nothing,
        }
    }
}

/// The face.
pub struct StreamFace {
    settings: Settings,
    source: SourceText,
    printer: Printer,
    /// What adds times.
    stamp: Option<Stamp>,
    buffer: Vec<u8>,
    output: Box<dyn Write + Send>,
    told: losses::Told,
    account: losses::Account,
    /// Reports that were lost, all in all.
    events_lost: u64,
    /// What a latency meter has measured.
    measured: Option<Box<Totals>>,
    /// What was told last of watched threads.
    watched: Option<Arc<TaskReport>>,
}

impl std::fmt::Debug for StreamFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamFace").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl StreamFace {
    /// A face that writes to `output`.
    #[must_use]
    pub fn new(settings: Settings, source: SourceText, output: Box<dyn Write + Send>) -> Self {
        let printer = Printer::new(settings.format, settings.terminal);
        let stamp = settings.times.then(|| Stamp::new(settings.format));
        let buffer = Vec::with_capacity(2 * PIECE);
        let told = losses::Told::default();
        let account = losses::Account::default();
        Self {
            settings,
            source,
            printer,
            stamp,
            buffer,
            output,
            told,
            account,
            events_lost: 0,
            measured: None,
            watched: None,
        }
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        self.output.flush()
    }

    /// Adds the time to what was written since the buffer had this length, where that is wanted.
    fn add_times(&mut self, before: usize) {
        let Some(stamp) = &mut self.stamp else { return };
        // A report that was told on standard error may have emptied the buffer.
        let written = self.buffer.split_off(before.min(self.buffer.len()));
        stamp.put(&written, &mut self.buffer);
    }

    /// A measurement: in JSON as it is; in text episodes as rtla reports them, and all samples as a table at the end.
    fn found(&mut self, finding: &Finding) {
        match (&finding.payload, self.json()) {
            (Payload::CpuSample(sample), false) => self.measured.get_or_insert_default().add(sample),
            (Payload::CpuSample(sample), true) => json::record("cpu_sample", sample, &mut self.buffer),
            (Payload::Task(task), true) => json::record("task", task, &mut self.buffer),
            // The last one has all of it.
            (Payload::Task(task), false) => self.watched = Some(Arc::clone(task)),
            (Payload::Episode(episode), true) => json::record("episode", episode, &mut self.buffer),
            (Payload::Episode(episode), false) => {
                self.printer.text("episode", report::report(episode).as_bytes(), &mut self.buffer);
            }
            _ => {}
        }
    }

    fn json(&self) -> bool {
        self.settings.format == OutputFormat::Json
    }

    fn place(&self, span: Span) -> (u32, u32) {
        let at = self.source.position(span.start);
        (at.line, at.column)
    }

    fn place_text(&self, span: Span) -> String {
        excerpt::place(&self.source, span)
    }

    /// A message about a place in the script, on standard error; in JSON among the output.
    fn message(&mut self, kind: &'static str, word: &str, text: &[u8], span: Span) {
        if word == "WARNING" && !self.settings.warnings {
            return;
        }
        if self.json() {
            let (line, column) = self.place(span);
            json::message(kind, text, json_place(&self.source, line, column), &mut self.buffer);
            return;
        }
        let text = render::neutralise_bytes(text);
        stdio::say(format_args!("{}: {word}: {}", self.place_text(span), text.trim_end_matches('\n')));
    }

    /// The calls of macros that a message came by, each with its line.
    fn expansions(&self, word: &str, expanded: &[Span]) {
        if self.json() || (word == "WARNING" && !self.settings.warnings) {
            return;
        }
        for call in expanded {
            let _ = write!(
                stdio::err(),
                "{}: {word}: expanded from\n{}",
                self.place_text(*call),
                excerpt::marked(&self.source, *call)
            );
        }
    }

    /// An assertion as bpftrace tells it, whose `assert` is a macro of its library.
    fn failed_assertion(&mut self, message: &str, span: Span) {
        const PLACE: json::Place<'_> = json::Place { file: "stdlib/base.bt", line: 6, column: 5 };
        if self.json() {
            json::message("errorf", message.as_bytes(), PLACE, &mut self.buffer);
            return;
        }
        let text = render::neutralise_bytes(message.as_bytes());
        let (file, line, column) = (PLACE.file, PLACE.line, PLACE.column);
        stdio::say(format_args!("{file}:{line}:{column}-37: ERROR: {text}"));
        self.expansions("ERROR", &[span]);
    }

    /// Results are partial from here on: said among the output where that is JSON, and on standard error always.
    fn partial(&mut self, said: &Diagnostic) {
        if self.json() {
            let (line, column) = self.place(said.span);
            let kind = if said.code == THROTTLED { "sample" } else { "partial" };
            json::message(kind, said.message.as_bytes(), json_place(&self.source, line, column), &mut self.buffer);
        }
        let message = render::neutralise_bytes(said.message.as_bytes());
        stdio::say(format_args!("{}: WARNING: {message}", self.place_text(said.span)));
        if let Some(help) = &said.help {
            stdio::say(format_args!("HINT: {help}"));
        }
    }

    /// Something that the script asked for and that could not be done.
    fn failed(&mut self, message: &str, span: Span) {
        if self.settings.like_bpftrace {
            stdio::say(format_args!("ERROR: {message}"));
        } else {
            self.message("errorf", "ERROR", message.as_bytes(), span);
        }
    }

    /// Only people want to know.
    fn detaching(&self, points: u32) {
        if !self.settings.quiet {
            let points = words::grouped(points.into());
            stdio::say(format_args!("The kernel goes on detaching {points} probes; nothing runs at them any more."));
        }
    }

    fn attached(&mut self, probes: u32) -> io::Result<()> {
        if self.json() && !self.settings.quiet {
            json::attached(u64::from(probes), &mut self.buffer);
        } else if !self.settings.quiet {
            let plural = if probes == 1 { "" } else { "s" };
            stdio::say(format_args!("Attached {probes} probe{plural}"));
        }
        if self.settings.announce {
            self.write_out()?;
            let mut out = stdio::out();
            writeln!(out, "__BPFTRACE_NOTIFY_PROBES_ATTACHED")?;
            out.flush()?;
        }
        Ok(())
    }
}

/// Whether a report is a message, and no output.
fn is_told(report: &Report<'_>) -> bool {
    match report {
        Report::Printf { sink, .. } => *sink != PrintfSink::Out,
        Report::RuntimeError { .. } | Report::Failed { .. } | Report::Partial(_) => true,
        _ => false,
    }
}

fn json_place(source: &SourceText, line: u32, column: u32) -> json::Place<'_> {
    json::Place { file: &source.name, line, column }
}

impl Face for StreamFace {
    fn comes_from(&mut self, _action: u32, at_ns: u64, cpu: Option<u16>) {
        if let Some(stamp) = &mut self.stamp {
            stamp.set(at_ns, cpu);
        }
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        // What goes to standard error comes after what was printed before it, however much is held back.
        if is_told(report) {
            self.write_out()?;
        }
        let before = self.buffer.len();
        match *report {
            Report::Printf { format, values, sink: PrintfSink::Out, .. } => {
                self.printer.printf(format, values, &mut self.buffer);
            }
            Report::Printf { format, values, sink, span, expanded, .. } => {
                let mut text = Vec::new();
                render::printf_into(format, values, &mut text);
                let (kind, word) = if sink == PrintfSink::Warning { ("warnf", "WARNING") } else { ("errorf", "ERROR") };
                self.message(kind, word, &text, span);
                self.expansions(word, expanded);
            }
            Report::Value { value, .. } => self.printer.value(value, &mut self.buffer),
            Report::Map { snapshot, ref options } => self.printer.map(snapshot, options, &mut self.buffer),
            Report::End { maps, ref options } => match (self.measured.take(), self.watched.take()) {
                (None, None) => self.printer.end(maps, options, &mut self.buffer),
                (measured, watched) => {
                    let measured = measured.map(|measured| tables::of(&measured));
                    let watched = watched.map(|watched| task::report(&watched, MOST_WAITS));
                    for text in [measured, watched].into_iter().flatten() {
                        self.printer.text("table", text.as_bytes(), &mut self.buffer);
                    }
                }
            },
            Report::Finding(finding) => self.found(finding),
            Report::Text { kind, text } => {
                let kind = match kind {
                    TextKind::Time => "time",
                    TextKind::Join => "join",
                    TextKind::Cat => "cat",
                    TextKind::System => "syscall",
                    TextKind::Record => "record",
                    TextKind::Fault => {
                        self.write_out()?;
                        let _ = stdio::err().write_all(render::neutralise_bytes(text).as_bytes());
                        return Ok(());
                    }
                };
                self.printer.text(kind, text, &mut self.buffer);
            }
            Report::RuntimeError { message, span, expanded } => {
                if self.settings.like_bpftrace {
                    self.failed_assertion(message, span);
                } else {
                    self.message("errorf", "ERROR", message.as_bytes(), span);
                }
                self.expansions("ERROR", expanded);
            }
            Report::Unattached(probe) => {
                let text = format!("Unable to attach probe: {}. Skipping.", probe.probe);
                let _ =
                    writeln!(stdio::err(), "{}: WARNING: {text}\nHINT: {}", self.place_text(probe.span), probe.reason);
            }
            Report::Partial(said) => self.partial(said),
            Report::Failed { message, span } => self.failed(message, span),
            Report::Attached(probes) => self.attached(probes)?,
            Report::Detaching(points) => self.detaching(points),
            Report::Failure { cause, helper, code, span } => self.failure(cause, (helper, code), span)?,
            Report::Lost { cause, count, site, span } => self.lost(cause, count, site, span),
            Report::Stats(stats) => {
                self.printer.counted(stats);
                return Ok(());
            }
            // What is read while the trace runs is for views.
            Report::Maps(_) => return Ok(()),
        }
        self.add_times(before);
        if self.buffer.len() >= PIECE || self.settings.buffering == Buffering::None {
            self.write_out()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() || self.settings.buffering == Buffering::Full {
            return Ok(());
        }
        self.write_out()
    }
}

impl Drop for StreamFace {
    fn drop(&mut self) {
        self.account();
        let _ = self.write_out();
        self.tell_rest();
    }
}
