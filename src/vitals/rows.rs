//! What is watched, a row each.

/// What a map of the program holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Happenings, counted.
    Count,
    /// Nanoseconds of CPUs, summed: shown as a part of all CPUs' time.
    CpuTime,
    /// Microseconds, as a histogram of powers of two.
    Times,
    /// Happenings by a number (errno).
    ByErrno,
}

/// One thing that is watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vital {
    /// Its name, for people.
    pub name: &'static str,
    /// Its key in JSON.
    pub key: &'static str,
    /// The map of the program, or of control groups.
    pub map: &'static str,
    /// What the map holds.
    pub form: Form,
    /// From here on it is bad whatever it was before: a rate a second, a part of the CPUs (1.0 is all), or
    /// microseconds of the 99th percentile.
    pub bad: f64,
    /// Below this it is never called unusual: small numbers jump.
    pub quiet: f64,
    /// The question that goes deeper.
    pub deeper: &'static str,
}

const fn vital(
    (name, key, map): (&'static str, &'static str, &'static str),
    form: Form,
    (quiet, bad): (f64, f64),
    deeper: &'static str,
) -> Vital {
    Vital { name, key, map, form, bad, quiet, deeper }
}

/// The map in which a face puts what it reads of control groups.
pub const THROTTLED: &str = "@throttled";

/// All of them, in the order in which they are shown.
pub const VITALS: &[Vital] = &[
    vital(("wait for a CPU", "run_queue", "@run_queue"), Form::Times, (2_000.0, 20_000.0), "cpu-wait"),
    vital(("interrupts", "interrupts", "@interrupts"), Form::CpuTime, (0.02, 0.15), "cpu-interrupts"),
    vital(("soft interrupts", "soft_interrupts", "@soft_interrupts"), Form::CpuTime, (0.03, 0.25), "cpu-softirqs"),
    vital(("throttled groups", "throttled", THROTTLED), Form::Count, (1.0, 1.0), "cpu-throttled"),
    vital(("waits for a disk", "io_wait", "@io_wait"), Form::Times, (50_000.0, 1_000_000.0), "wait-uninterruptible"),
    vital(("locks of the kernel", "locks", "@locks"), Form::Times, (500.0, 20_000.0), "locks-kernel"),
    vital(("block requests", "block", "@block"), Form::Times, (5_000.0, 100_000.0), "disk-latency"),
    vital(("block errors", "block_errors", "@block_errors"), Form::Count, (1.0, 1.0), "disk-errors"),
    vital(("major faults", "major_faults", "@major_faults"), Form::Count, (50.0, 1_000.0), "memory-major-faults"),
    vital(("direct reclaim", "reclaim", "@reclaim"), Form::Times, (1_000.0, 10_000.0), "memory-reclaim"),
    vital(("kills for memory", "oom_kills", "@oom_kills"), Form::Count, (1.0, 1.0), "process-oom"),
    vital(("TCP retransmits", "retransmits", "@retransmits"), Form::Count, (5.0, 100.0), "network-retransmits"),
    vital(("TCP resets sent", "resets_sent", "@resets_sent"), Form::Count, (5.0, 100.0), "network-resets"),
    vital(("TCP resets received", "resets_received", "@resets_received"), Form::Count, (5.0, 100.0), "network-resets"),
    vital(("failing calls", "failing_calls", "@failing"), Form::ByErrno, (100.0, 100_000.0), "failing-calls"),
    vital(("programs started", "starts", "@starts"), Form::Count, (20.0, 500.0), "process-starts"),
    vital(("crashes", "crashes", "@crashes"), Form::Count, (1.0, 1.0), "process-crashes"),
];
