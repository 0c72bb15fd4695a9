//! The meter that the pane runs: passive as soon as there is a pane, with measuring threads when the user says so.

use super::KIND;
use super::keys::Intent;
use super::measured::{Phase, Watched};
use super::moment::Shown;
use crate::lang::diagnostic::Severity;
use crate::model::latency::{MeterInfo, Mode, Thresholds};
use crate::session::update::{TraceId, Update};
use crate::store::Cursor;
use crate::tracer::latency::{Options, Policy};
use crate::tui::effect::Effect;
use crate::tui::layout;
use crate::tui::state::{Confirm, Layer, State};

/// Machines with more CPUs tell of each once a second only.
const MANY_CPUS: usize = 16;

/// A pane is shown: without anything else to show it measures the system as it is.
fn open(state: &mut State) {
    if state.latency.meter.phase != Phase::Off || state.disabled.is_some() || state.replayed.is_some() {
        return;
    }
    let effects = start(state, Mode::Passive);
    state.wanted.extend(effects);
}

/// The meter begins when a pane is shown, and ends when nobody looks any more. This is the one place where being seen
/// has an effect.
pub(crate) fn follow(state: &mut State) {
    let is_pane = |id| state.panes.kind(id) == Some(KIND);
    let has_pane = state.panes.tree.panes().into_iter().any(is_pane);
    if layout::of(state).panes.placed.iter().any(|placed| is_pane(placed.shown)) {
        open(state);
    }
    if !has_pane && state.latency.meter.is_on() {
        state.latency.meter.phase = Phase::Off;
        state.wanted.push(Effect::Stop(state.latency.meter.trace));
    }
    if !has_pane {
        let effects = leave(state);
        state.wanted.extend(effects);
    }
}

/// Watches the process of a thread, in place of the one that was watched.
pub fn watch(state: &mut State, thread: u32) -> Vec<Effect> {
    if let Some(reason) = why_not(state) {
        state.tell(Severity::Warning, reason);
        return Vec::new();
    }
    let mut effects = leave(state);
    state.newest = TraceId(state.newest.0 + 1);
    state.latency.watched = Watched { trace: state.newest, phase: Phase::Starting };
    effects.push(Effect::Watch { trace: state.newest, thread });
    effects
}

/// Watches nobody any more.
pub fn leave(state: &mut State) -> Vec<Effect> {
    let watched = &mut state.latency.watched;
    if !matches!(watched.phase, Phase::Starting | Phase::Running) {
        return Vec::new();
    }
    watched.phase = Phase::Ended;
    vec![Effect::Stop(watched.trace)]
}

/// What the session tells of whom it watches.
fn hear_watched(state: &mut State, update: &Update) {
    let watched = &mut state.latency.watched;
    match update {
        Update::Attached { .. } => watched.phase = Phase::Running,
        Update::Failed { diagnostic, .. } => {
            watched.phase = Phase::Refused(diagnostic.message.clone());
            let message = format!("Cannot watch: {}", diagnostic.message);
            state.tell(Severity::Error, message);
        }
        Update::Ended { .. } => watched.phase = Phase::Ended,
        Update::Notice { text, .. } => state.mention(Severity::Info, text.clone()),
        _ => {}
    }
}

/// What the session tells of the meter.
pub(crate) fn hear(state: &mut State, update: &Update) {
    if let Update::Attached { trace, .. }
    | Update::Failed { trace, .. }
    | Update::Ended { trace, .. }
    | Update::Notice { trace, .. } = update
        && state.latency.watched.trace == *trace
    {
        return hear_watched(state, update);
    }
    let meter = &mut state.latency.meter;
    match update {
        Update::Attached { .. } => meter.phase = Phase::Running,
        Update::Failed { diagnostic, .. } => {
            meter.phase = Phase::Refused(diagnostic.message.clone());
            let message = format!("Cannot measure: {}", diagnostic.message);
            state.tell(Severity::Error, message);
        }
        Update::Ended { .. } if meter.is_on() => meter.phase = Phase::Ended,
        Update::Notice { text, .. } => state.mention(Severity::Info, text.clone()),
        _ => {}
    }
}

/// The CPUs of this machine, as far as a meter has told.
fn known(state: &State) -> Option<&MeterInfo> {
    state.latency.shown(&state.store, Cursor::Live)?.0.meter.as_deref()
}

/// How a mode measures here.
fn options(state: &State, mode: Mode) -> Options {
    let online: Vec<u32> = known(state).map(|meter| meter.places.iter().map(|p| p.cpu).collect()).unwrap_or_default();
    // Spinning threads leave a CPU to everything else.
    let cpus = if mode == Mode::Osnoise && online.len() > 1 { online[1..].to_vec() } else { online };
    let many = cpus.len() > MANY_CPUS;
    Options {
        mode,
        policy: if mode == Mode::Timerlat { Policy::Fifo(95) } else { Policy::Other },
        period_ns: if mode == Mode::Timerlat { 1_000_000 } else { 1_000_000_000 },
        gap_ns: 5_000,
        thresholds: state.latency.meter.thresholds,
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
pub fn ask(state: &mut State, mode: Mode) {
    if let Some(reason) = why_not(state) {
        state.tell(Severity::Warning, reason);
        return;
    }
    let options = options(state, mode);
    if options.cpus.is_empty() {
        state.tell(Severity::Info, "The CPUs are not known yet: the meter is still being started");
        return;
    }
    let free = known(state).and_then(|meter| meter.places.first()).filter(|_| mode == Mode::Osnoise);
    let free = free.filter(|place| !options.cpus.contains(&place.cpu));
    let free = free.map_or_else(String::new, |place| format!(" CPU {} is left free.", place.cpu));
    let what = if mode == Mode::Osnoise {
        "A thread on each spins and looks for gaps."
    } else {
        "A thread on each sleeps until set times and is woken; nothing ordinary runs meanwhile."
    };
    state.layers.push(Layer::Confirm(Confirm {
        title: format!("Measure {}?", mode.name()),
        about: format!("{}. {what}{free}", load(&options)),
        yes: if mode == Mode::Osnoise { Intent::StartOsnoise } else { Intent::StartTimerlat }.action(),
    }));
}

/// Why nothing can be measured now.
pub fn why_not(state: &State) -> Option<String> {
    if state.replayed.is_some() {
        return Some("This is a recording: nothing is measured".to_owned());
    }
    state.disabled.as_ref().map(|reason| format!("Cannot measure here: {reason}"))
}

/// Starts a meter in place of the one that runs.
pub fn start(state: &mut State, mode: Mode) -> Vec<Effect> {
    if let Some(reason) = why_not(state) {
        state.tell(Severity::Warning, reason);
        return Vec::new();
    }
    let options = options(state, mode);
    let mut effects = stop(state);
    state.newest = TraceId(state.newest.0 + 1);
    let meter = &mut state.latency.meter;
    (meter.trace, meter.phase, meter.mode) = (state.newest, Phase::Starting, mode);
    effects.push(Effect::Measure { trace: state.newest, options: Box::new(options) });
    effects
}

/// Ends the one that runs.
pub fn stop(state: &mut State) -> Vec<Effect> {
    let meter = &mut state.latency.meter;
    if !meter.is_on() {
        return Vec::new();
    }
    meter.phase = Phase::Ended;
    vec![Effect::Stop(meter.trace)]
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
pub fn change(state: &mut State, which: usize, up: bool) -> Vec<Effect> {
    if let Some(reason) = why_not(state) {
        state.tell(Severity::Warning, reason);
        return Vec::new();
    }
    let mode = state.latency.meter.mode;
    let all = thresholds(mode);
    let (name, place) = all[which % all.len()];
    let value = place(&mut state.latency.meter.thresholds);
    *value = stepped(*value, up);
    let (ns, thresholds) = (*value, state.latency.meter.thresholds);
    let words =
        if ns == 0 { "is kept no more".to_owned() } else { format!("is kept from {} on", super::figures::time(ns)) };
    state.tell(Severity::Info, format!("An episode of {name} {words}"));
    if state.latency.meter.is_on() {
        vec![Effect::SetThresholds(state.latency.meter.trace, thresholds)]
    } else {
        Vec::new()
    }
}

/// Whether the measurement that is shown is the one that runs.
pub fn is_live(state: &State, shown: &Shown<'_>) -> bool {
    state.latency.meter.phase == Phase::Running && shown.info.id == state.latency.meter.trace
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
