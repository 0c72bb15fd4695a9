//! Where the probes come from. Each source makes parts of its own, quick ones first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kind::ProbeKind;
use super::part::{Part, PartBuilder};
use crate::binary::elf::Binary;
use crate::binary::places::FunctionSymbol;
use crate::kernel::btf::{Btf, BtfType};
use crate::kernel::{Absence, Feature, Kernel};
use crate::probe::defined::Defined;
use crate::probe::expand::entries;
use crate::probe::expand::functions::is_generated;
use crate::probe::expand::programs::unusable_iterator;
use crate::probe::find::{Found, mapped_files};
use crate::probe::perf;
use crate::probe::providers;

type Answer = Result<Vec<Part>, Absence>;

/// All sources, quick ones first.
pub(super) const SOURCES: &[fn(&Kernel) -> Answer] = &[
    special,
    semantic,
    tracepoints,
    raw_tracepoints,
    kprobes,
    fentries,
    iterators,
    common_libraries,
    library_functions,
];

/// Libraries that many processes share and that have statically defined probes.
const COMMON_LIBRARIES: &[&str] = &["libc", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread", "libstdc++"];

/// Libraries whose functions are listed without being asked for; those of other binaries are found by `NAME:`.
const FUNCTION_LIBRARIES: &[&str] = &["libc", "libssl"];

/// Why nothing of a kind can be attached: what the kernel lacks, else the user's rights.
pub(crate) fn require(kernel: &Kernel, feature: Feature) -> Option<Absence> {
    let of = |feature: Feature| kernel.features().require(feature).err();
    of(feature).or_else(|| of(Feature::Rights))
}

/// Parts that hold a kind; they may hold related kinds too, which callers filter.
pub(super) fn of_kind(kernel: &Kernel, kind: ProbeKind) -> Answer {
    match kind {
        ProbeKind::Tracepoint => tracepoints(kernel),
        ProbeKind::RawTracepoint => raw_tracepoints(kernel),
        ProbeKind::Kprobe => Ok(vec![functions(kernel, &[(ProbeKind::Kprobe, "kprobe:")])]),
        ProbeKind::Kretprobe => Ok(vec![functions(kernel, &[(ProbeKind::Kretprobe, "kretprobe:")])]),
        ProbeKind::Fentry => trampolines(kernel, &[(ProbeKind::Fentry, "fentry:")]),
        ProbeKind::Fexit => trampolines(kernel, &[(ProbeKind::Fexit, "fexit:")]),
        ProbeKind::Special => Ok(vec![special_part(kernel, true, false)]),
        ProbeKind::Software | ProbeKind::Hardware => Ok(vec![special_part(kernel, false, true)]),
        ProbeKind::Iter => iterators(kernel),
        ProbeKind::Usdt | ProbeKind::Uprobe | ProbeKind::Uretprobe => Ok(Vec::new()),
    }
}

/// Semantic probes, those that can't be had with the reason.
#[allow(clippy::unnecessary_wraps, reason = "sources have one signature, and most can fail")]
fn semantic(kernel: &Kernel) -> Answer {
    let mut part = PartBuilder::with_capacity(64);
    for row in providers::rows() {
        let absence = providers::resolve(row, kernel).err().or_else(|| require(kernel, Feature::Rights));
        let absence = absence.map_or(0, |absence| part.absence(&absence));
        part.push(ProbeKind::Special, &[row.provider, ":", row.name], absence, false);
    }
    Ok(vec![part.finish()])
}

#[allow(clippy::unnecessary_wraps, reason = "sources have one signature, and most can fail")]
fn special(kernel: &Kernel) -> Answer {
    Ok(vec![special_part(kernel, true, true)])
}

fn special_part(kernel: &Kernel, timers: bool, events: bool) -> Part {
    let mut part = PartBuilder::with_capacity(64);
    let rights = require(kernel, Feature::Rights).map_or(0, |a| part.absence(&a));
    if timers {
        let usual = [
            "begin",
            "end",
            "interval:s:1",
            "interval:ms:100",
            "profile:hz:99",
            "profile:ms:10",
            "self:signal:SIGUSR1",
        ];
        for name in usual {
            part.push(ProbeKind::Special, &[name], rights, false);
        }
    }
    if events {
        let absence = require(kernel, Feature::PerfSoftware).map_or(0, |a| part.absence(&a));
        for e in perf::SOFTWARE {
            part.push(ProbeKind::Software, &["software:", e.name], absence, false);
        }
        let absence = require(kernel, Feature::PerfHardware).map_or(0, |a| part.absence(&a));
        for e in perf::HARDWARE {
            part.push(ProbeKind::Hardware, &["hardware:", e.name], absence, false);
        }
    }
    part.finish()
}

fn tracepoints(kernel: &Kernel) -> Answer {
    let all = kernel.tracepoints()?;
    let mut part = PartBuilder::with_capacity(all.len());
    let all_absent = require(kernel, Feature::Tracepoint).map_or(0, |a| part.absence(&a));
    let defined = Defined::now(kernel);
    for name in all {
        let own = defined.absence(name).filter(|_| all_absent == 0);
        let absence = own.map_or(all_absent, |own| part.absence(&own));
        part.push(ProbeKind::Tracepoint, &["tracepoint:", &name.0, ":", &name.1], absence, false);
    }
    Ok(vec![part.finish()])
}

fn raw_tracepoints(kernel: &Kernel) -> Answer {
    let btf = kernel.btf()?;
    let mut part = PartBuilder::with_capacity(1024);
    let absence = require(kernel, Feature::RawTracepoint).map_or(0, |a| part.absence(&a));
    add_raw(&mut part, btf, absence);
    for module in kernel.modules_with_btf() {
        if let Ok(btf) = kernel.module_btf(&module) {
            add_raw(&mut part, &btf, absence);
        }
    }
    Ok(vec![part.finish()])
}

fn add_raw(part: &mut PartBuilder, btf: &Btf, absence: u8) {
    let mut names: Vec<_> = btf.raw_tracepoint_names().collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        part.push(ProbeKind::RawTracepoint, &["rawtracepoint:", name], absence, false);
    }
}

#[allow(clippy::unnecessary_wraps, reason = "sources have one signature, and most can fail")]
fn kprobes(kernel: &Kernel) -> Answer {
    let forms = [(ProbeKind::Kprobe, "kprobe:"), (ProbeKind::Kretprobe, "kretprobe:")];
    // Where kprobes are missing, one greyed form of each function is enough.
    let forms = if kernel.features().has(Feature::Kprobe) { &forms[..] } else { &forms[..1] };
    Ok(vec![functions(kernel, forms)])
}

/// Functions that ftrace lists, or without that list all code symbols.
fn functions(kernel: &Kernel, forms: &[(ProbeKind, &str)]) -> Part {
    let names = function_names(kernel);
    let mut part = PartBuilder::with_capacity(names.len() * forms.len());
    let absence = require(kernel, Feature::Kprobe).map_or(0, |a| part.absence(&a));
    for (kind, prefix) in forms {
        for name in &names {
            part.push(*kind, &[prefix, name], absence, is_generated(name));
        }
    }
    part.finish()
}

fn function_names(kernel: &Kernel) -> Vec<&str> {
    let mut names: Vec<&str> = match (kernel.functions(), kernel.symbols()) {
        (Ok(table), _) => table.iter().map(|f| f.name).collect(),
        (Err(_), Ok(symbols)) => {
            symbols.iter().filter(|s| s.is_code() && !is_generated(s.name)).map(|s| s.name).collect()
        }
        (Err(_), Err(_)) => Vec::new(),
    };
    names.sort_unstable();
    names.dedup();
    names
}

fn fentries(kernel: &Kernel) -> Answer {
    let forms = [(ProbeKind::Fentry, "fentry:"), (ProbeKind::Fexit, "fexit:")];
    trampolines(kernel, if kernel.features().has(Feature::Fentry) { &forms } else { &[] })
}

/// Functions of the kernel's and its modules' BTF that ftrace lists too.
fn trampolines(kernel: &Kernel, forms: &[(ProbeKind, &str)]) -> Answer {
    let absence = kernel.features().require(Feature::Fentry).err();
    if let Some(absence) = absence.filter(|_| forms.is_empty()) {
        return Err(absence);
    }
    let btf = Arc::clone(kernel.shared_btf()?);
    let mut modules: Vec<(Arc<str>, Arc<Btf>)> = vec![("vmlinux".into(), btf)];
    modules.extend(
        kernel.modules_with_btf().into_iter().filter_map(|m| Some((Arc::clone(&m), kernel.module_btf(&m).ok()?))),
    );
    let listed: Option<std::collections::HashSet<&str>> =
        kernel.functions().ok().map(|table| table.iter().map(|f| f.name).collect());
    let mut part = PartBuilder::with_capacity(60_000 * forms.len());
    let absence = require(kernel, Feature::Fentry).map_or(0, |a| part.absence(&a));
    for (module, btf) in &modules {
        let mut names: Vec<&str> = btf
            .own_functions()
            .filter(|(name, id)| listed.as_ref().is_none_or(|l| l.contains(name)) && parameters(btf, *id) <= 6)
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        for (kind, prefix) in forms {
            for n in &names {
                part.push(*kind, &[prefix, module, ":", n], absence, is_generated(n));
            }
        }
    }
    Ok(vec![part.finish()])
}

fn parameters(btf: &Btf, function: crate::kernel::btf::TypeId) -> u32 {
    match btf.ty(function) {
        BtfType::Func(_, proto) => match btf.ty(proto) {
            BtfType::FuncProto(_, count) => count,
            _ => u32::MAX,
        },
        _ => u32::MAX,
    }
}

fn iterators(kernel: &Kernel) -> Answer {
    let btf = kernel.btf()?;
    let mut part = PartBuilder::with_capacity(32);
    let absence = require(kernel, Feature::Iter).map_or(0, |a| part.absence(&a));
    // Each kind's context is a struct of this name (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
    let mut kinds: Vec<&str> = btf.own_structs().filter_map(|(name, _)| name.strip_prefix("bpf_iter__")).collect();
    // `bpf_iter__task__safe_trusted` and its like are notes to the verifier.
    kinds.retain(|kind| !kind.contains("__"));
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let own = unusable_iterator(kind).filter(|_| absence == 0);
        let absence = own.map_or(absence, |own| part.absence(&own));
        part.push(ProbeKind::Iter, &["iter:", kind], absence, false);
    }
    Ok(vec![part.finish()])
}

/// USDT probes of libraries that most programs use.
#[allow(clippy::unnecessary_wraps, reason = "sources have one signature, and most can fail")]
fn common_libraries(kernel: &Kernel) -> Answer {
    let cache = kernel.libraries(Path::new(crate::binary::cache::PATH));
    let mut part = PartBuilder::with_capacity(64);
    let absence = require(kernel, Feature::Usdt).map_or(0, |a| part.absence(&a));
    let paths =
        COMMON_LIBRARIES.iter().filter_map(|name| cache.find(name)).map(|p| p.canonicalize().unwrap_or(p.into()));
    for path in paths {
        if let Ok(binary) = kernel.binary(&path) {
            add_usdt(&mut part, &path, &binary, absence);
        }
    }
    Ok(vec![part.finish()])
}

/// The reason for one function, where it can't be probed though others of its kind can.
fn of_function(part: &mut PartBuilder, all: u8, (file, binary, function): (&Found, &Binary, &FunctionSymbol)) -> u8 {
    if all != 0 {
        return all;
    }
    entries::absence(file, binary, function, false).map_or(0, |own| part.absence(&own))
}

/// Functions of the libraries that people ask for by name, which scripts name so, too: `uprobe:libc:malloc`.
#[allow(clippy::unnecessary_wraps, reason = "sources have one signature, and most can fail")]
fn library_functions(kernel: &Kernel) -> Answer {
    let cache = kernel.libraries(Path::new(crate::binary::cache::PATH));
    let mut part = PartBuilder::with_capacity(8192);
    let absence = require(kernel, Feature::Uprobe).map_or(0, |a| part.absence(&a));
    for library in FUNCTION_LIBRARIES {
        let path = cache.find(library).map(|p| p.canonicalize().unwrap_or(p.into()));
        let Some(file) = path.map(|path| Found { open: path.clone(), path }) else { continue };
        let Ok(binary) = kernel.binary(&file.open) else { continue };
        let mut last = "";
        for function in binary.functions() {
            // Names that begin with an underscore are the library's own affair; `uprobe:libc:__` lists them.
            let is_inner = function.name.starts_with('_') || is_generated(&function.name);
            if &*function.name != last && !is_inner {
                let absence = of_function(&mut part, absence, (&file, &binary, function));
                part.push(ProbeKind::Uprobe, &["uprobe:", library, ":", &function.name], absence, false);
            }
            last = &function.name;
        }
    }
    Ok(vec![part.finish()])
}

fn add_usdt(part: &mut PartBuilder, path: &Path, binary: &Binary, absence: u8) {
    let path = path.to_string_lossy();
    let mut names: Vec<(&str, &str)> = binary.usdt_sites().iter().map(|s| (&*s.provider, &*s.name)).collect();
    names.sort_unstable();
    names.dedup();
    for (provider, name) in names {
        part.push(ProbeKind::Usdt, &["usdt:", &path, ":", provider, ":", name], absence, false);
    }
}

/// USDT probes of everything a process has mapped, and functions of its program.
pub(super) fn process(kernel: &Kernel, pid: u32) -> Part {
    let mut part = PartBuilder::with_capacity(256);
    let program = std::fs::read_link(kernel.roots().proc.join(pid.to_string()).join("exe")).unwrap_or_default();
    let files: Vec<PathBuf> = mapped_files(kernel, pid);
    let statics = require(kernel, Feature::Usdt).map_or(0, |a| part.absence(&a));
    let functions = require(kernel, Feature::Uprobe).map_or(0, |a| part.absence(&a));
    for path in files {
        let Ok(binary) = Binary::open(&path, &[]) else { continue };
        add_usdt(&mut part, &path, &binary, statics);
        if path == program {
            let text = path.to_string_lossy();
            let file = Found { open: path.clone(), path: path.clone() };
            for f in binary.functions() {
                let absence = of_function(&mut part, functions, (&file, &binary, f));
                part.push(ProbeKind::Uprobe, &["uprobe:", &text, ":", &f.name], absence, is_generated(&f.name));
            }
        }
    }
    part.finish()
}
