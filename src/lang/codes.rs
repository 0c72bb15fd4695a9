//! Every diagnostic code with its explanation, for `probescope explain P0123`.
//!
//! Numbers are stable: once given out they are never used for another mistake.

pub mod check;
pub mod d;
pub mod parse;
pub mod run;
pub mod words;

/// The message of a list of the script's options that was asked for: it is no mistake.
pub const OPTIONS_LISTED: &str = "the script's options were asked for";

use super::diagnostic::Code;

/// Whether a diagnostic of this code names something that the script would do to the system and has no leave for: its
/// span is the call, its message says which.
#[must_use]
pub const fn is_refused_act(code: Code) -> bool {
    matches!(code, check::NEEDS_UNSAFE | d::D_DESTRUCTIVE)
}

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// A few words.
    pub title: &'static str,
    /// Some sentences: what it means, why it matters, what to do, with an example where it helps.
    pub text: &'static str,
}

/// All tables: one per range of numbers.
pub const TABLES: &[&[Entry]] = &[parse::TABLE, check::TABLE, run::TABLE, d::TABLE];

/// Everything known about a code.
#[must_use]
pub fn explain(code: Code) -> Option<&'static Entry> {
    TABLES.iter().flat_map(|t| t.iter()).find(|e| e.code == code)
}

/// A code from its text: `P0012`, `p12` or `12`, or a tag of D.
#[must_use]
pub fn parse_code(text: &str) -> Option<Code> {
    let tag = || d::TABLE.iter().find(|e| e.title == text).map(|e| e.code);
    tag().or_else(|| text.trim_start_matches(['P', 'p']).parse().ok().map(Code))
}

/// A code by the name that its users know: D's tags for mistakes in D programs, else as it is.
#[must_use]
pub fn shown(code: Code) -> String {
    d::TABLE.iter().find(|e| e.code == code).map_or_else(|| code.to_string(), |e| e.title.to_owned())
}

/// Defines constants and their table together, so that no code lacks its explanation.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $title:literal, $text:literal;)*) => {
        $(#[doc = $title] pub const $name: Code = Code($number);)*
        /// All codes of this range.
        pub const TABLE: &[Entry] = &[$(Entry { code: $name, title: $title, text: $text }),*];
    };
}
pub(crate) use codes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_out_once_and_explained() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in TABLES.iter().flat_map(|t| t.iter()) {
            assert!(seen.insert(entry.code), "{} twice", entry.code);
            assert!(entry.text.len() > entry.title.len(), "{} has no real explanation", entry.code);
        }
    }

    #[test]
    fn codes_are_found_as_people_write_them() {
        for text in ["P0001", "p1", "1"] {
            assert_eq!(parse_code(text).and_then(explain).map(|e| e.code), Some(Code(1)), "{text}");
        }
        assert!(parse_code("E12").is_none());
        assert_eq!(parse_code("D_PROTO_ARG"), Some(d::D_PROTO_ARG));
        assert_eq!((shown(d::D_PROTO_ARG).as_str(), shown(Code(12)).as_str()), ("D_PROTO_ARG", "P0012"));
    }
}
