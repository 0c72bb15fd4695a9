//! From what a tracer reports to what the face is told.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use crate::model::event::Origin;
use crate::session::lines::Lines;
use crate::session::update::Update;
use crate::tracer::TraceId;
use crate::tracer::report::{Face, Report};

/// The face of one trace on the session's thread.
pub(super) struct Feed {
    trace: TraceId,
    lines: Lines,
    updates: SyncSender<Update>,
}

impl Feed {
    pub(super) fn new(trace: TraceId, origin: Origin, updates: SyncSender<Update>) -> Self {
        Self { trace, lines: Lines::new(origin), updates }
    }

    /// Sends and waits while the face is behind.
    fn send(&self, update: Update) -> io::Result<()> {
        self.updates.send(update).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends what was collected.
    pub(super) fn pass_on(&mut self) -> io::Result<()> {
        match self.lines.take() {
            Some(chunk) => self.send(Update::Lines { trace: self.trace, chunk: Arc::new(chunk) }),
            None => Ok(()),
        }
    }
}

impl Face for Feed {
    fn comes_from(&mut self, action: u32, at_ns: u64, cpu: Option<u16>) {
        self.lines.comes_from(action, at_ns, cpu);
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match report {
            Report::Maps(maps) => self.send(Update::Maps { trace: self.trace, maps: Arc::clone(maps) }),
            Report::Stats(stats) => self.send(Update::Stats { trace: self.trace, stats: Arc::clone(stats) }),
            report => {
                self.lines.report(report)?;
                if self.lines.is_full() { self.pass_on() } else { Ok(()) }
            }
        }
    }

    /// What has no line break yet becomes a line.
    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}
