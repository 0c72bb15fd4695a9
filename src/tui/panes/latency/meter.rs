//! The meter that the pane runs: passive as soon as there is a pane, with measuring threads when the user says so.

use super::keys::Intent;
use super::moment::Shown;
use crate::lang::diagnostic::Severity;
use crate::model::latency::{MeterInfo, Mode, Thresholds};
use crate::session::update::Update;
use crate::store::Cursor;
use crate::tracer::latency::{Options, Policy};
use crate::tui::data::Data;
use crate::tui::data::baseline::Baseline;
use crate::tui::data::effect::Effect;
use crate::tui::data::latency::{Phase, Watched};
use crate::tui::layers::reader::Confirm;
use crate::tui::pane::ask::Metering;
use crate::tui::pane::{Seen, Turn};

/// Machines with more CPUs tell of each once a second only.
const MANY_CPUS: usize = 16;

/// What is asked of the meter.
pub(crate) fn carry_out(turn: &mut Turn<&mut Data>, asked: Metering) {
    match asked {
        Metering::Start(mode) => start(turn, mode),
        Metering::Ask(mode) => ask(turn, mode),
        Metering::Stop => stop(turn),
        Metering::Watch(thread) => watch(turn, thread),
        Metering::Leave => leave(turn),
        Metering::Threshold(which, up) => change(turn, which, up),
        Metering::Baseline(baseline) => keep(turn, *baseline),
    }
}

/// The meter begins when a pane is shown, without anything else to show it measures the system as it is; it ends when nobody
/// looks any more.
pub(super) fn follow(turn: &mut Turn<&mut Data>, seen: Seen) {
    let is_free = turn.latency.meter.phase == Phase::Off && why_not(turn).is_none();
    if seen.is_shown && is_free {
        start(turn, Mode::Passive);
    }
    if !seen.is_open {
        if turn.latency.meter.is_on() {
            turn.latency.meter.phase = Phase::Off;
            let trace = turn.latency.meter.trace;
            turn.out(Effect::Stop(trace));
        }
        leave(turn);
    }
}

/// Keeps a baseline, for later sessions where there is a place for it.
fn keep(turn: &mut Turn<&mut Data>, baseline: Baseline) {
    let lasts = turn.latency.baselines.keep(baseline);
    let until = if lasts.is_some() { ", in later sessions, too" } else { "" };
    let text = format!("What was measured so far is the baseline that is compared with{until}");
    turn.tell(Severity::Info, text);
    if let Some(effect) = lasts {
        turn.out(effect);
    }
}

/// Watches the process of a thread, in place of the one that was watched.
fn watch(turn: &mut Turn<&mut Data>, thread: u32) {
    if let Some(reason) = why_not(turn) {
        turn.tell(Severity::Warning, reason);
        return;
    }
    leave(turn);
    let trace = turn.next_trace();
    turn.latency.watched = Watched { trace, phase: Phase::Starting };
    turn.out(Effect::Watch { trace, thread });
}

/// Watches nobody any more.
fn leave(turn: &mut Turn<&mut Data>) {
    let watched = &mut turn.latency.watched;
    if !matches!(watched.phase, Phase::Starting | Phase::Running) {
        return;
    }
    watched.phase = Phase::Ended;
    let trace = watched.trace;
    turn.out(Effect::Stop(trace));
}

/// What the session tells of whom it watches.
fn hear_watched(turn: &mut Turn<&mut Data>, update: &Update) {
    let watched = &mut turn.latency.watched;
    match update {
        Update::Attached { .. } => watched.phase = Phase::Running,
        Update::Failed { diagnostic, .. } => {
            watched.phase = Phase::Refused(diagnostic.message.clone());
            let message = format!("Cannot watch: {}", diagnostic.message);
            turn.tell(Severity::Error, message);
        }
        Update::Ended { .. } => watched.phase = Phase::Ended,
        Update::Notice { text, .. } => turn.mention(Severity::Info, text.clone()),
        _ => {}
    }
}

/// What the session tells of the meter.
pub(crate) fn hear(turn: &mut Turn<&mut Data>, update: &Update) {
    if let Update::Attached { trace, .. }
    | Update::Failed { trace, .. }
    | Update::Ended { trace, .. }
    | Update::Notice { trace, .. } = update
        && turn.latency.watched.trace == *trace
    {
        return hear_watched(turn, update);
    }
    let meter = &mut turn.latency.meter;
    match update {
        Update::Attached { .. } => meter.phase = Phase::Running,
        Update::Failed { diagnostic, .. } => {
            meter.phase = Phase::Refused(diagnostic.message.clone());
            let message = format!("Cannot measure: {}", diagnostic.message);
            turn.tell(Severity::Error, message);
        }
        Update::Ended { .. } if meter.is_on() => meter.phase = Phase::Ended,
        Update::Notice { text, .. } => turn.mention(Severity::Info, text.clone()),
        _ => {}
    }
}

/// The CPUs of this machine, as far as a meter has told.
fn known(data: &Data) -> Option<&MeterInfo> {
    data.latency.shown(&data.store, Cursor::Live)?.0.meter.as_deref()
}

/// How a mode measures here.
fn options(data: &Data, mode: Mode) -> Options {
    let online: Vec<u32> = known(data).map(|meter| meter.places.iter().map(|p| p.cpu).collect()).unwrap_or_default();
    // Spinning threads leave a CPU to everything else.
    let cpus = if mode == Mode::Osnoise && online.len() > 1 { online[1..].to_vec() } else { online };
    let many = cpus.len() > MANY_CPUS;
    Options {
        mode,
        policy: if mode == Mode::Timerlat { Policy::Fifo(95) } else { Policy::Other },
        period_ns: if mode == Mode::Timerlat { 1_000_000 } else { 1_000_000_000 },
        gap_ns: 5_000,
        thresholds: data.latency.meter.thresholds,
        interval: std::time::Duration::from_millis(if many { 1000 } else { 250 }),
        stacks: true,
        cpus,
        ..Options::default()
    }
}

/// What a mode would load the machine with.
fn load(options: &Options) -> String {
    let (many, plural) = (options.cpus.len(), if options.cpus.len() == 1 { "" } else { "s" });
    match options.mode {
        Mode::Osnoise => {
            let percent = options.runtime_ns * 100 / options.period_ns.max(1);
            format!("{many} CPU{plural}, {percent} % each, {}", options.policy)
        }
        Mode::Timerlat => {
            let often = 1_000_000_000 / options.period_ns.max(1);
            format!("{many} CPU{plural}, {often} wake-ups a second each, {}", options.policy)
        }
        Mode::Passive => "no load: only timers of the system".to_owned(),
    }
}

/// States what measuring would cost before anything starts.
fn ask(turn: &mut Turn<&mut Data>, mode: Mode) {
    if let Some(reason) = why_not(turn) {
        turn.tell(Severity::Warning, reason);
        return;
    }
    let options = options(turn, mode);
    if options.cpus.is_empty() {
        turn.tell(Severity::Info, "The CPUs are not known yet: the meter is still being started");
        return;
    }
    let free = known(turn).and_then(|meter| meter.places.first()).filter(|_| mode == Mode::Osnoise);
    let free = free.filter(|place| !options.cpus.contains(&place.cpu));
    let free = free.map_or_else(String::new, |place| format!(" CPU {} is left free.", place.cpu));
    let what = if mode == Mode::Osnoise {
        "A thread on each spins and looks for gaps."
    } else {
        "A thread on each sleeps until set times and is woken; nothing ordinary runs meanwhile."
    };
    turn.open(Confirm {
        title: format!("Measure {}?", mode.name()),
        about: format!("{}. {what}{free}", load(&options)),
        yes: if mode == Mode::Osnoise { Intent::StartOsnoise } else { Intent::StartTimerlat }.action(),
    });
}

/// Why nothing can be measured now.
pub fn why_not(data: &Data) -> Option<String> {
    if data.replayed.is_some() {
        return Some("This is a recording: nothing is measured".to_owned());
    }
    data.disabled.as_ref().map(|reason| format!("Cannot measure here: {reason}"))
}

/// Starts a meter in place of the one that runs.
fn start(turn: &mut Turn<&mut Data>, mode: Mode) {
    if let Some(reason) = why_not(turn) {
        turn.tell(Severity::Warning, reason);
        return;
    }
    let options = options(turn, mode);
    stop(turn);
    let trace = turn.next_trace();
    let meter = &mut turn.latency.meter;
    (meter.trace, meter.phase, meter.mode) = (trace, Phase::Starting, mode);
    turn.out(Effect::Measure { trace, options: Box::new(options) });
}

/// Ends the one that runs.
fn stop(turn: &mut Turn<&mut Data>) {
    let meter = &mut turn.latency.meter;
    if !meter.is_on() {
        return;
    }
    meter.phase = Phase::Ended;
    let trace = meter.trace;
    turn.out(Effect::Stop(trace));
}

/// A threshold that the keys change: its name, and where it is.
type Threshold = (&'static str, fn(&mut Thresholds) -> &mut u64);

/// The thresholds of a mode.
pub fn thresholds(mode: Mode) -> &'static [Threshold] {
    match mode {
        Mode::Passive => &[("timer", |t| &mut t.irq_ns)],
        Mode::Timerlat => &[("IRQ", |t| &mut t.irq_ns), ("thread", |t| &mut t.thread_ns)],
        Mode::Osnoise => &[("gap", |t| &mut t.gap_ns), ("period", |t| &mut t.noise_ns)],
    }
}

/// The next of 0 (none), 1, 2, 5, 10 us and so on up to a second, or the one before.
fn stepped(ns: u64, up: bool) -> u64 {
    let steps = || (3..9).flat_map(|power| [1, 2, 5].map(|n| n * 10_u64.pow(power))).chain([1_000_000_000]);
    if up { steps().find(|step| *step > ns).unwrap_or(ns) } else { steps().rfind(|step| *step < ns).unwrap_or(0) }
}

/// Changes the chosen threshold.
fn change(turn: &mut Turn<&mut Data>, which: usize, up: bool) {
    if let Some(reason) = why_not(turn) {
        turn.tell(Severity::Warning, reason);
        return;
    }
    let mode = turn.latency.meter.mode;
    let all = thresholds(mode);
    let (name, place) = all[which % all.len()];
    let value = place(&mut turn.latency.meter.thresholds);
    *value = stepped(*value, up);
    let (ns, thresholds) = (*value, turn.latency.meter.thresholds);
    let words =
        if ns == 0 { "is kept no more".to_owned() } else { format!("is kept from {} on", super::figures::time(ns)) };
    turn.tell(Severity::Info, format!("An episode of {name} {words}"));
    if turn.latency.meter.is_on() {
        let trace = turn.latency.meter.trace;
        turn.out(Effect::SetThresholds(trace, thresholds));
    }
}

/// Whether the measurement that is shown is the one that runs.
pub fn is_live(data: &Data, shown: &Shown<'_>) -> bool {
    data.latency.meter.phase == Phase::Running && shown.info.id == data.latency.meter.trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_go_by_one_two_five() {
        let mut ns = 0;
        let mut up = Vec::new();
        for _ in 0..5 {
            ns = stepped(ns, true);
            up.push(ns);
        }
        assert_eq!(up, [1_000, 2_000, 5_000, 10_000, 20_000]);
        assert_eq!(stepped(1_000, false), 0, "then there is none");
        assert_eq!(stepped(7_000, false), 5_000);
        assert_eq!(stepped(1_000_000_000, true), 1_000_000_000);
    }
}
