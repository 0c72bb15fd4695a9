//! Signals from outside.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that the workbench answers.
pub(super) struct Signals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
    quit: Signal,
    stop: Signal,
    go_on: Signal,
    fault: Option<Signal>,
}

impl Signals {
    pub fn new(faults: bool) -> io::Result<Self> {
        let of = |number| signal(SignalKind::from_raw(number));
        Ok(Self {
            terminate: of(libc::SIGTERM)?,
            hangup: of(libc::SIGHUP)?,
            interrupt: of(libc::SIGINT)?,
            quit: of(libc::SIGQUIT)?,
            stop: of(libc::SIGTSTP)?,
            go_on: of(libc::SIGCONT)?,
            fault: if faults { Some(of(libc::SIGUSR2)?) } else { None },
        })
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => libc::SIGTERM,
            _ = self.hangup.recv() => libc::SIGHUP,
            _ = self.interrupt.recv() => libc::SIGINT,
            _ = self.quit.recv() => libc::SIGQUIT,
            _ = self.stop.recv() => libc::SIGTSTP,
            _ = self.go_on.recv() => libc::SIGCONT,
            _ = async { match &mut self.fault { Some(s) => s.recv().await, None => std::future::pending().await } } => {
                libc::SIGUSR2
            }
        }
    }
}
