//! Traces on their way out.

use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crate::engine::detach::Released;
use crate::thread::{self, Rights};
use crate::tracer::Left;

/// What is left of a trace, on its way out.
#[derive(Debug)]
pub struct Leaving {
    thread: JoinHandle<()>,
    /// Set when this process holds nothing of it any more: attach points that the kernel may still be detaching then.
    left: Arc<OnceLock<u32>>,
}

impl Leaving {
    /// Lets go in a thread: that may take a while.
    pub fn begin(left: Left) -> std::io::Result<Self> {
        let told = Arc::new(OnceLock::new());
        let tell = Arc::clone(&told);
        let work = move || {
            let released = left.release();
            let _ = tell.set(released.iter().map(Released::points).sum());
            released.iter().for_each(Released::wait);
        };
        let thread = thread::spawn("psc-detach", Rights::Trace, work)?;
        Ok(Self { thread, left: told })
    }

    /// Attach points of it that are still being detached.
    pub fn points(&self) -> u32 {
        if self.thread.is_finished() { 0 } else { self.left.get().copied().unwrap_or(0) }
    }

    /// Whether all of it is detached.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Whether this process still holds something of it.
    pub fn is_held(&self) -> bool {
        !self.is_over() && self.left.get().is_none_or(|points| *points == 0)
    }
}
