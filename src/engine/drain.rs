//! The drain: one plain thread that empties the ring buffer in batches.
//!
//! Programs write records without waking anybody (a wake-up for each event halves the throughput);
//! the thread looks at the ring every 200 µs while there is much traffic and backs off to a few
//! milliseconds when there is little: each look is a switch of tasks or two, which a script
//! that traces those would see again and again. When nothing comes, it tells the programs to wake it
//! and sleeps: a trace that waits for something rare costs nothing. While the reader is behind, batches
//! wait in the thread's own queue, compressed, so that a burst is lost only when that is full too.

mod elsewhere;
mod queue;

use std::os::fd::{AsFd as _, OwnedFd};

use crate::thread::{self, Rights};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::thread::Pid;

use super::reports::Reports;
use super::sys::memory::Area;
use elsewhere::Elsewhere;
use queue::Queue;

/// A batch is handed over when it has this many bytes.
const BATCH_BYTES: usize = 256 << 10;
/// Shortest and longest pause between two looks at the ring. The longest is well below the time that one CPU
/// needs to fill the kernel's ring buffer (8 MB at 400 MB/s: 20 ms); that of a CPU's own may be smaller.
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(4);
/// Longest sleep. Programs wake the thread out of it; only a report that was on its way while the
/// thread fell asleep waits until its end.
const ASLEEP: Duration = Duration::from_millis(250);
/// Traffic is little while a look finds less than one of so many parts of the ring: of the usual ring,
/// 64 KB.
const LITTLE: usize = 256;

/// Raw records in the order in which they were reserved.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Batch {
    const NONE: Self = Self { bytes: Vec::new(), ends: Vec::new() };

    /// How many records it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The records, each from its header (see `codegen::artifact::RECORD_HEADER`).
    pub fn records(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start as usize..*end as usize])
    }

    /// Adds a record; false when the batch is full.
    pub fn push(&mut self, record: &[u8]) -> bool {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len() as u32);
        self.bytes.len() < BATCH_BYTES
    }
}

/// Takes batches in the drain thread.
pub type Sink = Box<dyn FnMut(Batch, Wait) -> Handed + Send>;

/// Whether a sink may wait for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No: it gives the batch back while the reader is behind.
    No,
    /// Yes: meanwhile the ring fills and the kernel counts what is lost.
    Yes,
}

/// What became of a batch.
#[derive(Debug)]
pub enum Handed {
    /// The reader has it or will.
    Taken,
    /// The reader is behind: here it is again.
    Back(Batch),
    /// Nobody listens any more: the draining ends.
    Gone,
}

/// Sends a batch over a bounded channel whose messages it is wrapped in.
pub fn send<M>(
    channel: &SyncSender<M>,
    batch: Batch,
    wait: Wait,
    wrap: impl FnOnce(Batch) -> M,
    unwrap: impl FnOnce(M) -> Option<Batch>,
) -> Handed {
    match wait {
        Wait::Yes => channel.send(wrap(batch)).map_or(Handed::Gone, |()| Handed::Taken),
        Wait::No => match channel.try_send(wrap(batch)) {
            Ok(()) => Handed::Taken,
            Err(TrySendError::Full(message)) => unwrap(message).map_or(Handed::Gone, Handed::Back),
            Err(TrySendError::Disconnected(_)) => Handed::Gone,
        },
    }
}

/// The word by which programs are told whether to wake the thread (`GlobalKind::WakeUps`).
#[derive(Debug)]
pub struct WakeUps {
    /// The memory with the word.
    pub area: Arc<Area>,
    /// Where it is in there, bytes.
    pub offset: usize,
}

impl WakeUps {
    fn set(&self, wanted: bool) {
        self.area.write_u64(self.offset, u64::from(wanted));
    }
}

/// The running thread.
#[derive(Debug)]
pub struct Drain {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Wakes the thread from this side.
    nudges: OwnedFd,
    stop: AtomicBool,
    delivered: AtomicU64,
    /// Number of the last call of [`Drain::ask`].
    asked: AtomicU64,
    /// Number of the last such call that is done.
    answered: AtomicU64,
    /// The thread's id, once it runs.
    thread: OnceLock<Pid>,
}

impl Shared {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            nudges: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stop: AtomicBool::default(),
            delivered: AtomicU64::default(),
            asked: AtomicU64::default(),
            answered: AtomicU64::default(),
            thread: OnceLock::new(),
        })
    }
}

impl Drain {
    /// Starts draining `ring` into `sink`. Without `wake_ups` the thread never sleeps long.
    pub(super) fn start(ring: Reports, wake_ups: Option<WakeUps>, sink: Sink) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new()?);
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn("psc-drain", Rights::All, move || {
            // It may hurry, and nothing after that.
            thread::hurry();
            Rights::Nothing.keep();
            run(ring, wake_ups.as_ref(), sink, &theirs);
        })?;
        Ok(Self { thread: Some(thread), shared })
    }

    /// Keeps the thread off the caller's CPU, and the caller on it, until what is given back is dropped.
    #[must_use]
    pub fn elsewhere(&self) -> Option<Elsewhere> {
        Elsewhere::part_from(*self.shared.thread.wait())
    }

    /// Records handed to the sink so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Asks for everything that is in the ring now. It is with the sink once [`Drain::answered`]
    /// has reached the number given here.
    #[must_use]
    pub fn ask(&self) -> u64 {
        let number = self.shared.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.nudge();
        number
    }

    /// The last request that was fulfilled.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Acquire)
    }

    /// Looks at the ring at once instead of after the pause.
    pub fn nudge(&self) {
        // Full only when nobody has read 2^64 - 2 nudges; the thread is awake then.
        let _ = rustix::io::write(&self.shared.nudges, &1_u64.to_ne_bytes());
    }

    /// Makes the thread empty the ring a last time and end; its sink is dropped then. Does not wait:
    /// whoever takes the batches must go on taking them until the sink is gone.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.nudge();
    }
}

impl Drain {
    /// Stops and waits for the thread's end.
    pub fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Drain {
    /// Stops without waiting: whoever drops a trace that was not finished takes no more batches, and the thread
    /// may be waiting for just that.
    fn drop(&mut self) {
        self.stop();
    }
}

/// Niceness of the drain thread: on a busy machine it must run before the ring is full (8 MB hold
/// some 50 ms of a burst). It works in short turns, so it takes the CPU from nobody for long.
const NICENESS: i32 = -15;

/// Puts this thread first where that is allowed (`CAP_SYS_NICE`); it ends with the thread.
fn hurry() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS);
}

/// Waits for a nudge, or for a report where programs wake us, at most `longest`.
fn wait(ring: Option<&Reports>, shared: &Shared, longest: Duration) {
    let nudges = PollFd::new(&shared.nudges, PollFlags::IN);
    let longest = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    // An interrupted wait is a short one.
    let _ = match ring {
        Some(ring) => poll(&mut [nudges, PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN)], Some(&longest)),
        None => poll(&mut [nudges], Some(&longest)),
    };
    let _ = rustix::io::read(&shared.nudges, &mut [0; 8]);
}

/// Falls asleep until a report or a nudge comes, unless a report is on its way.
fn sleep(ring: &Reports, wake_ups: &WakeUps, shared: &Shared) {
    wake_ups.set(true);
    // Orders the word before the look: a program makes room in the ring before it reads the word.
    fence(Ordering::SeqCst);
    if ring.is_empty() {
        wait(Some(ring), shared, ASLEEP);
    } else {
        wait(None, shared, LONGEST);
    }
    wake_ups.set(false);
}

fn run(mut ring: Reports, wake_ups: Option<&WakeUps>, sink: Sink, shared: &Shared) {
    let _ = shared.thread.set(rustix::thread::gettid());
    hurry();
    let mut pause = SHORTEST;
    let longest = ring.fills_in().map_or(LONGEST, |filled| LONGEST.min(filled / 2)).max(SHORTEST);
    let mut queue = Queue::new(sink, shared);
    loop {
        // Read before the ring: what was reported before the stop is still taken.
        let last = shared.stop.load(Ordering::Acquire);
        let asked = shared.asked.load(Ordering::Acquire);
        let mut taken = 0;
        loop {
            let full = queue.fill(&mut ring, &mut taken);
            if !queue.hand_over(if queue.has_room() { Wait::No } else { Wait::Yes }) {
                return;
            }
            if !full {
                break;
            }
        }
        if last && taken == 0 {
            queue.hand_over_all();
            return;
        }
        if queue.is_empty() {
            shared.answered.store(asked, Ordering::Release);
        }
        let busy = taken >= ring.bytes() / LITTLE || !queue.is_empty();
        let sleepy = pause >= longest && taken == 0;
        pause = if busy { SHORTEST } else { (pause * 2).min(longest) };
        match wake_ups {
            _ if last => {}
            Some(wake_ups) if sleepy && !busy => sleep(&ring, wake_ups, shared),
            _ => wait(None, shared, pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_its_records_in_order() {
        let mut batch = Batch::default();
        assert!(batch.push(b"one"));
        assert!(batch.push(b""));
        assert!(batch.push(b"three"));
        let records: Vec<&[u8]> = batch.records().collect();
        assert_eq!(records, [&b"one"[..], b"", b"three"]);
        assert!(!batch.push(&vec![0; BATCH_BYTES]), "a full batch says so");
    }
}
