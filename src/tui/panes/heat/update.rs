//! Intents in maps over time.

use std::ops::ControlFlow;
use std::sync::Arc;

use ratatui::layout::Rect;

use super::draw::{Places, is_lines};
use super::feed::{Scale, maps};
use super::grid::{came, distribution};
use super::keys::Intent;
use super::{Baseline, HeatPane};
use crate::lang::diagnostic::Severity;
use crate::session::update::TraceId;
use crate::store::{History as _, PayloadKind, Store};
use crate::tui::base::action::{Action, Go, Pick, Picked};
use crate::tui::base::kind::EVENTS;
use crate::tui::data::Data;
use crate::tui::pane::{Ask, Turn};

/// The shortest time that is shown, ns.
const SHORTEST_NS: u64 = 1_000_000;
/// Events of a column that are counted at most.
const MOST_COUNTED: u64 = 100_000;

/// Applies an intent.
pub fn act(pane: &mut HeatPane, turn: &mut Turn<&Data>, action: &Action, area: Rect) {
    match action {
        Action::Go(movement) => go(pane, *movement, area),
        Action::Accept => open(pane, turn, area),
        Action::Pick(Pick::Row { table, row }, how) => {
            let grid = pane.grid(Places::of(pane, area).room());
            let width = usize::from(Places::of(pane, area).cells.width).max(1);
            let column = table * grid.cells.len() / width;
            pane.at_ns = grid.times.get(column + 1).copied().filter(|_| column + 1 < grid.cells.len());
            let tall = if is_lines(pane) { 1 } else { grid.tall(Places::of(pane, area).cells.height.into()) };
            pane.row = (row / tall).min(grid.rows.len().saturating_sub(1));
            if *how == Picked::Again {
                open(pane, turn, area);
            }
        }
        _ => {
            if let Some(intent) = Intent::of(action) {
                own(pane, turn, intent, area);
            }
        }
    }
}

fn own(pane: &mut HeatPane, turn: &mut Turn<&Data>, intent: Intent, area: Rect) {
    match intent {
        Intent::Nearer | Intent::Farther => zoom(pane, intent == Intent::Nearer),
        Intent::Next | Intent::Previous => next_key(pane, turn, intent == Intent::Next),
        Intent::Map => next_map(pane, turn),
        Intent::Baseline => keep(pane, turn, area),
        Intent::Lines if pane.feed.scale() == Some(Scale::Keys) => pane.lines = !pane.lines,
        Intent::Lines => turn.tell(Severity::Info, "A histogram over time has no lines; b compares two moments"),
    }
}

fn go(pane: &mut HeatPane, movement: Go, area: Rect) {
    let grid = pane.grid(Places::of(pane, area).room());
    let Some(at) = grid.column(pane.at_ns) else { return };
    let last = grid.cells.len() - 1;
    let page = (grid.cells.len() / 8).max(1);
    let to = match movement {
        Go::Left => at.saturating_sub(1),
        Go::Right => at + 1,
        Go::PageUp => at.saturating_sub(page),
        Go::PageDown => at + page,
        Go::Top | Go::Home => 0,
        Go::Bottom | Go::End => last,
        Go::Up => {
            pane.row = pane.row.saturating_sub(1);
            return;
        }
        Go::Down => {
            pane.row = (pane.row + 1).min(grid.rows.len().saturating_sub(1));
            return;
        }
        _ => return,
    };
    // The newest column is that of now, whatever comes.
    pane.at_ns = if to >= last { None } else { grid.times.get(to + 1).copied() };
    if pane.at_ns.is_none() && grid.times.last() < pane.feed.samples().last().map(|s| &s.at_ns) {
        pane.at_ns = grid.times.last().copied();
    }
}

fn zoom(pane: &mut HeatPane, nearer: bool) {
    let view = pane.view((1, 1));
    let shown = view.to_ns - view.from_ns;
    let all = HeatPane { span_ns: None, at_ns: None, feed: std::mem::take(&mut pane.feed), ..HeatPane::default() };
    let whole = all.view((1, 1));
    pane.feed = all.feed;
    let span = if nearer { (shown / 2).max(SHORTEST_NS) } else { shown.saturating_mul(2) };
    pane.span_ns = (span < whole.to_ns - whole.from_ns).then_some(span);
}

fn next_key(pane: &mut HeatPane, turn: &mut Turn<&Data>, forward: bool) {
    let count = pane.feed.keys().len() as u16;
    if pane.feed.scale() == Some(Scale::Keys) || count < 2 {
        turn.tell(Severity::Info, "This is for histograms of several keys");
        return;
    }
    pane.key = match (pane.key, forward) {
        (None, true) => Some(0),
        (None, false) => Some(count - 1),
        (Some(key), true) => Some(key + 1).filter(|key| *key < count),
        (Some(key), false) => key.checked_sub(1),
    };
}

fn next_map(pane: &mut HeatPane, turn: &mut Turn<&Data>) {
    let names: Vec<Arc<str>> = maps(pane.document(turn)).map(|m| Arc::clone(&m.name)).collect();
    let at = names.iter().position(|n| Some(n) == pane.feed.map.as_ref());
    let Some(next) = names.get(at.map_or(0, |at| (at + 1) % names.len())) else { return };
    if names.len() == 1 {
        turn.tell(Severity::Info, "No other map of this script can be shown over time");
        return;
    }
    pane.feed.show(Arc::clone(next));
    (pane.key, pane.row, pane.baseline) = (None, 0, None);
}

/// The stretch of time at the cursor.
pub(super) fn at_cursor(pane: &HeatPane, room: (usize, usize)) -> Option<(u64, u64)> {
    let grid = pane.grid(room);
    let column = grid.column(pane.at_ns)?;
    Some((grid.times[column], grid.times[column + 1]))
}

fn keep(pane: &mut HeatPane, turn: &mut Turn<&Data>, area: Rect) {
    if pane.baseline.take().is_some() {
        turn.tell(Severity::Info, "Compared no more");
        return;
    }
    if pane.feed.scale() == Some(Scale::Keys) {
        turn.tell(Severity::Info, "Distributions are compared: choose a map of histograms");
        return;
    }
    let Some((from, to)) = at_cursor(pane, Places::of(pane, area).room()) else { return };
    let distribution = distribution(&came(&pane.feed, from, to), pane.key);
    let began = turn.store.trace(pane.document(turn).trace.id).map_or(0, |t| t.began_ns);
    let key = pane.key.and_then(|k| pane.feed.keys().get(usize::from(k))).map_or_else(String::new, |k| format!(" {k}"));
    let title = format!("{:.1} s{key}", to.saturating_sub(began) as f64 / 1e9);
    turn.tell(Severity::Info, "Kept: other moments and keys are laid over it");
    pane.baseline = Some(Baseline { title, distribution });
}

/// How many events of a trace are kept of a stretch of time, as far as it is worth counting.
fn events_between(store: &Store, trace: TraceId, from_ns: u64, to_ns: u64) -> u64 {
    let mut count = 0;
    store.visit(store.seek_time(from_ns)..store.entries().end, &mut |_, entry| {
        let head = entry.head();
        if head.at_ns > to_ns || count >= MOST_COUNTED {
            return ControlFlow::Break(());
        }
        count += u64::from(head.trace == trace && matches!(head.kind, PayloadKind::Event | PayloadKind::Text));
        ControlFlow::Continue(())
    });
    count
}

/// Holds all views at the end of the column, and goes to its events.
fn open(pane: &HeatPane, turn: &mut Turn<&Data>, area: Rect) {
    let Some((from, to)) = at_cursor(pane, Places::of(pane, area).room()) else { return };
    let Some(entry) = turn.store.last_at(to) else {
        turn.tell(Severity::Info, "What happened then is no longer kept");
        return;
    };
    let trace = pane.document(turn).trace.id;
    let kept = events_between(&turn.store, trace, from, to);
    turn.ask(Ask::Hold(entry));
    if kept == 0 {
        turn.tell(Severity::Info, "All views are held at this time; no event of it was printed or kept");
        return;
    }
    turn.focus_on(EVENTS);
    let events = crate::tui::base::text::grouped(kept);
    turn.tell(Severity::Info, format!("Held at the last of {events} events of this time; Space lets the views run"));
}
