//! What was typed, prepared, and the tests that every probe goes through.

use memchr::memmem::Finder;

use super::rank::{self, Walk};
use crate::probe::catalogue::{Part, Signs, mask};
use crate::probe::glob::Glob;
use crate::probe::point::Provider;

/// Shortest query that is scored by fuzzy-matcher.
const FUZZY: usize = 3;

/// A prepared query.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// Lower case, without spaces, short provider names written out.
    pub text: String,
    /// Characters that a name must have.
    mask: u64,
    /// Characters that words of a name must start with.
    starts: u64,
    /// How names must begin: the provider that was typed with its colon.
    provider: Option<String>,
    /// Looks for the text, or for the longest plain text in a pattern.
    finder: Finder<'static>,
    /// For queries with `*`.
    glob: Option<Glob>,
}

impl Query {
    pub(super) fn new(typed: &str) -> Self {
        let mut text: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
        // `t:sched` and `BEGIN` mean what they mean in a script.
        let provider = text.split_once(':').and_then(|(word, rest)| Some((Provider::find(word)?, rest)));
        let mut prefix = None;
        if let Some((provider, rest)) = provider {
            text = format!("{}:{rest}", provider.name);
            prefix = Some(format!("{}:", provider.name));
        }
        let text = text.to_ascii_lowercase();
        let glob = text
            .contains('*')
            .then(|| if text.contains(':') { Glob::new(&text) } else { Glob::new(&format!("*{text}*")) });
        // Vague queries only match the start of a word.
        let first = text.chars().next().filter(|_| glob.is_none() && text.len() < FUZZY);
        let starts = first.map_or(0, |c| mask(c.encode_utf8(&mut [0; 4])));
        let plain = text.split('*').max_by_key(|t| t.len()).unwrap_or("");
        let finder = Finder::new(plain).into_owned();
        Self { mask: mask(&text.replace('*', "")), starts, provider: prefix, finder, text, glob }
    }

    /// Long enough to be scored.
    pub(super) fn is_fuzzy(&self) -> bool {
        self.glob.is_none() && self.text.len() >= FUZZY
    }

    /// Whether every hit of this query is one of `last`'s.
    pub(super) fn continues(&self, last: &Self) -> bool {
        let plain = self.glob.is_none() && last.glob.is_none();
        plain && last.is_fuzzy() && self.text.starts_with(&last.text)
    }

    /// Goes through a part's names in ascending order.
    pub(super) fn walk<'a>(&'a self, part: &'a Part) -> Walk<'a> {
        Walk::new(part, &self.finder)
    }

    /// Numbers of the probes of a part that have the query's characters.
    pub(super) fn with_characters<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = u32> + 'a {
        let masks = part.masks().iter().zip(part.starts()).enumerate();
        masks
            .filter(|(_, (mask, starts))| (self.mask & !**mask) | (self.starts & !**starts) == 0)
            .map(|(number, _)| number as u32)
    }

    /// How a probe matches, without fuzzy-matcher.
    pub(super) fn test(&self, part: &Part, walk: &mut Walk<'_>, name: &Signs) -> Option<Match> {
        if self.text.is_empty() {
            return Some(Match::Whole(name.worth));
        }
        if let Some(glob) = &self.glob {
            walk.first_in(name)?;
            let text = part.searched().get(name.start..name.end)?;
            return glob.matches(text).then_some(Match::Whole(name.worth));
        }
        if !self.is_of_provider(part, name) {
            return None;
        }
        if let Some(bonus) = walk.place(name) {
            return Some(Match::Whole(name.worth + bonus));
        }
        if !self.is_fuzzy() {
            return None;
        }
        let score = rank::scattered(part.searched().as_bytes(), name, self.text.as_bytes())?;
        Some(Match::Scattered(name.worth + score))
    }

    /// `iter:` asks for iterators, and not for what has these letters somewhere.
    fn is_of_provider(&self, part: &Part, name: &Signs) -> bool {
        let text = part.searched().get(name.start..name.end).unwrap_or_default();
        self.provider.as_ref().is_none_or(|prefix| text.starts_with(prefix.as_str()))
    }

    /// Where the query's text stands in a name, in characters; empty when it isn't there as a whole.
    pub(super) fn positions(&self, part: &Part, name: &Signs) -> Vec<u32> {
        let names = part.searched().as_bytes();
        let whole = names.get(name.start..name.end).and_then(|text| self.finder.find(text));
        let (Some(first), None, false) = (whole, &self.glob, self.text.is_empty()) else { return Vec::new() };
        let start = rank::best_place(names, name, &self.finder, name.start + first);
        let before = part.searched().get(name.start..start).map_or(0, |s| s.chars().count() as u32);
        (before..before + self.text.chars().count() as u32).collect()
    }
}

/// How a probe matches a query, with its score by cheap signs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Match {
    /// The text as a whole, or the pattern.
    Whole(i32),
    /// The characters in their order.
    Scattered(i32),
}
