//! The list of commands: every binding of the key table, searched by its words.

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

use super::input::Input;
use super::keys::{BINDINGS, Binding};

/// State of the palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// What is typed.
    pub input: Input,
    /// Selected command.
    pub selected: usize,
}

impl Palette {
    /// The commands that match, best first, with the characters that matched.
    #[must_use]
    pub fn commands(&self) -> Vec<(&'static Binding, Vec<usize>)> {
        let all = BINDINGS.iter().filter(|b| b.in_palette);
        let query = self.input.text();
        if query.is_empty() {
            return all.map(|b| (b, Vec::new())).collect();
        }
        let matcher = SkimMatcherV2::default();
        let mut hits: Vec<_> =
            all.filter_map(|b| matcher.fuzzy_indices(b.about, query).map(|(score, at)| (score, b, at))).collect();
        hits.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
        hits.into_iter().map(|(_, b, at)| (b, at)).collect()
    }
}
