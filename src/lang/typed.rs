//! The typed program: what every front end lowers to and the compiler's only input.
//!
//! Everything that depends on names is resolved here: fields are offsets, casts are explicit, both
//! sides of an operator have one type, macros are expanded, wildcards are lists of targets. A
//! program with errors never reaches the back end.

pub mod dump;
pub mod validate;

use std::sync::Arc;

use super::source::Span;
use super::types::{AddressSpace, Aggregation, EnumId, StackMode, StructId, Type};
use crate::model::format::Format;

/// A checked script.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In script order.
    pub probes: Vec<Probe>,
    /// All maps by [`MapId`].
    pub maps: Vec<Map>,
    /// What is reported to user space, by [`ActionId`].
    pub actions: Vec<Action>,
    /// Struct definitions by [`StructId`], only those in use.
    pub structs: Vec<StructDef>,
    /// Enum definitions by [`EnumId`], only those in use.
    pub enums: Vec<EnumDef>,
    /// Texts of `strftime` formats.
    pub time_formats: Vec<Arc<str>>,
    /// Texts of `cgroup_path` filters.
    pub cgroup_filters: Vec<Arc<str>>,
    /// Full names of targets, for [`Type::ProbeName`] and [`Type::FuncName`].
    pub probe_names: Vec<Arc<str>>,
    /// User-defined functions by [`FunctionId`].
    pub functions: Vec<Function>,
    /// Settings that reach the back end or the printers.
    pub config: Config,
}

/// Index into [`Program::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapId(pub u32);
/// Index into [`Program::actions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u32);
/// Index into a probe's or function's [`Local`] list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);
/// Index into [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Script settings (bpftrace's `config` block, D's pragmas).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Capacity of maps that name none.
    pub max_map_keys: u32,
    /// Bytes of a `str()` that names no length, terminator included.
    pub max_strlen: u32,
    /// Bytes read by `cat`.
    pub max_cat_bytes: u32,
    /// Appended to truncated strings.
    pub str_trunc_trailer: Arc<str>,
    /// Print all maps when the trace ends.
    pub print_maps_on_exit: bool,
    /// Licence declared by the object.
    pub license: Arc<str>,
    /// Default mode of stacks.
    pub stack_mode: StackMode,
    /// Size of the ring buffer in bytes, a power of two and of pages; 0 for the default.
    pub ring_bytes: u32,
    /// Demangle C++ and Rust names.
    pub demangle: bool,
    /// Resolve symbols only when printed.
    pub lazy_symbolication: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_map_keys: 4096,
            max_strlen: 1024,
            max_cat_bytes: 10240,
            str_trunc_trailer: "..".into(),
            print_maps_on_exit: true,
            license: "GPL".into(),
            stack_mode: StackMode::Bpftrace,
            ring_bytes: 0,
            demangle: true,
            lazy_symbolication: true,
        }
    }
}

/// One program: a body and all the targets that it is attached to.
///
/// The front end makes one `Probe` per target when the body means different things for different
/// targets (typed `args`), and one with many targets otherwise.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where it is attached; never empty.
    pub targets: Vec<Target>,
    /// For each target, its index in [`Program::probe_names`]; same length as `targets`.
    pub names: Vec<u32>,
    /// Runs the body only when true. A scalar.
    pub predicate: Option<Expr>,
    /// The body.
    pub body: Block,
    /// Local variables by [`LocalId`].
    pub locals: Vec<Local>,
    /// True when the body uses [`Builtin::ProbeId`]: many targets then need attach cookies.
    pub needs_probe_id: bool,
    /// The attach points and body in the source.
    pub span: Span,
    /// The attach points alone.
    pub head: Span,
}

/// A user-defined function; compiled as a BPF subprogram or inlined.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name.
    pub name: Arc<str>,
    /// The first `parameters` locals are its parameters.
    pub parameters: u32,
    /// Local variables, parameters first.
    pub locals: Vec<Local>,
    /// Result.
    pub result: Type,
    /// Body.
    pub body: Block,
    /// In the source.
    pub span: Span,
}

/// A local (scratch) variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Name with its `$`; made-up ones start with `%`.
    pub name: Arc<str>,
    /// Its one type.
    pub ty: Type,
}

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
        /// Pin path.
        pin: Option<Arc<str>>,
    },
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

/// A script's map.
#[derive(Clone, Debug)]
pub struct Map {
    /// Name with its `@`.
    pub name: Arc<str>,
    /// Key type; [`Type::Void`] for a scalar map. Several keys are a tuple.
    pub key: Type,
    /// Value type, maybe [`Type::Agg`].
    pub value: Type,
    /// Capacity in keys; 1 for a scalar.
    pub max_entries: u32,
    /// Storage that the script asked for.
    pub storage: MapStorage,
    /// Where it is first used.
    pub span: Span,
}

/// Which kind of map the script declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MapStorage {
    /// Chosen by the back end.
    #[default]
    Auto,
    /// `hash(N)`.
    Hash,
    /// `lruhash(N)`.
    LruHash,
    /// `percpuhash(N)`.
    PerCpuHash,
    /// `percpulruhash(N)`.
    PerCpuLruHash,
}

/// Something that a probe reports to user space through the ring buffer.
#[derive(Clone, Debug)]
pub struct Action {
    /// What is done with it.
    pub kind: ActionKind,
    /// Types of the values that it carries, in order.
    pub values: Vec<Type>,
    /// The call in the source.
    pub span: Span,
}

/// The kinds of report.
#[derive(Clone, Debug)]
pub enum ActionKind {
    /// `printf` and its kin.
    Printf {
        /// Parsed format.
        format: Format,
        /// Where it goes.
        sink: PrintfSink,
    },
    /// `print(value)`.
    PrintValue,
    /// `print(@map, top, div)`: no values; the map is read when the report arrives.
    PrintMap {
        /// Which map.
        map: MapId,
        /// Largest entries to keep; 0 for all.
        top: u64,
        /// Divisor of values; 0 or 1 for none.
        div: u64,
    },
    /// `print(@map[key])`: carries the key; the value is read when the report arrives.
    PrintMapEntry {
        /// Which map.
        map: MapId,
    },
    /// `clear(@map)`.
    Clear(MapId),
    /// `zero(@map)`.
    Zero(MapId),
    /// `exit(code)`: carries the code (`int64`); the probe returns after it.
    Exit,
    /// `time(format)`.
    Time(Arc<str>),
    /// `join(argv, separator)`: carries a buffer of NUL-separated strings.
    Join(Arc<str>),
    /// `cat(format, ...)`.
    Cat(Format),
    /// `system(format, ...)`.
    System(Format),
    /// `skboutput(file, ...)`: carries the packet's bytes as a buffer.
    SkbOutput(Arc<str>),
    /// A failed `assert` or other fault that the script is told of.
    RuntimeError(Arc<str>),
}

/// Where a formatted line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintfSink {
    /// `printf`.
    Out,
    /// `errorf`: standard error with the source location.
    Error,
    /// `warnf`.
    Warning,
    /// `debugf`: the kernel's trace pipe; no ring record.
    TracePipe,
}

/// A C struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructDef {
    /// `task_struct`, without `struct`.
    pub name: Arc<str>,
    /// True for a union.
    pub union: bool,
    /// Bytes.
    pub size: u32,
    /// In declaration order.
    pub fields: Vec<FieldDef>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDef {
    /// Name; empty for an anonymous member (its fields are also found through the parent).
    pub name: Arc<str>,
    /// Type.
    pub ty: Type,
    /// Byte offset.
    pub offset: u32,
    /// For bitfields: first bit within the value loaded at `offset` with the type's size, and width.
    pub bits: Option<(u8, u8)>,
}

/// A C enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDef {
    /// Name, empty when anonymous.
    pub name: Arc<str>,
    /// Names and values.
    pub variants: Vec<(Arc<str>, i64)>,
}

/// A sequence of statements.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
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
    /// Next round of the innermost loop.
    Continue,
    /// Ends the probe or function.
    Return(Option<Expr>),
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
    /// The address of a place.
    AddressOf(Box<Expr>),
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

/// Operators on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`; division by zero gives 1 and is counted as a run-time error of the script.
    Div,
    /// `%`; by zero gives 1 and is counted.
    Mod,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`; the count is taken modulo the width.
    Shl,
    /// `>>`; arithmetic when signed.
    Shr,
    /// `==`; also strings, arrays, tuples and buffers, by bytes up to the terminator.
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// Operators on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    BitNot,
    /// `!`: `Bool`.
    Not,
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
    /// 1 in user mode, 0 in the kernel (profile and perf probes): `uint8`.
    UserMode,
    /// The child started by `-c`: `uint32`.
    ChildPid,
    /// Stack pointer based frame: byte offset into `struct pt_regs` for `reg()`: `uint64`.
    Register(u16),
    /// Number of online CPUs: `uint64`.
    Ncpus,
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

/// Functions computed inside the BPF program. Argument and result types are those of the expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// `str(ptr[, len])`: at most the result type's size; space from the pointer's type.
    Str,
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
    /// `strcap`/`str_concat`.
    StrConcat,
    /// `memcmp(a, b, n)`.
    MemCmp,
    /// `kstack`.
    KStack,
    /// `ustack`.
    UStack,
    /// `len(stack)`.
    StackLen,
    /// `ksym(addr)`.
    KSym,
    /// `usym(addr)`.
    USym,
    /// `func` in probes whose function is only known by its address (kprobe and uprobe wildcards).
    FuncAddress,
    /// `ntop([family,] address)`.
    Ntop,
    /// `pton` of a run-time string is refused; constants are folded to byte arrays before.
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
    /// `socket_cookie(sk)`.
    SocketCookie,
    /// The packet bytes of a `skboutput`.
    SkbBytes,
    /// Adds the run-time load address of a binary to a `uaddr` offset.
    UserAddress,
}

impl Expr {
    /// An expression.
    #[must_use]
    pub const fn new(kind: ExprKind, ty: Type, span: Span) -> Self {
        Self { kind, ty, span }
    }

    /// The constant integer that it is, if it is one.
    #[must_use]
    pub const fn as_int(&self) -> Option<u64> {
        match self.kind {
            ExprKind::Int(v) => Some(v),
            _ => None,
        }
    }
}

/// Size and alignment in bytes of a value of `ty` in maps, records and scratch memory.
/// `Void` and `Error` are 0 and 1.
#[must_use]
pub fn size_align(ty: &Type, structs: &[StructDef]) -> (u32, u32) {
    match ty {
        Type::Void | Type::Error => (0, 1),
        Type::Bool => (1, 1),
        Type::Int { size, .. } | Type::Enum { size, .. } => (u32::from(*size), u32::from(*size)),
        Type::Str { size } => (*size, 1),
        Type::Buf { size } => ((4 + *size).next_multiple_of(4), 4),
        Type::Array { of, len } => {
            let (size, align) = size_align(of, structs);
            (size.saturating_mul(*len), align)
        }
        Type::Struct(StructId(id)) => (structs.get(*id as usize).map_or(0, |s| s.size), 8),
        Type::Tuple(items) => tuple_layout(items.iter(), structs).0,
        Type::Record(items) => tuple_layout(items.iter().map(|(_, t)| t), structs).0,
        Type::Agg(agg) => (aggregate_size(*agg), 8),
        Type::KStack { .. } | Type::UStack { .. } | Type::USym | Type::Timestamp | Type::CgroupPath => (16, 8),
        Type::Inet => (20, 4),
        Type::Mac => (6, 1),
        Type::Ptr { .. }
        | Type::KSym
        | Type::Username
        | Type::Strerror
        | Type::SignalName
        | Type::SyscallName
        | Type::ProbeName
        | Type::FuncName => (8, 8),
    }
}

/// Size and alignment of a tuple of these types, and the offset of each.
pub fn tuple_layout<'a>(items: impl Iterator<Item = &'a Type>, structs: &[StructDef]) -> ((u32, u32), Vec<u32>) {
    let mut end = 0_u32;
    let mut largest = 1_u32;
    let mut offsets = Vec::new();
    for item in items {
        let (size, align) = size_align(item, structs);
        end = end.next_multiple_of(align);
        offsets.push(end);
        end = end.saturating_add(size);
        largest = largest.max(align);
    }
    ((end.next_multiple_of(largest), largest), offsets)
}

/// Bytes of one CPU's value of an aggregation.
#[must_use]
pub fn aggregate_size(agg: Aggregation) -> u32 {
    match agg {
        Aggregation::Count | Aggregation::Sum { .. } => 8,
        Aggregation::Min { .. } | Aggregation::Max { .. } | Aggregation::Avg { .. } | Aggregation::Stats { .. } => 16,
        Aggregation::Hist { bits } => crate::model::histogram::log2_buckets(bits) * 8,
        Aggregation::LHist { min, max, step } => crate::model::histogram::linear_buckets(min, max, step) * 8,
        Aggregation::TSeries { buckets, .. } => buckets.saturating_mul(24),
    }
}

/// Convenience for front ends: a pointer type.
#[must_use]
pub fn pointer(to: Type, space: AddressSpace) -> Type {
    Type::Ptr { to: Arc::new(to), space }
}

/// Convenience: the enum type's id as an index.
#[must_use]
pub const fn enum_index(id: EnumId) -> usize {
    id.0 as usize
}
