//! Signals of a headless run: the first Ctrl-C ends the trace in order, a later one at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::session::headless::Message;

/// What a shell reports for a program ended by SIGINT.
const FORCED: i32 = 130;
/// Signals so close together are one request: `timeout -s INT` sends its signal to the program and then to the
/// program's group.
const ONE_REQUEST: Duration = Duration::from_millis(250);

/// Watches signals in a thread of its own for as long as the process lives; none is missed from here
/// on. `SIGUSR1` is for the script's `self:signal` probes and ends no trace that has none. `stopping` is set
/// as soon as the end is asked for, while the mailbox may still be full of reports.
///
/// # Errors
/// When a signal can't be watched or the thread can't be started.
pub fn watch(mailbox: SyncSender<Message>, stopping: Arc<AtomicBool>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(signals.pass_on(&mailbox, &stopping)))
        .map(drop)
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

    async fn next(&mut self) -> Message {
        tokio::select! {
            _ = self.interrupt.recv() => Message::Stop,
            _ = self.terminate.recv() => Message::Stop,
            _ = self.hangup.recv() => Message::Stop,
            _ = self.usr1.recv() => Message::Signal(libc::SIGUSR1),
        }
    }

    async fn pass_on(mut self, mailbox: &SyncSender<Message>, stopping: &AtomicBool) {
        let mut asked: Option<Instant> = None;
        loop {
            let message = self.next().await;
            if matches!(message, Message::Stop) {
                match asked {
                    Some(first) if first.elapsed() < ONE_REQUEST => continue,
                    Some(_) => std::process::exit(FORCED),
                    None => asked = Some(Instant::now()),
                }
                stopping.store(true, Ordering::Relaxed);
            }
            // Sending may wait while the mailbox is full; the next signal must still be seen.
            let mailbox = mailbox.clone();
            std::thread::spawn(move || mailbox.send(message));
        }
    }
}
