//! Input that nobody means well with: names of 64 KB, a million keys and stacks, processes that die while they are looked at.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::Span;
use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
use probescope::model::value::{Frame, Stack, Value};
use probescope::session::update::{TraceId, Update};
use probescope::store::{ActionInfo, ActionKind, ChunkBuilder, Column, ColumnKind, Entry, Payload, TraceInfo};
use probescope::tui::data::effect::{Detail, Field, Found, Hit, Message};
use probescope::tui::desk::state::State;
use probescope::tui::desk::update;
use probescope::tui::panes::flame;
use probescope::tui::run::catalogue::Catalogue;
use probescope::tui::run::finder::Finder as _;

use crate::pressing::{empty, press, rows, screen, shown};
use crate::tmux::PATIENCE;

const TRACE: TraceId = TraceId(1);

/// 64 KB of what a hostile program could call itself.
fn evil() -> String {
    let mut name = "evil\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}\r\n\t\0;\"<&".repeat(4096);
    name.truncate(64 << 10);
    name
}

fn frame(name: &Arc<str>, address: u64) -> Frame {
    Frame { address, symbol: Some(Arc::clone(name)), offset: 0, object: Some(Arc::clone(name)), inlined: false }
}

fn map(name: &str, rows: Vec<MapRow>) -> MapSnapshot {
    let capacity = rows.len() as u32;
    MapSnapshot { name: name.into(), kind: MapKind::Count, keyed: true, rows, capacity, at_ns: 2_000_000_000 }
}

/// A trace that said nothing yet.
fn traced() -> State {
    let mut state = empty();
    let columns = vec![Column::new("comm", ColumnKind::Text)];
    let probe = "kprobe:vfs_read".into();
    let action = ActionInfo {
        kind: ActionKind::Value,
        span: Span::default(),
        expanded: Vec::new(),
        probe,
        columns,
        origin: None,
    };
    let info = TraceInfo { id: TRACE, actions: vec![action], began_ns: 1_000_000_000, ..TraceInfo::default() };
    state.document.trace.id = TRACE;
    state.document.submitted_as = TRACE;
    update::receive(&mut state, Message::Session(Update::Trace(info.into())));
    state
}

fn is_harmless(state: &State) -> bool {
    !screen(state).content().iter().any(|c| c.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'))
}

#[test]
fn names_of_64_kilobytes_with_control_characters_are_shown_in_every_pane() {
    let mut state = traced();
    let name: Arc<str> = evil().into();
    let text = || Value::Str(name.as_bytes().into());
    let stack = Stack { frames: [frame(&name, 1 << 63), frame(&name, 4096)].into(), ..Stack::default() };
    let mut builder = ChunkBuilder::new();
    let mut tell = |payload| builder.push(&Entry { trace: TRACE, at_ns: 1_500_000_000, cpu: Some(0), payload });
    tell(Payload::Event { action: 0, values: vec![text()] });
    tell(Payload::Text { action: 0, text: name.as_bytes().into() });
    let row = |key| MapRow { key: vec![key], value: Value::Uint(3, 8) };
    let maps = [map("@names", vec![row(text())]), map("@stacks", vec![row(Value::Stack(stack))])];
    tell(Payload::Maps(maps.into()));
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    for size in [(80, 24), (200, 60)] {
        update::receive(&mut state, Message::Resize(size.0, size.1));
        for pane in 1..=9 {
            press(&mut state, &format!("<a-{pane}>"));
            while update::is_busy(&state) {
                update::receive(&mut state, Message::GoOn);
            }
            press(&mut state, "<down><enter>");
            assert!(is_harmless(&state), "pane {pane} at {size:?}: {:#?}", rows(&screen(&state)));
            press(&mut state, "<esc>");
        }
        press(&mut state, "<a-2>");
        assert!(shown(&state, "evil␛]0;owned␇␛[2J"), "{:#?}", rows(&screen(&state)));
    }
}

#[test]
fn the_browser_shows_names_of_64_kilobytes_with_control_characters() {
    let mut state = empty();
    press(&mut state, "<c-p>e");
    let name: Arc<str> = format!("uprobe:/bin/{}:f", evil()).into();
    let hit = Hit { name: Arc::clone(&name), matched: (0..60_000).collect(), absent: None, leads: false };
    let absent = Hit { name: "kprobe:f".into(), absent: Some(evil().into()), ..Hit::default() };
    let generation = u64::MAX;
    let hits = vec![hit, absent];
    let found = Found {
        generation,
        matched: 2,
        total: 2,
        complete: true,
        absent: vec![evil().into()],
        hits,
        ..Found::default()
    };
    update::receive(&mut state, Message::Found(found));
    let detail = Detail {
        name: Arc::clone(&name),
        about: evil(),
        fields: vec![Field { name: evil(), ty: evil() }],
        result: Some(evil()),
        skeleton: evil(),
        ..Detail::default()
    };
    update::receive(&mut state, Message::Described(detail));
    for size in [(80, 24), (200, 60)] {
        update::receive(&mut state, Message::Resize(size.0, size.1));
        assert!(shown(&state, "evil") && is_harmless(&state), "{:#?}", rows(&screen(&state)));
    }
}

#[test]
fn a_million_distinct_stacks_are_bounded_and_keys_are_answered_meanwhile() {
    const STACKS: u64 = 1_000_000;
    /// Calls that each stack has of its own.
    const OWN: u64 = 5;
    let names: Vec<Arc<str>> = (0..64).map(|n| format!("f{n}").into()).collect();
    let stack = |n: u64| {
        let own = (0..OWN).map(|d| frame(&names[d as usize], d));
        let path = (0..4).map(|digit| n >> (6 * digit) & 63).map(|d| frame(&names[d as usize], 100 + d));
        Stack { frames: own.chain(path).collect(), ..Stack::default() }
    };
    let row = |n| MapRow { key: vec![Value::Stack(stack(n))], value: Value::Uint(1, 8) };
    let mut state = traced();
    press(&mut state, "<a-5>");
    state.document.maps.take(&[map("@stacks", (0..STACKS).map(row).collect())].into(), false);
    update::receive(&mut state, Message::GoOn);
    let mut steps = 0;
    while update::is_busy(&state) {
        update::receive(&mut state, Message::GoOn);
        steps += 1;
        if steps % 100 == 0 {
            press(&mut state, "<down>");
            assert!(shown(&state, "@stacks"), "{:#?}", rows(&screen(&state)));
        }
    }
    assert!(steps > 100, "taken in by {steps} steps");
    let tree = state.panes.view::<flame::FlamePane>().unwrap().feed.tree().unwrap();
    assert_eq!(tree.total(0), STACKS, "what is cut still counts for its callers");
    assert!(tree.len() <= 4_000_000 && tree.cut() > 0, "{} frames, {} cut", tree.len(), tree.cut());
    press(&mut state, "ff1[0-9]");
    assert!(shown(&state, " of it"), "{:#?}", rows(&screen(&state)));
}

#[test]
fn a_map_of_a_million_keys_is_shown_from_both_ends() {
    let mut state = traced();
    let row = |n: u64| MapRow { key: vec![Value::Uint(n, 8)], value: Value::Uint(n + 1, 8) };
    let maps = [map("@many", (0..1_000_000).map(row).collect())];
    let mut builder = ChunkBuilder::new();
    builder.push(&Entry { trace: TRACE, at_ns: 2_000_000_000, cpu: None, payload: Payload::Maps(maps.into()) });
    update::receive(&mut state, Message::Session(Update::Append(builder.finish().unwrap())));
    press(&mut state, "<a-3><a-z>");
    assert!(shown(&state, "999999"), "{:#?}", rows(&screen(&state)));
    press(&mut state, "<end>");
    assert!(shown(&state, "@many") && is_harmless(&state), "{:#?}", rows(&screen(&state)));
}

#[test]
fn a_process_that_dies_while_its_binary_is_listed() {
    let program = std::env::temp_dir().join(format!("psc-dies-{}", std::process::id()));
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut child = Command::new(&program).arg("100").spawn().unwrap();
    let kernel = Arc::new(Kernel::new(Roots::running()));
    let mut catalogue = Catalogue::spawn(kernel).unwrap();
    let lead = format!("uprobe:{}:", program.display());
    // Until it runs its program it is a copy of this test.
    let began = Instant::now();
    let named = lead.strip_prefix("uprobe:").unwrap().trim_end_matches(':').rsplit('/').next().unwrap().to_owned();
    let is_led = |c: &mut Catalogue| c.search(&named).hits.iter().any(|hit| *hit.name == *lead);
    while !is_led(&mut catalogue) {
        assert!(began.elapsed() < PATIENCE, "{lead} is not among what runs");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(&program).unwrap();
    assert!(catalogue.describe(&lead).about.contains("runs as"), "what was known of it");
    let found = catalogue.search(&lead);
    assert!(found.hits.is_empty(), "{found:?}");
    let found = catalogue.search(&format!("uprobe:/proc/{}/exe:", child.id()));
    assert!(found.hits.is_empty(), "{found:?}");
}

/// What a program writes to a terminal that takes everything and answers nothing.
fn on_a_mute_terminal(keys: &[&[u8]], until: &[&str]) -> (String, std::process::ExitStatus) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let home = std::env::temp_dir().join(format!("probescope-mute-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&leader).unwrap();
    unlockpt(&leader).unwrap();
    let name = ptsname(&leader, Vec::new()).unwrap().into_string().unwrap();
    rustix::termios::tcsetwinsize(
        &leader,
        rustix::termios::Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 },
    )
    .unwrap();
    let end = || Stdio::from(std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap());
    let mut child = Command::new("setsid")
        .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_probescope")])
        .envs([("HOME", &*home), ("XDG_STATE_HOME", &*home), ("XDG_CONFIG_HOME", &*home)])
        .env("TERM", "xterm-256color")
        .current_dir(&home)
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    let mut leader = std::fs::File::from(leader);
    let mut reader = leader.try_clone().unwrap();
    let (sender, written) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut piece) {
            let _ = sender.send(String::from_utf8_lossy(&piece[..length]).into_owned());
        }
    });
    let mut all = String::new();
    for (keys, text) in keys.iter().zip(until) {
        let began = Instant::now();
        while !all.contains(text) {
            all.extend(written.recv_timeout(PATIENCE.saturating_sub(began.elapsed())));
            assert!(began.elapsed() < PATIENCE, "no {text} in {all:?}");
        }
        leader.write_all(keys).unwrap();
    }
    let status = child.wait().unwrap();
    std::fs::remove_dir_all(&home).unwrap();
    (all, status)
}

#[test]
fn a_terminal_that_answers_no_question_is_used_like_any_other() {
    let (all, status) = on_a_mute_terminal(&[b"x", b"\x1a", b"\x11"], &["choose a probe", "x", "choose a probe"]);
    assert!(status.success(), "{all:?}");
}
