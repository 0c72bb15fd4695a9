//! A thread that answers queries, always the newest first.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::{Results, Search};
use crate::kernel::Kernel;
use crate::probe::catalogue::Background;
use crate::thread::{self, Rights};

/// How often the last query is answered again while the catalogue grows.
const AGAIN: Duration = Duration::from_millis(50);

/// What the thread is asked.
#[derive(Clone, Debug)]
pub enum Request {
    /// Search for a text; older searches that wait are dropped.
    Search {
        /// What was typed.
        text: String,
        /// Comes back with the answer.
        generation: u64,
    },
}

/// Handle of the search thread; the thread ends when it is dropped.
#[derive(Clone, Debug)]
pub struct Searcher {
    requests: Sender<Request>,
}

impl Searcher {
    /// Starts reading the catalogue and answering. `answer` is called on the search thread; the thread
    /// ends when it returns false.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(kernel: Arc<Kernel>, answer: impl FnMut(Results) -> bool + Send + 'static) -> std::io::Result<Self> {
        let background = Background::spawn(kernel)?;
        let (requests, receiver) = channel();
        thread::spawn("psc-search", Rights::Reads, move || serve(&background, &receiver, answer))?;
        Ok(Self { requests })
    }

    /// Asks for a search; the answer carries the same generation.
    pub fn search(&self, text: &str, generation: u64) {
        // The thread only ends when its answers are no longer wanted.
        let _ = self.requests.send(Request::Search { text: text.to_owned(), generation });
    }
}

fn serve(background: &Background, requests: &Receiver<Request>, mut answer: impl FnMut(Results) -> bool) {
    let mut search = Search::default();
    let mut growing: Option<(String, u64)> = None;
    loop {
        let next = match &growing {
            Some(_) => requests.recv_timeout(AGAIN),
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let (text, generation) = match (next, growing.take()) {
            (Ok(request), _) => {
                let newest = requests.try_iter().last().unwrap_or(request);
                let Request::Search { text, generation } = newest;
                (text, generation)
            }
            (Err(RecvTimeoutError::Timeout), Some(last)) => last,
            _ => return,
        };
        let results = search.search(&background.snapshot(), &text, generation);
        if !results.complete {
            growing = Some((text, generation));
        }
        if !answer(results) {
            return;
        }
    }
}
