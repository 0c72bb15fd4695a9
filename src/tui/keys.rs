//! The one table of keys: it turns key presses into actions and writes the line of keys, the help
//! and the palette.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::action::{Action, App, Edit, Events, Go, Table};
use super::state::{Layer, Pane, State};

/// A key with its modifiers. Shift is part of the character, not of the modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// Control, Alt, and Shift for keys that are no characters.
    pub modifiers: KeyModifiers,
}

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everywhere, overlays too.
    Always,
    /// In every pane.
    Panes,
    /// In the popup of completions.
    Popup,
    /// In the script.
    Script,
    /// In the panes of output.
    Output,
    /// In the events.
    Events,
    /// In the maps.
    Maps,
    /// In the probes.
    Probes,
    /// In the probe browser.
    Browser,
    /// In the palette and in input lines.
    Input,
    /// In texts to read.
    Reader,
    /// When asked whether to leave.
    Question,
    /// When asked whether to open a script in place of unsaved text.
    Replace,
}

impl Scope {
    /// As headed in the help.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Always => "Everywhere",
            Self::Panes => "In every pane",
            Self::Popup => "Completions",
            Self::Script => "Script",
            Self::Output => "Events, maps, probes",
            Self::Events => "Events",
            Self::Maps => "Maps",
            Self::Probes => "Probes",
            Self::Browser => "Probe browser",
            Self::Input => "Palette and input lines",
            Self::Reader => "Texts to read",
            Self::Question => "Leaving with unsaved text",
            Self::Replace => "Opening a script over unsaved text",
        }
    }
}

/// One binding.
#[derive(Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where it holds.
    pub scope: Scope,
    /// Its keys, the one to show first.
    pub keys: &'static [Key],
    /// What it does.
    pub action: Action,
    /// A word for the line of keys; empty to leave it out there.
    pub short: &'static str,
    /// A sentence for help and palette.
    pub about: &'static str,
    /// Whether the palette offers it.
    pub in_palette: bool,
}

const fn plain(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}
const fn ch(c: char) -> Key {
    plain(KeyCode::Char(c))
}
const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}
const fn alt(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::ALT }
}
const fn shift(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::SHIFT }
}
const fn control(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::CONTROL }
}
const fn f(n: u8) -> Key {
    plain(KeyCode::F(n))
}

const fn bind(
    scope: Scope,
    keys: &'static [Key],
    action: Action,
    short: &'static str,
    about: &'static str,
    in_palette: bool,
) -> Binding {
    Binding { scope, keys, action, short, about, in_palette }
}

const UP: Key = plain(KeyCode::Up);
const DOWN: Key = plain(KeyCode::Down);
const LEFT: Key = plain(KeyCode::Left);
const RIGHT: Key = plain(KeyCode::Right);
const PAGE_UP: Key = plain(KeyCode::PageUp);
const PAGE_DOWN: Key = plain(KeyCode::PageDown);
const HOME: Key = plain(KeyCode::Home);
const END: Key = plain(KeyCode::End);
const ENTER: Key = plain(KeyCode::Enter);
const ESC: Key = plain(KeyCode::Esc);
const TAB: Key = plain(KeyCode::Tab);
const BACK_TAB: Key = plain(KeyCode::BackTab);
const BACKSPACE: Key = plain(KeyCode::Backspace);
const DELETE: Key = plain(KeyCode::Delete);

/// All bindings. Of two that hold, the one in the narrower scope wins.
pub static BINDINGS: &[Binding] = &[
    // Completions.
    bind(Scope::Popup, &[TAB, ENTER], Action::Accept, "insert", "Insert the selected completion", false),
    bind(Scope::Popup, &[DOWN], Action::Go(Go::Down), "choose", "Next completion", false),
    bind(Scope::Popup, &[UP], Action::Go(Go::Up), "", "Previous completion", false),
    bind(Scope::Popup, &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Popup, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Popup, &[ESC], Action::Cancel, "close", "Close the completions", false),
    // The script.
    bind(Scope::Script, &[ctrl('s'), f(5)], Action::App(App::Run), "run", "Save, compile and attach the script", true),
    bind(
        Scope::Script,
        &[ch('/')],
        Action::Edit(Edit::Insert('/')),
        "probes",
        "Browse the probes, where a new clause can begin (// is still a comment)",
        false,
    ),
    bind(Scope::Script, &[ESC], Action::App(App::FocusNext), "panes", "Go to the output", false),
    bind(Scope::Script, &[ENTER], Action::Edit(Edit::Newline), "", "New line, indented", false),
    bind(Scope::Script, &[TAB], Action::Edit(Edit::Tab), "", "Complete the word, or indent", false),
    bind(
        Scope::Script,
        &[ctrl(' '), alt('/')],
        Action::App(App::Complete),
        "",
        "Offer what could be typed at the cursor",
        true,
    ),
    bind(Scope::Script, &[ctrl('f')], Action::App(App::Find), "", "Find text in the script", true),
    bind(Scope::Script, &[BACKSPACE, ctrl('h')], Action::Edit(Edit::Backspace), "", "Delete backwards", false),
    bind(Scope::Script, &[DELETE], Action::Edit(Edit::Delete), "", "Delete forwards", false),
    bind(
        Scope::Script,
        &[ctrl('w'), Key { code: KeyCode::Backspace, modifiers: KeyModifiers::ALT }, control(KeyCode::Backspace)],
        Action::Edit(Edit::DeleteWord),
        "",
        "Delete a word backwards",
        false,
    ),
    bind(Scope::Script, &[ctrl('z'), ctrl('u')], Action::Edit(Edit::Undo), "", "Undo", true),
    bind(Scope::Script, &[ctrl('y'), ctrl('r')], Action::Edit(Edit::Redo), "", "Redo", true),
    bind(Scope::Script, &[ctrl('a')], Action::Edit(Edit::SelectAll), "", "Mark the whole script", true),
    bind(Scope::Script, &[ctrl('x')], Action::Edit(Edit::Cut), "", "Cut what is marked", false),
    bind(Scope::Script, &[ctrl('v')], Action::Edit(Edit::PasteCopied), "", "Insert what was cut or copied", false),
    bind(
        Scope::Script,
        &[ctrl('/'), ctrl('7')],
        Action::Edit(Edit::ToggleComment),
        "",
        "Comment lines out, or in again",
        true,
    ),
    bind(Scope::Script, &[f(4)], Action::App(App::NextProblem), "problem", "Go to the next problem", true),
    bind(
        Scope::Script,
        &[f(3)],
        Action::App(App::ExplainProblem),
        "",
        "Show the problem under the cursor in full",
        true,
    ),
    bind(
        Scope::Script,
        &[alt('f'), control(KeyCode::Enter)],
        Action::App(App::FixProblem),
        "",
        "Apply the fix of the problem under the cursor",
        true,
    ),
    bind(Scope::Script, &[UP], Action::Go(Go::Up), "", "Line up", false),
    bind(Scope::Script, &[DOWN], Action::Go(Go::Down), "", "Line down", false),
    bind(Scope::Script, &[LEFT], Action::Go(Go::Left), "", "Character left", false),
    bind(Scope::Script, &[RIGHT], Action::Go(Go::Right), "", "Character right", false),
    bind(Scope::Script, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Script, &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Script, &[HOME], Action::Go(Go::Home), "", "Start of the line, or of its text", false),
    bind(Scope::Script, &[END, ctrl('e')], Action::Go(Go::End), "", "End of the line", false),
    bind(
        Scope::Script,
        &[control(KeyCode::Left), Key { code: KeyCode::Left, modifiers: KeyModifiers::ALT }],
        Action::Go(Go::WordLeft),
        "",
        "Word left",
        false,
    ),
    bind(
        Scope::Script,
        &[control(KeyCode::Right), Key { code: KeyCode::Right, modifiers: KeyModifiers::ALT }],
        Action::Go(Go::WordRight),
        "",
        "Word right",
        false,
    ),
    bind(Scope::Script, &[control(KeyCode::Home)], Action::Go(Go::Top), "", "Start of the script", false),
    bind(Scope::Script, &[control(KeyCode::End)], Action::Go(Go::Bottom), "", "End of the script", false),
    bind(Scope::Script, &[shift(KeyCode::Up)], Action::Extend(Go::Up), "", "Mark upwards", false),
    bind(Scope::Script, &[shift(KeyCode::Down)], Action::Extend(Go::Down), "", "Mark downwards", false),
    bind(Scope::Script, &[shift(KeyCode::Left)], Action::Extend(Go::Left), "", "Mark to the left", false),
    bind(Scope::Script, &[shift(KeyCode::Right)], Action::Extend(Go::Right), "", "Mark to the right", false),
    bind(Scope::Script, &[shift(KeyCode::Home)], Action::Extend(Go::Home), "", "Mark to the start of the line", false),
    bind(Scope::Script, &[shift(KeyCode::End)], Action::Extend(Go::End), "", "Mark to the end of the line", false),
    // All panes of output.
    bind(Scope::Output, &[ch('/')], Action::App(App::Browse), "probes", "Browse the probes", false),
    bind(Scope::Output, &[ch(' ')], Action::App(App::Pause), "pause", "Freeze the views, or let them run", false),
    bind(Scope::Output, &[TAB], Action::App(App::FocusNext), "pane", "Go to the next pane", false),
    bind(Scope::Output, &[ESC, ch('e')], Action::App(App::Focus(Pane::Editor)), "edit", "Go to the script", false),
    bind(
        Scope::Output,
        &[ch('z')],
        Action::App(App::Zoom),
        "zoom",
        "Fill the screen with this pane, or shrink it again",
        false,
    ),
    bind(Scope::Output, &[ch('x')], Action::App(App::Stop), "stop", "Stop the trace", false),
    bind(Scope::Output, &[ch('t')], Action::App(App::NextTheme), "", "Use the next theme", false),
    bind(Scope::Output, &[ch('l')], Action::App(App::VerifierLog), "", "Show what the kernel's verifier said", false),
    bind(Scope::Output, &[ch('?')], Action::App(App::Help), "help", "Show all keys", false),
    bind(Scope::Output, &[ch(':')], Action::App(App::Palette), "", "Open the list of commands", false),
    bind(Scope::Output, &[ch('q')], Action::App(App::Quit), "", "Leave", false),
    bind(Scope::Output, &[UP, ch('k')], Action::Go(Go::Up), "", "Up", false),
    bind(Scope::Output, &[DOWN, ch('j')], Action::Go(Go::Down), "", "Down", false),
    bind(Scope::Output, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Output, &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Output, &[HOME, ch('g')], Action::Go(Go::Top), "", "First row", false),
    bind(Scope::Output, &[END, ch('G')], Action::Go(Go::Bottom), "", "Last row", false),
    // Events.
    bind(
        Scope::Events,
        &[ch('f')],
        Action::Events(Events::Filter),
        "filter",
        "Filter the lines: words, -without, ~letters in order",
        true,
    ),
    bind(Scope::Events, &[ch('F')], Action::Events(Events::Follow), "follow", "Follow the newest line, or stay", true),
    bind(Scope::Events, &[ch('c')], Action::Events(Events::Clear), "", "Forget the lines so far", true),
    bind(Scope::Events, &[ch('y')], Action::Events(Events::Copy), "", "Copy the selected line", true),
    bind(
        Scope::Events,
        &[ch('T')],
        Action::Events(Events::Clock),
        "clock",
        "Show times of the day, or times since the trace began",
        true,
    ),
    bind(Scope::Events, &[ENTER], Action::Accept, "open", "Show the selected line in full", false),
    bind(Scope::Events, &[LEFT, ch('h')], Action::Go(Go::Left), "", "Scroll left", false),
    bind(Scope::Events, &[RIGHT], Action::Go(Go::Right), "", "Scroll right", false),
    // Maps.
    bind(Scope::Maps, &[RIGHT, ch(']')], Action::Table(Table::NextMap), "map", "Next map", false),
    bind(Scope::Maps, &[LEFT, ch('[')], Action::Table(Table::PreviousMap), "", "Previous map", false),
    bind(Scope::Maps, &[ENTER], Action::Accept, "open", "Open a row: its stack or histogram in full", false),
    bind(Scope::Maps, &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", true),
    bind(Scope::Maps, &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", true),
    bind(Scope::Maps, &[ch('c')], Action::Table(Table::Clear), "", "Empty the selected map in the kernel", true),
    bind(Scope::Maps, &[ch('y')], Action::Table(Table::Copy), "", "Copy the selected map as text", true),
    // Probes.
    bind(Scope::Probes, &[ch('s')], Action::Table(Table::Sort), "sort", "Sort by the next column", false),
    bind(Scope::Probes, &[ch('r')], Action::Table(Table::Reverse), "", "Sort the other way round", false),
    // Every pane.
    bind(Scope::Panes, &[ctrl('s'), f(5)], Action::App(App::Run), "run", "Save, compile and attach the script", false),
    bind(Scope::Panes, &[f(2), ctrl('p')], Action::App(App::Browse), "probes", "Browse the probes", true),
    bind(Scope::Panes, &[ctrl('o')], Action::App(App::Scripts), "scripts", "Open one of the bundled scripts", true),
    bind(Scope::Panes, &[f(12)], Action::App(App::SaveAs), "", "Save the script under another name", true),
    bind(Scope::Panes, &[f(6)], Action::App(App::Pause), "pause", "Freeze the views, or let them run", true),
    bind(Scope::Panes, &[f(8)], Action::App(App::Stop), "stop", "Stop the trace", true),
    bind(Scope::Panes, &[BACK_TAB], Action::App(App::FocusPrevious), "", "Go to the previous pane", false),
    bind(Scope::Panes, &[alt('1')], Action::App(App::Focus(Pane::Editor)), "", "Go to the script", true),
    bind(Scope::Panes, &[alt('2')], Action::App(App::Focus(Pane::Events)), "", "Go to the events", true),
    bind(Scope::Panes, &[alt('3')], Action::App(App::Focus(Pane::Maps)), "", "Go to the maps", true),
    bind(Scope::Panes, &[alt('4')], Action::App(App::Focus(Pane::Probes)), "", "Go to the probes", true),
    bind(
        Scope::Panes,
        &[f(9), alt('z')],
        Action::App(App::Zoom),
        "zoom",
        "Fill the screen with this pane, or shrink it again",
        true,
    ),
    bind(Scope::Panes, &[f(7)], Action::App(App::VerifierLog), "", "Show what the kernel's verifier said", true),
    bind(Scope::Panes, &[f(10), alt('t')], Action::App(App::NextTheme), "", "Use the next theme", true),
    bind(
        Scope::Panes,
        &[f(11), alt('m')],
        Action::App(App::ToggleMouse),
        "",
        "Give the mouse to the terminal, to mark text with it, or take it back",
        true,
    ),
    bind(Scope::Panes, &[ctrl('k')], Action::App(App::Palette), "commands", "Open the list of commands", false),
    bind(
        Scope::Panes,
        &[ctrl('c')],
        Action::App(App::Interrupt),
        "",
        "Copy what is marked; with nothing marked, stop the trace",
        false,
    ),
    bind(Scope::Panes, &[f(1)], Action::App(App::Help), "help", "Show all keys", true),
    bind(Scope::Panes, &[ctrl('q')], Action::App(App::Quit), "quit", "Leave", true),
    // Overlays.
    bind(Scope::Browser, &[ENTER], Action::Accept, "insert", "Insert a clause for the selected probe", false),
    bind(Scope::Browser, &[UP, ctrl('p')], Action::Go(Go::Up), "", "Previous probe", false),
    bind(Scope::Browser, &[DOWN, ctrl('n')], Action::Go(Go::Down), "choose", "Next probe", false),
    bind(Scope::Browser, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Browser, &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Browser, &[BACK_TAB, control(KeyCode::Up)], Action::Extend(Go::Up), "", "Scroll the fields up", false),
    bind(
        Scope::Browser,
        &[TAB, control(KeyCode::Down)],
        Action::Extend(Go::Down),
        "fields",
        "Scroll the fields down",
        false,
    ),
    bind(Scope::Browser, &[ESC, ctrl('c')], Action::Cancel, "back", "Close the browser", false),
    bind(Scope::Input, &[ENTER], Action::Accept, "do it", "Take it", false),
    bind(Scope::Input, &[UP, ctrl('p')], Action::Go(Go::Up), "", "Previous", false),
    bind(Scope::Input, &[DOWN, ctrl('n')], Action::Go(Go::Down), "", "Next", false),
    bind(Scope::Input, &[ESC, ctrl('c')], Action::Cancel, "back", "Close", false),
    bind(Scope::Reader, &[DOWN, ch('j')], Action::Go(Go::Down), "scroll", "Line down", false),
    bind(Scope::Reader, &[UP, ch('k')], Action::Go(Go::Up), "", "Line up", false),
    bind(Scope::Reader, &[PAGE_DOWN, ch(' ')], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Reader, &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Reader, &[HOME, ch('g')], Action::Go(Go::Top), "", "Start", false),
    bind(Scope::Reader, &[END, ch('G')], Action::Go(Go::Bottom), "", "End", false),
    bind(Scope::Reader, &[ch('y')], Action::Events(Events::Copy), "copy", "Copy the text", false),
    bind(Scope::Reader, &[ESC, ENTER, ch('q'), ch('?'), f(1), ctrl('c')], Action::Cancel, "back", "Close", false),
    bind(
        Scope::Question,
        &[ch('s'), ctrl('s'), ENTER],
        Action::App(App::SaveAndQuit),
        "save and leave",
        "Save, then leave",
        false,
    ),
    bind(
        Scope::Question,
        &[ch('d'), ctrl('q')],
        Action::App(App::QuitAnyway),
        "leave unsaved",
        "Leave; a copy of the text is kept",
        false,
    ),
    bind(
        Scope::Replace,
        &[ch('s'), ctrl('s'), ENTER],
        Action::App(App::SaveAndOpen),
        "save and open",
        "Save, then open the script",
        false,
    ),
    bind(
        Scope::Replace,
        &[ch('d'), ctrl('o')],
        Action::App(App::OpenAnyway),
        "open",
        "Open the script; undo brings the text back",
        false,
    ),
    bind(Scope::Replace, &[ESC, ch('n'), ctrl('c')], Action::Cancel, "stay", "Stay", false),
    bind(Scope::Question, &[ESC, ch('n'), ctrl('c')], Action::Cancel, "stay", "Stay", false),
    bind(Scope::Always, &[ctrl('l')], Action::App(App::Redraw), "", "Paint the screen anew", true),
];

/// The keys of input lines, shared by every overlay that has one.
static INPUT_KEYS: &[(Key, Action)] = &[
    (LEFT, Action::Go(Go::Left)),
    (RIGHT, Action::Go(Go::Right)),
    (control(KeyCode::Left), Action::Go(Go::WordLeft)),
    (control(KeyCode::Right), Action::Go(Go::WordRight)),
    (HOME, Action::Go(Go::Home)),
    (ctrl('a'), Action::Go(Go::Home)),
    (END, Action::Go(Go::End)),
    (ctrl('e'), Action::Go(Go::End)),
    (BACKSPACE, Action::Edit(Edit::Backspace)),
    (ctrl('h'), Action::Edit(Edit::Backspace)),
    (DELETE, Action::Edit(Edit::Delete)),
    (ctrl('w'), Action::Edit(Edit::DeleteWord)),
    (ctrl('u'), Action::Edit(Edit::DeleteLineStart)),
    (ctrl('k'), Action::Edit(Edit::DeleteLineEnd)),
];

/// The scopes that hold now, narrowest first.
#[must_use]
pub fn scopes(state: &State) -> &'static [Scope] {
    match state.layers.last() {
        Some(Layer::Browser(_)) => &[Scope::Browser, Scope::Always],
        Some(Layer::Palette(_) | Layer::SaveAs(_) | Layer::Filter(_) | Layer::Find(_)) => {
            &[Scope::Input, Scope::Always]
        }
        Some(Layer::Help(_) | Layer::Reader(_)) => &[Scope::Reader, Scope::Always],
        Some(Layer::ConfirmOpen(_)) => &[Scope::Replace, Scope::Always],
        Some(Layer::ConfirmQuit) => &[Scope::Question, Scope::Always],
        None => match state.focus {
            Pane::Editor if state.assist.popup.is_some() => &[Scope::Popup, Scope::Script, Scope::Panes, Scope::Always],
            Pane::Editor => &[Scope::Script, Scope::Panes, Scope::Always],
            Pane::Events => &[Scope::Events, Scope::Output, Scope::Panes, Scope::Always],
            Pane::Maps => &[Scope::Maps, Scope::Output, Scope::Panes, Scope::Always],
            Pane::Probes => &[Scope::Probes, Scope::Output, Scope::Panes, Scope::Always],
        },
    }
}

/// True where characters are text.
fn takes_text(state: &State) -> bool {
    match state.layers.last() {
        Some(Layer::Browser(_) | Layer::Palette(_) | Layer::SaveAs(_) | Layer::Filter(_) | Layer::Find(_)) => true,
        Some(_) => false,
        None => state.focus == Pane::Editor,
    }
}

/// What a key press means now.
#[must_use]
pub fn action(state: &State, event: KeyEvent) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let key = normal(event);
    let holds = |b: &&Binding| b.keys.contains(&key);
    let found = scopes(state).iter().find_map(|scope| BINDINGS.iter().filter(|b| b.scope == *scope).find(holds));
    if let Some(binding) = found {
        return Some(binding.action.clone());
    }
    if !takes_text(state) {
        return None;
    }
    if !state.layers.is_empty()
        && let Some((_, action)) = INPUT_KEYS.iter().find(|(k, _)| *k == key)
    {
        return Some(action.clone());
    }
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            Some(Action::Edit(Edit::Insert(c)))
        }
        _ => None,
    }
}

/// Terminals disagree on Shift: for characters it is in the character.
fn normal(event: KeyEvent) -> Key {
    let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
    let mut modifiers = event.modifiers & known;
    // A terminal sends NUL for Ctrl-Space.
    let mut code = event.code;
    if code == KeyCode::Null {
        (code, modifiers) = (KeyCode::Char(' '), KeyModifiers::CONTROL);
    }
    if let KeyCode::Char(c) = code {
        if modifiers.contains(KeyModifiers::CONTROL) {
            code = KeyCode::Char(c.to_ascii_lowercase());
        }
        modifiers -= KeyModifiers::SHIFT;
    }
    if code == KeyCode::BackTab {
        modifiers -= KeyModifiers::SHIFT;
    }
    Key { code, modifiers }
}

/// What the line of keys shows, most useful first.
#[must_use]
pub fn footer(state: &State) -> Vec<&'static Binding> {
    let mut shown: Vec<&'static Binding> = Vec::new();
    for scope in scopes(state) {
        for binding in BINDINGS.iter().filter(|b| b.scope == *scope && !b.short.is_empty()) {
            // A slash is text inside of a clause; F2 browses the probes there.
            let slash = takes_text(state) && binding.keys.first() == Some(&ch('/'));
            if slash && !state.editor.at_clause_start() {
                continue;
            }
            if !shown.iter().any(|b| b.short == binding.short) {
                shown.push(binding);
            }
        }
    }
    shown
}

/// A key as people write it.
#[must_use]
pub fn name(key: Key) -> String {
    let base = match key.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if key.modifiers.is_empty() => c.to_string(),
        KeyCode::Char(c) => c.to_ascii_uppercase().to_string(),
        KeyCode::F(n) => format!("F{n}"),
        KeyCode::Up => "↑".to_owned(),
        KeyCode::Down => "↓".to_owned(),
        KeyCode::Left => "←".to_owned(),
        KeyCode::Right => "→".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::BackTab => "Shift-Tab".to_owned(),
        other => format!("{other:?}"),
    };
    let mut out = String::new();
    for (modifier, prefix) in
        [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")]
    {
        if key.modifiers.contains(modifier) {
            out.push_str(prefix);
        }
    }
    out + &base
}

/// The help: by scope, keys and what they do.
#[must_use]
pub fn help() -> Vec<(Scope, Vec<(String, &'static str)>)> {
    let order = [
        Scope::Panes,
        Scope::Script,
        Scope::Popup,
        Scope::Browser,
        Scope::Output,
        Scope::Events,
        Scope::Maps,
        Scope::Probes,
        Scope::Input,
        Scope::Reader,
        Scope::Question,
        Scope::Replace,
        Scope::Always,
    ];
    let entries = |scope: Scope| {
        let of = BINDINGS.iter().filter(|b| b.scope == scope);
        of.map(|b| (b.keys.iter().map(|k| name(*k)).collect::<Vec<_>>().join("  "), b.about)).collect()
    };
    order.iter().map(|s| (*s, entries(*s))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_scope() {
        let mut seen = HashSet::new();
        for binding in BINDINGS {
            for key in binding.keys {
                assert!(seen.insert((binding.scope, name(*key))), "{:?} {}", binding.scope, name(*key));
            }
        }
    }

    #[test]
    fn the_help_names_every_binding() {
        let listed: usize = help().iter().map(|(_, entries)| entries.len()).sum();
        assert_eq!(listed, BINDINGS.len());
        assert!(BINDINGS.iter().all(|b| !b.about.is_empty() && !b.keys.is_empty()));
    }
}
