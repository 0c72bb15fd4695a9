//! BPF object to running trace: load, attach, drain, decode, symbolise, losses, cost. All of libbpf
//! is here.

pub mod attach;
mod cost;
pub mod decode;
pub mod drain;
pub mod error;
pub mod load;
pub mod maps;
pub mod names;
pub mod symbols;
mod sys;
pub mod trace;

pub use error::EngineError;
pub use trace::{Trace, TraceOptions};

/// Now, ns of `CLOCK_MONOTONIC`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock(rustix::time::ClockId::Monotonic)
}

/// Now, ns of `CLOCK_BOOTTIME`.
#[must_use]
pub fn boot_ns() -> u64 {
    clock(rustix::time::ClockId::Boottime)
}

fn clock(id: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(id);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

/// CPUs of a list as sysfs writes them (`0-3,8`); empty when there is none to read.
#[must_use]
pub fn cpu_list(text: &str) -> Vec<u32> {
    const MOST: u32 = 1 << 16;
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?.min(MOST)))
    });
    ranges.flat_map(|(first, last)| first..=last).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn cpu_lists_of_sysfs() {
        assert_eq!(super::cpu_list("0-1,4,6-7\n"), [0, 1, 4, 6, 7]);
        assert!(super::cpu_list("\n").is_empty());
    }
}
