//! The scripts of the kernel-time table, each with its hand-written C where there is one.

/// One row.
pub struct Row {
    /// The script's probes.
    pub script: &'static str,
    /// File in `benches/c/` without `.bpf.c`.
    pub c: Option<&'static str>,
}

const fn row(script: &'static str, c: Option<&'static str>) -> Row {
    Row { script, c }
}

/// All rows: the baseline table first, then further ones.
pub const ROWS: &[Row] = &[
    row("tracepoint:syscalls:sys_enter_getppid { @ = count(); }", Some("count")),
    row("tracepoint:syscalls:sys_enter_getppid { @[comm, pid] = count(); }", Some("count_comm_pid")),
    row("tracepoint:syscalls:sys_enter_getppid { @ = hist(nsecs); }", Some("hist_nsecs")),
    row("tracepoint:syscalls:sys_enter_getppid { printf(\"%d %s %d\\n\", pid, comm, nsecs); }", Some("printf")),
    row("tracepoint:syscalls:sys_enter_getppid { @s[tid] = nsecs; }", Some("store_start")),
    row(
        "tracepoint:syscalls:sys_enter_getppid { @s[tid] = nsecs; } \
         tracepoint:syscalls:sys_exit_getppid /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }",
        Some("latency"),
    ),
    row("tracepoint:syscalls:sys_enter_getppid { @[kstack(8)] = count(); }", Some("kstack")),
    row("tracepoint:syscalls:sys_enter_getppid { @ = stats(nsecs); }", Some("stats")),
    row("tracepoint:syscalls:sys_enter_getppid { @x++; }", Some("increment")),
    row("tracepoint:syscalls:sys_enter_getppid { @[tid] = count(); }", Some("count_tid")),
    row("tracepoint:syscalls:sys_enter_getppid { @[comm] = hist(nsecs); }", Some("hist_comm")),
    row("tracepoint:syscalls:sys_enter_getppid { @ = lhist(pid, 0, 1000, 100); }", Some("lhist_pid")),
    row("tracepoint:syscalls:sys_enter_getppid /comm == \"nothing\"/ { @ = count(); }", Some("comm_is")),
    row("tracepoint:raw_syscalls:sys_enter /args.id == 110/ { @ = count(); }", Some("raw_id")),
    row("tracepoint:syscalls:sys_exit_getppid { @ = max(args.ret); @a = avg(args.ret); }", Some("max_avg")),
    row(
        "tracepoint:syscalls:sys_enter_getppid { if (pid > 1 && cpu < 64) { @[cpu] = sum(pid); } }",
        Some("sum_by_cpu"),
    ),
    row("tracepoint:syscalls:sys_enter_getppid { @ = (pid, tid, nsecs); }", Some("tuple")),
];
