//! What compiling a script gives, and the form in which a session is given a compiler.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::codegen::artifact::Artifact;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::front::Wanted;
use crate::lang::source::SourceText;
use crate::lang::typed::Program;

/// A compiled script, or why there is none.
#[derive(Clone, Debug, Default)]
pub struct Compilation {
    /// Everything there is to say about the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The result; absent when there were errors.
    pub output: Option<Compiled>,
}

/// What a compiled script runs from.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The checked script.
    pub program: Arc<Program>,
    /// The object and its description.
    pub artifact: Arc<Artifact>,
    /// Time and size.
    pub figures: CompileFigures,
}

/// What a script is given besides its text.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Given {
    /// `$1` and on.
    pub params: Vec<String>,
    /// Named options, each with its value where it has one.
    pub named: Vec<(String, Option<String>)>,
    /// The process that it is limited to (`-p PID` among its words).
    pub pid: Option<u32>,
    /// Whether it may change the traced system (`--unsafe`).
    pub unsafe_allowed: bool,
}

impl Given {
    /// Sorts words into options (`--NAME`, `--NAME=VALUE`, and for those that the script is known to have `-N`,
    /// `-N VALUE`, `-NVALUE`, `-NM` for `-N -M`, `--NAME VALUE`) and parameters.
    #[must_use]
    pub fn from_words(words: Vec<String>, wanted: &Wanted) -> Self {
        let mut given = Self::default();
        let mut words = VecDeque::from(words);
        while let Some(word) = words.pop_front() {
            if let Some(pid) = Some(&wanted).filter(|w| w.takes_limit()).and_then(|_| limit_of(&word, &mut words)) {
                given.pid = Some(pid);
                continue;
            }
            if let Some((flag, rest)) = flag_of_several(&word, wanted) {
                given.named.push((flag.to_owned(), None));
                words.push_front(format!("-{rest}"));
                continue;
            }
            let Some((option, mut value)) = option_of(&word, wanted) else {
                given.params.push(word);
                continue;
            };
            let takes_value = wanted.options.iter().any(|known| *known.name == *option && known.takes_value);
            if takes_value && value.is_none() && words.front().is_some_and(|next| !next.starts_with("--")) {
                value = words.pop_front();
            }
            given.named.push((option.to_owned(), value));
        }
        given
    }
}

/// The process of `-p PID`, `-pPID`, `-p=PID`, `--pid PID` and `--pid=PID`; a number that stands in the next word is taken.
fn limit_of(word: &str, words: &mut VecDeque<String>) -> Option<u32> {
    let value = word.strip_prefix("--pid").or_else(|| word.strip_prefix("-p"))?;
    let value = value.strip_prefix('=').unwrap_or(value);
    if !value.is_empty() {
        return value.parse().ok();
    }
    let pid = words.front()?.parse().ok()?;
    words.pop_front();
    Some(pid)
}

/// A word's option and the value that stands in the same word.
fn option_of<'w>(word: &'w str, wanted: &Wanted) -> Option<(&'w str, Option<String>)> {
    if let Some(option) = word.strip_prefix("--").filter(|rest| !rest.is_empty()) {
        return Some(option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value.to_owned()))));
    }
    let rest = word.strip_prefix('-')?;
    let (name, value) = rest.split_at(rest.chars().next()?.len_utf8());
    if !wanted.takes_words && wanted.options.is_empty() && name.chars().all(char::is_alphabetic) {
        // It has none: the compiler refuses it.
        return Some((rest, None));
    }
    let Some(known) = wanted.options.iter().find(|option| *option.name == *name) else {
        return is_mistyped_letter(name, value, wanted).then_some((name, None));
    };
    match value.strip_prefix('=').unwrap_or(value) {
        "" => Some((name, None)),
        value => known.takes_value.then(|| (name, Some(value.to_owned()))),
    }
}

/// Whether `-Z` can only be a mistake: the script has options of one letter, not this one, and needs no parameters, or
/// takes none at all.
/// The compiler refuses what the script does not ask for.
fn is_mistyped_letter(name: &str, value: &str, wanted: &Wanted) -> bool {
    let letter = value.is_empty() && name.chars().all(char::is_alphabetic);
    let has_letters = || wanted.options.iter().any(|option| option.name.chars().count() == 1);
    letter && wanted.positional == 0 && (!wanted.takes_words || has_letters())
}

/// The first flag of a word that holds several (`-xn`), and what stands behind it.
fn flag_of_several<'w>(word: &'w str, wanted: &Wanted) -> Option<(&'w str, &'w str)> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let (flag, rest) = letters.split_at(letters.chars().next()?.len_utf8());
    let known = wanted.options.iter().any(|option| *option.name == *flag && !option.takes_value);
    (known && !rest.is_empty() && !rest.starts_with(['=', '-'])).then_some((flag, rest))
}

/// Compiles a text in the language that its name tells; the second argument is the process of `-c`, when there is one,
/// the third what the script is given in place of what the session was.
pub type Compiler = Arc<dyn Fn(&SourceText, Option<u32>, Option<&Given>) -> Compilation + Send + Sync>;

/// Figures of one compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompileFigures {
    /// Parse, check and code generation together, ns.
    pub compile_ns: u64,
    /// BPF instructions of all programs.
    pub instructions: u32,
    /// Programs.
    pub programs: u32,
    /// Maps.
    pub maps: u32,
    /// Something was left out of what a pattern matches.
    #[serde(default)]
    pub left_out: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::front::WantedOption;

    #[test]
    fn short_options_are_those_that_the_script_has() {
        let option = |name: &str, takes_value| WantedOption { name: name.into(), about: None, takes_value };
        let wanted =
            Wanted { positional: 0, options: vec![option("x", false), option("p", true)], ..Wanted::default() };
        let given = |line: &str| Given::from_words(line.split(' ').map(str::to_owned).collect(), &wanted);
        let pid = |value: &str| ("p".to_owned(), Some(value.to_owned()));
        assert_eq!(given("-x -p 7 a").named, [("x".to_owned(), None), pid("7")]);
        assert_eq!((given("-p7").named, given("-p=7").named), (vec![pid("7")], vec![pid("7")]));
        assert_eq!(given("--p 7").named, [pid("7")]);
        assert_eq!(given("-x -p 7 a").params, ["a"]);
        assert_eq!(given("-xp7 -5").named, [("x".to_owned(), None), pid("7")]);
        assert_eq!(given("-x -5").params, ["-5"], "a number is a parameter");
        assert_eq!(given("-y").named, [("y".to_owned(), None)], "an option that the script has not is refused later");
        let takes_parameters = Wanted { positional: 1, ..wanted.clone() };
        let words = vec!["-y".to_owned()];
        assert_eq!(Given::from_words(words.clone(), &takes_parameters).params, words);
    }

    #[test]
    fn a_process_is_an_option_of_scripts_that_have_none_of_this_name() {
        let given =
            |line: &str, wanted: &Wanted| Given::from_words(line.split(' ').map(str::to_owned).collect(), wanted);
        let plain = Wanted::default();
        for line in ["-p 7", "-p7", "-p=7", "--pid 7", "--pid=7"] {
            assert_eq!(given(line, &plain), Given { pid: Some(7), ..Given::default() }, "{line}");
        }
        // What is no number is no process, and options that a script has not are refused later.
        assert_eq!(given("-p x", &plain).named, [("p".to_owned(), None)]);
        assert_eq!(given("-z3 -h", &plain).named, [("z3".to_owned(), None), ("h".to_owned(), None)]);
        let words = Wanted { positional: 1, takes_words: true, ..Wanted::default() };
        assert_eq!(given("-p 7", &words).params, ["-p", "7"]);
    }
}
