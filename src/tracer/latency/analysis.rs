//! A latency over a threshold, taken apart: who had the CPU at each of its nanoseconds.

use crate::model::latency::{Interval, LatencyParts, NoiseClass};

/// What an episode is made of, from whichever backend.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The time that was set, or the gap's beginning.
    pub began_ns: u64,
    /// The end.
    pub ended_ns: u64,
    /// When the interrupt of the timer began, and when its function ran; `None` where no timer is concerned.
    pub irq: Option<(u64, u64)>,
    /// The name of the thread that had the CPU when the timer expired, as intervals have it.
    pub blocker: Option<String>,
    /// What ran.
    pub intervals: Vec<Interval>,
    /// From when on all that ran is known; 0 where the record is whole.
    pub recorded_from_ns: u64,
}

/// Which interval has the CPU where several are open: the one that interrupts the others.
const fn rank(class: NoiseClass) -> u8 {
    match class {
        NoiseClass::Nmi => 4,
        NoiseClass::Irq => 3,
        NoiseClass::Softirq => 2,
        NoiseClass::Thread => 1,
        NoiseClass::Hardware | NoiseClass::Timer => 0,
    }
}

impl Facts {
    /// Whether an interval is the interrupt of the timer itself.
    fn is_timer_irq(&self, interval: &Interval) -> bool {
        let Some((start, expired)) = self.irq else { return false };
        interval.class == NoiseClass::Irq
            && interval.start_ns <= expired.max(start)
            && interval.end_ns() >= expired.max(start)
    }

    /// The parts, which add up to the latency: each nanosecond is charged to whoever had the CPU in it. Before the
    /// timer's interrupt, time of threads and of nobody is the interrupt's delay: interrupts were off, or the CPU was
    /// asleep. After it, time of nobody is the residual. What came before the record is nobody's.
    #[must_use]
    pub fn parts(&self) -> LatencyParts {
        let mut parts = LatencyParts {
            irq_latency_ns: self.irq.map(|(_, ran)| ran.saturating_sub(self.began_ns)),
            ..LatencyParts::default()
        };
        let irq_start =
            self.irq.map_or(self.began_ns, |(start, _)| start).clamp(self.began_ns, self.ended_ns.max(self.began_ns));
        let inside: Vec<&Interval> =
            self.intervals.iter().filter(|i| i.start_ns < self.ended_ns && i.end_ns() > self.began_ns).collect();
        let mut edges = vec![self.began_ns, irq_start, self.ended_ns, self.recorded_from_ns];
        edges.extend(inside.iter().flat_map(|i| [i.start_ns, i.end_ns()]));
        edges.retain(|e| (self.began_ns..=self.ended_ns).contains(e));
        edges.sort_unstable();
        edges.dedup();
        for pair in edges.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if from < self.recorded_from_ns {
                // Whatever is known of it may have been interrupted by what is not known any more.
                parts.unrecorded_ns += to - from;
                continue;
            }
            let owner = inside
                .iter()
                .filter(|i| i.start_ns <= from && i.end_ns() >= to)
                .max_by_key(|i| (rank(i.class), i.start_ns));
            self.charge(&mut parts, owner.copied(), to - from, from < irq_start);
        }
        parts
    }

    fn charge(&self, parts: &mut LatencyParts, owner: Option<&Interval>, ns: u64, before_irq: bool) {
        match owner {
            Some(i) if i.class == NoiseClass::Nmi => parts.nmi_ns += ns,
            Some(i) if self.is_timer_irq(i) => parts.timer_irq_ns += ns,
            Some(i) if i.class == NoiseClass::Irq => parts.irq_ns += ns,
            Some(i) if i.class == NoiseClass::Softirq => parts.softirq_ns += ns,
            _ if before_irq => parts.irq_delay_ns += ns,
            Some(i) if self.blocker.as_ref().is_some_and(|name| *name == i.name) => parts.blocking_thread_ns += ns,
            Some(_) => parts.thread_ns += ns,
            None => parts.residual_ns = parts.residual_ns.saturating_add_unsigned(ns),
        }
    }

    /// The interrupts that ended before the timer's own began and may have delayed it, oldest first.
    #[must_use]
    pub fn previous_irqs(&self) -> Vec<Interval> {
        let Some((start, _)) = self.irq else { return Vec::new() };
        let delays = |i: &&Interval| {
            i.class == NoiseClass::Irq && i.end_ns() <= start && i.end_ns() > self.began_ns && !self.is_timer_irq(i)
        };
        self.intervals.iter().filter(delays).cloned().collect()
    }

    /// Whether the record begins too late.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.recorded_from_ns > self.began_ns
    }

    /// What lies in the episode, by start; at one start, the longer first.
    #[must_use]
    pub fn inside(&self) -> Vec<Interval> {
        let overlaps = |i: &&Interval| i.start_ns < self.ended_ns && i.end_ns() > self.began_ns;
        let mut inside: Vec<Interval> = self.intervals.iter().filter(overlaps).cloned().collect();
        inside.sort_by_key(|i| (i.start_ns, u64::MAX - i.duration_ns));
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(class: NoiseClass, name: &str, start: u64, duration: u64) -> Interval {
        Interval { class, name: name.to_owned(), start_ns: start, duration_ns: duration, net_ns: duration }
    }

    #[test]
    fn a_late_thread_in_parts() {
        // Set for 1000; a device interrupt until 1200; the timer's own from 1300 to 1400, which found `cat` running;
        // then a softirq inside of `cat`, and another thread; 100 ns belong to nobody.
        let facts = Facts {
            began_ns: 1000,
            ended_ns: 3000,
            irq: Some((1300, 1350)),
            blocker: Some("cat:7".into()),
            intervals: vec![
                interval(NoiseClass::Irq, "nic:24", 900, 300),
                interval(NoiseClass::Irq, "local_timer:236", 1300, 100),
                interval(NoiseClass::Thread, "cat:7", 500, 1700),
                interval(NoiseClass::Softirq, "NET_RX:3", 1500, 200),
                interval(NoiseClass::Nmi, "perf", 1600, 50),
                interval(NoiseClass::Thread, "dog:8", 2200, 700),
            ],
            recorded_from_ns: 0,
        };
        let parts = facts.parts();
        let expected = LatencyParts {
            irq_delay_ns: 100,
            irq_latency_ns: Some(350),
            timer_irq_ns: 100,
            blocking_thread_ns: 600,
            nmi_ns: 50,
            irq_ns: 200,
            softirq_ns: 150,
            thread_ns: 700,
            residual_ns: 100,
            ..LatencyParts::default()
        };
        assert_eq!(parts, expected);
        assert_eq!(facts.previous_irqs().iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["nic:24"]);
        assert_eq!(facts.inside()[0].name, "cat:7");
    }

    #[test]
    fn what_came_before_the_record_is_nobodys() {
        let facts = Facts {
            began_ns: 1000,
            ended_ns: 3000,
            intervals: vec![interval(NoiseClass::Thread, "cat:7", 1200, 1300)],
            recorded_from_ns: 2000,
            ..Facts::default()
        };
        let parts = facts.parts();
        assert_eq!((parts.unrecorded_ns, parts.thread_ns, parts.residual_ns), (1000, 500, 500));
        assert!(facts.is_truncated());
    }

    fn any_interval() -> impl Strategy<Value = Interval> {
        let class = prop_oneof![
            Just(NoiseClass::Nmi),
            Just(NoiseClass::Irq),
            Just(NoiseClass::Softirq),
            Just(NoiseClass::Thread)
        ];
        (class, 0_u64..5000, 0_u64..3000).prop_map(|(class, start, duration)| interval(class, "x", start, duration))
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_latency(
            intervals in prop::collection::vec(any_interval(), 0..40),
            began in 0_u64..4000, long in 0_u64..4000, irq in prop::option::of((0_u64..6000, 0_u64..500)),
            recorded_from_ns in 0_u64..9000,
        ) {
            let facts = Facts {
                began_ns: began,
                ended_ns: began + long,
                irq: irq.map(|(start, more)| (start, start + more)),
                blocker: None,
                intervals,
                recorded_from_ns,
            };
            let parts = facts.parts();
            let sum = parts.irq_delay_ns + parts.timer_irq_ns + parts.blocking_thread_ns + parts.nmi_ns + parts.irq_ns
                + parts.softirq_ns + parts.thread_ns + parts.unrecorded_ns;
            prop_assert!(parts.residual_ns >= 0);
            prop_assert_eq!(sum + parts.residual_ns.unsigned_abs(), long);
        }
    }
}
