//! What befalls the machine while it is measured: it is suspended, or a CPU goes offline.

use std::time::{Duration, Instant};

use super::Item;
use crate::engine::{boot_ns, monotonic_ns};
use crate::kernel::Kernel;

/// How often the CPUs are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Suspended for less than this it was not: the clocks are read one after the other.
const SUSPENDED_NS: u64 = 10_000_000;

/// A look at the machine, from time to time.
#[derive(Debug)]
pub struct Watch {
    suspended_ns: u64,
    measured: Vec<u32>,
    gone: Vec<u32>,
    /// CPUs that come back are measured again.
    comes_back: bool,
    next: Instant,
}

impl Watch {
    /// Of these CPUs.
    #[must_use]
    pub fn new(measured: &[u32], comes_back: bool) -> Self {
        Self {
            suspended_ns: boot_ns().saturating_sub(monotonic_ns()),
            measured: measured.to_vec(),
            gone: Vec::new(),
            comes_back,
            next: Instant::now() + LOOK,
        }
    }

    /// Tells what has happened since the last call.
    pub fn look(&mut self, kernel: &Kernel, items: &mut Vec<Item>) {
        let suspended_ns = boot_ns().saturating_sub(monotonic_ns());
        if suspended_ns > self.suspended_ns + SUSPENDED_NS {
            let slept = (suspended_ns - self.suspended_ns) / 1_000_000;
            items.push(Item::Note(format!(
                "the machine was suspended for {slept} ms, which is in no figure; going to sleep and waking up is"
            )));
            self.suspended_ns = suspended_ns;
        }
        if Instant::now() >= self.next {
            self.next = Instant::now() + LOOK;
            let online = kernel.online_cpus();
            self.online(online.as_slice(), items);
        }
    }

    fn online(&mut self, online: &[u32], items: &mut Vec<Item>) {
        for cpu in &self.measured {
            let (is_here, was_gone) = (online.contains(cpu), self.gone.contains(cpu));
            if !is_here && !was_gone {
                self.gone.push(*cpu);
                items.push(Item::Note(format!("CPU {cpu} went offline: it is measured no longer")));
            } else if is_here && was_gone && self.comes_back {
                self.gone.retain(|gone| gone != cpu);
                items.push(Item::Note(format!("CPU {cpu} is online again and measured")));
            }
        }
    }

    /// A measuring thread was moved off its CPU.
    pub fn left(&mut self, cpu: u32, items: &mut Vec<Item>) {
        if !self.gone.contains(&cpu) {
            self.gone.push(cpu);
            items.push(Item::Note(format!(
                "CPU {cpu} went offline, or was taken from this process's cpuset: it is measured no longer"
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(watch: &mut Watch, online: &[u32]) -> Vec<String> {
        let mut items = Vec::new();
        watch.online(online, &mut items);
        items.into_iter().map(|item| if let Item::Note(text) = item { text } else { String::new() }).collect()
    }

    #[test]
    fn a_cpu_that_goes_is_told_once() {
        let mut watch = Watch::new(&[1, 2], true);
        assert!(told(&mut watch, &[0, 1, 2]).is_empty());
        assert_eq!(told(&mut watch, &[0, 1]), ["CPU 2 went offline: it is measured no longer"]);
        assert!(told(&mut watch, &[0, 1]).is_empty());
        assert_eq!(told(&mut watch, &[0, 1, 2]), ["CPU 2 is online again and measured"]);
        let mut threads = Watch::new(&[1], false);
        let mut items = Vec::new();
        threads.left(1, &mut items);
        assert_eq!((items.len(), told(&mut threads, &[0]).len(), told(&mut threads, &[1]).len()), (1, 0, 0));
    }
}
