//! The session's thread: owns the running traces and tells the face of them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use super::Mail;
use super::feed::Feed;
use super::starter::{Newcomer, News};
use crate::model::event::Origin;
use crate::session::driver::{Driver, Policy};
use crate::session::update::{Ending, ScriptId, Update};
use crate::tracer::report::Face;
use crate::tracer::{Running, Started, TraceId, TracerError};

/// How often lines are passed on while they come slowly.
const LINES_EVERY: Duration = Duration::from_millis(33);

pub(super) fn run(inbox: Receiver<Mail<News>>, updates: &SyncSender<Update>) {
    let work = || {
        let mut session = SessionThread { driver: Driver::new(Live::new(updates), inbox), scripts: BTreeMap::new() };
        // The face is gone when nothing can be told any more.
        while !session.driver.policy.gone {
            match session.driver.turn() {
                Ok(Some(News::Quit)) | Err(_) => break,
                Ok(Some(news)) => session.hear(news),
                Ok(None) => {}
            }
        }
        session.driver.leave();
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
        let Newcomer { trace, script, begun, origin, elapsed_ns } = newcomer;
        let before = script.and_then(|script| self.scripts.insert(script, trace));
        self.driver.policy.starting = Some((origin, elapsed_ns));
        // Errors are told, none comes back.
        let _ = self.driver.begin_in_place_of(before, trace, (begun.running)(), &begun.started);
    }
}

/// Every trace's reports go to the face; what fails is told and nothing ends.
pub(super) struct Live<'a> {
    updates: &'a SyncSender<Update>,
    feeds: BTreeMap<TraceId, Feed>,
    /// Where reports of no trace go: nowhere.
    nobody: Feed,
    /// What is known of the trace that is about to be told of.
    starting: Option<(Origin, u64)>,
    passed_on: Instant,
    gone: bool,
}

impl<'a> Live<'a> {
    fn new(updates: &'a SyncSender<Update>) -> Self {
        Self {
            updates,
            feeds: BTreeMap::new(),
            nobody: Feed::new(TraceId::SESSION, Origin::default(), updates.clone()),
            starting: None,
            passed_on: Instant::now(),
            gone: false,
        }
    }

    /// Tells and waits while the face is behind.
    fn tell(&mut self, update: Update) {
        self.gone |= self.updates.send(update).is_err();
    }

    fn notice(&mut self, trace: TraceId, text: String) {
        self.tell(Update::Notice { trace, text });
    }

    fn pass_on(&mut self) {
        self.passed_on = Instant::now();
        for feed in self.feeds.values_mut() {
            self.gone |= feed.pass_on().is_err();
        }
    }
}

impl Policy for Live<'_> {
    const READS_MAPS: bool = true;

    fn face(&mut self, trace: TraceId) -> &mut dyn Face {
        self.feeds.get_mut(&trace).unwrap_or(&mut self.nobody)
    }

    fn started(&mut self, trace: TraceId, started: &Started) -> Result<(), TracerError> {
        let (origin, elapsed_ns) = self.starting.take().unwrap_or_default();
        let missing: Vec<&str> = started.unattached.iter().map(|probe| probe.probe.as_str()).collect();
        if !missing.is_empty() {
            self.notice(trace, format!("going on without {}", missing.join(", ")));
        }
        self.feeds.insert(trace, Feed::new(trace, origin, self.updates.clone()));
        self.tell(Update::Attached { trace, probes: started.probes, elapsed_ns });
        Ok(())
    }

    fn ended(&mut self, trace: TraceId, ending: Ending) -> Result<(), TracerError> {
        if let Some(mut feed) = self.feeds.remove(&trace) {
            self.gone |= feed.flush().and_then(|()| feed.pass_on()).is_err();
        }
        self.tell(Update::Ended { trace, ending });
        Ok(())
    }

    fn failed(&mut self, trace: TraceId, error: TracerError) -> Result<(), TracerError> {
        match error {
            TracerError::Write(_) => self.gone = true,
            error => self.notice(trace, error.to_string()),
        }
        Ok(())
    }

    fn is_hurried(&self) -> bool {
        false
    }

    fn idle(&mut self) -> Result<(), TracerError> {
        for feed in self.feeds.values_mut() {
            let _ = feed.flush();
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), TracerError> {
        if self.passed_on.elapsed() >= LINES_EVERY {
            self.pass_on();
        }
        Ok(())
    }

    fn patience(&self, running: bool) -> Duration {
        if running { LINES_EVERY } else { Duration::from_secs(1) }
    }
}
