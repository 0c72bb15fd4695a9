//! The session's thread: owns the running traces and tells the face of them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use super::Mail;
use super::starter::{Newcomer, News};
use crate::session::driver::{Driver, Policy};
use crate::session::feed::{self, Feed};
use crate::session::update::{Ending, ScriptId, Update};
use crate::store::{Payload, TraceInfo};
use crate::tracer::report::{Face, Report};
use crate::tracer::{Running, Started, TraceId, TracerError};

/// How often entries are passed on while they come slowly.
const ENTRIES_EVERY: Duration = Duration::from_millis(33);

pub(super) fn run(inbox: Receiver<Mail<News>>, updates: &SyncSender<Update>, detaching: &AtomicU32) {
    let work = || {
        let mut session =
            SessionThread { driver: Driver::new(Live::new(updates, detaching), inbox), scripts: BTreeMap::new() };
        // The face is gone when nothing can be told any more.
        while !session.driver.policy.gone {
            match session.driver.turn() {
                Ok(Some(News::Quit)) | Err(_) => break,
                Ok(Some(news)) => session.hear(news),
                Ok(None) => {}
            }
        }
        if !session.driver.policy.gone && session.driver.halt().is_ok() {
            session.driver.policy.pass_on();
        }
        let _ = session.driver.leave();
    };
    // Unwinding has detached what it held.
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
        let text = "the session's thread failed and was stopped; its traces are detached (this is a bug in probescope)";
        let _ = updates.send(Update::Notice { trace: TraceId::SESSION, text: text.to_owned() });
    }
}

struct SessionThread<'a> {
    driver: Driver<Box<dyn Running>, Live<'a>, News>,
    /// Each script's running trace.
    scripts: BTreeMap<ScriptId, TraceId>,
}

impl SessionThread<'_> {
    fn hear(&mut self, news: News) {
        match news {
            News::Checked { script, revision, diagnostics } => {
                self.driver.policy.tell(Update::Checked { script, revision, diagnostics });
            }
            News::Compiled { trace, diagnostics, figures } => {
                self.driver.policy.tell(Update::Compiled { trace, diagnostics, figures });
            }
            News::Counted { trace, text } => self.driver.policy.tell(Update::Notice { trace, text }),
            News::Command { trace, told } => self.driver.policy.tell(Update::Command { trace, told }),
            News::Starting(trace) => self.driver.expect(trace),
            News::Started(newcomer) => self.begin(*newcomer),
            News::Failed { trace, diagnostic, raw_log } => {
                self.driver.forget(trace);
                self.driver.policy.tell(Update::Failed { trace, diagnostic, raw_log });
            }
            News::Quit => {}
        }
    }

    fn begin(&mut self, newcomer: Newcomer) {
        let Newcomer { trace, script, begun, elapsed_ns } = newcomer;
        let before = script.and_then(|script| self.scripts.insert(script, trace));
        self.driver.policy.starting = Some((Arc::new(begun.info), elapsed_ns));
        // Errors are told, none comes back.
        let _ = self.driver.begin_in_place_of(before, trace, (begun.running)(), &begun.started);
    }
}

/// Every trace's reports go to the face; what fails is told and nothing ends.
pub(super) struct Live<'a> {
    updates: &'a SyncSender<Update>,
    /// Attach points that the kernel goes on detaching in the end.
    detaching: &'a AtomicU32,
    feed: Feed,
    /// What is known of the trace that is about to be told of.
    starting: Option<(Arc<TraceInfo>, u64)>,
    passed_on: Instant,
    gone: bool,
}

impl<'a> Live<'a> {
    fn new(updates: &'a SyncSender<Update>, detaching: &'a AtomicU32) -> Self {
        let to_face = updates.clone();
        // Sends and waits while the face is behind.
        let feed =
            Feed::new(move |chunk| to_face.send(Update::Append(chunk)).map_err(|_| ErrorKind::BrokenPipe.into()));
        Self { updates, detaching, feed, starting: None, passed_on: Instant::now(), gone: false }
    }

    /// Tells and waits while the face is behind. What was collected is older, and told before.
    fn tell(&mut self, update: Update) {
        self.pass_on();
        self.gone |= self.updates.send(update).is_err();
    }

    fn pass_on(&mut self) {
        self.passed_on = Instant::now();
        self.gone |= self.feed.pass_on().is_err();
    }

    fn keep(&mut self, trace: TraceId, payload: Payload) {
        self.gone |= self.feed.now(trace, payload).is_err();
    }
}

impl Policy for Live<'_> {
    fn reads_maps(&self) -> bool {
        true
    }

    fn face(&mut self, trace: TraceId) -> &mut dyn Face {
        self.feed.of(trace)
    }

    fn started(&mut self, trace: TraceId, started: &Started) -> Result<(), TracerError> {
        let (info, elapsed_ns) = self.starting.take().unwrap_or_default();
        self.feed.declare(&info);
        self.tell(Update::Trace(info));
        for probe in &started.unattached {
            self.feed.of(trace).report(&Report::Unattached(probe))?;
            self.tell(Update::Notice { trace, text: format!("going on without {}", probe.probe) });
        }
        self.keep(trace, feed::attached(started.probes, elapsed_ns));
        self.tell(Update::Attached { trace, probes: started.probes, elapsed_ns });
        Ok(())
    }

    fn ended(&mut self, trace: TraceId, ending: Ending) -> Result<(), TracerError> {
        let code = if let Ending::Done(code) = ending { code } else { 0 };
        self.keep(trace, feed::ended(code, false));
        self.tell(Update::Ended { trace, ending });
        Ok(())
    }

    fn failed(&mut self, trace: TraceId, error: TracerError) -> Result<(), TracerError> {
        match error {
            TracerError::Write(_) => self.gone = true,
            error => self.tell(Update::Notice { trace, text: error.to_string() }),
        }
        Ok(())
    }

    fn detaching(&mut self, points: u32) -> Result<(), TracerError> {
        self.detaching.store(points, Ordering::Release);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), TracerError> {
        if self.passed_on.elapsed() >= ENTRIES_EVERY {
            self.pass_on();
        }
        Ok(())
    }

    fn patience(&self, running: bool) -> Duration {
        if running { ENTRIES_EVERY } else { Duration::from_secs(1) }
    }
}
