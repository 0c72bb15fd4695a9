//! What the compiler must know, gathered.

use std::os::unix::fs::MetadataExt;

use super::Kernel;
use super::btf::Btf;
use crate::codegen::target::{TargetFacts, TaskOffsets};

/// Inode of the first pid namespace (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

impl Kernel {
    /// Facts about this kernel for the compiler. Helpers are looked up in the kernel's own list
    /// (`enum bpf_func_id` in its BTF), by version when there is no BTF.
    ///
    /// `pid` limits probes that can't be limited otherwise; `child` is the process started by `-c`, or 0.
    pub fn target_facts(&self, pid: Option<u32>, child: u32) -> TargetFacts {
        let version = self.version();
        let possible = self.possible_cpus();
        let by_version = TargetFacts::of_version(version.major, version.minor, possible.len());
        let btf = self.btf().ok();
        let helper = |name: &str, otherwise: bool| btf.map_or(otherwise, |b| b.enumerator(name).is_some());
        TargetFacts {
            btf: btf.is_some(),
            ktime_boot: helper("BPF_FUNC_ktime_get_boot_ns", by_version.ktime_boot),
            ktime_tai: helper("BPF_FUNC_ktime_get_tai_ns", by_version.ktime_tai),
            attach_cookie: helper("BPF_FUNC_get_attach_cookie", by_version.attach_cookie),
            current_task_btf: helper("BPF_FUNC_get_current_task_btf", by_version.current_task_btf) && btf.is_some(),
            for_each_map_elem: helper("BPF_FUNC_for_each_map_elem", by_version.for_each_map_elem),
            bpf_loop: helper("BPF_FUNC_loop", by_version.bpf_loop),
            task_from_pid: btf.is_some_and(|b| b.func("bpf_task_from_pid").is_some()),
            iter_num: btf.is_some_and(|b| b.func("bpf_iter_num_new").is_some()),
            func_arg: helper("BPF_FUNC_get_func_arg", by_version.func_arg),
            probe_read_split: helper("BPF_FUNC_probe_read_kernel", by_version.probe_read_split),
            d_path: helper("BPF_FUNC_d_path", by_version.d_path),
            map_lookup_percpu: helper("BPF_FUNC_map_lookup_percpu_elem", by_version.map_lookup_percpu),
            // The function is only there with CONFIG_FPROBE.
            kprobe_multi: btf.is_some_and(|b| {
                b.enumerator("BPF_TRACE_KPROBE_MULTI").is_some() && b.func("register_fprobe_ips").is_some()
            }),
            uprobe_multi: btf.is_some_and(|b| b.enumerator("BPF_TRACE_UPROBE_MULTI").is_some()),
            pid_namespace: self.pid_namespace(),
            task_offsets: btf.and_then(task_offsets),
            child_pid: child,
            filter_pid: pid,
            tai_offset_ns: tai_offset_ns(),
            online_cpus: self.online_cpus().len(),
            ..by_version
        }
    }

    /// Device and inode of this process's pid namespace, unless it is the first one.
    fn pid_namespace(&self) -> Option<(u64, u64)> {
        let namespace = std::fs::metadata(self.roots().proc.join("self/ns/pid")).ok()?;
        (namespace.ino() != FIRST_PID_NAMESPACE).then(|| (namespace.dev(), namespace.ino()))
    }
}

fn task_offsets(btf: &Btf) -> Option<TaskOffsets> {
    let task = btf.find_struct("task_struct")?;
    let offset = |name| btf.member(task, name).filter(|m| m.bits == 0).map(|m| m.offset());
    Some(TaskOffsets {
        pid: offset("pid")?,
        tgid: offset("tgid")?,
        comm: offset("comm")?,
        real_parent: offset("real_parent")?,
        btf_id: task.0,
    })
}

/// TAI minus boot time, ns; 0 when the clock can't be read.
fn tai_offset_ns() -> i64 {
    use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
    let ns = |t: Timespec| t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec);
    clock_gettime_dynamic(DynamicClockId::Tai)
        .map_or(0, |tai| ns(tai).saturating_sub(ns(clock_gettime(ClockId::Boottime))))
}
