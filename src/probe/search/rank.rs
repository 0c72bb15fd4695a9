//! The signs by which probes are put in order, beside fuzzy-matcher's score (about 16 a character).

use memchr::memmem::Finder;

use crate::probe::catalogue::{Part, Signs};

/// What comes first whatever its score: what can be attached here. Only where the letters of what was typed
/// lie all over a name, what has them as it was typed is meant rather, and says why it can't be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Can be attached and has the whole text.
    Whole,
    /// Can be attached and has the characters close together.
    Close,
    /// Can't be attached and has the whole text.
    AbsentWhole,
    /// Can't be attached and has the characters close together.
    AbsentClose,
    /// Can be attached and has the characters somewhere.
    Loose,
    /// Can't be attached and has the characters somewhere.
    AbsentLoose,
}

impl Class {
    pub(super) const fn whole(absent: bool) -> Self {
        if absent { Self::AbsentWhole } else { Self::Whole }
    }

    pub(super) const fn close(absent: bool) -> Self {
        if absent { Self::AbsentClose } else { Self::Close }
    }

    pub(super) const fn loose(absent: bool) -> Self {
        if absent { Self::AbsentLoose } else { Self::Loose }
    }
}

/// Places of the query in a name that are compared.
const PLACES: usize = 8;

/// Goes through a part's names in ascending order with a text that is looked for. The scan runs over all
/// names at once and stops only where the text is, so names without it cost next to nothing.
pub(super) struct Walk<'a> {
    names: &'a [u8],
    finder: &'a Finder<'static>,
    /// The next place; `None` before the first scan.
    next: Option<usize>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(part: &'a Part, finder: &'a Finder<'static>) -> Self {
        Self { names: part.searched().as_bytes(), finder, next: None }
    }

    /// First place of the text in a name; names are asked for in ascending order.
    pub(super) fn first_in(&mut self, name: &Signs) -> Option<usize> {
        let next = self.next.filter(|next| *next >= name.start).unwrap_or_else(|| {
            let rest = self.names.get(name.start..).unwrap_or(&[]);
            self.finder.find(rest).map_or(usize::MAX, |at| at + name.start)
        });
        self.next = Some(next);
        // The text has no line end, so what starts in a name ends in it.
        (next < name.end).then_some(next)
    }

    /// Bonus for where the text stands in a name as a whole; `None` when it does not. Short texts only
    /// count at the start of a word.
    pub(super) fn place(&mut self, name: &Signs) -> Option<i32> {
        let first = self.first_in(name)?;
        let length = self.finder.needle().len();
        let start = best_place(self.names, name, self.finder, first);
        let at_word = is_word_start(self.names, name, start);
        if length < 3 && !at_word {
            return None;
        }
        let end = start + length;
        let whole = end == name.end;
        let word_end = whole || self.names.get(end).is_some_and(|b| !b.is_ascii_alphanumeric());
        Some(match (start == name.own, at_word, whole) {
            (true, _, true) => 240,
            (false, true, true) if start > name.own => 160,
            (true, _, false) if word_end => 110,
            (true, _, false) => 90,
            (false, true, _) if word_end => 70,
            (false, true, _) => 50,
            (false, false, _) => 10,
        })
    }
}

/// Where a text stands in a name at its best, from its first place on: in the probe's own name at the
/// start of a word, then anywhere at the start of a word, then anywhere.
pub(super) fn best_place(names: &[u8], name: &Signs, finder: &Finder<'_>, first: usize) -> usize {
    let length = finder.needle().len().max(1);
    let sign = |at: usize| {
        let whole = at + length == name.end;
        i32::from(is_word_start(names, name, at)) * 4 + i32::from(at >= name.own) * 2 + i32::from(whole)
    };
    let (mut best, mut best_sign) = (first, sign(first));
    let mut at = first;
    for _ in 1..PLACES {
        let Some(next) = names.get(at + length..name.end).and_then(|rest| finder.find(rest)) else { break };
        at += length + next;
        if sign(at) > best_sign {
            (best, best_sign) = (at, sign(at));
        }
    }
    best
}

/// How well a name has the characters of `wanted` in their order; `None` when it hasn't. Taken from the
/// end, so that they fall into the probe's own name, at little cost: only good to choose what
/// fuzzy-matcher scores.
pub(super) fn scattered(names: &[u8], name: &Signs, wanted: &[u8]) -> Option<i32> {
    let bytes = names.get(name.start..name.end)?;
    let mut left = wanted.len();
    let (mut score, mut last) = (0, usize::MAX);
    for (at, byte) in bytes.iter().enumerate().rev() {
        if left == 0 {
            break;
        }
        if wanted.get(left - 1) != Some(byte) {
            continue;
        }
        left -= 1;
        let starts = at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|b| !b.is_ascii_alphanumeric());
        score += i32::from(at + 1 == last) * 4 + i32::from(starts) * 8;
        last = at;
    }
    // Where a character is missing, there may be no last place at all.
    if left > 0 {
        return None;
    }
    let in_own = i32::from(name.start.saturating_add(last) >= name.own) * 16;
    Some(score + in_own)
}

fn is_word_start(names: &[u8], name: &Signs, at: usize) -> bool {
    at == name.start
        || at.checked_sub(1).and_then(|before| names.get(before)).is_none_or(|b| !b.is_ascii_alphanumeric())
}
