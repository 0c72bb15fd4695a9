//! The list of every probe of the running system, built in parts: quick ones first, so that a browser
//! can search while the rest is still being read.
//!
//! Names lie in one text per part; an entry is a range and a few bytes. 200,000 probes take about
//! 20 MB.

mod kind;
mod part;
mod sources;
mod worth;

use std::sync::{Arc, Mutex, PoisonError};

pub use kind::ProbeKind;
pub use part::{Part, PartBuilder, Signs, mask};
pub(super) use sources::require;

use crate::kernel::{Absence, Kernel};
use crate::thread::{self, Rights};

/// One probe of a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// Its attach point: `tracepoint:sched:sched_switch`.
    pub name: &'a str,
    /// Kind.
    pub kind: ProbeKind,
    /// Why it can't be attached here; `None` when it can.
    pub absence: Option<&'a Absence>,
}

/// A list of probes; cheap to clone. Numbers of probes stay the same when parts are added.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    parts: Vec<Arc<Part>>,
    /// Number of the first probe of each part.
    starts: Vec<u32>,
    absences: Vec<Absence>,
    complete: bool,
}

impl Catalogue {
    /// Every probe of the kernel and the usual timers; user-space probes are added on demand.
    #[must_use]
    pub fn build(kernel: &Kernel) -> Self {
        let mut catalogue = Self::default();
        Self::build_in_steps(kernel, |step| {
            catalogue = step;
            true
        });
        catalogue
    }

    /// As [`Catalogue::build`], telling of every step, the last of which is complete. Stops when
    /// `publish` returns false.
    pub fn build_in_steps(kernel: &Kernel, mut publish: impl FnMut(Self) -> bool) {
        let mut catalogue = Self::default();
        for (number, source) in sources::SOURCES.iter().enumerate() {
            match source(kernel) {
                Ok(parts) => parts.into_iter().for_each(|p| catalogue.add(p)),
                Err(absence) => catalogue.absences.push(absence),
            }
            catalogue.complete = number + 1 == sources::SOURCES.len();
            if !publish(catalogue.clone()) {
                return;
            }
        }
    }

    /// Only the probes of some kinds, for listings.
    #[must_use]
    pub fn of_kinds(kernel: &Kernel, kinds: &[ProbeKind]) -> Self {
        let mut catalogue = Self::default();
        for kind in kinds {
            match sources::of_kind(kernel, *kind) {
                Ok(parts) => parts.into_iter().for_each(|p| catalogue.add(p)),
                Err(absence) => catalogue.absences.push(absence),
            }
        }
        catalogue.complete = true;
        catalogue
    }

    /// Adds a part.
    pub fn add(&mut self, part: Part) {
        let start = self.len() as u32;
        self.parts.push(Arc::new(part));
        self.starts.push(start);
    }

    /// Adds the statically defined probes of everything that a process has mapped; files that can't be
    /// read are left out.
    pub fn add_process(&mut self, kernel: &Kernel, pid: u32) {
        self.add(sources::process(kernel, pid));
    }

    /// How many probes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |p| p.len()) + self.starts.last().map_or(0, |s| *s as usize)
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory that its parts take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|p| p.bytes()).sum()
    }

    /// False while more parts are being read.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// What could not be listed at all, and why.
    #[must_use]
    pub fn absences(&self) -> &[Absence] {
        &self.absences
    }

    /// Parts with the number of their first probe.
    pub fn parts(&self) -> impl Iterator<Item = (u32, &Part)> {
        self.starts.iter().copied().zip(self.parts.iter().map(|p| &**p))
    }

    /// A probe by its number.
    #[must_use]
    pub fn probe(&self, number: u32) -> Option<Probe<'_>> {
        let (part, within) = self.place(number)?;
        part.probe(within)
    }

    /// The part that a probe is in, and its number there.
    #[must_use]
    pub fn place(&self, number: u32) -> Option<(&Part, u32)> {
        let part = self.starts.partition_point(|s| *s <= number).checked_sub(1)?;
        Some((self.parts.get(part)?, number - self.starts.get(part)?))
    }

    /// All probes.
    pub fn iter(&self) -> impl Iterator<Item = Probe<'_>> {
        self.parts.iter().flat_map(|p| (0..p.len() as u32).filter_map(move |n| p.probe(n)))
    }
}

/// A catalogue that is being built by a thread of its own.
#[derive(Clone, Debug)]
pub struct Background(Arc<Mutex<Catalogue>>);

impl Background {
    /// Starts building. The thread ends when it is done or when all handles are dropped.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(kernel: Arc<Kernel>) -> std::io::Result<Self> {
        let shared = Arc::new(Mutex::new(Catalogue::default()));
        let weak = Arc::downgrade(&shared);
        // Mounted and tried here where that has to be: the thread may not.
        let _ = (kernel.tracefs(), kernel.features());
        thread::spawn("psc-catalogue", Rights::Reads, move || {
            Catalogue::build_in_steps(&kernel, |step| match weak.upgrade() {
                Some(shared) => {
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = step;
                    true
                }
                None => false,
            });
        })?;
        Ok(Self(shared))
    }

    /// A catalogue that is complete already.
    #[must_use]
    pub fn ready(catalogue: Catalogue) -> Self {
        Self(Arc::new(Mutex::new(catalogue)))
    }

    /// What there is by now.
    #[must_use]
    pub fn snapshot(&self) -> Catalogue {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
