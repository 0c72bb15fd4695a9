//! What a spinning thread counts itself of a latency over a threshold: its parts need no flight recorder.

use crate::model::latency::{ByClass, LatencyParts};

/// What a spinning thread counts of a gap, or of all gaps of a period.
#[derive(Clone, Copy, Default)]
pub struct Spun {
    /// ns of gaps.
    pub noise: u64,
    /// ns of gaps in which nothing was entered.
    pub hardware: u64,
    /// Net ns in the others.
    pub net: ByClass,
}

/// Numbers in [`Spun`].
pub const COUNTED: usize = 6;

impl Spun {
    /// One gap more.
    pub fn add(&mut self, gap: u64, entered: bool, parts: &ByClass) {
        self.noise += gap;
        if entered {
            self.net.add(parts);
        } else {
            self.hardware += gap;
        }
    }

    /// As numbers that a reader takes one by one.
    pub const fn words(&self) -> [u64; COUNTED] {
        let ByClass { nmi, irq, softirq, thread } = self.net;
        [self.noise, self.hardware, nmi, irq, softirq, thread]
    }

    /// The parts of `long` ns.
    pub fn parts(
        [noise, hardware_ns, nmi_ns, irq_ns, softirq_ns, thread_ns]: [u64; COUNTED],
        long: u64,
    ) -> LatencyParts {
        let explained = hardware_ns + nmi_ns + irq_ns + softirq_ns + thread_ns;
        LatencyParts {
            hardware_ns,
            nmi_ns,
            irq_ns,
            softirq_ns,
            thread_ns,
            residual_ns: noise.wrapping_sub(explained).cast_signed(),
            spun_ns: long.saturating_sub(noise),
            ..LatencyParts::default()
        }
    }
}
