//! The list of commands and bundled scripts: every binding of the key table and every script of the
//! library, searched by their words.

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

use super::export::Exported;
use super::input::Input;
use super::keys::{self, Binding};
use super::presets::{PRESETS, Preset};
use crate::library::{self, Script};

/// What the entries of files begin with.
pub const EXPORT: &str = "Export: ";

/// State of the palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// What is typed.
    pub input: Input,
    /// Selected entry.
    pub selected: usize,
    /// Only scripts are listed.
    pub scripts_only: bool,
}

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
        }
    }
}

impl Palette {
    /// The entries that match, best first, with the characters that matched.
    #[must_use]
    pub fn entries(&self) -> Vec<(Entry, Vec<usize>)> {
        let commands = keys::all().filter(|b| b.in_palette && !self.scripts_only).map(Entry::Command);
        let presets = PRESETS.iter().filter(|_| !self.scripts_only).map(Entry::Preset);
        let exports = Exported::all().filter(|_| !self.scripts_only).map(Entry::Export);
        let all = commands.chain(presets).chain(exports).chain(library::scripts().into_iter().map(Entry::Script));
        let query = self.input.text();
        if query.is_empty() {
            return all.map(|e| (e, Vec::new())).collect();
        }
        let matcher = SkimMatcherV2::default();
        let mut hits: Vec<_> =
            all.filter_map(|e| matcher.fuzzy_indices(&e.words(), query).map(|(score, at)| (score, e, at))).collect();
        hits.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
        hits.into_iter().map(|(_, e, at)| (e, at)).collect()
    }
}
