//! What a probe is worth whatever was typed. It is worked out once, when its part is built.

use super::kind::ProbeKind;

/// Tracepoints that people look for before those of single drivers and file systems.
const CORE: &[&str] = &[
    "block",
    "cgroup",
    "exceptions",
    "filemap",
    "io_uring",
    "irq",
    "kmem",
    "mmap",
    "net",
    "oom",
    "power",
    "raw_syscalls",
    "sched",
    "signal",
    "skb",
    "sock",
    "syscalls",
    "task",
    "tcp",
    "timer",
    "udp",
    "vmscan",
    "workqueue",
    "writeback",
];

/// Its kind, who made it (`demoted`: the compiler), how long its name is.
pub(super) fn of(kind: ProbeKind, name: &str, demoted: bool) -> i16 {
    let worth = match kind {
        // There are few of these, and their names are kinds of their own.
        ProbeKind::Special if !name.starts_with("self:") => 100,
        ProbeKind::Tracepoint if is_core(name) => 52,
        ProbeKind::Tracepoint | ProbeKind::Special => 40,
        ProbeKind::Fentry => 24,
        ProbeKind::Kprobe | ProbeKind::Usdt => 20,
        ProbeKind::Uprobe | ProbeKind::Software => 18,
        ProbeKind::RawTracepoint => 16,
        ProbeKind::Hardware | ProbeKind::Iter => 12,
        ProbeKind::Fexit | ProbeKind::Kretprobe | ProbeKind::Uretprobe => 0,
    };
    // People look for the entry of a call before its exit.
    let exits = name.contains(":sys_exit_") || name.ends_with("_exit");
    let exit = if kind == ProbeKind::Tracepoint && exits { 12 } else { 0 };
    let demoted = if demoted { 150 } else { 0 };
    worth - exit - demoted - (name.len().min(120) as i16) / 4
}

fn is_core(name: &str) -> bool {
    name.split(':').nth(1).is_some_and(|category| CORE.contains(&category))
}

/// Start of what follows the last colon or slash (`software:cpu-clock:` has an empty last part, which
/// is left out). Of a system call's tracepoint it is the call's name, and of a timer the kind's.
pub(super) fn own_name_start(kind: ProbeKind, name: &str) -> usize {
    if kind == ProbeKind::Special {
        return 0;
    }
    let trimmed = name.strip_suffix(':').unwrap_or(name);
    let last = trimmed.rfind([':', '/']).map_or(0, |at| at + 1);
    let call = trimmed.get(last..).unwrap_or("");
    let call = call.strip_prefix("sys_enter_").or_else(|| call.strip_prefix("sys_exit_")).unwrap_or(call);
    trimmed.len() - call.len()
}
