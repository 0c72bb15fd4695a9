//! Statements and expressions.

use std::sync::Arc;

use super::ids::{ActionId, FunctionId, LocalId, MapId};
use super::operators::{BinaryOp, UnaryOp};
use crate::lang::source::Span;
use crate::lang::types::Type;

/// A sequence of statements, which is a scope of variables.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its own number in the program; [`Program::number_scopes`](super::Program::number_scopes) gives it.
    pub id: ScopeId,
    /// In order.
    pub statements: Vec<Statement>,
}

impl Block {
    /// A block without a number.
    #[must_use]
    pub const fn new(statements: Vec<Statement>) -> Self {
        Self { id: ScopeId::NONE, statements }
    }
}

/// What facts about a block are kept by. A statement is told by its block and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(u32);

impl ScopeId {
    /// That of blocks which no program has numbered.
    pub const NONE: Self = Self(u32::MAX);

    /// The scope with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
}

impl Default for ScopeId {
    fn default() -> Self {
        Self::NONE
    }
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// Statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// Evaluated for its effect.
    Expr(Expr),
    /// `$x = e`; the types are equal.
    SetLocal(LocalId, Expr),
    /// `@m[key] = e`. The value's type is the map's (casts are explicit); strings may be shorter.
    SetMap {
        /// Which.
        map: MapId,
        /// Of the map's key type; `None` for a scalar map.
        key: Option<Expr>,
        /// New value.
        value: Expr,
    },
    /// Writes a part of a variable: a field or an element of a map's value, which begins with zeros where the key is new, or
    /// of a local.
    Store {
        /// What is written.
        place: Expr,
        /// Of the place's type.
        value: Expr,
    },
    /// `@m[key] = count()` and kin.
    Aggregate {
        /// Which map; its value type is [`Type::Agg`].
        map: MapId,
        /// Key.
        key: Option<Expr>,
        /// The aggregated value, 8 bytes; `None` for `count()`.
        value: Option<Expr>,
        /// How often to count it (`hist(x, k, weight)`); `None` for once.
        weight: Option<Expr>,
    },
    /// Sends a report: evaluates the values and writes them to the ring buffer.
    Report {
        /// Which.
        action: ActionId,
        /// Of the action's types.
        values: Vec<Expr>,
    },
    /// `if`. The condition is a scalar.
    If(Expr, Block, Block),
    /// `while`. The condition is a scalar.
    While(Expr, Block),
    /// `for ($i : start..end)`: bounds are evaluated once; half-open.
    ForRange {
        /// Loop variable, `int64`.
        local: LocalId,
        /// First.
        start: Expr,
        /// One past the last.
        end: Expr,
        /// Body.
        body: Block,
    },
    /// `for ($kv : @map)`: the local is a tuple (key, value).
    ForMap {
        /// Loop variable.
        local: LocalId,
        /// Which map.
        map: MapId,
        /// Body.
        body: Block,
    },
    /// `unroll(N) { }`.
    Unroll(u32, Block),
    /// Leaves the innermost loop.
    Break,
    /// Next iteration of the innermost loop.
    Continue,
    /// Ends the probe or function.
    Return(Option<Expr>),
    /// Leaves the innermost loop by a fault of this number ([`super::Probe::fault`]).
    Fault(i64),
    /// A nested scope.
    Block(Block),
}

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where it stands.
    pub span: Span,
}

/// Expressions. Struct and array values are places: they are read only where a leaf is used.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer, enum, boolean or pointer constant; two's complement bits.
    Int(u64),
    /// A string constant.
    Str(Arc<str>),
    /// A local variable.
    Local(LocalId),
    /// `@m` or `@m[key]`: zero (empty) when absent. Aggregations read as the reduction over CPUs.
    MapGet {
        /// Which.
        map: MapId,
        /// Key.
        key: Option<Box<Expr>>,
    },
    /// `has_key(@m, key)`: a boolean.
    MapHas {
        /// Which.
        map: MapId,
        /// Key.
        key: Option<Box<Expr>>,
    },
    /// `delete(@m, key)`: a boolean, true when it was there.
    MapDelete {
        /// Which.
        map: MapId,
        /// Key.
        key: Option<Box<Expr>>,
    },
    /// `find(@m, key, $v)`: sets the local when there; a boolean.
    MapFind {
        /// Which.
        map: MapId,
        /// Key.
        key: Box<Expr>,
        /// Receives the value.
        local: LocalId,
    },
    /// `len(@m)`.
    MapLen(MapId),
    /// A value that the kernel or program supplies.
    Builtin(Builtin),
    /// Both sides have the same type, which decides width and signedness; comparisons give `Bool`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Unary operators.
    Unary(UnaryOp, Box<Expr>),
    /// Short circuit; scalars in, `Bool` out.
    And(Box<Expr>, Box<Expr>),
    /// Short circuit; scalars in, `Bool` out.
    Or(Box<Expr>, Box<Expr>),
    /// `c ? a : b`; `a` and `b` have the result's type (strings may be shorter).
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Integer and pointer conversions; also string to larger string, integer to byte array and back.
    Cast(Box<Expr>),
    /// `*p`: a place of the pointed-to type.
    Deref(Box<Expr>),
    /// A field of a place (a struct-typed expression).
    Field {
        /// Struct-typed place.
        base: Box<Expr>,
        /// Byte offset.
        offset: u32,
        /// For bitfields: first bit and width within the value of this expression's type.
        bits: Option<(u8, u8)>,
    },
    /// An element of an array place, or of a pointer taken as an array.
    Index {
        /// Array-typed place or pointer.
        base: Box<Expr>,
        /// Element number, 8 bytes. Out of an array's range reads as zero and is counted.
        index: Box<Expr>,
    },
    /// The address of a place, or of a local, whose memory then lasts as long as the trace.
    AddressOf(Box<Expr>),
    /// A place of this expression's type inside a local that is an array of bytes. The offset is checked against the
    /// power of two that half of the array has room for.
    Within {
        /// An array of bytes whose address is taken.
        local: LocalId,
        /// Byte offset, 8 bytes.
        offset: Box<Expr>,
    },
    /// The address of a map: of the kernel's map of a keyed one, of the value of a scalar one.
    MapAddress(MapId),
    /// A tuple or record; also an array by its elements.
    Tuple(Vec<Expr>),
    /// Element of a tuple or record value.
    TupleField(Box<Expr>, u32),
    /// `++` and `--` on a local.
    LocalStep {
        /// Which.
        local: LocalId,
        /// +1 or -1 (times the element's size for pointers).
        delta: i64,
        /// Value is that before the step.
        postfix: bool,
    },
    /// `++`, `--`, `+= e` on a map's integer, in place.
    MapStep {
        /// Which.
        map: MapId,
        /// Key.
        key: Option<Box<Expr>>,
        /// What is added, 8 bytes; subtraction is the addition of the negative.
        delta: Box<Expr>,
        /// Value is that before the step.
        postfix: bool,
    },
    /// A function computed in the kernel.
    Call(Intrinsic, Vec<Expr>),
    /// A user-defined function.
    CallUser(FunctionId, Vec<Expr>),
    /// `{ statements; value }`.
    Block(Block, Box<Expr>),
}

/// Values that need no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Process id (tgid): `uint32`. In the reader's pid namespace when that is not the first one.
    Pid,
    /// Thread id: `uint32`.
    Tid,
    /// User id: `uint32`.
    Uid,
    /// Group id: `uint32`.
    Gid,
    /// Command name: `Str { size: 16 }`.
    Comm,
    /// Time on a clock: `uint64` ns.
    Nsecs(Clock),
    /// Time since the trace began: `uint64` ns.
    Elapsed,
    /// CPU number: `uint32`.
    Cpu,
    /// NUMA node: `uint32`.
    NumaNode,
    /// cgroup v2 id: `uint64`.
    Cgroup,
    /// `struct task_struct *`.
    CurTask,
    /// Random `uint32`.
    Rand,
    /// `jiffies`: `uint64`.
    Jiffies,
    /// The program's context pointer.
    Ctx,
    /// Argument `n` of the function, tracepoint or USDT probe: 8 bytes, by the calling convention.
    Arg(u8),
    /// Stack argument `n` (`sargN`).
    StackArg(u8),
    /// Function's result: 8 bytes.
    Retval,
    /// Field of the context at a byte offset, of the expression's type: tracepoint records, trampoline
    /// slots. Arrays and strings are places in the context.
    CtxField(u32),
    /// A tracepoint's `__data_loc` string or array: the `u32` at this context offset holds offset and length.
    DataLoc(u32),
    /// Index of the firing target's name in [`Program::probe_names`]: `uint64`.
    ProbeId,
    /// The firing target's function, as the index of the first name that has it: entry and return of one function are
    /// equal ([`Program::function_ids`]). `uint64`.
    FuncId,
    /// 1 in user mode, 0 in the kernel (profile and perf probes): `uint8`.
    UserMode,
    /// The child started by `-c`: `uint32`.
    ChildPid,
    /// The address of the registers with which the process entered the kernel (`struct pt_regs`): `uint64`.
    UserRegisters,
    /// Stack pointer based frame: byte offset into `struct pt_regs` for `reg()`: `uint64`.
    Register(u16),
    /// Number of online CPUs: `uint64`.
    Ncpus,
    /// 1 where the probe's program runs at both ends of a function ([`crate::lang::typed::Session`]): `uint64`.
    InSession,
    /// What the entry of the call that returns kept with [`Intrinsic::KeepInSession`], 0 where nothing: `uint64`.
    SessionCookie,
}

/// The clocks of `nsecs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// `CLOCK_BOOTTIME`.
    Boot,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_TAI`.
    Tai,
    /// TAI computed from the boot clock and an offset taken at the start.
    SoftwareTai,
}

/// How the address of a symbol is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SymbolForm {
    /// The function's name.
    #[default]
    Name = 0,
    /// `object` and function: "libc.so.6`read".
    InObject = 1,
    /// The same with the distance from the function's begin.
    WithOffset = 2,
    /// The object alone.
    Object = 3,
}

impl SymbolForm {
    /// The form of a number; others are the plain name.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        match number {
            1 => Self::InObject,
            2 => Self::WithOffset,
            3 => Self::Object,
            _ => Self::Name,
        }
    }

    /// What turns an address of the kernel into one that says its form: addresses there begin with four ones, or with
    /// four zeros where they are none of the kernel's.
    #[must_use]
    pub const fn mark(self) -> u64 {
        (self as u64) << 60
    }

    /// The form of what [`Self::mark`] was applied to, and the address.
    #[must_use]
    pub const fn unmarked(word: u64) -> (Self, u64) {
        let first = word >> 60;
        let form = Self::of(if first >= 8 { first ^ 0xf } else { first });
        (form, word ^ form.mark())
    }
}

/// Bytes of the text of [`Intrinsic::Words`] with its terminator, as many as DTrace's `pr_psargs` has.
pub const WORDS_BYTES: u32 = 80;

/// Functions computed inside the BPF program. Argument and result types are those of the expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// `str(ptr[, len])`: at most the result type's size; space from the pointer's type.
    Str,
    /// `cmdline(address, length)`: words of a process that each end with a NUL, as text with spaces between them.
    Words,
    /// `buf(ptr_or_array[, len])`.
    Buf,
    /// `path(struct path *)`: `bpf_d_path`.
    Path,
    /// `strlen(s)`.
    StrLen,
    /// `strcontains(haystack, needle)`: `Bool`.
    StrContains,
    /// `strstr(haystack, needle)`: `int64`, index or -1.
    StrStr,
    /// `strncmp(a, b, n)`: 0 when equal. The third argument is constant.
    StrNCmp,
    /// The text of a value whose type is one of words ([`Type::is_symbolic_number`]).
    SymbolicText,
    /// `strcap`/`str_concat`.
    StrConcat,
    /// `memcmp(a, b, n)`.
    MemCmp,
    /// `kstack`.
    KStack,
    /// `ustack`.
    UStack,
    /// `dw_ustack()`: by the unwinding tables of the process's binaries, or not at all.
    UStackByTables,
    /// `len(stack)`.
    StackLen,
    /// The address of one frame of a stack, 0 where it has none: whether it is the process's (constant), and how many
    /// frames are left out before it (constant). `uint64`.
    StackFrame,
    /// `ksym(addr)`.
    KSym,
    /// `usym(addr[, form])`; the constant form is one of [`SymbolForm`].
    USym,
    /// `func` in probes whose function is only known by its address (kprobe and uprobe wildcards).
    FuncAddress,
    /// `ntop([family,] address)`.
    Ntop,
    /// `bswap(n)`: the bytes of an integer in the other order, in its own width.
    Bswap,
    /// `macaddr(ptr)`.
    MacAddr,
    /// `cgroup_path(id)`.
    CgroupPath,
    /// `strftime(format, ns)`: `Timestamp`.
    Strftime,
    /// `join`'s collection of a `char **` into a buffer of NUL-separated strings.
    JoinArgs,
    /// `comm(pid_or_task)`.
    TaskComm,
    /// Parent of a task: `uint32`.
    TaskPpid,
    /// `percpu_kaddr(address, cpu)`.
    PerCpuAddress,
    /// `signal(n)` to the process.
    Signal,
    /// `signal_thread(n)`.
    SignalThread,
    /// `override(rc)`.
    Override,
    /// `write_user(dst, src, n)`.
    WriteUser,
    /// Reads a number of bytes through a pointer into a place of bytes inside a local ([`ExprKind::Within`]).
    ReadInto,
    /// `socket_cookie(sk)`.
    SocketCookie,
    /// Keeps a number for the return of the call, in a session.
    KeepInSession,
    /// Whether the memory that a pointer leads to can be read: `Bool`.
    IsReadable,
    /// The packet bytes of a `skboutput`.
    SkbBytes,
}

impl Intrinsic {
    /// Whether it captures a stack: what it gives is a list of frames, or made of one.
    #[must_use]
    pub const fn captures_stack(&self) -> bool {
        matches!(self, Self::KStack | Self::UStack | Self::UStackByTables)
    }

    /// Whether it does more than compute a value: it runs as often as it is written, where it is written.
    #[must_use]
    pub const fn has_effect(&self) -> bool {
        matches!(
            self,
            Self::Signal | Self::SignalThread | Self::Override | Self::WriteUser | Self::ReadInto | Self::KeepInSession
        )
    }
}
