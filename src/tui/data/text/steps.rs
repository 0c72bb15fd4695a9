//! Undo in steps that a person would name: a word typed, a run of letters erased, a clause inserted; a pause or a save
//! ends a step, too. What was undone and then done otherwise stays as a branch of a tree.

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
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub text: String,
    /// Line and character of the cursor.
    pub cursor: (usize, usize),
    /// Byte of the cursor.
    pub offset: usize,
}

/// Where steps are joined from.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    known: usize,
    now: Option<usize>,
    before: Moment,
}

/// Back or forward again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
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

    /// What to do to make it, or to take it back.
    fn swap(&self, way: Way) -> Swap {
        let (gone, text, cursor) = match way {
            Way::Back => (&self.new, &self.old, self.before),
            Way::Forward => (&self.old, &self.new, self.after),
        };
        Swap { range: self.at..self.at + gone.len(), text: text.clone(), cursor }
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

/// A state of the text: what led there, and from which state.
#[derive(Clone, Debug)]
struct Node {
    step: Step,
    /// The state before; absent where that was the first one that is still known.
    parent: Option<usize>,
    /// The state that redo goes to: the one that was left last.
    next: Option<usize>,
}

/// A state that can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Names it until the next edit; 0 is the oldest state.
    pub number: usize,
    /// The state that it was made from; the oldest has none.
    pub from: Option<usize>,
    /// What was put in, and what was taken out, to get there.
    pub put: String,
    /// See `put`.
    pub taken: String,
    /// Whether it is the state of now.
    pub is_now: bool,
    /// Whether the state of now comes from it, or is it.
    pub is_past: bool,
}

/// All states of the text: what is undone and then done otherwise is a branch, and stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// In the order in which they came to be, so a parent is before its children.
    nodes: Vec<Node>,
    /// The state of now; absent at the oldest.
    now: Option<usize>,
    /// Where redo goes from the oldest.
    first: Option<usize>,
    last: Option<Kind>,
}

impl Steps {
    /// Notes an edit.
    pub fn note(&mut self, kind: Kind, before: &Moment, after: &Moment) {
        let mut step = Some(Step::between(before, after));
        let goes_on = self.last.replace(kind).is_some_and(|last| kind.follows(last));
        // What has been gone on from is a state that somebody may come back to.
        let open = self.now.and_then(|now| self.nodes.get_mut(now)).filter(|node| goes_on && node.next.is_none());
        if let Some(node) = open.filter(|node| node.step.after == before.cursor) {
            step = step.and_then(|step| node.step.extend(step));
        }
        if let Some(step) = step {
            self.nodes.push(Node { step, parent: self.now, next: None });
            self.arrive(self.nodes.len() - 1);
        }
        self.trim();
    }

    /// The state of now, to join what comes from here on.
    pub fn mark(&mut self, before: Moment) -> Mark {
        self.end();
        Mark { known: self.nodes.len(), now: self.now, before }
    }

    /// All steps since a mark are one, unless some were undone or forgotten meanwhile.
    pub fn join(&mut self, mark: Mark, after: &Moment) {
        let Mark { known, now, before } = mark;
        let follows = |at: usize| self.nodes[at].parent == if at == known { now } else { at.checked_sub(1) };
        let is_one_way = self.nodes.len() > known + 1
            && self.now == Some(self.nodes.len() - 1)
            && (known..self.nodes.len()).all(follows);
        if !is_one_way || before.text == after.text {
            return;
        }
        self.nodes.truncate(known);
        self.nodes.push(Node { step: Step::between(&before, after), parent: now, next: None });
        self.arrive(known);
        self.end();
    }

    /// Ends the step at hand: what comes next is one of its own.
    pub const fn end(&mut self) {
        self.last = None;
    }

    /// A state becomes the one of now; redo comes back to it.
    fn arrive(&mut self, at: usize) {
        let parent = self.nodes[at].parent;
        *parent.map_or(&mut self.first, |parent| &mut self.nodes[parent].next) = Some(at);
        self.now = Some(at);
    }

    /// Drops the oldest states where there are too many: half of them, so that this is rare.
    fn trim(&mut self) {
        let bytes: usize = self.nodes.iter().map(|node| node.step.bytes()).sum();
        if self.nodes.len() <= MOST_STEPS && bytes <= MOST_BYTES {
            return;
        }
        let mut path: Vec<usize> = self.ancestors(self.now).collect();
        path.reverse();
        // The newest step stays, however large it is.
        let most = path.len().saturating_sub(1);
        let cut = (path.len() / 2).max(usize::from(!path.is_empty())).min(most);
        let mut new_place = vec![None; self.nodes.len()];
        let root = cut.checked_sub(1).map(|before| path[before]);
        let mut kept: Vec<Node> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| new_place[parent]);
            let branches = cut > 0 || path.contains(&index);
            if branches && (parent.is_some() || node.parent == root) {
                new_place[index] = Some(kept.len());
                kept.push(Node { parent, ..node.clone() });
            }
        }
        let place = |at: Option<usize>| at.and_then(|at| new_place[at]);
        for node in &mut kept {
            node.next = place(node.next);
        }
        self.first = place(root.map_or(self.first, |root| self.nodes[root].next));
        self.now = place(self.now);
        self.nodes = kept;
    }

    /// A state and those before it, the newest first.
    fn ancestors(&self, from: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(from, |at| self.nodes[*at].parent)
    }

    /// The next step in a direction.
    pub fn go(&mut self, way: Way) -> Option<Swap> {
        self.last = None;
        match way {
            Way::Back => {
                let at = self.now?;
                self.now = self.nodes[at].parent;
                Some(self.nodes[at].step.swap(way))
            }
            Way::Forward => {
                let at = self.now.map_or(self.first, |now| self.nodes[now].next)?;
                self.arrive(at);
                Some(self.nodes[at].step.swap(way))
            }
        }
    }

    /// What leads to a state of this number: back to where it branches off, then forward.
    pub fn go_to(&mut self, number: usize) -> Vec<Swap> {
        if number > self.nodes.len() {
            return Vec::new();
        }
        let wanted = number.checked_sub(1);
        let path: Vec<usize> = self.ancestors(wanted).collect();
        let mut swaps = Vec::new();
        while self.now.is_some_and(|now| !path.contains(&now)) {
            swaps.extend(self.go(Way::Back));
        }
        let on = path.iter().rev().skip_while(|at| self.now.is_some_and(|now| **at <= now));
        for at in on.copied().collect::<Vec<_>>() {
            self.arrive(at);
            swaps.push(self.nodes[at].step.swap(Way::Forward));
        }
        self.last = None;
        swaps
    }

    /// The number of the state that came to be before that of now, or after it, whatever branch it is on.
    pub fn beside(&self, way: Way) -> Option<usize> {
        let now = self.now.map_or(0, |at| at + 1);
        match way {
            Way::Back => now.checked_sub(1),
            Way::Forward => (now < self.nodes.len()).then_some(now + 1),
        }
    }

    /// All states, the oldest first.
    pub fn stages(&self) -> Vec<Stage> {
        let past: Vec<usize> = self.ancestors(self.now).collect();
        let oldest = Stage {
            number: 0,
            from: None,
            put: String::new(),
            taken: String::new(),
            is_now: self.now.is_none(),
            is_past: true,
        };
        let later = self.nodes.iter().enumerate().map(|(at, node)| Stage {
            number: at + 1,
            from: Some(node.parent.map_or(0, |parent| parent + 1)),
            put: node.step.new.clone(),
            taken: node.step.old.clone(),
            is_now: self.now == Some(at),
            is_past: past.contains(&at),
        });
        std::iter::once(oldest).chain(later).collect()
    }
}
