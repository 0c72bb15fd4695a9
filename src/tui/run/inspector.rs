//! Looks at what the kernel has loaded, beside the screen: only while a pane shows it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::engine::inventory::{self, InventoryReader};
use crate::kernel::Kernel;
use crate::session::hits;
use crate::session::scopes::{self};
use crate::thread::{self, Rights};
use crate::tui::data::effect::Message;
use crate::tui::data::inspect::{Inspect, Inspected};

/// Pause between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// How long hits are counted.
const SAMPLE: Duration = Duration::from_secs(1);

/// Takes messages from the thread; false when nobody wants more.
pub type Answer = Arc<dyn Fn(Message) -> bool + Send + Sync>;

/// Asks a thread of its own, which may attach probes: the thread that asks gives up the right to that.
pub struct Inspector {
    kernel: Arc<Kernel>,
    answer: Answer,
    questions: Option<Sender<Inspect>>,
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

impl Inspector {
    /// Answers go to `answer`, which ends the thread by returning false.
    pub fn new(kernel: Arc<Kernel>, answer: Answer) -> Self {
        let mut inspector = Self { kernel, answer, questions: None };
        // Where there is no thread the first question tells so.
        let _ = inspector.start();
        inspector
    }

    fn start(&mut self) -> io::Result<&Sender<Inspect>> {
        let (sender, questions) = channel();
        let (kernel, answer) = (Arc::clone(&self.kernel), Arc::clone(&self.answer));
        thread::spawn("psc-inspector", Rights::All, move || work(&kernel, &questions, &answer))?;
        Ok(self.questions.insert(sender))
    }

    /// Asks.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn ask(&mut self, question: Inspect) -> io::Result<()> {
        let question = match &self.questions {
            Some(questions) => match questions.send(question) {
                Ok(()) => return Ok(()),
                // The thread has ended by a fault of its own.
                Err(unsent) => unsent.0,
            },
            None => question,
        };
        // The receiver lives in the thread that was just started.
        let _ = self.start()?.send(question);
        Ok(())
    }
}

fn work(kernel: &Arc<Kernel>, questions: &Receiver<Inspect>, answer: &Answer) {
    let mut reader: Option<InventoryReader> = None;
    loop {
        let question = match &reader {
            Some(_) => questions.recv_timeout(EVERY),
            None => questions.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let answered = match question {
            Ok(Inspect::Rest) => {
                reader = None;
                continue;
            }
            Ok(Inspect::Map(id)) => {
                Inspected::Map(id, inventory::contents(id).map(Arc::new).map_err(|e| e.to_string()))
            }
            Ok(Inspect::Code(id)) => {
                Inspected::Code(id, inventory::listing(id).map(Arc::new).map_err(|e| e.to_string()))
            }
            Ok(Inspect::Scopes) => Inspected::Scopes(scopes::read(Path::new("/proc")).into()),
            Ok(Inspect::Hits(probes)) => Inspected::Hits(hits(probes, kernel)),
            Ok(Inspect::Once) => match InventoryReader::new(Arc::clone(kernel)) {
                Ok(mut once) => read(&mut once),
                Err(error) => Inspected::Inventory(Err(error.to_string())),
            },
            Ok(Inspect::Watch) => match InventoryReader::new(Arc::clone(kernel)) {
                Ok(new) => read(reader.insert(new)),
                Err(error) => Inspected::Inventory(Err(error.to_string())),
            },
            Err(RecvTimeoutError::Timeout) => match &mut reader {
                Some(reader) => read(reader),
                None => continue,
            },
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if !(answer)(Message::Inspected(answered)) {
            return;
        }
    }
}

fn hits(probes: Vec<Arc<str>>, kernel: &Arc<Kernel>) -> Result<Vec<(Arc<str>, u64)>, String> {
    let counts = hits::count(&probes, SAMPLE, kernel).map_err(|e| e.to_string())?;
    Ok(probes.into_iter().zip(counts).collect())
}

fn read(reader: &mut InventoryReader) -> Inspected {
    Inspected::Inventory(reader.read().map(Arc::new).map_err(|e| e.to_string()))
}
