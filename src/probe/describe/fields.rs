//! The fields of each kind of probe.

use super::{DocField, Shown};
use crate::binary::dwarf::{DebugInfo, DwarfType, Parameter, ParameterPlace, TypeId};
use crate::kernel::btf::{self, Btf, BtfType, FuncProto};
use crate::kernel::tracefs::Field;
use crate::kernel::{Feature, Kernel};
use crate::probe::find::find;
use crate::probe::glob::Glob;
use crate::probe::point::{PointPattern, UprobePlace};

/// What a script can read.
pub(super) fn fields(pattern: &PointPattern, kernel: &Kernel) -> Vec<DocField> {
    match pattern {
        PointPattern::Kprobe { function, ret: false, .. } => {
            let known = prototype_fields(function, None, kernel, false);
            if known.is_empty() { numbered(6) } else { known }
        }
        // Kernels with trampolines keep the arguments until the function returns.
        PointPattern::Kprobe { module, function, offset: 0, ret: true, .. }
            if kernel.features().has(Feature::Fentry) =>
        {
            let parameters = prototype_fields(function, module.as_ref(), kernel, false);
            parameters.into_iter().chain([retval("uint64", Shown::Pointer)]).collect()
        }
        PointPattern::Kprobe { .. } | PointPattern::Uprobe { ret: true, .. } => vec![retval("uint64", Shown::Pointer)],
        PointPattern::Uprobe { .. } => {
            let known = listed(pattern, kernel);
            if known.is_empty() { numbered(6) } else { known }
        }
        _ => listed(pattern, kernel),
    }
}

/// What `list -v` prints: only fields whose types are known.
pub(super) fn listed(pattern: &PointPattern, kernel: &Kernel) -> Vec<DocField> {
    match pattern {
        PointPattern::Tracepoint { category, event } => kernel
            .tracepoint(category.as_str(), event.as_str())
            .map(|f| f.own_fields().map(tracepoint_field).collect())
            .unwrap_or_default(),
        PointPattern::RawTracepoint { module, event } => {
            let module = module.as_ref().map_or("vmlinux", Glob::as_str);
            let Ok(btf) = kernel.module_btf(module) else { return Vec::new() };
            btf.raw_tracepoint(event.as_str()).map(|p| parameters(&btf, &p, false)).unwrap_or_default()
        }
        PointPattern::Kprobe { module, function, ret, .. } => prototype_fields(function, module.as_ref(), kernel, *ret),
        PointPattern::Fentry { module, function, exit, .. } => {
            prototype_fields(function, module.as_ref(), kernel, *exit)
        }
        PointPattern::Usdt { binary, provider, name } => usdt(binary, provider.as_ref(), name, kernel),
        PointPattern::Iter { kind, .. } => iterator(kind, kernel),
        PointPattern::Uprobe { binary, place, ret: false } => user_function(binary, place, kernel).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn tracepoint_field(field: &Field) -> DocField {
    let declaration = field.declaration();
    let ty = match (field.dynamic, field.array) {
        (Some(_), _) => format!("{}[]", field.ty),
        (None, Some(n)) => format!("{}[{n}]", field.ty),
        (None, None) => field.ty.to_string(),
    };
    let text = matches!(&*field.ty, "char" | "const char");
    let pointer = field.ty.ends_with('*');
    let shown = match (field.dynamic.is_some() || field.array.is_some(), text) {
        (true, true) => Shown::Text,
        (true, false) => Shown::Not,
        (false, _) if pointer && is_char_pointer(&field.ty) => Shown::TextPointer,
        (false, _) if pointer => Shown::Pointer,
        (false, _) if field.ty.starts_with("struct ") || field.ty.starts_with("union ") => Shown::Not,
        (false, _) if field.size == 8 && !narrow(&field.ty) => Shown::Long,
        _ => Shown::Int,
    };
    DocField { declaration, access: format!("args.{}", field.name), ty, shown }
}

fn is_char_pointer(ty: &str) -> bool {
    let words: Vec<&str> = ty.split(|c: char| c.is_whitespace() || c == '*').filter(|w| !w.is_empty()).collect();
    ty.matches('*').count() == 1 && matches!(words.as_slice(), ["char"] | ["const", "char"])
}

/// Arguments of system calls take eight bytes whatever their type.
fn narrow(ty: &str) -> bool {
    matches!(
        ty,
        "int"
            | "unsigned int"
            | "pid_t"
            | "uid_t"
            | "gid_t"
            | "umode_t"
            | "mode_t"
            | "u32"
            | "key_t"
            | "key_serial_t"
            | "mqd_t"
            | "clockid_t"
            | "const clockid_t"
            | "timer_t"
            | "qid_t"
    )
}

fn prototype_fields(function: &Glob, module: Option<&Glob>, kernel: &Kernel, exit: bool) -> Vec<DocField> {
    let Ok(btf) = kernel.btf() else { return Vec::new() };
    let wanted = module.map_or("vmlinux", Glob::as_str);
    if let Some(proto) = btf.func(function.as_str()).filter(|_| wanted == "vmlinux") {
        return parameters(btf, &proto, exit);
    }
    let modules = kernel.modules_with_btf();
    let candidates = modules.iter().filter(|m| module.is_none() || &***m == wanted);
    let found = candidates.filter_map(|m| kernel.module_btf(m).ok()).find_map(|btf| {
        let proto = btf.func(function.as_str())?;
        Some(parameters(&btf, &proto, exit))
    });
    found.unwrap_or_default()
}

fn parameters(btf: &Btf, proto: &FuncProto<'_>, exit: bool) -> Vec<DocField> {
    let mut fields: Vec<DocField> = proto
        .params
        .iter()
        .enumerate()
        .map(|(n, p)| DocField {
            declaration: btf.declaration(p.ty, p.name),
            access: if p.name.is_empty() { format!("arg{n}") } else { format!("args.{}", p.name) },
            ty: btf.declaration(p.ty, ""),
            shown: shown(btf, p.ty),
        })
        .collect();
    if exit && btf.size_of(proto.ret).is_some() {
        fields.push(retval(&btf.declaration(proto.ret, ""), shown(btf, proto.ret)));
    }
    fields
}

fn shown(btf: &Btf, ty: btf::TypeId) -> Shown {
    match btf.ty(btf.resolve(ty)) {
        BtfType::Ptr(to) => match btf.ty(btf.resolve(to)) {
            BtfType::Int(int) if int.is_char() => Shown::TextPointer,
            _ => Shown::Pointer,
        },
        BtfType::Int(int) if int.size == 8 => Shown::Long,
        BtfType::Int(int) if int.size < 8 => Shown::Int,
        BtfType::Enum(_) => Shown::Int,
        _ => Shown::Not,
    }
}

fn retval(ty: &str, shown: Shown) -> DocField {
    DocField { declaration: format!("{ty} retval"), access: "retval".into(), ty: ty.to_owned(), shown }
}

fn numbered(count: usize) -> Vec<DocField> {
    let field = |n| DocField {
        declaration: format!("int64 arg{n}"),
        access: format!("arg{n}"),
        ty: "int64".into(),
        shown: Shown::Long,
    };
    (0..count).map(field).collect()
}

fn usdt(binary: &Glob, provider: Option<&Glob>, name: &Glob, kernel: &Kernel) -> Vec<DocField> {
    let Some(file) = find(binary, kernel, None).ok().and_then(|f| f.into_iter().next()) else { return Vec::new() };
    let Ok(opened) = kernel.binary(&file.open) else { return Vec::new() };
    let matches =
        |s: &&crate::binary::usdt::UsdtSite| provider.is_none_or(|p| p.matches(&s.provider)) && name.matches(&s.name);
    let Some(site) = opened.usdt_sites().iter().find(matches) else { return Vec::new() };
    let field = |(n, a): (usize, crate::model::target::UsdtArgument)| {
        let ty = format!("{}int{}", if a.signed { "" } else { "u" }, u32::from(a.size) * 8);
        let shown = if a.size == 8 { Shown::Long } else { Shown::Int };
        DocField { declaration: format!("{ty} arg{n}"), access: format!("arg{n}"), ty, shown }
    };
    site.arguments().into_iter().enumerate().map(field).collect()
}

/// The parameters of a function of a binary with debug information.
fn user_function(binary: &Glob, place: &UprobePlace, kernel: &Kernel) -> Option<Vec<DocField>> {
    let UprobePlace::Symbol { name, offset: 0 } = place else { return None };
    let file = find(binary, kernel, None).ok()?.into_iter().next()?;
    let address = kernel.binary(&file.open).ok()?.function(name.as_str())?.address;
    let info = kernel.debug_info(&file.open).ok()?;
    let function = info.function(address, name.as_str()).ok()?;
    let field = |(n, p): (usize, Parameter)| {
        let ty = info.type_text(p.ty).unwrap_or_default();
        let shown = match p.place {
            ParameterPlace::Register(_) => p.ty.map_or(Shown::Not, |ty| user_shown(&info, ty)),
            ParameterPlace::Reference(_) | ParameterPlace::Elsewhere(_) => Shown::Not,
        };
        let access = if p.name.is_empty() { format!("arg{n}") } else { format!("args.{}", p.name) };
        DocField { declaration: format!("{ty} {}", p.name), access, ty, shown }
    };
    Some(function.parameters.into_iter().enumerate().map(field).collect())
}

fn user_shown(info: &DebugInfo, ty: TypeId) -> Shown {
    match info.describe(ty) {
        Ok(DwarfType::Pointer(Some(to))) => match info.describe(to) {
            Ok(DwarfType::Int { text: true, .. }) => Shown::TextPointer,
            _ => Shown::Pointer,
        },
        Ok(DwarfType::Pointer(None)) => Shown::Pointer,
        Ok(DwarfType::Int { size: 8, .. }) => Shown::Long,
        Ok(DwarfType::Int { .. } | DwarfType::Enum { .. }) => Shown::Int,
        _ => Shown::Not,
    }
}

fn iterator(kind: &str, kernel: &Kernel) -> Vec<DocField> {
    let Ok(btf) = kernel.btf() else { return Vec::new() };
    let Some(context) = btf.find_struct(&format!("bpf_iter__{kind}")) else { return Vec::new() };
    let fields: Vec<_> = btf.members(context).filter(|m| !m.name.is_empty() && m.name != "meta").collect();
    // Each member is a union that holds one pointer, to give it eight bytes everywhere.
    let named = btf.members(context).filter(|m| m.name.is_empty()).filter_map(|m| btf.members(m.ty).next());
    fields
        .into_iter()
        .chain(named.filter(|m| m.name != "meta"))
        .map(|m| DocField {
            declaration: btf.declaration(m.ty, m.name),
            access: format!("ctx.{}", m.name),
            ty: btf.declaration(m.ty, ""),
            shown: Shown::Pointer,
        })
        .collect()
}
