//! Time: holding the views at a moment, stepping, jumping and playing.

use std::sync::Arc;

use super::super::state::State;
use crate::lang::diagnostic::Severity;
use crate::store::{Chunk, ChunkBuilder, Cursor, Direction, Entry, History as _, Payload, PayloadKind, Stop, TraceId};
use crate::tui::base::input::Input;
use crate::tui::base::time::Time;
use crate::tui::base::time::typed::Typed;
use crate::tui::data::effect::{Effect, Marked, Recorded};
use crate::tui::layers::line::Line;
use crate::tui::pane::ask::Listing;
use crate::tui::pane::{Ask, News};

/// Rates are taken over about this long, ns.
const WINDOW_NS: u64 = 2_000_000_000;

/// Applies an intent about time.
pub fn act(state: &mut State, time: Time) -> Vec<Effect> {
    match time {
        Time::Step(stop, direction) => step(state, stop, direction),
        Time::Start => {
            let first = state.store.entries().start;
            hold(state, first);
        }
        Time::Play => play(state),
        Time::Faster => state.moment.speed = state.moment.speed.faster(),
        Time::Slower => state.moment.speed = state.moment.speed.slower(),
        Time::Mark => return mark(state),
        Time::Ask => ask(state),
    }
    Vec::new()
}

/// Asks for the moment to go to.
fn ask(state: &mut State) {
    state.open(Line::new("Go to 12:30:05, +1.5s, -200ms, 1m30s", Input::default(), |text| {
        let words = "A moment is 12:30:05.25, +1.5s, -200ms, or 1m30s from the first one";
        Ok(Typed::read(text).map_or_else(
            || Ask::Tell(Severity::Warning, words.to_owned()),
            |moment| Ask::Take(Listing::Moment(moment)),
        ))
    }));
}

/// Goes to the moment that was typed.
pub(super) fn go_to(state: &mut State, moment: Typed) {
    let Some(span) = state.store.span() else {
        return state.tell(Severity::Info, "There is no history yet");
    };
    let info = state.store.trace(state.document.trace.id).or_else(|| state.store.traces().first());
    let ahead_ns = info.map_or(0, |i| i.wall_minus_monotonic_ns + i64::from(i.utc_offset_s) * 1_000_000_000);
    let shown_ns = state.store.time_at(state.moment.cursor);
    let at_ns = moment.at_ns(span, shown_ns, ahead_ns);
    let entry = state.store.last_at(at_ns).unwrap_or(state.store.entries().start);
    state.moment.playing = false;
    hold(state, entry);
    if at_ns < span.0 || at_ns > span.1 {
        let which = if at_ns < span.0 { "first" } else { "last" };
        state.tell(Severity::Info, format!("The history does not reach there: this is its {which} moment"));
    }
}

/// Holds the views where they are.
pub fn pause(state: &mut State) {
    hold_all(state);
    if let Some(cursor) = state.store.entry_at(Cursor::Live).and_then(|last| state.store.cursor(last)) {
        state.moment.cursor = cursor;
        state.moment.at_ns = state.store.time_at(cursor);
        state.data.latency.hold(&state.data.store, cursor);
    }
}

/// Lets the views run with what comes.
pub fn resume(state: &mut State) {
    state.moment.playing = false;
    state.moment.cursor = Cursor::Live;
    state.data.latency.hold(&state.data.store, Cursor::Live);
    state.hear(News::Resumed);
    show_state(state, u64::MAX);
    for document in state.documents_mut() {
        document.trace.paused = false;
        document.maps.resume();
    }
}

fn hold_all(state: &mut State) {
    state.documents_mut().for_each(|document| document.trace.paused = true);
    state.hear(News::Paused);
}

fn step(state: &mut State, stop: Stop, direction: Direction) {
    state.moment.playing = false;
    let Some(from) = state.store.entry_at(state.moment.cursor) else {
        state.tell(Severity::Info, "There is no history yet");
        return;
    };
    if let Some(entry) = state.store.step(from, stop, direction) {
        hold(state, entry);
        return;
    }
    let what = match stop {
        Stop::Event => "No event",
        Stop::Second => "Nothing",
        Stop::Mark => "No mark",
        Stop::Trouble => "No loss or warning",
        Stop::Lifecycle => "No begin or end of a trace",
    };
    let whither = if direction == Direction::Forward { "after" } else { "before" };
    state.tell(Severity::Info, format!("{what} {whither} this moment"));
}

/// Holds all views at an entry.
pub fn hold(state: &mut State, entry: u64) {
    let Some(cursor) = state.store.cursor(entry) else { return };
    if !state.document.trace.paused {
        hold_all(state);
    }
    state.moment.cursor = cursor;
    state.moment.at_ns = state.store.time_at(cursor);
    state.data.latency.hold(&state.data.store, cursor);
    state.hear(News::Held(entry));
    show_state(state, state.moment.at_ns);
}

/// The entry that was chosen in a view of events is the moment of all views.
pub fn choose(state: &mut State, entry: u64) {
    if !state.document.trace.paused {
        return;
    }
    if state.store.cursor(entry).is_some_and(|cursor| cursor != state.moment.cursor) {
        state.moment.playing = false;
        hold(state, entry);
    }
}

/// Shows each script's maps and counters as they were at a time: of its trace that runs, or of the one that ran then
/// where it had not begun.
fn show_state(state: &mut State, at_ns: u64) {
    let store = std::mem::take(&mut state.store);
    let mut earlier: Vec<_> = store.traces().iter().filter(|info| info.began_ns <= at_ns).collect();
    earlier.sort_by_key(|info| info.began_ns);
    for document in state.documents_mut() {
        let of_now = document.trace.id;
        let had_begun = earlier.iter().any(|info| info.id == of_now);
        let trace = if had_begun { of_now } else { earlier.last().map_or(of_now, |info| info.id) };
        if let Some(maps) = store.maps_at(trace, at_ns) {
            document.maps.show(&maps);
        }
        if let Some(stats) = store.stats_at(trace, at_ns) {
            let before = store.stats_at(trace, stats.at_ns.saturating_sub(WINDOW_NS));
            document.trace.show(before.filter(|before| before.at_ns < stats.at_ns), stats);
        }
    }
    state.store = store;
}

pub(crate) fn play(state: &mut State) {
    if !state.document.trace.paused {
        state.tell(Severity::Info, "The views run with the trace; pause them and step back, then play");
        return;
    }
    state.moment.playing = !state.moment.playing;
}

/// So much time has passed while the history is played.
pub fn elapsed(state: &mut State, ns: u64) {
    if !state.moment.playing {
        return;
    }
    state.moment.at_ns = state.moment.at_ns.saturating_add(state.moment.speed.of(ns));
    let (at_ns, speed) = (state.moment.at_ns, state.moment.speed);
    if let Some(entry) = state.store.last_at(at_ns) {
        hold(state, entry);
    }
    state.moment.at_ns = at_ns;
    state.moment.speed = speed;
    if state.store.span().is_none_or(|(_, last_ns)| at_ns >= last_ns) {
        state.moment.playing = false;
    }
}

/// Sets a mark at the moment that is shown.
fn mark(state: &mut State) -> Vec<Effect> {
    let marks = state.store.index().segments().iter().map(|segment| segment.summary.count(PayloadKind::Mark)).sum();
    state.moment.marks = state.moment.marks.max(marks) + 1;
    let name: Arc<str> = format!("mark {}", state.moment.marks).into();
    let at_ns = state.store.time_at(state.moment.cursor);
    let mut builder = ChunkBuilder::new();
    builder.push(&Entry { trace: TraceId::SESSION, at_ns, cpu: None, payload: Payload::Mark(Arc::clone(&name)) });
    let Some(chunk) = builder.finish() else { return Vec::new() };
    let from = first_moved(state, &chunk);
    if !state.store.insert(&chunk) {
        state.tell(Severity::Error, "The recording can't be read at this moment");
        return Vec::new();
    }
    state.hear(News::Appended(from));
    state.tell(Severity::Info, format!("Set {name}"));
    if state.recording { vec![Effect::Record(Marked(chunk))] } else { Vec::new() }
}

/// Begins a recording with what is kept, or completes it.
pub fn record(state: &mut State) -> Vec<Effect> {
    if state.recording {
        return vec![Effect::EndRecording];
    }
    if !state.store.takes_entries() {
        state.tell(
            Severity::Info,
            "This is a recording already, and too large to be copied; marks set here are not kept",
        );
        return Vec::new();
    }
    let name = state.document.name();
    let recorded = Recorded {
        name: name.strip_suffix(".bt").unwrap_or(&name).to_owned(),
        traces: state.store.traces().to_vec(),
        history: state.store.chunks().cloned().collect(),
    };
    vec![Effect::StartRecording(Box::new(recorded))]
}

/// A recording has begun, or is complete, or has failed.
pub fn recording(state: &mut State, on: bool, told: String, failed: bool) {
    state.recording = on;
    state.tell(if failed { Severity::Error } else { Severity::Info }, told);
}

/// The moment at a part of the timeline of so many columns.
pub fn point(state: &mut State, column: u16, columns: u16) {
    let Some((first_ns, last_ns)) = state.store.span() else { return };
    let part = u128::from(last_ns - first_ns) * u128::from(column) / u128::from(columns.max(2) - 1);
    if let Some(entry) = state.store.last_at(first_ns + part as u64) {
        state.moment.playing = false;
        hold(state, entry);
    }
}

/// The first row whose number changes when a chunk is taken in: entries that are earlier than some that are there move
/// those on.
pub(super) fn first_moved(state: &State, chunk: &Chunk) -> u64 {
    let first_ns = chunk.head(0).map_or(u64::MAX, |head| head.at_ns);
    let is_late = state.store.span().is_some_and(|(_, last_ns)| first_ns < last_ns);
    if is_late { state.store.line_of(state.store.seek_time(first_ns)) } else { state.store.lines().end }
}
