//! Concrete places to attach to.

use std::sync::Arc;

/// A concrete place to attach to; patterns were expanded before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Once, before the others are attached.
    Begin,
    /// Once, after the others are detached.
    End,
    /// When this process gets a signal (number).
    SelfSignal(i32),
    /// `test:NAME`, run by `--test`.
    Test(Arc<str>),
    /// `bench:NAME`, run by `--bench`.
    Bench(Arc<str>),
    /// On one CPU, every `period_ns`.
    Interval {
        /// Nanoseconds, at least 1000.
        period_ns: u64,
    },
    /// On every online CPU.
    Profile {
        /// Sampling rate.
        rate: Rate,
    },
    /// A kernel tracepoint through its perf event; context is the tracefs record.
    Tracepoint {
        /// Category (system).
        category: Arc<str>,
        /// Event.
        event: Arc<str>,
    },
    /// A raw tracepoint with BTF arguments (`tp_btf`).
    RawTracepoint {
        /// Event.
        event: Arc<str>,
        /// Module, empty for vmlinux.
        module: Arc<str>,
    },
    /// A kernel function's entry (or an offset in it), or its return.
    Kprobe {
        /// Module, empty when unnamed.
        module: Arc<str>,
        /// Function; empty when `offset` is an absolute address.
        function: Arc<str>,
        /// Bytes from the function's start.
        offset: u64,
        /// At return instead of entry.
        ret: bool,
    },
    /// A kernel function's entry or exit through the BPF trampoline.
    Fentry {
        /// Module, `vmlinux` for the kernel.
        module: Arc<str>,
        /// Function.
        function: Arc<str>,
        /// BTF id of the function in its module's BTF.
        btf_id: u32,
        /// At exit instead of entry.
        exit: bool,
    },
    /// A place in a user-space binary.
    Uprobe {
        /// Absolute path.
        path: Arc<str>,
        /// Symbol for display; empty when given by offset.
        symbol: Arc<str>,
        /// Offset in the file, in bytes.
        file_offset: u64,
        /// At return instead of entry.
        ret: bool,
        /// Offsets in the file of the function's return instructions, each of which is probed, where the kernel's
        /// return probe would crash the program; empty elsewhere.
        exits: Arc<[u64]>,
        /// Only this process.
        pid: Option<u32>,
    },
    /// A statically defined user probe: every site of one provider and name in one binary.
    Usdt {
        /// Absolute path.
        path: Arc<str>,
        /// Provider.
        provider: Arc<str>,
        /// Probe name.
        name: Arc<str>,
        /// File offset of the instruction.
        file_offset: u64,
        /// File offset of the semaphore, 0 for none.
        semaphore: u64,
        /// Where its arguments are at this site.
        arguments: Arc<[UsdtArgument]>,
        /// Only this process.
        pid: Option<u32>,
    },
    /// A software or hardware perf event on every online CPU.
    PerfEvent {
        /// `perf_event_attr.type`: 0 hardware, 1 software, 3 hardware cache.
        kind: u32,
        /// `perf_event_attr.config`.
        config: u64,
        /// Fires once per this many.
        period: u64,
    },
    /// A hardware breakpoint.
    Watchpoint {
        /// Address.
        address: u64,
        /// 1, 2, 4 or 8 bytes.
        length: u8,
        /// Bits: 1 read, 2 write, 4 execute.
        mode: u8,
        /// Process, or every CPU.
        pid: Option<u32>,
    },
    /// A BPF iterator run once.
    Iter {
        /// `task`, `task_file`, `task_vma`.
        kind: Arc<str>,
    },
}

impl Target {
    /// Whether it is in a user-space binary.
    #[must_use]
    pub const fn is_of_user(&self) -> bool {
        matches!(self, Self::Uprobe { .. } | Self::Usdt { .. })
    }

    /// Whether the tracer itself or a clock of its own makes it fire, and nothing of the traced system.
    #[must_use]
    pub const fn is_fired_by_tracer(&self) -> bool {
        matches!(
            self,
            Self::Begin
                | Self::End
                | Self::SelfSignal(_)
                | Self::Test(_)
                | Self::Bench(_)
                | Self::Interval { .. }
                | Self::Iter { .. }
        )
    }
}

/// Sampling rate of a profile target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Samples per second.
    Hertz(u64),
    /// Nanoseconds between samples.
    PeriodNs(u64),
}

/// Where a USDT site keeps one argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsdtArgument {
    /// Size in bytes: 1, 2, 4, 8.
    pub size: u8,
    /// Sign-extend.
    pub signed: bool,
    /// Its place.
    pub place: UsdtPlace,
}

/// Operand of a USDT argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UsdtPlace {
    /// A constant.
    Constant(i64),
    /// A register, by its byte offset in `struct pt_regs`.
    Register(u16),
    /// Memory at registers plus displacement.
    Memory {
        /// Base register's byte offset in `struct pt_regs`.
        base: u16,
        /// Index register's byte offset and its scale.
        index: Option<(u16, u8)>,
        /// Displacement in bytes.
        displacement: i64,
    },
}
