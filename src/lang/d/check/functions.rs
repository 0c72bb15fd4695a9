//! Probes at functions: `fbt` of the kernel, `pid` of a process, and a process's static probes.

use std::sync::Arc;

use super::descriptions::Found;
use super::site::SiteKind;
use crate::lang::d::patterns::{chosen, fits, widened};
use crate::lang::facts::Facts;
use crate::model::target::Target;

/// The four fields of a description.
type Fields<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Provider and process of `pid123` and `node123`.
fn of_process(provider: &str) -> Option<(&str, u32)> {
    let name = provider.trim_end_matches(|c: char| c.is_ascii_digit());
    let pid = provider.get(name.len()..)?.parse().ok()?;
    (!name.is_empty()).then_some((name, pid))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_in_process(target: &mut Target, process: u32) {
    if let Target::Uprobe { pid, .. } | Target::Usdt { pid, .. } = target {
        *pid = Some(process);
    }
}

/// Adds the probes of functions that a description names; why there is none otherwise.
pub fn functions(facts: &dyn Facts, fields: Fields<'_>, found: &mut Vec<Found>) -> Option<String> {
    let (provider, ..) = fields;
    if matches!(provider, "fbt" | "rawfbt") {
        return of_kernel(facts, fields, found);
    }
    let (name, process) = of_process(provider)?;
    let why = if name == "pid" {
        of_user(facts, process, fields, found)
    } else {
        static_probes(facts, name, process, fields, found)
    };
    if found.is_empty() { why_none_in_process(facts, process, fields).or(why) } else { None }
}

/// Adds the static probes of a provider of any process (`node*:::gc-start`): at the files that processes run now, for whoever runs
/// them, also later.
pub fn of_any_process(facts: &dyn Facts, (provider, module, _, named): Fields<'_>, found: &mut Vec<Found>) {
    // Patterns of nothing but stars are not meant for all that any process has.
    if !provider.contains('*') || !provider.contains(|c: char| c.is_ascii_alphanumeric()) {
        return;
    }
    for file in facts.files_of_all().into_iter().filter(|file| is_named(module, file)) {
        let point = format!("usdt:{file}:{}:{}", widened(provider), widened(named).replace('-', "__"));
        for (number, (target, _)) in facts.expand(&point).unwrap_or_default().into_iter().enumerate() {
            let Target::Usdt { provider: own, name, .. } = &target else { continue };
            let shown = name.replace("__", "-");
            if chosen(provider, own) && chosen(named, &shown) {
                let full: Arc<str> = format!("{own}:{}::{shown}", base_name(&file)).into();
                found.push(Found { number, ..Found::new(Some(target), full, SiteKind::Static) });
            }
        }
    }
}

/// Why a process has no probe of a description that names none of its files.
fn why_none_in_process(
    facts: &dyn Facts,
    process: u32,
    (provider, module, function, name): Fields<'_>,
) -> Option<String> {
    if process == 0 {
        return Some(format!("{provider} is no process: it is -c or -p that gives $target one"));
    }
    let count = facts.files_of(process).len();
    if count == 0 {
        return Some(format!("there is no process {process}, or it has no files"));
    }
    let what =
        if provider.starts_with("pid") { format!("function {function}") } else { format!("static probe {name}") };
    (module == "*").then(|| format!("process {process} has no {what} in any of its {count} files"))
}

fn of_kernel(
    facts: &dyn Facts,
    (provider, module, function, name): Fields<'_>,
    found: &mut Vec<Found>,
) -> Option<String> {
    let mut why = None;
    for (own, kind, probe) in
        [("entry", SiteKind::KernelEntry, "kprobe"), ("return", SiteKind::KernelReturn, "kretprobe")]
    {
        if !fits(name, own) {
            continue;
        }
        let of_module = if matches!(module, "*" | "vmlinux") { String::new() } else { format!("{}:", widened(module)) };
        match facts.expand(&format!("{probe}:{of_module}{}", widened(function))) {
            Ok(targets) => {
                for (target, _) in targets {
                    let Target::Kprobe { module: own_module, function: own_function, .. } = &target else { continue };
                    let own_module: &str = if own_module.is_empty() { "vmlinux" } else { own_module };
                    if !chosen(module, own_module) || !chosen(function, own_function) {
                        continue;
                    }
                    let full = format!("{provider}:{own_module}:{own_function}:{own}").into();
                    found.push(Found::new(Some(target), full, kind));
                }
            }
            Err(refusal) => {
                let none = format!("this kernel has {} that can be probed", no_function(module, function));
                why = Some(if refusal.unmatched { none } else { refusal.message });
            }
        }
    }
    why
}

/// What there is not, with its module, where one is given.
fn no_function(module: &str, function: &str) -> String {
    let function = if function == "*" { "no functions".to_owned() } else { format!("no function {function}") };
    if module == "*" { function } else { format!("{function} in module {module}") }
}

/// Whether a description's module names a file.
fn is_named(module: &str, file: &str) -> bool {
    let base = base_name(file);
    // `libc`, `libc.so` and `libc.so.1` name a library by its stem.
    let stem = |name: &str| name.split(".so").next().map(str::to_owned);
    fits(module, base) || (!module.contains('*') && module.starts_with("lib") && stem(module) == stem(base))
}

/// The files that a description's module names in a process.
fn files(facts: &dyn Facts, process: u32, module: &str) -> Vec<String> {
    let all = facts.files_of(process);
    if module == "a.out" {
        return all.into_iter().take(1).collect();
    }
    let files: Vec<String> = all.into_iter().filter(|file| is_named(module, file)).collect();
    // What the loader has not mapped yet.
    if files.is_empty() && module != "*" { vec![module.to_owned()] } else { files }
}

/// The places of one function, which follow each other: an indirect one has several.
#[derive(Default)]
struct Numbers {
    function: Arc<str>,
    next: usize,
}

impl Numbers {
    fn of(&mut self, function: &Arc<str>) -> usize {
        if self.function != *function {
            *self = Self { function: Arc::clone(function), next: 0 };
        }
        self.next += 1;
        self.next - 1
    }
}

fn of_user(
    facts: &dyn Facts,
    process: u32,
    (provider, module, function, name): Fields<'_>,
    found: &mut Vec<Found>,
) -> Option<String> {
    let mut why = None;
    let offset = (name != "*" && !matches!(name, "entry" | "return"))
        .then(|| u64::from_str_radix(name.trim_start_matches("0x"), 16).ok())
        .flatten();
    let wide = widened(function);
    for file in files(facts, process, module) {
        let mut points = Vec::new();
        if let Some(offset) = offset {
            points.push((name, SiteKind::UserEntry, format!("uprobe:{file}:{function}+{offset}")));
        }
        if fits(name, "entry") {
            points.push(("entry", SiteKind::UserEntry, format!("uprobe:{file}:{wide}")));
        }
        if fits(name, "return") {
            points.push(("return", SiteKind::UserReturn, format!("uretprobe:{file}:{wide}")));
        }
        for (own, kind, point) in points {
            match facts.expand(&point) {
                Ok(targets) => {
                    let mut numbers = Numbers::default();
                    for (mut target, _) in targets {
                        let Target::Uprobe { symbol, .. } = &target else { continue };
                        let number = numbers.of(symbol);
                        let symbol = symbol.split('+').next().unwrap_or("");
                        if !chosen(function, symbol) {
                            continue;
                        }
                        let full = format!("{provider}:{}:{symbol}:{own}", base_name(&file)).into();
                        is_in_process(&mut target, process);
                        found.push(Found { number, ..Found::new(Some(target), full, kind) });
                    }
                }
                Err(refusal) => why = Some(refusal.message),
            }
        }
    }
    why
}

/// What a pattern of a process's functions leaves out, and why.
pub fn left_out(facts: &dyn Facts, (provider, module, function, _): Fields<'_>) -> Option<String> {
    let (_, process) = of_process(provider).filter(|(name, _)| *name == "pid")?;
    let point = |file: String| format!("uprobe:{file}:{}", widened(function));
    // What a description means more narrowly than the pattern for it is named by itself, if at all.
    let is_pattern = function.contains('*');
    files(facts, process, module).into_iter().filter(|_| is_pattern).find_map(|file| facts.left_out(&point(file)))
}

/// Static probes by the notes of a process's files; `-` in D's names is `__` in the notes.
fn static_probes(
    facts: &dyn Facts,
    provider: &str,
    process: u32,
    (full_provider, module, _, named): Fields<'_>,
    found: &mut Vec<Found>,
) -> Option<String> {
    let mut why = None;
    for file in files(facts, process, module) {
        let point = format!("usdt:{file}:{provider}:{}", widened(named).replace('-', "__"));
        match facts.expand(&point) {
            Ok(targets) => {
                for (number, (mut target, _)) in targets.into_iter().enumerate() {
                    let Target::Usdt { name, .. } = &target else { continue };
                    let shown = name.replace("__", "-");
                    if !chosen(named, &shown) {
                        continue;
                    }
                    let full: Arc<str> = format!("{full_provider}:{}::{shown}", base_name(&file)).into();
                    is_in_process(&mut target, process);
                    found.push(Found { number, ..Found::new(Some(target), full, SiteKind::Static) });
                }
            }
            Err(refusal) => why = Some(refusal.message),
        }
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_of_a_process_ends_with_its_number() {
        assert_eq!(of_process("pid123"), Some(("pid", 123)));
        assert_eq!(of_process("python7"), Some(("python", 7)));
        assert_eq!(of_process("syscall"), None);
        assert_eq!(of_process("12"), None);
    }
}
