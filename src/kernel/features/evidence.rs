//! What the answers are taken from: configuration, BTF, tracefs, sysctls, capabilities. No program is
//! loaded here; where only a trial tells, the engine finds out when it attaches.

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use crate::kernel::{Kernel, Version, read};

/// Bits of `CapEff` (`include/uapi/linux/capability.h`).
pub(super) mod cap {
    pub const DAC_READ_SEARCH: u32 = 2;
    pub const SYS_ADMIN: u32 = 21;
    pub const PERFMON: u32 = 38;
    pub const BPF: u32 = 39;
}

/// Largest configuration that is read, bytes, uncompressed.
const MAX_CONFIG: u64 = 4 << 20;

/// Gathered once.
pub(super) struct Evidence<'k> {
    pub kernel: &'k Kernel,
    pub version: Version,
    /// `CONFIG_X` to its value; `None` when the kernel tells nowhere.
    pub config: Option<HashMap<String, String>>,
    /// Effective capabilities.
    pub capabilities: u64,
    /// tracefs, when mounted and readable.
    pub tracefs: Option<PathBuf>,
    /// tracefs's README, which names what the kernel's tracers understand.
    pub readme: String,
    /// Tracers on offer.
    pub tracers: String,
    /// `none`, `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// `kernel.perf_event_paranoid`.
    pub paranoid: i32,
}

impl<'k> Evidence<'k> {
    pub(super) fn gather(kernel: &'k Kernel) -> Self {
        let tracefs = kernel.tracefs().ok();
        let text = |name: &str| tracefs.as_ref().and_then(|t| read::small_text(&t.join(name)).ok()).unwrap_or_default();
        Self {
            kernel,
            version: kernel.version(),
            config: read_config(kernel),
            capabilities: capabilities(kernel),
            readme: text("README"),
            tracers: text("available_tracers"),
            lockdown: lockdown(kernel),
            paranoid: kernel.proc_text("sys/kernel/perf_event_paranoid").and_then(|t| t.parse().ok()).unwrap_or(2),
            tracefs,
        }
    }

    /// Whether an option is built in or a module; `None` when the configuration is not known.
    pub(super) fn option(&self, name: &str) -> Option<bool> {
        let config = self.config.as_ref()?;
        Some(config.get(name).is_some_and(|v| v == "y" || v == "m"))
    }

    pub(super) const fn capable(&self, bit: u32) -> bool {
        self.capabilities >> bit & 1 != 0
    }

    /// Whether BTF has a value of this name; `None` without BTF.
    pub(super) fn enumerator(&self, name: &str) -> Option<bool> {
        self.kernel.btf().ok().map(|btf| btf.enumerator(name).is_some())
    }
}

/// `CapEff` of this process.
fn capabilities(kernel: &Kernel) -> u64 {
    let status = kernel.proc_text("self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok()).unwrap_or(0)
}

/// Whether this process has CAP_SYS_ADMIN, or what it has can't be told.
pub(crate) fn may_administer(kernel: &Kernel) -> bool {
    kernel.proc_text("self/status").is_none() || capabilities(kernel) >> cap::SYS_ADMIN & 1 != 0
}

/// The bracketed word of `/sys/kernel/security/lockdown`.
fn lockdown(kernel: &Kernel) -> Option<String> {
    let text = kernel.sys_text("kernel/security/lockdown")?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Whether kprobes may stand where ftrace does not (`within_notrace_func` in kernel/trace/trace_kprobe.c): only
/// kernels that are made to debug ftrace let them.
pub(crate) fn probes_untraced(kernel: &Kernel) -> bool {
    let text = read_config(kernel).unwrap_or_default();
    text.get("KPROBE_EVENTS_ON_NOTRACE").is_some_and(|v| v == "y")
}

/// `/proc/config.gz`, or `/boot/config-RELEASE`.
fn read_config(kernel: &Kernel) -> Option<HashMap<String, String>> {
    let text = read_config_gz(kernel).or_else(|| {
        let release = kernel.proc_text("sys/kernel/osrelease").filter(|r| !r.contains('/'))?;
        read::text(&kernel.roots().boot.join(format!("config-{release}")), MAX_CONFIG).ok()
    })?;
    let options = text.lines().filter_map(|l| l.strip_prefix("CONFIG_")?.split_once('='));
    Some(options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn read_config_gz(kernel: &Kernel) -> Option<String> {
    let packed = read::bounded(&kernel.roots().proc.join("config.gz"), MAX_CONFIG).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).take(MAX_CONFIG).read_to_string(&mut text).ok()?;
    Some(text)
}
