//! Frames that are looked for.

use regex::{Regex, RegexBuilder};

use super::feed::Feed;
use crate::model::flame::{FlameTree, NodeId};

/// Largest compiled pattern, bytes.
const LARGEST: usize = 1 << 20;

/// What is looked for and what was found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    text: String,
    pattern: Option<Regex>,
    /// Why the text is no pattern.
    pub error: Option<String>,
    /// By name of the tree: it is one of those looked for.
    marked: Vec<bool>,
    /// The reading that was looked through.
    looked: Option<u64>,
    /// Value of all stacks with such a frame.
    pub found: u64,
}

impl Search {
    /// What was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether something is looked for.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.pattern.is_some()
    }

    /// Looks for something else: a regular expression, small letters standing for both.
    pub fn set(&mut self, text: &str, feed: &Feed) {
        text.clone_into(&mut self.text);
        self.error = None;
        self.pattern = None;
        if !text.is_empty() {
            let small = !text.chars().any(char::is_uppercase);
            match RegexBuilder::new(text).case_insensitive(small).size_limit(LARGEST).build() {
                Ok(pattern) => self.pattern = Some(pattern),
                Err(regex::Error::CompiledTooBig(_)) => self.error = Some("too large".to_owned()),
                Err(error) => {
                    let words = error.to_string();
                    let last = words.lines().last().unwrap_or_default();
                    self.error = Some(last.trim_start_matches("error: ").to_owned());
                }
            }
        }
        self.forget();
        self.look(feed);
    }

    /// The tree is another one.
    pub fn forget(&mut self) {
        self.marked.clear();
        self.looked = None;
        self.found = 0;
    }

    /// Looks through a reading, once.
    pub fn look(&mut self, feed: &Feed) {
        let (Some(pattern), Some(tree)) = (&self.pattern, feed.tree()) else { return };
        if self.looked.replace(feed.readings()) == Some(feed.readings()) {
            return;
        }
        let names = tree.names();
        for name in names.iter().skip(self.marked.len()) {
            self.marked.push(pattern.is_match(&name.text));
        }
        self.found = tree.share_of(&self.marked);
    }

    /// Whether a frame is one of those looked for.
    #[must_use]
    pub fn is_found(&self, tree: &FlameTree, node: NodeId) -> bool {
        self.pattern.is_some() && self.marked.get(tree.name_id(node) as usize).copied().unwrap_or(false)
    }
}
