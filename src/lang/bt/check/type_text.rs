//! Types as messages name them.

use crate::lang::facts::table::TypeTable;
use crate::lang::types::{Aggregation, EnumId, Type};

use crate::lang::bt::check::join::smallest;

/// The name of an aggregation's function.
pub fn aggregation_text(agg: Aggregation) -> &'static str {
    match agg {
        Aggregation::Count => "count",
        Aggregation::Sum { .. } => "sum",
        Aggregation::Min { .. } => "min",
        Aggregation::Max { .. } => "max",
        Aggregation::Avg { .. } => "avg",
        Aggregation::Stats { .. } => "stats",
        Aggregation::Hist { .. } => "hist",
        Aggregation::LHist { .. } => "lhist",
        Aggregation::LogLinear(_) => "llquantize",
        Aggregation::Quantize => "quantize",
        Aggregation::StdDev => "stddev",
        Aggregation::TSeries { .. } => "tseries",
    }
}

/// The type as bpftrace writes it.
pub fn full(types: &TypeTable<'_>, ty: &Type) -> String {
    match ty {
        Type::Tuple(items) => {
            format!("({})", items.iter().map(|t| full(types, t)).collect::<Vec<_>>().join(","))
        }
        Type::Record(items) => {
            let items: Vec<_> = items.iter().map(|(n, t)| format!(".{n} = {}", full(types, t))).collect();
            format!("record {{ {} }}", items.join(", "))
        }
        Type::Ptr { to, .. } => format!("{} *", full(types, to)),
        Type::Array { of, len } => format!("{}[{len}]", full(types, of)),
        Type::Agg(agg) => format!("{}_t", aggregation_text(*agg)),
        Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::Username | Type::Timestamp => {
            format!("{}_t", text(types, ty))
        }
        other => text(types, other),
    }
}

/// A type as people read it, literals in it as small as their values.
pub fn inferred(types: &TypeTable<'_>, ty: &Type) -> String {
    text(types, &smallest(ty))
}

/// The kind of a value in one word, as messages about arguments name it.
pub fn kind(types: &TypeTable<'_>, ty: &Type) -> String {
    match ty {
        Type::Int { .. } => "int".into(),
        Type::Str { .. } => "string".into(),
        Type::Buf { .. } => "buffer".into(),
        Type::Ptr { .. } => "pointer".into(),
        Type::Array { .. } => "array".into(),
        Type::Struct(_) => "struct".into(),
        Type::Tuple(_) => "tuple".into(),
        Type::Record(_) => "record".into(),
        other => text(types, other),
    }
}

/// A type as people read it.
pub fn text(types: &TypeTable<'_>, ty: &Type) -> String {
    match ty {
        Type::Void => "void".into(),
        Type::Error => "of unknown type".into(),
        Type::Bool => "bool".into(),
        Type::Int { size, signed } => {
            let size = size & !crate::lang::bt::check::join::LITERAL;
            format!("{}int{}", if *signed { "" } else { "u" }, u32::from(size) * 8)
        }
        Type::Enum { id: EnumId(id), .. } => match types.enum_defs().get(*id as usize) {
            Some(def) if !def.name.is_empty() => format!("enum {}", def.name),
            _ => "enum".into(),
        },
        Type::Str { size } => format!("string[{size}]"),
        Type::Buf { size } => format!("buffer[{size}]"),
        Type::Ptr { to, .. } => format!("{} *", text(types, to)).replace("* *", "**"),
        Type::Array { of, len } => format!("{}[{len}]", text(types, of)),
        Type::Struct(id) => types.struct_name(*id),
        Type::Tuple(items) => {
            format!("({})", items.iter().map(|t| text(types, t)).collect::<Vec<_>>().join(","))
        }
        Type::Record(items) => {
            let items: Vec<_> = items.iter().map(|(n, t)| format!("{n}: {}", text(types, t))).collect();
            format!("({})", items.join(", "))
        }
        Type::Agg(agg) => format!("{}_t", aggregation_text(*agg)),
        Type::KStack { .. } => "kstack".into(),
        Type::UStack { .. } => "ustack".into(),
        Type::KSym => "ksym".into(),
        Type::USym => "usym".into(),
        Type::Inet => "inet".into(),
        Type::Mac => "macaddr".into(),
        Type::Username => "username".into(),
        Type::Timestamp => "timestamp".into(),
        Type::CgroupPath => "cgroup_path".into(),
        Type::Strerror => "strerror".into(),
        Type::SignalName => "signal_name".into(),
        Type::SyscallName => "syscall_name".into(),
        Type::ProbeName => "probe name".into(),
        Type::FuncName => "function name".into(),
    }
}
