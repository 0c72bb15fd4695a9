//! Several scripts open at once, each with its own text, file and trace.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probescope::model::snapshot::{MapKind, MapSnapshot};
use probescope::session::update::{Ending, ScriptId, TraceId, Update};
use probescope::store::{ChunkBuilder, Entry, Payload};
use probescope::tui::base::theme::Theme;
use probescope::tui::data::document::File;
use probescope::tui::data::effect::{Effect, Message};
use probescope::tui::data::files::Opened;
use probescope::tui::data::trace::Phase;
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::state::State;
use probescope::tui::desk::{keys, update};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

fn press(state: &mut State, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    let action = keys::action(state, KeyEvent::new(code, modifiers));
    action.map_or_else(Vec::new, |action| update::act(state, &action))
}

fn typed(state: &mut State, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| press(state, KeyCode::Char(c), KeyModifiers::NONE)).collect()
}

fn alt(state: &mut State, c: char) -> Vec<Effect> {
    press(state, KeyCode::Char(c), KeyModifiers::ALT)
}

fn ctrl(state: &mut State, c: char) -> Vec<Effect> {
    press(state, KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn shown(state: &State, text: &str) -> bool {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer);
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).any(|y| row(y).contains(text))
}

/// A workbench with two scripts: `one.bt`, and `two.bt`, which has the keys.
fn two() -> State {
    let file = |name: &str, text: &str| File {
        path: Some(name.into()),
        saved: text.into(),
        recovery: Some(format!("/unsaved/{name}").into()),
        ..File::default()
    };
    let mut state = State::new("BEGIN {}", file("one.bt", "BEGIN {}"), Theme::embedded(), (140, 40));
    alt(&mut state, 'o');
    let effects = {
        typed(&mut state, "two.bt");
        press(&mut state, KeyCode::Enter, KeyModifiers::NONE)
    };
    assert!(matches!(&effects[..], [Effect::Open { path: Some(path), .. }] if path.ends_with("two.bt")), "{effects:?}");
    let opened = Opened { text: "END {}".into(), file: file("two.bt", "END {}"), kept: None };
    update::receive(&mut state, Message::Opened(Ok(opened)));
    state
}

fn run(state: &mut State) -> (ScriptId, TraceId) {
    let effects = ctrl(state, 's');
    let Some(Effect::Submit { script, trace, .. }) = effects.into_iter().find(|e| matches!(e, Effect::Submit { .. }))
    else {
        panic!("nothing is submitted")
    };
    let attached = Update::Attached { trace, probes: 1, elapsed_ns: 1 };
    update::receive(state, Message::Session(attached));
    (script, trace)
}

#[test]
fn scripts_stand_in_tabs_that_keys_switch() {
    let mut state = two();
    assert!(shown(&state, " one.bt  two.bt "));
    typed(&mut state, "x");
    assert!(shown(&state, " one.bt  two.bt ● ") && state.document.editor.text() == "xEND {}");
    alt(&mut state, 'p');
    assert_eq!((state.name(), state.document.editor.text()), ("one.bt".into(), "BEGIN {}".into()));
    alt(&mut state, 'n');
    assert_eq!(state.name(), "two.bt");
    // Opened once more, it is shown.
    alt(&mut state, 'o');
    typed(&mut state, "one.bt");
    assert!(press(&mut state, KeyCode::Enter, KeyModifiers::NONE).is_empty());
    assert_eq!((state.name(), state.parked.len()), ("one.bt".into(), 1));
    // One side by side with the other: both are drawn.
    alt(&mut state, 'w');
    typed(&mut state, "L");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    assert!(shown(&state, "BEGIN {}") && shown(&state, "xEND {}"));
}

#[test]
fn each_script_has_its_own_trace() {
    let mut state = two();
    let second = run(&mut state);
    alt(&mut state, 'p');
    let first = run(&mut state);
    assert!(first.0 != second.0 && first.1 != second.1, "{first:?} {second:?}");
    assert!(shown(&state, "running · 1 more"));
    let map = |name: &str| MapSnapshot {
        name: name.into(),
        kind: MapKind::Count,
        keyed: true,
        rows: Vec::new(),
        capacity: 16,
        at_ns: 1,
    };
    for (trace, name) in [(first.1, "@one"), (second.1, "@two")] {
        let mut builder = ChunkBuilder::new();
        builder.push(&Entry { trace, at_ns: 1, cpu: None, payload: Payload::Maps(vec![map(name)].into()) });
        update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    }
    assert!(shown(&state, "@one") && !shown(&state, "@two"), "maps of the script that is worked on");
    alt(&mut state, 'n');
    assert!(!shown(&state, "@one") && shown(&state, "@two"));
    update::receive(&mut state, Message::Session(Update::Ended { trace: first.1, ending: Ending::Done(0) }));
    assert_eq!(state.document.trace.phase, Phase::Running, "the other one has ended");
    assert_eq!(state.parked[0].trace.phase, Phase::Ended);
    // A view that stays with a script does not follow the other one.
    alt(&mut state, '3');
    typed(&mut state, "P");
    alt(&mut state, '1');
    alt(&mut state, 'p');
    assert!(state.name() == "one.bt" && shown(&state, " Maps: two.bt ") && shown(&state, "@two"));
    alt(&mut state, 'n');
    assert_eq!(press(&mut state, KeyCode::F(8), KeyModifiers::NONE), [Effect::Stop(second.1)]);
}

#[test]
fn a_closed_script_ends_its_trace_and_unsaved_text_is_asked_about() {
    let mut state = two();
    let (_, trace) = run(&mut state);
    typed(&mut state, "x");
    alt(&mut state, 'w');
    assert!(typed(&mut state, "c").is_empty());
    assert!(shown(&state, "Close two.bt?"));
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(state.document.editor.text(), "xEND {}");
    alt(&mut state, 'w');
    typed(&mut state, "c");
    let effects = typed(&mut state, "y");
    assert!(effects.contains(&Effect::Stop(trace)), "{effects:?}");
    assert_eq!((state.name(), state.parked.len()), ("one.bt".into(), 0));
    assert!(shown(&state, "Script") && shown(&state, "BEGIN {}"));
    alt(&mut state, 'w');
    typed(&mut state, "c");
    assert!(shown(&state, "The last script stays open"));
}

#[test]
fn unsaved_text_of_every_script_is_kept_and_asked_about() {
    let mut state = two();
    typed(&mut state, "x");
    alt(&mut state, 'p');
    typed(&mut state, "y");
    let effects = update::receive(&mut state, Message::Tick);
    let kept: Vec<_> = effects
        .iter()
        .filter_map(|e| {
            if let Effect::Keep { path, text, .. } = e { Some((path.clone()?, text.to_string())) } else { None }
        })
        .collect();
    assert!(kept.contains(&("/unsaved/one.bt".into(), "yBEGIN {}".into())), "{kept:?}");
    assert!(kept.contains(&("/unsaved/two.bt".into(), "xEND {}".into())), "{kept:?}");
    // Leaving asks for each of them.
    ctrl(&mut state, 'q');
    assert!(shown(&state, "one.bt has unsaved changes"));
    let effects = typed(&mut state, "s");
    let [Effect::Save { path, text, .. }] = &effects[..] else { panic!("{effects:?}") };
    let done = update::receive(&mut state, Message::Saved { path: path.clone(), text: text.clone(), error: None });
    assert!(!done.contains(&Effect::Quit) && shown(&state, "two.bt has unsaved changes"), "{done:?}");
    let effects = typed(&mut state, "d");
    assert!(matches!(&effects[..], [Effect::Keep { .. }, Effect::Quit]), "{effects:?}");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let mut state = two();
    update::receive(&mut state, Message::Opened(Err("cannot open x: it is a folder".into())));
    assert!(shown(&state, "cannot open x: it is a folder") && state.parked.len() == 1);
    let opened = Opened { text: "a".into(), file: File::default(), kept: Some("b".into()) };
    update::receive(&mut state, Message::Opened(Ok(opened)));
    assert!(shown(&state, "Unsaved text of an earlier run") && state.document.editor.text() == "b");
    ctrl(&mut state, 'z');
    assert_eq!(state.document.editor.text(), "a");
}

#[test]
fn events_are_those_of_all_scripts_or_of_one() {
    let mut state = two();
    let second = run(&mut state).1;
    alt(&mut state, 'p');
    let first = run(&mut state).1;
    let mut builder = ChunkBuilder::new();
    for (at_ns, trace, text) in [(1, first, "from one"), (2, second, "from two"), (3, first, "one again")] {
        let payload = Payload::Text { action: 0, text: text.as_bytes().into() };
        builder.push(&Entry { trace, at_ns, cpu: None, payload });
    }
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    assert!(shown(&state, "from one") && shown(&state, "from two"));
    alt(&mut state, '2');
    typed(&mut state, "P");
    assert!(shown(&state, " Events: one.bt ") && shown(&state, "one again") && !shown(&state, "from two"));
    // A second view has a filter and a place of its own.
    alt(&mut state, 'w');
    typed(&mut state, "s");
    press(&mut state, KeyCode::Enter, KeyModifiers::NONE);
    typed(&mut state, "ftwo");
    press(&mut state, KeyCode::Enter, KeyModifiers::NONE);
    assert!(shown(&state, "from two") && shown(&state, "one again"));
    typed(&mut state, "f");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    typed(&mut state, "P");
    assert!(!shown(&state, "from two"));
}
