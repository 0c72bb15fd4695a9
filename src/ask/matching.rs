//! Ranks questions by what somebody has typed: words of the question, words for what it is about, typing errors.
//!
//! A word counts the more, the fewer questions have it (inverse document frequency); a question whose words are all
//! typed stands above one that has them among many. The last word may be unfinished.

use std::collections::{HashMap, HashSet};

use crate::question::{Question, QuestionError};
use crate::texts::TEXTS;

/// Words that tell nothing.
const IDLE: &[&str] = &[
    "a",
    "an",
    "the",
    "is",
    "are",
    "was",
    "be",
    "my",
    "our",
    "your",
    "this",
    "that",
    "these",
    "it",
    "its",
    "i",
    "me",
    "we",
    "you",
    "of",
    "to",
    "in",
    "on",
    "at",
    "for",
    "from",
    "by",
    "with",
    "and",
    "or",
    "do",
    "does",
    "did",
    "can",
    "could",
    "has",
    "have",
    "had",
    "will",
    "should",
    "there",
    "some",
    "any",
    "s",
    "t",
    "please",
    "show",
    "tell",
    "find",
    "see",
    "get",
    "so",
    "all",
    "machine",
    "box",
    "host",
    "server",
    "system",
    "linux",
    "as",
    "up",
    "one",
    "am",
    "how",
    "keep",
    "than",
    "then",
    "if",
    "when",
    "being",
    "been",
    "doing",
    "happen",
    "happening",
    "happens",
];

/// Words that mean the same to who asks.
const SAME: &[(&str, &str)] = &[
    ("app", "process"),
    ("application", "process"),
    ("service", "process"),
    ("daemon", "process"),
    ("pid", "process"),
    ("task", "process"),
    ("sluggish", "slow"),
    ("laggy", "slow"),
    ("lag", "slow"),
    ("slower", "slow"),
    ("crawl", "slow"),
    ("hdd", "disk"),
    ("ssd", "disk"),
    ("nvme", "disk"),
    ("drive", "disk"),
    ("storage", "disk"),
    ("ram", "memory"),
    ("mem", "memory"),
    ("net", "network"),
    ("processor", "cpu"),
    ("core", "cpu"),
    ("socket", "network"),
    ("directory", "folder"),
    ("lookup", "resolve"),
    ("erase", "delete"),
    ("remove", "delete"),
    ("rm", "delete"),
    ("unlink", "delete"),
    ("launch", "start"),
    ("spawn", "start"),
    ("eat", "use"),
    ("consume", "use"),
    ("hog", "use"),
    ("burn", "use"),
    ("murder", "kill"),
    ("terminate", "kill"),
    ("routine", "function"),
    ("method", "function"),
    ("fault", "fault"),
    ("stall", "hang"),
    ("freeze", "hang"),
    ("frozen", "hang"),
    ("stuck", "hang"),
];

/// How much a word counts where it stands.
const IN_QUESTION: f64 = 2.0;
const IN_WORDS: f64 = 1.6;
const IN_NAME: f64 = 1.2;
const IN_GROUP: f64 = 0.6;
const IN_READING: f64 = 0.35;
/// What is left of a word's weight when it is only begun, or has a typing error.
const BEGUN: f64 = 0.7;
const MISTYPED: f64 = 0.55;
/// What a question that many ask has before the others.
const OFTEN: f64 = 1.15;

/// One question that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<'a> {
    /// The question.
    pub question: &'a Question,
    /// How well it fits; only its order means something.
    pub score: f64,
}

/// All questions, ready to be searched.
#[derive(Debug)]
pub struct Catalogue {
    questions: Vec<Question>,
    /// For each question its words with what they count.
    weights: Vec<HashMap<String, f64>>,
    /// For each word in how many questions it stands.
    spread: HashMap<String, usize>,
}

impl Catalogue {
    /// The questions that the program brings along.
    ///
    /// # Errors
    /// One of them is no question, which a test excludes.
    pub fn bundled() -> Result<Self, QuestionError> {
        let questions = TEXTS.iter().map(|(name, text)| Question::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(questions))
    }

    /// These questions.
    #[must_use]
    pub fn of(questions: Vec<Question>) -> Self {
        let weights: Vec<HashMap<String, f64>> = questions.iter().map(weights_of).collect();
        let mut spread: HashMap<String, usize> = HashMap::new();
        for words in &weights {
            for word in words.keys() {
                *spread.entry(word.clone()).or_insert(0) += 1;
            }
        }
        Self { questions, weights, spread }
    }

    /// All of them, in alphabetical order.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// The question of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.name == name)
    }

    /// The questions that fit, best first. Nothing typed fits nothing.
    #[must_use]
    pub fn search(&self, typed: &str) -> Vec<Hit<'_>> {
        // More than a screen's line was pasted, not asked.
        let typed: String = typed.chars().take(400).collect();
        let whole = words_of(&typed);
        let telling: Vec<&String> = whole.iter().filter(|word| !IDLE.contains(&word.as_str())).collect();
        let asked: Vec<&String> = if telling.is_empty() { whole.iter().collect() } else { telling };
        let ends_in_word = typed.ends_with(|c: char| c.is_alphanumeric());
        let begun = asked.last().filter(|_| ends_in_word).map(|word| word.as_str());
        let mut hits: Vec<Hit<'_>> = (0..self.questions.len())
            .filter_map(|at| {
                let score = self.score(at, &asked, begun);
                (score > 0.0).then(|| Hit { question: &self.questions[at], score })
            })
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.question.name.cmp(&b.question.name)));
        hits
    }

    fn score(&self, at: usize, asked: &[&String], begun: Option<&str>) -> f64 {
        let own = &self.weights[at];
        let (mut sum, mut met, mut all) = (0.0, 0.0, 0.0);
        let mut seen = HashSet::new();
        for word in asked {
            if !seen.insert(word.as_str()) {
                continue;
            }
            let rarity = self.rarity(word);
            all += rarity;
            let weight = own.get(*word).copied().unwrap_or_else(|| self.near(own, word, begun == Some(word.as_str())));
            if weight > 0.0 {
                sum += weight * rarity;
                met += rarity;
            }
        }
        if all == 0.0 || sum == 0.0 {
            return 0.0;
        }
        let covered = met / all;
        let often = if self.questions[at].often { OFTEN } else { 1.0 };
        sum * often * (0.4 + 0.6 * covered)
    }

    /// The weight of a word that the question does not have as it is typed: begun, or mistyped.
    fn near(&self, own: &HashMap<String, f64>, word: &str, is_begun: bool) -> f64 {
        let length = word.chars().count();
        let mut best: f64 = 0.0;
        for (other, weight) in own {
            if is_begun && length >= 2 && other.starts_with(word) {
                best = best.max(weight * BEGUN);
            }
            let is_known = self.spread.contains_key(word);
            if !is_known && length >= 5 && *weight >= IN_NAME && strsim::damerau_levenshtein(word, other) == 1 {
                best = best.max(weight * MISTYPED);
            }
        }
        best
    }

    fn rarity(&self, word: &str) -> f64 {
        let questions = count(self.questions.len());
        let having = count(self.spread.get(word).copied().unwrap_or(0));
        ((questions + 1.0) / (having + 1.0)).ln().max(0.1)
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are hundreds of questions, not 2^52")]
fn count(of: usize) -> f64 {
    of as f64
}

fn weights_of(question: &Question) -> HashMap<String, f64> {
    let mut weights: HashMap<String, f64> = HashMap::new();
    let texts = [
        (&question.read, IN_READING),
        (&question.group, IN_GROUP),
        (&question.name, IN_NAME),
        (&question.words, IN_WORDS),
        (&question.ask, IN_QUESTION),
    ];
    for (text, weight) in texts {
        for word in words_of(text) {
            let held = weights.entry(word).or_insert(0.0);
            *held = held.max(weight);
        }
    }
    weights
}

/// The words of a text: small letters, endings taken off, one word for those that mean the same.
fn words_of(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric() && c != '%').filter(|part| !part.is_empty());
    parts.map(|part| same(&stem(part))).collect()
}

fn same(word: &str) -> String {
    SAME.iter().find(|(other, _)| *other == word).map_or(word, |(_, one)| one).to_owned()
}

/// A word without its ending, so that "waits", "waiting" and "waited" are one. Names of errors and numbers stay.
fn stem(word: &str) -> String {
    for (ending, least, put) in
        [("ies", 5, "y"), ("sses", 6, "ss"), ("ing", 6, ""), ("ed", 5, ""), ("es", 6, ""), ("s", 4, "")]
    {
        if word.len() >= least
            && word.ends_with(ending)
            && !(ending == "s" && (word.ends_with("ss") || word.ends_with("us")))
        {
            let bare = &word[..word.len() - ending.len()];
            return undoubled(&format!("{bare}{put}"));
        }
    }
    undoubled(word)
}

/// "running" leaves "runn", "write" and "writing" meet at "writ".
fn undoubled(word: &str) -> String {
    let mut word = word.to_owned();
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
    let bytes = word.as_bytes();
    if let [.., a, b] = bytes
        && a == b
        && word.len() > 3
        && b"nptgmb".contains(b)
    {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrasings() -> Vec<(&'static str, &'static str)> {
        let text = include_str!("../../tests/fixtures/questions/phrasings.txt");
        text.lines().filter_map(|line| line.split_once(" => ")).collect()
    }

    #[test]
    fn what_people_ask_finds_its_question() {
        let catalogue = Catalogue::bundled().unwrap();
        let phrasings = phrasings();
        assert!(phrasings.len() >= 100);
        let (mut first, mut wrong) = (0, Vec::new());
        for (typed, name) in &phrasings {
            let hits = catalogue.search(typed);
            let place = hits.iter().position(|hit| hit.question.name == *name);
            first += usize::from(place == Some(0));
            if place != Some(0) {
                let found: Vec<&str> = hits.iter().take(3).map(|hit| hit.question.name.as_str()).collect();
                wrong.push(format!("{typed}: {name} is at {place:?} behind {found:?}"));
            }
            assert!(place.is_some_and(|place| place < 3), "{}", wrong.last().unwrap());
        }
        assert!(first * 10 >= phrasings.len() * 9, "{first} of {}: {wrong:#?}", phrasings.len());
    }

    #[test]
    fn a_word_is_found_while_it_is_typed_and_when_it_is_mistyped() {
        let catalogue = Catalogue::bundled().unwrap();
        let first = |typed: &str| catalogue.search(typed).first().map(|hit| hit.question.name.clone());
        assert_eq!(first("retransm").as_deref(), Some("network-retransmits"));
        assert_eq!(first("who delets files").as_deref(), Some("file-deletes"));
        assert_eq!(first(""), None);
        assert_eq!(first("zzzzqqqq"), None);
        let _ = catalogue.search(&"\u{1b}[31m".repeat(100_000));
    }

    #[test]
    fn every_file_of_the_folder_is_in_the_program() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../questions");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
            .collect();
        there.sort();
        let known: Vec<String> = TEXTS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, there);
    }

    #[test]
    fn each_names_what_there_is() {
        let catalogue = Catalogue::bundled().unwrap();
        for question in catalogue.questions() {
            let named = question.next.iter().chain(&question.instead);
            for other in named {
                assert!(catalogue.get(other).is_some(), "{} names {other}", question.name);
            }
            assert!(question.ask.ends_with('?') && question.read.ends_with('.'), "{}", question.name);
            assert!(!question.next.is_empty(), "{} leads on", question.name);
        }
    }
}
