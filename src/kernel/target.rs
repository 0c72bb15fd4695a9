//! What the compiler must know of the kernel that will run the object: plain data.

use std::sync::{Arc, LazyLock};

use crate::model::stats::LossCause;

/// Facts about the target kernel. Filled by [`super::Kernel::target_facts`]; plain data, so that the compiler stays a
/// pure function and tests can compile for kernels that are not running. What only the kernel's types
/// tell is looked up when the compiler first asks: most scripts never do, and the types are megabytes.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent kernel features, each a yes or no")]
pub struct TargetFacts {
    /// Kernel version as `major << 16 | minor << 8` (`LINUX_VERSION_CODE` without the patch level).
    pub version: u32,
    /// Possible CPUs (`/sys/devices/system/cpu/possible`), at least 1.
    pub possible_cpus: u32,
    /// Atomic fetch, exchange and compare-exchange instructions (5.12).
    pub atomics: bool,
    /// Stores become visible to other CPUs in the program's order, as on x86.
    pub ordered_stores: bool,
    /// Instructions of cpu v4 (6.6): sign-extending loads and moves, jumps with offsets of 32 bits.
    pub cpu_v4: bool,
    /// Programs of the uprobe type may be preempted while they run (6.0).
    pub uprobe_preemptible: bool,
    /// `bpf_get_ns_current_pid_tgid`'s device and inode of the reader's pid namespace, when the
    /// reader is not in the first one.
    pub pid_namespace: Option<(u64, u64)>,
    /// Process id of the child started by `-c`, 0 for none.
    pub child_pid: u32,
    /// Process that all probes are limited to (`-p`), where the attach point can't do it.
    pub filter_pid: Option<u32>,
    /// Whether maps that are read at a key which they don't have are counted as losses.
    pub absent_keys: bool,
    /// The object is for other loaders. libbpf before 1.5 knows no sections of zeros but `.bss` itself, so those of this
    /// object are data that is zero; and no libbpf so far attaches one program to the trampolines of many functions.
    pub for_other_loaders: bool,
    /// Programs whose loops may take long turn themselves off when they take a CPU away.
    pub brake: bool,
    /// Programs throttle themselves to a budget of a CPU's time, which the engine sets.
    pub budget: bool,
    /// Which failures are also sent through the ring buffer, each in its place among the reports.
    pub sent: Sent,
    /// Offset from the boot clock to TAI, ns, for the clock that programs compute from the two.
    pub tai_offset_ns: i64,
    /// Online CPUs.
    pub online_cpus: u32,
    /// The machine's memory.
    pub memory_bytes: u64,
    features: Deferred<KernelFeatures>,
    offers: Deferred<PermittedHelpers>,
    record_ends: RecordEnds,
}

/// Where the plain fields of a tracepoint's record end, by its category and name, where that is known.
#[derive(Clone)]
struct RecordEnds(Arc<dyn Fn(&str, &str) -> Option<u32> + Send + Sync>);

impl std::fmt::Debug for RecordEnds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordEnds")
    }
}

/// Failures that are not only counted: a record of each goes through the ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sent {
    /// None is.
    #[default]
    Nothing,
    /// Faults of the script: divisions by zero, indices out of bounds.
    Faults,
    /// Those, and whatever a helper of the kernel fails at.
    Helpers,
}

impl Sent {
    /// Whether failures of this cause are sent.
    #[must_use]
    pub const fn includes(self, cause: LossCause) -> bool {
        match cause {
            LossCause::DivideByZero | LossCause::OutOfBounds => !matches!(self, Self::Nothing),
            LossCause::MapFull | LossCause::KeyRefused | LossCause::ReadFailed | LossCause::KeyAbsent => {
                matches!(self, Self::Helpers)
            }
            _ => false,
        }
    }
}

/// What the kernel's list of helpers, functions and types says that it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent kernel features, each a yes or no")]
pub struct KernelFeatures {
    /// Kernel has BTF (`/sys/kernel/btf/vmlinux`).
    pub btf: bool,
    /// `bpf_ktime_get_boot_ns` (5.8).
    pub ktime_boot: bool,
    /// `bpf_ktime_get_tai_ns` (6.1).
    pub ktime_tai: bool,
    /// `bpf_get_attach_cookie` (5.15).
    pub attach_cookie: bool,
    /// `bpf_get_current_task_btf` (5.11).
    pub current_task_btf: bool,
    /// `bpf_for_each_map_elem` (5.13).
    pub for_each_map_elem: bool,
    /// `bpf_loop` (5.17).
    pub bpf_loop: bool,
    /// `bpf_task_from_pid` (6.2).
    pub task_from_pid: bool,
    /// Open-coded iterators `bpf_iter_num_*` (6.4).
    pub iter_num: bool,
    /// `bpf_get_func_arg` and `bpf_get_func_ret` (5.17).
    pub func_arg: bool,
    /// `bpf_d_path` (5.10).
    pub d_path: bool,
    /// `bpf_map_lookup_percpu_elem` (5.19).
    pub map_lookup_percpu: bool,
    /// One link to many kernel functions, `BPF_TRACE_KPROBE_MULTI` (5.18, with `CONFIG_FPROBE`).
    pub kprobe_multi: bool,
    /// Links to the returns of many functions run the newest one's program first: a function's places are on the task's
    /// shadow stack in the order of the entries (6.14; before, returns went from the oldest to the newest).
    pub newest_return_first: bool,
    /// One link to the entry and the return of kernel functions, `BPF_TRACE_KPROBE_SESSION` (6.10, with
    /// `CONFIG_FPROBE`).
    pub kprobe_session: Option<SessionCall>,
    /// Such a link loses entries, too, once as many calls are under way as it has places for their returns: two for
    /// each function and CPU (`fprobe_init_rethook`, kernel/trace/fprobe.c, before 6.14).
    pub session_loses_entries: bool,
    /// One link to the trampolines of many kernel functions, `BPF_TRACE_FENTRY_MULTI` (7.2).
    pub fentry_multi: bool,
    /// One link to many places of a binary, `BPF_TRACE_UPROBE_MULTI` (6.6).
    pub uprobe_multi: bool,
    /// Single places of binaries are had by such links, too: perf events of uprobes take CAP_SYS_ADMIN, which the user
    /// lacks.
    pub uprobe_multi_alone: bool,
    /// Such links, limited to a process, run for all of its threads: before 6.10 for its first alone (commit 46ba0e49b642).
    pub uprobe_multi_threads: bool,
    /// Byte offsets in `struct task_struct`, from BTF: used for `pid`, `tid`, `comm` without calls.
    pub task_offsets: Option<TaskOffsets>,
}

/// How a session's program asks whether it is at the return (`bpf_session_is_return`, kernel/trace/bpf_trace.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionCall {
    /// Without arguments.
    Bare,
    /// By its context (since Linux 7.0).
    OfContext,
}

/// Helpers that a kernel may know and yet give to no program; only loading one tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermittedHelpers {
    /// `bpf_override_return` (with `CONFIG_BPF_KPROBE_OVERRIDE`).
    pub override_return: bool,
    /// `bpf_probe_write_user` (unless the kernel is locked down).
    pub probe_write_user: bool,
}

impl PermittedHelpers {
    /// What a kernel that holds nothing back gives.
    pub const ALL: Self = Self { override_return: true, probe_write_user: true };
}

/// Offsets in `struct task_struct`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskOffsets {
    /// `pid` (the thread id).
    pub pid: u32,
    /// `tgid`.
    pub tgid: u32,
    /// `comm`.
    pub comm: u32,
    /// `mm`.
    pub mm: u32,
    /// `real_parent`.
    pub real_parent: u32,
    /// `sched_info.run_delay`: how long it waited for a CPU that others had, ns (with `CONFIG_SCHED_INFO`).
    pub run_delay: Option<u32>,
    /// BTF id of `struct task_struct` in vmlinux.
    pub btf_id: u32,
}

/// How the kernel is asked.
type Asker<T> = Box<dyn FnOnce() -> T + Send>;

/// Asked once for all copies.
#[derive(Clone)]
struct Deferred<T>(Arc<LazyLock<T, Asker<T>>>);

impl<T> Deferred<T> {
    fn new(ask: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(ask))))
    }
}

impl<T> std::fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deferred")
    }
}

impl TargetFacts {
    /// Whether the verifier looks at the callback of a loop as if it ran once (before Linux 6.7, commit
    /// ab5cfac139ab): what it knows of a variable before the loop it believes of every round.
    #[must_use]
    pub const fn callback_verified_once(&self) -> bool {
        self.version < 6 << 16 | 7 << 8
    }

    /// Whether the verifier forgets the first rounds of a loop while it follows the later ones (it drops a
    /// state that four others were not like; since Linux 6.8, commit 4b5ce570dbef, it keeps those of loops):
    /// each branch in the body then doubles its work anew in every round.
    #[must_use]
    pub const fn evicts_loop_states(&self) -> bool {
        self.version < 6 << 16 | 8 << 8
    }

    /// Whether the verifier takes what is acquired on one way for another thing than what is acquired on another
    /// (before Linux 6.3, commit e8f55fcf7779): no way is like one seen before while it holds any. A branch before
    /// a reserved record then doubles the work of all that follows up to where it is submitted.
    #[must_use]
    pub const fn tells_references_apart(&self) -> bool {
        self.version < 6 << 16 | 3 << 8
    }

    /// Whether the verifier frees states of a callback's rounds while it still goes back through them (Linux 6.17
    /// and 6.18): it keeps them for the loops that it finds in the flow of a function, and a call with a callback
    /// is one since 6.19 only ("bpf: bpf_scc_visit instance and backedges accumulation for bpf_loop()", commit
    /// f597664454bd). With a loop inside of the callback, the kernel then reads freed memory and may fault
    /// (`__mark_chain_precision`, kernel/bpf/verifier.c).
    #[must_use]
    pub const fn misses_callbacks(&self) -> bool {
        self.version >= 6 << 16 | 17 << 8 && self.version < 6 << 16 | 19 << 8
    }

    /// What the kernel can do; the first call may read its types.
    #[must_use]
    pub fn features(&self) -> &KernelFeatures {
        &self.features.0
    }

    /// What the kernel gives to programs; the first call may load some to find out.
    #[must_use]
    pub fn offers(&self) -> PermittedHelpers {
        **self.offers.0
    }

    /// Where the plain fields of a tracepoint's record end, in bytes; places of texts, which come behind them, do not
    /// count. The kernel refuses to attach a program that reads the context beyond its fields
    /// (`trace_event_get_offsets`, kernel/trace/trace_events.c). `None` where nobody knows.
    #[must_use]
    pub fn record_end(&self, category: &str, event: &str) -> Option<u32> {
        (self.record_ends.0)(category, event)
    }

    /// The same facts with the records of other tracepoints.
    #[must_use]
    pub fn with_record_ends(self, end: impl Fn(&str, &str) -> Option<u32> + Send + Sync + 'static) -> Self {
        Self { record_ends: RecordEnds(Arc::new(end)), ..self }
    }

    /// The same facts with other offers, which `ask` tells when they are first wanted.
    #[must_use]
    pub fn with_permitted_helpers(self, ask: impl FnOnce() -> PermittedHelpers + Send + 'static) -> Self {
        Self { offers: Deferred::new(ask), ..self }
    }

    /// The same facts with other features, which `ask` tells when they are first wanted.
    #[must_use]
    pub fn with_features(self, ask: impl FnOnce() -> KernelFeatures + Send + 'static) -> Self {
        Self { features: Deferred::new(ask), ..self }
    }

    /// A kernel of this version with everything that the version brought; for tests and `compile`.
    #[must_use]
    pub fn of_version(major: u32, minor: u32, possible_cpus: u32) -> Self {
        let version = major << 16 | minor << 8;
        Self {
            version,
            possible_cpus,
            atomics: version >= 5 << 16 | 12 << 8,
            ordered_stores: cfg!(target_arch = "x86_64"),
            cpu_v4: cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && version >= 6 << 16 | 6 << 8,
            uprobe_preemptible: version >= 6 << 16,
            pid_namespace: None,
            child_pid: 0,
            filter_pid: None,
            absent_keys: false,
            for_other_loaders: false,
            brake: true,
            budget: false,
            sent: Sent::Nothing,
            tai_offset_ns: 0,
            online_cpus: possible_cpus,
            memory_bytes: 4 << 30,
            features: Deferred::new(move || KernelFeatures::of_version(version)),
            offers: Deferred::new(|| PermittedHelpers::ALL),
            record_ends: RecordEnds(Arc::new(|_, _| None)),
        }
    }
}

impl KernelFeatures {
    /// What a version brought; `version` as in [`TargetFacts::version`].
    #[must_use]
    pub const fn of_version(version: u32) -> Self {
        Self {
            btf: true,
            ktime_boot: version >= 5 << 16 | 8 << 8,
            ktime_tai: version >= 6 << 16 | 1 << 8,
            attach_cookie: version >= 5 << 16 | 15 << 8,
            current_task_btf: version >= 5 << 16 | 11 << 8,
            for_each_map_elem: version >= 5 << 16 | 13 << 8,
            bpf_loop: version >= 5 << 16 | 17 << 8,
            task_from_pid: version >= 6 << 16 | 2 << 8,
            iter_num: version >= 6 << 16 | 4 << 8,
            func_arg: version >= 5 << 16 | 17 << 8,
            d_path: version >= 5 << 16 | 10 << 8,
            map_lookup_percpu: version >= 5 << 16 | 19 << 8,
            kprobe_multi: version >= 5 << 16 | 18 << 8,
            newest_return_first: version >= 6 << 16 | 14 << 8,
            kprobe_session: match version {
                0..0x6_0a00 => None,
                0x6_0a00..0x7_0000 => Some(SessionCall::Bare),
                _ => Some(SessionCall::OfContext),
            },
            session_loses_entries: version < 6 << 16 | 14 << 8,
            fentry_multi: version >= 7 << 16 | 2 << 8,
            uprobe_multi: version >= 6 << 16 | 6 << 8,
            uprobe_multi_alone: false,
            uprobe_multi_threads: version >= 6 << 16 | 10 << 8,
            task_offsets: None,
        }
    }
}
