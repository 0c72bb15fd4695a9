//! A script that is run anew on a recording while its history is shown: what it says takes the place of what the trace
//! before it said.

use std::sync::Arc;

use super::feed::{self, Feed};
use super::update::TraceId;
use crate::kernel::Kernel;
use crate::lang::codes::run::NOT_DONE;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::{SourceText, Span};
use crate::store::file::Recording;
use crate::store::{Chunk, DEFAULT_BUDGET, Entry, History, Store, TraceInfo, woven};
use crate::tracer::rerun::Rerun;

/// What is to be run on what.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Number of the trace that it becomes.
    pub trace: TraceId,
    /// Its name for messages.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// What was recorded.
    pub recording: Arc<Recording>,
    /// What is shown beside the recording; none while the recording itself is.
    pub shown: Option<(Vec<Arc<TraceInfo>>, Vec<Arc<Chunk>>)>,
    /// Traces of the history whose place it takes.
    pub replaced: Vec<TraceId>,
}

impl PartialEq for Asked {
    /// The same trace of the same recording.
    fn eq(&self, other: &Self) -> bool {
        self.trace == other.trace && self.text == other.text && Arc::ptr_eq(&self.recording, &other.recording)
    }
}

impl Eq for Asked {}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The trace.
    pub trace: TraceId,
    /// What is to be known of the script; with an error in it nothing ran.
    pub diagnostics: Vec<Diagnostic>,
    /// The history with it.
    pub result: Option<Reran>,
}

/// A history with a trace that was made of recorded events.
#[derive(Clone, Debug)]
pub struct Reran {
    /// Its trace.
    pub info: Arc<TraceInfo>,
    /// All traces.
    pub traces: Vec<Arc<TraceInfo>>,
    /// All entries that have room.
    pub chunks: Vec<Arc<Chunk>>,
    /// Firings that recorded events made.
    pub firings: u64,
}

/// Checks a script and runs it on a recording. `wanted` is asked now and then whether to go on; `None` when not.
#[must_use]
pub fn rerun(asked: &Asked, kernel: &Kernel, wanted: &dyn Fn() -> bool) -> Option<Answered> {
    let source = SourceText::new(&asked.name, &asked.text);
    let rerun = match Rerun::prepare(kernel, asked.recording.traces(), &source, &[]) {
        Ok(rerun) => rerun,
        Err(diagnostics) => return Some(Answered { trace: asked.trace, diagnostics, result: None }),
    };
    let mut diagnostics = rerun.notes.clone();
    let info = Arc::new(TraceInfo { id: asked.trace, ..rerun.info().clone() });
    let result = run(asked, &rerun, &info, wanted);
    let result = match result {
        Ok(ran) => Some(ran?),
        Err(error) => {
            diagnostics.push(Diagnostic::error(NOT_DONE, Span::default(), format!("it could not be run: {error}")));
            None
        }
    };
    Some(Answered { trace: asked.trace, diagnostics, result })
}

fn run(
    asked: &Asked,
    rerun: &Rerun,
    info: &Arc<TraceInfo>,
    wanted: &dyn Fn() -> bool,
) -> std::io::Result<Option<Reran>> {
    let (sender, made) = std::sync::mpsc::channel();
    let mut feed = Feed::new(move |chunk| {
        let _ = sender.send(chunk);
        Ok(())
    });
    feed.declare(info);
    let probes = u32::try_from(info.probes.len()).unwrap_or(u32::MAX);
    let entry = |at_ns, payload| Entry { trace: info.id, at_ns, cpu: None, payload };
    feed.push(&entry(info.began_ns, feed::attached(probes, 0)))?;
    let ran = rerun.run(&*asked.recording, feed.of(info.id), wanted)?;
    if ran.stopped {
        return Ok(None);
    }
    let last_ns = asked.recording.span().map_or(info.began_ns, |(_, last)| last);
    feed.push(&entry(last_ns, feed::ended(ran.code, true)))?;
    feed.pass_on()?;
    drop(feed);
    let made: Vec<Arc<Chunk>> = made.try_iter().collect();
    let keep = |trace: TraceId| !asked.replaced.contains(&trace);
    let mut store = Store::new(DEFAULT_BUDGET);
    let recorded = &asked.recording;
    let traces = asked.shown.as_ref().map_or_else(|| recorded.traces().to_vec(), |(traces, _)| traces.clone());
    let traces: Vec<_> = traces.into_iter().filter(|of| keep(of.id)).chain([Arc::clone(info)]).collect();
    traces.iter().for_each(|of| store.declare(Arc::clone(of)));
    let mut take = |chunk| {
        store.append(chunk);
        wanted()
    };
    let whole = if let Some((_, chunks)) = &asked.shown {
        woven(chunks.iter().cloned(), &made, &keep, &mut take)
    } else {
        let segments = recorded.index().segments();
        let kept = (0..segments.len()).filter(|at| segments[*at].summary.traces.iter().any(|of| keep(of.trace)));
        woven(kept.filter_map(|at| recorded.chunk(at)), &made, &keep, &mut take)
    };
    let chunks = store.chunks().cloned().collect();
    Ok(whole.then(|| Reran { info: Arc::clone(info), traces, chunks, firings: ran.firings }))
}
