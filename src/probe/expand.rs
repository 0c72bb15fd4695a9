//! Attach-point patterns to the concrete places that this machine has for them.

pub mod entries;
pub mod functions;
pub(crate) mod programs;
#[cfg(test)]
mod tests;
mod tracepoints;
mod user;

use std::sync::Arc;

use super::glob::Glob;
use super::perf::{self, PerfEvent};
use super::point::PointPattern;
use super::suggest;
use crate::binary::BinaryError;
use crate::binary::dwarf::DwarfError;
use crate::kernel::{Absence, Feature, Kernel, KernelError};
use crate::model::target::{Rate, Target};
use functions::Wanted;

/// How an attach point is to be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExpandOptions {
    /// Limit user probes to this process, and look binaries up in it.
    pub pid: Option<u32>,
    /// Allow what may harm the system (`--unsafe`): probes at raw kernel addresses.
    pub unsafe_allowed: bool,
    /// Take a named kernel function at its word, though neither the kernel lists it nor says that it can
    /// attach there: whether there is one shows when the probe is attached.
    pub forced: bool,
}

/// Why an attach point has no targets.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// Nothing of that name or pattern exists here.
    #[error("No matches for {kind} {name}.")]
    NoMatch {
        /// Provider.
        kind: String,
        /// What was asked for.
        name: String,
        /// Full attach points (or names) that look like it, best first.
        suggestions: Vec<String>,
        /// Why it may be missing, when something is known.
        reason: Option<String>,
    },
    /// This kernel can't attach such probes.
    #[error(transparent)]
    Absent(#[from] Absence),
    /// A kernel file could not be read.
    #[error(transparent)]
    Kernel(KernelError),
    /// The binary could not be found or read.
    #[error(transparent)]
    Binary(#[from] BinaryError),
    /// The binary's debug information gives no answer.
    #[error(transparent)]
    Dwarf(#[from] DwarfError),
    /// It can't be done, in plain words, and what to do instead.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do instead.
        hint: String,
    },
}

impl ExpandError {
    /// What to do about it: a did-you-mean, a remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoMatch { suggestions, reason, .. } => match suggestions.as_slice() {
                [] => reason.clone(),
                [one] => Some(format!("did you mean `{one}`?")),
                several => Some(format!("did you mean one of `{}`?", several.join("`, `"))),
            },
            Self::Absent(absence) | Self::Kernel(KernelError::Absent(absence)) => Some(absence.remedy.to_string()),
            Self::Binary(error) => error.hint(),
            Self::Dwarf(error) => error.hint(),
            Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Kernel(_) => None,
        }
    }

    /// What is to be warned of beside it: a function that no probe reaches.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let Self::NoMatch { kind, name, .. } = self else { return None };
        let function = name.rsplit(':').next().filter(|_| matches!(kind.as_str(), "kprobe" | "kretprobe"))?;
        Some(format!(
            "{function} is not traceable (either non-existing, inlined, or marked as \"notrace\"); attaching to it will \
             likely fail"
        ))
    }

    /// True when the probe is merely missing here, which `missing_probes` may forgive.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    /// True when nothing of the name or pattern exists here.
    #[must_use]
    pub const fn is_unmatched(&self) -> bool {
        matches!(self, Self::NoMatch { .. })
    }

    /// True when the point is a pattern that matches nothing.
    #[must_use]
    pub fn is_unmatched_wildcard(&self) -> bool {
        // bpftrace looks every raw tracepoint up as a pattern.
        let raw = |kind: &str, name: &str| kind == "rawtracepoint" && !name.contains(':');
        matches!(self, Self::NoMatch { kind, name, .. } if Glob::new(name).is_wild() || raw(kind, name))
    }
}

impl From<KernelError> for ExpandError {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Absent(absence) => Self::Absent(absence),
            other => Self::Kernel(other),
        }
    }
}

/// What expansion works with.
struct Expander<'a> {
    kernel: &'a Kernel,
    options: &'a ExpandOptions,
}

/// The targets of an attach point, at least one, in a stable order.
///
/// # Errors
/// When nothing matches, or this kernel or the given options don't allow it.
pub fn expand(pattern: &PointPattern, kernel: &Kernel, options: &ExpandOptions) -> Result<Vec<Target>, ExpandError> {
    let expander = Expander { kernel, options };
    match pattern {
        PointPattern::Begin => Ok(vec![Target::Begin]),
        PointPattern::End => Ok(vec![Target::End]),
        PointPattern::SelfSignal(number) => Ok(vec![Target::SelfSignal(*number)]),
        PointPattern::Test(name) => Ok(vec![Target::Test(Arc::clone(name))]),
        PointPattern::Bench(name) => Ok(vec![Target::Bench(Arc::clone(name))]),
        PointPattern::Interval { period_ns, .. } => Ok(vec![Target::Interval { period_ns: *period_ns }]),
        PointPattern::Profile { rate, .. } => expander.profile(*rate),
        PointPattern::Tracepoint { category, event } => expander.tracepoints(category, event),
        PointPattern::RawTracepoint { module, event } => expander.raw_tracepoints(module.as_ref(), event),
        PointPattern::Kprobe { module, function, signature, offset, ret } => {
            let wanted = Wanted { module: module.as_ref(), function, signature: signature.as_ref() };
            expander.kprobes(wanted, *offset, *ret)
        }
        PointPattern::KprobeAddress(address) => expander.kprobe_address(*address),
        PointPattern::Fentry { module, function, signature, exit } => {
            let wanted = Wanted { module: module.as_ref(), function, signature: signature.as_ref() };
            expander.fentries(wanted, *exit)
        }
        PointPattern::FentryBpf { id, program, exit } => expander.bpf_programs(*id, program, *exit),
        PointPattern::Uprobe { binary, place, ret } => expander.uprobes(binary, place, *ret),
        PointPattern::Usdt { binary, provider, name } => expander.usdt(binary, provider.as_ref(), name),
        PointPattern::Software { event, count } => expander.perf(1, "software", perf::SOFTWARE, event, *count),
        PointPattern::Hardware { event, count } => expander.perf(0, "hardware", perf::HARDWARE, event, *count),
        PointPattern::Watchpoint { address, length, mode } => expander.watchpoint(*address, *length, *mode),
        PointPattern::Iter { kind, pin } => expander.iter(kind, pin.as_ref()),
    }
}

impl Expander<'_> {
    fn profile(&self, rate: Rate) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::PerfSoftware)?;
        Ok(vec![Target::Profile { rate }])
    }

    fn perf(
        &self,
        kind: u32,
        provider: &str,
        table: &'static [PerfEvent],
        event: &Glob,
        count: Option<u64>,
    ) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::PerfSoftware)?;
        let target = |e: &PerfEvent| Target::PerfEvent { kind, config: e.config, period: count.unwrap_or(e.period) };
        let matching: Vec<_> = if event.is_wild() {
            table.iter().filter(|e| event.matches(e.name)).map(target).collect()
        } else {
            perf::find(table, event.as_str()).map(target).into_iter().collect()
        };
        if matching.is_empty() {
            let near = suggest::nearest(event.as_str(), perf::names(table), 3);
            let suggestions = near.into_iter().map(|n| format!("{provider}:{n}")).collect();
            if event.is_wild() {
                return Err(no_match(provider, event.as_str(), suggestions));
            }
            return Err(ExpandError::Refused {
                message: format!("{event} is not a {provider} probe"),
                hint: match suggestions.as_slice() {
                    [] => format!("`probescope list '{provider}:*'` shows them"),
                    near => format!("did you mean `{}`?", near.join("` or `")),
                },
            });
        }
        if kind == 0 {
            self.kernel.features().require(Feature::PerfHardware)?;
        }
        Ok(matching)
    }

    fn watchpoint(&self, address: u64, length: u8, mode: u8) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Watchpoint)?;
        const READ: u8 = 1;
        if cfg!(target_arch = "x86_64") && mode == READ {
            return Err(ExpandError::Refused {
                message: "watchpoints on x86 do not fire at reads alone".into(),
                hint: format!("watch reads and writes: `watchpoint:{address:#x}:{length}:rw`"),
            });
        }
        let (last, within) = (u64::from(length) - 1, address & !(u64::from(length) - 1));
        if cfg!(target_arch = "x86_64") && address & last != 0 {
            return Err(ExpandError::Refused {
                message: format!("a watchpoint of {length} bytes lies at a multiple of {length}"),
                hint: format!("the bytes from {within:#x} on are one: `watchpoint:{within:#x}:{length}:rw`"),
            });
        }
        Ok(vec![Target::Watchpoint { address, length, mode, pid: self.options.pid }])
    }
}

fn no_match(kind: &str, name: &str, suggestions: Vec<String>) -> ExpandError {
    ExpandError::NoMatch { kind: kind.to_owned(), name: name.to_owned(), suggestions, reason: None }
}
