//! A trace without a screen: from attach to the last map, on the caller's thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::driver::{Driver, Mail, Policy, outlet};
use super::update::Ending;
use crate::tracer::report::{Face, Report};
use crate::tracer::{Control, Started, TraceId, Tracer, TracerError};

/// Batches on their way to the face; what is more waits in the drain (see `engine::drain`).
const WAITING_BATCHES: usize = 8;
/// The only trace of a headless run.
const TRACE: TraceId = TraceId(1);

/// A run that has not begun.
#[derive(Debug)]
pub struct Headless {
    mail: SyncSender<Mail<Infallible>>,
    inbox: Receiver<Mail<Infallible>>,
    stopping: Arc<AtomicBool>,
    reads_maps: bool,
    once_attached: Option<fn()>,
}

/// Reaches a headless run from other threads.
#[derive(Clone, Debug)]
pub struct Remote {
    mail: SyncSender<Mail<Infallible>>,
    stopping: Arc<AtomicBool>,
}

impl Remote {
    /// The end is wanted: nothing is waited for any more. Does not wait.
    pub fn hurry(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Ends the trace as `exit()` does. Waits while the run is behind.
    pub fn stop(&self) {
        self.hurry();
        let _ = self.mail.send(Mail::Stop(TRACE));
    }

    /// Runs the script's probes of a signal. Waits while the run is behind.
    pub fn signal(&self, number: i32) {
        let _ = self.mail.send(Mail::Control(TRACE, Control::Signal(number)));
    }
}

impl Default for Headless {
    fn default() -> Self {
        let (mail, inbox) = sync_channel(WAITING_BATCHES);
        Self { mail, inbox, stopping: Arc::default(), reads_maps: false, once_attached: None }
    }
}

impl Headless {
    /// For other threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote { mail: self.mail.clone(), stopping: Arc::clone(&self.stopping) }
    }

    /// Also reads maps while the trace runs, and reports them: whoever records wants their past.
    #[must_use]
    pub const fn reading_maps(mut self, wanted: bool) -> Self {
        self.reads_maps = wanted;
        self
    }

    /// What is to be done on the trace's thread once everything is attached.
    #[must_use]
    pub const fn once_attached(mut self, what: Option<fn()>) -> Self {
        self.once_attached = what;
        self
    }

    /// Set as soon as the end is wanted.
    #[must_use]
    pub fn stopping(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopping)
    }

    /// Runs a trace to its end and gives its exit code.
    ///
    /// # Errors
    /// When it can't be started or goes wrong, or the face can't write.
    pub fn run(self, tracer: impl Tracer + 'static, face: &mut dyn Face) -> Result<i32, TracerError> {
        let Self { mail, inbox, stopping, reads_maps, once_attached } = self;
        let begun = Box::new(tracer).start(outlet(TRACE, mail)).map_err(|refusal| refusal.error)?;
        let mut driver = Driver::new(Alone { face, stopping, reads_maps, once_attached, code: 0 }, inbox);
        driver.begin(TRACE, (begun.running)(), &begun.started)?;
        while driver.is_running() {
            driver.turn()?;
        }
        let code = driver.policy.code;
        driver.leave()?;
        Ok(code)
    }
}

/// One trace, whose reports go straight to a face; whatever fails ends it.
struct Alone<'a> {
    face: &'a mut dyn Face,
    stopping: Arc<AtomicBool>,
    reads_maps: bool,
    once_attached: Option<fn()>,
    code: i32,
}

impl Policy for Alone<'_> {
    fn reads_maps(&self) -> bool {
        self.reads_maps
    }

    fn face(&mut self, _: TraceId) -> &mut dyn Face {
        self.face
    }

    fn started(&mut self, _: TraceId, started: &Started) -> Result<(), TracerError> {
        self.face.comes_from_here();
        for probe in &started.unattached {
            self.face.report(&Report::Unattached(probe))?;
        }
        self.face.report(&Report::Attached(started.probes))?;
        if let Some(what) = self.once_attached.take() {
            what();
        }
        Ok(self.face.flush()?)
    }

    fn ended(&mut self, _: TraceId, ending: Ending) -> Result<(), TracerError> {
        if let Ending::Done(code) = ending {
            self.code = code;
        }
        Ok(())
    }

    fn failed(&mut self, _: TraceId, error: TracerError) -> Result<(), TracerError> {
        Err(error)
    }

    fn detaching(&mut self, points: u32) -> Result<(), TracerError> {
        Ok(self.face.report(&Report::Detaching(points))?)
    }

    /// Probes that report faster than is printed keep the mailbox full: a request to end waits behind their reports
    /// there.
    fn is_hurried(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn caught_up(&mut self) -> Result<(), TracerError> {
        Ok(self.face.flush()?)
    }
}
