//! The kernel's own tracing, in an instance of ours: events with the kernel's filters and triggers, read as the raw pages
//! that its rings have.
//!
//! Everything that is written goes away with the instance, which [`crate::kernel::guard`] knows of: at the end, on a panic,
//! and after `kill -9` at the next start. What others have set up is never touched.

pub mod boot;
pub mod choose;
mod comms;
pub mod dat;
pub mod define;
pub mod graph;
pub mod hist;
pub mod instance;
mod keep;
mod refusal;
mod ring;
mod session;
mod shapes;
mod tracer;
pub mod tree;

use std::io;
use std::sync::Arc;

use crate::kernel::{Absence, KernelError};

pub use comms::Comms;
pub use keep::Keeper;
pub use refusal::{Refused, Said};
pub use ring::{Item, Rings};
pub use session::{Books, Event, Loss, Options, Session, Told, Wanted};
pub use shapes::{Names, Shapes};
pub use tracer::FtraceTracer;

/// Why the kernel's tracing did not start, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum FtraceError {
    /// The kernel does not offer it.
    #[error("{absence}; {}", absence.remedy)]
    Absent {
        /// What, and why.
        #[from]
        absence: Absence,
    },
    /// Something of tracefs was not to be had.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A filter, a trigger or a definition that the kernel refuses.
    #[error(transparent)]
    Refused(#[from] Box<Refused>),
    /// A file of tracefs.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// What was done.
        operation: &'static str,
        /// To which.
        path: String,
        /// What came of it.
        source: io::Error,
    },
    /// The kernel has this at its top instance only, and somebody uses that.
    #[error("this kernel has that tracer in the top instance only, which is in use: {0}; end that, or wait for it")]
    TopInUse(String),
    /// What was asked for makes no sense, in plain words.
    #[error("{0}")]
    Options(String),
}

impl From<Refused> for FtraceError {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

/// `CATEGORY:EVENT`, of names.
#[must_use]
pub fn full_name(name: &(Arc<str>, Arc<str>)) -> String {
    format!("{}:{}", name.0, name.1)
}
