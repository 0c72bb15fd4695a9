//! Keeping the drain off the CPU that is busy with a program that we run ourselves.
//!
//! The kernel runs such a program (`begin`, `end`) to its end on the CPU of the thread that asked for it, and most kernels
//! let nothing else onto that CPU meanwhile. A drain that waits for it there misses a burst that is longer than the ring.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// While this lives, the calling thread stays on its CPU and another thread of this process on the others.
#[derive(Debug)]
pub struct Elsewhere {
    other: Pid,
    before: CpuSet,
}

impl Elsewhere {
    /// Parts the calling thread from `other`; none where there is no second CPU for it, or no knowing.
    pub fn part_from(other: Pid) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mine = sched_getcpu();
        let mut theirs = before;
        if mine >= CpuSet::MAX_CPU || before.count() < 2 {
            return None;
        }
        theirs.unset(mine);
        let mut own = CpuSet::new();
        own.set(mine);
        sched_setaffinity(None, &own).ok()?;
        let parted = Self { other, before };
        sched_setaffinity(Some(other), &theirs).ok()?;
        Some(parted)
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // Both had the same CPUs before: the drain was started by a thread of this process.
        let _ = sched_setaffinity(None, &self.before);
        let _ = sched_setaffinity(Some(self.other), &self.before);
    }
}
