//! The inferred types of a program as text: `probescope check --types`, and tests.

use std::fmt::Write as _;

use super::{Local, MapStorage, Program};
use crate::lang::types::{AddressSpace, Aggregation, StackMode, Type};

/// All maps and variables with their types, one a line; made-up variables are left out.
#[must_use]
pub fn dump(program: &Program) -> String {
    let mut out = String::new();
    for map in &program.maps {
        let key = if map.key == Type::Void { String::new() } else { format!("[{}]", type_text(&map.key, program)) };
        let storage = match map.storage {
            MapStorage::Auto => "",
            MapStorage::Hash => " (hash)",
            MapStorage::LruHash => " (lruhash)",
            MapStorage::PerCpuHash => " (percpuhash)",
            MapStorage::PerCpuLruHash => " (percpulruhash)",
        };
        let _ = writeln!(out, "{}{key}: {}{storage}", map.name, type_text(&map.value, program));
    }
    for function in &program.functions {
        let _ = writeln!(out, "fn {}: {}", function.name, type_text(&function.result, program));
        locals(&function.locals, program, &mut out);
    }
    for probe in &program.probes {
        let name = probe.names.first().and_then(|n| program.probe_names.get(*n as usize));
        let _ = write!(out, "{}", name.map_or("?", |n| n));
        if probe.targets.len() > 1 {
            let _ = write!(out, " and {} more", probe.targets.len() - 1);
        }
        out.push('\n');
        locals(&probe.locals, program, &mut out);
    }
    out
}

fn locals(list: &[Local], program: &Program, out: &mut String) {
    for local in list.iter().filter(|l| !l.name.starts_with('%')) {
        let _ = writeln!(out, "  {}: {}", local.name, type_text(&local.ty, program));
    }
}

/// A type as scripts write it.
#[must_use]
pub fn type_text(ty: &Type, program: &Program) -> String {
    let text = |t: &Type| type_text(t, program);
    match ty {
        Type::Void => "void".into(),
        Type::Error => "?".into(),
        Type::Bool => "bool".into(),
        Type::Int { size, signed } => format!("{}int{}", if *signed { "" } else { "u" }, u32::from(*size) * 8),
        Type::Enum { id, .. } => {
            let name = program.enums.get(id.0 as usize).map_or("", |e| &*e.name);
            if name.is_empty() { "enum".into() } else { format!("enum {name}") }
        }
        Type::Str { size } => format!("string[{size}]"),
        Type::Buf { size } => format!("buffer[{size}]"),
        Type::Ptr { to, space } => {
            let space = match space {
                AddressSpace::Kernel => "",
                AddressSpace::User => "__user ",
                AddressSpace::Either => "__any ",
                AddressSpace::Context => "__ctx ",
            };
            format!("{} {space}*", text(to))
        }
        Type::Array { of, len } => format!("{}[{len}]", text(of)),
        Type::Struct(id) => program
            .structs
            .get(id.0 as usize)
            .map_or_else(|| "struct ?".into(), |s| format!("{} {}", if s.union { "union" } else { "struct" }, s.name)),
        Type::Tuple(items) => format!("({})", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        Type::Record(items) => {
            let items: Vec<_> = items.iter().map(|(n, t)| format!("{n}: {}", text(t))).collect();
            format!("({})", items.join(", "))
        }
        Type::Agg(agg) => aggregation(*agg),
        Type::KStack { mode, depth } => format!("kstack({}, {depth})", mode_text(*mode)),
        Type::UStack { mode, depth } => format!("ustack({}, {depth})", mode_text(*mode)),
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
        Type::ProbeName => "probe".into(),
        Type::FuncName => "func".into(),
    }
}

fn mode_text(mode: StackMode) -> &'static str {
    match mode {
        StackMode::Bpftrace => "bpftrace",
        StackMode::Perf => "perf",
        StackMode::Raw => "raw",
        StackMode::BuildId => "build_id",
    }
}

fn aggregation(agg: Aggregation) -> String {
    let sign = |name: &str, signed: bool| format!("{name}({})", if signed { "int64" } else { "uint64" });
    match agg {
        Aggregation::Count => "count".into(),
        Aggregation::Sum { signed } => sign("sum", signed),
        Aggregation::Min { signed } => sign("min", signed),
        Aggregation::Max { signed } => sign("max", signed),
        Aggregation::Avg { signed } => sign("avg", signed),
        Aggregation::Stats { signed } => sign("stats", signed),
        Aggregation::Hist { bits } => format!("hist({bits})"),
        Aggregation::LHist { min, max, step } => format!("lhist({min}, {max}, {step})"),
        Aggregation::LogLinear(shape) => {
            format!("llquantize({}, {}, {}, {})", shape.factor, shape.low, shape.high, shape.steps)
        }
        Aggregation::Quantize => "quantize".into(),
        Aggregation::StdDev => "stddev".into(),
        Aggregation::TSeries { interval_ns, buckets, .. } => format!("tseries({interval_ns} ns, {buckets})"),
    }
}
