//! The kinds of probe.

/// The kinds of probe, in the order in which the browser prefers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Tracepoint.
    Tracepoint,
    /// Entry of a kernel function by trampoline.
    Fentry,
    /// Entry of a kernel function.
    Kprobe,
    /// Raw tracepoint.
    RawTracepoint,
    /// Statically defined user probe.
    Usdt,
    /// Entry of a user function.
    Uprobe,
    /// `begin`, `end`, timers: probes that scripts are made of.
    Special,
    /// Software event.
    Software,
    /// Hardware event.
    Hardware,
    /// Exit of a kernel function by trampoline.
    Fexit,
    /// Return of a kernel function.
    Kretprobe,
    /// Return of a user function.
    Uretprobe,
    /// Iterator over kernel objects.
    Iter,
}

impl ProbeKind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Tracepoint,
        Self::Fentry,
        Self::Kprobe,
        Self::RawTracepoint,
        Self::Usdt,
        Self::Uprobe,
        Self::Special,
        Self::Software,
        Self::Hardware,
        Self::Fexit,
        Self::Kretprobe,
        Self::Uretprobe,
        Self::Iter,
    ];

    /// The kind that a provider's full name stands for.
    #[must_use]
    pub fn of_provider(name: &str) -> Self {
        match name {
            "tracepoint" => Self::Tracepoint,
            "rawtracepoint" => Self::RawTracepoint,
            "fentry" => Self::Fentry,
            "fexit" => Self::Fexit,
            "kprobe" => Self::Kprobe,
            "kretprobe" => Self::Kretprobe,
            "usdt" => Self::Usdt,
            "uprobe" => Self::Uprobe,
            "uretprobe" => Self::Uretprobe,
            "software" => Self::Software,
            "hardware" => Self::Hardware,
            "iter" => Self::Iter,
            _ => Self::Special,
        }
    }
}
