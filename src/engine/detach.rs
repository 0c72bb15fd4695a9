//! Letting go of what programs are attached by.

use std::os::fd::{AsFd as _, AsRawFd as _, RawFd};

use super::attach::Attached;
use super::sys::release::{Closing, Holder};
use crate::codegen::artifact::ProgramKind;

use crate::thread::{self, Rights};

/// Threads that detach at once: some links of each.
const MOST_DETACHERS: usize = 128;
/// Stack of such a thread: it closes files.
const DETACHER_STACK: usize = 64 << 10;
/// What takes longer than this by its links' guess is let go by a process of its own, ms.
const LONG_MS: u64 = 250;

/// How long the kernel is busy with a link while it does nothing else, by guess, µs. It closes those of perf one after the
/// other (`event_mutex`), each after a grace period or two; of one with many functions, it patches each.
fn serial_us(link: &Attached) -> u64 {
    match link.kind {
        ProgramKind::Tracepoint | ProgramKind::Kprobe | ProgramKind::Uprobe => 50_000,
        ProgramKind::KprobeMulti | ProgramKind::KprobeSession | ProgramKind::FentryMulti | ProgramKind::FexitMulti => {
            50 * u64::from(link.targets)
        }
        // Each in the memory of every process that has the file mapped: 2,030 functions of the C library took 40 s.
        ProgramKind::UprobeMulti => 2_000 * u64::from(link.targets),
        ProgramKind::TestRun
        | ProgramKind::RawTracepoint
        | ProgramKind::SyscallDispatch
        | ProgramKind::Fentry
        | ProgramKind::Fexit
        | ProgramKind::PerfEvent
        | ProgramKind::Iter => 0,
    }
}

/// Detaches here. At each link the kernel waits until no program of it can run any more, for 30 to 60 ms (RCU); links that
/// several threads let go wait together.
fn detach(links: Vec<Attached>) {
    let threads = links.len().min(MOST_DETACHERS);
    if threads < 2 {
        return;
    }
    let mut shares: Vec<Vec<Attached>> = (0..threads).map(|_| Vec::new()).collect();
    for (nth, link) in links.into_iter().enumerate() {
        shares[nth % threads].push(link);
    }
    std::thread::scope(|scope| {
        for share in shares {
            // Where there can be no thread, the closure is dropped, and its links with it.
            let _ = thread::scoped(scope, ("psc-detach", Rights::Nothing), DETACHER_STACK, move || drop(share));
        }
    });
}

/// Links that are on their way out. Dropping it detaches, and blocks meanwhile.
#[derive(Debug, Default)]
pub struct Detaching {
    links: Vec<Attached>,
}

impl Detaching {
    pub(super) const fn of(links: Vec<Attached>) -> Self {
        Self { links }
    }

    /// Puts others' links to these.
    pub fn join(&mut self, mut others: Self) {
        self.links.append(&mut others.links);
    }

    /// How many links there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn links(&self) -> &[Attached] {
        &self.links
    }

    /// True without links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether the kernel needs more than a moment for them.
    #[must_use]
    pub fn takes_long(&self) -> bool {
        self.links.iter().map(serial_us).sum::<u64>() > LONG_MS * 1_000
    }

    /// Lets go of every link within a moment. What the kernel needs long for is detached by a process of its own, which
    /// goes on where this one ends.
    #[must_use]
    pub fn release(mut self) -> Released {
        let long = self.takes_long();
        let links = std::mem::take(&mut self.links);
        let (slow, quick): (Vec<_>, Vec<_>) = links.into_iter().partition(|link| serial_us(link) > 0);
        let points = slow.iter().map(|link| link.targets).sum();
        let holder =
            if long { Holder::of(slow.iter().map(|link| link.link.as_fd().as_raw_fd()).collect()).ok() } else { None };
        // Held by two, they are closed here at once.
        detach(slow);
        detach(quick);
        Released { points, closing: holder.map(Holder::close) }
    }
}

impl Drop for Detaching {
    fn drop(&mut self) {
        if !self.links.is_empty() {
            Self::of(std::mem::take(&mut self.links)).release().wait();
        }
    }
}

/// Gives every link of this process to another one, which lets it go once this one has ended: so that its end waits for none.
/// Where that can't be, the end waits.
pub fn leave_links() {
    let links = open_links();
    if !links.is_empty()
        && let Ok(holder) = Holder::of(links)
    {
        holder.stay();
    }
}

/// The numbers of all open files that are links or perf events.
fn open_links() -> Vec<RawFd> {
    const KINDS: [&str; 4] = ["[perf_event]", "bpf_link", "bpf-link", "bpf-raw-tracepoint"];
    let Ok(files) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let number = |file: std::fs::DirEntry| {
        let target = std::fs::read_link(file.path()).ok()?;
        let kind = target.to_str()?.strip_prefix("anon_inode:")?;
        KINDS.iter().any(|known| kind.contains(known)).then(|| file.file_name().to_str()?.parse().ok())?
    };
    files.flatten().filter_map(number).collect()
}

/// Links that this process has let go of.
#[derive(Debug, Default)]
pub struct Released {
    /// Attach points that a process of their own detaches.
    points: u32,
    closing: Option<Closing>,
}

impl Released {
    /// Attach points that the kernel may still be detaching.
    #[must_use]
    pub fn points(&self) -> u32 {
        if self.closing.as_ref().is_some_and(|closing| !closing.is_done()) { self.points } else { 0 }
    }

    /// Waits until all of it is detached.
    pub fn wait(&self) {
        if let Some(closing) = &self.closing {
            closing.wait();
        }
    }
}
