//! Intents in the events.

use super::keys::Intent;
use super::log::{EventLog, Shown};
use super::{fields, predicate};
use crate::lang::diagnostic::Severity;
use crate::model::value::Value;
use crate::store::{History as _, Payload};
use crate::tui::base::action::{Action, Events, Go, Pick};
use crate::tui::base::input::Input;
use crate::tui::base::text::{counted, grouped};
use crate::tui::data::Data;
use crate::tui::layers::lens::Lens;
use crate::tui::layers::line::FilterLine;
use crate::tui::layers::reader::{Confirm, Reader};
use crate::tui::pane::{Ask, Turn};
use crate::tui::widgets::rows::{by, copy, page};
use ratatui::layout::Rect;

/// Applies an intent in the events.
pub fn act(log: &mut EventLog, turn: &mut Turn<&Data>, action: &Action, area: Rect) {
    let page = page(area) as isize;
    match action {
        Action::Go(Go::Left) => log.left = log.left.saturating_sub(8),
        Action::Go(Go::Right) => log.left = (log.left + 8).min(4096),
        Action::Go(go) => {
            log.go(by(*go, page), &turn.store);
            moved(log, turn);
        }
        Action::Events(Events::Filter) => turn.open(FilterLine(Input::new(log.filter()))),
        Action::Events(Events::Follow) => {
            if log.follows() {
                log.stay(&turn.store);
            } else {
                log.go(isize::MAX, &turn.store);
            }
        }
        Action::Events(Events::Clear) if log.held(&turn.store) > 0 => {
            turn.open(Confirm {
                title: "Forget the lines so far?".to_owned(),
                about: format!("{} can't be shown again.", counted(log.held(&turn.store) as u64, "line")),
                yes: Action::Events(Events::ClearNow),
            });
        }
        Action::Filter(text) => log.set_filter(text, &turn.store),
        Action::Events(Events::ClearNow) => log.clear(&turn.store),
        Action::Events(Events::Copy) => {
            let text = chosen(log, turn).map(|shown| shown.text());
            copy(turn, text);
        }
        Action::Events(Events::Clock) => log.clock = !log.clock,
        Action::Accept => open(log, turn),
        Action::Pick(Pick::Row { row, .. }, _) => {
            log.select(*row, &turn.store);
            moved(log, turn);
        }
        _ => match Intent::of(action) {
            Some(Intent::MarkStruct) => mark_struct(log, turn),
            Some(Intent::Own) => {
                log.turn_own(&turn.own, &turn.store);
                turn.ask(Ask::HideOwn(log.hides_own()));
            }
            Some(intent) => match action {
                Action::Told(_, word) if intent == Intent::Predicate => predicate::take(turn, word),
                Action::Told(_, word) if intent == Intent::Values => fields::values(log, turn, word),
                _ if intent == Intent::Predicate => predicate::choose(log, turn),
                _ => fields::choose(log, turn, intent),
            },
            None => {}
        },
    }
}

/// The row that was chosen is the moment of all views.
fn moved(log: &EventLog, turn: &mut Turn<&Data>) {
    if let Some(entry) = chosen(log, turn).map(|shown| shown.row.entry) {
        turn.ask(Ask::Choose(entry));
    }
}

/// The row that is chosen.
pub(super) fn chosen(log: &EventLog, data: &Data) -> Option<Shown> {
    log.get(log.selected(&data.store)?, &data.store)
}

/// A struct in the chosen event.
fn captured(log: &EventLog, data: &Data) -> Option<Value> {
    let entry = data.store.entry(chosen(log, data)?.row.entry)?;
    let Payload::Event { values, .. } = entry.payload else { return None };
    values.into_iter().find(|value| matches!(value, Value::Record(_)))
}

fn mark_struct(log: &EventLog, turn: &mut Turn<&Data>) {
    let Some(value) = captured(log, turn) else {
        return turn.tell(Severity::Info, "This row has no struct: lens(pointer) and print(*pointer) capture one");
    };
    turn.ask(Ask::MarkStruct(value));
    turn.tell(Severity::Info, "Structs that you open are compared to this one");
}

/// A captured struct opens as a tree, any other line in full.
fn open(log: &EventLog, turn: &mut Turn<&Data>) {
    match (captured(log, turn), chosen(log, turn)) {
        (Some(value), Some(shown)) => {
            let title = format!("Line {}: {}", grouped(shown.row.number + 1), shown.probe());
            turn.open(Lens::captured(title, value, turn.marked_struct.as_ref()));
        }
        _ => open_line(log, turn),
    }
}

/// Shows the selected line in full, broken at the frame.
fn open_line(log: &EventLog, turn: &mut Turn<&Data>) {
    let Some(shown) = chosen(log, turn) else { return };
    let of_day = shown.time(true);
    let cpu = shown.row.cpu.map_or_else(String::new, |cpu| format!(", on CPU {cpu}"));
    let mut lines = vec![format!("{of_day}, {} s after the trace began{cpu}", shown.time(false))];
    if !shown.probe().is_empty() {
        lines.push(shown.probe().to_owned());
    }
    lines.extend([String::new(), shown.text()]);
    let title = format!("Line {}", grouped(shown.row.number + 1));
    turn.open(Reader { title, lines, top: 0, wrap: true });
}
