//! A script as a tree of text, so that one that fails can be made smaller piece by piece.

use std::fmt;

/// What a piece of script is: pieces of one kind may stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole script, a probe, a definition.
    Top,
    /// A list of statements.
    Body,
    Statement,
    Predicate,
    /// An expression of any integer type.
    Int,
    Str,
    /// Anything else: nothing takes its place.
    Other,
}

/// A piece of script.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Node(Node),
    List(Vec<Node>),
}

/// Stands for a child in a template.
const CHILD: char = '¤';

impl Node {
    /// A piece by a template, in which each `¤` is the next child.
    pub fn new(kind: Kind, template: &str, children: Vec<Self>) -> Self {
        let mut parts = Vec::new();
        let mut children = children.into_iter();
        for (i, text) in template.split(CHILD).enumerate() {
            if i > 0 {
                parts.push(Part::Node(children.next().expect("a child for each sign in the template")));
            }
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
        }
        assert!(children.next().is_none(), "a sign for each child of {template}");
        Self { kind, parts }
    }

    pub fn leaf(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, parts: vec![Part::Text(text.into())] }
    }

    /// Pieces one after the other, each of which may be left out.
    pub fn list(kind: Kind, items: Vec<Self>) -> Self {
        Self { kind, parts: vec![Part::List(items)] }
    }

    /// The least that can stand in a place of this kind.
    fn least(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Int => Some(Self::leaf(kind, "1")),
            Kind::Str => Some(Self::leaf(kind, "\"a\"")),
            Kind::Predicate => Some(Self::leaf(kind, "")),
            Kind::Body | Kind::Top => Some(Self::list(kind, Vec::new())),
            Kind::Statement | Kind::Other => None,
        }
    }

    fn length(&self) -> usize {
        self.to_string().len()
    }

    /// This script with one piece left out or made simpler: the `n`-th of all that are. Counts `n` down.
    fn smaller(&self, n: &mut usize) -> Option<Self> {
        if let Some(least) = Self::least(self.kind).filter(|least| least.length() < self.length())
            && is_next(n)
        {
            return Some(least);
        }
        if let Some(inside) = self.same_kind_inside(self.kind, 3, n) {
            return Some(inside);
        }
        for (at, part) in self.parts.iter().enumerate() {
            let changed = match part {
                Part::Text(_) => None,
                Part::Node(child) => child.smaller(n).map(Part::Node),
                Part::List(items) => smaller_list(items, n).map(Part::List),
            };
            if let Some(changed) = changed {
                let mut copy = self.clone();
                copy.parts[at] = changed;
                return Some(copy);
            }
        }
        None
    }

    fn same_kind_inside(&self, kind: Kind, depth: u32, n: &mut usize) -> Option<Self> {
        if depth == 0 || matches!(kind, Kind::Other | Kind::Top) {
            return None;
        }
        for part in &self.parts {
            let children = match part {
                Part::Text(_) => continue,
                Part::Node(child) => std::slice::from_ref(child),
                Part::List(items) => items,
            };
            for child in children {
                if child.kind != kind {
                    if let Some(found) = child.same_kind_inside(kind, depth - 1, n) {
                        return Some(found);
                    }
                } else if is_next(n) {
                    return Some(child.clone());
                }
            }
        }
        None
    }
}

/// Whether this is the path that is wanted; counts down when it is not.
const fn is_next(n: &mut usize) -> bool {
    if *n == 0 {
        return true;
    }
    *n -= 1;
    false
}

fn smaller_list(items: &[Node], n: &mut usize) -> Option<Vec<Node>> {
    for i in 0..items.len() {
        if is_next(n) {
            let mut fewer = items.to_vec();
            fewer.remove(i);
            return Some(fewer);
        }
    }
    for (i, item) in items.iter().enumerate() {
        if let Some(one) = item.smaller(n) {
            let mut changed = items.to_vec();
            changed[i] = one;
            return Some(changed);
        }
    }
    None
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Node(child) => write!(f, "{child}")?,
                Part::List(items) => {
                    for item in items {
                        write!(f, "{item}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The smallest script found that still fails, within so many attempts.
pub fn shrink(script: &Node, attempts: u32, fails: &mut dyn FnMut(&str) -> bool) -> Node {
    let mut best = script.clone();
    let mut left = attempts;
    let mut better = true;
    while std::mem::take(&mut better) {
        let mut attempt = 0;
        while let Some(candidate) = best.smaller(&mut { attempt }) {
            if candidate.length() >= best.length() {
                attempt += 1;
                continue;
            }
            if left == 0 {
                return best;
            }
            left -= 1;
            if fails(&candidate.to_string()) {
                best = candidate;
                better = true;
            } else {
                attempt += 1;
            }
        }
    }
    best
}
