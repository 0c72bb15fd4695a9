//! Probes by pattern, as `list` prints them.

use super::catalogue::{Catalogue, ProbeKind, require};
use super::expand::{ExpandError, ExpandOptions, entries, expand};
use super::glob::Glob;
use super::name::target_name;
use super::perf;
use super::point::{self, PointPattern, Provider, UprobePlace};
use super::providers;
use crate::binary::places::FunctionSymbol;
use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::kernel::{Absence, Feature, Kernel};
use crate::probe::find::find;

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Attach point.
    pub name: String,
    /// Why it can't be attached here.
    pub absence: Option<Absence>,
}

/// What a pattern stands for.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Probes in a stable order.
    pub lines: Vec<Line>,
    /// What could not be listed, and why.
    pub absences: Vec<Absence>,
}

/// Providers in the order of a full listing.
const ORDER: &[&str] = &[
    "interval",
    "profile",
    "software",
    "hardware",
    "tracepoint",
    "rawtracepoint",
    "kprobe",
    "kretprobe",
    "fentry",
    "fexit",
    "iter",
];

/// As [`list`], and with the user probes of a process: those of every binary that it has mapped,
/// unless the pattern names one.
///
/// # Errors
/// As [`list`].
pub fn list_of_process(pattern: &str, kernel: &Kernel, pid: u32) -> Result<Listing, ExpandError> {
    let pattern = pattern.trim();
    let (provider, rest) = pattern.split_once(':').unwrap_or((pattern, "*"));
    let provider = if provider.is_empty() { "*" } else { provider };
    let mut listing = match Provider::find(provider).map(|p| p.name) {
        Some("uprobe" | "uretprobe" | "usdt") => Listing::default(),
        _ => list(pattern, kernel)?,
    };
    // A name alone is that of a probe in any of the binaries.
    let rest = if rest.contains(':') { rest.to_owned() } else { format!("*:{rest}") };
    let wanted = Glob::new(provider);
    for name in ["uprobe", "uretprobe", "usdt"] {
        let named = Provider::find(provider).is_some_and(|p| p.name == name);
        // The returns are those of the same functions: they are listed when they are asked for.
        if named || provider.contains('*') && wanted.matches(name) && name != "uretprobe" {
            let found = user(&format!("{name}:{rest}"), kernel, Some(pid))?;
            listing.lines.extend(found.lines);
        }
    }
    Ok(listing)
}

/// Lists the probes that a pattern stands for: `tracepoint:sched:*`, `*openat*`, a provider's name,
/// `uprobe:libc:mallo*`, or everything for an empty one. Text without `*` and `:` matches anywhere in
/// a name.
///
/// # Errors
/// When a user-space pattern names a binary that is not there.
pub fn list(pattern: &str, kernel: &Kernel) -> Result<Listing, ExpandError> {
    let pattern = pattern.trim();
    let (provider, rest) = pattern.split_once(':').unwrap_or(("", pattern));
    if pattern.is_empty() || pattern == "*" {
        return Ok(of_providers(kernel, ORDER.iter().copied(), &Glob::new("*")));
    }
    if providers::is_provider(pattern) || providers::is_provider(provider) {
        let glob = Glob::new(&if provider.is_empty() { format!("{pattern}:*") } else { pattern.to_owned() });
        let mut listing = Listing::default();
        semantic(&mut listing, kernel, &glob);
        return Ok(listing);
    }
    if let Some(provider) = Provider::find(pattern) {
        return Ok(of_providers(kernel, std::iter::once(provider.name), &Glob::new("*")));
    }
    match Provider::find(provider).map(|p| p.name) {
        Some("self") => {
            let mut listing = Listing::default();
            add(
                &mut listing,
                std::iter::once("self:signal:SIGUSR1".to_owned()),
                &Glob::new(&format!("self:{rest}")),
                None,
            );
            Ok(listing)
        }
        Some(name @ ("uprobe" | "uretprobe" | "usdt")) => user(&format!("{name}:{rest}"), kernel, None),
        Some(name @ ("kprobe" | "kretprobe" | "rawtracepoint")) if rest.contains(':') => {
            of_modules(&format!("{name}:{rest}"), kernel)
        }
        // The programs of other traces are in no catalogue: they come and go.
        Some(name @ ("fentry" | "fexit")) if rest.starts_with("bpf:") => of_modules(&format!("{name}:{rest}"), kernel),
        Some(name) => {
            let short = name == "tracepoint" && !rest.contains(':') && rest.contains('*');
            let glob = Glob::new(&if short { format!("{name}:*:{rest}") } else { format!("{name}:{rest}") });
            Ok(of_providers(kernel, std::iter::once(name), &glob))
        }
        None => {
            let glob =
                if pattern.contains(['*', ':']) { Glob::new(pattern) } else { Glob::new(&format!("*{pattern}*")) };
            let head = Glob::new(provider);
            let wanted = ORDER.iter().copied().filter(|p| provider.is_empty() || head.matches(p));
            let mut listing = of_providers(kernel, wanted, &glob);
            semantic(&mut listing, kernel, &glob);
            // `*:/bin/bash:read*`: a path belongs to user probes.
            if head.is_wild() && rest.split(':').next().is_some_and(|binary| binary.contains('/')) {
                for name in ["uprobe", "usdt"].into_iter().filter(|name| head.matches(name)) {
                    listing.lines.extend(user(&format!("{name}:{rest}"), kernel, None)?.lines);
                }
            }
            Ok(listing)
        }
    }
}

fn of_providers(kernel: &Kernel, providers: impl Iterator<Item = &'static str>, glob: &Glob) -> Listing {
    let mut listing = Listing::default();
    for provider in providers {
        match provider {
            "interval" | "profile" => {
                let units = ["hz", "ms", "s", "us"].map(|unit| format!("{provider}:{unit}:"));
                add(&mut listing, units.into_iter(), glob, None);
            }
            "software" => events(&mut listing, "software", perf::SOFTWARE, glob, None),
            "hardware" => {
                let absence = require(kernel, Feature::PerfHardware);
                events(&mut listing, "hardware", perf::HARDWARE, glob, absence.as_ref());
            }
            "begin" | "end" => add(&mut listing, std::iter::once(provider.to_owned()), &Glob::new("*"), None),
            _ => of_kind(&mut listing, kernel, ProbeKind::of_provider(provider), provider, glob),
        }
    }
    listing
}

/// The semantic probes of a pattern, those that can't be had with the reason.
fn semantic(listing: &mut Listing, kernel: &Kernel, glob: &Glob) {
    for row in providers::rows().filter(|row| glob.matches(&row.point())) {
        listing.lines.push(Line { name: row.point(), absence: providers::resolve(row, kernel).err() });
    }
}

fn events(
    listing: &mut Listing,
    provider: &str,
    table: &'static [perf::PerfEvent],
    glob: &Glob,
    absence: Option<&Absence>,
) {
    let mut names: Vec<_> = perf::names(table).map(|n| format!("{provider}:{n}:")).collect();
    names.sort_unstable();
    add(listing, names.into_iter(), glob, absence);
}

/// Names that match, with or without the colon that listings put at the end.
fn add(listing: &mut Listing, names: impl Iterator<Item = String>, glob: &Glob, absence: Option<&Absence>) {
    let matching = names.filter(|n| glob.matches(n) || glob.matches(n.trim_end_matches(':')));
    listing.lines.extend(matching.map(|name| Line { name, absence: absence.cloned() }));
}

fn of_kind(listing: &mut Listing, kernel: &Kernel, kind: ProbeKind, provider: &str, glob: &Glob) {
    if kind == ProbeKind::Special {
        return;
    }
    let catalogue = Catalogue::of_kinds(kernel, &[kind]);
    listing.absences.extend(catalogue.absences().iter().cloned());
    // `fentry:vfs_*` means the functions of every module.
    let bare = glob.as_str().strip_prefix(provider).and_then(|g| g.strip_prefix(':')).filter(|g| !g.contains(':'));
    let bare = bare.filter(|_| matches!(kind, ProbeKind::Fentry | ProbeKind::Fexit)).map(Glob::new);
    let matches = |name: &str| match &bare {
        Some(function) => name.rsplit(':').next().is_some_and(|n| function.matches(n)),
        None => glob.matches(name),
    };
    let probes = catalogue.iter().filter(|p| p.kind == kind && matches(p.name));
    listing.lines.extend(probes.map(|p| Line { name: p.name.to_owned(), absence: p.absence.cloned() }));
}

/// Functions and raw tracepoints by module: what the catalogue names without one.
fn of_modules(pattern: &str, kernel: &Kernel) -> Result<Listing, ExpandError> {
    let pattern = point::parse(pattern)
        .map_err(|e| ExpandError::Refused { message: e.message, hint: e.hint.unwrap_or_default() })?;
    let options = ExpandOptions { pid: None, unsafe_allowed: true, ..ExpandOptions::default() };
    match expand(&pattern, kernel, &options) {
        Ok(targets) => {
            let lines = targets.iter().map(|t| Line { name: target_name(t), absence: None }).collect();
            Ok(Listing { lines, absences: Vec::new() })
        }
        Err(ExpandError::Absent(absence)) => Ok(Listing { lines: Vec::new(), absences: vec![absence] }),
        // A pattern that nothing matches is an empty listing.
        Err(_) => Ok(Listing::default()),
    }
}

/// Functions or USDT probes of binaries, which are looked for where a process sees them.
fn user(pattern: &str, kernel: &Kernel, pid: Option<u32>) -> Result<Listing, ExpandError> {
    let pattern = point::parse(pattern).or_else(|_| point::parse(&format!("{pattern}:*")));
    let pattern = pattern.map_err(|e| ExpandError::Refused { message: e.message, hint: e.hint.unwrap_or_default() })?;
    let mut listing = Listing::default();
    let (binary, absence) = match &pattern {
        PointPattern::Uprobe { binary, .. } => (binary, require(kernel, Feature::Uprobe)),
        PointPattern::Usdt { binary, .. } => (binary, require(kernel, Feature::Usdt)),
        _ => return Ok(listing),
    };
    for file in find(binary, kernel, pid)? {
        let opened = match kernel.binary(&file.open) {
            Ok(opened) => opened,
            // A pattern also matches files that are no binaries.
            Err(_) if binary.is_wild() => continue,
            Err(error) => return Err(error.into()),
        };
        let path = file.path.display();
        let mut lines: Vec<Line> = match &pattern {
            PointPattern::Usdt { provider, name, .. } => {
                let wanted = |p: &str, n: &str| provider.as_ref().is_none_or(|g| g.matches(p)) && name.matches(n);
                let sites = opened.usdt_sites().iter().filter(|s| wanted(&s.provider, &s.name));
                let line = |name: String| Line { name, absence: absence.clone() };
                sites.map(|s| line(format!("usdt:{path}:{}:{}", s.provider, s.name))).collect()
            }
            PointPattern::Uprobe { place: UprobePlace::Symbol { name, .. }, ret, .. } => {
                let functions = opened.functions().iter().filter(|f| name.matches(&f.name));
                let own = |f: &FunctionSymbol| absence.clone().or_else(|| entries::absence(&file, &opened, f, *ret));
                let line = |f: &FunctionSymbol| Line {
                    name: format!("{}:{path}:{}", pattern.provider(), f.name),
                    absence: own(f),
                };
                functions.map(line).collect()
            }
            _ => Vec::new(),
        };
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        lines.dedup_by(|a, b| a.name == b.name);
        listing.lines.append(&mut lines);
    }
    Ok(listing)
}

/// The patterns that stand with commas between them: each names a provider or a kind of type. Other commas, such as those
/// of a function's parameters, are part of a pattern.
#[must_use]
pub fn patterns(list: &str) -> Vec<&str> {
    let begins = |text: &str| {
        is_type(text) || text.split_once(':').is_some_and(|(word, _)| Provider::find(word.trim()).is_some())
    };
    let mut all = Vec::new();
    let mut rest = list;
    let mut from = 0;
    while let Some(at) = rest[from..].find(',').map(|at| from + at) {
        from = at + 1;
        if begins(&rest[from..]) {
            all.push(rest[..at].trim());
            rest = &rest[from..];
            from = 0;
        }
    }
    all.push(rest.trim());
    all
}

/// Whether a pattern stands for types of the kernel: `struct task_*`.
pub fn is_type(pattern: &str) -> bool {
    let word = pattern.trim().split_once(char::is_whitespace).map(|(word, _)| word);
    matches!(word, Some("struct" | "union" | "enum"))
}

/// Definitions of the kernel's types that a pattern such as `struct task_*` stands for, or several with commas between,
/// each with its name (`struct task_struct`); `None` when the pattern names no kind of type.
///
/// # Errors
/// When the kernel has no BTF.
pub fn types(pattern: &str, kernel: &Kernel) -> Option<Result<Vec<(String, String)>, Absence>> {
    if !pattern.split(',').all(is_type) {
        return None;
    }
    let each: Result<Vec<_>, _> = pattern.split(',').filter_map(|one| types_of(one.trim(), kernel)).collect();
    Some(each.map(|lists| lists.concat()))
}

fn types_of(pattern: &str, kernel: &Kernel) -> Option<Result<Vec<(String, String)>, Absence>> {
    let (word, name) = pattern.split_once(char::is_whitespace)?;
    let glob = Glob::new(name.trim());
    Some(kernel.btf().map(|btf| {
        let mut found: Vec<(String, TypeId)> = if glob.is_wild() {
            btf.own_ids()
                .filter_map(|id| Some((type_name(btf, id, word)?, id)))
                .filter(|(n, _)| glob.matches(n))
                .collect()
        } else {
            btf.find_type(pattern).map(|id| (glob.as_str().to_owned(), id)).into_iter().collect()
        };
        found.sort();
        found.dedup_by(|a, b| a.0 == b.0);
        found.into_iter().filter_map(|(n, id)| Some((format!("{word} {n}"), btf.definition(id)?))).collect()
    }))
}

/// Tag of a type of the wanted kind.
fn type_name(btf: &Btf, id: TypeId, word: &str) -> Option<String> {
    let name = match (btf.ty(id), word) {
        (BtfType::Struct(c), "struct") | (BtfType::Union(c), "union") => c.name,
        (BtfType::Enum(e), "enum") => e.name,
        _ => return None,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    fn names(pattern: &str) -> Vec<String> {
        let kernel = Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")));
        list(pattern, &kernel).unwrap().lines.into_iter().map(|l| l.name).collect()
    }

    #[test]
    fn patterns_of_every_shape() {
        assert_eq!(names("tracepoint:sched:sched_s*"), ["tracepoint:sched:sched_switch"]);
        assert_eq!(names("t:*switch"), ["tracepoint:sched:sched_switch"]);
        assert_eq!(names("kprobe:xfs*"), ["kprobe:xfs_file_read_iter", "kprobe:xfs_file_write_iter"]);
        assert_eq!(names("kprobe:xfs:*r*d*"), ["kprobe:xfs:xfs_file_read_iter"]);
        assert_eq!(names("kretprobe:*:vfs_r*"), ["kretprobe:vmlinux:vfs_read"]);
        assert_eq!(names("kprobe:nosuch:*"), [""; 0]);
        assert_eq!(names("fentry:vfs_r*"), ["fentry:vmlinux:vfs_read"]);
        assert_eq!(names("interval:*"), ["interval:hz:", "interval:ms:", "interval:s:", "interval:us:"]);
        assert_eq!(
            names("software:c*"),
            ["context-switches", "cpu-clock", "cpu-migrations", "cpu", "cs"].map(|n| format!("software:{n}:"))
        );
        let everywhere = names("*:*openat2");
        assert_eq!(everywhere[..2], ["kprobe:do_sys_openat2", "kretprobe:do_sys_openat2"]);
        assert_eq!(everywhere[2..], ["fentry:vmlinux:do_sys_openat2", "fexit:vmlinux:do_sys_openat2"]);
        assert!(names("vfs_read").contains(&"fexit:vmlinux:vfs_read".to_owned()));
        assert_eq!(names("self:*"), ["self:signal:SIGUSR1"]);
        assert!(names("nothing:at:all").is_empty());
    }

    #[test]
    fn types_are_printed_as_c() {
        let kernel = Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")));
        assert_eq!(
            patterns("kprobe:vfs_*, struct file,uprobe:./x:\"f(int, int)\",k:g"),
            ["kprobe:vfs_*", "struct file", "uprobe:./x:\"f(int, int)\"", "k:g"]
        );
        let found = types("struct list_h*", &kernel).unwrap().unwrap();
        assert_eq!(found[0].0, "struct list_head");
        assert!(found[0].1.starts_with("struct list_head {\n\tstruct list_head *next;"));
        assert!(types("tracepoint:*", &kernel).is_none());
    }
}
