//! The types of values in scripts and their one canonical memory layout, which the compiler writes
//! and the decoder reads.
//!
//! Layout rules: integers, booleans and pointers have their natural size and alignment; strings are
//! NUL-padded bytes; tuples and records are laid out as C structs (natural alignment, size rounded
//! up to the largest alignment) with every padding byte zero, so that equal values have equal bytes.

use std::sync::Arc;

/// Where a pointer points, which decides the helper that reads through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Kernel memory: `bpf_probe_read_kernel`.
    Kernel,
    /// Memory of the current process: `bpf_probe_read_user`.
    User,
    /// Either, as an address computed from integers may: `bpf_probe_read`, which tells by the address
    /// itself. The kernel has it wherever user and kernel addresses differ (x86-64 and arm64 do).
    Either,
    /// The program's own context: loaded directly, offsets checked by the verifier.
    Context,
}

/// The aggregations. Their values live per CPU and are combined by the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregation {
    /// Number of calls. Per CPU: `u64`.
    Count,
    /// Sum. Per CPU: `i64` or `u64`.
    Sum {
        /// Whether the summed values are signed.
        signed: bool,
    },
    /// Smallest value. Per CPU: value `u64`, then `u64` 1 when set.
    Min {
        /// Whether values are compared as signed.
        signed: bool,
    },
    /// Largest value. Layout as [`Aggregation::Min`].
    Max {
        /// Whether values are compared as signed.
        signed: bool,
    },
    /// Arithmetic mean, rounded towards zero. Per CPU: sum `u64`, count `u64`.
    Avg {
        /// Whether the values are signed.
        signed: bool,
    },
    /// Count, average and total. Layout as [`Aggregation::Avg`].
    Stats {
        /// Whether the values are signed.
        signed: bool,
    },
    /// Power-of-two histogram, each power split into `2^bits` buckets. Per CPU: one `u64` a bucket;
    /// bucket numbering is `model::histogram::log2_bucket`.
    Hist {
        /// 0 to 5.
        bits: u8,
    },
    /// Linear histogram. Per CPU: `u64` buckets: below `min`, one a step, at or over `max`.
    LHist {
        /// Lower edge of the first full bucket.
        min: i64,
        /// Upper edge of the last full bucket.
        max: i64,
        /// Width of a bucket, over 0.
        step: i64,
    },
    /// D's `llquantize`; its values are the numbers of buckets already. Per CPU: `u64` buckets.
    LogLinear(crate::model::histogram::LogLinear),
    /// D's power-of-two histogram of values of both signs: 127 counts, that of 0 in the middle.
    Quantize,
    /// Standard deviation. Per CPU: sum `u64`, count `u64`, sum of squares `u128`.
    StdDev,
    /// Values over time: `buckets` intervals of `interval_ns`, each combined by `reduce`.
    /// Per CPU and bucket: epoch `u64`, value `u64`, count `u64`.
    TSeries {
        /// Length of one interval in nanoseconds.
        interval_ns: u64,
        /// How many intervals are kept.
        buckets: u32,
        /// How values of one interval are combined.
        reduce: Reduce,
        /// Whether the values are signed.
        signed: bool,
    },
}

/// How a time series combines the values that fall in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The last value written (no function named).
    Last,
    /// Arithmetic mean.
    Avg,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Sum.
    Sum,
}

/// How a captured stack is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackMode {
    /// Symbol and offset, one frame a line, indented.
    Bpftrace,
    /// As `perf script` prints frames.
    Perf,
    /// Addresses only.
    Raw,
    /// Build id and file offset.
    BuildId,
}

/// A struct or union by its index in [`super::typed::Program::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub u32);

/// An enum by its index in [`super::typed::Program::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnumId(pub u32);

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value (statements, calls made for their effect).
    Void,
    /// Could not be typed; an error was reported. Never reaches the compiler's back end.
    Error,
    /// True or false, one byte.
    Bool,
    /// An integer of 1, 2, 4 or 8 bytes.
    Int {
        /// Size in bytes.
        size: u8,
        /// Two's complement when signed.
        signed: bool,
    },
    /// A C enum: an integer that prints symbolically.
    Enum {
        /// Which enum.
        id: EnumId,
        /// Size in bytes.
        size: u8,
        /// Whether it has negative values.
        signed: bool,
    },
    /// NUL-terminated text in `size` bytes, terminator included.
    Str {
        /// Bytes, terminator included.
        size: u32,
    },
    /// Bytes: a `u32` length, then `size` bytes (alignment 4).
    Buf {
        /// Capacity in bytes.
        size: u32,
    },
    /// A pointer, 8 bytes.
    Ptr {
        /// What it points to; [`Type::Void`] for an untyped one.
        to: Arc<Type>,
        /// In which memory.
        space: AddressSpace,
    },
    /// A C array.
    Array {
        /// Element type.
        of: Arc<Type>,
        /// Number of elements.
        len: u32,
    },
    /// A C struct or union, in C's own layout.
    Struct(StructId),
    /// A tuple, `(1, "a")`.
    Tuple(Arc<[Type]>),
    /// A record, `(x = 1, y = "a")`.
    Record(Arc<[(Arc<str>, Type)]>),
    /// An aggregation; only maps hold it.
    Agg(Aggregation),
    /// A kernel stack: `u64` id in the stack map (0 when it could not be read), `u32` 0, `u32` frames.
    KStack {
        /// How it prints.
        mode: StackMode,
        /// Most frames captured.
        depth: u16,
    },
    /// A user stack: `u64` id in the stack map (0 when it could not be read), `u32` pid, `u32` frames.
    UStack {
        /// How it prints.
        mode: StackMode,
        /// Most frames captured.
        depth: u16,
    },
    /// A kernel address that prints as its symbol: `u64`.
    KSym,
    /// A user address that prints as its symbol: `u64` address, `u32` pid, `u32` 0.
    USym,
    /// An IP address: `u32` family (2 IPv4, 10 IPv6), 16 bytes in network order (alignment 4).
    Inet,
    /// A MAC address, 6 bytes, alignment 1.
    Mac,
    /// A user id that prints as a name: `u64`.
    Username,
    /// A time that prints by a format: `u64` ns (boot clock), `u32` format index in
    /// [`super::typed::Program::time_formats`], `u32` clock (0 boot, 1 monotonic, 2 TAI, 3 wall).
    Timestamp,
    /// A cgroup id that prints as a path: `u64` id, `u32` filter index in
    /// [`super::typed::Program::cgroup_filters`] (`u32::MAX` for none), `u32` 0.
    CgroupPath,
    /// An errno (`u64`) that prints as `strerror`.
    Strerror,
    /// A signal number (`u64`) that prints as its name.
    SignalName,
    /// A system call number (`u64`) that prints as its name.
    SyscallName,
    /// The firing probe's full name: `u64` index in [`super::typed::Program::probe_names`].
    ProbeName,
    /// The firing probe's function name as text known per target: `u64` index in
    /// [`super::typed::Program::probe_names`], printed as its last part.
    FuncName,
}

impl Type {
    /// `int64`.
    pub const I64: Self = Self::Int { size: 8, signed: true };
    /// `uint64`.
    pub const U64: Self = Self::Int { size: 8, signed: false };
    /// `int32`.
    pub const I32: Self = Self::Int { size: 4, signed: true };
    /// `uint32`.
    pub const U32: Self = Self::Int { size: 4, signed: false };

    /// Integers, enums, booleans and pointers: what fits a register and computes there.
    #[must_use]
    pub const fn is_scalar(&self) -> bool {
        matches!(self, Self::Bool | Self::Int { .. } | Self::Enum { .. } | Self::Ptr { .. })
    }

    /// Values that fit one 8-byte register, formatted ones included.
    #[must_use]
    pub const fn fits_register(&self) -> bool {
        self.is_scalar()
            || matches!(
                self,
                Self::KSym
                    | Self::Username
                    | Self::Strerror
                    | Self::SignalName
                    | Self::SyscallName
                    | Self::ProbeName
                    | Self::FuncName
            )
    }

    /// Numbers that stand for a text which is known when the script is compiled.
    #[must_use]
    pub const fn is_symbolic_number(&self) -> bool {
        matches!(self, Self::Strerror | Self::SignalName | Self::SyscallName | Self::ProbeName | Self::FuncName)
    }

    /// Bytes of a string that holds any text of a type of words ([`Type::is_symbolic_number`]), terminator
    /// included; longer names of probes are cut.
    #[must_use]
    pub const fn word_bytes(&self) -> u32 {
        match self {
            Self::ProbeName | Self::FuncName => 256,
            _ => 64,
        }
    }

    /// Whether arithmetic on it is signed.
    #[must_use]
    pub const fn is_signed(&self) -> bool {
        matches!(self, Self::Int { signed: true, .. } | Self::Enum { signed: true, .. })
    }
}
