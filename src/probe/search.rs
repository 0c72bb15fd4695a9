//! Fuzzy search over a catalogue, fast enough for every keystroke.
//!
//! A probe must have the query's characters (one mask test), then the text as a whole, or its characters
//! in order. One scan over all names finds the whole texts, and these are ranked by where they stand;
//! only when they are too few are the best others scored by fuzzy-matcher. Scores are moved by what
//! people look for, worked out when the catalogue was built: short names, tracepoints before functions,
//! functions before what compilers made. What can't be attached here stands behind what can ([`rank::Class`]).
//! Queries of one or two characters are too vague to score and
//! list names with a word that starts so. A query that continues the last one looks only at its hits.

mod query;
mod rank;
mod thread;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

pub use thread::{Request, Searcher};

use super::catalogue::{Catalogue, ProbeKind};
use crate::kernel::Absence;
use query::{Match, Query};
use rank::Class;

/// Most results of one search.
pub const MOST: usize = 200;
/// Probes that are scored by fuzzy-matcher; the others are too far behind by their cheap signs.
const SCORED: usize = 300;
/// What fuzzy-matcher gives for a character of a text that stands in a name as a whole, about.
const WHOLE: i64 = 20;
/// What it gives at least where the characters stand close together.
const CLOSE: i64 = 15;
/// Keys of probes that can't be attached are so far behind those of others: further than scores differ.
const BEHIND: i32 = 1 << 20;

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
    /// How many of these can be attached here.
    pub usable: usize,
    /// How many probes there are.
    pub total: usize,
    /// False while the catalogue still grows: ask again.
    pub complete: bool,
    /// What could not be listed at all.
    pub absences: Vec<Absence>,
}

/// The probes that match, put in order by [`key`]s.
#[derive(Debug, Default)]
struct Found {
    /// Numbers of all of them, ascending.
    numbers: Vec<u32>,
    /// How many of them can be attached here.
    usable: usize,
    /// Those that have the query's text as a whole.
    whole: Vec<u64>,
    /// Those that have only its characters in their order.
    scattered: Vec<u64>,
}

impl Found {
    fn add(&mut self, number: u32, absent: bool, found: Match) {
        self.numbers.push(number);
        self.usable += usize::from(!absent);
        let behind = if absent { BEHIND } else { 0 };
        match found {
            Match::Whole(score) => self.whole.push(key(score - behind, number)),
            Match::Scattered(score) => self.scattered.push(key(score - behind, number)),
        }
    }
}

/// Score and number in one: smaller is better, then earlier.
fn key(score: i32, number: u32) -> u64 {
    let rank = (1_i64 << 31) - i64::from(score);
    (rank.clamp(0, i64::from(u32::MAX)) as u64) << 32 | u64::from(number)
}

const fn number_of(key: u64) -> u32 {
    key as u32
}

const fn score_of(key: u64) -> i64 {
    (1 << 31) - (key >> 32) as i64
}

/// The best of some, in no order.
fn keep_best(keys: &mut Vec<u64>, most: usize) {
    if keys.len() > most {
        keys.select_nth_unstable(most);
        keys.truncate(most);
    }
}

/// Most probes that can't be attached and have the whole text before what can be and has its characters all over: they
/// tell why what was meant is not there.
const FIRST_ABSENT: usize = 3;

/// A probe with its final score.
struct Scored {
    class: Class,
    score: i64,
    number: u32,
    length: usize,
    /// Where fuzzy-matcher found the characters.
    positions: Option<Vec<u32>>,
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
        let mut found = self.find(catalogue, &query);
        let (matched, usable) = (found.numbers.len(), found.usable);
        let best = self.best(catalogue, &query, &mut found);
        if !query.text.is_empty() {
            self.last = Some((query.clone(), catalogue.len(), found.numbers));
        }
        Results {
            generation,
            hits: best.into_iter().filter_map(|scored| hit(catalogue, &query, scored)).collect(),
            matched,
            usable,
            total: catalogue.len(),
            complete: catalogue.is_complete(),
            absences: catalogue.absences().to_vec(),
        }
    }

    /// Everything that matches.
    fn find(&self, catalogue: &Catalogue, query: &Query) -> Found {
        let known = self.last.as_ref().filter(|(last, _, _)| query.continues(last));
        let (scanned, mut known) = known.map_or((0, &[][..]), |(_, scanned, numbers)| (*scanned, numbers));
        let mut found = Found::default();
        for (start, part) in catalogue.parts() {
            let mut walk = query.walk(part);
            let mut test = |number: u32| {
                let name = part.signs(number)?;
                found.add(start + number, name.absent, query.test(part, &mut walk, &name)?);
                Some(())
            };
            if (start as usize) < scanned {
                let here = known.partition_point(|number| ((*number - start) as usize) < part.len());
                let (these, others) = known.split_at(here);
                known = others;
                for number in these {
                    test(number - start);
                }
            } else {
                for number in query.with_characters(part) {
                    test(number);
                }
            }
        }
        found
    }

    /// The best, best first.
    fn best(&self, catalogue: &Catalogue, query: &Query, found: &mut Found) -> Vec<Scored> {
        if query.text.is_empty() {
            let is_behind = |key: &&u64| score_of(**key) < -i64::from(BEHIND / 2);
            let (usable, absent) = (found.whole.iter().filter(|k| !is_behind(k)), found.whole.iter().filter(is_behind));
            return usable.chain(absent).take(MOST).filter_map(|key| whole(catalogue, query, *key)).collect();
        }
        keep_best(&mut found.whole, MOST);
        let mut scored: Vec<Scored> = found.whole.iter().filter_map(|key| whole(catalogue, query, *key)).collect();
        if scored.iter().filter(|s| s.class == Class::Whole).count() < MOST {
            keep_best(&mut found.scattered, SCORED);
            scored.extend(found.scattered.iter().filter_map(|key| self.scattered(catalogue, query, *key)));
        }
        let sort = |scored: &mut Vec<Scored>| {
            scored.sort_unstable_by_key(|s| (s.class, std::cmp::Reverse(s.score), s.length, s.number));
        };
        sort(&mut scored);
        for absent in scored.iter_mut().filter(|s| s.class == Class::AbsentWhole).skip(FIRST_ABSENT) {
            absent.class = Class::AbsentLoose;
        }
        sort(&mut scored);
        scored.truncate(MOST);
        scored
    }

    fn scattered(&self, catalogue: &Catalogue, query: &Query, key: u64) -> Option<Scored> {
        let number = number_of(key);
        let (part, within) = catalogue.place(number)?;
        let name = part.probe(within)?.name;
        let (fuzzy, positions) = self.matcher.fuzzy_indices(name, &query.text)?;
        let signs = part.signs(within)?;
        let is_close = fuzzy >= query.text.len() as i64 * CLOSE;
        Some(Scored {
            class: if is_close { Class::close(signs.absent) } else { Class::loose(signs.absent) },
            score: fuzzy + i64::from(signs.worth),
            number,
            length: name.len(),
            positions: Some(positions.into_iter().map(|n| n as u32).collect()),
        })
    }
}

/// A probe that has the text as a whole; scored as fuzzy-matcher would, about.
fn whole(catalogue: &Catalogue, query: &Query, key: u64) -> Option<Scored> {
    let number = number_of(key);
    let probe = catalogue.probe(number)?;
    let (length, class) = (probe.name.len(), Class::whole(probe.absence.is_some()));
    let text = if query.is_fuzzy() { query.text.len() as i64 * WHOLE } else { 0 };
    Some(Scored { class, score: score_of(key) + text, number, length, positions: None })
}

fn hit(catalogue: &Catalogue, query: &Query, scored: Scored) -> Option<Hit> {
    let (part, within) = catalogue.place(scored.number)?;
    let probe = part.probe(within)?;
    Some(Hit {
        name: probe.name.into(),
        kind: probe.kind,
        positions: match scored.positions {
            Some(positions) => positions,
            None => query.positions(part, &part.signs(within)?),
        },
        absence: probe.absence.cloned(),
    })
}
