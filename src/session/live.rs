//! A workbench session: compiles what is saved, replaces the running trace when the new one is
//! attached, and tells a face what happens.
//!
//! Threads: the compiler (newest text wins; it also loads and attaches, so that a bad script never
//! disturbs the running one), the session (owns the running trace), one drain for each trace, and
//! one that detaches what is over.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::compilation::{Compilation, Compiler};
use super::update::{Generation, Update};
use crate::engine::attach::Place;
use crate::kernel::Kernel;

mod compiling;
mod running;

use running::Mail;

/// Updates that may wait for the face.
const WAITING_UPDATES: usize = 256;
/// Messages that may wait for the session; batches that find no room wait in the drain.
const WAITING_MAIL: usize = 32;

/// What a session is given.
#[derive(Clone)]
pub struct SessionOptions {
    /// The kernel to trace.
    pub kernel: Arc<Kernel>,
    /// The compiler (see `front::compiler`).
    pub compiler: Compiler,
    /// Only this process, where attach points can tell.
    pub pid: Option<u32>,
    /// Start this command when the script is attached (`-c`).
    pub command: Option<String>,
    /// Measure what the probes cost.
    pub measure: bool,
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionOptions").field("pid", &self.pid).field("command", &self.command).finish_non_exhaustive()
    }
}

impl SessionOptions {
    pub(super) fn place(&self) -> Place {
        Place::new(&self.kernel, self.pid)
    }

    pub(super) fn traced_process(&self) -> Option<PathBuf> {
        Some(self.kernel.roots().proc.join(self.pid?.to_string()))
    }
}

/// A workbench session.
#[derive(Debug)]
pub struct Session;

impl Session {
    /// Starts a session's threads; nothing runs before the first [`SessionHandle::submit`].
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn spawn(options: SessionOptions) -> std::io::Result<(SessionHandle, Receiver<Update>)> {
        let (updates, to_face) = sync_channel(WAITING_UPDATES);
        let (mail, inbox) = sync_channel(WAITING_MAIL);
        let desk = Arc::new(Desk::default());
        let compiler = {
            let (options, mail, updates, desk) = (options.clone(), mail.clone(), updates.clone(), Arc::clone(&desk));
            std::thread::Builder::new()
                .name("compiler".to_owned())
                .spawn(move || guarded(&updates, "compiler", || compiling::run(&options, &desk, &mail, &updates)))?
        };
        let session = std::thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || guarded(&updates, "session", || running::run(&options, &inbox, &updates)))?;
        let handle = SessionHandle { desk, mail, threads: vec![compiler, session] };
        Ok((handle, to_face))
    }
}

/// Runs a thread's work; a panic becomes a notice, and unwinding has detached what it held.
fn guarded(updates: &SyncSender<Update>, name: &str, work: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
        let _ = updates.send(Update::Notice(format!(
            "the {name} thread failed and was stopped; its trace is detached (this is a bug in probescope)"
        )));
    }
}

/// How a face talks to its session. Dropping it ends the session and waits until everything is
/// detached; the receiver of updates must have been dropped or still be read meanwhile.
#[derive(Debug)]
pub struct SessionHandle {
    desk: Arc<Desk>,
    mail: SyncSender<Mail>,
    threads: Vec<JoinHandle<()>>,
}

impl SessionHandle {
    /// Compiles a text and runs it in place of what runs now. A newer text replaces one that still
    /// waits for the compiler.
    pub fn submit(&self, text: impl Into<Arc<str>>, generation: Generation) {
        self.desk.put(Order::Run(text.into(), generation));
    }

    /// Compiles a text and tells its diagnostics; nothing else changes.
    pub fn check(&self, text: impl Into<Arc<str>>, generation: Generation) {
        self.desk.put(Order::Check(text.into(), generation));
    }

    /// Ends the running trace as `exit()` does: end probes run, the last maps are sent.
    pub fn stop(&self) {
        let _ = self.mail.send(Mail::Stop);
    }

    /// Stops (or goes on) sending maps; the trace and its lines go on.
    pub fn pause(&self, paused: bool) {
        let _ = self.mail.send(Mail::Pause(paused));
    }

    /// Removes every key of a map by its name with `@`.
    pub fn clear_map(&self, name: &str) {
        let _ = self.mail.send(Mail::Clear(name.into()));
    }

    /// Runs the script's probes of a signal (`self:signal:...`).
    pub fn signal(&self, number: i32) {
        let _ = self.mail.send(Mail::Signal(number));
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.desk.put(Order::Quit);
        let _ = self.mail.send(Mail::Quit);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What the compiler is asked to do; a newer order of the same kind replaces an older one.
#[derive(Debug)]
enum Order {
    Run(Arc<str>, Generation),
    Check(Arc<str>, Generation),
    Quit,
}

#[derive(Debug, Default)]
struct Pending {
    run: Option<(Arc<str>, Generation)>,
    check: Option<(Arc<str>, Generation)>,
    quit: bool,
}

/// Where orders lie until the compiler takes them.
#[derive(Debug, Default)]
struct Desk {
    pending: Mutex<Pending>,
    arrived: Condvar,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, order: Order) {
        let mut pending = self.lock();
        match order {
            Order::Run(text, generation) => pending.run = Some((text, generation)),
            Order::Check(text, generation) => pending.check = Some((text, generation)),
            Order::Quit => pending.quit = true,
        }
        self.arrived.notify_one();
    }

    /// Waits for the next order; runs go before checks.
    fn take(&self) -> Order {
        let mut pending = self.lock();
        loop {
            if pending.quit {
                return Order::Quit;
            }
            if let Some((text, generation)) = pending.run.take() {
                return Order::Run(text, generation);
            }
            if let Some((text, generation)) = pending.check.take() {
                return Order::Check(text, generation);
            }
            pending = self.arrived.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn tell_compiled(updates: &SyncSender<Update>, generation: Generation, compilation: &Compilation) {
    let _ = updates.send(Update::Compiled {
        generation,
        diagnostics: compilation.diagnostics.clone(),
        figures: compilation.output.as_ref().map(|o| o.figures),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_text_wins_and_runs_go_first() {
        let desk = Desk::default();
        desk.put(Order::Check("c".into(), 1));
        desk.put(Order::Run("old".into(), 2));
        desk.put(Order::Run("new".into(), 3));
        assert!(matches!(desk.take(), Order::Run(text, 3) if &*text == "new"));
        assert!(matches!(desk.take(), Order::Check(_, 1)));
        desk.put(Order::Run("never".into(), 4));
        desk.put(Order::Quit);
        assert!(matches!(desk.take(), Order::Quit));
    }
}
