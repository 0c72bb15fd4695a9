//! Attach-point syntax: one attach point as written, to a [`PointPattern`].
//!
//! Provider names are case-insensitive and have short forms; older spellings (`BEGIN`, `kfunc`) are
//! accepted. Parts are separated by colons; a part in double quotes may hold colons itself.

mod number;
mod parse;
mod split;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

pub use number::{duration_ns, integer, integer_or_duration};

use super::glob::Glob;
use super::signature::Signature;
use crate::model::target::Rate;

/// An attach point that was understood, wildcards and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointPattern {
    /// `begin`.
    Begin,
    /// `end`.
    End,
    /// `self:signal:SIGUSR1`.
    SelfSignal(i32),
    /// `test:NAME`.
    Test(Arc<str>),
    /// `bench:NAME`.
    Bench(Arc<str>),
    /// `interval:s:1`, `interval:1s`.
    Interval {
        /// Nanoseconds, at least 1000.
        period_ns: u64,
        /// `s:1`: how `probe` prints it.
        written: Arc<str>,
    },
    /// `profile:hz:99`, `profile:10ms`.
    Profile {
        /// Sampling rate.
        rate: Rate,
        /// `hz:99`.
        written: Arc<str>,
    },
    /// `tracepoint:CATEGORY:EVENT`.
    Tracepoint {
        /// Category.
        category: Glob,
        /// Event.
        event: Glob,
    },
    /// `rawtracepoint[:MODULE]:EVENT`.
    RawTracepoint {
        /// Module, when named.
        module: Option<Glob>,
        /// Event.
        event: Glob,
    },
    /// `kprobe[:MODULE]:FUNCTION[+OFFSET]`, `kretprobe:...`.
    Kprobe {
        /// Module, when named.
        module: Option<Glob>,
        /// Function.
        function: Glob,
        /// Conditions on its types: `kprobe:vfs_*(inode)->errno`.
        signature: Option<Signature>,
        /// Bytes from its start.
        offset: u64,
        /// At return.
        ret: bool,
    },
    /// `kprobe:0xffffffff81000000`.
    KprobeAddress(u64),
    /// `fentry[:MODULE]:FUNCTION`, `fexit:...`.
    Fentry {
        /// Module, when named.
        module: Option<Glob>,
        /// Function.
        function: Glob,
        /// Conditions on its types.
        signature: Option<Signature>,
        /// At exit.
        exit: bool,
    },
    /// `fentry:bpf[:ID]:PROGRAM`.
    FentryBpf {
        /// Program id, when named.
        id: Option<u32>,
        /// Program's name.
        program: Glob,
        /// At exit.
        exit: bool,
    },
    /// `uprobe:BINARY:PLACE`, `uretprobe:...`.
    Uprobe {
        /// Path, name in `PATH`, library's name, or a pattern; empty when the process tells.
        binary: Glob,
        /// Where in it.
        place: UprobePlace,
        /// At return.
        ret: bool,
    },
    /// `usdt:BINARY:[PROVIDER:]NAME`.
    Usdt {
        /// As in [`PointPattern::Uprobe`].
        binary: Glob,
        /// Provider; `None` for any.
        provider: Option<Glob>,
        /// Probe.
        name: Glob,
    },
    /// `software:EVENT[:COUNT]`.
    Software {
        /// Event or its alias.
        event: Glob,
        /// Fires once per this many; `None` for the event's default.
        count: Option<u64>,
    },
    /// `hardware:EVENT[:COUNT]`.
    Hardware {
        /// Event or its alias.
        event: Glob,
        /// Fires once per this many; `None` for the event's default.
        count: Option<u64>,
    },
    /// `watchpoint:ADDRESS:LENGTH:MODE`.
    Watchpoint {
        /// Address.
        address: u64,
        /// 1, 2, 4 or 8 bytes.
        length: u8,
        /// Bits: 1 read, 2 write, 4 execute.
        mode: u8,
    },
    /// `iter:KIND[:PIN]`.
    Iter {
        /// `task`, `task_file`, `task_vma`.
        kind: Arc<str>,
        /// Where to pin it below the BPF file system.
        pin: Option<Arc<str>>,
    },
}

/// Where in a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UprobePlace {
    /// A symbol, maybe mangled, maybe a pattern, and bytes from its start.
    Symbol {
        /// Name.
        name: Glob,
        /// Bytes from its start.
        offset: u64,
    },
    /// `cpp:"A::b"`: a C++ symbol by its readable name, with or without parameters.
    Demangled(Glob),
    /// An address in the binary's own address space, as `nm` prints it.
    Address(u64),
    /// `BINARY@FILE:LINE[:COLUMN]`.
    Line {
        /// Source file, or the end of its path.
        file: Arc<str>,
        /// Line.
        line: u32,
        /// Column.
        column: Option<u32>,
    },
}

/// An attach point that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PointError {
    /// Plain words, without a full stop.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Which bytes of the attach point are at fault.
    pub range: Range<usize>,
}

/// A provider: full name, short forms and older names, and the shape of what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Full name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What an attach point looks like.
    pub syntax: &'static str,
}

/// Every provider, in the order of the browser.
pub const PROVIDERS: &[Provider] = &[
    provider("begin", &[], "begin"),
    provider("end", &[], "end"),
    provider("interval", &["i"], "interval:s:1 or interval:100ms"),
    provider("profile", &["p"], "profile:hz:99 or profile:10ms"),
    provider("tracepoint", &["t"], "tracepoint:CATEGORY:EVENT"),
    provider("rawtracepoint", &["rt"], "rawtracepoint:[MODULE:]EVENT"),
    provider("kprobe", &["k"], "kprobe:[MODULE:]FUNCTION[+OFFSET]"),
    provider("kretprobe", &["kr"], "kretprobe:[MODULE:]FUNCTION"),
    provider("fentry", &["f", "kfunc"], "fentry:[MODULE:]FUNCTION"),
    provider("fexit", &["fr", "kretfunc"], "fexit:[MODULE:]FUNCTION"),
    provider("uprobe", &["u"], "uprobe:BINARY:FUNCTION[+OFFSET]"),
    provider("uretprobe", &["ur"], "uretprobe:BINARY:FUNCTION"),
    provider("usdt", &["U"], "usdt:BINARY:[PROVIDER:]NAME"),
    provider("software", &["s"], "software:EVENT[:COUNT]"),
    provider("hardware", &["h"], "hardware:EVENT[:COUNT]"),
    provider("watchpoint", &["w"], "watchpoint:ADDRESS:LENGTH:MODE"),
    provider("iter", &["it"], "iter:task[:PIN]"),
    provider("self", &[], "self:signal:SIGUSR1"),
    provider("test", &[], "test:NAME"),
    provider("bench", &[], "bench:NAME"),
];

const fn provider(name: &'static str, aliases: &'static [&'static str], syntax: &'static str) -> Provider {
    Provider { name, aliases, syntax }
}

impl Provider {
    /// The provider of this name, short form or older name. `U` (usdt) and `u` (uprobe) differ by
    /// case; full names do not.
    #[must_use]
    pub fn find(word: &str) -> Option<&'static Self> {
        let by_alias = || PROVIDERS.iter().find(|p| p.aliases.contains(&word));
        let by_name = || PROVIDERS.iter().find(|p| p.name.eq_ignore_ascii_case(word));
        let by_folded_alias = || PROVIDERS.iter().find(|p| p.aliases.iter().any(|a| a.eq_ignore_ascii_case(word)));
        by_alias().or_else(by_name).or_else(by_folded_alias)
    }
}

/// Reads one attach point.
///
/// # Errors
/// With the part at fault and what to write instead.
pub fn parse(text: &str) -> Result<PointPattern, PointError> {
    parse::parse(text)
}

impl PointPattern {
    /// The provider's full name.
    #[must_use]
    pub const fn provider(&self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::SelfSignal(_) => "self",
            Self::Test(_) => "test",
            Self::Bench(_) => "bench",
            Self::Interval { .. } => "interval",
            Self::Profile { .. } => "profile",
            Self::Tracepoint { .. } => "tracepoint",
            Self::RawTracepoint { .. } => "rawtracepoint",
            Self::Kprobe { ret: false, .. } | Self::KprobeAddress(_) => "kprobe",
            Self::Kprobe { ret: true, .. } => "kretprobe",
            Self::Fentry { exit: false, .. } | Self::FentryBpf { exit: false, .. } => "fentry",
            Self::Fentry { exit: true, .. } | Self::FentryBpf { exit: true, .. } => "fexit",
            Self::Uprobe { ret: false, .. } => "uprobe",
            Self::Uprobe { ret: true, .. } => "uretprobe",
            Self::Usdt { .. } => "usdt",
            Self::Software { .. } => "software",
            Self::Hardware { .. } => "hardware",
            Self::Watchpoint { .. } => "watchpoint",
            Self::Iter { .. } => "iter",
        }
    }

    /// True when it may stand for several targets.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        let wild = |glob: &Option<Glob>| glob.as_ref().is_some_and(Glob::is_wild);
        match self {
            Self::Tracepoint { category, event } => category.is_wild() || event.is_wild(),
            Self::RawTracepoint { module, event } => wild(module) || event.is_wild(),
            Self::Kprobe { module, function, .. } | Self::Fentry { module, function, .. } => {
                wild(module) || function.is_wild()
            }
            Self::Uprobe { binary, place, .. } => {
                let place = match place {
                    UprobePlace::Symbol { name, .. } => name.is_wild(),
                    UprobePlace::Demangled(_) => true,
                    _ => false,
                };
                binary.is_wild() || place
            }
            Self::Usdt { binary, provider, name } => binary.is_wild() || wild(provider) || name.is_wild(),
            Self::Software { event, .. } | Self::Hardware { event, .. } => event.is_wild(),
            Self::FentryBpf { program, .. } => program.is_wild(),
            _ => false,
        }
    }
}
