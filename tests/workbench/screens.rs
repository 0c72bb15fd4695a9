//! The screen as users see it: keystrokes in, cells out, colours included.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probescope::lang::diagnostic::{Code, Diagnostic};
use probescope::lang::service::{Completion, CompletionKind};
use probescope::lang::source::Span;
use probescope::model::bpf::{BpfProgram, Inventory};
use probescope::session::update::{CompileFigures, Ending, TraceId, Update};
use probescope::tui::action::{Action, Mouse};
use probescope::tui::demo::scenes;
use probescope::tui::draw::draw;
use probescope::tui::effect::{Detail, Effect, Found, Hit, Message};
use probescope::tui::inspector::{Inspect, Inspected};
use probescope::tui::panes::{Kind, editor, events, flame, heat, maps, probes, system};
use probescope::tui::state::{File, Layer, State};
use probescope::tui::theme::{Slot, Theme};
use probescope::tui::{keys, update};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Presses keys: plain characters are typed; `<c-s>`, `<esc>`, `<enter>`, `<f6>` and so on are keys.
fn press(state: &mut State, macro_text: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut rest = macro_text;
    while let Some(c) = rest.chars().next() {
        let (key, length) = match (c, rest.find('>')) {
            ('<', Some(end)) => (named(&rest[1..end]), end + 1),
            _ => (KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE), c.len_utf8()),
        };
        rest = &rest[length..];
        if let Some(action) = keys::action(state, key) {
            effects.extend(update::act(state, &action));
        }
    }
    effects
}

fn named(name: &str) -> KeyEvent {
    let (modifiers, base) = match name.split_once('-') {
        Some(("c", base)) => (KeyModifiers::CONTROL, base),
        Some(("a", base)) => (KeyModifiers::ALT, base),
        Some(("s", base)) => (KeyModifiers::SHIFT, base),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match base {
        "esc" => KeyCode::Esc,
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "bs" => KeyCode::Backspace,
        f if f.len() > 1 && f.starts_with('f') => KeyCode::F(f[1..].parse().unwrap()),
        c => KeyCode::Char(c.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

fn empty() -> State {
    State::new("", File { unnamed: Some("/state/untitled.bt".into()), ..File::default() }, Theme::embedded(), (120, 34))
}

fn screen(state: &State) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer);
    buffer
}

fn rows(buffer: &Buffer) -> Vec<String> {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| row(y).trim_end().to_owned()).collect()
}

/// The view of events.
fn log(state: &State) -> &events::log::EventLog {
    &state.panes.view::<events::EventsPane>().unwrap().log
}

/// The kind of pane that has the keys.
fn focus(state: &State) -> Kind {
    state.panes.kind(state.panes.focus()).unwrap()
}

fn shown(state: &State, text: &str) -> bool {
    rows(&screen(state)).iter().any(|r| r.contains(text))
}

fn openat(generation: u64) -> (Found, Detail) {
    let name = "tracepoint:syscalls:sys_enter_openat";
    let hit = Hit { name: name.into(), matched: (30..36).collect(), absent: None };
    let found = Found { generation, hits: vec![hit], matched: 1, total: 9, complete: true, ..Found::default() };
    let skeleton = format!("{name}\n{{\n    printf(\"%d\\n\", pid);\n}}\n");
    (found, Detail { name: name.into(), skeleton, ..Detail::default() })
}

#[test]
fn a_slash_finds_a_probe_and_enter_inserts_it() {
    let mut state = empty();
    let asked = press(&mut state, "/openat");
    let generation = state.search;
    assert_eq!(asked.last(), Some(&Effect::Search { query: "openat".into(), generation }));
    let (found, detail) = openat(generation);
    let asked = update::receive(&mut state, Message::Found(found));
    assert_eq!(asked, [Effect::Describe("tracepoint:syscalls:sys_enter_openat".into())]);
    press(&mut state, "<enter>");
    assert!(state.document.editor.is_blank(), "nothing is known of the probe yet");
    update::receive(&mut state, Message::Described(detail));
    assert!(state.layers.is_empty());
    assert!(shown(&state, "tracepoint:syscalls:sys_enter_openat"));
    let effects = press(&mut state, "<c-s>");
    assert!(
        matches!(effects.as_slice(), [Effect::Save { .. }, Effect::Submit { trace: TraceId(1), .. }]),
        "{effects:?}"
    );
}

#[test]
fn the_best_probe_is_selected_while_the_catalogue_grows_unless_another_was_chosen() {
    let mut state = empty();
    press(&mut state, "/openat");
    let generation = state.search;
    let hits = |names: &[&str]| {
        let hit = |n: &&str| Hit { name: (*n).into(), ..Hit::default() };
        Message::Found(Found { generation, hits: names.iter().map(hit).collect(), ..Found::default() })
    };
    let selected = |state: &State| match state.layers.last() {
        Some(Layer::Browser(browser)) => browser.hit().unwrap().name.to_string(),
        _ => panic!("no browser"),
    };
    update::receive(&mut state, hits(&["kprobe:io_openat", "kprobe:openat"]));
    update::receive(&mut state, hits(&["tracepoint:openat", "kprobe:io_openat", "kprobe:openat"]));
    assert_eq!(selected(&state), "tracepoint:openat");
    press(&mut state, "<down>");
    update::receive(&mut state, hits(&["usdt:openat", "tracepoint:openat", "kprobe:io_openat"]));
    assert_eq!(selected(&state), "kprobe:io_openat");
}

#[test]
fn why_a_save_failed_stays_in_sight_while_the_script_runs() {
    let mut state = empty();
    let effects = press(&mut state, "BEGIN { exit(); }<c-s>");
    let Some(Effect::Save { path, text, .. }) = effects.into_iter().next() else { panic!("nothing is saved") };
    update::receive(&mut state, Message::Saved { path, text, error: Some("cannot save: no space".into()) });
    let trace = state.document.submitted_as;
    let ended = Update::Ended { trace, ending: Ending::Done(0) };
    for update in [Update::Attached { trace, probes: 1, elapsed_ns: 1 }, ended] {
        update::receive(&mut state, Message::Session(update));
    }
    assert!(shown(&state, "cannot save: no space"));
    press(&mut state, "<left>");
    assert!(!shown(&state, "cannot save: no space"), "until the next key");
}

#[test]
fn why_a_save_failed_stays_in_sight_when_the_script_is_refused() {
    let mut state = empty();
    let effects = press(&mut state, "x<c-s>");
    let Some(Effect::Save { path, text, .. }) = effects.into_iter().next() else { panic!("nothing is saved") };
    update::receive(&mut state, Message::Saved { path, text, error: Some("cannot save: no space".into()) });
    let trace = state.document.submitted_as;
    let wrong = Diagnostic::error(Code(224), Span::new(0, 1), "Invalid probe type: x");
    update::receive(&mut state, Message::Session(Update::Compiled { trace, diagnostics: vec![wrong], figures: None }));
    assert!(shown(&state, "cannot save: no space"));
    assert_eq!(state.document.editor.diagnostics().len(), 1);
}

#[test]
fn stale_results_never_replace_newer_ones() {
    let mut state = empty();
    press(&mut state, "/o");
    let old = state.search;
    press(&mut state, "p");
    let (found, _) = openat(old);
    assert!(update::receive(&mut state, Message::Found(found)).is_empty());
    assert!(!shown(&state, "sys_enter_openat"));
}

#[test]
fn a_slash_is_still_a_slash_in_a_predicate_and_a_comment() {
    let mut state = empty();
    press(&mut state, "// note<enter>BEGIN<enter>/pid/ { $x = 4 / 2; }");
    assert_eq!(state.document.editor.text(), "// note\nBEGIN\n/pid/ { $x = 4 / 2; }");
    assert!(state.layers.is_empty());
    press(&mut state, "<enter>/*");
    assert!(state.document.editor.text().ends_with("/*"));
}

#[test]
fn an_error_is_underlined_explained_and_mended_by_a_key() {
    let mut state = empty();
    press(&mut state, "BEGIN { pritn(1) }<c-s>");
    let problem =
        Diagnostic::error(Code(203), Span::new(8, 13), "there is no function pritn").fix(Span::new(8, 13), "print");
    let compiled =
        |trace, diagnostics| Message::Session(Update::Compiled { trace: TraceId(trace), diagnostics, figures: None });
    update::receive(&mut state, compiled(1, vec![problem]));
    let buffer = screen(&state);
    let all = rows(&buffer);
    let y = all.iter().position(|r| r.contains("pritn(1)")).unwrap();
    let x =
        all[y].chars().collect::<Vec<_>>().windows(5).position(|w| w.iter().collect::<String>() == "pritn").unwrap();
    let cell = &buffer[(x as u16, y as u16)];
    assert!(cell.modifier.contains(Modifier::UNDERLINED));
    assert_eq!(Some(cell.underline_color), state.theme[Slot::Error].fg);
    assert!(!buffer[(x as u16 - 2, y as u16)].modifier.contains(Modifier::UNDERLINED));
    assert!(all[y + 1].contains("there is no function pritn [P0203]"), "{}", all[y + 1]);
    press(&mut state, "<a-f>");
    assert_eq!(state.document.editor.text(), "BEGIN { print(1) }");
    assert!(state.document.editor.diagnostics().is_empty());
}

#[test]
fn a_refused_script_leaves_the_last_good_trace_on_the_screen() {
    let mut state = empty();
    press(&mut state, "BEGIN {}<c-s>");
    let figures = Some(CompileFigures { compile_ns: 600_000, instructions: 12, programs: 1, maps: 0 });
    let session = |u| Message::Session(u);
    update::receive(&mut state, session(Update::Compiled { trace: TraceId(1), diagnostics: vec![], figures }));
    update::receive(&mut state, session(Update::Attached { trace: TraceId(1), probes: 1, elapsed_ns: 9_000_000 }));
    assert!(shown(&state, "running") && shown(&state, "attached 1 probe in 9.0 ms"));
    press(&mut state, "x<c-s>");
    let wrong = Diagnostic::error(Code(1), Span::new(8, 9), "a clause was expected");
    update::receive(
        &mut state,
        session(Update::Compiled { trace: TraceId(2), diagnostics: vec![wrong], figures: None }),
    );
    assert!(shown(&state, "last good trace"));
    assert!(shown(&state, "attached 1 probe"));
}

#[test]
fn checks_while_typing_never_touch_the_trace() {
    let mut state = empty();
    press(&mut state, "BEGIN { x }");
    let effects = update::receive(&mut state, Message::Tick);
    assert!(effects.iter().any(|e| matches!(e, Effect::Keep { .. })), "unsaved text is kept: {effects:?}");
    let Some(Effect::Check { script, revision, .. }) = effects.iter().find(|e| matches!(e, Effect::Check { .. }))
    else {
        panic!("{effects:?}")
    };
    let wrong = Diagnostic::error(Code(1), Span::new(8, 9), "there is no x");
    let update = Update::Checked { script: *script, revision: *revision, diagnostics: vec![wrong] };
    update::receive(&mut state, Message::Session(update));
    assert_eq!(state.document.editor.diagnostics().len(), 1);
    assert!(state.toast.is_none() && !state.document.trace.stale);
    assert!(update::receive(&mut state, Message::Tick).is_empty(), "nothing to do without a change");
    for told in [true, false] {
        state.toast = None;
        update::receive(&mut state, Message::Kept { because: None, kept: Err("HOME is not set".into()) });
        assert_eq!(shown(&state, "would be lost in a crash: HOME is not set"), told, "told once");
    }
}

#[test]
fn unsaved_text_is_asked_about_and_saved_before_leaving() {
    let mut state = empty();
    press(&mut state, "BEGIN {}");
    assert!(press(&mut state, "<c-q>").is_empty());
    assert!(shown(&state, "unsaved changes"));
    press(&mut state, "<esc>");
    assert!(state.layers.is_empty());
    let effects = press(&mut state, "<c-q>s");
    let [Effect::Save { path, text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let saved = |error| Message::Saved { path: path.clone(), text: text.clone(), error };
    let failed = update::receive(&mut state, saved(Some("cannot save: read-only file system".into())));
    assert!(failed.iter().any(|e| matches!(e, Effect::Keep { .. })) && !failed.contains(&Effect::Quit));
    let because = failed.iter().find_map(|e| if let Effect::Keep { because, .. } = e { because.clone() } else { None });
    update::receive(&mut state, Message::Kept { because, kept: Err("no space left".into()) });
    assert!(shown(&state, "read-only file system; and no copy can be kept: no space left"));
    let effects = press(&mut state, "<c-q>s");
    assert_eq!(effects.len(), 1);
    let done = update::receive(&mut state, saved(None));
    assert!(done.contains(&Effect::Quit));
    assert_eq!(press(&mut state, "<c-q>"), [Effect::Quit], "saved text needs no question");
}

#[test]
fn a_bundled_script_opens_as_a_copy_and_unsaved_text_is_asked_about_first() {
    let mut state = empty();
    press(&mut state, "<c-o>");
    assert!(shown(&state, "Open a bundled script"));
    press(&mut state, "hello<enter>");
    assert!(
        state.document.editor.text().starts_with("// hello:") && state.dirty() && state.document.file.path.is_none()
    );
    press(&mut state, "<c-o>syscount<enter>");
    assert!(shown(&state, "unsaved changes"));
    let effects = press(&mut state, "<esc>");
    assert!(effects.is_empty() && state.document.editor.text().starts_with("// hello:"), "the text stays");
    press(&mut state, "<c-o>syscount<enter>d");
    assert!(state.document.editor.text().starts_with("// syscount:"));
    press(&mut state, "<c-z>");
    assert!(
        state.document.editor.text().starts_with("// hello:"),
        "undo brings it back: {}",
        state.document.editor.text()
    );
}

#[test]
fn completions_follow_the_typed_word_and_a_late_answer_is_ignored() {
    let mut state = empty();
    press(&mut state, "BEGIN { args.");
    let asked = state.document.assist.asked;
    let item = |label: &str| Completion {
        label: label.into(),
        insert: label.into(),
        replace: Span::new(13, 13),
        kind: CompletionKind::Field,
        detail: "int".into(),
        doc: String::new(),
    };
    let items = vec![item("dfd"), item("flags"), item("filename")];
    update::receive(&mut state, Message::Completed { generation: asked, items: items.clone() });
    assert!(shown(&state, "filename"));
    press(&mut state, "fi");
    assert!(!shown(&state, "flags"), "the popup is narrowed before the answer comes");
    press(&mut state, "<tab>");
    assert_eq!(state.document.editor.text(), "BEGIN { args.filename");
    update::receive(&mut state, Message::Completed { generation: asked, items });
    assert!(state.document.assist.popup.is_none());
}

#[test]
fn where_nothing_can_run_the_reason_is_shown_and_the_script_saved() {
    let mut state = empty();
    state.disabled = Some("CAP_BPF is missing".into());
    let effects = press(&mut state, "BEGIN {}<c-s>");
    assert!(matches!(effects.as_slice(), [Effect::Save { .. }]), "{effects:?}");
    assert!(shown(&state, "CAP_BPF is missing"));
}

#[test]
fn every_pane_is_reached_and_left_by_keys() {
    let mut state = empty();
    press(&mut state, "<esc>");
    assert_eq!(focus(&state), events::KIND);
    press(&mut state, "<tab><tab>");
    assert_eq!(focus(&state), probes::KIND);
    press(&mut state, "<backtab>z");
    assert!(state.panes.is_zoomed() && focus(&state) == maps::KIND);
    press(&mut state, "z<esc>");
    assert!(!state.panes.is_zoomed() && focus(&state) == editor::KIND);
    press(&mut state, "<f1>");
    assert!(matches!(state.layers.last(), Some(Layer::Help(0))));
    press(&mut state, "<esc><c-k>theme<enter>");
    assert_eq!(&*state.theme.name, "light");
}

#[test]
fn control_characters_of_traced_programs_never_reach_the_screen() {
    use probescope::store::{ChunkBuilder, Entry, Payload};
    let mut state = empty();
    let text = "evil\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}";
    let mut builder = ChunkBuilder::new();
    let payload = Payload::Text { action: 0, text: text.as_bytes().into() };
    builder.push(&Entry { trace: TraceId(1), at_ns: 0, cpu: None, payload });
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    assert!(shown(&state, "evil␛]0;owned␇␛[2J"));
    let buffer = screen(&state);
    assert!(!buffer.content().iter().any(|c| c.symbol().chars().any(char::is_control)));
}

#[test]
fn events_are_a_table_that_narrow_panes_show_less_of() {
    let mut state = scenes().into_iter().find(|s| s.name == "workbench").unwrap().state;
    press(&mut state, "<a-2>z");
    let heading = |state: &State| rows(&screen(state))[2].clone();
    let wide = heading(&state);
    assert!(wide.contains(" time ") && wide.contains(" delta  probe ") && wide.contains(" output"), "{wide}");
    assert!(shown(&state, " tracepoint:syscalls:sys_enter_openat  "), "there is room for the whole name");
    for (width, time, probe) in [(63, true, false), (43, false, false)] {
        update::receive(&mut state, Message::Resize(width, 24));
        let heading = heading(&state);
        assert_eq!((heading.contains(" time "), heading.contains(" probe ")), (time, probe), "{heading}");
    }
    update::receive(&mut state, Message::Resize(120, 24));
    // The last line is in the last row: a click finds it there.
    let last = log(&state).len(&state.store) - 1;
    click(&mut state, 9, 20);
    assert_eq!(log(&state).selected(&state.store), Some(last));
    click(&mut state, 9, 19);
    assert_eq!(log(&state).selected(&state.store), Some(last - 1));
    let text = log(&state).get(last - 1, &state.store).unwrap().text();
    press(&mut state, "<enter>");
    assert!(shown(&state, " s after the trace began") && shown(&state, text.trim()), "the line in full");
    press(&mut state, "<esc>T");
    let of_day = log(&state).get(last, &state.store).unwrap().time(true);
    assert!(shown(&state, &of_day));
}

#[test]
fn letters_of_every_width_stand_where_the_cursor_goes() {
    let mut state = empty();
    update::paste(&mut state, "// 漢e\u{301}\u{202e}x\ty".to_owned());
    assert!(shown(&state, "// 漢 e\u{301}\u{fffd}x    y"), "{:#?}", rows(&screen(&state))[2]);
    let (column, row) = find(&state, "//");
    // The wide letter takes two columns, the accent none, what reverses text is one to be seen.
    for (right, typed) in [(3, "// "), (5, "// 漢"), (6, "// 漢e\u{301}"), (7, "// 漢e\u{301}\u{202e}")] {
        click(&mut state, column + right, row);
        assert_eq!(state.document.editor.before_cursor(), typed, "{right} columns from the start");
    }
}

#[test]
fn the_status_line_says_all_figures_on_eighty_columns_and_drops_the_last_ones_below() {
    let running = || scenes().into_iter().find(|s| s.name == "workbench").unwrap().state;
    for (width, figures) in [(138, 5), (80, 5), (60, 4), (40, 2)] {
        let mut state = running();
        update::receive(&mut state, Message::Resize(width, 24));
        let all = rows(&screen(&state));
        let status = &all[22];
        let told = ["2 probes", "/s", "lost 0", " ns", " insns"].iter().filter(|f| status.contains(**f)).count();
        assert!(told >= figures, "{width}: {status}");
    }
}

#[test]
fn the_selected_map_of_many_has_the_room() {
    use probescope::model::snapshot::{MapRow, MapSnapshot};
    use probescope::model::value::Value;
    use probescope::store::{ChunkBuilder, Entry, Payload};
    let mut state = scenes().into_iter().find(|s| s.name == "workbench").unwrap().state;
    let template = state.document.maps.current().unwrap().snapshot.clone();
    let rows_of =
        |many: u64| (0..many).map(|n| MapRow { key: vec![Value::Uint(n, 8)], value: Value::Uint(n, 8) }).collect();
    let map = |n: usize| MapSnapshot { name: format!("@m{n:02}").into(), rows: rows_of(30), ..template.clone() };
    let maps: Vec<MapSnapshot> = (0..14).map(map).collect();
    let mut builder = ChunkBuilder::new();
    let (trace, at_ns) = (state.document.trace.id, maps[0].at_ns);
    builder.push(&Entry { trace, at_ns, cpu: None, payload: Payload::Maps(maps.into()) });
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    press(&mut state, "<a-3>z");
    state.document.maps.selected = 0;
    for _ in 0..13 {
        press(&mut state, "]");
    }
    let shown = rows(&screen(&state));
    let heading = shown.iter().position(|r| r.contains("@m13 30 keys")).unwrap();
    let below = shown[heading + 2..].iter().take_while(|r| r.chars().filter(char::is_ascii_digit).count() > 0).count();
    assert!(below >= 30, "all rows of the selected map: {shown:#?}");
    assert!(shown.iter().any(|r| r.contains("@m12")) && !shown.iter().any(|r| r.contains("@m00")), "{shown:#?}");
}

/// The flame graph.
fn graph(state: &State) -> &flame::FlamePane {
    state.panes.view::<flame::FlamePane>().unwrap()
}

#[test]
fn stacks_of_a_map_are_a_flame_graph() {
    let mut state = scenes().into_iter().find(|s| s.name == "stacks").unwrap().state;
    press(&mut state, "<a-5>");
    assert!(focus(&state) == flame::KIND && shown(&state, "@sleeps"), "{:#?}", rows(&screen(&state)));
    let tree = graph(&state).feed.tree().unwrap();
    let all = tree.total(0);
    assert!(all > 0 && shown(&state, "100.0 %"));
    press(&mut state, "<down><down><enter>");
    let (zoom, selected) = (graph(&state).zoom, graph(&state).selected);
    assert!(zoom == selected && zoom != 0, "the chosen frame fills the width");
    press(&mut state, "u");
    assert_ne!(graph(&state).zoom, zoom);
    // A search tells the share; a text that is no pattern says why.
    press(&mut state, "fschedule");
    assert!(graph(&state).search.found > 0 && shown(&state, " of it"));
    press(&mut state, "(");
    assert!(shown(&state, "unclosed group"));
    press(&mut state, "<esc>");
    assert!(!graph(&state).search.is_on());
    // Only the stacks of one frame, then without it, then all again.
    let name = |state: &State| {
        let pane = graph(state);
        pane.feed.tree().unwrap().name_of(pane.selected).text.to_string()
    };
    press(&mut state, "<home><down>");
    let chosen = name(&state);
    press(&mut state, "o");
    assert!(shown(&state, &format!("only {chosen}")) && graph(&state).feed.tree().unwrap().total(0) < all);
    press(&mut state, "a<home><down><down>h");
    assert!(shown(&state, "1 left out") && graph(&state).feed.tree().unwrap().total(0) == all);
    press(&mut state, "ai");
    assert!(shown(&state, "callers"));
    // A baseline: nothing has come since.
    press(&mut state, "b");
    assert!(shown(&state, "since the baseline") && shown(&state, "No stack since the baseline"));
    press(&mut state, "b");
    assert!(!shown(&state, "baseline, 0 s"));
}

#[test]
fn a_large_map_of_stacks_is_taken_in_while_keys_are_answered() {
    use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
    use probescope::model::value::{Frame, Stack, Value};
    use probescope::store::{ChunkBuilder, Entry, Payload};
    let mut state = scenes().into_iter().find(|s| s.name == "stacks").unwrap().state;
    let frame = |n: u64| Frame {
        address: 0x1000 + n,
        symbol: Some(format!("f{n}\u{1b}[2J").into()),
        offset: 0,
        object: None,
        inlined: false,
    };
    let stack = |n: u64| Stack { frames: [frame(n), frame(n % 97), frame(n % 7)].into(), ..Stack::default() };
    let row = |n: u64| MapRow { key: vec![Value::Stack(stack(n))], value: Value::Uint(1, 8) };
    let at_ns = state.document.maps.reading().unwrap()[0].at_ns + 1;
    let rows: Vec<MapRow> = (0..9000).map(row).collect();
    let map = MapSnapshot { name: "@sleeps".into(), kind: MapKind::Count, keyed: true, rows, capacity: 9999, at_ns };
    let mut builder = ChunkBuilder::new();
    let trace = state.document.trace.id;
    builder.push(&Entry { trace, at_ns, cpu: None, payload: Payload::Maps([map].into()) });
    press(&mut state, "<a-5>");
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    assert!(update::is_busy(&state), "there is more to take in");
    press(&mut state, "<down>");
    let mut slices = 0;
    while update::is_busy(&state) {
        update::receive(&mut state, Message::GoOn);
        slices += 1;
        assert!(slices < 100);
    }
    assert_eq!(graph(&state).feed.tree().unwrap().total(0), 9000);
    assert!(!rows_of(&state).contains('\u{1b}'));
}

fn rows_of(state: &State) -> String {
    rows(&screen(state)).concat()
}

/// A script of two fields that has printed and counted for twenty seconds.
fn twenty_seconds() -> State {
    use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
    use probescope::model::value::Value;
    use probescope::store::{
        ActionInfo, ActionKind, ChunkBuilder, Column, ColumnKind, Entry, Payload, TraceId, TraceInfo,
    };
    let trace = TraceId(1);
    let columns = vec![Column::new("comm", ColumnKind::Text), Column::new("$dur_us", ColumnKind::Integer)];
    let action = ActionInfo {
        kind: ActionKind::Value,
        span: Span::default(),
        expanded: Vec::new(),
        probe: "kprobe:vfs_read".into(),
        columns,
        origin: None,
    };
    let began_ns = 1_000_000_000;
    let info = TraceInfo { id: trace, actions: vec![action], began_ns, ..TraceInfo::default() };
    let mut state = State::new("x", File::default(), Theme::embedded(), (120, 40));
    state.document.trace.id = trace;
    state.document.submitted_as = trace;
    update::receive(&mut state, Message::Session(Update::Trace(info.into())));
    let mut builder = ChunkBuilder::new();
    for second in 1..=20_u64 {
        let at_ns = began_ns + second * 1_000_000_000;
        let comm = if second % 4 == 0 { "postgres" } else { "nginx" };
        let values = vec![Value::Str(comm.as_bytes().into()), Value::Uint(second * 100, 8)];
        let payload = Payload::Event { action: 0, values };
        builder.push(&Entry { trace, at_ns: at_ns - 10, cpu: Some(1), payload });
        let row =
            |name: &str, n: u64| MapRow { key: vec![Value::Str(name.as_bytes().into())], value: Value::Uint(n, 8) };
        let rows = vec![row("postgres", second), row("nginx", second * second * 10)];
        let map = MapSnapshot { name: "@n".into(), kind: MapKind::Count, keyed: true, rows, capacity: 99, at_ns };
        builder.push(&Entry { trace, at_ns, cpu: None, payload: Payload::Maps([map].into()) });
    }
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    state
}

#[test]
fn a_map_over_time_is_a_picture_whose_cells_open_their_events() {
    let mut state = twenty_seconds();
    press(&mut state, "<a-6>");
    while update::is_busy(&state) {
        update::receive(&mut state, Message::GoOn);
    }
    assert!(focus(&state) == heat::KIND && shown(&state, "2 of 2 keys"), "{:#?}", rows(&screen(&state)));
    let pane = |state: &State| {
        let pane = state.panes.view::<heat::HeatPane>().unwrap();
        (pane.at_ns, pane.row)
    };
    assert_eq!(pane(&state), (None, 0));
    press(&mut state, "<left><left><down>");
    assert_eq!(pane(&state), (Some(19_000_000_000), 1), "two columns back, the key below");
    press(&mut state, "v");
    assert!(rows(&screen(&state)).iter().any(|r| r.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c))));
    press(&mut state, "v<enter>");
    assert!(state.document.trace.paused && focus(&state) == events::KIND);
    assert!(shown(&state, "Held at the last of 1 events"), "{:#?}", rows(&screen(&state)));
    assert_eq!(state.moment.at_ns, 19_000_000_000);
}

#[test]
fn events_are_filtered_by_fields_and_by_their_values() {
    let mut state = twenty_seconds();
    let len = |state: &State| state.panes.view::<events::EventsPane>().unwrap().log.len(&state.store);
    press(&mut state, "<a-2>fdur > 1ms && comm ~ \"post\"<enter>");
    assert_eq!(len(&state), 3, "1200, 1600 and 2000 µs");
    press(&mut state, "f<bs><bs><bs><bs><bs><bs>");
    assert!(shown(&state, "a value is missing after comm"), "{:#?}", rows(&screen(&state)));
    press(&mut state, "<esc>");
    assert_eq!(len(&state), 20);
    // The chosen event's value, then another one of the same field.
    press(&mut state, "G=<enter>");
    assert_eq!((len(&state), shown(&state, "comm == \"postgres\"")), (5, true));
    press(&mut state, "f<esc>D<enter>");
    assert!(shown(&state, "15 of 20") && shown(&state, "5 of 20"), "{:#?}", rows(&screen(&state)));
    press(&mut state, "<enter>");
    assert_eq!(len(&state), 15, "nginx, the most frequent one");
    assert_eq!(press(&mut state, "Y<down><enter>").pop(), Some(Effect::Copy("1900".to_owned())));
}

#[test]
fn themes_are_seen_before_they_are_taken() {
    let mut state = twenty_seconds();
    let before = state.theme.name.clone();
    press(&mut state, "<a-2><a-c><down><down>");
    assert_ne!(state.theme.name, before);
    press(&mut state, "<esc>");
    assert_eq!(state.theme.name, before, "nothing was taken");
    press(&mut state, "<a-c><down><enter>");
    assert!(state.theme.name != before && shown(&state, "Theme: "));
}

/// The pictures of the views, cell by cell with their looks.
#[test]
fn views_look_as_recorded() {
    for scene in scenes().iter().filter(|s| !s.name.starts_with("theme-")) {
        insta::with_settings!({ snapshot_path => "screens", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(scene.name.clone(), styled(&scene.buffer(), &scene.state));
        });
    }
}

/// Text of the screen, then the runs of each look by its colours.
fn styled(buffer: &Buffer, state: &State) -> String {
    use std::fmt::Write as _;
    let mut out = rows(buffer).join("\n");
    out.push_str("\n\nlooks:\n");
    let base = state.theme[Slot::Text];
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            let start = x;
            while x < buffer.area.width && buffer[(x, y)].style() == cell.style() {
                x += 1;
            }
            if Some(cell.fg) != base.fg || Some(cell.bg) != base.bg || !cell.modifier.is_empty() {
                let under = if cell.modifier.contains(Modifier::UNDERLINED) {
                    format!(" _{}", cell.underline_color)
                } else {
                    String::new()
                };
                let _ = writeln!(out, "{y:>2} {start}..{x} {} on {} {:?}{under}", cell.fg, cell.bg, cell.modifier);
            }
        }
    }
    out
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[ -~]".prop_map(|c| if c == "<" { "{".into() } else { c }),
        1 => Just("漢".to_owned()),
        1 => Just("\t".to_owned()),
        6 => prop::sample::select(vec![
            "<esc>", "<enter>", "<tab>", "<backtab>", "<up>", "<down>", "<left>", "<right>", "<home>", "<end>", "<bs>",
            "<c-z>", "<c-y>", "<c-a>", "<c-x>", "<c-v>", "<c-w>", "<c-k>", "<c-p>", "<c-s>", "<c-q>", "<c-c>", "<f1>",
            "<f2>", "<f3>", "<f4>", "<f6>", "<f7>", "<f8>", "<f9>", "<f10>", "<f12>", "<a-f>", "<a-1>", "<a-2>", "<a-3>",
            "<a-4>", "<a-5>", "<a-6>", "<s-up>", "<s-down>", "<s-left>", "<s-right>", "<c-left>", "<c-right>", "<c-7>",
        ]).prop_map(str::to_owned),
    ]
}

#[test]
fn a_script_gets_its_new_name_only_when_it_was_written() {
    let mut state = empty();
    state.document.file.path = Some("/home/ada/old.bt".into());
    press(&mut state, "BEGIN");
    for (error, name) in [(Some("no such folder".to_owned()), "/home/ada/old.bt"), (None, "/new/x.bt")] {
        let effects = press(&mut state, "<f12>/new/x.bt<enter>");
        let Some(Effect::Save { path, text, .. }) = effects.into_iter().last() else { panic!("nothing is saved") };
        assert_eq!(path.to_str(), Some("/new/x.bt"), "typing replaces the proposed name");
        update::receive(&mut state, Message::Saved { path, text, error });
        assert_eq!(state.document.file.path.as_ref().and_then(|p| p.to_str()), Some(name));
    }
    assert!(!state.dirty());
}

#[test]
fn a_long_path_leaves_room_for_what_stands_beside_it() {
    let mut state = empty();
    state.document.file.path = Some(format!("/{}/name.bt", "folder/".repeat(40)).into());
    press(&mut state, "x");
    let top = rows(&screen(&state))[0].clone();
    assert!(top.contains("/name.bt ● unsaved") && top.ends_with("nothing runs"), "{top}");
}

fn click(state: &mut State, column: u16, row: u16) -> Vec<Effect> {
    update::act(state, &Action::Mouse(Mouse::Press, (column, row)))
}

/// Column and row of the first place of a text on the screen.
fn find(state: &State, text: &str) -> (u16, u16) {
    let rows = rows(&screen(state));
    let (row, line) = rows.iter().enumerate().find(|(_, r)| r.contains(text)).unwrap();
    (line[..line.find(text).unwrap()].chars().count() as u16, row as u16)
}

#[test]
fn a_click_takes_what_is_under_it() {
    let mut state = scenes().into_iter().find(|s| s.name == "workbench").unwrap().state;
    let (column, row) = find(&state, "printf");
    click(&mut state, column + 3, row);
    assert_eq!((focus(&state), state.document.editor.before_cursor().trim_start()), (editor::KIND, "pri"));
    update::act(&mut state, &Action::Mouse(Mouse::Drag, (column + 6, row)));
    assert_eq!(state.document.editor.marked_text().as_deref(), Some("ntf"));

    let (column, row) = find(&state, "Events");
    let (column, row) = (column + 3, row + 2);
    click(&mut state, column, row);
    assert_eq!(focus(&state), events::KIND);
    let first = log(&state).selected(&state.store);
    update::act(&mut state, &Action::Mouse(Mouse::WheelUp, (column, row)));
    assert!(log(&state).selected(&state.store) < first);

    let (column, row) = find(&state, "@opens 11 keys");
    click(&mut state, column, row + 3);
    assert_eq!((focus(&state), state.document.maps.current().unwrap().row), (maps::KIND, 1));
    assert!(state.document.maps.current().unwrap().open.is_empty());
    click(&mut state, column, row + 3);
    assert_eq!(state.document.maps.current().unwrap().open.len(), 1, "a second click opens the row");
    click(&mut state, column + 1, row + 1);
    assert_eq!(state.document.maps.current().unwrap().sort, 0, "a heading sorts");

    let (column, row) = find(&state, "Space");
    click(&mut state, column, row);
    assert!(state.document.trace.paused, "keys can be clicked");
}

#[test]
fn a_click_in_the_browser_selects_then_inserts_and_outside_closes() {
    let mut state = scenes().into_iter().find(|s| s.name == "browser").unwrap().state;
    let (column, row) = find(&state, "tracepoint:syscalls:sys_exit_openat ");
    let asked = click(&mut state, column, row);
    assert!(matches!(&asked[..], [Effect::Describe(name)] if &**name == "tracepoint:syscalls:sys_exit_openat"));
    assert!(matches!(click(&mut state, column, row)[..], [Effect::Describe(_)]), "it waits to be described");
    click(&mut state, 0, 0);
    assert!(state.layers.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is pressed on whatever size, the workbench goes on and paints.
    #[test]
    fn no_keys_and_no_size_break_it(
        scene in 0_usize..16,
        steps in prop::collection::vec((any_key(), 1_u16..200, 1_u16..60), 1..60),
    ) {
        let mut state = scenes().swap_remove(scene).state;
        for (nth, (key, width, height)) in steps.iter().enumerate() {
            press(&mut state, key);
            let kind = [Mouse::Press, Mouse::Drag, Mouse::WheelUp, Mouse::WheelDown][nth % 4];
            let at = (width.wrapping_mul(7) % state.size.0.max(1), height.wrapping_mul(5) % state.size.1.max(1));
            update::act(&mut state, &Action::Mouse(kind, at));
            if nth % 3 == 0 {
                update::receive(&mut state, Message::Resize(*width, *height));
            }
            let buffer = screen(&state);
            prop_assert!(!buffer.content().iter().any(|c| c.symbol().chars().any(char::is_control)));
        }
    }
}

#[test]
fn the_kernel_counts_runs_only_while_programs_are_shown() {
    let asked = |effects: &[Effect], question: Inspect| effects.contains(&Effect::Inspect(question));
    let mut state = empty();
    let effects = press(&mut state, "<a-8>");
    assert!(asked(&effects, Inspect::Watch), "{effects:?}");
    assert_eq!(focus(&state), system::KIND);
    assert!(shown(&state, "being read"));
    let reason = "cannot look at the BPF programs and maps of the system: permission denied".to_owned();
    update::receive(&mut state, Message::Inspected(Inspected::Inventory(Err(reason))));
    assert!(shown(&state, "permission denied"), "{:#?}", rows(&screen(&state)));
    let program = BpfProgram { id: 7, name: "evil\u{1b}[31m".into(), kind: "kprobe".into(), ..BpfProgram::default() };
    let mut reading = Inventory { at_ns: 1_000_000_000, programs: vec![program], ..Inventory::default() };
    for _ in 0..2 {
        update::receive(&mut state, Message::Inspected(Inspected::Inventory(Ok(Arc::new(reading.clone())))));
        reading.at_ns += 1_000_000_000;
        reading.programs[0].runs += 50;
        reading.programs[0].run_time_ns += 100_000;
    }
    assert!(shown(&state, "evil␛[31m") && shown(&state, "2000"), "{:#?}", rows(&screen(&state)));
    let effects = press(&mut state, "<enter>");
    assert!(asked(&effects, Inspect::Code(7)), "{effects:?}");
    let lines = vec!["; @ = count(); @ a.bt:1".to_owned(), "    0: (95) exit".to_owned()];
    update::receive(&mut state, Message::Inspected(Inspected::Code(7, Ok(Arc::new(lines)))));
    assert!(shown(&state, "(95) exit"));
    // Another pane fills the screen: nobody sees the programs.
    press(&mut state, "<a-2>");
    let effects = press(&mut state, "z");
    assert!(asked(&effects, Inspect::Rest), "{effects:?}");
}
