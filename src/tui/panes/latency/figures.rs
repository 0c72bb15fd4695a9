//! Times and names as the pane writes them.

use ratatui::style::Style;

use crate::model::latency::{Episode, EpisodeKind, Interval, NoiseClass};
use crate::tui::base::text::short_ns;
use crate::tui::base::theme::{Slot, Theme};

/// A time in the table, in us as rtla has them, with a digit after the point where they are short.
pub fn us(ns: u64) -> String {
    if ns < 100_000 { format!("{:.1}", ns as f64 / 1000.0) } else { (ns / 1000).to_string() }
}

/// A time with its unit.
pub fn time(ns: u64) -> String {
    short_ns(ns as f64)
}

/// What a class of noise is called; the residual has none.
pub const fn class_name(class: Option<NoiseClass>) -> &'static str {
    match class {
        Some(class) => class.name(),
        None => "Residual",
    }
}

/// How a class is drawn.
pub fn class_style(theme: &Theme, class: Option<NoiseClass>) -> Style {
    theme[match class {
        Some(NoiseClass::Hardware) => Slot::Error,
        Some(NoiseClass::Nmi) => Slot::Macro,
        Some(NoiseClass::Irq) => Slot::Number,
        Some(NoiseClass::Softirq) => Slot::Map,
        Some(NoiseClass::Thread) => Slot::Probe,
        Some(NoiseClass::Timer) => Slot::Builtin,
        None => Slot::Dim,
    }]
}

/// A letter for it, where there are no colours.
pub const fn class_letter(class: Option<NoiseClass>) -> &'static str {
    match class {
        Some(NoiseClass::Hardware) => "H",
        Some(NoiseClass::Nmi) => "N",
        Some(NoiseClass::Irq) => "I",
        Some(NoiseClass::Softirq) => "S",
        Some(NoiseClass::Thread) => "T",
        Some(NoiseClass::Timer) => "t",
        None => "R",
    }
}

/// Which latency an episode is of.
pub const fn episode_kind(episode: &Episode) -> &'static str {
    match episode.kind {
        EpisodeKind::Irq => "IRQ",
        EpisodeKind::Thread => "thread",
        EpisodeKind::User => "user",
        EpisodeKind::Noise if episode.is_period() => "period",
        EpisodeKind::Noise => "gap",
        EpisodeKind::Passive => "timer",
    }
}

/// What took most of an episode: its class, and its name with the time that it took.
pub fn culprit(episode: &Episode) -> (Option<NoiseClass>, String) {
    let parts = &episode.parts;
    let longest = |class: NoiseClass| {
        let of = episode.intervals.iter().filter(|i| i.class == class);
        of.max_by_key(|i| inside(episode, i)).map(|i| i.name.clone()).unwrap_or_default()
    };
    let blocker = episode.blocker.as_ref().map(|b| format!("{}:{}", b.comm, b.pid));
    let delay = match (&episode.idle, &blocker) {
        (Some(idle), _) if !idle.name.is_empty() => format!("leaving idle state {}", idle.name),
        (Some(idle), _) => format!("leaving idle state {}", idle.state),
        (None, Some(name)) => name.clone(),
        (None, None) => "interrupts were off, or a hypervisor ran".to_owned(),
    };
    let nothing = episode.kind == EpisodeKind::Noise && episode.intervals.is_empty();
    let residual = parts.residual_ns.max(0).unsigned_abs();
    let no_record = "no record of what ran: the recorder was full".to_owned();
    let all = [
        (parts.unrecorded_ns, None, no_record),
        (parts.hardware_ns, Some(NoiseClass::Hardware), "nothing was entered".to_owned()),
        (parts.irq_delay_ns, Some(NoiseClass::Irq), delay),
        (parts.timer_irq_ns, Some(NoiseClass::Irq), "the timer's own interrupt".to_owned()),
        (parts.blocking_thread_ns, Some(NoiseClass::Thread), blocker.clone().unwrap_or_default()),
        (parts.nmi_ns, Some(NoiseClass::Nmi), longest(NoiseClass::Nmi)),
        (parts.irq_ns, Some(NoiseClass::Irq), longest(NoiseClass::Irq)),
        (parts.softirq_ns, Some(NoiseClass::Softirq), longest(NoiseClass::Softirq)),
        (parts.thread_ns, Some(NoiseClass::Thread), longest(NoiseClass::Thread)),
        if nothing {
            (residual, Some(NoiseClass::Hardware), "nothing was entered".to_owned())
        } else {
            (residual, None, "not traced: a hypervisor, entry, exit".to_owned())
        },
    ];
    let most = all.into_iter().max_by_key(|(ns, ..)| *ns);
    let off = most.as_ref().is_some_and(|(ns, ..)| *ns == parts.irq_delay_ns) && episode.idle.is_none();
    let why = if off && blocker.is_some() { ", interrupts off or a hypervisor" } else { "" };
    most.map_or((None, String::new()), |(ns, class, name)| (class, format!("{name} {}{why}", time(ns))))
}

/// How much of an interval lies in its episode.
pub fn inside(episode: &Episode, interval: &Interval) -> u64 {
    interval.end_ns().min(episode.ended_ns).saturating_sub(interval.start_ns.max(episode.began_ns))
}
