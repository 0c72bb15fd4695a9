//! Time in the workbench: holding all panes at a moment, stepping, jumping, playing, the timeline.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probescope::lang::source::Span;
use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
use probescope::model::stats::LossCause;
use probescope::model::value::Value;
use probescope::session::update::{TraceId, Update};
use probescope::store::{ActionInfo, ActionKind, ChunkBuilder, Entry, Payload, TraceInfo};
use probescope::tui::base::action::{Action, Mouse};
use probescope::tui::base::theme::Theme;
use probescope::tui::data::document::File;
use probescope::tui::data::effect::{Effect, Message};
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::state::State;
use probescope::tui::desk::{keys, update};
use probescope::tui::panes::events::EventsPane;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SECOND: u64 = 1_000_000_000;
const SIZE: (u16, u16) = (120, 34);

fn tell(state: &mut State, update: Update) {
    update::receive(state, Message::Session(update));
}

fn append(state: &mut State, entries: impl IntoIterator<Item = (u64, Payload)>) {
    let mut builder = ChunkBuilder::new();
    for (at_ns, payload) in entries {
        builder.push(&Entry { trace: TraceId(1), at_ns, cpu: Some(1), payload });
    }
    if let Some(chunk) = builder.finish() {
        tell(state, Update::Append(chunk));
    }
}

fn line(text: &str) -> Payload {
    Payload::Text { action: 0, text: text.as_bytes().into() }
}

fn count(at_ns: u64, value: u64) -> Payload {
    let rows = vec![MapRow { key: Vec::new(), value: Value::Uint(value, 8) }];
    let map = MapSnapshot { name: "@n".into(), kind: MapKind::Count, keyed: false, rows, capacity: 1, at_ns };
    Payload::Maps(Arc::from([map]))
}

/// A trace of ten seconds: an event and a reading of `@n` in each, a loss in the fourth.
fn traced() -> State {
    let mut state = State::new("", File::default(), Theme::embedded(), SIZE);
    state.document.submitted_as = TraceId(1);
    let action = ActionInfo {
        kind: ActionKind::Time,
        span: Span::default(),
        expanded: Vec::new(),
        probe: "interval:s:1".into(),
        columns: Vec::new(),
        origin: None,
    };
    let info = TraceInfo { id: TraceId(1), actions: vec![action], ..TraceInfo::default() };
    tell(&mut state, Update::Trace(Arc::new(info)));
    tell(&mut state, Update::Attached { trace: TraceId(1), probes: 1, elapsed_ns: 1 });
    for second in 1..=10 {
        let at_ns = second * SECOND;
        let lost =
            || Payload::Lost { cause: LossCause::RingFull, count: 77, site: "tick".into(), span: Span::default() };
        append(&mut state, (second == 4).then(|| (at_ns + 5000, lost())));
        append(&mut state, [(at_ns, line(&format!("event {second}"))), (at_ns + 1, count(at_ns + 1, second * 100))]);
    }
    press(&mut state, KeyCode::Esc);
    state
}

fn press(state: &mut State, code: KeyCode) {
    if let Some(action) = keys::action(state, KeyEvent::new(code, KeyModifiers::NONE)) {
        update::act(state, &action);
    }
}

fn type_keys(state: &mut State, keys: &str) {
    keys.chars().for_each(|c| press(state, KeyCode::Char(c)));
}

fn rows(state: &State) -> Vec<String> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    draw(state, &mut buffer);
    (0..SIZE.1).map(|y| (0..SIZE.0).map(|x| buffer[(x, y)].symbol()).collect()).collect()
}

fn chosen(state: &State) -> String {
    let log = &state.panes.view::<EventsPane>().unwrap().log;
    let at = log.selected(&state.store).unwrap();
    log.get(at, &state.store).unwrap().text()
}

/// What `@n` is where the views stand.
fn value(state: &State) -> Value {
    state.document.maps.current().unwrap().snapshot.rows[0].value.clone()
}

#[test]
fn a_step_holds_every_pane_at_one_moment() {
    let mut state = traced();
    assert_eq!((chosen(&state), value(&state)), ("event 10".into(), Value::Uint(1000, 8)));
    type_keys(&mut state, " ,,,");
    assert!(state.document.trace.paused);
    assert_eq!(
        (chosen(&state), value(&state)),
        ("event 8".into(), Value::Uint(700, 8)),
        "as it was before its reading"
    );
    append(&mut state, [(11 * SECOND, line("event 11")), (11 * SECOND + 1, count(11 * SECOND + 1, 1100))]);
    assert_eq!((chosen(&state), value(&state)), ("event 8".into(), Value::Uint(700, 8)), "what comes waits");
    type_keys(&mut state, ".");
    assert_eq!((chosen(&state), value(&state)), ("event 9".into(), Value::Uint(800, 8)));
    type_keys(&mut state, "<<");
    assert_eq!(value(&state), Value::Uint(600, 8), "two seconds back");
    type_keys(&mut state, " ");
    assert_eq!((chosen(&state), value(&state)), ("event 11".into(), Value::Uint(1100, 8)), "and on with the trace");
}

#[test]
fn a_jump_goes_to_the_loss_and_to_the_mark() {
    let mut state = traced();
    type_keys(&mut state, "(");
    assert_eq!(chosen(&state), "77 lost here: ring buffer full (tick)");
    type_keys(&mut state, "m.m");
    type_keys(&mut state, "B");
    assert_eq!(chosen(&state), "event 1");
    type_keys(&mut state, "}");
    assert_eq!(chosen(&state), "mark 1");
    type_keys(&mut state, "}");
    assert_eq!(chosen(&state), "mark 2");
    type_keys(&mut state, "}");
    assert!(state.toast.as_ref().is_some_and(|toast| toast.text.contains("No mark after")));
}

#[test]
fn an_event_chosen_by_hand_moves_the_moment_of_all() {
    let mut state = traced();
    type_keys(&mut state, " ");
    for _ in 0..3 {
        press(&mut state, KeyCode::Up);
    }
    assert_eq!((chosen(&state), value(&state)), ("event 7".into(), Value::Uint(600, 8)));
}

#[test]
fn the_timeline_takes_clicks_while_the_views_are_held() {
    let mut state = traced();
    let status = |state: &State| rows(state)[usize::from(SIZE.1) - 2].clone();
    assert!(!status(&state).contains("1x"), "{}", status(&state));
    type_keys(&mut state, " ");
    assert!(status(&state).contains("‖ 1x +9.000000 s") && status(&state).contains('█'), "{}", status(&state));
    let first = status(&state).chars().position(|c| c == '█').unwrap() as u16;
    update::act(&mut state, &Action::Mouse(Mouse::Press, (first, SIZE.1 - 2)));
    assert_eq!(chosen(&state), "event 1");
}

#[test]
fn the_history_is_played_at_three_speeds() {
    let mut state = traced();
    type_keys(&mut state, "Bp");
    assert!(state.moment.playing);
    let play = |state: &mut State, ns| drop(update::receive(state, Message::Elapsed(ns)));
    play(&mut state, 2 * SECOND);
    assert_eq!(chosen(&state), "event 3");
    type_keys(&mut state, "+");
    play(&mut state, SECOND / 2);
    assert_eq!(chosen(&state), "event 8");
    type_keys(&mut state, "--");
    play(&mut state, 10 * SECOND);
    assert_eq!(chosen(&state), "event 9");
    type_keys(&mut state, "++");
    play(&mut state, 100 * SECOND);
    assert_eq!(chosen(&state), "event 10");
    assert!(!state.moment.playing, "at the end it rests");
    assert!(state.document.trace.paused, "and stays held");
}

#[test]
fn a_recording_begins_with_what_is_kept_and_takes_marks() {
    let mut state = traced();
    let record = |state: &mut State| {
        let action = keys::action(state, KeyEvent::new(KeyCode::Char('R'), KeyModifiers::NONE)).unwrap();
        update::act(state, &action)
    };
    let effects = record(&mut state);
    let [Effect::StartRecording(begun)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(begun.traces.len(), 1);
    let entries: u32 = begun.history.iter().map(|chunk| chunk.len()).sum();
    assert_eq!(entries, 21, "ten events, ten readings and a loss");
    update::receive(&mut state, Message::Recording { on: true, told: "Recording to a file".into(), failed: false });
    let mark = keys::action(&state, KeyEvent::new(KeyCode::Char('m'), KeyModifiers::NONE)).unwrap();
    assert!(matches!(update::act(&mut state, &mark)[..], [Effect::Record(_)]));
    assert!(matches!(record(&mut state)[..], [Effect::EndRecording]));
}
