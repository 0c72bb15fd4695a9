//! Sets of CPUs as the kernel writes them.

use super::Kernel;

/// Most CPUs believed: the kernel's own limit is 8192 (`NR_CPUS`).
const MAX_CPUS: u32 = 8192;

/// A set of CPU numbers, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CpuSet(Vec<u32>);

impl CpuSet {
    /// Reads a list such as `0-3,8,10-11`. Empty when it makes no sense or names CPUs over 8191.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|p| !p.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
                return Self::default();
            };
            if last >= MAX_CPUS {
                return Self::default();
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }

    /// The CPU numbers, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest, 0 when there are none.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }
}

impl Kernel {
    /// CPUs that may ever come online: per-CPU maps have one value for each. At least CPU 0.
    pub fn possible_cpus(&self) -> CpuSet {
        self.cpu_set("possible")
    }

    /// CPUs that run now. At least CPU 0.
    pub fn online_cpus(&self) -> CpuSet {
        self.cpu_set("online")
    }

    /// Whether this is a kernel with PREEMPT_RT, in which interrupts' work is done by threads.
    pub fn is_realtime(&self) -> bool {
        self.sys_text("kernel/realtime").is_some_and(|text| text.trim() == "1")
    }

    fn cpu_set(&self, which: &str) -> CpuSet {
        let text = self.sys_text(format!("devices/system/cpu/{which}")).unwrap_or_default();
        let set = CpuSet::parse(&text);
        if set.is_empty() { CpuSet(vec![0]) } else { set }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        assert_eq!(CpuSet::parse("0-2,8,10-11\n").as_slice(), [0, 1, 2, 8, 10, 11]);
        assert!(CpuSet::parse("0-4000000000").is_empty());
        assert!(CpuSet::parse("a").is_empty());
    }
}
