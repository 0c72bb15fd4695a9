//! The running half of tracers whose work is done on a thread of their own: libbpf's objects stay where they were made.
//! What such a thread finds needs nobody to say what it means.

use std::sync::Arc;

use crate::thread::{self, Rights};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::report::Face;
use super::{Begun, Control, Left, Refusal, Running, Started, TraceInfo, TracerError};

/// What a thread has of its tracer.
pub struct Inside<O> {
    /// Told once: what the trace is, or why there is none.
    pub tell: SyncSender<Result<Box<TraceInfo>, TracerError>>,
    /// Orders; closed when the thread is to end.
    pub orders: Receiver<O>,
    /// Set when it has ended by itself.
    pub over: Arc<AtomicBool>,
}

/// Starts a thread and waits until it has begun.
///
/// # Errors
/// When the thread cannot be started, or says that it cannot begin.
pub fn start<O: Send + 'static>(
    name: &str,
    order: fn(&Control) -> Option<O>,
    run: impl FnOnce(Inside<O>) + Send + 'static,
) -> Result<Begun, Box<Refusal>> {
    let (tell, told) = sync_channel(1);
    let (orders, inbox) = channel();
    let over = Arc::new(AtomicBool::new(false));
    let inside = Inside { tell, orders: inbox, over: Arc::clone(&over) };
    let thread = thread::spawn(name, Rights::All, move || run(inside))
        .map_err(|source| Box::<Refusal>::from(TracerError::Thread { name: name.to_owned(), source }))?;
    let info = match told.recv() {
        Ok(Ok(info)) => *info,
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(TracerError::EndedAtOnce { name: name.to_owned() }.into()),
    };
    let running = move || {
        let running = Threaded { orders: Some(orders), order, over, thread: Some(thread) };
        Box::new(running) as Box<dyn Running>
    };
    Ok(Begun { started: Started::default(), info, running: Box::new(running) })
}

/// A tracer whose thread runs.
struct Threaded<O> {
    /// Dropped to end it.
    orders: Option<Sender<O>>,
    order: fn(&Control) -> Option<O>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<O: Send + 'static> Running for Threaded<O> {
    fn control(&mut self, control: &Control) -> Result<(), TracerError> {
        if let (Some(order), Some(orders)) = ((self.order)(control), &self.orders) {
            // A thread that has ended tells so itself.
            let _ = orders.send(order);
        }
        Ok(())
    }

    fn stop(&mut self, _face: &mut dyn Face) -> Result<(), TracerError> {
        self.orders = None;
        Ok(())
    }

    fn drains(&self) -> bool {
        // One that has failed has said so, and says nothing more.
        !self.over.load(Ordering::Acquire)
    }

    fn finish(&mut self, _face: &mut dyn Face) -> Result<i32, TracerError> {
        Ok(0)
    }

    fn leave(mut self: Box<Self>) -> Left {
        self.orders = None;
        Left { rest: Some(Box::new(Leaving(self.thread.take()))), ..Left::default() }
    }
}

/// Waits for the thread, which detaches.
struct Leaving(Option<JoinHandle<()>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_before_it_tells_is_named() {
        let refused = start("probe", |_| None::<()>, drop).err().map(|refusal| refusal.error.to_string());
        assert_eq!(refused.as_deref(), Some("the thread `probe` ended before it had begun to trace"));
    }
}
