//! A workbench without a terminal: keys in, state and cells out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probescope::tui::base::action::{Action, Mouse};
use probescope::tui::base::kind::Kind;
use probescope::tui::base::theme::Theme;
use probescope::tui::data::document::File;
use probescope::tui::data::effect::{Detail, Effect, Found, Hit};
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::state::State;
use probescope::tui::desk::{keys, update};
use probescope::tui::panes::events;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Presses keys: plain characters are typed; `<c-s>`, `<esc>`, `<enter>`, `<f6>` and so on are keys.
pub fn press(state: &mut State, macro_text: &str) -> Vec<Effect> {
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

pub fn named(name: &str) -> KeyEvent {
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

pub fn empty() -> State {
    State::new("", File { unnamed: Some("/state/untitled.bt".into()), ..File::default() }, Theme::embedded(), (120, 34))
}

pub fn screen(state: &State) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer);
    buffer
}

pub fn rows(buffer: &Buffer) -> Vec<String> {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| row(y).trim_end().to_owned()).collect()
}

/// The view of events.
pub fn log(state: &State) -> &events::log::EventLog {
    &state.panes.view::<events::EventsPane>().unwrap().log
}

/// The kind of pane that has the keys.
pub fn focus(state: &State) -> Kind {
    state.panes.kind(state.panes.focus()).unwrap()
}

pub fn shown(state: &State, text: &str) -> bool {
    rows(&screen(state)).iter().any(|r| r.contains(text))
}

pub fn openat(generation: u64) -> (Found, Detail) {
    let name = "tracepoint:syscalls:sys_enter_openat";
    let hit = Hit { name: name.into(), matched: (30..36).collect(), absent: None, leads: false };
    let found = Found { generation, hits: vec![hit], matched: 1, total: 9, complete: true, ..Found::default() };
    let skeleton = format!("{name}\n{{\n    printf(\"%d\\n\", pid);\n}}\n");
    (found, Detail { name: name.into(), skeleton, ..Detail::default() })
}

pub fn click(state: &mut State, column: u16, row: u16) -> Vec<Effect> {
    update::act(state, &Action::Mouse(Mouse::Press, (column, row)))
}

/// Column and row of the first place of a text on the screen.
pub fn find(state: &State, text: &str) -> (u16, u16) {
    let rows = rows(&screen(state));
    let (row, line) = rows.iter().enumerate().find(|(_, r)| r.contains(text)).unwrap();
    (line[..line.find(text).unwrap()].chars().count() as u16, row as u16)
}
