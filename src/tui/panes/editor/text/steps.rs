//! Undo in steps that a person would name: a word typed, a run of letters erased, a clause inserted; a pause or a save
//! ends a step, too.

use std::ops::Range;

/// Steps that are kept, at most, and their bytes together.
const MOST_STEPS: usize = 5000;
const MOST_BYTES: usize = 16 << 20;

/// What is known of an edit when it is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A character typed.
    Typed(char),
    /// Backspace.
    Erased,
    /// The delete key.
    Deleted,
    /// Anything else: a step of its own.
    Other,
}

impl Kind {
    /// Whether this edit belongs to the step of the one before: words are typed with the blanks in
    /// front of them.
    fn follows(self, last: Self) -> bool {
        match (last, self) {
            (Self::Typed(last), Self::Typed(now)) => !now.is_whitespace() || last.is_whitespace(),
            (Self::Erased, Self::Erased) | (Self::Deleted, Self::Deleted) => true,
            _ => false,
        }
    }
}

/// The text at one moment.
pub(super) struct Moment {
    pub text: String,
    /// Line and character of the cursor.
    pub cursor: (usize, usize),
    /// Byte of the cursor.
    pub offset: usize,
}

/// Back or forward again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Back,
    Forward,
}

/// What to do for a step back or forward.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Swap {
    /// Bytes to replace.
    pub range: Range<usize>,
    /// What comes there.
    pub text: String,
    /// Where the cursor belongs then.
    pub cursor: (usize, usize),
}

/// One place that changed.
#[derive(Clone, Debug)]
struct Step {
    at: usize,
    old: String,
    new: String,
    before: (usize, usize),
    after: (usize, usize),
}

impl Step {
    fn between(before: &Moment, after: &Moment) -> Self {
        let (old, new) = (before.text.as_str(), after.text.as_str());
        // Not behind the cursor: which of two equal letters was typed shows in its place alone.
        let at = same(old.chars().zip(new.chars()), before.offset.min(after.offset));
        let most = old.len().min(new.len()) - at;
        let tail = same(old.chars().rev().zip(new.chars().rev()), most);
        let part = |text: &str| text[at..text.len() - tail].to_owned();
        Self { at, old: part(old), new: part(new), before: before.cursor, after: after.cursor }
    }

    /// Takes a later step into this one where it goes on at its edge; gives it back otherwise.
    fn extend(&mut self, later: Self) -> Option<Self> {
        if later.old.is_empty() && later.at == self.at + self.new.len() {
            self.new.push_str(&later.new);
        } else if later.new.is_empty() && self.new.is_empty() && later.at + later.old.len() == self.at {
            self.at = later.at;
            self.old.insert_str(0, &later.old);
        } else if later.new.is_empty() && self.new.is_empty() && later.at == self.at {
            self.old.push_str(&later.old);
        } else {
            return Some(later);
        }
        self.after = later.after;
        None
    }

    const fn bytes(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// Bytes of the characters that are equal in both before the first that is not, at most `most`.
fn same(pairs: impl Iterator<Item = (char, char)>, most: usize) -> usize {
    let mut bytes = 0;
    for (a, b) in pairs {
        if a != b || bytes + a.len_utf8() > most {
            break;
        }
        bytes += a.len_utf8();
    }
    bytes
}

/// What was done and what was undone.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    past: Vec<Step>,
    future: Vec<Step>,
    last: Option<Kind>,
}

impl Steps {
    /// Notes an edit.
    pub fn note(&mut self, kind: Kind, before: &Moment, after: &Moment) {
        self.future.clear();
        let mut step = Some(Step::between(before, after));
        let goes_on = self.last.replace(kind).is_some_and(|last| kind.follows(last));
        if let Some(last) = self.past.last_mut().filter(|last| goes_on && last.after == before.cursor) {
            step = step.and_then(|step| last.extend(step));
        }
        self.past.extend(step);
        self.trim();
    }

    /// Ends the step at hand: what comes next is one of its own.
    pub const fn end(&mut self) {
        self.last = None;
    }

    /// Forgets the oldest steps where there are too many.
    fn trim(&mut self) {
        let mut bytes = 0;
        let kept = self.past.iter().rev().take(MOST_STEPS).take_while(|step| {
            bytes += step.bytes();
            bytes <= MOST_BYTES
        });
        self.past.drain(..self.past.len() - kept.count());
    }

    /// The next step in a direction.
    pub fn go(&mut self, way: Way) -> Option<Swap> {
        self.last = None;
        let (from, to) = match way {
            Way::Back => (&mut self.past, &mut self.future),
            Way::Forward => (&mut self.future, &mut self.past),
        };
        let step = from.pop()?;
        let (gone, text, cursor) = match way {
            Way::Back => (&step.new, &step.old, step.before),
            Way::Forward => (&step.old, &step.new, step.after),
        };
        let swap = Swap { range: step.at..step.at + gone.len(), text: text.clone(), cursor };
        to.push(step);
        Some(swap)
    }
}
