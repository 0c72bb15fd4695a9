//! A face whose reports are recorded, too.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::feed::{self, Feed};
use crate::model::snapshot::MapSnapshot;
use crate::store::file::{Recorder, RecordingError, RecordingInfo, Written};
use crate::store::{Entry, Payload, TraceId, TraceInfo};
use crate::tracer::report::{Face, Report};

/// How often what was reported goes to the recorder while it comes slowly.
const PASS_ON: Duration = Duration::from_millis(30);

/// A face that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Face for Silent {
    fn report(&mut self, _report: &Report<'_>) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes reports on to a face, and records them.
pub struct Recorded<'a> {
    face: &'a mut dyn Face,
    recorder: Rc<Recorder>,
    feed: Feed,
    info: Arc<TraceInfo>,
    /// The maps that were printed at the end; none before that.
    last: Option<Arc<[MapSnapshot]>>,
    passed_on: Instant,
    /// Hears once that nothing more is recorded, and why.
    failed: Option<Box<dyn FnMut(&str)>>,
}

impl std::fmt::Debug for Recorded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

impl<'a> Recorded<'a> {
    /// Records one trace to a file while `face` shows it; `failed` hears once that nothing more is recorded, and why.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn new(
        face: &'a mut dyn Face,
        path: &Path,
        info: TraceInfo,
        failed: impl FnMut(&str) + 'static,
    ) -> Result<Self, RecordingError> {
        let info = Arc::new(TraceInfo { id: TraceId(1), ..info });
        let about = RecordingInfo::beginning_with(&info);
        let recorder = Rc::new(Recorder::create(path, &about, vec![Arc::clone(&info)], Vec::new())?);
        let to = Rc::clone(&recorder);
        let mut feed = Feed::new(move |chunk| {
            to.append(chunk);
            Ok(())
        });
        feed.declare(&info);
        feed.of(info.id);
        let failed: Option<Box<dyn FnMut(&str)>> = Some(Box::new(failed));
        Ok(Self { face, recorder, feed, info, last: None, passed_on: Instant::now(), failed })
    }

    /// Writes the rest and the index. `code` is the trace's exit code; none when it did not end in order.
    ///
    /// # Errors
    /// When something could not be written; `failed` has heard of it.
    pub fn finish(mut self, code: Option<i32>) -> Result<Written, RecordingError> {
        if let Some(code) = code {
            let maps = self.last.take().filter(|maps| !maps.is_empty());
            let prints_maps = maps.is_some();
            // What is recorded is only counted when it can't be written.
            if let Some(maps) = maps {
                let _ = self.feed.now(self.info.id, Payload::Maps(maps));
            }
            let _ = self.feed.now(self.info.id, feed::ended(code, prints_maps));
        }
        let _ = self.feed.pass_on();
        drop(self.feed);
        // The feed had the only other one.
        let Ok(recorder) = Rc::try_unwrap(self.recorder) else { return Ok(Written::default()) };
        recorder.finish().inspect_err(|error| {
            if let Some(mut failed) = self.failed.take() {
                failed(&error.to_string());
            }
        })
    }

    fn say_failure(&mut self) {
        if self.failed.is_some()
            && let Some(why) = self.recorder.status().failure
            && let Some(mut failed) = self.failed.take()
        {
            failed(&why);
        }
    }
}

impl Face for Recorded<'_> {
    fn comes_from(&mut self, action: u32, at_ns: u64, cpu: Option<u16>) {
        self.feed.comes_from(action, at_ns, cpu);
        self.face.comes_from(action, at_ns, cpu);
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match *report {
            // It stands before whatever the begin probes report, as it is told.
            Report::Attached(probes) => {
                let (at_ns, trace) = (self.info.began_ns, self.info.id);
                self.feed.push(&Entry { trace, at_ns, cpu: None, payload: feed::attached(probes, 0) })?;
            }
            Report::End { maps, .. } => self.last = Some(maps.into()),
            _ => self.feed.report(report)?,
        }
        self.face.report(report)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.passed_on.elapsed() >= PASS_ON {
            self.passed_on = Instant::now();
            self.feed.pass_on()?;
            self.say_failure();
        }
        self.face.flush()
    }
}
