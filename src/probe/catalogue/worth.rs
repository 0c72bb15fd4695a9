//! What a probe is worth whatever was typed. It is worked out once, when its part is built.

use super::ProbeKind;

/// Its kind, whether it can be attached, who made it (`demoted`: the compiler), how long its name is.
pub(super) fn of(kind: ProbeKind, name: &str, absent: bool, demoted: bool) -> i16 {
    let worth = match kind {
        ProbeKind::Tracepoint | ProbeKind::Special => 40,
        ProbeKind::Fentry => 24,
        ProbeKind::Kprobe | ProbeKind::Usdt => 20,
        ProbeKind::Uprobe | ProbeKind::Software => 18,
        ProbeKind::RawTracepoint => 16,
        ProbeKind::Hardware | ProbeKind::Iter => 12,
        ProbeKind::Fexit | ProbeKind::Kretprobe | ProbeKind::Uretprobe => 0,
    };
    // People look for the entry of a call before its exit.
    let exit = if kind == ProbeKind::Tracepoint && name.contains(":sys_exit_") { 12 } else { 0 };
    let absent = if absent { 30 } else { 0 };
    let demoted = if demoted { 150 } else { 0 };
    worth - exit - absent - demoted - (name.len().min(120) as i16) / 4
}

/// Start of what follows the last colon or slash (`software:cpu-clock:` has an empty last part, which
/// is left out).
pub(super) fn own_name_start(name: &str) -> usize {
    let trimmed = name.strip_suffix(':').unwrap_or(name);
    trimmed.rfind([':', '/']).map_or(0, |at| at + 1)
}
