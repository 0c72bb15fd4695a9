//! Signals of a headless run: the first Ctrl-C ends the trace in order, the second at once.

use std::sync::mpsc::SyncSender;

use tokio::signal::unix::{SignalKind, signal};

use crate::session::headless::Message;

/// What a shell reports for a program ended by SIGINT.
const FORCED: i32 = 130;

/// Watches signals in a thread of its own for as long as the process lives. `user` also takes
/// `SIGUSR1` for the script's `self:signal` probes.
pub fn watch(mailbox: SyncSender<Message>, user: bool) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let _ = listen(&mailbox, user).await;
        });
    })?;
    Ok(())
}

async fn listen(mailbox: &SyncSender<Message>, user: bool) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut usr1 = if user { Some(signal(SignalKind::user_defined1())?) } else { None };
    let mut asked = false;
    loop {
        let message = tokio::select! {
            _ = interrupt.recv() => Message::Stop,
            _ = terminate.recv() => Message::Stop,
            _ = hangup.recv() => Message::Stop,
            _ = async { match &mut usr1 { Some(s) => s.recv().await, None => std::future::pending().await } } => {
                Message::Signal(libc::SIGUSR1)
            }
        };
        if matches!(message, Message::Stop) {
            if asked {
                std::process::exit(FORCED);
            }
            asked = true;
        }
        // Sending may wait while the mailbox is full; the next signal must still be seen.
        let mailbox = mailbox.clone();
        std::thread::spawn(move || mailbox.send(message));
    }
}
