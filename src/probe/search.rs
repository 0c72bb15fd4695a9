//! Fuzzy search over a catalogue, fast enough for every keystroke.
//!
//! A probe must have the query's characters (one mask test), then the characters in order. The best of
//! those by cheap signs, such as a word that starts with the query, are scored by fuzzy-matcher;
//! scores are then moved by what people look for: the exact name, short names, tracepoints before
//! functions, functions before what compilers made. Queries of one or two characters are too vague to
//! score and list names with a word that starts so. A query that continues the last one looks only at
//! its hits.

mod query;
mod rank;
mod thread;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

pub use thread::{Request, Searcher};

use super::catalogue::{Catalogue, Part, ProbeKind};
use crate::kernel::Absence;
use query::Query;

/// Most results of one search.
pub const MOST: usize = 200;
/// Candidates that are scored in full; the others are too far behind by their cheap signs.
const SCORED: usize = 3000;

/// One result.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The probe's attach point.
    pub name: Arc<str>,
    /// Kind.
    pub kind: ProbeKind,
    /// Positions of the query's characters in the name, in characters.
    pub positions: Vec<u32>,
    /// Why it can't be attached here.
    pub absence: Option<Absence>,
}

/// The answer to one query.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Number of the query that this answers.
    pub generation: u64,
    /// Best first, at most [`MOST`].
    pub hits: Vec<Hit>,
    /// How many probes match in all.
    pub matched: usize,
    /// How many probes there are.
    pub total: usize,
    /// False while the catalogue still grows: ask again.
    pub complete: bool,
    /// What could not be listed at all.
    pub absences: Vec<Absence>,
}

/// A probe that passed the cheap tests.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    number: u32,
    cheap: i32,
}

/// A search with its memory of the last query.
#[derive(Default)]
pub struct Search {
    matcher: SkimMatcherV2,
    last: Option<(Query, usize, Vec<u32>)>,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("last", &self.last.as_ref().map(|l| &l.0)).finish_non_exhaustive()
    }
}

impl Search {
    /// The best probes for what was typed. An empty text gives the first ones.
    pub fn search(&mut self, catalogue: &Catalogue, text: &str, generation: u64) -> Results {
        let query = Query::new(text);
        let mut candidates = self.candidates(catalogue, &query);
        let matched = candidates.len();
        if !query.text.is_empty() {
            self.last = Some((query.clone(), catalogue.len(), candidates.iter().map(|c| c.number).collect()));
        }
        let best = self.best(catalogue, &query, &mut candidates);
        Results {
            generation,
            hits: best.into_iter().filter_map(|number| self.hit(catalogue, &query, number)).collect(),
            matched,
            total: catalogue.len(),
            complete: catalogue.is_complete(),
            absences: catalogue.absences().to_vec(),
        }
    }

    /// Everything that matches, with its cheap score.
    fn candidates(&self, catalogue: &Catalogue, query: &Query) -> Vec<Candidate> {
        let known = self.last.as_ref().filter(|(last, _, _)| query.continues(last));
        let mut found = Vec::new();
        let scanned = known.map_or(0, |(_, scanned, _)| *scanned);
        if let Some((_, _, numbers)) = known {
            let mut parts = catalogue.parts().peekable();
            let mut current: Option<(u32, &Part)> = None;
            for number in numbers {
                while parts.peek().is_some_and(|(start, _)| start <= number) {
                    current = parts.next();
                }
                if let Some((start, part)) = current {
                    found.extend(query.test(part, number - start).map(|cheap| Candidate { number: *number, cheap }));
                }
            }
        }
        for (start, part) in catalogue.parts().filter(|(start, _)| *start as usize >= scanned) {
            let wanted = query.mask;
            let hits = part.masks().iter().enumerate().filter(|(_, mask)| wanted & !**mask == 0);
            found.extend(hits.filter_map(|(n, _)| {
                let cheap = query.test(part, n as u32)?;
                Some(Candidate { number: start + n as u32, cheap })
            }));
        }
        found
    }

    /// Numbers of the best, best first.
    fn best(&self, catalogue: &Catalogue, query: &Query, candidates: &mut Vec<Candidate>) -> Vec<u32> {
        if query.text.is_empty() {
            return candidates.iter().take(MOST).map(|c| c.number).collect();
        }
        let limit = if query.is_fuzzy() { SCORED } else { MOST };
        if candidates.len() > limit {
            candidates.select_nth_unstable_by_key(limit, |c| (std::cmp::Reverse(c.cheap), c.number));
            candidates.truncate(limit);
        }
        let mut scored: Vec<(i64, usize, u32)> = candidates
            .iter()
            .filter_map(|c| {
                let probe = catalogue.probe(c.number)?;
                let fuzzy =
                    if query.is_fuzzy() { self.matcher.fuzzy_match(probe.name, &query.text).unwrap_or(0) } else { 0 };
                Some((fuzzy + i64::from(c.cheap), probe.name.len(), c.number))
            })
            .collect();
        scored.sort_unstable_by_key(|(score, length, number)| (std::cmp::Reverse(*score), *length, *number));
        scored.into_iter().take(MOST).map(|(_, _, number)| number).collect()
    }

    fn hit(&self, catalogue: &Catalogue, query: &Query, number: u32) -> Option<Hit> {
        let probe = catalogue.probe(number)?;
        Some(Hit {
            name: probe.name.into(),
            kind: probe.kind,
            positions: query.positions(probe.name, &self.matcher),
            absence: probe.absence.cloned(),
        })
    }
}
