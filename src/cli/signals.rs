//! Signals of a headless run: the first Ctrl-C ends the trace in order, a later one at once.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::engine::detach::leave_links;
use crate::session::headless::Remote;
use crate::thread::{self, Rights};

/// What a shell reports for a program ended by SIGINT.
const FORCED: i32 = 130;
/// Signals so close together are one request: `timeout -s INT` sends its signal to the program and then to the
/// program's group.
const ONE_REQUEST: Duration = Duration::from_millis(250);

/// Watches signals in a thread of its own for as long as the process lives; none is missed from here
/// on. `SIGUSR1` is for the script's `self:signal` probes and ends no trace that has none.
///
/// # Errors
/// When a signal can't be watched or the thread can't be started.
pub fn watch(remote: Remote) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    thread::spawn("psc-signals", Rights::Nothing, move || runtime.block_on(signals.pass_on(&remote))).map(drop)
}

/// Ends a trace in order after this time, as a first Ctrl-C does.
///
/// # Errors
/// When the thread can't be started.
pub fn stop_after(remote: Remote, duration: Duration) -> std::io::Result<()> {
    thread::spawn("psc-ends", Rights::Nothing, move || {
        std::thread::sleep(duration);
        remote.stop();
    })
    .map(drop)
}

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// The end of the trace.
    End,
    /// The script's probes of this signal.
    Probes(i32),
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    usr1: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Asks {
        tokio::select! {
            _ = self.interrupt.recv() => Asks::End,
            _ = self.terminate.recv() => Asks::End,
            _ = self.hangup.recv() => Asks::End,
            _ = self.usr1.recv() => Asks::Probes(libc::SIGUSR1),
        }
    }

    async fn pass_on(mut self, remote: &Remote) {
        let mut asked: Option<Instant> = None;
        loop {
            let asks = self.next().await;
            if asks == Asks::End {
                match asked {
                    Some(first) if first.elapsed() < ONE_REQUEST => continue,
                    Some(_) => {
                        leave_links();
                        std::process::exit(FORCED)
                    }
                    None => asked = Some(Instant::now()),
                }
                // Seen at once, while the mailbox may still be full of reports.
                remote.hurry();
            }
            // Sending may wait while the mailbox is full; the next signal must still be seen.
            let remote = remote.clone();
            let sent = thread::spawn("psc-signals", Rights::Nothing, move || match asks {
                Asks::End => remote.stop(),
                Asks::Probes(number) => remote.signal(number),
            });
            // Without threads the next signal ends it at once.
            drop(sent);
        }
    }
}
