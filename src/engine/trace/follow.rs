//! What changes around a trace while it runs: the wall clock, and which CPUs there are.

use super::Trace;
use crate::codegen::artifact::GlobalKind;
use crate::engine::attach::cpus::{self, CpuChange, Running};

impl Trace {
    /// Tells programs what the wall clock shows, which may have been set.
    pub fn follow_clock(&self) {
        self.set_global(GlobalKind::WallMinusBootNs, crate::engine::wall_ns().wrapping_sub(crate::engine::boot_ns()));
    }

    /// Where CPUs came or went since the last time: lets go of what was on them, and attaches to those that came.
    pub fn follow_cpus(&mut self) -> Option<CpuChange> {
        let (place, before) = self.followed.as_mut()?;
        let now = Running::now(&place.sys);
        if now == *before || self.links.is_empty() {
            return None;
        }
        let before = std::mem::replace(before, now.clone());
        let compiled = (&*self.program, &*self.artifact, &self.object);
        Some(cpus::follow(compiled, place, (&before, &now), &mut self.links))
    }
}
