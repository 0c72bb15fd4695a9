//! The process that a trace is limited to, or ends with: as long as one of its threads lives, it goes on.

use std::path::PathBuf;

use crate::engine::Trace;
use crate::engine::attach::Place;
use crate::kernel::process::{Left, left};
use crate::lang::codes::run::FIRST_THREAD_ENDED;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::target::Target;
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report};

/// A process and what is known of its first thread.
#[derive(Debug)]
pub struct Watched {
    /// Procfs, and its number there.
    proc: PathBuf,
    pid: u32,
    /// How its user probes are attached, while they are held by its first thread.
    held: Option<Place>,
    partial: bool,
}

impl Watched {
    /// The process of `-p`, else the one that the trace ends with.
    #[must_use]
    pub fn new(place: &Place, ends_with: Option<u32>) -> Option<Self> {
        let pid = place.pid.or(ends_with)?;
        let held = place.pid.filter(|_| !place.everybody).map(|_| place.clone());
        Some(Self { proc: place.proc.clone(), pid, held, partial: false })
    }

    /// Whether no thread of it runs any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        left(&self.proc, self.pid) == Left::Nothing
    }

    /// Whether calls were missed.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.partial
    }

    /// Attaches user probes anew once the first thread has ended and others run, and says what may be missing.
    ///
    /// # Errors
    /// When the kernel refuses it, or the face can't take what is said.
    pub fn look(&mut self, trace: &mut Trace, face: &mut dyn Face) -> Result<(), TracerError> {
        if self.held.is_none() || !matches!(left(&self.proc, self.pid), Left::Others(_)) {
            return Ok(());
        }
        let Some(place) = self.held.take() else { return Ok(()) };
        if trace.attach_users(&place)? == 0 {
            return Ok(());
        }
        self.partial = true;
        let probe = trace.program().probes.iter().find(|probe| probe.targets.iter().any(Target::is_of_user));
        let message = "the process's first thread has ended and others go on: user probes were attached anew, and up to a \
                       quarter of a second of calls is missing";
        let told = Diagnostic::warning(FIRST_THREAD_ENDED, probe.map_or(Span::default(), |probe| probe.head), message);
        face.comes_from_here();
        face.report(&Report::Partial(&told.help("started now, the trace misses none: it asks every process")))?;
        Ok(())
    }
}
