//! Where vi's motions go: from a byte of the text to a byte of it, and what an operator takes on the way.

use std::ops::Range;

use crate::tui::data::text::places_of;

/// A motion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Motion {
    Left,
    Right,
    Up,
    Down,
    LineStart,
    FirstInk,
    LineEnd,
    Column,
    /// To the start of the next word; `big` words end at blanks only.
    WordNext {
        big: bool,
    },
    WordEnd {
        big: bool,
    },
    WordBack {
        big: bool,
    },
    WordEndBack {
        big: bool,
    },
    /// `gg`, `G`: a line by its number, else the first or the last.
    Line {
        last: bool,
    },
    /// `f`, `t` and their opposites.
    Find(Find),
    /// `;` and `,`.
    FindAgain {
        reversed: bool,
    },
    Paragraph {
        back: bool,
    },
    Bracket,
    LineDown,
    LineUp,
    /// `_`: this line, or so many further.
    Underscore,
    HalfPage {
        down: bool,
    },
    /// `H`, `M`, `L`: by the part of the view, of two.
    Screen(u8),
    /// `n`, `N`.
    Again {
        back: bool,
    },
    /// `*`, `#`.
    Same {
        back: bool,
    },
    /// `'a`, `` `a ``: the line, or the very place.
    Mark(char, bool),
}

/// A character to go to in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    /// Which.
    pub wanted: char,
    /// The place before it.
    pub till: bool,
    /// To the left.
    pub back: bool,
}

/// What an operator takes of a motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Not the character that it goes to.
    Exclusive,
    /// That, too.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// Where a motion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Byte of the text.
    pub at: usize,
    /// What an operator takes.
    pub extent: Extent,
}

/// What motions know besides the text.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// The column that lines up and down keep to, where it is not the cursor's.
    pub column: Option<usize>,
    /// What `;` repeats.
    pub found: Option<Find>,
    /// What `n` looks for.
    pub query: Option<&'a str>,
    /// First line and height of the view.
    pub view: (usize, usize),
    /// Bytes of marks.
    pub marks: &'a [(char, usize)],
}

/// Blank, letter or sign: words end where it changes.
pub(super) fn class(c: char, big: bool) -> u8 {
    match c {
        c if c.is_whitespace() => 0,
        c if big || c.is_alphanumeric() || c == '_' => 1,
        _ => 2,
    }
}

/// A text that is moved in.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a str);

impl<'a> Text<'a> {
    /// The character at a byte.
    #[must_use]
    pub fn char_at(self, at: usize) -> Option<char> {
        self.0.get(at..)?.chars().next()
    }

    /// The byte after the character at one.
    #[must_use]
    pub fn after(self, at: usize) -> usize {
        at + self.char_at(at).map_or(0, char::len_utf8)
    }

    /// The byte of the character before one.
    #[must_use]
    pub fn before(self, at: usize) -> Option<usize> {
        self.0[..at].char_indices().next_back().map(|(before, _)| before)
    }

    /// Where the line of a byte begins.
    #[must_use]
    pub fn line_start(self, at: usize) -> usize {
        self.0[..at].rfind('\n').map_or(0, |n| n + 1)
    }

    /// Where it ends: its newline, or the end of the text.
    #[must_use]
    pub fn line_end(self, at: usize) -> usize {
        self.0[at..].find('\n').map_or(self.0.len(), |n| at + n)
    }

    /// The number of its line, from 0.
    #[must_use]
    pub fn line_of(self, at: usize) -> usize {
        self.0[..at].matches('\n').count()
    }

    /// The start of a line, of the last one where there are fewer.
    #[must_use]
    pub fn line(self, number: usize) -> usize {
        let starts = std::iter::once(0).chain(self.0.match_indices('\n').map(|(n, _)| n + 1));
        starts.take(number.saturating_add(1)).last().unwrap_or(0)
    }

    /// The first character of a line that is no blank.
    #[must_use]
    pub fn first_ink(self, at: usize) -> usize {
        let start = self.line_start(at);
        let line = &self.0[start..self.line_end(at)];
        start + line.find(|c: char| !c.is_whitespace()).unwrap_or(line.len())
    }

    /// The last character of a line, its start where it is empty.
    #[must_use]
    pub fn last_char(self, at: usize) -> usize {
        let (start, end) = (self.line_start(at), self.line_end(at));
        self.0[start..end].char_indices().next_back().map_or(start, |(n, _)| start + n)
    }

    /// A column of the line of a byte, or its end.
    fn column(self, at: usize, column: usize) -> usize {
        let start = self.line_start(at);
        let line = &self.0[start..self.line_end(at)];
        start + line.char_indices().nth(column).map_or(line.len(), |(n, _)| n)
    }

    /// The lines that a range touches, the newline behind them included.
    #[must_use]
    pub fn lines_of(self, range: Range<usize>) -> Range<usize> {
        let end = self.line_end(range.end.max(range.start));
        self.line_start(range.start)..(end + 1).min(self.0.len())
    }

    fn word_next(self, mut at: usize, big: bool) -> usize {
        let Some(first) = self.char_at(at) else { return at };
        let from = class(first, big);
        while from != 0 && self.char_at(at).is_some_and(|c| class(c, big) == from) {
            at = self.after(at);
        }
        while let Some(c) = self.char_at(at).filter(|c| class(*c, big) == 0) {
            at = self.after(at);
            // An empty line is a word.
            if c == '\n' && self.char_at(at) == Some('\n') {
                break;
            }
        }
        at
    }

    /// From a place in a word to its end, and on to the ends of the next ones.
    #[must_use]
    pub fn word_rest(self, at: usize, big: bool, count: usize) -> Range<usize> {
        let of = self.char_at(at).map_or(0, |c| class(c, big));
        let mut end = at;
        while self.char_at(end).is_some_and(|c| class(c, big) == of) {
            end = self.after(end);
        }
        for _ in 1..count.min(self.0.len() + 1) {
            end = self.after(self.word_end(self.before(end).unwrap_or(at), big));
        }
        at..end
    }

    fn word_end(self, at: usize, big: bool) -> usize {
        let mut at = self.after(at);
        while self.char_at(at).is_some_and(|c| class(c, big) == 0) {
            at = self.after(at);
        }
        let Some(of) = self.char_at(at).map(|c| class(c, big)) else { return self.before(at).unwrap_or(at) };
        while self.char_at(self.after(at)).is_some_and(|c| class(c, big) == of) {
            at = self.after(at);
        }
        at
    }

    fn word_back(self, mut at: usize, big: bool) -> usize {
        while let Some(before) = self.before(at).filter(|b| self.char_at(*b).is_some_and(|c| class(c, big) == 0)) {
            at = before;
        }
        let Some(of) = self.before(at).and_then(|b| self.char_at(b)).map(|c| class(c, big)) else { return at };
        while let Some(before) = self.before(at).filter(|b| self.char_at(*b).is_some_and(|c| class(c, big) == of)) {
            at = before;
        }
        at
    }

    fn word_end_back(self, mut at: usize, big: bool) -> usize {
        let Some(of) = self.char_at(at).map(|c| class(c, big)) else { return at };
        while of != 0 && self.char_at(at).is_some_and(|c| class(c, big) == of) {
            let Some(before) = self.before(at) else { return 0 };
            at = before;
        }
        while self.char_at(at).is_some_and(|c| class(c, big) == 0) {
            let Some(before) = self.before(at) else { return 0 };
            at = before;
        }
        at
    }

    fn find(self, at: usize, find: Find, count: usize) -> Option<usize> {
        if find.back {
            let start = self.line_start(at);
            let found = self.0[start..at].char_indices().rev().filter(|(_, c)| *c == find.wanted).nth(count - 1)?.0;
            return Some(if find.till { self.after(start + found) } else { start + found });
        }
        let from = self.after(at).min(self.line_end(at));
        let found = self.0[from..self.line_end(at)].char_indices().filter(|(_, c)| *c == find.wanted).nth(count - 1)?.0;
        if find.till { self.before(from + found) } else { Some(from + found) }
    }

    fn paragraph(self, at: usize, back: bool) -> usize {
        let lines: Vec<&str> = self.0.split('\n').collect();
        let is_blank = |n: usize| lines[n].trim().is_empty();
        let mut line = self.line_of(at);
        let step = |line: usize| if back { line.checked_sub(1) } else { Some(line + 1).filter(|n| *n < lines.len()) };
        while is_blank(line) {
            let Some(next) = step(line) else { break };
            line = next;
        }
        while !is_blank(line) {
            let Some(next) = step(line) else { return if back { 0 } else { self.0.len() } };
            line = next;
        }
        self.line(line)
    }

    /// The next place of a text, around the ends.
    fn search(self, query: &str, at: usize, back: bool) -> Option<usize> {
        let places = places_of(self.0, query);
        if back {
            places.iter().rev().find(|n| **n < at).or(places.last()).copied()
        } else {
            places.iter().find(|n| **n > at).or(places.first()).copied()
        }
    }

    /// The word at a byte, or the next one in its line.
    #[must_use]
    pub fn word(self, at: usize) -> Option<&'a str> {
        let is_word = |c: char| class(c, false) == 1;
        let from = at + self.0[at..self.line_end(at)].find(is_word)?;
        let start = self.0[..from].rfind(|c| !is_word(c)).map_or(0, |n| self.after(n));
        let end = self.0[from..].find(|c| !is_word(c)).map_or(self.0.len(), |n| from + n);
        self.0.get(start..end)
    }

    /// Where a motion goes; nowhere if there is no such place.
    #[must_use]
    pub fn go(self, motion: &Motion, at: usize, count: Option<usize>, known: &Known<'_>) -> Option<Landing> {
        let times = count.unwrap_or(1);
        let exclusive = |at| Some(Landing { at, extent: Extent::Exclusive });
        let inclusive = |at| Some(Landing { at, extent: Extent::Inclusive });
        let repeated = |step: &dyn Fn(usize) -> usize| (0..times.min(self.0.len() + 1)).fold(at, |at, _| step(at));
        let line = self.line_of(at);
        match motion {
            Motion::Left => exclusive(repeated(&|at| self.before(at).map_or(at, |b| b.max(self.line_start(at))))),
            Motion::Right => exclusive(repeated(&|at| self.after(at).min(self.line_end(at)))),
            Motion::LineStart => exclusive(self.line_start(at)),
            Motion::FirstInk => exclusive(self.first_ink(at)),
            Motion::LineEnd => inclusive(self.last_char(self.line(line + times - 1))),
            Motion::Column => exclusive(self.column(at, times - 1)),
            Motion::WordNext { big } => exclusive(repeated(&|at| self.word_next(at, *big))),
            Motion::WordEnd { big } => inclusive(repeated(&|at| self.word_end(at, *big))),
            Motion::WordBack { big } => exclusive(repeated(&|at| self.word_back(at, *big))),
            Motion::WordEndBack { big } => inclusive(repeated(&|at| self.word_end_back(at, *big))),
            Motion::Find(find) => self.found(at, *find, times),
            Motion::FindAgain { reversed } => {
                let find = known.found?;
                self.found(at, Find { back: find.back != *reversed, ..find }, times)
            }
            Motion::Paragraph { back } => exclusive(repeated(&|at| self.paragraph(at, *back))),
            Motion::Again { back } => exclusive(self.search(known.query?, at, *back)?),
            Motion::Same { back } => exclusive(self.search(self.word(at)?, at, *back)?),
            Motion::Mark(name, exact) => {
                let place = known.marks.iter().find(|(mark, _)| mark == name)?.1.min(self.0.len());
                if *exact { exclusive(place) } else { self.by_lines(self.first_ink(place)) }
            }
            _ => self.by_lines(self.line_motion(motion, at, count, known)?),
        }
    }

    fn found(self, at: usize, find: Find, times: usize) -> Option<Landing> {
        let extent = if find.back { Extent::Exclusive } else { Extent::Inclusive };
        Some(Landing { at: self.find(at, find, times.max(1))?, extent })
    }

    #[allow(clippy::unused_self, reason = "reads as the others do")]
    fn by_lines(self, at: usize) -> Option<Landing> {
        Some(Landing { at, extent: Extent::Lines })
    }

    /// Motions that operators take whole lines of.
    fn line_motion(self, motion: &Motion, at: usize, count: Option<usize>, known: &Known<'_>) -> Option<usize> {
        let (times, line) = (count.unwrap_or(1), self.line_of(at));
        let last = self.line_of(self.0.len());
        let down = |by: usize| (line + by <= last).then(|| self.line(line + by));
        let up = |by: usize| line.checked_sub(by).map(|to| self.line(to));
        let keeping = |start: usize| {
            let column = known.column.unwrap_or_else(|| self.0[self.line_start(at)..at].chars().count());
            self.column(start, column)
        };
        Some(match motion {
            Motion::Down => keeping(down(times)?),
            Motion::Up => keeping(up(times)?),
            Motion::LineDown => self.first_ink(down(times)?),
            Motion::LineUp => self.first_ink(up(times)?),
            Motion::Underscore => self.first_ink(down(times - 1)?),
            Motion::HalfPage { down: true } => keeping(self.line((line + known.view.1 / 2).min(last))),
            Motion::HalfPage { .. } => keeping(self.line(line.saturating_sub(known.view.1 / 2))),
            Motion::Screen(part) => {
                let shown = known.view.1.saturating_sub(1).min(last.saturating_sub(known.view.0));
                self.first_ink(self.line(known.view.0 + shown * usize::from(*part) / 2))
            }
            Motion::Line { last: to_last } => {
                let number = count.map_or(if *to_last { last } else { 0 }, |n| n.saturating_sub(1).min(last));
                self.first_ink(self.line(number))
            }
            _ => return None,
        })
    }
}
