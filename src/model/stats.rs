//! What a running trace costs and loses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::words;

/// Counters of a running trace; all since it began.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct TraceStats {
    /// When taken, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Events that reached user space.
    pub delivered: u64,
    /// What did not, by cause; empty when nothing was lost.
    pub losses: Vec<Loss>,
    /// Cost by program.
    pub probes: Vec<ProbeStats>,
    /// Maps whose values are of a part of the firings only.
    #[serde(default)]
    pub parts: Vec<PartialMap>,
}

impl TraceStats {
    /// What a map's values are of; nothing where they are of all firings.
    #[must_use]
    pub fn part(&self, map: &str) -> Option<&PartialMap> {
        self.parts.iter().find(|part| &*part.map == map)
    }
}

/// A map whose values are of a part of the firings: probes that write it were throttled or turned off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialMap {
    /// Name with its `@`.
    pub map: Arc<str>,
    /// Firings that ran of the probes that were throttled.
    pub ran: u64,
    /// Firings that were left out of them to keep the budget.
    pub throttled: u64,
    /// The brake turned one of the probes off: what came after is missing.
    pub braked: bool,
    /// How long after the trace's begin the first of the probes was detached to keep the budget, ns: nothing is known of
    /// what came after.
    #[serde(default)]
    pub detached_ns: Option<u64>,
}

impl PartialMap {
    /// How many firings one that ran stands for; 1 where none was left out.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.ran.saturating_add(self.throttled) as f64 / self.ran.max(1) as f64
    }

    /// In a few words, for a place beside the map's name.
    #[must_use]
    pub fn mark(&self) -> String {
        let sample = (self.throttled > 0).then(|| match self.detached_ns {
            None => format!("a sample, ×{:.1}", self.factor()),
            Some(_) => "a sample".to_owned(),
        });
        let partial = self.braked.then(|| "partial".to_owned());
        let detached = self.detached_ns.map(|ns| format!("detached after {:.1} s", ns as f64 / 1e9));
        sample.into_iter().chain(partial).chain(detached).collect::<Vec<_>>().join(", ")
    }

    /// What the values are of, in a sentence for a place that has room for one.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (ran, fired) = (words::grouped(self.ran), words::grouped(self.ran.saturating_add(self.throttled)));
        let mut parts = Vec::new();
        if self.throttled > 0 {
            parts.push(format!("a sample: {ran} of {fired} firings ran, one in {:.2}", self.factor()));
        }
        if self.braked {
            parts.push("partial: the brake turned a probe off".to_owned());
        }
        if let Some(ns) = self.detached_ns {
            parts.push(format!("detached after {:.1} s: nothing is known of the rest", ns as f64 / 1e9));
        }
        parts.join("; ")
    }
}

/// One probe's program.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct ProbeStats {
    /// Attach points as the script names them.
    pub name: Arc<str>,
    /// How many places it is attached to.
    pub attached: u32,
    /// Runs of the program, from the kernel's run-time statistics; `None` when they can't be had.
    pub runs: Option<u64>,
    /// Time spent in the program, ns, from the same.
    pub run_time_ns: Option<u64>,
    /// Firings that the kernel skipped because a program already ran on that CPU.
    pub misses: u64,
}

/// Events or values that were lost, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Why.
    pub cause: LossCause,
    /// Which probe or map, as the script names it.
    pub site: Arc<str>,
    /// Byte span of the site in the script.
    pub span: (u32, u32),
    /// How many.
    pub count: u64,
}

/// Causes of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LossCause {
    /// The ring buffer was full.
    RingFull,
    /// A map had no room for a new key.
    MapFull,
    /// The kernel did not take a new key though the map had room: there was no memory for it at that moment (maps that
    /// are too large to be allocated in advance), or the map was in use by what the program interrupted.
    KeyRefused,
    /// Memory could not be read; zero was used.
    ReadFailed,
    /// A string was longer than its buffer.
    Truncated,
    /// A probe fired inside a probe's program.
    Nested,
    /// A stack could not be read or stored.
    Stack,
    /// Division by zero.
    DivideByZero,
    /// An array index out of range.
    OutOfBounds,
    /// The kernel had no free kretprobe instance.
    KretprobeMissed,
    /// Delivered, but dropped from the views' bounded history.
    HistoryTrimmed,
    /// A helper failed (signal, override, delete, ...).
    HelperFailed,
    /// A map was read at a key that it did not have; only counted when asked for.
    KeyAbsent,
    /// A probe's firing after it was turned off because its loops took a CPU away.
    Braked,
    /// A probe's firing while it was turned off for the rest of a period, to keep the budget.
    Throttled,
    /// A loop had more iterations than this kernel allows where it stands: it was ended.
    LoopCut,
    /// Rows of a map have a text in their key that was cut: different texts may be one row.
    KeyCut,
    /// Rows of a map have a stack in their key that was cut at the most frames that are kept: different stacks may be one
    /// row.
    StackCut,
    /// Places of a pattern that could not be attached.
    LeftOut,
}

impl LossCause {
    /// Whether what was reported has come, with a value in it that could not be had or was cut: nothing was lost.
    #[must_use]
    pub const fn is_incomplete(self) -> bool {
        match self {
            Self::ReadFailed
            | Self::Truncated
            | Self::Stack
            | Self::DivideByZero
            | Self::OutOfBounds
            | Self::HelperFailed
            | Self::KeyCut
            | Self::StackCut
            | Self::KeyAbsent => true,
            Self::RingFull
            | Self::MapFull
            | Self::KeyRefused
            | Self::Nested
            | Self::KretprobeMissed
            | Self::HistoryTrimmed
            | Self::Braked
            | Self::Throttled
            | Self::LeftOut
            | Self::LoopCut => false,
        }
    }

    /// Whether results lack something because of it, or may be wrong, and nothing among them shows where: the run's exit
    /// code is 3 then. A value that could not be read is 0 or empty in its place, a text that was cut ends in dots, and a
    /// sample says what part it is.
    #[must_use]
    pub const fn is_partial(self) -> bool {
        match self {
            Self::RingFull
            | Self::MapFull
            | Self::KeyRefused
            | Self::Nested
            | Self::Stack
            | Self::KretprobeMissed
            | Self::Braked
            | Self::LoopCut
            | Self::KeyCut
            | Self::StackCut
            | Self::LeftOut => true,
            Self::ReadFailed
            | Self::Truncated
            | Self::DivideByZero
            | Self::OutOfBounds
            | Self::HistoryTrimmed
            | Self::HelperFailed
            | Self::KeyAbsent
            | Self::Throttled => false,
        }
    }

    /// Whether results of bpftrace and DTrace lack something by it, too: under their names the exit code stays theirs.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Braked | Self::LoopCut)
    }

    /// In words, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RingFull => "ring buffer full",
            Self::MapFull => "map full",
            Self::KeyRefused => "new key not taken (no memory for it at that moment, or the map was in use)",
            Self::ReadFailed => "memory read failed",
            Self::Truncated => "string truncated",
            Self::Nested => "nested firing skipped",
            Self::Stack => "stack not captured",
            Self::DivideByZero => "division by zero",
            Self::OutOfBounds => "index out of range",
            Self::KretprobeMissed => "kretprobe instance missing",
            Self::HistoryTrimmed => "dropped from history",
            Self::HelperFailed => "helper failed",
            Self::KeyAbsent => "key not in the map",
            Self::Braked => "probe turned off by the brake",
            Self::Throttled => "throttled to keep the budget",
            Self::LoopCut => "loop ended at the most iterations that this kernel allows there",
            Self::KeyCut => "text in a key was cut: different ones may be one row",
            Self::StackCut => "stack in a key was cut at the most frames that are kept",
            Self::LeftOut => "place of a pattern could not be attached",
        }
    }
}
