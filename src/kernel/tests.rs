//! The fixture kernel, seen as a whole, and with things taken away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel");

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { std::fs::copy(&from, &to).map(drop).unwrap() }
    }
}

/// A copy of the fixture to take things from; removed when dropped.
struct Changed(PathBuf);

impl Changed {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("probescope-kernel-{name}-{}", std::process::id()));
        copy(Path::new(FIXTURE), &folder);
        Self(folder)
    }

    fn kernel(&self) -> Kernel {
        Kernel::new(Roots::fixture(&self.0))
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_complete_kernel_has_what_its_files_say() {
    let kernel = Arc::new(Kernel::new(Roots::fixture(FIXTURE)));
    let absent: Vec<_> = kernel.features().iter().filter(|(_, a)| a.is_some()).map(|(f, _)| f.name()).collect();
    assert_eq!(absent, ["fentry.multi", "user_events"]);
    let facts = kernel.target_facts(Some(7), 0);
    assert_eq!((facts.possible_cpus, facts.online_cpus, facts.filter_pid), (4, 2, Some(7)));
    let features = facts.features();
    assert!(features.bpf_loop && features.iter_num && features.task_offsets.is_some_and(|t| t.comm > t.pid));
    assert_eq!(kernel.symbol_address("vfs_read"), Some(0xffff_ffff_8100_2000));
    assert_eq!(
        kernel.functions().unwrap().named("xfs_file_read_iter").next().unwrap().module.map(|m| &**m),
        Some("xfs")
    );
}

#[test]
fn without_kprobes_the_option_is_named() {
    let changed = Changed::new("kprobes");
    std::fs::write(changed.0.join("boot/config-6.12.0-fixture"), "CONFIG_BPF_EVENTS=y\n").unwrap();
    let kernel = changed.kernel();
    let absence = kernel.features().require(Feature::Kprobe).unwrap_err();
    assert!(absence.reason.contains("CONFIG_KPROBES") && !absence.remedy.is_empty(), "{absence:?}");
    assert!(!kernel.features().has(Feature::KprobeMulti), "what needs kprobes is missing too");
}

#[test]
fn only_its_configuration_lets_a_kernel_probe_what_it_does_not_trace() {
    assert!(!Kernel::new(Roots::fixture(FIXTURE)).probes_untraced());
    let changed = Changed::new("notrace");
    std::fs::write(changed.0.join("boot/config-6.12.0-fixture"), "CONFIG_KPROBE_EVENTS_ON_NOTRACE=y\n").unwrap();
    assert!(changed.kernel().probes_untraced());
    std::fs::remove_file(changed.0.join("boot/config-6.12.0-fixture")).unwrap();
    assert!(!changed.kernel().probes_untraced());
}

#[test]
fn without_btf_helpers_go_by_version() {
    let changed = Changed::new("btf");
    std::fs::remove_file(changed.0.join("sys/kernel/btf/vmlinux")).unwrap();
    let kernel = changed.kernel();
    assert!(kernel.btf().unwrap_err().remedy.contains("CONFIG_DEBUG_INFO_BTF"));
    let facts = Arc::new(kernel).target_facts(None, 0);
    let features = facts.features();
    assert!(!features.btf && features.bpf_loop && features.task_offsets.is_none());
}

#[test]
fn without_tracefs_the_mount_is_named() {
    let changed = Changed::new("tracefs");
    std::fs::remove_dir_all(changed.0.join("sys/kernel/tracing")).unwrap();
    std::fs::create_dir(changed.0.join("sys/kernel/tracing")).unwrap();
    let absence = changed.kernel().tracepoints().map(drop).unwrap_err();
    assert!(absence.remedy.contains("mount -t tracefs"), "{absence:?}");
}

#[test]
fn without_rights_the_capabilities_are_named() {
    let changed = Changed::new("rights");
    std::fs::write(changed.0.join("proc/self/status"), "CapEff:\t0000000000000000\n").unwrap();
    let absence = changed.kernel().features().require(Feature::Rights).unwrap_err();
    assert!(absence.reason.contains("CAP_BPF and CAP_PERFMON") && absence.remedy.contains("root"), "{absence:?}");
}

#[test]
fn names_with_slashes_reach_no_other_file() {
    let kernel = Kernel::new(Roots::fixture(FIXTURE));
    assert!(matches!(kernel.tracepoint("..", "events"), Err(KernelError::NoTracepoint { .. })));
    assert!(matches!(kernel.tracepoint("sched/../sched", "sched_switch"), Err(KernelError::NoTracepoint { .. })));
    assert!(kernel.module_btf("../btf/vmlinux").is_err());
}
