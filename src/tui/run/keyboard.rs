//! What comes from the terminal, and its end.

use std::io::{self, IsTerminal as _};

use crate::thread::{self, Rights};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::Poll;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use rustix::event::{PollFd, PollFlags, Timespec};

/// What the user types.
pub(super) struct Input {
    events: EventStream,
    /// The terminal is standard input, not one that was opened besides.
    from_stdin: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        let from_stdin = io::stdin().is_terminal();
        if from_stdin {
            // Without it the next event finds out.
            let _ = thread::spawn("psc-hangup", Rights::Nothing, tell_of_hangup);
        }
        Self { events: EventStream::new(), from_stdin }
    }

    /// Reads no more, so that another program can.
    pub(super) fn rest(self) -> Resting {
        Resting { from_stdin: self.from_stdin }
    }

    /// The next event; none when the terminal is gone. The stream must not be asked then: it reads the end of a
    /// closed terminal again and again and never returns (`try_read` of crossterm 0.29's source of events).
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        let from_stdin = self.from_stdin;
        let mut next = self.events.next();
        std::future::poll_fn(|cx| {
            if from_stdin && is_gone(&io::stdin()) { Poll::Ready(None) } else { Pin::new(&mut next).poll(cx) }
        })
        .await
    }
}

/// Input while another program has the terminal.
pub(super) struct Resting {
    from_stdin: bool,
}

impl Resting {
    /// Reads again.
    pub(super) fn again(self) -> Input {
        Input { events: EventStream::new(), from_stdin: self.from_stdin }
    }
}

/// Whether the other side of a terminal was closed.
fn is_gone(terminal: &impl AsFd) -> bool {
    // A signal that comes between is no answer; the next event asks again.
    closed(terminal, Some(&Timespec::default())).unwrap_or(false)
}

/// Waits so long, or for ever, for the other side of a terminal to be closed.
fn closed(terminal: &impl AsFd, patience: Option<&Timespec>) -> rustix::io::Result<bool> {
    let mut asked = [PollFd::new(terminal, PollFlags::empty())];
    rustix::event::poll(&mut asked, patience)?;
    Ok(asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
}

/// Sends SIGHUP to the process when standard input is closed: the kernel does so only where it is the controlling
/// terminal, and nothing else wakes the loop then.
fn tell_of_hangup() {
    while let Ok(false) | Err(rustix::io::Errno::INTR) = closed(&io::stdin(), None) {}
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP);
}
