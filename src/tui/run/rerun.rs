//! Scripts that are run on the recording that is shown, one at a time, beside the screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc;

use crate::kernel::Kernel;
use crate::session::rerun::{Asked, rerun};
use crate::thread::{self, Rights};
use crate::tui::data::effect::Message;

/// Runs scripts on a recording; a newer one ends the one before it.
#[derive(Debug)]
pub struct Reruns {
    kernel: Arc<Kernel>,
    messages: mpsc::Sender<Message>,
    /// Number of the trace that is wanted.
    newest: Arc<AtomicU32>,
}

impl Reruns {
    /// Answers go to `messages`.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>, messages: mpsc::Sender<Message>) -> Self {
        Self { kernel, messages, newest: Arc::default() }
    }

    /// Runs one; tells why when there is no thread for it.
    pub fn begin(&self, asked: Asked) -> Result<(), String> {
        self.newest.store(asked.trace.0, Ordering::Release);
        let (kernel, messages, newest) = (Arc::clone(&self.kernel), self.messages.clone(), Arc::clone(&self.newest));
        let work = move || {
            let wanted = || newest.load(Ordering::Acquire) == asked.trace.0 && !messages.is_closed();
            if let Some(answered) = rerun(&asked, &kernel, &wanted) {
                let _ = messages.blocking_send(Message::Reran(Box::new(answered)));
            }
        };
        let spawned = thread::spawn("psc-rerun", Rights::Reads, work);
        spawned.map(drop).map_err(|error| format!("The script cannot run: no thread: {error}"))
    }

    /// Ends the one that runs.
    pub fn stop(&self) {
        self.newest.store(0, Ordering::Release);
    }
}
