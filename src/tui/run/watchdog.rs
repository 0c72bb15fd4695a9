//! Who ends the workbench when its loop does not: a thread of its own hears the same signals, and waits a moment.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

use crate::stdio;
use crate::thread::{self, Rights};
use crate::tui::data::files::Latest;
use crate::tui::run::{recovery, screen};

/// What the loop may take until it answers a signal: it computes, or the terminal takes nothing more.
const PATIENCE: Duration = Duration::from_millis(600);
/// What ending in order may take: the kernel detaches many links faster when it is asked for all at once.
const LEAVING: Duration = Duration::from_secs(8);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Told by the loop that it ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<AtomicBool>);

impl Heard {
    /// The loop ends in order.
    pub fn tell(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Watches for as long as the process lives.
///
/// # Errors
/// When signals can't be watched or there is no thread.
pub(super) fn start(latest: Arc<Mutex<Latest>>) -> io::Result<Heard> {
    let heard = Heard::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    let loops = heard.clone();
    thread::spawn("psc-watchdog", Rights::Files, move || {
        let number = runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => libc::SIGTERM,
                _ = hangup.recv() => libc::SIGHUP,
            }
        });
        wait(PATIENCE, || loops.0.load(Ordering::Acquire));
        if loops.0.load(Ordering::Acquire) {
            wait(LEAVING, || false);
        }
        end(number, &latest);
    })?;
    Ok(heard)
}

fn wait(patience: Duration, over: impl Fn() -> bool) {
    let began = Instant::now();
    while !over() && began.elapsed() < patience {
        std::thread::sleep(LOOK);
    }
}

/// Keeps the text, gives the terminal back as far as it takes anything, and ends the process; the kernel detaches what
/// its descriptors hold.
fn end(number: i32, latest: &Mutex<Latest>) {
    // The loop may hold it.
    if let Ok(Latest { path: Some(path), text }) = latest.try_lock().map(|latest| latest.clone())
        && !text.is_empty()
    {
        let _ = recovery::keep(&path, &text);
    }
    stdio::screen_at_once(screen::GIVEN_BACK);
    let _ = crossterm::terminal::disable_raw_mode();
    std::process::exit(128 + number);
}
