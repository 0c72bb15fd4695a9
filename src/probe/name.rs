//! The text by which a probe is known: what `probe` prints.

use super::perf;
use super::point::PointPattern;
use crate::model::target::{Rate, Target};

/// Full name of a concrete target, as the script's `probe` builtin prints it:
/// `tracepoint:syscalls:sys_enter_openat`.
#[must_use]
pub fn target_name(target: &Target) -> String {
    let returns = |ret: bool, entry: &'static str, exit: &'static str| if ret { exit } else { entry };
    match target {
        Target::Begin => "begin".into(),
        Target::End => "end".into(),
        Target::SelfSignal(number) => format!("self:signal:{}", signal_name(*number).unwrap_or("?")),
        Target::Test(name) => format!("test:{name}"),
        Target::Bench(name) => format!("bench:{name}"),
        Target::Interval { period_ns } => timed("interval", *period_ns),
        Target::Profile { rate: Rate::Hertz(hz) } => format!("profile:hz:{hz}"),
        Target::Profile { rate: Rate::PeriodNs(ns) } => timed("profile", *ns),
        Target::Tracepoint { category, event } => format!("tracepoint:{category}:{event}"),
        Target::RawTracepoint { event, module } => {
            format!("rawtracepoint:{}:{event}", if module.is_empty() { "vmlinux" } else { module })
        }
        Target::Kprobe { module, function, offset, ret } => {
            format!("{}:{}{}", returns(*ret, "kprobe", "kretprobe"), prefix(module), place(function, *offset))
        }
        Target::Fentry { module, function, exit, .. } => {
            format!("{}:{}{function}", returns(*exit, "fentry", "fexit"), prefix(module))
        }
        Target::Uprobe { path, symbol, file_offset, ret, .. } => {
            let kind = returns(*ret, "uprobe", "uretprobe");
            if symbol.is_empty() {
                format!("{kind}:{path}:{file_offset:#x}")
            } else {
                format!("{kind}:{path}:{symbol}")
            }
        }
        Target::Usdt { path, provider, name, .. } => format!("usdt:{path}:{provider}:{name}"),
        Target::PerfEvent { kind, config, period } => perf_name(*kind, *config, *period),
        Target::Watchpoint { address, length, mode, .. } => {
            format!("watchpoint:{address:#x}:{length}:{}", access(*mode))
        }
        Target::Iter { kind } => format!("iter:{kind}"),
    }
}

/// Name of a target that came from `pattern`: timers and counted events keep the words that the
/// script used (`interval:s:1`).
#[must_use]
pub fn written_name(pattern: &PointPattern, target: &Target) -> String {
    match pattern {
        PointPattern::Interval { written, .. } => format!("interval:{written}"),
        PointPattern::Profile { written, .. } => format!("profile:{written}"),
        PointPattern::Software { event, count } => counted("software", event.as_str(), *count),
        PointPattern::Hardware { event, count } => counted("hardware", event.as_str(), *count),
        PointPattern::Kprobe { module: None, .. } => match target {
            Target::Kprobe { function, offset, ret, .. } => target_name(&Target::Kprobe {
                module: "".into(),
                function: function.clone(),
                offset: *offset,
                ret: *ret,
            }),
            _ => target_name(target),
        },
        _ => target_name(target),
    }
}

fn counted(provider: &str, event: &str, count: Option<u64>) -> String {
    count.map_or_else(|| format!("{provider}:{event}"), |n| format!("{provider}:{event}:{n}"))
}

fn prefix(module: &str) -> String {
    if module.is_empty() { String::new() } else { format!("{module}:") }
}

fn place(function: &str, offset: u64) -> String {
    match (function.is_empty(), offset) {
        // An address, which bpftrace writes as a plain number.
        (true, _) => offset.to_string(),
        (false, 0) => function.to_owned(),
        (false, _) => format!("{function}+{offset}"),
    }
}

fn timed(provider: &str, ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.into_iter().find(|(_, size)| ns.is_multiple_of(*size) && ns != 0);
    unit.map_or_else(|| format!("{provider}:{ns}ns"), |(name, size)| format!("{provider}:{name}:{}", ns / size))
}

fn perf_name(kind: u32, config: u64, period: u64) -> String {
    let (provider, table) = if kind == 1 { ("software", perf::SOFTWARE) } else { ("hardware", perf::HARDWARE) };
    match table.iter().find(|e| e.config == config) {
        Some(event) if event.period == period => format!("{provider}:{}", event.name),
        Some(event) => format!("{provider}:{}:{period}", event.name),
        None => format!("{provider}:{config:#x}:{period}"),
    }
}

fn access(mode: u8) -> String {
    [(1, 'r'), (2, 'w'), (4, 'x')].into_iter().filter(|(bit, _)| mode & bit != 0).map(|(_, c)| c).collect()
}

/// Signals by number on Linux x86-64 and arm64 (`man 7 signal`).
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (16, "SIGSTKFLT"),
    (17, "SIGCHLD"),
    (18, "SIGCONT"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (21, "SIGTTIN"),
    (22, "SIGTTOU"),
    (23, "SIGURG"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (26, "SIGVTALRM"),
    (27, "SIGPROF"),
    (28, "SIGWINCH"),
    (29, "SIGIO"),
    (30, "SIGPWR"),
    (31, "SIGSYS"),
];

/// `SIGUSR1` of 10.
#[must_use]
pub fn signal_name(number: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
}

/// 10 of `SIGUSR1`.
#[must_use]
pub fn signal_number(name: &str) -> Option<i32> {
    SIGNALS.iter().find(|(_, n)| *n == name).map(|(number, _)| *number)
}
