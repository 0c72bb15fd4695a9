//! Intents in the latency pane.

use ratatui::layout::Rect;

use super::baseline::Baseline;
use super::keys::Intent;
use super::moment::Shown;
use super::{Compare, Drilled, LatencyPane, View, draw, episodes, heat, meter, sources, table, task};
use crate::lang::diagnostic::Severity;
use crate::model::latency::{Mode, Totals};
use crate::session::scopes::Scope;
use crate::tui::action::{Action, Go, Pick, Picked};
use crate::tui::effect::Effect;
use crate::tui::inspector::{Inspect, Inspected};
use crate::tui::palette::{Listed, Palette};
use crate::tui::panes::rows::{by, copy, page};
use crate::tui::state::{Layer, Reader, State};
use crate::tui::update::time;

/// Applies an intent.
pub fn act(pane: &mut LatencyPane, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
    match action {
        Action::Go(go) => go_by(pane, *go, state, area),
        Action::Accept if pane.view == View::Task => return ask_whom(state),
        Action::Accept => accept(pane, state),
        Action::Pick(pick, how) => pick_at(pane, *pick, *how, state),
        Action::Process(pid) => return watch_thread(pane, *pid, state),
        _ => {
            if let Some(intent) = Intent::of(action) {
                return own(pane, intent, state);
            }
        }
    }
    Vec::new()
}

fn own(pane: &mut LatencyPane, intent: Intent, state: &mut State) -> Vec<Effect> {
    match intent {
        Intent::Osnoise => meter::ask(state, Mode::Osnoise),
        Intent::Timerlat => meter::ask(state, Mode::Timerlat),
        Intent::StartOsnoise => return meter::start(state, Mode::Osnoise),
        Intent::StartTimerlat => return meter::start(state, Mode::Timerlat),
        Intent::Passive => return meter::start(state, Mode::Passive),
        Intent::Watch => return watch(pane, state),
        Intent::Stop if pane.view == View::Task => return meter::leave(state),
        Intent::Stop => return stopped(state),
        Intent::Raise => return meter::change(state, pane.threshold, true),
        Intent::Lower => return meter::change(state, pane.threshold, false),
        Intent::NextThreshold => {
            pane.threshold = (pane.threshold + 1) % meter::thresholds(state.latency.meter.mode).len();
        }
        Intent::About => about(state),
        Intent::Baseline => return keep_baseline(pane, state),
        Intent::Copy => return copied(pane, state),
        Intent::Back => back(pane),
        _ => look(pane, intent, state),
    }
    Vec::new()
}

/// The key that stops says which keys begin again.
fn stopped(state: &mut State) -> Vec<Effect> {
    let effects = meter::stop(state);
    let begin = "v measures the system as it is again, o and i with threads";
    let text = if effects.is_empty() {
        format!("Nothing is measured: {begin}")
    } else {
        format!("Measuring has stopped: {begin}")
    };
    state.tell(Severity::Info, text);
    effects
}

/// From now on histograms are compared with what was measured until now.
fn keep_baseline(pane: &mut LatencyPane, state: &mut State) -> Vec<Effect> {
    let Some(shown) = Shown::of(state) else {
        state.tell(Severity::Info, "Nothing is measured yet that could be the baseline");
        return Vec::new();
    };
    let baseline = Baseline::new(shown.mode(), &shown.info.kernel, shown.info.id, shown.totals);
    pane.compare = Compare::Baseline;
    let lasts = state.latency.baselines.keep(baseline);
    let until = if lasts.is_some() { ", in later sessions, too" } else { "" };
    let text = format!("What was measured so far is the baseline that is compared with{until}");
    state.tell(Severity::Info, text);
    lasts.into_iter().collect()
}

/// How something is looked at.
fn look(pane: &mut LatencyPane, intent: Intent, state: &mut State) {
    match intent {
        Intent::Cpus => show(pane, View::Cpus),
        Intent::Heat => show(pane, View::Heat),
        Intent::LengthsOverTime => show(pane, View::Lengths),
        Intent::Histograms => show(pane, View::Histograms),
        Intent::Sources => show(pane, View::Sources),
        Intent::Episodes => show(pane, View::Episodes),
        Intent::Task => show(pane, View::Task),
        Intent::All => pane.all = !pane.all,
        Intent::BySource => pane.by_source = !pane.by_source,
        Intent::Wider => pane.step = pane.step.wider(),
        Intent::Narrower => pane.step = pane.step.narrower(),
        Intent::Tail => pane.tail = !pane.tail,
        Intent::Compare => {
            pane.compare = match pane.compare {
                Compare::Kinds => Compare::Cpus,
                Compare::Cpus => Compare::Baseline,
                Compare::Baseline => Compare::Kinds,
            };
        }
        Intent::Sort => pane.sort = Shown::of(state).and_then(|shown| table::next_sort(pane, &shown)),
        Intent::Fold => {
            show(pane, View::Cpus);
            fold(pane, pane.fold.next(), state);
        }
        Intent::Reverse => pane.ascending = !pane.ascending,
        _ => {}
    }
}

fn fold(pane: &mut LatencyPane, fold: table::Fold, state: &mut State) {
    if let Some(shown) = Shown::of(state) {
        table::folded(pane, &shown, fold);
        state.tell(Severity::Info, fold.about());
    }
}

fn show(pane: &mut LatencyPane, view: View) {
    pane.view = view;
    (pane.came_from, pane.drilled, pane.shown) = (None, None, None);
    pane.scroll = 0;
}

/// Watches the process of the thread that is under the cursor.
fn watch(pane: &mut LatencyPane, state: &mut State) -> Vec<Effect> {
    let chosen = Shown::of(state).and_then(|shown| match (pane.view, &pane.shown) {
        (View::Episodes, Some(episode)) => task::of_episode(episode),
        (View::Episodes, None) => task::of_episode(episodes::worst(&shown).get(pane.episode)?),
        (View::Sources, _) => sources::thread(pane, &shown),
        (View::Cpus, _) => table::thread(pane, &shown),
        _ => None,
    });
    match chosen {
        Some(thread) => watch_thread(pane, thread, state),
        None => ask_whom(state),
    }
}

/// Asks for a process, which may sleep and be seen nowhere yet: its name or number is typed.
fn ask_whom(state: &mut State) -> Vec<Effect> {
    if let Some(reason) = meter::why_not(state) {
        state.tell(Severity::Warning, reason);
        return Vec::new();
    }
    state.latency.asks_whom = true;
    vec![Effect::Inspect(Inspect::Scopes)]
}

/// Lists the processes to choose from, where that was asked for and nothing else was opened meanwhile.
pub(crate) fn told(state: &mut State, answer: &Inspected) {
    let Inspected::Scopes(scopes) = answer else { return };
    if std::mem::take(&mut state.latency.asks_whom) && state.layers.is_empty() {
        let processes = scopes.iter().filter(|scope| matches!(scope, Scope::Process { .. })).cloned().collect();
        state.layers.push(Layer::Palette(Palette { listed: Listed::Processes(processes), ..Palette::default() }));
    }
}

/// Watches the process of a thread, and shows where its time goes.
fn watch_thread(pane: &mut LatencyPane, thread: u32, state: &mut State) -> Vec<Effect> {
    let effects = meter::watch(state, thread);
    if !effects.is_empty() && pane.view != View::Task {
        let from = pane.view;
        show(pane, View::Task);
        pane.came_from = Some(from);
    }
    effects
}

fn back(pane: &mut LatencyPane) {
    if pane.shown.take().is_some() && pane.came_from.is_none() {
        return;
    }
    pane.drilled = None;
    if let Some(view) = pane.came_from.take() {
        pane.view = view;
    }
}

fn moved(at: usize, go: Go, page: usize, many: usize) -> usize {
    at.saturating_add_signed(by(go, page as isize)).min(many.saturating_sub(1))
}

fn go_by(pane: &mut LatencyPane, go: Go, state: &mut State, area: Rect) {
    let page = page(area).saturating_sub(2).max(1);
    if matches!(go, Go::Left | Go::Right) {
        return across(pane, go == Go::Right, state);
    }
    if pane.view == View::Task {
        if let Some(report) = state.latency.task(&state.store, state.moment.cursor) {
            pane.scroll = moved(pane.scroll, go, page, task::last_scroll(report, area) + 1);
        }
        return;
    }
    let Some(shown) = Shown::of(state) else { return };
    match (pane.view, &pane.shown) {
        (View::Episodes, Some(episode)) => {
            let last = episodes::last_scroll(episode, area);
            pane.scroll = moved(pane.scroll, go, page, last + 1);
        }
        (View::Episodes, None) => pane.episode = moved(pane.episode, go, page, episodes::worst(&shown).len()),
        (View::Sources, _) => pane.source = moved(pane.source, go, page, sources::count(pane, &shown)),
        (View::Cpus, _) => pane.row = table::moved(pane, &shown, by(go, page as isize)),
        _ => pane.row = moved(pane.row, go, page, shown.totals.cpus.len()),
    }
}

/// Left and right: through time in the maps, through the worst where one is open, and through CPUs elsewhere.
fn across(pane: &mut LatencyPane, later: bool, state: &mut State) {
    let Some(shown) = Shown::of(state) else { return };
    match (pane.view, &pane.shown) {
        (View::Heat | View::Lengths, _) => {
            if let Some(entry) = heat::moved(pane, state, &shown, later) {
                time::hold(state, entry);
            }
        }
        (View::Episodes, Some(_)) => {
            let worst = episodes::worst(&shown);
            pane.episode =
                pane.episode.saturating_add_signed(if later { 1 } else { -1 }).min(worst.len().saturating_sub(1));
            pane.shown = worst.get(pane.episode).cloned().or_else(|| pane.shown.take());
            pane.scroll = 0;
        }
        (View::Sources | View::Histograms, _) => {
            pane.row = moved(pane.row, if later { Go::Down } else { Go::Up }, 1, shown.totals.cpus.len());
        }
        _ => {}
    }
}

fn accept(pane: &mut LatencyPane, state: &mut State) {
    let Some(shown) = Shown::of(state) else { return };
    match pane.view {
        View::Cpus if pane.fold != table::Fold::None => fold(pane, table::Fold::None, state),
        View::Cpus => {
            pane.all = false;
            show(pane, View::Sources);
            pane.came_from = Some(View::Cpus);
        }
        View::Heat | View::Lengths => drill(pane, state),
        View::Histograms | View::Task => {}
        View::Sources => sources::toggle(pane, &shown),
        View::Episodes => {
            if pane.shown.is_none() {
                pane.shown = episodes::worst(&shown).get(pane.episode).cloned();
                pane.scroll = 0;
            }
        }
    }
}

/// Opens what happened in the column of the cursor: the worst episode, or what took the time.
fn drill(pane: &mut LatencyPane, state: &mut State) {
    let Some(shown) = Shown::of(state) else { return };
    let Some(cpu) = shown.cpu(pane) else { return };
    let (from_ns, to_ns) = heat::chosen(pane, &shown);
    let any_cpu = pane.view == View::Lengths && pane.all;
    let here = shown.episodes_in(from_ns, to_ns).filter(|e| any_cpu || e.cpu == cpu);
    let came_from = Some(pane.view);
    if let Some(worst) = here.max_by_key(|e| e.late_ns()).cloned() {
        show(pane, View::Episodes);
        (pane.shown, pane.scroll, pane.came_from) = (Some(worst), 0, came_from);
        return;
    }
    let mut totals = Totals::default();
    shown.samples(&state.store, from_ns + 1, to_ns, |sample| {
        if any_cpu || sample.cpu == cpu {
            totals.add(sample);
        }
    });
    if totals.cpus.is_empty() {
        state.tell(Severity::Info, "Nothing was measured in this column");
        return;
    }
    show(pane, View::Sources);
    (pane.drilled, pane.came_from) = (Some(Drilled { cpu, from_ns, to_ns, totals }), came_from);
}

fn pick_at(pane: &mut LatencyPane, pick: Pick, how: Picked, state: &mut State) {
    match pick {
        Pick::Heading { table: draw::VIEWS, column } => {
            if let Some(view) = View::ALL.get(column) {
                show(pane, *view);
            }
        }
        Pick::Moment { entry, row } => {
            pane.row = row.unwrap_or(pane.row);
            time::hold(state, entry);
        }
        Pick::Row { row, .. } => {
            let place = match pane.view {
                View::Sources => &mut pane.source,
                View::Episodes => &mut pane.episode,
                _ => &mut pane.row,
            };
            let again = *place == row && how == Picked::Again;
            *place = row;
            if again {
                accept(pane, state);
            }
        }
        _ => {}
    }
}

fn copied(pane: &LatencyPane, state: &mut State) -> Vec<Effect> {
    let watched = || state.latency.task(&state.store, state.moment.cursor);
    let text = match &pane.shown {
        _ if pane.view == View::Task => watched().map(|report| crate::output::task::report(report, usize::MAX)),
        Some(episode) => Some(crate::output::latency::report::report(episode)),
        None => Shown::of(state).map(|shown| table::text(pane, &shown)),
    };
    copy(state, text)
}

/// What bears on the figures, in full.
fn about(state: &mut State) {
    let Some(shown) = Shown::of(state) else {
        state.tell(Severity::Info, "Nothing is measured");
        return;
    };
    let mut lines = vec![format!("kernel {} on {}", shown.info.kernel, shown.info.host)];
    if let Some(meter) = shown.meter {
        for badge in &meter.badges {
            lines.extend([String::new(), format!("{}: {}", badge.short, badge.about)]);
        }
        lines.push(String::new());
        for place in &meter.places {
            let list = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let isolated = if place.isolated { ", isolated" } else { "" };
            lines.push(format!(
                "CPU {}: NUMA node {}, last level of cache of CPU {}, core of {}{isolated}",
                place.cpu,
                place.node,
                place.cache,
                list(&place.core),
            ));
        }
    }
    state.layers.push(Layer::Reader(Reader {
        title: "What bears on the figures".to_owned(),
        lines,
        top: 0,
        wrap: true,
    }));
}
