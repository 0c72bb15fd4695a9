//! What this kernel, and this user on it, can do: each feature present, or absent with its reason.

mod evidence;
mod probes;

use super::{Absence, Kernel};
use evidence::Evidence;
pub(super) use evidence::{may_administer, probes_untraced};

/// Something that a kernel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Rights to load tracing programs: `CAP_BPF` and `CAP_PERFMON`, or root.
    Rights,
    /// Reading tracefs.
    Tracefs,
    /// Types of the kernel.
    Btf,
    /// Kernel addresses and names.
    Symbols,
    /// Tracepoints through perf events.
    Tracepoint,
    /// Tracepoints of system calls.
    SyscallTracepoints,
    /// Raw tracepoints with BTF arguments (`tp_btf`).
    RawTracepoint,
    /// Kernel functions by breakpoint.
    Kprobe,
    /// Many kernel functions by one link.
    KprobeMulti,
    /// Entry and return by one link.
    KprobeSession,
    /// Kernel functions through the trampoline.
    Fentry,
    /// The trampolines of many kernel functions by one link.
    FentryMulti,
    /// The list of traceable kernel functions.
    FunctionList,
    /// User-space functions.
    Uprobe,
    /// Many user-space functions by one link.
    UprobeMulti,
    /// Statically defined user probes with semaphores.
    Usdt,
    /// Software perf events and sampling by clock.
    PerfSoftware,
    /// Hardware perf events.
    PerfHardware,
    /// Hardware breakpoints.
    Watchpoint,
    /// BPF iterators.
    Iter,
    /// The BPF ring buffer.
    RingBuffer,
    /// Run-time statistics of BPF programs.
    BpfStats,
    /// One program for many probes that knows which one fired.
    AttachCookie,
    /// Loops of any length.
    BpfLoop,
    /// Reading paths of files.
    DPath,
    /// The BPF compiler to machine code.
    Jit,
    /// Changing return values of kernel functions (`override`).
    Override,
    /// Events that programs define themselves.
    UserEvents,
    /// The kernel's own noise measurement.
    Osnoise,
    /// The kernel's own timer latency measurement.
    Timerlat,
    /// Histograms kept by trace events.
    HistTriggers,
}

impl Feature {
    /// All of them, in the order of `doctor`'s table.
    pub const ALL: [Self; 31] = [
        Self::Rights,
        Self::Tracefs,
        Self::Btf,
        Self::Symbols,
        Self::Tracepoint,
        Self::SyscallTracepoints,
        Self::RawTracepoint,
        Self::Kprobe,
        Self::KprobeMulti,
        Self::KprobeSession,
        Self::Fentry,
        Self::FentryMulti,
        Self::FunctionList,
        Self::Uprobe,
        Self::UprobeMulti,
        Self::Usdt,
        Self::PerfSoftware,
        Self::PerfHardware,
        Self::Watchpoint,
        Self::Iter,
        Self::RingBuffer,
        Self::BpfStats,
        Self::AttachCookie,
        Self::BpfLoop,
        Self::DPath,
        Self::Jit,
        Self::Override,
        Self::UserEvents,
        Self::Osnoise,
        Self::Timerlat,
        Self::HistTriggers,
    ];

    /// What is told where the user turned it off.
    fn turned_off(self) -> Absence {
        Absence::new(self.name(), "it was turned off for this run", "leave that option out")
    }

    /// Its name in `doctor`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rights => "rights to trace",
            Self::Tracefs => "tracefs",
            Self::Btf => "BTF",
            Self::Symbols => "kernel symbols",
            Self::Tracepoint => "tracepoint",
            Self::SyscallTracepoints => "tracepoint:syscalls",
            Self::RawTracepoint => "rawtracepoint",
            Self::Kprobe => "kprobe",
            Self::KprobeMulti => "kprobe.multi",
            Self::KprobeSession => "kprobe.session",
            Self::Fentry => "fentry",
            Self::FentryMulti => "fentry.multi",
            Self::FunctionList => "function list",
            Self::Uprobe => "uprobe",
            Self::UprobeMulti => "uprobe.multi",
            Self::Usdt => "usdt",
            Self::PerfSoftware => "software events",
            Self::PerfHardware => "hardware events",
            Self::Watchpoint => "watchpoint",
            Self::Iter => "iter",
            Self::RingBuffer => "ring buffer",
            Self::BpfStats => "BPF statistics",
            Self::AttachCookie => "attach cookies",
            Self::BpfLoop => "bpf_loop",
            Self::DPath => "d_path",
            Self::Jit => "BPF JIT",
            Self::Override => "override",
            Self::UserEvents => "user_events",
            Self::Osnoise => "osnoise tracer",
            Self::Timerlat => "timerlat tracer",
            Self::HistTriggers => "hist triggers",
        }
    }
}

/// The answers for one kernel.
#[derive(Clone, Debug)]
pub struct Features {
    answers: Vec<(Feature, Result<(), Absence>)>,
}

impl Features {
    pub(super) fn probe(kernel: &Kernel) -> Self {
        let evidence = Evidence::gather(kernel);
        let answer = |feature: Feature| {
            if kernel.may_use(feature) { evidence.answer(feature) } else { Err(feature.turned_off()) }
        };
        Self { answers: Feature::ALL.into_iter().map(|f| (f, answer(f))).collect() }
    }

    /// Whether the kernel has it.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.require(feature).is_ok()
    }

    /// Nothing, or why the kernel does not have it.
    ///
    /// # Errors
    /// The absence.
    pub fn require(&self, feature: Feature) -> Result<(), Absence> {
        self.answers.iter().find(|(f, _)| *f == feature).map_or(Ok(()), |(_, answer)| answer.clone())
    }

    /// Every feature with its answer, in the order of [`Feature::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Feature, Option<&Absence>)> {
        self.answers.iter().map(|(f, answer)| (*f, answer.as_ref().err()))
    }
}
