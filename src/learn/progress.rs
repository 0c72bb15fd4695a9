//! What a student has done, as it is kept.

use std::collections::BTreeMap;

/// Lessons that are remembered.
const MOST: usize = 1000;

/// Which lessons are done, and how many hints were shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// Lessons that were passed, by their names.
    #[serde(default)]
    pub done: BTreeMap<String, Done>,
    /// How many hints of a lesson were shown.
    #[serde(default)]
    pub hints: BTreeMap<String, u32>,
}

/// How a lesson was passed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// When, in seconds since 1970.
    pub at: u64,
    /// On a recording, not live.
    #[serde(default)]
    pub recorded: bool,
}

impl Progress {
    /// Reads what was kept; what is none is an empty one.
    #[must_use]
    pub fn parse(json: &str) -> Self {
        let read: Self = serde_json::from_str(json).unwrap_or_default();
        if read.done.len() > MOST || read.hints.len() > MOST { Self::default() } else { read }
    }

    /// As it is kept.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_rubbish_is_nothing() {
        let mut progress = Progress::default();
        progress.done.insert("01-x".to_owned(), Done { at: 5, recorded: true });
        progress.hints.insert("02-y".to_owned(), 2);
        assert_eq!(Progress::parse(&progress.text()), progress);
        assert_eq!(Progress::parse("{\"done\": 4}"), Progress::default());
    }
}
