//! From what tracers report to the entries of a history.

use std::io;
use std::sync::Arc;

use crate::engine::monotonic_ns;
use crate::lang::codes::run::{NOT_ATTACHED, NOT_DONE};
use crate::lang::diagnostic::Diagnostic;
use crate::store::{Chunk, ChunkBuilder, Entry, Lifecycle, Payload, TraceId, TraceInfo};
use crate::tracer::Finding;
use crate::tracer::report::{Face, Report};

/// A face that keeps what all traces of a session say: it makes chunks of entries and passes them on.
pub(super) struct Feed {
    builder: ChunkBuilder,
    /// Whose reports come.
    trace: TraceId,
    from: From,
    pass_on: PassOn,
}

/// Takes a chunk.
type PassOn = Box<dyn FnMut(Arc<Chunk>) -> io::Result<()>>;

/// Where a report comes from.
#[derive(Clone, Copy, Default)]
struct From {
    action: u32,
    at_ns: u64,
    cpu: Option<u16>,
}

impl Feed {
    pub(super) fn new(pass_on: impl FnMut(Arc<Chunk>) -> io::Result<()> + 'static) -> Self {
        let (builder, pass_on) = (ChunkBuilder::new(), Box::new(pass_on));
        Self { builder, trace: TraceId::SESSION, from: From::default(), pass_on }
    }

    /// Makes a trace known.
    pub(super) fn declare(&mut self, info: &Arc<TraceInfo>) {
        self.builder.declare(info);
    }

    /// Whose reports come next.
    pub(super) fn of(&mut self, trace: TraceId) -> &mut Self {
        self.trace = trace;
        self
    }

    /// Takes a step in a trace's life, or another entry that happens now.
    pub(super) fn now(&mut self, trace: TraceId, payload: Payload) -> io::Result<()> {
        self.push(&Entry { trace, at_ns: monotonic_ns(), cpu: None, payload })
    }

    /// Takes an entry.
    pub(super) fn push(&mut self, entry: &Entry) -> io::Result<()> {
        self.builder.push(entry);
        self.pass_on_full()
    }

    /// An entry at the time of the record that is being reported.
    fn put(&mut self, payload: Payload) -> io::Result<()> {
        let From { at_ns, cpu, .. } = self.from;
        self.push(&Entry { trace: self.trace, at_ns, cpu, payload })
    }

    fn pass_on_full(&mut self) -> io::Result<()> {
        if self.builder.is_full() { self.pass_on() } else { Ok(()) }
    }

    /// Passes on what was collected.
    pub(super) fn pass_on(&mut self) -> io::Result<()> {
        self.builder.finish().map_or(Ok(()), &mut self.pass_on)
    }
}

impl Face for Feed {
    fn comes_from(&mut self, action: u32, at_ns: u64, cpu: Option<u16>) {
        self.from = From { action, at_ns, cpu };
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        let From { action: from, at_ns, cpu } = self.from;
        match *report {
            Report::Printf { action, values, .. } => {
                self.builder.event(self.trace, at_ns, cpu, action, values);
                self.pass_on_full()
            }
            Report::Value { action, value } => {
                self.builder.event(self.trace, at_ns, cpu, action, std::slice::from_ref(value));
                self.pass_on_full()
            }
            Report::Map { snapshot, .. } => self.put(Payload::Print { action: from, map: Arc::new(snapshot.clone()) }),
            Report::Text { text, .. } => self.put(Payload::Text { action: from, text: text.into() }),
            Report::RuntimeError { message, .. } => {
                self.put(Payload::Text { action: from, text: message.as_bytes().into() })
            }
            Report::Failure { cause, helper, code, span } => self.put(Payload::Failure { cause, helper, code, span }),
            Report::Failed { message, span } => {
                let diagnostic = Diagnostic::error(NOT_DONE, span, message);
                self.now(self.trace, Payload::Diagnostic(Arc::new(diagnostic)))
            }
            Report::Partial(said) => self.now(self.trace, Payload::Diagnostic(Arc::new(said.clone()))),
            Report::Unattached(probe) => {
                let message = format!("going on without {}", probe.probe);
                let diagnostic = Diagnostic::warning(NOT_ATTACHED, probe.span, message).help(probe.reason.clone());
                self.now(self.trace, Payload::Diagnostic(Arc::new(diagnostic)))
            }
            Report::Lost { cause, count, site, span } => {
                self.now(self.trace, Payload::Lost { cause, count, site: Arc::clone(site), span })
            }
            Report::Maps(maps) => {
                let at_ns = maps.first().map_or_else(monotonic_ns, |map| map.at_ns);
                self.push(&Entry { trace: self.trace, at_ns, cpu: None, payload: Payload::Maps(Arc::clone(maps)) })
            }
            Report::Stats(stats) => {
                let payload = Payload::Stats(Arc::clone(stats));
                self.push(&Entry { trace: self.trace, at_ns: stats.at_ns, cpu: None, payload })
            }
            Report::Finding(Finding { at_ns, cpu, payload }) => {
                self.push(&Entry { trace: self.trace, at_ns: *at_ns, cpu: *cpu, payload: payload.clone() })
            }
            // Lifecycle has entries of its own.
            Report::Attached(_) | Report::Detaching(_) | Report::End { .. } => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is kept of a trace that is attached.
pub(super) const fn attached(probes: u32, elapsed_ns: u64) -> Payload {
    Payload::Lifecycle(Lifecycle::Attached { probes, elapsed_ns })
}

/// What is kept of a trace that has ended.
pub(super) const fn ended(code: i32, prints_maps: bool) -> Payload {
    Payload::Lifecycle(Lifecycle::Ended { code, prints_maps })
}
