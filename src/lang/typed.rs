//! The typed program: what every front end lowers to and the compiler's only input.
//!
//! Everything that depends on names is resolved here: fields are offsets, casts are explicit, both
//! sides of an operator have one type, macros are expanded, wildcards are lists of targets. A
//! program with errors never reaches the back end.

mod code;
pub mod dump;
mod durations;
mod ids;
pub mod keys;
mod layout;
mod operators;
mod scopes;
mod sessions;
pub mod sizes;
mod tree;
pub mod validate;
pub mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::source::Span;
use super::types::{StackMode, Type};
use crate::model::format::Format;
use crate::model::target::Target;

pub use code::{
    Block, Builtin, Clock, Expr, ExprKind, Intrinsic, ScopeId, Statement, StatementKind, SymbolForm, WORDS_BYTES,
};
pub use ids::{ActionId, FunctionId, LocalId, MapId};
pub use layout::{aggregate_size, bitfield_shifts, bitfield_value, size_align, tuple_layout};
pub use operators::{BinaryOp, UnaryOp};
pub use sessions::Session;

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
    /// For each name its number, where the language numbers probes; else empty.
    pub probe_ids: Vec<u32>,
    /// How many probes the script's descriptions name, where the language tells.
    pub matched: u32,
    /// How records of clauses are printed.
    pub style: crate::model::d::Style,
    /// User-defined functions by [`FunctionId`].
    pub functions: Vec<Function>,
    /// Settings that reach the back end or the printers.
    pub config: Config,
}

impl Program {
    /// For each name the index of the first one that is of the same function: in the kernel by the function's name, else
    /// by the binary's, too.
    #[must_use]
    pub fn function_ids(&self) -> Vec<u32> {
        let mut first = HashMap::new();
        let mut number = |(id, name)| *first.entry(binary_and_function(name)).or_insert(id);
        (0..).zip(self.probe_names.iter().map(|name| &**name)).map(&mut number).collect()
    }

    /// Whether it reports addresses of processes, which are shown as symbols.
    #[must_use]
    pub fn has_user_addresses(&self) -> bool {
        let reported = self.actions.iter().flat_map(|a| &a.values);
        let kept = self.maps.iter().flat_map(|m| [&m.key, &m.value]);
        reported.chain(kept).any(is_user_address)
    }
}

/// What tells functions apart by their probes' names.
fn binary_and_function(name: &str) -> (&str, &str) {
    let user = name.starts_with("uprobe:") || name.starts_with("uretprobe:");
    let binary = if user { name.split_once(':').and_then(|(_, rest)| rest.rsplit_once(':')) } else { None };
    (binary.map_or("", |(binary, _)| binary), function_of(name))
}

fn is_user_address(ty: &Type) -> bool {
    match ty {
        Type::UStack { .. } | Type::USym => true,
        Type::Tuple(items) => items.iter().any(is_user_address),
        Type::Record(items) => items.iter().any(|(_, ty)| is_user_address(ty)),
        Type::Array { of, .. } => is_user_address(of),
        _ => false,
    }
}

/// The function in a probe's name, without the offset in it (`kprobe:vfs_read+4`).
#[must_use]
pub fn function_of(probe: &str) -> &str {
    // Names as D has them: provider, module, function and name.
    let mut parts = probe.split(':');
    if let (Some(provider), Some(_), Some(function), Some(_)) = (parts.next(), parts.next(), parts.next(), parts.next())
    {
        let of_process = provider.strip_prefix("pid").is_some_and(|pid| pid.bytes().all(|b| b.is_ascii_digit()));
        if of_process || matches!(provider, "syscall" | "fbt" | "rawfbt") {
            return function;
        }
    }
    let name = probe.rsplit(':').next().unwrap_or("");
    let is_offset = |text: &str| {
        let digits = text.strip_prefix("0x");
        !digits.unwrap_or(text).is_empty()
            && digits
                .unwrap_or(text)
                .bytes()
                .all(|b| if digits.is_some() { b.is_ascii_hexdigit() } else { b.is_ascii_digit() })
    };
    match name.rsplit_once('+') {
        Some((function, offset)) if is_offset(offset) && !function.is_empty() => function,
        _ => name,
    }
}

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
    /// `exit()` leaves the firing probe at once; else only later firings are kept off.
    pub exit_leaves_probe: bool,
    /// Licence declared by the object.
    pub license: Arc<str>,
    /// Default mode of stacks.
    pub stack_mode: StackMode,
    /// User stacks are unwound by the tables of their binaries, not by frame pointers.
    pub unwind_tables: bool,
    /// Size of the ring buffer in bytes, a power of two and of pages; 0 for the default.
    pub ring_bytes: u32,
    /// Demangle C++ and Rust names.
    pub demangle: bool,
    /// Resolve symbols only when printed.
    pub lazy_symbolication: bool,
    /// What to do about probes that can't be attached here.
    pub missing_probes: MissingProbes,
    /// Patterns leave out the kernel's functions that programs run in themselves.
    pub skip_program_functions: bool,
}

/// What to do about probes that this kernel lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MissingProbes {
    /// The script can't run.
    #[default]
    Error,
    /// Say so and go on with the others.
    Warn,
    /// Go on with the others.
    Ignore,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_map_keys: 4096,
            max_strlen: 1024,
            max_cat_bytes: 10240,
            str_trunc_trailer: "..".into(),
            print_maps_on_exit: true,
            exit_leaves_probe: true,
            license: "GPL".into(),
            stack_mode: StackMode::Bpftrace,
            unwind_tables: false,
            ring_bytes: 0,
            demangle: true,
            lazy_symbolication: true,
            missing_probes: MissingProbes::Error,
            skip_program_functions: false,
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
    /// True when it has one attach point in the script and its body does not ask for `probe`: a kernel function's
    /// entry may then share a session with the return.
    pub alone: bool,
    /// True when its predicate already says that the event is about the process of `-p`: else it is compared with the one
    /// that runs.
    pub limited: bool,
    /// True when ftrace lists each of its kernel functions, and each once: links to many functions reach them.
    pub traced: bool,
    /// Set by what can't be read and by a division by zero, which then leave the innermost loop; where there is none they
    /// are counted. The low 8 bits tell the cause ([`fault_code`]), those above where it stands in the text.
    pub fault: Option<LocalId>,
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
    /// The calls of macros whose bodies hold it, innermost first.
    pub expanded: Vec<Span>,
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
    /// All that a clause of a D program records, at its end. The first value is the number of the probe, or 0 for
    /// that of the record's own.
    Record(Arc<crate::model::d::Record>),
    /// A clause was left by a fault: carries its cause and place ([`Probe::fault`]) and an address.
    Fault {
        /// The clause's number.
        clause: u32,
        /// Where the text's lines begin, bytes.
        lines: Arc<[u32]>,
    },
    /// A failed `assert` or other fault that the script is told of.
    RuntimeError(Arc<str>),
}

/// The number of a fault, as D has it: 1 for what can't be read, 4 for a division by zero, 11 for an index out of
/// bounds; `None` for what is no fault.
#[must_use]
pub const fn fault_code(cause: crate::model::stats::LossCause) -> Option<i64> {
    use crate::model::stats::LossCause as L;
    match cause {
        L::ReadFailed => Some(1),
        L::DivideByZero => Some(4),
        L::OutOfBounds => Some(11),
        _ => None,
    }
}

/// Where a formatted line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::function_of;

    #[test]
    fn an_offset_is_no_part_of_a_function() {
        assert_eq!(function_of("kprobe:vfs_read+4"), "vfs_read");
        assert_eq!(function_of("uprobe:/bin/a+b:main+0x1f"), "main");
        assert_eq!(function_of("kprobe:vfs_read"), "vfs_read");
        assert_eq!(function_of("uprobe:/bin/a:operator+"), "operator+");
        assert_eq!(function_of("uprobe:/bin/a:a+b"), "a+b");
    }
}
