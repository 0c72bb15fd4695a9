//! Lists of fields and values of events, to filter by and to copy.

use std::collections::HashMap;

use super::keys::Intent;
use super::log::EventLog;
use super::update::chosen;
use crate::lang::diagnostic::Severity;
use crate::model::value::Value;
use crate::store::{Entry, History as _};
use crate::tui::base::text::{fit, grouped};
use crate::tui::data::Data;
use crate::tui::data::expression::{Expression, named, plain, quoted, text_of};
use crate::tui::layers::chooser::{Choice, Chooser, Taken};
use crate::tui::pane::Turn;

/// Rows whose values are counted, from the newest.
const MOST_COUNTED: usize = 20_000;
/// Values that are listed.
const MOST_LISTED: usize = 200;

/// A condition that a value fulfils.
fn condition(name: &str, value: &Value) -> String {
    let with = match value.as_number() {
        Some(number) => number.to_string(),
        None => quoted(&text_of(value)),
    };
    format!("{} == {with}", plain(name))
}

/// The condition, and what is filtered by already.
fn and(log: &EventLog, condition: &str) -> String {
    match Expression::parse(log.filter()) {
        Ok(_) if log.filter().contains("||") => format!("({}) && {condition}", log.filter()),
        Ok(_) => format!("{} && {condition}", log.filter()),
        Err(_) => condition.to_owned(),
    }
}

/// Lists the fields of the chosen event.
pub fn choose(log: &EventLog, turn: &mut Turn<&Data>, intent: Intent) {
    let shown = chosen(log, turn);
    let entry = shown.as_ref().and_then(|s| turn.store.entry(s.row.entry));
    let info = shown.as_ref().and_then(|s| s.info.as_deref());
    let fields = entry.as_ref().map_or_else(Vec::new, |e| named(info, e));
    let title = match intent {
        Intent::Field => "Only events with",
        Intent::Values => "Values of",
        _ => "Copy",
    };
    let choices: Vec<Choice> = fields
        .into_iter()
        .map(|(column, value)| {
            let text = text_of(value);
            let condition = condition(&column.name, value);
            let (about, taken) = match intent {
                Intent::Field => (condition.clone(), Taken::Filter(and(log, &condition))),
                Intent::Values => (text, Taken::InPane(Intent::Values.action().told(column.name.to_string()))),
                _ => (text.clone(), Taken::Copy(text)),
            };
            Choice { title: column.name.to_string(), about: fit(about.trim(), 200).into_owned(), taken }
        })
        .collect();
    if choices.is_empty() {
        turn.tell(Severity::Info, "This row has no fields: choose an event of printf or print");
        return;
    }
    turn.open(Chooser::new(title, choices));
}

/// Lists the values of a field with how often they occur among the newest events that are shown.
pub fn values(log: &EventLog, turn: &mut Turn<&Data>, field: &str) {
    let store = &turn.data().store;
    let len = log.len(store);
    let mut counts: HashMap<String, (u64, String)> = HashMap::new();
    let mut last = None;
    let mut events = 0_u64;
    for index in (len.saturating_sub(MOST_COUNTED)..len).rev() {
        let Some(row) = log.row(index, store).filter(|row| last.replace(row.entry) != Some(row.entry)) else {
            continue;
        };
        let Some(entry) = store.entry(row.entry) else { continue };
        if let Some(value) = value_of(turn, &entry, field) {
            events += 1;
            counts.entry(text_of(&value)).or_insert_with(|| (0, condition(field, &value))).0 += 1;
        }
    }
    let mut all: Vec<(String, (u64, String))> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    let distinct = all.len();
    let choice = |(text, (count, condition)): (String, (u64, String))| Choice {
        title: text.trim().to_owned(),
        about: format!("{} of {}", grouped(count), grouped(events)),
        taken: Taken::Filter(and(log, &condition)),
    };
    let choices: Vec<Choice> = all.into_iter().take(MOST_LISTED).map(choice).collect();
    turn.tell(Severity::Info, format!("{} different values of {}", grouped(distinct as u64), plain(field)));
    turn.open(Chooser::new("Only events with", choices));
}

fn value_of(data: &Data, entry: &Entry, field: &str) -> Option<Value> {
    let info = data.store.trace(entry.trace).map(|info| &**info);
    named(info, entry).into_iter().find(|(column, _)| &*column.name == field).map(|(_, value)| value.clone())
}
