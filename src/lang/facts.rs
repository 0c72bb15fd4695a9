//! What the front ends must know of the kernel, as a trait so that tests can check scripts against a
//! kernel that is not running.

pub mod kernel;
pub mod programs;
pub mod table;
mod user;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::binary::dwarf::ParameterPlace;
use crate::model::target::Target;
use crate::probe::providers::Found;

/// Why an attach point can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Plain words.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
    /// What is to be warned of beside it.
    pub doubt: Option<String>,
    /// True when the point is well formed and merely absent here: `missing_probes` then decides.
    pub missing: bool,
    /// True when nothing of the point's name or pattern exists here.
    pub unmatched: bool,
    /// True when the point is a pattern that matches nothing here.
    pub wildcard: bool,
    /// What the point names all the same, so that the body can be checked: maps that only an absent
    /// probe writes are known then.
    pub shape: Option<Box<Target>>,
}

/// A C type of the kernel (or of a module): an opaque handle of a [`Facts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CTypeId {
    /// Which collection of types: 0 for the kernel itself.
    pub object: u32,
    /// Index in it.
    pub id: u32,
}

/// Which kind of C name is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CKind {
    /// `struct X`.
    Struct,
    /// `union X`.
    Union,
    /// `enum X`.
    Enum,
    /// `typedef ... X` or a base type's name.
    Typedef,
}

/// A C type with its typedefs and qualifiers taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// `void`, functions, and what has no use as a value.
    Void,
    /// An integer.
    Int {
        /// Bytes.
        size: u8,
        /// Two's complement when signed.
        signed: bool,
        /// Plain `char`: arrays of it are text.
        text: bool,
        /// `_Bool`.
        boolean: bool,
    },
    /// A floating-point number, which has no use as a value.
    Float,
    /// An enum.
    Enum {
        /// Tag, empty when anonymous.
        name: Arc<str>,
        /// Bytes.
        size: u8,
        /// Has negative values.
        signed: bool,
    },
    /// A pointer.
    Pointer {
        /// What it points to; `None` for `void` and functions.
        to: Option<CTypeId>,
        /// Carries the `__user` tag.
        user: bool,
        /// Carries the `__percpu` tag.
        percpu: bool,
    },
    /// An array.
    Array {
        /// Elements.
        of: CTypeId,
        /// How many.
        len: u32,
    },
    /// A struct or union.
    Struct {
        /// Tag, empty when anonymous.
        name: Arc<str>,
        /// True for a union.
        union: bool,
        /// Bytes.
        size: u32,
    },
}

/// A member of a kernel struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CMember {
    /// Name; empty for an anonymous struct or union.
    pub name: Arc<str>,
    /// Type.
    pub ty: CTypeId,
    /// Offset from the start of the struct, in bits.
    pub bit_offset: u32,
    /// Width of a bitfield, 0 for none.
    pub bit_size: u32,
}

/// A parameter or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CParam {
    /// Name; empty when unknown.
    pub name: Arc<str>,
    /// Type; `None` for `void`.
    pub ty: Option<CTypeId>,
}

/// A function's prototype.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Prototype {
    /// Parameters in order.
    pub parameters: Vec<CParam>,
    /// Result; `None` for `void`.
    pub result: Option<CTypeId>,
}

/// A parameter of a function of a user-space binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserParameter {
    /// Name; empty when it has none.
    pub name: Arc<str>,
    /// Type; `None` when it is not known.
    pub ty: Option<CTypeId>,
    /// Where it is when the function is entered.
    pub place: ParameterPlace,
}

/// A function or variable of a user-space binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserSymbol {
    /// Address in the binary's own address space.
    pub address: u64,
    /// Bytes; 0 when unknown.
    pub size: u64,
    /// The probe's address in the same address space.
    pub probe: u64,
    /// The binary may be loaded anywhere.
    pub moves: bool,
}

/// Why something is not known, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Plain words.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
}

/// A field of a tracepoint's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceField {
    /// Name.
    pub name: Arc<str>,
    /// C type as the format file writes it, without the name and array size.
    pub c_type: Arc<str>,
    /// Byte offset in the record.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Signed when an integer.
    pub signed: bool,
    /// Element count of a fixed array.
    pub array: Option<u32>,
    /// `__data_loc`: the record holds offset and length of the data.
    pub data_loc: bool,
}

/// What a front end asks of the kernel.
pub trait Facts {
    /// All targets of one attach point as written, each with its full name as the `probe` builtin
    /// prints it.
    fn expand(&self, point: &str) -> Result<Vec<(Target, String)>, Refusal>;
    /// Where the semantic probes of a point fire; `None` for other points.
    fn semantic(&self, _point: &str) -> Option<Result<Vec<Found>, Refusal>> {
        None
    }
    /// The files that a process runs code of, its program first; what has not begun has its program only.
    fn files_of(&self, _pid: u32) -> Vec<String> {
        Vec::new()
    }
    /// The files that processes run code of, each once.
    fn files_of_all(&self) -> Vec<String> {
        Vec::new()
    }
    /// How a member of `curpsinfo` and its kin is had: its type in D and the expression.
    fn current(&self, word: &str, name: &str) -> Result<(&'static str, String), String> {
        Err(format!("{word}->{name} is not known without a kernel"))
    }
    /// What is to be warned of a point that is taken at its word (`--unsafe`).
    fn doubt(&self, _point: &str) -> Option<(String, Option<String>)> {
        None
    }
    /// What a pattern of functions leaves out of what it matches, and why.
    fn left_out(&self, _point: &str) -> Option<String> {
        None
    }
    /// The fields of a tracepoint, common ones left out.
    fn tracepoint(&self, category: &str, event: &str) -> Result<Vec<TraceField>, String>;
    /// Types are looked for in the kernel's modules, too: first in those that these probes are in.
    fn probes_are_at(&self, _targets: &[Target]) {}
    /// Finds a C type by its name.
    fn find_type(&self, kind: CKind, name: &str) -> Option<CTypeId>;
    /// What a type is.
    fn c_type(&self, id: CTypeId) -> CType;
    /// The members of a struct or union.
    fn members(&self, id: CTypeId) -> Vec<CMember>;
    /// The enumerators of an enum.
    fn variants(&self, id: CTypeId) -> Vec<(Arc<str>, i64)>;
    /// Finds an enumerator by its name: its enum and value.
    fn enumerator(&self, name: &str) -> Option<(CTypeId, i64)>;
    /// The prototype of a kernel function; `module` is empty when unknown.
    fn prototype(&self, module: &str, function: &str) -> Option<Prototype>;
    /// The arguments of a raw tracepoint; `module` is empty for the kernel's own.
    fn raw_tracepoint(&self, module: &str, event: &str) -> Option<Prototype>;
    /// The parameters of the function of a user-space binary that begins at an offset in the file, by
    /// its debug information.
    fn user_parameters(&self, path: &str, symbol: &str, file_offset: u64) -> Result<Vec<UserParameter>, Unknown>;
    /// Finds a C type by its name in the debug information of a user-space binary.
    fn user_type(&self, path: &str, kind: CKind, name: &str) -> Option<CTypeId>;
    /// Finds an enumerator by its name in the debug information of a user-space binary.
    fn user_enumerator(&self, path: &str, name: &str) -> Option<(CTypeId, i64)>;
    /// The id that a type shares with its typedefs and other definitions.
    fn canonical(&self, id: CTypeId) -> CTypeId {
        id
    }
    /// Whether ftrace lists a kernel function of this name, and one alone.
    fn is_traced(&self, _function: &str) -> bool {
        false
    }
    /// Address of a kernel symbol.
    fn symbol_address(&self, name: &str) -> Option<u64>;
    /// Offset of a symbol in a user-space binary.
    fn user_symbol(&self, path: &str, name: &str, file_offset: u64) -> Option<UserSymbol>;
    /// The id of a cgroup by its path.
    fn cgroup_id(&self, path: &str) -> Option<u64>;
    /// Why there are no kernel types, when there are none.
    fn types_absent(&self) -> Option<String>;
    /// Names close to a misspelt struct, for hints.
    fn similar_types(&self, _kind: CKind, _name: &str) -> Vec<String> {
        Vec::new()
    }
}

/// A kernel that has nothing: no types and only probes that need none. For tests and `lang` alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl Facts for NoFacts {
    fn expand(&self, point: &str) -> Result<Vec<(Target, String)>, Refusal> {
        simple_target(point).map(|t| vec![(t, point.to_owned())])
    }

    fn tracepoint(&self, _: &str, event: &str) -> Result<Vec<TraceField>, String> {
        Err(format!("the format of `{event}` is not known"))
    }

    fn find_type(&self, _: CKind, _: &str) -> Option<CTypeId> {
        None
    }

    fn c_type(&self, _: CTypeId) -> CType {
        CType::Void
    }

    fn members(&self, _: CTypeId) -> Vec<CMember> {
        Vec::new()
    }

    fn variants(&self, _: CTypeId) -> Vec<(Arc<str>, i64)> {
        Vec::new()
    }

    fn enumerator(&self, _: &str) -> Option<(CTypeId, i64)> {
        None
    }

    fn prototype(&self, _: &str, _: &str) -> Option<Prototype> {
        None
    }

    fn raw_tracepoint(&self, _: &str, _: &str) -> Option<Prototype> {
        None
    }

    fn user_parameters(&self, path: &str, _: &str, _: u64) -> Result<Vec<UserParameter>, Unknown> {
        Err(Unknown { message: format!("{path} has no debug information"), help: None })
    }

    fn user_type(&self, _: &str, _: CKind, _: &str) -> Option<CTypeId> {
        None
    }

    fn user_enumerator(&self, _: &str, _: &str) -> Option<(CTypeId, i64)> {
        None
    }

    fn symbol_address(&self, _: &str) -> Option<u64> {
        None
    }

    fn user_symbol(&self, _: &str, _: &str, _: u64) -> Option<UserSymbol> {
        None
    }

    fn cgroup_id(&self, _: &str) -> Option<u64> {
        None
    }

    fn types_absent(&self) -> Option<String> {
        Some("no kernel is known".into())
    }
}

fn kprobe(function: &str, ret: bool) -> Target {
    Target::Kprobe { module: "".into(), function: function.into(), offset: 0, ret }
}

/// The few probes that need no kernel to be named.
fn simple_target(point: &str) -> Result<Target, Refusal> {
    let mut parts = point.split(':');
    let bad = || Refusal {
        message: format!("there is no probe `{point}`"),
        help: None,
        doubt: None,
        missing: true,
        unmatched: false,
        wildcard: false,
        shape: None,
    };
    match (parts.next().unwrap_or("").to_ascii_lowercase().as_str(), parts.next(), parts.next()) {
        ("begin", None, None) => Ok(Target::Begin),
        ("end", None, None) => Ok(Target::End),
        ("interval" | "i", Some("s"), Some(n)) => {
            let n: u64 = n.parse().map_err(|_| bad())?;
            Ok(Target::Interval { period_ns: n.saturating_mul(1_000_000_000) })
        }
        ("kprobe" | "k", Some(f), None) => Ok(kprobe(f, false)),
        ("kretprobe" | "kr", Some(f), None) => Ok(kprobe(f, true)),
        ("uprobe" | "u", Some(path), Some(symbol)) => Ok(Target::Uprobe {
            path: path.into(),
            symbol: symbol.into(),
            file_offset: 4096,
            ret: false,
            exits: [].into(),
            pid: None,
        }),
        ("tracepoint" | "t", Some(category), Some(event)) => {
            Ok(Target::Tracepoint { category: category.into(), event: event.into() })
        }
        _ => Err(bad()),
    }
}
