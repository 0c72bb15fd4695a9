//! What a probe offers to a script: its fields with C types, a sentence about it, and a script to
//! start from.

mod fields;
mod semantic;
mod skeleton;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::defined::Defined;
use super::expand::{ExpandOptions, entries, expand};
use super::find::{Found, find};
use super::perf;
use super::point::{self, PointPattern, UprobePlace};
use super::providers;
use crate::binary::elf::Binary;
use crate::kernel::{Absence, Feature, Kernel};

/// How a script prints a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// `%d`.
    Int,
    /// `%lld`.
    Long,
    /// `%s` of the field itself: an array of characters.
    Text,
    /// `%s` of `str(field)`: a pointer to characters.
    TextPointer,
    /// `%p`.
    Pointer,
    /// Not in one value: a struct.
    Not,
}

/// Something that a script can read in a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocField {
    /// Declaration as `list -v` prints it: `const char * filename`.
    pub declaration: String,
    /// What a script writes: `args.filename`, `arg0`, `retval`.
    pub access: String,
    /// Type alone: `const char *`.
    pub ty: String,
    /// How it prints.
    pub shown: Shown,
}

/// A probe's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeDoc {
    /// Its attach point.
    pub name: Arc<str>,
    /// What it is and when it fires, one or two sentences.
    pub about: String,
    /// What it offers, in order.
    pub fields: Vec<DocField>,
    /// A probe that compiles, ending in a line break.
    pub skeleton: String,
    /// Why it can't be attached here.
    pub absence: Option<Absence>,
}

/// Describes the probe with this attach point. Never fails: what is not known is left out, and an
/// attach point that makes no sense gives a bare skeleton.
#[must_use]
pub fn describe(name: &str, kernel: &Kernel) -> ProbeDoc {
    if let Some(row) = providers::row(name) {
        return semantic::describe(row, kernel);
    }
    let pattern = point::parse(name.trim_end_matches(':')).ok();
    let fields = pattern.as_ref().map(|p| fields::fields(p, kernel)).unwrap_or_default();
    ProbeDoc {
        name: name.into(),
        about: pattern.as_ref().map_or_else(String::new, |p| about(p, kernel)),
        skeleton: skeleton::skeleton(name.trim_end_matches(':'), &fields),
        fields,
        absence: pattern.as_ref().and_then(|p| absence(p, kernel)),
    }
}

/// The declarations that `list -v` prints below a probe.
#[must_use]
pub fn arguments(name: &str, kernel: &Kernel) -> Vec<String> {
    if let Some(row) = providers::row(name) {
        return semantic::fields(row, kernel).into_iter().map(|f| f.declaration).collect();
    }
    let pattern = point::parse(name.trim_end_matches(':')).ok();
    let fields = pattern.as_ref().map(|p| fields::listed(p, kernel)).unwrap_or_default();
    let several = pattern.as_ref().and_then(|p| implementations(p, kernel)).map(|count| {
        format!("// an indirect function: {count} implementations, one of which a process runs; all are probed")
    });
    let moved = pattern.as_ref().and_then(|p| moved(p, kernel)).map(|note| format!("// {note}"));
    several.into_iter().chain(moved).chain(fields.into_iter().map(|f| f.declaration)).collect()
}

/// What is to be told of where a function is probed.
fn moved(pattern: &PointPattern, kernel: &Kernel) -> Option<String> {
    let (.., function) = function_of(pattern, kernel)?;
    let targets = expand(pattern, kernel, &ExpandOptions::default()).ok()?;
    let note = targets.iter().find_map(|target| entries::note(target, kernel))?;
    Some(if targets.len() > 1 { format!("one of them is {note}") } else { format!("{function} is {note}") })
}

/// How many implementations an indirect function of a program has.
fn implementations(pattern: &PointPattern, kernel: &Kernel) -> Option<usize> {
    let (_, binary, function) = function_of(pattern, kernel)?;
    let function = binary.function(&function).filter(|f| f.indirect)?;
    binary.implementations(function).ok().map(|all| all.len())
}

/// The function that a probe of one program names, with the file that it is in.
fn function_of(pattern: &PointPattern, kernel: &Kernel) -> Option<(Found, Arc<Binary>, Arc<str>)> {
    let PointPattern::Uprobe { binary, place: UprobePlace::Symbol { name, offset: 0 }, .. } = pattern else {
        return None;
    };
    let file = find(binary, kernel, None).ok()?.into_iter().next()?;
    let opened = kernel.binary(&file.open).ok()?;
    let function = Arc::clone(&opened.function(name.as_str())?.name);
    Some((file, opened, function))
}

fn about(pattern: &PointPattern, kernel: &Kernel) -> String {
    match pattern {
        PointPattern::Begin => "Fires once, before the other probes are attached.".into(),
        PointPattern::End => "Fires once, after the other probes are detached.".into(),
        PointPattern::SelfSignal(_) => "Fires when probescope itself gets SIGUSR1.".into(),
        PointPattern::Interval { .. } => "Fires again and again, on one CPU.".into(),
        PointPattern::Profile { .. } => "Fires again and again, on every CPU: samples what runs there.".into(),
        PointPattern::Tracepoint { category, event } if category.as_str() == "syscalls" => syscall(event.as_str()),
        PointPattern::Tracepoint { category, event } => tracepoint(category.as_str(), event.as_str(), kernel),
        PointPattern::RawTracepoint { .. } => {
            "The kernel's own arguments of a tracepoint, as typed pointers; cheaper than the tracepoint itself.".into()
        }
        PointPattern::Kprobe { ret: false, .. } | PointPattern::KprobeAddress(_) => {
            "Fires when the kernel function is entered. Functions change between kernel versions.".into()
        }
        PointPattern::Kprobe { .. } => "Fires when the kernel function returns; retval is its result.".into(),
        PointPattern::Fentry { exit: false, .. } => {
            "Fires when the kernel function is entered, with typed arguments, at almost no cost.".into()
        }
        PointPattern::Fentry { .. } | PointPattern::FentryBpf { .. } => {
            "Fires when the kernel function returns, with typed arguments and retval.".into()
        }
        PointPattern::Uprobe { ret: false, .. } => "Fires when the function of the program is entered.".into(),
        PointPattern::Uprobe { .. } => "Fires when the function of the program returns; retval is its result.".into(),
        PointPattern::Usdt { .. } => "A probe that the program's authors put there.".into(),
        PointPattern::Software { event, .. } => counted(perf::SOFTWARE, event.as_str()),
        PointPattern::Hardware { event, .. } => counted(perf::HARDWARE, event.as_str()),
        PointPattern::Watchpoint { .. } => "Fires when the memory is accessed.".into(),
        PointPattern::Iter { .. } => "Runs once for each object of the kernel, then ends.".into(),
        PointPattern::Test(_) | PointPattern::Bench(_) => "Runs on request only.".into(),
    }
}

fn syscall(event: &str) -> String {
    match (event.strip_prefix("sys_enter_"), event.strip_prefix("sys_exit_")) {
        (Some(call), _) => format!("Fires when a program calls {call}(2), before the kernel does anything."),
        (_, Some(call)) => format!("Fires when {call}(2) returns; args.ret is its result, negative for an error."),
        _ => String::new(),
    }
}

fn tracepoint(category: &str, event: &str, kernel: &Kernel) -> String {
    let format = kernel.tracepoint(category, event).ok();
    let print = format.map(|f| f.print_fmt.to_string()).unwrap_or_default();
    let shown = print.split('"').nth(1).map(|text| format!(" The kernel prints it as: {text}")).unwrap_or_default();
    format!("A place that the kernel's authors marked in {category}; it stays across versions.{shown}")
}

fn counted(table: &'static [perf::PerfEvent], name: &str) -> String {
    perf::find(table, name).map_or_else(String::new, |e| {
        let per = if e.period == 1 { "each time".to_owned() } else { format!("once per {}", e.period) };
        format!("Counts {}; fires {per} unless a count is given.", e.about)
    })
}

fn absence(pattern: &PointPattern, kernel: &Kernel) -> Option<Absence> {
    let feature = match pattern {
        PointPattern::Tracepoint { .. } => Feature::Tracepoint,
        PointPattern::RawTracepoint { .. } => Feature::RawTracepoint,
        PointPattern::Kprobe { .. } | PointPattern::KprobeAddress(_) => Feature::Kprobe,
        PointPattern::Fentry { .. } | PointPattern::FentryBpf { .. } => Feature::Fentry,
        PointPattern::Uprobe { .. } => Feature::Uprobe,
        PointPattern::Usdt { .. } => Feature::Usdt,
        PointPattern::Profile { .. } | PointPattern::Software { .. } => Feature::PerfSoftware,
        PointPattern::Hardware { .. } => Feature::PerfHardware,
        PointPattern::Watchpoint { .. } => Feature::Watchpoint,
        PointPattern::Iter { .. } => Feature::Iter,
        _ => return None,
    };
    let own = match pattern {
        PointPattern::Tracepoint { category, event } => {
            Defined::now(kernel).absence(&(category.as_str().into(), event.as_str().into()))
        }
        PointPattern::Uprobe { ret, .. } => function_of(pattern, kernel)
            .and_then(|(file, binary, name)| entries::absence(&file, &binary, binary.function(&name)?, *ret)),
        _ => None,
    };
    let require = |feature: Feature| kernel.features().require(feature).err();
    require(feature).or(own).or_else(|| require(Feature::Rights))
}
