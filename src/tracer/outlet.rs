//! The way from a tracer's own threads to the session.

use std::sync::Arc;

use crate::engine::drain::{Batch, Handed};
use crate::store::Payload;

pub use crate::engine::drain::Wait;

/// Something found that needs no further reading: an entry of the history but for its trace.
#[derive(Clone, Debug)]
pub struct Finding {
    /// When: ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU that it is about.
    pub cpu: Option<u16>,
    /// What.
    pub payload: Payload,
}

/// What a tracer's threads deliver.
#[derive(Debug)]
pub enum Delivery {
    /// Raw records; [`super::Tracer::take`] knows what they mean.
    Records(Batch),
    /// Finished entries, which need nobody to say what they mean.
    Findings(Vec<Finding>),
    /// What is traced is over (a command has ended): the session stops the tracer.
    Over,
    /// Nothing more comes.
    Drained,
}

/// What became of a delivery.
#[derive(Debug)]
pub enum Delivered {
    /// The session has it or will.
    Taken,
    /// The session is behind: here it is again.
    Back(Delivery),
    /// Nobody listens any more.
    Gone,
}

/// Hands one trace's deliveries to its session. Cheap to clone, for each thread that delivers.
#[derive(Clone)]
pub struct Outlet(Arc<dyn Fn(Delivery, Wait) -> Delivered + Send + Sync>);

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

impl Outlet {
    /// An outlet that delivers so.
    pub fn new(deliver: impl Fn(Delivery, Wait) -> Delivered + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    /// Delivers records; gives them back while the session is behind, unless it may wait.
    #[must_use]
    pub fn records(&self, batch: Batch, wait: Wait) -> Handed {
        match (self.0)(Delivery::Records(batch), wait) {
            Delivered::Taken => Handed::Taken,
            Delivered::Back(Delivery::Records(batch)) => Handed::Back(batch),
            Delivered::Back(_) | Delivered::Gone => Handed::Gone,
        }
    }

    /// Delivers finished entries. Waits while the session is behind; false once nobody listens.
    #[must_use]
    pub fn findings(&self, findings: Vec<Finding>) -> bool {
        findings.is_empty() || !matches!((self.0)(Delivery::Findings(findings), Wait::Yes), Delivered::Gone)
    }

    /// Says that what is traced is over. Waits while the session is behind.
    pub fn over(&self) {
        let _ = (self.0)(Delivery::Over, Wait::Yes);
    }

    /// Says that nothing more comes. Waits while the session is behind.
    pub fn drained(&self) {
        let _ = (self.0)(Delivery::Drained, Wait::Yes);
    }
}
