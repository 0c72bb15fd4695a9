//! The compiler's product: a standard BPF ELF object and what the engine must know to run it.

use std::sync::Arc;

use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{ActionId, MapId};
use crate::model::stats::LossCause;

/// A compiled script.
#[derive(Clone, Debug, Default)]
pub struct Artifact {
    /// ELF object: libbpf section names, `license`, BTF-defined `.maps`, global data, BTF and line info.
    pub object: Arc<[u8]>,
    /// At least one for each of the typed program's probes, in order of probes.
    pub programs: Vec<ProgramSpec>,
    /// One for each of the script's maps, in order.
    pub maps: Vec<MapSpec>,
    /// Brakes of programs whose loops may take long.
    pub brakes: Vec<BrakeSpec>,
    /// Where the budget's words are, in a script that has one.
    pub budget: Option<BudgetSpec>,
    /// Where the loss counters are.
    pub sites: Vec<SiteSpec>,
    /// Where reports go; absent when no probe reports anything.
    pub ring: Option<RingSpec>,
    /// Map of captured stacks: key `u64` id, value `stack_depth` addresses of 8 bytes, zero-filled.
    pub stacks: Option<StackMapSpec>,
    /// Where the tables are that user stacks are unwound by, in a script that asks for it.
    pub unwind: Option<UnwindSpec>,
    /// Global data that the engine writes before the load or reads while running.
    pub globals: Vec<GlobalSpec>,
    /// What this kernel may refuse.
    pub warnings: Vec<Diagnostic>,
}

/// One BPF program of the object.
#[derive(Clone, Debug)]
pub struct ProgramSpec {
    /// Symbol in the object.
    pub name: Arc<str>,
    /// ELF section, by libbpf's conventions.
    pub section: Arc<str>,
    /// Which of the typed program's probes it runs.
    pub probe: u32,
    /// The probe that it runs at the return of the same functions, where it is on their entry: a session.
    pub on_return: Option<u32>,
    /// Which of that probe's targets it is for: indices into `Probe::targets`.
    pub targets: Vec<u32>,
    /// The program type that it was compiled for.
    pub kind: ProgramKind,
    /// Instructions.
    pub instructions: u32,
    /// Span of each instruction's source, by instruction index, ascending; an entry holds up to the next.
    pub lines: Vec<(u32, Span)>,
    /// True when targets must be attached with their name's index as cookie.
    pub needs_cookie: bool,
    /// Of the programs on one place the kernel runs the one first that was attached last.
    pub newest_first: bool,
}

/// Types of programs, which decide context, section and how they are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// `BPF_PROG_TYPE_RAW_TRACEPOINT`, run by `BPF_PROG_TEST_RUN` (begin, end, signals, tests).
    TestRun,
    /// `BPF_PROG_TYPE_TRACEPOINT`.
    Tracepoint,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_RAW_TP`.
    RawTracepoint,
    /// `BPF_PROG_TYPE_KPROBE` on a kernel function.
    Kprobe,
    /// `BPF_PROG_TYPE_KPROBE` with `BPF_TRACE_KPROBE_MULTI`.
    KprobeMulti,
    /// `BPF_PROG_TYPE_KPROBE` with `BPF_TRACE_KPROBE_SESSION`.
    KprobeSession,
    /// `BPF_PROG_TYPE_KPROBE` on a user address.
    Uprobe,
    /// `BPF_PROG_TYPE_KPROBE` with `BPF_TRACE_UPROBE_MULTI`.
    UprobeMulti,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_FENTRY`.
    Fentry,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_FEXIT`.
    Fexit,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_FENTRY_MULTI`.
    FentryMulti,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_FEXIT_MULTI`.
    FexitMulti,
    /// `BPF_PROG_TYPE_PERF_EVENT`.
    PerfEvent,
    /// `BPF_PROG_TYPE_TRACING` with `BPF_TRACE_ITER`.
    Iter,
    /// One raw tracepoint program that stands for many system call tracepoints
    /// (`raw_syscalls:sys_enter` or `sys_exit`), dispatching by number.
    SyscallDispatch,
}

impl ProgramKind {
    /// Programs of `BPF_PROG_TYPE_TRACING`, which may call the kernel's functions on tasks.
    #[must_use]
    pub const fn is_tracing(self) -> bool {
        matches!(
            self,
            Self::RawTracepoint | Self::Fentry | Self::Fexit | Self::FentryMulti | Self::FexitMulti | Self::Iter
        )
    }
}

/// Where a script's map lives.
#[derive(Clone, Debug)]
pub struct MapSpec {
    /// Which.
    pub id: MapId,
    /// How it is stored.
    pub storage: Storage,
}

/// Storage of a script's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A scalar in global data shared by all CPUs: value at `offset` in `area`, and a presence byte
    /// (not 0 when set) at `present`.
    Global {
        /// Name of the global-data map (`.bss.shared`).
        area: Arc<str>,
        /// Byte offset of the value.
        offset: u32,
        /// Byte offset of the presence byte.
        present: u32,
    },
    /// A scalar aggregation in per-CPU global data: CPU `n`'s value is at `offset + n * stride`.
    /// Present when any CPU's presence byte (at `present + n * stride`) is not 0.
    GlobalPerCpu {
        /// Name of the global-data map (`.bss.percpu`).
        area: Arc<str>,
        /// Byte offset of CPU 0's value.
        offset: u32,
        /// Byte offset of CPU 0's presence byte.
        present: u32,
        /// Bytes between CPUs.
        stride: u32,
        /// The map's key is the CPU's number: each CPU's value is an element of its own.
        keyed: bool,
    },
    /// A hash map of its own; per CPU when said.
    Hash {
        /// Name of the BPF map in the object.
        map: Arc<str>,
        /// Whether each CPU has its own values.
        per_cpu: bool,
        /// Key size in bytes.
        key_size: u32,
        /// Value size in bytes.
        value_size: u32,
    },
    /// Numbered cells in per-CPU global data.
    Cells(CellsSpec),
}

/// A map whose values lie in cells of per-CPU global data: a BPF hash map gives each key the number of its
/// cell.
///
/// The map lives in epochs, which `clear` ends. Its epoch is the upper half of the first of four words. A
/// key in the hash map is that word, then the script's key; its value is a tag: the epoch, and in the lower
/// half the number of the cell plus one. Cells come in two halves of `capacity`, for even and for odd
/// epochs; the second and third word count what was given out of them. The fourth may hold a tag that
/// nobody uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellsSpec {
    /// Name of the BPF map in the object.
    pub map: Arc<str>,
    /// Bytes of the script's key.
    pub key_size: u32,
    /// Name of the global-data map with the cells.
    pub area: Arc<str>,
    /// Byte offset of CPU 0's first cell.
    pub first: u32,
    /// Bytes between CPUs.
    pub stride: u32,
    /// Bytes of a cell.
    pub value_size: u32,
    /// Cells of one half.
    pub capacity: u32,
    /// Name of the global-data map with the four words.
    pub words_area: Arc<str>,
    /// Byte offset of the four words.
    pub words: u32,
}

/// Where programs put their reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingSpec {
    /// Into the kernel's ring buffer, by its helpers.
    Kernel {
        /// Name of its map.
        map: Arc<str>,
    },
    /// Into slots of memory that they share with the reader, by plain stores.
    Slots(PerCpuRingSpec),
}

impl RingSpec {
    /// The kernel's ring buffer, which holds the reports or only wakes their reader.
    #[must_use]
    pub const fn kernel_map(&self) -> &Arc<str> {
        match self {
            Self::Kernel { map } | Self::Slots(PerCpuRingSpec { wake: map, .. }) => map,
        }
    }
}

/// Rings of slots, one for each CPU: a reservation is an atomic addition instead of the kernel's lock that all
/// CPUs share.
///
/// An element of the array map is one CPU's ring: a `u64` that counts the slots that were ever reserved, at
/// [`SLOTS_CONSUMED`] a `u64` that counts those that the reader is done with, and from [`FIRST_SLOT`] on the
/// slots. The `n`th reservation gets slot `n` modulo their number. A slot is a `u64` and the record behind it.
/// The word is written last: from bit 0 on 24 bits of `n + 1`, which no earlier iteration left there, then 8 bits
/// with the record's length in bytes, and from bit 32 on the report's number among those of all CPUs, which
/// count them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerCpuRingSpec {
    /// Name of the kernel's ring buffer through which a sleeping reader is woken.
    pub wake: Arc<str>,
    /// Name of the array map with the rings.
    pub map: Arc<str>,
    /// Bytes of a slot, its word included; a multiple of 8.
    pub slot_bytes: u32,
    /// Slots of a ring, a power of two below 2^22.
    pub slots: u32,
    /// Rings: possible CPUs.
    pub rings: u32,
}

/// Offset of the count of consumed slots: on another cache line than what programs write.
pub const SLOTS_CONSUMED: u32 = 64;

/// Offset of a ring's first slot.
pub const FIRST_SLOT: u32 = 128;

/// Bits of a slot's word that tell which reservation wrote it.
pub const SLOT_ROUND_BITS: u32 = 24;

/// Bytes of a ring of so many slots; rings begin on cache lines of their own.
#[must_use]
pub const fn slot_ring_bytes(slot_bytes: u32, slots: u32) -> u32 {
    FIRST_SLOT + (slot_bytes * slots).next_multiple_of(64)
}

impl PerCpuRingSpec {
    /// Bytes of a ring.
    #[must_use]
    pub const fn ring_bytes(&self) -> u32 {
        slot_ring_bytes(self.slot_bytes, self.slots)
    }
}

/// Tables that user stacks are unwound by; the engine fills them while the trace runs.
///
/// Rows of all binaries lie one after the other in global data (see [`crate::binary::unwind`]). A process's element in the hash
/// map, by its id as `u64`, has the address of its memory in the kernel (`mm`; 0 for any) at [`UNWIND_MM`], and from
/// [`UNWIND_FIRST_MAPPING`] on its code, ascending: `u64` first address, end, what makes an address of the binary of one of
/// the process by adding, and the number of the first row (`u32`) and of the rows (`u32`). The first mapping is empty and
/// begins at 0; behind the last the addresses are [`UNWIND_NO_ADDRESS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwindSpec {
    /// Name of the global-data map with the rows.
    pub rows: Arc<str>,
    /// Name of the hash map of processes.
    pub processes: Arc<str>,
    /// Name of the hash map that programs put processes into whose table is missing or too old: by their id the address of
    /// their memory.
    pub wanted: Arc<str>,
}

/// Rows that there is room for, a power of two.
pub const UNWIND_ROWS: u32 = 1 << 21;
/// Bytes of a row.
pub const UNWIND_ROW: u32 = 8;
/// Mappings of a process, a power of two.
pub const UNWIND_MAPPINGS: u32 = 256;
/// Bytes of a mapping.
pub const UNWIND_MAPPING: u32 = 32;
/// Processes that there is room for.
pub const UNWIND_PROCESSES: u32 = 1024;
/// Offset in a process's element of the address of its memory.
pub const UNWIND_MM: u32 = 0;
/// Offset in a process's element of the first mapping.
pub const UNWIND_FIRST_MAPPING: u32 = 16;
/// Bytes of a process's element.
pub const UNWIND_PROCESS: u32 = UNWIND_FIRST_MAPPING + UNWIND_MAPPINGS * UNWIND_MAPPING;
/// No process has memory from here on.
pub const UNWIND_NO_ADDRESS: u64 = 1 << 62;

/// The stack map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackMapSpec {
    /// Name of the BPF map in the object.
    pub map: Arc<str>,
    /// Addresses in one value.
    pub depth: u32,
}

/// A place in the script that can lose something, with its counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSpec {
    /// What is lost there.
    pub cause: LossCause,
    /// The report that is lost, for [`LossCause::RingFull`].
    pub action: Option<ActionId>,
    /// Which probe (index in the typed program).
    pub probe: u32,
    /// Where in the script.
    pub span: Span,
    /// The `u64` counter: CPU `n`'s is at `offset + n * stride` in `area`.
    pub area: Arc<str>,
    /// Byte offset of CPU 0's counter.
    pub offset: u32,
    /// Bytes between CPUs.
    pub stride: u32,
}

/// A program's brake: what it writes when it turns itself off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrakeSpec {
    /// Where the program is attached, or the first of many places.
    pub name: Arc<str>,
    /// Which probe (index in the typed program).
    pub probe: u32,
    /// The first loop in it.
    pub span: Span,
    /// Name of the global-data map with its words.
    pub area: Arc<str>,
    /// Byte offset of its words.
    pub offset: u32,
}

/// Offset in a brake's words of a [`BrakeCause`]; 0 while the program runs. Written last.
pub const BRAKE_CAUSE: u32 = 0;
/// Offset of how many steps the last firing made.
pub const BRAKE_STEPS: u32 = 8;
/// Offset of how long its firings took, ns.
pub const BRAKE_NS: u32 = 16;
/// Offset of the time in which they took it, ns.
pub const BRAKE_ELAPSED: u32 = 24;

/// Why a program was turned off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrakeCause {
    /// One firing made too many steps.
    Steps = 1,
    /// Long firings took nearly all of a CPU's second, or one alone took too long.
    Second = 2,
    /// Long firings took nearly all of what a thread got of its CPU.
    Thread = 3,
}

/// Where the words of a budget are: the limits at the begin of the area, those of each probe for each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetSpec {
    /// Name of the global-data map.
    pub area: Arc<str>,
    /// The probes that have a share.
    pub probes: Vec<BudgetProbe>,
}

/// A probe's words: CPU `n`'s are at `offset + n * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetProbe {
    /// Which (index in the typed program).
    pub probe: u32,
    /// Byte offset of CPU 0's words.
    pub offset: u32,
    /// Bytes between CPUs.
    pub stride: u32,
    /// The probe that begins what this one ends, and is throttled in its place.
    pub leader: Option<u32>,
}

/// The period that a budget is for, ns.
pub const BUDGET_PERIOD_NS: u64 = 100_000_000;
/// Offset in a budget's area of what each CPU may take of a period for itself, ns. Written by the engine, as the next two.
pub const BUDGET_LIMIT: u32 = 0;
/// Offset of a probe's share of it, ns.
pub const BUDGET_SHARE: u32 = 8;
/// Offset of what all take together when shares begin to count, ns.
pub const BUDGET_FROM: u32 = 16;
/// Offset of what all CPUs together may draw of a period beyond that, ns. Written by the engine, as the next one.
pub const BUDGET_POOL: u32 = 24;
/// Offset of what one CPU may draw at most, ns.
pub const BUDGET_MOST_DRAWN: u32 = 32;
/// Offset of the period (time by [`BUDGET_PERIOD_NS`]) that was drawn in last. Written by programs, as the next one.
pub const BUDGET_POOL_PERIOD: u32 = 40;
/// Offset of what was drawn in it, ns.
pub const BUDGET_POOL_TAKEN: u32 = 48;
/// Offset in a probe's words of how many firings come before the next one that is timed.
pub const BUDGET_LEFT: u32 = 0;
/// Offset of how many firings the next timed one stands for.
pub const BUDGET_INTERVAL: u32 = 16;
/// Offset of how many firings the timed ones have stood for.
pub const BUDGET_TAKEN: u32 = 48;
/// Offset of how many firings found the probe turned off.
pub const BUDGET_THROTTLED: u32 = 56;

/// A global variable that the engine fills or reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalSpec {
    /// What it is.
    pub kind: GlobalKind,
    /// Name of its global-data map.
    pub area: Arc<str>,
    /// Byte offset; the size is 8.
    pub offset: u32,
}

/// Global variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobalKind {
    /// Start of the trace on the boot clock, ns (`elapsed`): written before begin probes run.
    StartBootNs,
    /// Wall clock (UTC) minus boot clock, ns (`tseries`, whose intervals begin where the wall clock's do):
    /// written before begin probes run.
    WallMinusBootNs,
    /// Not 0 once the trace must report nothing more (`exit()` was called): written by programs.
    Exiting,
    /// Not 0 while user space asks for wake-ups from every report: written by the engine.
    WakeUps,
    /// What the last `test:` probe returned: written by the program.
    Result,
}

/// Bytes of a record's header: a `u32` with the action's id in its lowest [`ACTION_BITS`] bits and the CPU in the
/// next [`CPU_BITS`], a `u32` index of the firing target's name in `Program::probe_names` (or `u32::MAX`), and the
/// report's time as a `u64`, ns of `CLOCK_MONOTONIC`. The action's values follow as a C struct by
/// [`crate::lang::typed::tuple_layout`].
pub const RECORD_HEADER: usize = 16;

/// Bits of the action's id in a record's first word.
pub const ACTION_BITS: u32 = 18;

/// Bits of the CPU's number there: no kernel is built for more than 8192 CPUs (`NR_CPUS`).
pub const CPU_BITS: u32 = 13;

/// Set in the first word of a record that tells of a failure. It has a layout of its own: a `u32` with this bit and
/// the index of its [`SiteSpec`], an `i32` that the helper returned, the time as in every record, a `u32` with the
/// helper's number, 0 where none failed, and a `u32` with the CPU's.
pub const FAILURE_RECORD: u32 = 1 << (ACTION_BITS + CPU_BITS);

/// Bytes of a record that tells of a failure.
pub const FAILURE_RECORD_BYTES: usize = 24;
