//! What the compiler must know, gathered.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use libbpf_rs::ProgramType;
use libbpf_rs::libbpf_sys::{BPF_FUNC_override_return, BPF_FUNC_probe_write_user};

use super::btf::{Btf, TypeId};
use super::target::{KernelFeatures, PermittedHelpers, SessionCall, TargetFacts, TaskOffsets};
use super::{Feature, Kernel};

/// Inode of the first pid namespace (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

impl Kernel {
    /// Facts about this kernel for the compiler. Helpers are looked up in the kernel's own list
    /// (`enum bpf_func_id` in its BTF), by version when there is no BTF, when the compiler first asks.
    ///
    /// `pid` limits probes that can't be limited otherwise; `child` is the process started by `-c`, or 0.
    pub fn target_facts(self: &Arc<Self>, pid: Option<u32>, child: u32) -> TargetFacts {
        let version = self.version();
        let (kernel, records) = (Arc::clone(self), Arc::clone(self));
        let mut facts = TargetFacts::of_version(version.major, version.minor, self.possible_cpus().len())
            .with_features(move || features(&kernel))
            .with_permitted_helpers(offers)
            .with_record_ends(move |category, event| Some(records.tracepoint(category, event).ok()?.plain_end()));
        facts.pid_namespace = self.pid_namespace();
        facts.child_pid = child;
        facts.filter_pid = pid;
        facts.tai_offset_ns = tai_offset_ns();
        facts.online_cpus = self.online_cpus().len();
        let machine = rustix::system::sysinfo();
        facts.memory_bytes = machine.totalram.saturating_mul(machine.mem_unit.into());
        facts
    }

    /// Device and inode of this process's pid namespace, unless it is the first one.
    #[must_use]
    pub fn pid_namespace(&self) -> Option<(u64, u64)> {
        let namespace = std::fs::metadata(self.roots().proc.join("self/ns/pid")).ok()?;
        (namespace.ino() != FIRST_PID_NAMESPACE).then(|| (namespace.dev(), namespace.ino()))
    }
}

/// Asked of the running kernel by a program of two instructions each. Who may not load programs is told that
/// everything is offered: what is missing to them is the right.
fn offers() -> PermittedHelpers {
    // Each kind of tracing program is given these by one function (`bpf_tracing_func_proto` in
    // kernel/trace/bpf_trace.c), but for `bpf_override_return`, which only kprobes have.
    let offered = |helper| ProgramType::Kprobe.is_helper_supported(helper).unwrap_or(true);
    PermittedHelpers {
        override_return: offered(BPF_FUNC_override_return),
        probe_write_user: offered(BPF_FUNC_probe_write_user),
    }
}

fn features(kernel: &Kernel) -> KernelFeatures {
    let version = kernel.version();
    let by_version = KernelFeatures::of_version(version.major << 16 | version.minor << 8);
    let Ok(btf) = kernel.btf() else {
        // Without BTF a version's functions and types can't be named to the kernel.
        return KernelFeatures {
            btf: false,
            current_task_btf: false,
            task_from_pid: false,
            iter_num: false,
            kprobe_multi: false,
            newest_return_first: false,
            kprobe_session: None,
            session_loses_entries: false,
            fentry_multi: false,
            uprobe_multi: false,
            ..by_version
        };
    };
    let listed = |name: &str| btf.enumerator(name).is_some();
    let defined = |name: &str| btf.func(name).is_some();
    // The function is only there with CONFIG_FPROBE.
    let fprobe = listed("BPF_TRACE_KPROBE_MULTI") && defined("register_fprobe_ips");
    let session = || session_call(btf).filter(|_| fprobe && listed("BPF_TRACE_KPROBE_SESSION"));
    let few_places = has_few_places(btf);
    KernelFeatures {
        btf: true,
        ktime_boot: listed("BPF_FUNC_ktime_get_boot_ns"),
        ktime_tai: listed("BPF_FUNC_ktime_get_tai_ns"),
        attach_cookie: listed("BPF_FUNC_get_attach_cookie"),
        current_task_btf: listed("BPF_FUNC_get_current_task_btf"),
        for_each_map_elem: listed("BPF_FUNC_for_each_map_elem"),
        bpf_loop: listed("BPF_FUNC_loop"),
        task_from_pid: defined("bpf_task_from_pid"),
        iter_num: defined("bpf_iter_num_new"),
        func_arg: listed("BPF_FUNC_get_func_arg"),
        d_path: listed("BPF_FUNC_d_path"),
        map_lookup_percpu: listed("BPF_FUNC_map_lookup_percpu_elem"),
        kprobe_multi: fprobe && kernel.may_use(Feature::KprobeMulti),
        newest_return_first: fprobe && !few_places,
        kprobe_session: session().filter(|_| kernel.may_use(Feature::KprobeSession)),
        session_loses_entries: few_places,
        fentry_multi: listed("BPF_TRACE_FENTRY_MULTI") && kernel.may_use(Feature::FentryMulti),
        uprobe_multi: listed("BPF_TRACE_UPROBE_MULTI") && kernel.may_use(Feature::UprobeMulti),
        uprobe_multi_alone: !super::features::may_administer(kernel),
        uprobe_multi_threads: by_version.uprobe_multi_threads,
        task_offsets: task_offsets(btf),
    }
}

/// Whether a link to returns has its own places for calls under way, instead of each task's shadow stack
/// (`fprobe_init_rethook`, kernel/trace/fprobe.c, before Linux 6.14).
fn has_few_places(btf: &Btf) -> bool {
    btf.find_struct("fprobe").is_none_or(|fprobe| btf.member(fprobe, "rethook").is_some())
}

fn session_call(btf: &Btf) -> Option<SessionCall> {
    let asks = btf.func("bpf_session_is_return")?;
    Some(if asks.params.is_empty() { SessionCall::Bare } else { SessionCall::OfContext })
}

fn task_offsets(btf: &Btf) -> Option<TaskOffsets> {
    let task = btf.find_struct("task_struct")?;
    let offset = |name| btf.member(task, name).filter(|m| m.bits == 0).map(|m| m.offset());
    Some(TaskOffsets {
        pid: offset("pid")?,
        tgid: offset("tgid")?,
        mm: offset("mm")?,
        comm: offset("comm")?,
        real_parent: offset("real_parent")?,
        run_delay: run_delay(btf, task),
        btf_id: task.0,
    })
}

/// Where a task has the time that it waited for a CPU.
fn run_delay(btf: &Btf, task: TypeId) -> Option<u32> {
    let info = btf.member(task, "sched_info")?;
    let delay = btf.member(btf.resolve(info.ty), "run_delay").filter(|m| m.bits == 0)?;
    Some(info.offset() + delay.offset())
}

/// TAI minus boot time, ns; 0 when the clock can't be read.
fn tai_offset_ns() -> i64 {
    use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
    let ns = |t: Timespec| t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec);
    clock_gettime_dynamic(DynamicClockId::Tai)
        .map_or(0, |tai| ns(tai).saturating_sub(ns(clock_gettime(ClockId::Boottime))))
}
