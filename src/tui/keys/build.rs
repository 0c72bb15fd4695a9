//! Keys and bindings, written short.

use crossterm::event::{KeyCode, KeyModifiers};

use super::super::action::Action;
use super::{Binding, Key, Scope};

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

pub const UP: Key = plain(KeyCode::Up);
pub const DOWN: Key = plain(KeyCode::Down);
pub const LEFT: Key = plain(KeyCode::Left);
pub const RIGHT: Key = plain(KeyCode::Right);
pub const PAGE_UP: Key = plain(KeyCode::PageUp);
pub const PAGE_DOWN: Key = plain(KeyCode::PageDown);
pub const HOME: Key = plain(KeyCode::Home);
pub const END: Key = plain(KeyCode::End);
pub const ENTER: Key = plain(KeyCode::Enter);
pub const ESC: Key = plain(KeyCode::Esc);
pub const TAB: Key = plain(KeyCode::Tab);
pub const BACK_TAB: Key = plain(KeyCode::BackTab);
pub const BACKSPACE: Key = plain(KeyCode::Backspace);
pub const DELETE: Key = plain(KeyCode::Delete);
