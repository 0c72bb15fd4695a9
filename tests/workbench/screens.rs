//! The screen as users see it: keystrokes in, cells out, colours included.

use std::sync::Arc;

use probescope::lang::source::Span;
use probescope::model::bpf::{BpfProgram, Inventory};
use probescope::session::update::{TraceId, Update};
use probescope::tui::base::action::{Action, Mouse};
use probescope::tui::base::theme::{Slot, Theme};
use probescope::tui::data::document::File;
use probescope::tui::data::effect::{Effect, Message};
use probescope::tui::data::inspect::{Inspect, Inspected};
use probescope::tui::demo::scenes;
use probescope::tui::desk::state::State;
use probescope::tui::desk::update;
use probescope::tui::panes::{editor, events, flame, heat, maps, system};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::style::Modifier;

use crate::pressing::{click, empty, find, focus, log, press, rows, screen, shown};

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
    let map =
        |n: usize| MapSnapshot { name: format!("@m{n:02}").into(), rows: rows_of(30), ..MapSnapshot::clone(&template) };
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
    let rows: Vec<MapRow> = (0..30_000).map(row).collect();
    let map = MapSnapshot { name: "@sleeps".into(), kind: MapKind::Count, keyed: true, rows, capacity: 30_000, at_ns };
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
    assert_eq!(graph(&state).feed.tree().unwrap().total(0), 30_000);
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
