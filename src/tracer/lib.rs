//! What traces: a script's programs, a latency meter, later the kernel's own tracers; and recordings.
//!
//! A [`Tracer`] is started with an [`Outlet`], over which its threads deliver what they find. Everything else is asked
//! of it on the session's thread, which owns its lifecycle: a tracer never says by itself that it runs or has ended.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as tracer;

use probescope_codegen as codegen;
use probescope_doors::{disk, regular, thread};
use probescope_engine as engine;
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_model as model;
use probescope_probe as probe;
use probescope_store as store;

use std::io;
use std::sync::Arc;

use crate::engine::EngineError;
use crate::engine::attach::Unattached;
use crate::engine::detach::{Detaching, Released};
use crate::engine::drain::Batch;
use crate::lang::codes::run::NOT_RUN;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::budget::Budget;
use crate::model::latency::Thresholds;

pub mod failures;
pub mod follow;
pub mod ftrace;
pub mod latency;
mod outlet;
pub mod replay;
pub mod report;
pub mod rerun;
pub mod script;
pub mod task;
mod threaded;

pub use crate::store::{TraceId, TraceInfo};
pub use outlet::{Delivered, Delivery, Finding, Outlet, Wait};

use report::Face;
use script::child::ChildError;

/// Why a tracer did not start, or could not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// Loading, attaching, or reading maps.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The command that is traced.
    #[error(transparent)]
    Command(#[from] ChildError),
    /// Measuring latency.
    #[error(transparent)]
    Latency(#[from] Box<latency::LatencyError>),
    /// The kernel's own tracing.
    #[error(transparent)]
    Ftrace(#[from] Box<ftrace::FtraceError>),
    /// A tracer's thread could not be started.
    #[error("cannot start the thread `{name}`: {source}")]
    Thread {
        /// The thread's name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A tracer's thread ended without a word.
    #[error("the thread `{name}` ended before it had begun to trace")]
    EndedAtOnce {
        /// The thread's name.
        name: String,
    },
    /// What was found could not be written.
    #[error("cannot write output: {0}")]
    Write(#[from] io::Error),
}

/// What a tracer tells once it runs.
#[derive(Debug, Default)]
pub struct Started {
    /// How many attach points.
    pub probes: u32,
    /// Probes that the kernel would not take, where the trace goes on without them and its user is told so.
    pub unattached: Vec<Unattached>,
}

/// What can be asked of a running tracer besides its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Remove every key of a map, by its name with `@`.
    Clear(Arc<str>),
    /// Run what waits for a signal (`self:signal:...`).
    Signal(i32),
    /// Latencies over which an episode is kept from now on.
    Thresholds(Thresholds),
    /// What probes may take of the CPUs' time from now on.
    Budget(Option<Budget>),
}

/// What is read of a running tracer from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// All maps, together.
    Maps,
    /// Counters, and losses that have grown.
    Counters,
}

/// A kind of tracing that has not begun. It is started on a thread of its own, where that may take as long as it likes,
/// and runs on the session's.
pub trait Tracer: Send {
    /// Attaches. Its threads may deliver before this returns.
    ///
    /// # Errors
    /// When it can't run here. Nothing stays attached then.
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>>;
}

/// A tracer that has started.
pub struct Begun {
    /// What it tells.
    pub started: Started,
    /// What its entries are; the session fills in the number.
    pub info: TraceInfo,
    /// Itself, made on the thread that it runs on.
    pub running: Box<dyn FnOnce() -> Box<dyn Running> + Send>,
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begun").field("started", &self.started).finish_non_exhaustive()
    }
}

/// Why a tracer did not start, for programs and for people.
#[derive(Debug)]
pub struct Refusal {
    /// What failed.
    pub error: TracerError,
    /// In plain words, with the script's place where there is one.
    pub diagnostic: Diagnostic,
    /// The verifier's log; empty where there is none.
    pub raw_log: Arc<str>,
}

impl From<TracerError> for Box<Refusal> {
    /// In the error's own words.
    fn from(error: TracerError) -> Self {
        let diagnostic = Diagnostic::error(NOT_RUN, Span::default(), error.to_string());
        Self::new(Refusal { error, diagnostic, raw_log: Arc::from("") })
    }
}

/// A tracer that runs.
///
/// Its life: once its start was told, [`announced`](Self::announced); while it runs [`take`](Self::take),
/// [`sample`](Self::sample) and [`control`](Self::control) in any order; [`stop`](Self::stop), after which what is on
/// its way is still taken; [`finish`](Self::finish); and at any of these points [`leave`](Self::leave).
pub trait Running {
    /// Whoever listens knows that it runs: what may only happen after that happens now (a held command goes on).
    ///
    /// # Errors
    /// When that fails.
    fn announced(&mut self) -> Result<(), TracerError> {
        Ok(())
    }

    /// Reports what raw records mean.
    ///
    /// # Errors
    /// When maps can't be read or the face can't write.
    fn take(&mut self, _batch: &Batch, _face: &mut dyn Face) -> Result<(), TracerError> {
        Ok(())
    }

    /// Reads and reports what has changed since the last time.
    ///
    /// # Errors
    /// When it can't be read or the face can't write.
    fn sample(&mut self, _what: Sample, _face: &mut dyn Face) -> Result<(), TracerError> {
        Ok(())
    }

    /// Does what is asked of it.
    ///
    /// # Errors
    /// When it can't be done.
    fn control(&mut self, _control: &Control) -> Result<(), TracerError> {
        Ok(())
    }

    /// True as soon as what was taken says that it wants to end. Asked after each batch.
    fn wants_end(&self) -> bool {
        false
    }

    /// True when nothing can happen any more: it wants to end, or what it traces is gone. Asked a few times a second.
    fn is_over(&self) -> bool {
        self.wants_end()
    }

    /// True when its threads deliver nothing more than what is on its way, so that waiting for the rest ends.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Asks for all that was found so far, see [`answered`](Self::answered); `None` where there is nothing to wait for.
    fn ask(&self) -> Option<u64> {
        None
    }

    /// Whether everything up to a request was delivered.
    fn answered(&self, _request: u64) -> bool {
        true
    }

    /// Finds nothing new from here on, where that takes no time; what is on its way can still be taken, and maps read. It
    /// [leaves](Self::leave) next, without last words.
    fn halt(&mut self) {}

    /// Ends: nothing new is found from here on. What is on its way is delivered, and then, where
    /// [`drains`](Self::drains), a [`Delivery::Drained`].
    ///
    /// # Errors
    /// When its last acts fail; it has ended all the same.
    fn stop(&mut self, face: &mut dyn Face) -> Result<(), TracerError>;

    /// True when the end of its deliveries is told by [`Delivery::Drained`]; otherwise nothing comes after `stop`.
    fn drains(&self) -> bool;

    /// Everything was taken: the last reports, and the exit code.
    ///
    /// # Errors
    /// When the last reports can't be made or written.
    fn finish(&mut self, face: &mut dyn Face) -> Result<i32, TracerError>;

    /// What is left of it. Letting go of that may take a moment: it can be done where nobody waits.
    fn leave(self: Box<Self>) -> Left;
}

/// What is left of a tracer that has ended.
#[derive(Default)]
pub struct Left {
    /// What it is still attached by.
    pub links: Detaching,
    /// What it was attached by before.
    pub released: Vec<Released>,
    /// Everything else, to be dropped when that is released.
    pub rest: Option<Box<dyn Send>>,
}

impl Left {
    /// Lets go of all of it, and gives what the kernel may still be detaching.
    #[must_use]
    pub fn release(self) -> Vec<Released> {
        let Self { links, mut released, rest } = self;
        released.push(links.release());
        drop(rest);
        released
    }
}

impl std::fmt::Debug for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Left").field("links", &self.links).finish_non_exhaustive()
    }
}

impl Running for Box<dyn Running> {
    fn announced(&mut self) -> Result<(), TracerError> {
        (**self).announced()
    }

    fn take(&mut self, batch: &Batch, face: &mut dyn Face) -> Result<(), TracerError> {
        (**self).take(batch, face)
    }

    fn sample(&mut self, what: Sample, face: &mut dyn Face) -> Result<(), TracerError> {
        (**self).sample(what, face)
    }

    fn control(&mut self, control: &Control) -> Result<(), TracerError> {
        (**self).control(control)
    }

    fn wants_end(&self) -> bool {
        (**self).wants_end()
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }

    fn is_quiet(&self) -> bool {
        (**self).is_quiet()
    }

    fn ask(&self) -> Option<u64> {
        (**self).ask()
    }

    fn answered(&self, request: u64) -> bool {
        (**self).answered(request)
    }

    fn halt(&mut self) {
        (**self).halt();
    }

    fn stop(&mut self, face: &mut dyn Face) -> Result<(), TracerError> {
        (**self).stop(face)
    }

    fn drains(&self) -> bool {
        (**self).drains()
    }

    fn finish(&mut self, face: &mut dyn Face) -> Result<i32, TracerError> {
        (**self).finish(face)
    }

    fn leave(self: Box<Self>) -> Left {
        (*self).leave()
    }
}
