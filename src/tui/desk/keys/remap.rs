//! Keys of the user's choice in place of those of the table.

use std::sync::OnceLock;

use crossterm::event::{KeyCode, KeyModifiers};

use super::table::BINDINGS;
use crate::tui::base::action::Action;
use crate::tui::base::key::{Binding, Key, Scope};
use crate::tui::desk::registry::KINDS;
use crate::tui::layers::lens::keys as lens;

/// The bindings that hold in this process, when any key was chosen.
static CHOSEN: OnceLock<Vec<Binding>> = OnceLock::new();

/// Keys for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    /// The scope's name; absent for every scope that has the command.
    pub scope: Option<String>,
    /// The command's name.
    pub command: String,
    /// Its keys, the one to show first; none takes them away.
    pub keys: Vec<Key>,
}

/// Why keys can't be chosen so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemapError {
    /// No scope has this name.
    #[error("there is no group of keys named {0}; there are {1}")]
    NoScope(String, String),
    /// No command has this name there.
    #[error("there is no command named {0}; `probescope config keys` lists them")]
    NoCommand(String),
    /// Two commands want one key.
    #[error("{0} is the key of two commands there: {1} and {2}")]
    Taken(String, String, String),
}

/// The bindings of the program, before any choice of the user.
pub(super) fn defaults() -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().chain(lens::BINDINGS).chain(KINDS.iter().flat_map(|k| k.commands))
}

/// The bindings that hold.
pub(super) fn chosen() -> Option<&'static [Binding]> {
    CHOSEN.get().map(Vec::as_slice)
}

/// From now on these keys hold, in the whole process; the first call counts.
///
/// # Errors
/// The index of the first choice that is not possible, and why; then nothing changes.
pub fn remap(choices: &[Remap]) -> Result<(), (usize, RemapError)> {
    let bindings = remapped(choices)?;
    let _ = CHOSEN.set(bindings);
    Ok(())
}

/// Whether keys can be chosen so.
///
/// # Errors
/// As [`remap`].
pub fn check(choices: &[Remap]) -> Result<(), (usize, RemapError)> {
    remapped(choices).map(drop)
}

/// The bindings with these keys. A key that another command of the scope had is that one's no more.
fn remapped(choices: &[Remap]) -> Result<Vec<Binding>, (usize, RemapError)> {
    let mut bindings: Vec<(Binding, Option<usize>)> = defaults().map(|b| (b.with_keys(b.keys), None)).collect();
    for (index, choice) in choices.iter().enumerate() {
        if let Some(scope) = choice.scope.as_deref().filter(|scope| !scope_names().iter().any(|name| name == scope)) {
            return Err((index, RemapError::NoScope(scope.to_owned(), scope_names().join(", "))));
        }
        let is_meant = |b: &Binding| {
            choice.scope.as_deref().is_none_or(|scope| scope == b.scope.name()) && b.command() == choice.command
        };
        if !bindings.iter().any(|(b, _)| is_meant(b)) {
            return Err((index, RemapError::NoCommand(choice.command.clone())));
        }
        // Bindings live as long as the process; the table of them is made once.
        let keys: &'static [Key] = Box::leak(choice.keys.clone().into_boxed_slice());
        for (binding, by) in bindings.iter_mut().filter(|(b, _)| is_meant(b)) {
            (binding.keys, *by) = (keys, Some(index));
        }
    }
    for at in 0..bindings.len() {
        let (scope, command, Some(by)) = (bindings[at].0.scope, bindings[at].0.command(), bindings[at].1) else {
            continue;
        };
        let keys = bindings[at].0.keys;
        for (other, (binding, of)) in bindings.iter_mut().enumerate() {
            if other == at || binding.scope != scope {
                continue;
            }
            let Some(key) = binding.keys.iter().find(|key| keys.contains(key)) else { continue };
            if of.is_some() {
                return Err((by, RemapError::Taken(crate::tui::base::key::name(*key), command, binding.command())));
            }
            let left: Vec<Key> = binding.keys.iter().copied().filter(|key| !keys.contains(key)).collect();
            binding.keys = Box::leak(left.into_boxed_slice());
        }
    }
    Ok(bindings.into_iter().map(|(binding, _)| binding).collect())
}

/// Names of all scopes, each once, in the order of the table.
pub fn scope_names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in defaults().map(|b| b.scope.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl Scope {
    /// As a configuration names it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Pane(kind) => kind.0.to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

impl Binding {
    /// The same with other keys.
    fn with_keys(&self, keys: &'static [Key]) -> Self {
        let Self { scope, action, short, about, in_palette, .. } = self;
        Self { scope: *scope, keys, action: action.clone(), short, about, in_palette: *in_palette }
    }

    /// The command's name, as a configuration writes it: made of the intent's own words.
    #[must_use]
    pub fn command(&self) -> String {
        if let Action::Edit(crate::tui::base::action::Edit::Insert(c)) = &self.action {
            return if *c == '/' { "browse-or-slash".to_owned() } else { format!("insert-{c}") };
        }
        let text = match &self.action {
            Action::Own(own) => own.words().to_owned(),
            action => format!("{action:?}"),
        };
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').filter(|word| !word.is_empty());
        let told: Vec<String> = words
            .filter(|word| !matches!(*word, "App" | "Edit" | "Window" | "Table" | "Events" | "Kind" | "Time"))
            .map(kebab)
            .collect();
        // Movement needs no word for it.
        let told: &[String] = if told.len() > 1 && told[0] == "go" { &told[1..] } else { &told };
        told.join("-").replace('_', "-").to_lowercase()
    }
}

fn kebab(word: &str) -> String {
    let mut out = String::new();
    for c in word.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Reads a key as the help writes it (`Ctrl-S`, `Alt-Enter`, `F5`, `?`), in any case but for a character alone.
#[must_use]
pub fn parse_key(text: &str) -> Option<Key> {
    let mut modifiers = KeyModifiers::empty();
    let mut rest = text.trim();
    while let Some((modifier, tail)) = rest.split_once('-').filter(|(head, tail)| !head.is_empty() && !tail.is_empty())
    {
        modifiers |= match modifier.to_ascii_lowercase().as_str() {
            "ctrl" | "control" | "c" => KeyModifiers::CONTROL,
            "alt" | "meta" | "m" | "a" => KeyModifiers::ALT,
            "shift" | "s" => KeyModifiers::SHIFT,
            _ => return None,
        };
        rest = tail;
    }
    let mut chars = rest.chars();
    let (first, more) = (chars.next()?, chars.next().is_some());
    let code = if more {
        named(&rest.to_ascii_lowercase())?
    } else if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        // The help writes Alt-X for the key x.
        KeyCode::Char(first.to_ascii_lowercase())
    } else {
        KeyCode::Char(first)
    };
    if let KeyCode::Char(c) = code
        && modifiers.contains(KeyModifiers::SHIFT)
    {
        modifiers -= KeyModifiers::SHIFT;
        return Some(Key { code: KeyCode::Char(c.to_ascii_uppercase()), modifiers });
    }
    if code == KeyCode::Tab && modifiers.contains(KeyModifiers::SHIFT) {
        return Some(Key { code: KeyCode::BackTab, modifiers: modifiers - KeyModifiers::SHIFT });
    }
    Some(Key { code, modifiers })
}

fn named(name: &str) -> Option<KeyCode> {
    Some(match name {
        "space" => KeyCode::Char(' '),
        "enter" | "return" => KeyCode::Enter,
        "esc" | "escape" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "backspace" => KeyCode::Backspace,
        "delete" | "del" => KeyCode::Delete,
        "insert" => KeyCode::Insert,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "pgup" | "pageup" => KeyCode::PageUp,
        "pgdn" | "pagedown" => KeyCode::PageDown,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        _ => return name.strip_prefix('f')?.parse().ok().filter(|n| (1..=24).contains(n)).map(KeyCode::F),
    })
}

/// A key as a configuration writes it.
#[must_use]
pub fn written(key: Key) -> String {
    let shown = crate::tui::base::key::name(key);
    ["↑ up", "↓ down", "← left", "→ right"]
        .iter()
        .find_map(|arrow| {
            let (sign, word) = arrow.split_once(' ')?;
            shown.strip_suffix(sign).map(|before| format!("{before}{word}"))
        })
        .unwrap_or(shown)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tui::base::action::App;

    fn choice(scope: Option<&str>, command: &str, keys: &[&str]) -> Remap {
        let keys = keys.iter().map(|key| parse_key(key).expect("a key")).collect();
        Remap { scope: scope.map(str::to_owned), command: command.to_owned(), keys }
    }

    #[test]
    fn every_key_of_the_table_is_read_as_it_is_written() {
        for binding in defaults() {
            for key in binding.keys {
                assert_eq!(parse_key(&written(*key)), Some(*key), "{}", written(*key));
            }
        }
        for no_key in ["", "Hyper-x", "ctrl-", "F0", "F99", "nokey"] {
            assert_eq!(parse_key(no_key), None, "{no_key}");
        }
        assert_eq!(parse_key("ctrl-alt-x"), parse_key("Alt-Ctrl-X"));
    }

    #[test]
    fn every_command_has_a_name_of_its_own_in_its_scope() {
        let mut seen = HashSet::new();
        for binding in defaults() {
            let name = (binding.scope.name(), binding.command());
            assert!(!name.1.is_empty() && seen.insert(name.clone()), "{name:?}");
        }
    }

    #[test]
    fn a_chosen_key_is_taken_from_the_command_that_had_it() {
        let bindings =
            remapped(&[choice(Some("output"), "ask-stop", &["z"]), choice(None, "run", &["F8", "ctrl-r"])]).unwrap();
        let keys = |scope: &str, command: &str| {
            let binding = bindings.iter().find(|b| b.scope.name() == scope && b.command() == command);
            binding.expect("a command").keys.iter().map(|k| crate::tui::base::key::name(*k)).collect::<Vec<_>>()
        };
        assert_eq!((keys("output", "ask-stop"), keys("output", "zoom")), (vec!["z".to_owned()], vec![]));
        assert_eq!(keys("panes", "run"), ["F8", "Ctrl-R"]);
        assert_eq!(keys("script", "run"), ["F8", "Ctrl-R"], "every scope that has it");
        assert!(keys("panes", "stop").is_empty(), "F8 was its only one");
        let run = bindings.iter().find(|b| b.action == Action::App(App::Run));
        assert!(run.is_some_and(|b| !b.about.is_empty()));
    }

    #[test]
    fn what_is_not_possible_is_told_with_its_place() {
        let wrong = |choices: &[Remap]| remapped(choices).unwrap_err();
        let fine = choice(None, "run", &["F5"]);
        assert!(matches!(wrong(&[fine.clone(), choice(None, "rnu", &[])]), (1, RemapError::NoCommand(_))));
        assert!(matches!(wrong(&[choice(Some("nowhere"), "run", &[])]), (0, RemapError::NoScope(..))));
        let both = [choice(Some("output"), "ask-stop", &["z"]), choice(Some("output"), "help", &["z"])];
        assert!(matches!(wrong(&both), (_, RemapError::Taken(..))));
    }
}
