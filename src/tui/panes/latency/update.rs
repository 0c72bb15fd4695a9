//! Intents in the latency pane.

use ratatui::layout::Rect;

use super::keys::Intent;
use super::moment::Shown;
use super::{Compare, Drilled, LatencyPane, View, draw, episodes, heat, meter, sources, table, task};
use crate::lang::diagnostic::Severity;
use crate::model::latency::{Mode, Totals};
use crate::session::scopes::Scope;
use crate::tui::base::action::{Action, Go, Pick, Picked};
use crate::tui::data::Data;
use crate::tui::data::baseline::Baseline;
use crate::tui::data::effect::{Effect, Message};
use crate::tui::data::inspect::{Inspect, Inspected};
use crate::tui::layers::palette::{Listed, Palette};
use crate::tui::layers::reader::Reader;
use crate::tui::pane::ask::Metering;
use crate::tui::pane::{Ask, Turn};
use crate::tui::widgets::rows::{by, copy, page};

/// Applies an intent.
pub fn act(pane: &mut LatencyPane, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
    match action {
        Action::Go(go) => go_by(pane, *go, turn, area),
        Action::Accept if pane.view == View::Task => ask_whom(pane, turn),
        Action::Accept => accept(pane, turn),
        Action::Pick(pick, how) => pick_at(pane, *pick, *how, turn),
        Action::Process(pid) => watch_thread(pane, *pid, turn),
        _ => {
            if let Some(intent) = Intent::of(action) {
                own(pane, intent, turn);
            }
        }
    }
}

fn own(pane: &mut LatencyPane, intent: Intent, turn: &mut Turn<&Data>) {
    match intent {
        Intent::Osnoise => turn.ask(Ask::Meter(Metering::Ask(Mode::Osnoise))),
        Intent::Timerlat => turn.ask(Ask::Meter(Metering::Ask(Mode::Timerlat))),
        Intent::StartOsnoise => turn.ask(Ask::Meter(Metering::Start(Mode::Osnoise))),
        Intent::StartTimerlat => turn.ask(Ask::Meter(Metering::Start(Mode::Timerlat))),
        Intent::Passive => turn.ask(Ask::Meter(Metering::Start(Mode::Passive))),
        Intent::Watch => watch(pane, turn),
        Intent::Stop if pane.view == View::Task => turn.ask(Ask::Meter(Metering::Leave)),
        Intent::Stop => stopped(turn),
        Intent::Raise => turn.ask(Ask::Meter(Metering::Threshold(pane.threshold, true))),
        Intent::Lower => turn.ask(Ask::Meter(Metering::Threshold(pane.threshold, false))),
        Intent::NextThreshold => {
            pane.threshold = (pane.threshold + 1) % meter::thresholds(turn.latency.meter.mode).len();
        }
        Intent::About => about(turn),
        Intent::Baseline => keep_baseline(pane, turn),
        Intent::Copy => copied(pane, turn),
        Intent::Back => back(pane),
        _ => look(pane, intent, turn),
    }
}

/// The key that stops says which keys begin again.
fn stopped(turn: &mut Turn<&Data>) {
    let begin = "v measures the system as it is again, o and i with threads";
    let text = if turn.latency.meter.is_on() {
        format!("Measuring has stopped: {begin}")
    } else {
        format!("Nothing is measured: {begin}")
    };
    turn.ask(Ask::Meter(Metering::Stop));
    turn.tell(Severity::Info, text);
}

/// From now on histograms are compared with what was measured until now.
fn keep_baseline(pane: &mut LatencyPane, turn: &mut Turn<&Data>) {
    let Some(shown) = Shown::of(turn.data()) else {
        turn.tell(Severity::Info, "Nothing is measured yet that could be the baseline");
        return;
    };
    let baseline = Baseline::new(shown.mode(), &shown.info.kernel, shown.info.id, shown.totals);
    pane.compare = Compare::Baseline;
    turn.ask(Ask::Meter(Metering::Baseline(Box::new(baseline))));
}

/// How something is looked at.
fn look(pane: &mut LatencyPane, intent: Intent, turn: &mut Turn<&Data>) {
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
        Intent::Sort => pane.sort = Shown::of(turn.data()).and_then(|shown| table::next_sort(pane, &shown)),
        Intent::Fold => {
            show(pane, View::Cpus);
            fold(pane, pane.fold.next(), turn);
        }
        Intent::Reverse => pane.ascending = !pane.ascending,
        _ => {}
    }
}

fn fold(pane: &mut LatencyPane, fold: table::Fold, turn: &mut Turn<&Data>) {
    if let Some(shown) = Shown::of(turn.data()) {
        table::folded(pane, &shown, fold);
        turn.tell(Severity::Info, fold.about());
    }
}

fn show(pane: &mut LatencyPane, view: View) {
    pane.view = view;
    (pane.came_from, pane.drilled, pane.shown) = (None, None, None);
    pane.scroll = 0;
}

/// Watches the process of the thread that is under the cursor.
fn watch(pane: &mut LatencyPane, turn: &mut Turn<&Data>) {
    let chosen = Shown::of(turn.data()).and_then(|shown| match (pane.view, &pane.shown) {
        (View::Episodes, Some(episode)) => task::of_episode(episode),
        (View::Episodes, None) => task::of_episode(episodes::worst(&shown).get(pane.episode)?),
        (View::Sources, _) => sources::thread(pane, &shown),
        (View::Cpus, _) => table::thread(pane, &shown),
        _ => None,
    });
    match chosen {
        Some(thread) => watch_thread(pane, thread, turn),
        None => ask_whom(pane, turn),
    }
}

/// Asks for a process, which may sleep and be seen nowhere yet: its name or number is typed.
fn ask_whom(pane: &mut LatencyPane, turn: &mut Turn<&Data>) {
    if let Some(reason) = meter::why_not(turn) {
        turn.tell(Severity::Warning, reason);
        return;
    }
    pane.asks_whom = true;
    turn.out(Effect::Inspect(Inspect::Scopes));
}

/// Lists the processes to choose from, where that was asked for and nothing else was opened meanwhile.
pub(super) fn told(pane: &mut LatencyPane, turn: &mut Turn<&Data>, message: &Message) {
    let Message::Inspected(Inspected::Scopes(scopes)) = message else { return };
    if std::mem::take(&mut pane.asks_whom) {
        let processes = scopes.iter().filter(|scope| matches!(scope, Scope::Process { .. })).cloned().collect();
        turn.offer(Palette { listed: Listed::Processes(processes), ..Palette::default() });
    }
}

/// Watches the process of a thread, and shows where its time goes.
fn watch_thread(pane: &mut LatencyPane, thread: u32, turn: &mut Turn<&Data>) {
    turn.ask(Ask::Meter(Metering::Watch(thread)));
    if meter::why_not(turn).is_none() && pane.view != View::Task {
        let from = pane.view;
        show(pane, View::Task);
        pane.came_from = Some(from);
    }
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

fn go_by(pane: &mut LatencyPane, go: Go, turn: &mut Turn<&Data>, area: Rect) {
    let page = page(area).saturating_sub(2).max(1);
    if matches!(go, Go::Left | Go::Right) {
        return across(pane, go == Go::Right, turn);
    }
    if pane.view == View::Task {
        if let Some(report) = turn.latency.task(&turn.store, turn.moment.cursor) {
            pane.scroll = moved(pane.scroll, go, page, task::last_scroll(report, area) + 1);
        }
        return;
    }
    let Some(shown) = Shown::of(turn.data()) else { return };
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
fn across(pane: &mut LatencyPane, later: bool, turn: &mut Turn<&Data>) {
    let Some(shown) = Shown::of(turn.data()) else { return };
    match (pane.view, &pane.shown) {
        (View::Heat | View::Lengths, _) => {
            if let Some(entry) = heat::moved(pane, turn, &shown, later) {
                turn.ask(Ask::Hold(entry));
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

fn accept(pane: &mut LatencyPane, turn: &mut Turn<&Data>) {
    let Some(shown) = Shown::of(turn.data()) else { return };
    match pane.view {
        View::Cpus if pane.fold != table::Fold::None => fold(pane, table::Fold::None, turn),
        View::Cpus => {
            pane.all = false;
            show(pane, View::Sources);
            pane.came_from = Some(View::Cpus);
        }
        View::Heat | View::Lengths => drill(pane, turn),
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
fn drill(pane: &mut LatencyPane, turn: &mut Turn<&Data>) {
    let Some(shown) = Shown::of(turn.data()) else { return };
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
    shown.samples(&turn.store, from_ns + 1, to_ns, |sample| {
        if any_cpu || sample.cpu == cpu {
            totals.add(sample);
        }
    });
    if totals.cpus.is_empty() {
        turn.tell(Severity::Info, "Nothing was measured in this column");
        return;
    }
    show(pane, View::Sources);
    (pane.drilled, pane.came_from) = (Some(Drilled { cpu, from_ns, to_ns, totals }), came_from);
}

fn pick_at(pane: &mut LatencyPane, pick: Pick, how: Picked, turn: &mut Turn<&Data>) {
    match pick {
        Pick::Heading { table: draw::VIEWS, column } => {
            if let Some(view) = View::ALL.get(column) {
                show(pane, *view);
            }
        }
        Pick::Moment { entry, row } => {
            pane.row = row.unwrap_or(pane.row);
            turn.ask(Ask::Hold(entry));
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
                accept(pane, turn);
            }
        }
        _ => {}
    }
}

fn copied(pane: &LatencyPane, turn: &mut Turn<&Data>) {
    let watched = || turn.latency.task(&turn.store, turn.moment.cursor);
    let text = match &pane.shown {
        _ if pane.view == View::Task => watched().map(|report| crate::output::task::report(report, usize::MAX)),
        Some(episode) => Some(crate::output::latency::report::report(episode)),
        None => Shown::of(turn.data()).map(|shown| table::text(pane, &shown)),
    };
    copy(turn, text);
}

/// What bears on the figures, in full.
fn about(turn: &mut Turn<&Data>) {
    let Some(shown) = Shown::of(turn.data()) else {
        turn.tell(Severity::Info, "Nothing is measured");
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
    turn.open(Reader { title: "What bears on the figures".to_owned(), lines, top: 0, wrap: true });
}
