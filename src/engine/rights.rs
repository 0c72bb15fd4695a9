//! Why the kernel said no: what this process lacks, and what of the system's settings is known to forbid it.

use std::path::Path;

use rustix::thread::CapabilitySet;

/// The capabilities that loading and attaching need.
pub const CAPABILITIES: &str = "CAP_BPF and CAP_PERFMON (and CAP_DAC_READ_SEARCH to read tracefs)";

/// What was found of this process and the system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    /// Effective capabilities.
    capabilities: CapabilitySet,
    /// `kernel.perf_event_paranoid`.
    paranoid: i32,
    /// The word of `/sys/kernel/security/lockdown`: `none`, `integrity`, `confidentiality`.
    lockdown: String,
    /// System calls are filtered (`Seccomp: 2`), as in containers.
    filtered: bool,
    /// KiB of locked memory that this process may have, where the kernel counts maps as that (before Linux 5.11).
    locked_memory: Option<u64>,
}

/// Capabilities in the form that people write.
struct CapabilityWords(CapabilitySet);

impl std::fmt::Display for CapabilityWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [(CapabilitySet::BPF, "CAP_BPF"), (CapabilitySet::PERFMON, "CAP_PERFMON")];
        let names: Vec<&str> =
            names.into_iter().filter(|(one, _)| self.0.contains(*one)).map(|(_, name)| name).collect();
        f.write_str(&names.join(" and "))
    }
}

impl Default for Found {
    fn default() -> Self {
        Self {
            capabilities: CapabilitySet::empty(),
            paranoid: 2,
            lockdown: String::new(),
            filtered: false,
            locked_memory: None,
        }
    }
}

/// The limit of locked memory, in KiB, where it limits maps.
fn locked_memory(release: &str) -> Option<u64> {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let counts = (numbers.next()?, numbers.next()?) < (5, 11);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current?;
    counts.then_some(limit >> 10)
}

fn find() -> Found {
    let text = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
    let status = text("/proc/self/status");
    let bracketed = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    Found {
        capabilities: rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |own| own.effective),
        paranoid: text("/proc/sys/kernel/perf_event_paranoid").trim().parse().unwrap_or(2),
        lockdown: bracketed(text("/sys/kernel/security/lockdown")).unwrap_or_default(),
        filtered: status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2")),
        locked_memory: locked_memory(text("/proc/sys/kernel/osrelease").trim()),
    }
}

/// Why a call of the kernel's was denied just now, in plain words.
#[must_use]
pub fn denied() -> String {
    words(&find())
}

fn words(found: &Found) -> String {
    let wanted = CapabilitySet::BPF.union(CapabilitySet::PERFMON);
    let has = |one: CapabilitySet| found.capabilities.contains(one);
    let missing = wanted.difference(found.capabilities);
    let mut reasons = Vec::new();
    if !has(CapabilitySet::SYS_ADMIN) && !missing.is_empty() {
        reasons.push(format!("{} missing", CapabilityWords(missing)));
    } else if !has(CapabilitySet::SYS_ADMIN) {
        reasons.push("this kernel asks for CAP_SYS_ADMIN here, beside CAP_BPF and CAP_PERFMON".to_owned());
    }
    if found.paranoid > 2 && !has(CapabilitySet::SYS_ADMIN) {
        reasons.push(format!(
            "kernel.perf_event_paranoid={} leaves perf events to CAP_SYS_ADMIN (`sysctl kernel.perf_event_paranoid=2`)",
            found.paranoid
        ));
    }
    if !matches!(found.lockdown.as_str(), "" | "none") {
        reasons.push(format!("the kernel is locked down ({}), as Secure Boot does", found.lockdown));
    }
    if found.filtered {
        reasons.push("system calls of this process are filtered by seccomp, as a container's are".to_owned());
    }
    if let Some(limit) = found.locked_memory {
        reasons.push(format!(
            "this kernel counts maps as locked memory, of which {limit} KiB are allowed (`ulimit -l unlimited`, or CAP_SYS_RESOURCE)"
        ));
    }
    let reasons = if reasons.is_empty() { "the kernel gives no reason".to_owned() } else { reasons.join("; ") };
    format!("permission denied: {reasons}; root has all rights, else {CAPABILITIES} are needed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_forbids_it_is_named() {
        let none = words(&Found::default());
        assert!(none.contains("CAP_BPF and CAP_PERFMON missing"), "{none}");
        let both = Found { capabilities: CapabilitySet::BPF.union(CapabilitySet::PERFMON), ..Found::default() };
        assert!(words(&both).contains("asks for CAP_SYS_ADMIN"), "{}", words(&both));
        assert!(locked_memory("6.12.1-amd64").is_none() && locked_memory("5.11.0").is_none());
        let paranoid = Found { paranoid: 3, ..both };
        assert!(words(&paranoid).contains("perf_event_paranoid=3"));
        let locked = Found {
            capabilities: CapabilitySet::all(),
            lockdown: "integrity".into(),
            filtered: true,
            paranoid: 4,
            locked_memory: Some(64),
        };
        let text = words(&locked);
        assert!(
            text.contains("locked down (integrity)")
                && text.contains("seccomp")
                && text.contains("64 KiB")
                && !text.contains("paranoid"),
            "{text}"
        );
    }
}
