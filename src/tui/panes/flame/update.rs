//! Intents in the flame graph.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::feed::{Reading, maps};
use super::keys::Intent;
use super::{FlamePane, draw, place};
use crate::lang::diagnostic::Severity;
use crate::model::flame::{FlameTree, NodeId, ROOT, Shape};
use crate::model::stats::PartialMap;
use crate::output::export::folded;
use crate::store::History as _;
use crate::tui::base::action::{Action, Events, Go, Pick, Picked};
use crate::tui::base::input::Input;
use crate::tui::base::text::neutralise;
use crate::tui::data::Data;
use crate::tui::layers::line::FilterLine;
use crate::tui::pane::Turn;
use crate::tui::widgets::rows::copy;

/// Levels that a page key goes by.
const PAGE: usize = 10;

/// Applies an intent.
pub fn act(pane: &mut FlamePane, turn: &mut Turn<&Data>, action: &Action, area: Rect) {
    let body = draw::body(area);
    match action {
        Action::Go(movement) => go(pane, *movement, body),
        Action::Accept => zoom(pane),
        Action::Pick(Pick::Row { row, .. }, how) => {
            let again = *how == Picked::Again && pane.selected as usize == *row;
            pane.selected = *row as NodeId;
            if again {
                zoom(pane);
            }
        }
        Action::Events(Events::Filter) => turn.open(FilterLine(Input::new(pane.search.text()))),
        Action::Filter(text) => pane.search.set(text, &pane.feed),
        _ => {
            if let Some(intent) = Intent::of(action) {
                own(pane, turn, intent);
            }
        }
    }
}

fn own(pane: &mut FlamePane, turn: &mut Turn<&Data>, intent: Intent) {
    let shape = pane.feed.shape.clone();
    match intent {
        Intent::Out => {
            let above = pane.feed.tree().and_then(|tree| tree.parent(pane.zoom));
            pane.selected = pane.zoom;
            pane.zoom = above.unwrap_or(ROOT);
        }
        Intent::Turn => pane.upright = !pane.upright,
        Intent::Order => pane.by_name = !pane.by_name,
        Intent::Invert => pane.feed.set_shape(Shape { inverted: !shape.inverted, ..shape }),
        Intent::Merge => pane.feed.set_shape(Shape { merged: !shape.merged, ..shape }),
        Intent::All => {
            pane.feed.set_shape(Shape { inverted: shape.inverted, merged: shape.merged, ..Shape::default() });
        }
        Intent::Hide | Intent::Only => leave_out(pane, turn, intent == Intent::Hide),
        Intent::Baseline => baseline(pane, turn),
        Intent::Map => next_map(pane, turn),
        Intent::Next | Intent::Previous => next_found(pane, turn, intent == Intent::Next),
        Intent::Copy => {
            let text = pane.feed.tree().map(|tree| path_text(tree, pane.selected));
            copy(turn, text);
        }
        Intent::Folded => {
            let map = pane.feed.map.clone().unwrap_or_default();
            let reading = pane.feed.reading();
            let stats =
                reading.and_then(|reading| turn.store.stats_at(reading.trace, turn.store.time_at(turn.moment.cursor)));
            let of = stats.and_then(|stats| stats.part(&map).map(PartialMap::sentence));
            let text = pane.feed.tree().map(|tree| folded::text(tree, of.as_deref()));
            copy(turn, text);
        }
    }
}

fn path_text(tree: &FlameTree, node: NodeId) -> String {
    tree.path(node).iter().map(|name| neutralise(&name.text).into_owned()).collect::<Vec<_>>().join("\n")
}

fn zoom(pane: &mut FlamePane) {
    pane.zoom = if pane.zoom == pane.selected { ROOT } else { pane.selected };
}

fn go(pane: &mut FlamePane, movement: Go, body: Rect) {
    let Some(tree) = pane.feed.tree() else { return };
    let inwards = |node: NodeId, times: usize| {
        (0..times).try_fold(node, |n, _| place::widest(tree, n).ok_or(n)).unwrap_or_else(|last| last)
    };
    let outwards = |node: NodeId, times: usize| (0..times).fold(node, |n, _| tree.parent(n).unwrap_or(n));
    let node = pane.selected;
    let down = if pane.upright { -1 } else { 1 };
    let steps = match movement {
        Go::Up => -down,
        Go::Down => down,
        Go::PageUp => -down * PAGE as isize,
        Go::PageDown => down * PAGE as isize,
        Go::Bottom | Go::End => isize::MAX,
        _ => 0,
    };
    pane.selected = match movement {
        Go::Left => place::beside(pane, body, node, false).unwrap_or(node),
        Go::Right => place::beside(pane, body, node, true).unwrap_or(node),
        Go::Top | Go::Home => pane.zoom,
        _ if steps < 0 => outwards(node, steps.unsigned_abs()),
        _ => inwards(node, steps.unsigned_abs().min(tree.deepest())),
    };
    // Out of the zoomed frame is out of the zoom.
    if pane.selected != pane.zoom && tree.depth(pane.selected) < tree.depth(pane.zoom) {
        pane.zoom = pane.selected;
    }
}

fn leave_out(pane: &mut FlamePane, turn: &mut Turn<&Data>, hide: bool) {
    let shape = pane.feed.shape.clone();
    let Some(name) =
        pane.feed.tree().filter(|_| pane.selected != ROOT).map(|t| Arc::clone(&t.name_of(pane.selected).text))
    else {
        turn.tell(Severity::Info, "Choose a frame first: the root is in every stack");
        return;
    };
    let words = neutralise(&name).into_owned();
    if hide {
        let mut hidden = shape.hidden;
        hidden.push(name);
        pane.feed.set_shape(Shape { hidden, ..shape });
        turn.tell(Severity::Info, format!("Left out: {words}; a shows all again"));
    } else {
        pane.feed.set_shape(Shape { only: Some(name), ..shape });
        turn.tell(Severity::Info, format!("Only stacks with {words}; a shows all again"));
    }
}

fn baseline(pane: &mut FlamePane, turn: &mut Turn<&Data>) {
    if pane.feed.baseline.is_some() {
        pane.feed.set_baseline(None);
        turn.tell(Severity::Info, "Compared no more");
        return;
    }
    let Some(reading) = Reading::of(pane.document(turn)) else {
        turn.tell(Severity::Info, "There is nothing to keep yet");
        return;
    };
    pane.feed.set_baseline(Some(reading));
    turn.tell(Severity::Info, "Kept: what comes from now on is shown, coloured by whether its share has grown");
}

fn next_map(pane: &mut FlamePane, turn: &mut Turn<&Data>) {
    let names: Vec<Arc<str>> = maps(pane.document(turn)).map(|m| Arc::clone(&m.name)).collect();
    let at = names.iter().position(|n| Some(n) == pane.feed.map.as_ref());
    let Some(next) = names.get(at.map_or(0, |at| (at + 1) % names.len())) else { return };
    if names.len() == 1 {
        turn.tell(Severity::Info, "No other map of this script has stacks");
        return;
    }
    pane.feed.show(Arc::clone(next));
}

/// Goes to the next frame that was looked for, in the order of the tree's depth, widest first on a level.
fn next_found(pane: &mut FlamePane, turn: &mut Turn<&Data>, forward: bool) {
    let Some(tree) = pane.feed.tree() else { return };
    let found: Vec<NodeId> = place::cells(tree, pane.zoom, pane.by_name, u16::MAX, 0..tree.deepest().min(512) + 1)
        .into_iter()
        .map(|c| c.node)
        .filter(|n| pane.search.is_found(tree, *n))
        .collect();
    let at = found.iter().position(|n| *n == pane.selected);
    let next = match (at, forward) {
        (None, _) => found.first(),
        (Some(at), true) => found.get(at + 1).or(found.first()),
        (Some(at), false) => at.checked_sub(1).map_or(found.last(), |at| found.get(at)),
    };
    match next {
        Some(node) => pane.selected = *node,
        None => turn.tell(Severity::Info, "No frame has that name; f searches"),
    }
}
