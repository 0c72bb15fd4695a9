//! What was typed, prepared, and the tests that every probe goes through.

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

use super::rank;
use crate::probe::catalogue::Part;
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
    pub mask: u64,
    /// For queries with `*`.
    glob: Option<Glob>,
}

impl Query {
    pub(super) fn new(typed: &str) -> Self {
        let mut text: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
        // `t:sched` and `BEGIN` mean what they mean in a script.
        if let Some((word, rest)) = text.split_once(':') {
            if let Some(provider) = Provider::find(word) {
                text = format!("{}:{rest}", provider.name);
            }
        }
        let text = text.to_ascii_lowercase();
        let glob = text.contains('*').then(|| match text.contains(':') {
            true => Glob::new(&text),
            false => Glob::new(&format!("*{text}*")),
        });
        let mask = mask_of(&text.replace('*', ""));
        Self { text, mask, glob }
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

    /// Cheap score of a probe that has the query's characters; `None` when it does not match.
    pub(super) fn test(&self, part: &Part, number: u32) -> Option<i32> {
        if self.mask & !part.masks().get(number as usize)? != 0 {
            return None;
        }
        let name = part.lower(number);
        let base = rank::base(part, number);
        if self.text.is_empty() {
            return Some(base);
        }
        if let Some(glob) = &self.glob {
            return glob.matches(name).then_some(base);
        }
        match rank::place(name, &self.text) {
            Some(bonus) => Some(base + bonus),
            None if self.is_fuzzy() && is_subsequence(name, &self.text) => Some(base),
            None => None,
        }
    }

    /// Where the query's characters are in a name.
    pub(super) fn positions(&self, name: &str, matcher: &SkimMatcherV2) -> Vec<u32> {
        if self.text.is_empty() || self.glob.is_some() {
            return Vec::new();
        }
        let lower = name.to_ascii_lowercase();
        if let Some(start) = rank::best_place(&lower, &self.text) {
            let before = lower.get(..start).map_or(0, |s| s.chars().count() as u32);
            return (before..before + self.text.chars().count() as u32).collect();
        }
        let fuzzy = matcher.fuzzy_indices(name, &self.text).map(|(_, at)| at).unwrap_or_default();
        fuzzy.into_iter().map(|n| n as u32).collect()
    }
}

fn mask_of(text: &str) -> u64 {
    crate::probe::catalogue::mask(text)
}

/// Whether the characters of `wanted` stand in `name` in their order.
fn is_subsequence(name: &str, wanted: &str) -> bool {
    let mut rest = name.as_bytes();
    wanted.bytes().all(|byte| match memchr::memchr(byte, rest) {
        Some(at) => {
            rest = rest.get(at + 1..).unwrap_or(&[]);
            true
        }
        None => false,
    })
}
