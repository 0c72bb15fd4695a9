//! The one table of keys: it turns key presses into actions and writes the line of keys, the help
//! and the palette.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::store::{Direction, Stop};
use crate::tui::base::action::{Action, App, Edit};
use crate::tui::base::key::{Binding, Key, Scope, ch, name};
use crate::tui::base::kind::SCRIPT;
use crate::tui::base::time::Time;
use crate::tui::desk::registry::{KINDS, registered};
use crate::tui::desk::state::State;
use crate::tui::layers::help::Keys;
use crate::tui::pane::Pane;

pub mod remap;
mod table;

use table::INPUT_KEYS;

/// All bindings: of the whole program, and of every kind of pane.
pub fn all() -> impl Iterator<Item = &'static Binding> {
    let chosen = remap::chosen();
    let defaults = chosen.is_none().then(remap::defaults);
    chosen.unwrap_or_default().iter().chain(defaults.into_iter().flatten())
}

/// A scope as headed in the help.
#[must_use]
pub fn title(scope: Scope) -> &'static str {
    match scope {
        Scope::Always => "Everywhere",
        Scope::Panes => "In every pane",
        Scope::Popup => "Completions",
        Scope::Output => "Events, maps, probes",
        Scope::Pane(kind) => registered(kind.0).map_or(kind.0, |k| k.title),
        Scope::Browser => "Probe browser",
        Scope::Lens => "Struct lens",
        Scope::Input => "Palette and input lines",
        Scope::List => "Lists to choose from",
        Scope::Window => "Arranging panes, after Alt-W",
        Scope::Confirm => "Asked before something is lost",
        Scope::Reader => "Texts to read",
        Scope::Question => "Leaving with unsaved text",
        Scope::Replace => "Opening a script over unsaved text",
    }
}

/// The scopes that hold now, narrowest first.
#[must_use]
pub fn scopes(state: &State) -> Vec<Scope> {
    let narrow = match state.layers.last() {
        Some(layer) => vec![layer.scope()],
        None => state.panes.get(state.panes.focus()).map_or_else(Vec::new, |pane| pane.commands(state).to_vec()),
    };
    let panes = state.layers.is_empty().then_some(Scope::Panes);
    narrow.into_iter().chain(panes).chain([Scope::Always]).collect()
}

/// True where characters are text.
fn takes_text(state: &State) -> bool {
    match state.layers.last() {
        Some(layer) => layer.takes_text(),
        None => state.panes.get(state.panes.focus()).is_some_and(Pane::takes_text),
    }
}

/// What a key press means now.
#[must_use]
pub fn action(state: &State, event: KeyEvent) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let key = normal(event);
    if let Some(own) = vi_key(state, key) {
        return Some(Action::Vi(own));
    }
    let holds = |b: &&Binding| b.keys.contains(&key);
    let found = scopes(state).into_iter().find_map(|scope| all().filter(|b| b.scope == scope).find(holds));
    if let Some(binding) = found {
        return Some(binding.action.clone());
    }
    if state.layers.last().is_some_and(|layer| layer.is_brief()) {
        return Some(Action::Cancel);
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

/// What a key is to vi, where the script is edited by vi's keys and has the focus.
fn vi_key(state: &State, key: Key) -> Option<char> {
    let vi = state.vi.as_ref().filter(|_| state.layers.is_empty())?;
    let focus = state.panes.kind(state.panes.focus());
    vi.own(key).filter(|_| focus == Some(SCRIPT))
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

/// The word for a binding on the line of keys; those that go through time have one while the views are held.
#[must_use]
pub fn short(state: &State, binding: &Binding) -> &'static str {
    if !state.document.trace.paused {
        return binding.short;
    }
    match binding.action {
        Action::App(App::Pause) => "resume",
        Action::App(App::Time(time)) => match time {
            Time::Step(Stop::Event, Direction::Back) => "back",
            Time::Step(Stop::Event, Direction::Forward) => "on",
            Time::Step(Stop::Second, Direction::Back) => "1 s back",
            Time::Step(Stop::Second, Direction::Forward) => "1 s on",
            Time::Play => "play",
            Time::Ask => "go to",
            _ => binding.short,
        },
        _ => binding.short,
    }
}

/// What the line of keys shows, most useful first: while the views are held, the keys that go through time.
#[must_use]
pub fn footer(state: &State) -> Vec<&'static Binding> {
    let scopes = scopes(state);
    let goes_through_time =
        |b: &&Binding| matches!(b.action, Action::App(App::Pause | App::Time(_))) && !short(state, b).is_empty();
    let held = state.document.trace.paused && scopes.contains(&Scope::Output);
    let mut shown: Vec<&'static Binding> =
        all().filter(|b| held && b.scope == Scope::Output).filter(goes_through_time).collect();
    for scope in scopes {
        for binding in all().filter(|b| b.scope == scope && !b.short.is_empty() && !b.keys.is_empty()) {
            // A slash is text inside of a clause; F2 browses the probes there.
            let slash = takes_text(state) && binding.keys.first() == Some(&ch('/'));
            let is_command = state.vi.as_ref().is_some_and(|vi| !vi.is_inserting());
            let is_editor = scope == Scope::Pane(SCRIPT);
            let is_vis = is_command && is_editor && binding.keys.first().is_some_and(|key| key.code == KeyCode::Esc);
            if is_vis || slash && (is_command || !state.document.editor.at_clause_start()) {
                continue;
            }
            if !shown.iter().any(|b| b.short == binding.short) {
                shown.push(binding);
            }
        }
    }
    shown
}

/// The help: by scope, keys and what they do.
#[must_use]
pub fn help() -> Vec<Keys> {
    let mut kinds = KINDS.iter().map(|k| Scope::Pane(k.kind));
    let mut order = vec![Scope::Panes, Scope::Window];
    order.extend(kinds.next());
    order.extend([Scope::Popup, Scope::Browser, Scope::Lens, Scope::Output]);
    order.extend(kinds);
    order.extend([
        Scope::Input,
        Scope::List,
        Scope::Reader,
        Scope::Confirm,
        Scope::Question,
        Scope::Replace,
        Scope::Always,
    ]);
    let entries = |scope: Scope| {
        let of = all().filter(|b| b.scope == scope);
        of.map(|b| (b.keys.iter().map(|k| name(*k)).collect::<Vec<_>>().join("  "), b.about)).collect()
    };
    order.iter().map(|s| (title(*s), entries(*s))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_scope() {
        let mut seen = HashSet::new();
        for binding in all() {
            for key in binding.keys {
                assert!(seen.insert((binding.scope, name(*key))), "{:?} {}", binding.scope, name(*key));
            }
        }
    }

    #[test]
    fn the_help_names_every_binding() {
        let listed: usize = help().iter().map(|(_, entries)| entries.len()).sum();
        assert_eq!(listed, all().count());
        assert!(all().all(|b| !b.about.is_empty() && (!b.keys.is_empty() || b.in_palette)), "each can be reached");
    }
}
