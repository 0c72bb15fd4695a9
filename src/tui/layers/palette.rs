//! The list of commands and bundled scripts: every binding of the key table and every script of the
//! library, searched by their words; and that of the clauses of these scripts, to be taken into another one.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::lang::FRONT_ENDS;
use crate::lang::front::ClauseGroup;
use crate::lang::source::SourceText;
use crate::library::{self, Script};
use crate::session::scopes;
use crate::tui::base::action::{Action, Go};
use crate::tui::base::input::Input;
use crate::tui::base::key::{Binding, Scope};
use crate::tui::base::kind::SCRIPT;
use crate::tui::data::job::Exported;
use crate::tui::data::{Data, vi};
use crate::tui::layers::Struck;
use crate::tui::pane::ask::{Change, Listing, Opening};
use crate::tui::pane::{Ask, Layer, Turn};

mod draw;
pub mod presets;

use presets::{PRESETS, Preset};

/// What the entries of files begin with.
pub const EXPORT: &str = "Export: ";

/// State of the palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// What is typed.
    pub input: Input,
    /// Selected entry.
    pub selected: usize,
    /// What is listed.
    pub listed: Listed,
    /// Scripts that were saved without a name, which are listed with the bundled ones.
    pub saved: Arc<[PathBuf]>,
    /// The commands.
    pub commands: Vec<&'static Binding>,
}

/// What a palette lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Listed {
    /// Commands, questions, exports and scripts.
    #[default]
    All,
    /// Bundled scripts only.
    Scripts,
    /// Clauses of the bundled scripts.
    Clauses,
    /// What clauses can be limited to.
    Scopes(Arc<[scopes::Scope]>),
    /// Processes to watch.
    Processes(Arc<[scopes::Scope]>),
}

/// Clauses of a bundled script that work together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clauses {
    /// The script that they are of.
    pub script: &'static str,
    /// What that script answers.
    pub about: String,
    /// The clauses.
    pub group: ClauseGroup,
}

/// Of all bundled scripts, which are all in bpftrace's language.
static CLAUSES: LazyLock<Vec<Clauses>> = LazyLock::new(|| {
    let of = |script: Script| {
        let groups = FRONT_ENDS[0].groups(&SourceText::new(script.name, script.text));
        groups.into_iter().map(move |group| Clauses { script: script.name, about: script.about.clone(), group })
    };
    library::scripts().into_iter().flat_map(of).collect()
});

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A command.
    Command(&'static Binding),
    /// A question with a ready answer.
    Preset(&'static Preset),
    /// What is shown goes to a file.
    Export(Exported),
    /// A script to open as a copy.
    Script(Script),
    /// A script that was saved without a name, to open in a tab.
    Saved(PathBuf),
    /// Clauses to take into the script.
    Clauses(&'static Clauses),
    /// What clauses are limited to; nothing for everything that runs.
    Scope(Option<scopes::Scope>),
    /// A process to watch, with what is known of it.
    Process(u32, String),
}

impl Entry {
    /// What is shown and searched.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Command(binding) => binding.about.to_owned(),
            Self::Preset(preset) => preset.about.to_owned(),
            Self::Export(exported) => format!("{EXPORT}{}", exported.about()),
            Self::Script(script) => format!("{}: {}", script.name, script.about),
            Self::Saved(path) => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                format!("{name}: saved without a name before, {}", path.display())
            }
            Self::Process(_, words) => words.clone(),
            Self::Scope(None) => "everything that runs".to_owned(),
            Self::Scope(Some(scope)) => match scope {
                scopes::Scope::Process { words, .. } => format!("{}  {words}", scope.name()),
                scopes::Scope::Group { folder, container: Some(_), .. } => format!("{}  {folder}", scope.name()),
                scopes::Scope::Group { processes: 1, comm, .. } => format!("{}  {comm}", scope.name()),
                scopes::Scope::Group { processes, comm, .. } => {
                    format!("{}  {comm} and {} more processes", scope.name(), processes - 1)
                }
            },
            // What they are for comes first: lists of probes are long.
            Self::Clauses(c) => format!("{}: {}  {}", c.script, c.about, c.group.probes),
        }
    }
}

impl Palette {
    /// The processes, and the number that is typed where it is that of no process: of a thread.
    fn processes<'a>(&'a self, scopes: &'a [scopes::Scope]) -> impl Iterator<Item = Entry> + 'a {
        let typed: Option<u32> = self.input.text().trim().parse().ok();
        let is_typed =
            |scope: &scopes::Scope| matches!(scope, scopes::Scope::Process { pid, .. } if Some(*pid) == typed);
        let thread = typed.filter(|pid| *pid > 0 && !scopes.iter().any(is_typed));
        let thread = thread.map(|pid| Entry::Process(pid, format!("the process of thread {pid}")));
        let process = |scope: &scopes::Scope| match scope {
            scopes::Scope::Process { pid, words, .. } => {
                Some(Entry::Process(*pid, format!("{}  {words}", scope.name())))
            }
            scopes::Scope::Group { .. } => None,
        };
        scopes.iter().filter_map(process).chain(thread)
    }

    /// The entries that match, best first, with the characters that matched.
    #[must_use]
    pub fn entries(&self) -> Vec<(Entry, Vec<usize>)> {
        let saved = self.saved.iter().cloned().map(Entry::Saved);
        let all: Box<dyn Iterator<Item = Entry> + '_> = match &self.listed {
            Listed::Clauses => Box::new(CLAUSES.iter().map(Entry::Clauses)),
            Listed::Scopes(scopes) => {
                Box::new(std::iter::once(None).chain(scopes.iter().cloned().map(Some)).map(Entry::Scope))
            }
            Listed::Processes(scopes) => Box::new(self.processes(scopes)),
            Listed::Scripts => Box::new(saved.chain(library::scripts().into_iter().map(Entry::Script))),
            Listed::All => {
                let commands = self.commands.iter().map(|binding| Entry::Command(binding));
                let presets = PRESETS.iter().map(Entry::Preset);
                let exports = Exported::all().map(Entry::Export);
                let scripts = library::scripts().into_iter().map(Entry::Script);
                Box::new(commands.chain(presets).chain(exports).chain(saved).chain(scripts))
            }
        };
        let query = self.input.text().trim();
        if query.is_empty() {
            return all.map(|e| (e, Vec::new())).collect();
        }
        let matcher = SkimMatcherV2::default();
        let mut hits: Vec<_> =
            all.filter_map(|e| matcher.fuzzy_indices(&e.words(), query).map(|(score, at)| (score, e, at))).collect();
        // Of those that fit alike, what stands earlier is meant rather.
        let is_typed = |entry: &Entry| matches!(entry, Entry::Process(pid, _) if pid.to_string() == query);
        hits.sort_by_key(|(score, entry, at)| (!is_typed(entry), std::cmp::Reverse(*score), at.first().copied()));
        hits.into_iter().map(|(_, e, at)| (e, at)).collect()
    }
}

impl Palette {
    /// What becomes of an entry.
    fn take(entry: Entry, turn: &mut Turn<&Data>) {
        match entry {
            // A command acts in the pane that it belongs to.
            Entry::Command(binding) => {
                if let (Scope::Pane(kind), false) = (binding.scope, matches!(binding.action, Action::App(_))) {
                    turn.focus_on(kind);
                }
                turn.ask(Ask::Act(binding.action.clone()));
            }
            Entry::Export(exported) => turn.ask(Ask::Take(Listing::Export(exported))),
            Entry::Preset(preset) => {
                let text = preset.text().unwrap_or_default();
                turn.ask(Ask::Take(Listing::Preset(preset.script, text, preset.pane)));
            }
            Entry::Script(script) => turn.ask(Ask::Take(Listing::Script(script.name, Opening::Asked))),
            Entry::Saved(path) => turn.ask(Ask::Take(Listing::Path(Some(path)))),
            Entry::Process(pid, _) => turn.ask(Ask::InPane(Action::Process(pid))),
            Entry::Scope(chosen) => turn.ask(Ask::Limit(chosen)),
            Entry::Clauses(clauses) => {
                turn.focus_on(SCRIPT);
                turn.change(Change::Insert(clauses.group.text.clone()));
            }
        }
    }
}

impl Layer for Palette {
    fn scope(&self) -> Scope {
        Scope::Input
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        match action {
            Action::Edit(edit) if self.input.edit(edit) => self.selected = 0,
            Action::Go(Go::Up) => self.selected = self.selected.saturating_sub(1),
            Action::Go(Go::Down) => {
                self.selected = (self.selected + 1).min(self.entries().len().saturating_sub(1));
            }
            Action::Go(go) => {
                self.input.go(*go);
            }
            Action::Accept => {
                let chosen = self.entries().into_iter().nth(self.selected).map(|(entry, _)| entry);
                let typed = self.input.text().trim().to_owned();
                turn.leave();
                // Who edits by vi's keys types its commands behind any colon.
                if self.listed == Listed::All && turn.vi.is_some() && vi::is_command(&typed) {
                    return turn.ask(Ask::Take(Listing::Vi(typed)));
                }
                if let Some(entry) = chosen {
                    Self::take(entry, turn);
                }
            }
            _ => {}
        }
    }

    fn press(&mut self, at: (u16, u16), _turn: &mut Turn<&Data>, body: Rect) -> Option<Action> {
        match draw::entry_at(self, body, at) {
            Struck::Outside => Some(Action::Cancel),
            Struck::Entry(index) if index == self.selected => Some(Action::Accept),
            Struck::Entry(index) => {
                self.selected = index;
                None
            }
            Struck::Frame => None,
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        draw::draw(data, self, buf, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_of_every_bundled_script_are_scripts() {
        for clauses in CLAUSES.iter() {
            let wrong = FRONT_ENDS[0].syntax(&SourceText::new("a.bt", &clauses.group.text));
            assert!(wrong.is_empty(), "{}: {wrong:?}\n{}", clauses.script, clauses.group.text);
        }
        for script in library::scripts() {
            assert!(script.name == "hello" || CLAUSES.iter().any(|c| c.script == script.name), "{}", script.name);
        }
    }
}
