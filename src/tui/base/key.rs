//! Keys, where they hold, and how bindings are written short.

use crossterm::event::{KeyCode, KeyModifiers};

use super::action::Action;
use super::kind::Kind;

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
    /// In panes of rows.
    Output,
    /// In a kind of pane.
    Pane(Kind),
    /// In the probe browser.
    Browser,
    /// In the struct lens.
    Lens,
    /// In the palette and in input lines.
    Input,
    /// In lists to choose from.
    List,
    /// After the key that arranges panes.
    Window,
    /// When asked before something that can't be undone.
    Confirm,
    /// In texts to read.
    Reader,
    /// When asked whether to leave.
    Question,
    /// When asked whether to open a script in place of unsaved text.
    Replace,
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

/// A binding.
#[must_use]
pub const fn bind(
    scope: Scope,
    keys: &'static [Key],
    action: Action,
    short: &'static str,
    about: &'static str,
    in_palette: bool,
) -> Binding {
    Binding { scope, keys, action, short, about, in_palette }
}

/// A key alone.
#[must_use]
pub const fn plain(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}

/// A character.
#[must_use]
pub const fn ch(c: char) -> Key {
    plain(KeyCode::Char(c))
}

/// A character with Control.
#[must_use]
pub const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}

/// A character with Alt.
#[must_use]
pub const fn alt(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::ALT }
}

/// A key with Shift.
#[must_use]
pub const fn shift(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::SHIFT }
}

/// A key with Control.
#[must_use]
pub const fn control(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::CONTROL }
}

/// A function key.
#[must_use]
pub const fn f(n: u8) -> Key {
    plain(KeyCode::F(n))
}

pub(crate) const UP: Key = plain(KeyCode::Up);
pub(crate) const DOWN: Key = plain(KeyCode::Down);
pub(crate) const LEFT: Key = plain(KeyCode::Left);
pub(crate) const RIGHT: Key = plain(KeyCode::Right);
pub(crate) const PAGE_UP: Key = plain(KeyCode::PageUp);
pub(crate) const PAGE_DOWN: Key = plain(KeyCode::PageDown);
pub(crate) const HOME: Key = plain(KeyCode::Home);
pub(crate) const END: Key = plain(KeyCode::End);
pub(crate) const ENTER: Key = plain(KeyCode::Enter);
pub(crate) const ESC: Key = plain(KeyCode::Esc);
pub(crate) const TAB: Key = plain(KeyCode::Tab);
pub(crate) const BACK_TAB: Key = plain(KeyCode::BackTab);
pub(crate) const BACKSPACE: Key = plain(KeyCode::Backspace);
pub(crate) const DELETE: Key = plain(KeyCode::Delete);
