//! What a case may ask of the kernel, and why this one can't give it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The reason to skip, when one of the needs is not met. A need that nobody knows would skip its case
/// on every kernel: an error.
pub fn unmet(needs: &[String]) -> Result<Option<String>, String> {
    for need in needs {
        if let Some(reason) = reason(need) {
            return if reason.starts_with(UNKNOWN) { Err(reason) } else { Ok(Some(reason)) };
        }
    }
    Ok(None)
}

const UNKNOWN: &str = "unknown need";

fn reason(need: &str) -> Option<String> {
    let met = match need {
        "root" => is_root(),
        "host" => return in_guest().then(|| "it asks no kernel: run on the host alone".to_owned()),
        "btf" => Path::new("/sys/kernel/btf/vmlinux").is_file(),
        // The running kernel may list no functions although it has the files (no KPROBES).
        "kprobe" => functions() && tracefs("kprobe_events"),
        "kprobe.multi" => functions() && release() >= (5, 18) && symbol("bpf_kprobe_multi_link_attach"),
        "kprobe.session" => functions() && release() >= (6, 10),
        "fentry" => functions() && release() >= (5, 5) && Path::new("/sys/kernel/btf/vmlinux").is_file(),
        "rawtracepoint" | "iter" => release() >= (5, 8) && Path::new("/sys/kernel/btf/vmlinux").is_file(),
        "cc" => std::process::Command::new("cc").arg("--version").output().is_ok_and(|o| o.status.success()),
        "uprobe" => tracefs("uprobe_events"),
        "bpf_loop" => release() >= (5, 17),
        "x86-64" => cfg!(target_arch = "x86_64"),
        "for_each" => release() >= (5, 13),
        "hardware" => hardware(),
        "memory-cgroup" => has_memory_controller(),
        "disk" => has_disk(),
        "breakpoint" => Path::new("/sys/bus/event_source/devices/breakpoint").exists(),
        _ => return other(need),
    };
    (!met).then(|| format!("this kernel ({}) offers no {need}", text()))
}

/// Whether files of `/var/tmp` lie on a block device.
fn has_disk() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |m: fs::Metadata| format!("/sys/dev/block/{}:{}", libc::major(m.dev()), libc::minor(m.dev()));
    fs::metadata("/var/tmp").is_ok_and(|m| Path::new(&device(m)).exists())
}

/// Whether groups below the root of the cgroup hierarchy can limit memory.
fn has_memory_controller() -> bool {
    let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    controllers.split_whitespace().any(|name| name == "memory")
}

fn other(need: &str) -> Option<String> {
    if let Some(version) = need.strip_prefix("linux>=") {
        let wanted = parse(version);
        return (release() < wanted).then(|| format!("needs Linux {version}, this is {}", text()));
    }
    if let Some(version) = need.strip_prefix("linux<") {
        let end = parse(version);
        return (release() >= end).then(|| format!("needs a kernel before Linux {version}, this is {}", text()));
    }
    if let Some(event) = need.strip_prefix("tracepoint:") {
        let path = format!("events/{}", event.replace(':', "/"));
        return (!tracefs(&path)).then(|| format!("this kernel ({}) has no tracepoint {event}", text()));
    }
    if let Some(library) = need.strip_prefix("library:") {
        return (!has_library(library)).then(|| format!("no {library} is installed"));
    }
    if let Some(function) = need.strip_prefix("symbol:") {
        return (!symbol(function)).then(|| format!("this kernel ({}) has no {function}", text()));
    }
    if let Some(function) = need.strip_prefix("no-symbol:") {
        return symbol(function).then(|| format!("this kernel ({}) has {function}", text()));
    }
    if let Some(tool) = need.strip_prefix("tool:") {
        let path = std::env::var("PATH").unwrap_or_default();
        let found = path.split(':').any(|folder| Path::new(folder).join(tool).is_file());
        return (!found).then(|| format!("{tool} is not installed"));
    }
    if let Some(what) = need.strip_prefix("program:") {
        return Some(format!("needs {what}"));
    }
    Some(format!("{UNKNOWN} `{need}`"))
}

/// A shared library by the start of its file's name.
fn has_library(name: &str) -> bool {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{name}.so")))
}

/// Whether the kernels' tests brought the program here.
fn in_guest() -> bool {
    std::env::var_os(super::run::PROGRAM).is_some()
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|s| s.lines().any(|l| l.starts_with("Uid:\t0\t0")))
}

fn tracefs(path: &str) -> bool {
    ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].iter().any(|root| Path::new(root).join(path).exists())
}

/// Read once: the list is long and slow to read.
fn functions() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .iter()
            .any(|root| fs::read(format!("{root}/available_filter_functions")).is_ok_and(|b| !b.is_empty()))
    })
}

fn symbol(name: &str) -> bool {
    static SYMBOLS: OnceLock<String> = OnceLock::new();
    let text = SYMBOLS.get_or_init(|| fs::read_to_string("/proc/kallsyms").unwrap_or_default());
    text.lines().any(|line| line.split_whitespace().nth(2) == Some(name))
}

fn hardware() -> bool {
    Path::new("/sys/bus/event_source/devices/cpu").exists()
        && fs::read_to_string("/proc/cpuinfo").is_ok_and(|s| s.contains("arch_perfmon"))
}

fn text() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// Major and minor version of the running kernel.
pub fn release() -> (u32, u32) {
    parse(&text())
}

fn parse(text: &str) -> (u32, u32) {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
