//! Kernel functions: kprobes and the BPF trampoline.

use std::sync::Arc;

use super::{ExpandError, Expander, no_match};
use crate::kernel::btf::{Btf, BtfType, FuncProto, TypeId};
use crate::kernel::version::Version;
use crate::kernel::{Absence, Feature};
use crate::model::target::Target;
use crate::probe::glob::Glob;
use crate::probe::signature::{Filter, Signature};
use crate::probe::{renamed, suggest};

/// Parameters in registers, which is what trampolines reach on every kernel.
const REGISTER_PARAMETERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };

/// How many words of parameters trampolines reach: on x86-64 those on the stack too since Linux 6.6
/// (`MAX_BPF_FUNC_ARGS`).
fn reached_words(version: Version) -> usize {
    if cfg!(target_arch = "x86_64") && version.at_least(6, 6) { 12 } else { REGISTER_PARAMETERS }
}

/// Functions that are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) module: Option<&'a Glob>,
    pub(super) function: &'a Glob,
    pub(super) signature: Option<&'a Signature>,
}

impl Expander<'_> {
    pub(super) fn kprobes(&self, wanted: Wanted<'_>, offset: u64, ret: bool) -> Result<Vec<Target>, ExpandError> {
        let Wanted { module, function, signature } = wanted;
        let provider = if ret { "kretprobe" } else { "kprobe" };
        let absence = self.kernel.features().require(Feature::Kprobe).err();
        let wild = function.is_wild() || module.is_some_and(Glob::is_wild);
        // Where nothing can be attached, no other name is a better one.
        if let Some(absence) = absence.as_ref().filter(|_| wild || !self.options.forced) {
            return Err(closed(provider, in_module(module, function), absence));
        }
        let filter = self.filter(signature)?;
        let found = if wild {
            self.matching_functions(module, function, filter.as_ref())?
        } else {
            self.one_function(module, function)
        };
        let target = |(module, function)| Target::Kprobe { module, function, offset, ret };
        if self.options.forced && !wild && found.is_empty() {
            return Ok(vec![target((module_text(module), function.as_str().into()))]);
        }
        if found.is_empty() {
            if let Some(name) = module.filter(|m| !m.is_wild() && !self.has_module(m.as_str())) {
                return Err(ExpandError::Refused {
                    message: format!("specified module {name} in probe {provider}:{name}:{function} is not loaded."),
                    hint: format!("load it, or leave it out: `{provider}:{function}`"),
                });
            }
            return Err(self.no_function(provider, module, function));
        }
        if let Some(absence) = absence {
            return Err(closed(provider, in_module(module, function), &absence));
        }
        Ok(found.into_iter().map(target).collect())
    }

    pub(super) fn kprobe_address(&self, address: u64) -> Result<Vec<Target>, ExpandError> {
        if !self.options.unsafe_allowed {
            return Err(ExpandError::Refused {
                message: "Probing by address requires --unsafe".into(),
                hint: "a probe inside an instruction can crash the machine; name the function".into(),
            });
        }
        if !self.options.forced {
            self.kernel.features().require(Feature::Kprobe)?;
        }
        let target = match self.kernel.symbolize(address) {
            Some((function, offset, module)) => {
                Target::Kprobe { module: module.unwrap_or_default(), function, offset, ret: false }
            }
            None => Target::Kprobe { module: "".into(), function: "".into(), offset: address, ret: false },
        };
        Ok(vec![target])
    }

    fn has_module(&self, name: &str) -> bool {
        name == "vmlinux" || self.kernel.roots().sys.join("module").join(name).exists()
    }

    /// A function by its exact name: (module as named, function), empty when there is none.
    fn one_function(&self, module: Option<&Glob>, function: &Glob) -> Vec<(Arc<str>, Arc<str>)> {
        let name = function.as_str();
        let in_module = |m: Option<&Arc<str>>| module.is_none_or(|wanted| wanted.matches(m.map_or("vmlinux", |m| m)));
        let listed = self.kernel.functions().is_ok_and(|f| f.named(name).any(|f| in_module(f.module)));
        // A list that the user gives is the whole truth.
        if self.kernel.has_own_function_list() {
            return if listed { vec![(module_text(module), name.into())] } else { Vec::new() };
        }
        let known = || match self.kernel.symbols() {
            Ok(symbols) => symbols.named(name).any(|s| s.is_code() && in_module(s.module)),
            // With neither list, let the kernel decide.
            Err(_) => self.kernel.functions().is_err(),
        };
        if listed || (self.may_be_reached(name) && known()) {
            vec![(module_text(module), name.into())]
        } else {
            Vec::new()
        }
    }

    /// Whether a kprobe may reach a function that the list of those that can be traced leaves out: where there is no
    /// list, by another name of a function that is on it (`__ia32_sys_getpid`), and at parts that the compiler split
    /// off one (`f.cold`).
    fn may_be_reached(&self, name: &str) -> bool {
        let Ok(table) = self.kernel.functions() else { return true };
        let part = name.split_once('.').is_some_and(|(whole, _)| table.contains(whole));
        let alias = || match self.kernel.symbols() {
            Ok(symbols) => {
                symbols.named(name).any(|s| s.address == 0 || symbols.at(s.address).any(|o| table.contains(o.name)))
            }
            Err(_) => true,
        };
        part || alias() || self.kernel.probes_untraced()
    }

    fn filter(&self, signature: Option<&Signature>) -> Result<Option<Filter<'_>>, ExpandError> {
        let Some(signature) = signature else { return Ok(None) };
        Ok(Some(signature.filter(self.kernel.function_types()?)))
    }

    /// Functions by pattern, each name once unless modules are asked for. Links to many functions take those of modules
    /// since Linux 6.3 only (`ftrace_lookup_symbols`): before that, patterns of types mean none of these.
    fn matching_functions(
        &self,
        module: Option<&Glob>,
        function: &Glob,
        filter: Option<&Filter<'_>>,
    ) -> Result<Vec<(Arc<str>, Arc<str>)>, ExpandError> {
        let of_modules = filter.is_none()
            || module.is_some()
            || self.kernel.version().at_least(6, 3)
            || !self.kernel.features().has(Feature::KprobeMulti);
        let matches = |name: &str, m: Option<&Arc<str>>| {
            function.matches(name)
                && !is_fragile(name)
                && !is_split_off(name)
                && (of_modules || m.is_none())
                && filter.is_none_or(|filter| !is_of_tracing(name, function) && filter.fits(name))
                && module.is_none_or(|wanted| wanted.matches(m.map_or("vmlinux", |m| m)))
        };
        let shown = |m: Option<&Arc<str>>| match module {
            Some(_) => m.cloned().unwrap_or_else(|| "vmlinux".into()),
            None => "".into(),
        };
        let mut found: Vec<(Arc<str>, Arc<str>)> = match self.kernel.functions() {
            Ok(table) => {
                let all = table.iter().filter(|f| matches(f.name, f.module));
                all.map(|f| (shown(f.module), f.name.into())).collect()
            }
            Err(absence) => {
                let symbols = self.kernel.symbols().map_err(|_| absence)?;
                let code = symbols.iter().filter(|s| s.is_code() && !is_generated(s.name) && matches(s.name, s.module));
                code.map(|s| (shown(s.module), s.name.into())).collect()
            }
        };
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// What an older kernel's function is called in this one.
    fn functions_since(&self, old: &str) -> Vec<String> {
        let exists = |name: &String| match (self.kernel.functions(), self.kernel.symbols()) {
            (Ok(table), _) => table.contains(name),
            (Err(_), Ok(symbols)) => symbols.named(name).any(|s| s.is_code()),
            _ => false,
        };
        let mut names = renamed::functions(old);
        names.retain(exists);
        names.truncate(3);
        names
    }

    fn no_function(&self, provider: &str, module: Option<&Glob>, function: &Glob) -> ExpandError {
        let there = || self.kernel.symbols().is_ok_and(|s| s.named(function.as_str()).any(|s| s.is_code()));
        if module.is_none() && there() {
            let reason = Some("the kernel has it, but lets nothing trace it: no probe on functions reaches it".into());
            let name = function.to_string();
            return ExpandError::NoMatch { kind: provider.to_owned(), name, suggestions: Vec::new(), reason };
        }
        let plain = function.as_str().replace('*', "");
        let mut near = self.functions_since(&plain);
        if near.is_empty() {
            let found = match (self.kernel.functions(), self.kernel.symbols()) {
                (Ok(table), _) => suggest::nearest(&plain, table.iter().map(|f| f.name), 3),
                (Err(_), Ok(symbols)) => {
                    let code = symbols.iter().filter(|s| s.is_code() && !is_made_by_build(s.name));
                    suggest::nearest(&plain, code.map(|s| s.name), 3)
                }
                _ => Vec::new(),
            };
            near = found.into_iter().map(str::to_owned).collect();
        }
        let suggestions = near.into_iter().map(|n| format!("{provider}:{n}")).collect();
        let reason = Some("it does not exist in this kernel, was inlined, or may not be traced".into());
        ExpandError::NoMatch { kind: provider.to_owned(), name: in_module(module, function), suggestions, reason }
    }

    pub(super) fn fentries(&self, wanted: Wanted<'_>, exit: bool) -> Result<Vec<Target>, ExpandError> {
        let Wanted { module, function, signature } = wanted;
        let filter = self.filter(signature)?;
        let provider = if exit { "fexit" } else { "fentry" };
        if let Err(absence) = self.kernel.features().require(Feature::Fentry) {
            return Err(closed(provider, in_module(module, function), &absence));
        }
        let wild = function.is_wild() || module.is_some_and(Glob::is_wild);
        let mut targets = Vec::new();
        let mut modules: Vec<Arc<str>> = vec!["vmlinux".into()];
        modules.extend(self.kernel.modules_with_btf());
        for name in modules.iter().filter(|name| module.is_none_or(|m| m.matches(name))) {
            if !wild && !targets.is_empty() && module.is_none() {
                break;
            }
            let Ok(btf) = self.kernel.module_btf(name) else { continue };
            let mut found = fentries_in(&btf, name, function, exit, self.kernel.version());
            if let Some(filter) = &filter {
                let fits = |name: &str| !is_of_tracing(name, function) && filter.fits(name);
                found.retain(|t| matches!(t, Target::Fentry { function, .. } if fits(function)));
            }
            targets.extend(found);
        }
        if wild {
            self.keep_traceable(&mut targets);
        }
        if targets.is_empty() { Err(self.no_fentry(module, function, exit)) } else { Ok(targets) }
    }

    /// Leaves out what ftrace does not list, when it lists anything.
    fn keep_traceable(&self, targets: &mut Vec<Target>) {
        if let Ok(table) = self.kernel.functions() {
            let fits = |name: &str| table.contains(name) && !is_fragile(name);
            targets.retain(|t| matches!(t, Target::Fentry { function, .. } if fits(function)));
        }
    }

    fn no_fentry(&self, module: Option<&Glob>, function: &Glob, exit: bool) -> ExpandError {
        let provider = if exit { "fexit" } else { "fentry" };
        let name = in_module(module, function);
        let Ok(btf) = self.kernel.btf() else { return no_match(provider, &name, Vec::new()) };
        if let Some(why) = btf.func(function.as_str()).and_then(|p| out_of_reach(btf, &p, self.kernel.version())) {
            return ExpandError::Refused {
                message: format!(
                    "`{function}` {why}; {provider} reaches functions with up to {} words of parameters that return no \
                     struct or union",
                    reached_words(self.kernel.version())
                ),
                hint: format!("use `kprobe:{function}`"),
            };
        }
        let plain = function.as_str().replace('*', "");
        let renamed: Vec<String> =
            renamed::functions(&plain).into_iter().filter(|name| btf.func(name).is_some()).take(3).collect();
        let mut near: Vec<&str> = renamed.iter().map(String::as_str).collect();
        if near.is_empty() {
            near = suggest::nearest(&plain, btf.own_functions().map(|(n, _)| n), 3);
        }
        let suggestions = near.into_iter().map(|n| format!("{provider}:{n}")).collect();
        let reason = Some("this kernel's BTF has no function of that name".into());
        ExpandError::NoMatch { kind: provider.to_owned(), name, suggestions, reason }
    }
}

/// What is said of a function, whether there is one or not, where the kernel has no probes on functions.
fn closed(provider: &str, name: String, absence: &Absence) -> ExpandError {
    let reason = Some(format!("{}: {}", absence.reason, absence.remedy));
    ExpandError::NoMatch { kind: provider.to_owned(), name, suggestions: Vec::new(), reason }
}

/// Functions that are known to harm the system when they are traced though nothing marks them, as the
/// kernel's own tests know them (tools/testing/selftests/bpf/trace_helpers.c, `skip_entry`): patterns
/// leave them out.
fn is_fragile(name: &str) -> bool {
    ["rcu_", "bpf_dispatcher_", "__ftrace_invalid_address__"].iter().any(|p| name.starts_with(p))
        || matches!(name, "arch_cpu_idle" | "default_idle")
}

/// What every program that traces runs through: patterns of types that name nothing of it leave it out.
fn is_of_tracing(name: &str, pattern: &Glob) -> bool {
    const PREFIXES: &[&str] =
        &["bpf_", "__bpf_", "perf_", "__perf_", "trace_", "__trace", "tracing_", "ftrace_", "migrate_", "preempt_"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix) && !pattern.as_str().starts_with(prefix))
}

/// Cold ends of functions that the compiler has split off: patterns mean the functions themselves, as
/// in bpftrace.
pub fn is_split_off(name: &str) -> bool {
    name.contains(".part.")
}

/// `module:function`, or the function alone.
fn in_module(module: Option<&Glob>, function: &Glob) -> String {
    module.map_or_else(|| function.to_string(), |m| format!("{m}:{function}"))
}

fn module_text(module: Option<&Glob>) -> Arc<str> {
    module.map_or("", Glob::as_str).into()
}

/// Why the kernel can't put a trampoline on a function of this signature, as `btf_distill_func_proto`
/// (kernel/bpf/btf.c) and the architecture's `arch_prepare_bpf_trampoline` have it.
fn out_of_reach(btf: &Btf, proto: &FuncProto<'_>, version: Version) -> Option<String> {
    if matches!(btf.ty(btf.resolve(proto.ret)), BtfType::Struct(_) | BtfType::Union(_)) {
        return Some("returns a struct or union by value".into());
    }
    if proto.variadic {
        return Some("takes a variable number of arguments".into());
    }
    let mut words = 0;
    for param in &proto.params {
        let size = btf.size_of(param.ty).unwrap_or(8);
        // Linux 6.1 takes structs of up to two words, 6.18 unions as well.
        let refused = match btf.ty(btf.resolve(param.ty)) {
            BtfType::Struct(_) => !version.at_least(6, 1),
            BtfType::Union(_) => !version.at_least(6, 18),
            _ => false,
        };
        if refused || size > 16 {
            return Some("takes a struct or union by value that this kernel does not pass on".into());
        }
        words += size.div_ceil(8).max(1) as usize;
    }
    let many = words > reached_words(version);
    let what = if words == proto.params.len() { "parameters" } else { "words of parameters" };
    many.then(|| format!("takes {words} {what}"))
}

/// Functions of one BTF that a trampoline can be put on.
fn fentries_in(btf: &Btf, module: &Arc<str>, function: &Glob, exit: bool, version: Version) -> Vec<Target> {
    let target = |name: &str, id: TypeId| Target::Fentry {
        module: Arc::clone(module),
        function: name.into(),
        btf_id: id.0,
        exit,
    };
    // Patterns mean the functions that bpftrace means.
    let most = if function.is_wild() { REGISTER_PARAMETERS } else { reached_words(version) };
    let fits = |id: TypeId| match btf.ty(id) {
        BtfType::Func(_, proto) => {
            matches!(btf.ty(proto), BtfType::FuncProto(_, n) if n as usize <= most)
                && btf.prototype(proto).is_some_and(|p| out_of_reach(btf, &p, version).is_none())
        }
        _ => false,
    };
    if function.is_wild() {
        let mut found: Vec<_> = btf.own_functions().filter(|(n, id)| function.matches(n) && fits(*id)).collect();
        found.sort_unstable();
        found.dedup_by_key(|(name, _)| *name);
        return found.into_iter().map(|(name, id)| target(name, id)).collect();
    }
    let own = btf.functions_named(function.as_str()).find(|id| btf.own(*id) && fits(*id));
    own.map(|id| target(function.as_str(), id)).into_iter().collect()
}

/// Symbols that the compiler made and that can't or shouldn't hold probes.
#[must_use]
pub(crate) fn is_generated(name: &str) -> bool {
    const PARTS: &[&str] = &[".cold", ".isra.", ".constprop.", ".part.", ".llvm.", ".str."];
    is_made_by_build(name) || PARTS.iter().any(|p| name.contains(p)) || name.contains('$') || name.starts_with('.')
}

/// Symbols beside the functions that somebody wrote: paddings, trampolines, what tracepoints expand to.
fn is_made_by_build(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "__pfx_",
        "__cfi_",
        "__SCT__",
        "__SCK__",
        "__SCK_",
        "__tracepoint_",
        "__probestub_",
        "__traceiter_",
        "__bpf_trace_",
        "__ftrace_invalid",
        "__kstrtab",
        "__ksymtab",
        "__initcall_",
        "trace_event_raw_event_",
        "trace_event_define_fields_",
        "trace_raw_output_",
        "perf_trace_",
        "event_class_",
        "__x64_sys_ni",
        "__export_symbol",
    ];
    PREFIXES.iter().any(|p| name.starts_with(p))
}
