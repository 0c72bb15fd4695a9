//! A row of the events as a predicate of the clause that reported it.

use super::keys::Intent;
use super::log::EventLog;
use super::update::chosen;
use crate::lang::diagnostic::Severity;
use crate::lang::front_end;
use crate::lang::narrow::narrowed;
use crate::lang::source::Span;
use crate::model::value::Value;
use crate::session::update::{ScriptId, TraceId};
use crate::store::{History as _, Payload};
use crate::tui::base::kind::SCRIPT;
use crate::tui::base::text::fit;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::data::expression::{named, plain, quoted, text_of};
use crate::tui::layers::chooser::{Choice, Chooser, Taken};
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Turn};

/// What a choice stands for: `trace, start and end of the call, number of the argument, value`.
struct Asked<'a> {
    trace: TraceId,
    call: Span,
    argument: usize,
    literal: &'a str,
}

impl<'a> Asked<'a> {
    fn name(&self) -> String {
        let Self { trace, call, argument, literal } = self;
        format!("{} {} {} {argument} {literal}", trace.0, call.start, call.end)
    }

    fn read(name: &'a str) -> Option<Self> {
        let mut words = name.splitn(5, ' ');
        let trace = TraceId(words.next()?.parse().ok()?);
        let call = Span::new(words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { trace, call, argument: words.next()?.parse().ok()?, literal: words.next()? })
    }
}

/// A value as scripts write it; none where they have no such literal.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Int(..) | Value::Uint(..) | Value::Pointer(_) | Value::Enum { .. } => {
            value.as_number().map(|number| number.to_string())
        }
        Value::Str(_) => {
            let text = text_of(value);
            let is_plain =
                text.len() <= 256 && !text.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
            is_plain.then(|| quoted(&text))
        }
        _ => None,
    }
}

/// Lists the values of the chosen event that its clause could ask for.
pub fn choose(log: &EventLog, turn: &mut Turn<&Data>) {
    let shown = chosen(log, turn);
    let entry = shown.as_ref().and_then(|shown| turn.store.entry(shown.row.entry));
    let Some((entry, info)) = entry.zip(shown.as_ref().and_then(|shown| shown.info.as_deref())) else {
        return turn.tell(Severity::Info, "Choose an event first");
    };
    let Payload::Event { action, .. } = &entry.payload else {
        return turn.tell(Severity::Info, "This row is of no clause: choose an event of printf or print");
    };
    let Some(call) = info.action(*action).map(|action| action.span) else { return };
    let choice = |(argument, (column, value)): (usize, (&crate::store::Column, &Value))| {
        let literal = literal(value)?;
        let asked = Asked { trace: entry.trace, call, argument, literal: &literal };
        Some(Choice {
            title: plain(&column.name).to_owned(),
            about: fit(&format!("{} == {literal}", plain(&column.name)), 200).into_owned(),
            taken: Taken::InPane(Intent::Predicate.action().told(asked.name())),
        })
    };
    let choices: Vec<Choice> = named(Some(info), &entry).into_iter().enumerate().filter_map(choice).collect();
    if choices.is_empty() {
        return turn.tell(Severity::Info, "This row has no value that a predicate could ask for");
    }
    turn.open(Chooser::new("The clause fires only with", choices));
}

/// Gives the clause its predicate.
pub fn take(turn: &mut Turn<&Data>, name: &str) {
    match Asked::read(name).map(|asked| narrow(turn, &asked)) {
        Some(Ok(condition)) => {
            turn.focus_on(SCRIPT);
            turn.tell(Severity::Info, format!("{condition}: Ctrl-S runs it, Ctrl-Z takes it back"));
        }
        Some(Err(why)) => turn.tell(Severity::Warning, why),
        None => {}
    }
}

fn narrow(turn: &mut Turn<&Data>, asked: &Asked<'_>) -> Result<String, String> {
    let info = turn.store.trace(asked.trace).cloned();
    let script = info.as_ref().map_or("", |info| &*info.script);
    let id = script_of(turn, asked.trace, script).ok_or("The script of this event is not open")?;
    let Some(document) = turn.document(id) else { return Err("The script is not open".to_owned()) };
    let source = document.source();
    let call = moved(asked.call, script, &source.text)
        .ok_or("The script was changed where this event comes from: run it again first")?;
    let (span, new) = narrowed(front_end(&source), &source, call, asked.argument, asked.literal)
        .map_err(|e| format!("No predicate for that: {e}"))?;
    let condition = new.trim().to_owned();
    turn.ask(Ask::Script(Some(id), Change::Replace(span, new)));
    Ok(condition)
}

/// The open script that a trace is of: the one that ran, else one with that text.
fn script_of(data: &Data, trace: TraceId, script: &str) -> Option<ScriptId> {
    let owner = data.documents().find(|document: &&Document| document.owns(trace));
    let same = || data.documents().find(|document| !script.is_empty() && document.editor.text() == script);
    owner.or_else(same).map(|document| document.id)
}

/// Where a call of the text that ran is in the text of now: at its place, or where it is the only one like it.
fn moved(call: Span, ran: &str, now: &str) -> Option<Span> {
    let called = ran.get(call.start as usize..call.end as usize)?;
    if now.get(call.start as usize..call.end as usize) == Some(called)
        && now.get(..call.start as usize) == ran.get(..call.start as usize)
    {
        return Some(call);
    }
    let mut places = now.match_indices(called);
    let (at, _) = places.next().filter(|_| places.clone().next().is_none())?;
    let byte = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(Span::new(byte(at), byte(at + called.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_again_where_it_is_the_only_one_like_it() {
        let ran = "a { print(pid); } b { print(tid); }";
        let call = Span::new(4, 14);
        assert_eq!(moved(call, ran, ran), Some(call));
        assert_eq!(moved(call, ran, "// x\na { print(pid); }"), Some(Span::new(9, 19)));
        assert_eq!(moved(call, ran, "c { print(pid); } a { print(pid); }"), None);
        assert_eq!(moved(call, ran, "a { }"), None);
    }

    #[test]
    fn a_choice_keeps_what_was_chosen() {
        let asked = Asked { trace: TraceId(4), call: Span::new(1, 9), argument: 2, literal: "\"a b\"" };
        let name = asked.name();
        let read = Asked::read(&name).unwrap();
        assert_eq!((read.trace, read.call, read.argument, read.literal), (TraceId(4), asked.call, 2, "\"a b\""));
    }
}
