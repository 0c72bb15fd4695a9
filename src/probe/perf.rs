//! Software and hardware perf events: names, numbers and default periods
//! (`include/uapi/linux/perf_event.h`).

/// A perf event that a script can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfEvent {
    /// Name.
    pub name: &'static str,
    /// Its other, shorter name.
    pub alias: Option<&'static str>,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// Fires once per this many, when the script names no count.
    pub period: u64,
    /// What is counted.
    pub about: &'static str,
}

const fn event(
    name: &'static str,
    alias: Option<&'static str>,
    config: u64,
    period: u64,
    about: &'static str,
) -> PerfEvent {
    PerfEvent { name, alias, config, period, about }
}

/// `PERF_TYPE_SOFTWARE`.
pub const SOFTWARE: &[PerfEvent] = &[
    event("alignment-faults", None, 7, 1, "memory accesses that were not aligned and the kernel mended"),
    event("bpf-output", None, 10, 1, "records written by BPF programs"),
    event("context-switches", Some("cs"), 3, 1000, "switches from one thread to another"),
    event("cpu-clock", Some("cpu"), 0, 1_000_000, "nanoseconds of each CPU's clock"),
    event("cpu-migrations", None, 4, 1, "threads moved to another CPU"),
    event("dummy", None, 9, 1, "nothing; a place holder"),
    event("emulation-faults", None, 8, 1, "instructions that the kernel emulated"),
    event("major-faults", None, 6, 1, "page faults that needed input or output"),
    event("minor-faults", None, 5, 100, "page faults that needed none"),
    event("page-faults", Some("faults"), 2, 100, "page faults of all kinds"),
    event("task-clock", None, 1, 1, "nanoseconds of the running thread's clock"),
];

/// `PERF_TYPE_HARDWARE`.
pub const HARDWARE: &[PerfEvent] = &[
    event("backend-stalls", None, 8, 1_000_000, "cycles stalled on execution"),
    event("branch-instructions", Some("branches"), 4, 100_000, "branches"),
    event("branch-misses", None, 5, 100_000, "branches predicted wrongly"),
    event("bus-cycles", None, 6, 100_000, "bus cycles"),
    event("cache-misses", None, 3, 1_000_000, "last-level cache misses"),
    event("cache-references", None, 2, 1_000_000, "last-level cache accesses"),
    event("cpu-cycles", Some("cycles"), 0, 1_000_000, "CPU cycles"),
    event("frontend-stalls", None, 7, 1_000_000, "cycles stalled on instruction fetch"),
    event("instructions", None, 1, 1_000_000, "instructions retired"),
    event("ref-cycles", None, 9, 1_000_000, "CPU cycles at the reference frequency"),
];

/// The event of this name or alias.
#[must_use]
pub fn find(table: &'static [PerfEvent], name: &str) -> Option<&'static PerfEvent> {
    table.iter().find(|e| e.name == name || e.alias == Some(name))
}

/// Every name and alias of a table.
pub fn names(table: &'static [PerfEvent]) -> impl Iterator<Item = &'static str> {
    table.iter().flat_map(|e| std::iter::once(e.name).chain(e.alias))
}
