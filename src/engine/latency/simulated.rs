//! The meter's memory without its programs: a bench writes what they would, to see what reading costs on machines that
//! nobody has at hand.

use std::io;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::AsFd as _;

use super::layout::{self, Table, rings, slot};
use super::{Memory, Meter};
use crate::engine::sys::memory::Area;

impl Memory {
    /// Of so many CPUs, all zero.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn simulated(cpus: usize) -> io::Result<Self> {
        let area = |bytes: usize| {
            let file = memfd_create("meter", MemfdFlags::CLOEXEC)?;
            ftruncate(&file, (bytes * cpus) as u64)?;
            Area::map(file.as_fd(), bytes * cpus)
        };
        Ok(Self { slots: area(slot::BYTES)?, rings: area(rings::BYTES)?, sources: area(layout::SOURCES_BYTES)?, cpus })
    }

    /// What a program does when a source's run of `ns` ends.
    pub fn simulate_run(&self, cpu: u32, table: Table, index: usize, ns: u64) {
        let base = cpu as usize * layout::SOURCES_BYTES + table.start() + index * layout::SOURCE_BYTES;
        let add = |word: usize, by: u64| {
            let at = base + word * 8;
            self.sources.write_u64(at, self.sources.read_u64(at) + by);
        };
        self.sources.write_u64(base, index as u64 + 1);
        add(1, 1);
        add(2, ns);
        let bucket = (ns.max(1).ilog2() as usize).min(layout::BUCKETS - 1);
        add(8 + bucket / 2, 1 << (bucket % 2 * 32));
    }
}

impl Meter {
    /// One without programs.
    #[must_use]
    pub const fn simulated(memory: Arc<Memory>) -> Self {
        Self { links: Vec::new(), object: None, memory, left_out: Vec::new(), _statistics: None }
    }
}
